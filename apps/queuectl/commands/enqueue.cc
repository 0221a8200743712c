// SPDX-License-Identifier: MIT
#include <sluice/random.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cli/visible.h"
#include "queuectl/commands/commands.h"
#include "queuectl/context.h"
#include "queuectl/job_spec.h"
#include "queuectl/job_text.h"

namespace sluice::cli {
namespace {

// A transaction of this many jobs syncs rarely enough, and is far from the store's limits.
constexpr std::size_t kJobsPerTransaction = 2'000;
constexpr std::size_t kBytesPerTransaction = std::size_t{1} << 20;
constexpr std::size_t kRefusalsShown = 10;

Result<std::string> read_all(int fd, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0) return error(Code::io_error, "cannot read " + name);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<std::string> read_input(const std::string& file) {
  if (file == "-") return read_all(0, "standard input");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return error(Code::not_found, "cannot read the file " + in_quotes(file));
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/// Long enough that two alike are rare, and short enough to be typed.
std::string new_id() {
  constexpr std::string_view kLetters = "0123456789bcdfghjkmnpqrstvwxyz";
  constexpr int kLength = 8;
  SystemRandom random;
  std::string id;
  for (int i = 0; i < kLength; ++i) id += kLetters[random.below(kLetters.size())];
  return id;
}

/// Puts new jobs into the store, many at a time, with the environment that they share.
class Enqueuer {
 public:
  Enqueuer(Context& context, queue::Queues& queues, const JobDefaults& defaults, bool skip)
      : context_(context), queues_(queues), defaults_(defaults), skip_(skip) {}

  Status add(queue::NewJob job) {
    named_.push_back(!job.id.empty());
    if (job.id.empty()) job.id = new_id();
    if (queues_known_.insert(job.queue).second) SLUICE_TRY(context_.prepare_queue(job.queue));
    bytes_ += job.payload.size();
    jobs_.push_back(std::move(job));
    if (jobs_.size() < kJobsPerTransaction && bytes_ < kBytesPerTransaction) return {};
    return flush();
  }

  Status flush() {
    while (!jobs_.empty()) SLUICE_TRY(flush_once());
    return {};
  }

  const std::vector<std::string>& ids() const { return ids_; }
  const Status& first_refusal() const { return refusal_; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t skipped() const { return skipped_; }
  std::uint64_t done() const { return ids_.size() + refused_ + skipped_; }

 private:
  /// One transaction. Jobs whose id was made here and is taken get another, and are left for the
  /// next.
  Status flush_once() {
    std::vector<Result<std::string>> results;
    const auto commit = queues_.store().run([&](kv::Transaction& txn) -> Status {
      SLUICE_TRY(worker::keep_environment(txn, defaults_.environment_id, defaults_.environment,
                                          queues_.store().now()));
      queue::Scope scope(queues_, txn);
      results = scope.enqueue(std::span<const queue::NewJob>(jobs_));
      return {};
    });
    SLUICE_TRY(commit);
    std::vector<queue::NewJob> again;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool taken = !results[i] && results[i].error().code() == Code::already_exists;
      if (taken && !named_[i] && !jobs_[i].unique) {
        jobs_[i].id = new_id();
        again.push_back(std::move(jobs_[i]));
      } else {
        note(jobs_[i], results[i]);
      }
    }
    jobs_ = std::move(again);
    named_.assign(jobs_.size(), false);
    bytes_ = 0;
    return {};
  }

  void note(const queue::NewJob& job, const Result<std::string>& result) {
    if (result) {
      ids_.push_back(*result);
      return;
    }
    if (skip_ && result.error().code() == Code::already_exists) {
      ++skipped_;
      return;
    }
    if (refused_++ == 0) refusal_ = result.error();
    if (refused_ > 1 && refused_ <= kRefusalsShown)
      context_.warn(visible(job.id + ": " + result.error().message()));
  }

  Context& context_;
  queue::Queues& queues_;
  const JobDefaults& defaults_;
  const bool skip_;
  std::set<std::string> queues_known_;
  std::vector<queue::NewJob> jobs_;
  std::vector<bool> named_;  // Which of them the user has named.
  std::size_t bytes_ = 0;
  std::vector<std::string> ids_;
  Status refusal_;
  std::uint64_t refused_ = 0;
  std::uint64_t skipped_ = 0;
};

void print_ids(const Context& context, const std::vector<std::string>& ids) {
  if (context.json()) {
    codec::json::Writer writer;
    writer.array();
    for (const std::string& id : ids) writer.string(id);
    context.print(writer.end_array().take() + "\n");
    return;
  }
  std::string text;
  for (const std::string& id : ids) text += visible(id) + "\n";
  context.print(text);
}

Result<int> finish(const Context& context, const Enqueuer& enqueuer, bool print_all) {
  const auto& ids = enqueuer.ids();
  if (ids.size() == 1 || print_all || context.json()) print_ids(context, ids);
  if (ids.size() > 1 || enqueuer.skipped() > 0)
    context.say(plural(ids.size(), "job") + " enqueued" +
                (enqueuer.skipped() > 0
                     ? ", " + format_count(enqueuer.skipped()) + " were there already"
                     : ""));
  if (enqueuer.refused() == 0) return kOk;
  if (enqueuer.refused() > 1)
    context.warn(format_count(enqueuer.refused()) + " jobs were refused; the first because:");
  return Failure{enqueuer.first_refusal()};
}

Result<int> enqueue_many(Context& context, const JobText& text, const JobDefaults& defaults,
                         const Arguments& arguments) {
  // All of it is read before the store is opened: a mistake in the last line stores nothing.
  std::uint64_t total = 0;
  SLUICE_TRY(text.visit([&](const JobSpec& spec) {
    ++total;
    return status_of(new_job(spec, defaults));
  }));
  SLUICE_LET(queues, context.queues());
  Enqueuer enqueuer(context, *queues, defaults, arguments.has("--skip-existing"));
  std::unique_ptr<ProgressBar> bar;
  if (context.err().is_terminal && !context.quiet() && total > kJobsPerTransaction)
    bar = std::make_unique<ProgressBar>(
        context.clock(), [](std::string_view drawn) { write_all(2, drawn); },
        ProgressBar::Options{
            .label = "enqueue", .total = total, .width = context.err().extent.columns});
  SLUICE_TRY(text.visit([&](const JobSpec& spec) -> Status {
    SLUICE_LET(job, new_job(spec, defaults));
    SLUICE_TRY(enqueuer.add(std::move(job)));
    if (bar) bar->update(enqueuer.done());
    return {};
  }));
  SLUICE_TRY(enqueuer.flush());
  if (bar) {
    bar->update(enqueuer.done());
    bar->finish();
  }
  return finish(context, enqueuer, arguments.has("--print-id"));
}

Result<int> import(Context& context, const Arguments& arguments) {
  if (arguments.words().size() != 1)
    return error(Code::invalid_argument, "say what to read: queuectl import FILE, or -");
  SLUICE_LET(text, read_input(arguments.words()[0]));
  SLUICE_LET(config, context.config());
  SLUICE_LET(defaults, job_defaults(*config));
  return enqueue_many(context, JobText(std::move(text), {}, context.clock().wall()), defaults,
                      arguments);
}

Result<int> enqueue_array(Context& context, queue::Queues& queues, JobSpec spec,
                          const JobDefaults& defaults, const Arguments& arguments) {
  SLUICE_LET(array, parse_array(*arguments.text("--array")));
  const std::string base = spec.id.value_or(new_id());
  if (array.at_once && !spec.group) spec.group = base;
  const std::string queue = spec.queue.value_or(std::string(kDefaultQueue));
  SLUICE_TRY(context.prepare_queue(queue));
  if (array.at_once) SLUICE_TRY(queues.limit_group(queue, *spec.group, array.at_once));
  Enqueuer enqueuer(context, queues, defaults, arguments.has("--skip-existing"));
  for (std::int64_t index = array.first; index <= array.last; ++index) {
    spec.id = base + "." + std::to_string(index);
    spec.index = index;
    SLUICE_LET(job, new_job(spec, defaults));
    SLUICE_TRY(enqueuer.add(std::move(job)));
  }
  SLUICE_TRY(enqueuer.flush());
  return finish(context, enqueuer, true);
}

/// What the words say: text for a shell, words for a program, or a file of JSON.
struct Input {
  std::optional<std::string> json = {};
  JobSpec spec = {};
};

Result<Input> read_words(const Arguments& arguments, WallTime now) {
  SLUICE_LET(spec, spec_of(arguments, now));
  Input input{.spec = std::move(spec)};
  const auto& words = arguments.words();
  const auto file = arguments.text("--file");
  const int ways = static_cast<int>(file.has_value()) +
                   static_cast<int>(arguments.rest().has_value()) +
                   static_cast<int>(!words.empty());
  if (ways == 0)
    return error(
        Code::invalid_argument,
        "say what to run: queuectl enqueue \"echo hi\", or -- PROGRAM ARGUMENTS, or --file "
        "JOBS.json, or - for JSON from standard input");
  if (ways > 1 || words.size() > 1)
    return error(Code::invalid_argument,
                 "give one command: quote it as one word, or put -- before its words");
  if (arguments.rest()) {
    if (arguments.rest()->empty())
      return error(Code::invalid_argument, "nothing follows --: say what to run");
    input.spec.argv = *arguments.rest();
    return input;
  }
  if (file || words[0] == "-") {
    SLUICE_LET(text, read_input(file ? *file : "-"));
    input.json = std::move(text);
  } else if (words[0].find_first_not_of(" \t\r\n") != std::string::npos &&
             (words[0][words[0].find_first_not_of(" \t\r\n")] == '{')) {
    input.json = words[0];
  } else {
    input.spec.text = words[0];
  }
  return input;
}

Result<int> enqueue(Context& context, const Arguments& arguments) {
  const WallTime now = context.clock().wall();
  SLUICE_LET(input, read_words(arguments, now));
  SLUICE_LET(config, context.config());
  SLUICE_LET(defaults, job_defaults(*config));
  if (arguments.has("--array")) {
    if (input.json) {
      SLUICE_LET(value, codec::json::parse(*input.json));
      SLUICE_TRY(read_json(value, now, input.spec));
    }
    SLUICE_TRY(new_job(input.spec, defaults));
    SLUICE_LET(queues, context.queues());
    return enqueue_array(context, *queues, input.spec, defaults, arguments);
  }
  if (input.json) {
    const JobText text(std::move(*input.json), std::move(input.spec), now);
    return enqueue_many(context, text, defaults, arguments);
  }
  SLUICE_LET(job, new_job(input.spec, defaults));
  SLUICE_LET(queues, context.queues());
  Enqueuer enqueuer(context, *queues, defaults, arguments.has("--skip-existing"));
  SLUICE_TRY(enqueuer.add(std::move(job)));
  SLUICE_TRY(enqueuer.flush());
  return finish(context, enqueuer, true);
}

std::vector<Option> enqueue_options() {
  std::vector<Option> options = job_options();
  options.push_back(
      {"--file", 'f', "FILE", "JSON: a job, an array of jobs, or one per line", Takes::file});
  options.push_back(
      {"--array", 0, "A-B[%N]", "one job per index, $QUEUECTL_INDEX; N at once", Takes::text});
  options.push_back({"--skip-existing", 0, "", "pass over jobs whose id is taken", Takes::nothing});
  options.push_back(
      {"--print-id", 0, "", "print the ids also when there are many", Takes::nothing});
  return options;
}

}  // namespace

std::vector<Command> enqueue_commands() {
  return {
      {.name = "enqueue",
       .alias = "add",
       .arguments = "COMMAND | JSON | - | -- PROGRAM ARGS...",
       .summary = "enqueue a job, or many",
       .details =
           "A command in quotes is run by `sh -c`; what follows -- is run as it is. Its output "
           "goes\n"
           "to a log (queuectl logs ID). It runs in the folder and with the environment of now.\n"
           "Prints the job's id. When this succeeds the job is on the disk.\n"
           "\n"
           "  queuectl enqueue \"echo hi\" --id a\n"
           "  queuectl enqueue --timeout 10m --max-retries 5 -- rsync -a src/ host:dst/\n"
           "  queuectl enqueue '{\"id\":\"job1\",\"command\":\"sleep 2\"}'\n"
           "  generate-jobs | queuectl enqueue -          one JSON object per line\n"
           "  queuectl enqueue --array 1-100%4 'convert $QUEUECTL_INDEX.png out.jpg'\n"
           "  queuectl enqueue \"./deploy\" --after build,test\n"
           "\n"
           "JSON has the same names with _ for -: command or argv, id, queue, priority, delay,\n"
           "run_at, timeout, kill_after, max_retries, backoff_base, ttl, after, after_any, slots,\n"
           "env (an object), clean_env, cwd, label, group, hold, dedup_key, retry_on, "
           "no_retry_on,\n"
           "on_done. With a lower priority number a job runs earlier.",
       .options = enqueue_options(),
       .takes = Takes::text,
       .run = enqueue},
      {.name = "import",
       .alias = "",
       .arguments = "FILE | -",
       .summary = "enqueue the jobs that export has written",
       .details = "Each begins anew, with its id, its environment and its options.\n"
                  "\n"
                  "  ssh old queuectl export | queuectl import - --skip-existing",
       .options = {{"--skip-existing", 0, "", "pass over jobs whose id is taken", Takes::nothing},
                   {"--print-id", 0, "", "print the ids", Takes::nothing}},
       .takes = Takes::file,
       .run = import}};
}

}  // namespace sluice::cli
