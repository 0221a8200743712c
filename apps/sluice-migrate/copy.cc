// SPDX-License-Identifier: MIT
// copy, run.
#include <sluice/runtime/executor.h>

#include <algorithm>
#include <utility>

#include "cli/duration.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "migrate/begin.h"
#include "migrate/copying.h"
#include "sluice-migrate/commands.h"
#include "sluice-migrate/comparing.h"
#include "sluice-migrate/item.h"
#include "sluice-migrate/progress.h"
#include "sluice-migrate/roots.h"
#include "sluice-migrate/summary.h"

namespace sluice::cli {
namespace {

using migrate::CopyStatus;
using migrate::Verdict;
using migrate::WalkItem;

std::string_view pass_name(std::uint8_t pass) {
  switch (static_cast<migrate::Pass>(pass)) {
    case migrate::Pass::folders:
      return "folders";
    case migrate::Pass::files:
      return "files";
    case migrate::Pass::links:
      return "names";
    case migrate::Pass::deletes:
      return "delete";
    case migrate::Pass::attributes:
      return "attributes";
  }
  return "copy";
}

/// The line that tells how far the copy has come.
class CopyingLine {
 public:
  CopyingLine(const Clock& clock, const migrate::CopyProgress& progress, const Summary& before)
      : clock_(clock), progress_(progress) {
    for (const CopyStatus status : {CopyStatus::pending, CopyStatus::failed}) {
      const auto i = static_cast<std::size_t>(status);
      names_ += before.copy_files.at(i) + before.copy_folders.at(i);
      bytes_ += before.copy_bytes.at(i);
    }
  }

  std::string operator()() {
    const MonoTime now = clock_.mono();
    const std::uint64_t bytes = progress_.bytes;
    const std::uint64_t names = progress_.names;
    by_bytes_.add(bytes, now);
    by_names_.add(names, now);
    std::string text = "copy: " + std::string(pass_name(progress_.pass)) + "  " +
                       format_count(names) + "/" + format_count(std::max(names, names_)) + "  " +
                       format_size(bytes) + "/" + format_size(std::max(bytes, bytes_));
    if (const auto rate = by_bytes_.per_second())
      text += "  " + format_size(static_cast<std::uint64_t>(*rate)) + "/s";
    if (progress_.deleted != 0) text += "  " + format_count(progress_.deleted) + " removed";
    if (progress_.failed != 0) text += "  " + format_count(progress_.failed) + " failed";
    return text + eta(names, bytes);
  }

 private:
  /// Small files take their time by number, large ones by size: the later of both.
  std::string eta(std::uint64_t names, std::uint64_t bytes) const {
    const auto left = [](std::uint64_t done, std::uint64_t all, const RateMeter& meter) {
      const double rate = meter.per_second().value_or(0);
      return rate > 0 && all > done ? static_cast<double>(all - done) / rate : 0.0;
    };
    const double seconds = std::max(left(names, names_, by_names_), left(bytes, bytes_, by_bytes_));
    constexpr double kMost = 100.0 * 24 * 3600;
    if (!(seconds >= 1 && seconds <= kMost)) return "";
    return "  ETA " + format_duration(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
  }

  const Clock& clock_;
  const migrate::CopyProgress& progress_;
  std::uint64_t names_ = 0;
  std::uint64_t bytes_ = 0;
  RateMeter by_bytes_;
  RateMeter by_names_;
};

// ------------------------------------------------------------------------------------------- plan

/// Whether the copy will do something to it.
bool is_planned(const WalkItem& item, bool remove) {
  if (!item.compared || item.excluded) return false;
  if (item.found.verdict == Verdict::extra)
    return remove && (item.copied == nullptr || item.copy == CopyStatus::failed);
  if (item.copy != CopyStatus::pending && item.copy != CopyStatus::failed) return false;
  const bool folder_in_the_way = item.found.verdict == Verdict::clash && item.dst != nullptr &&
                                 item.dst->kind == migrate::Kind::folder;
  return remove || !folder_in_the_way;
}

/// Prints what would be done, as the report has it; what is unknown, too.
Result<int> print_plan(kv::Store& store, const migrate::CopyOptions& options) {
  Output output;
  bool unknown = false;
  SLUICE_TRY(migrate::walk(store, {}, [&](const WalkItem& item) {
    const bool doubtful = item.compared && !item.excluded &&
                          item.found.verdict == Verdict::unknown && !is_unknown_from_above(item);
    unknown = unknown || doubtful;
    if (!doubtful && !is_planned(item, options.remove)) return true;
    Row row(item);
    if (row.verdict() == Verdict::clash && !options.remove) {
      // A rename puts the new one in its place; nothing is deleted by itself.
      (*row).comparison = {.verdict = Verdict::missing};
      (*row).dst = nullptr;
    }
    output.add(migrate::itemized_line(*row));
    return true;
  }));
  return unknown ? kIncomplete : kSame;
}

// ------------------------------------------------------------------------------------------- copy

std::string copied_text(const Summary& after, const migrate::CopyProgress& progress) {
  const auto done = [](const Summary::Counts<migrate::kCopyStatuses>& counts, CopyStatus status) {
    return counts.at(static_cast<std::size_t>(status));
  };
  const auto names = [&](CopyStatus status) {
    return done(after.copy_files, status) + done(after.copy_folders, status);
  };
  const auto line = [](std::string_view name, std::uint64_t count, const std::string& rest) {
    std::string left(name);
    left.resize(13, ' ');
    std::string number = format_count(count);
    if (number.size() < 12) number.insert(0, 12 - number.size(), ' ');
    return left + number + rest + "\n";
  };
  // Read one after the other, but nobody counts any more.
  return line("done now", progress.names - progress.failed, ", " + format_size(progress.bytes)) +
         line("removed now", progress.deleted, "") + line("failed now", progress.failed, "") +
         line("in place", names(CopyStatus::successful), "") +
         line("left alone", names(CopyStatus::skipped), "") +
         line("to do", names(CopyStatus::pending) + names(CopyStatus::failed), "");
}

void put_copied(codec::json::Writer& writer, const Summary& after,
                const migrate::CopyProgress& progress) {
  put_summary(writer, after);
  writer.name("copy").object();
  writer.name("names").number(progress.names.load()).name("bytes").number(progress.bytes.load());
  writer.name("deleted").number(progress.deleted.load());
  writer.name("failed_now").number(progress.failed.load());
  for (std::size_t i = 0; i < migrate::kCopyStatuses; ++i)
    writer.name(migrate::status_name(static_cast<CopyStatus>(i)))
        .number(after.copy_files.at(i) + after.copy_folders.at(i));
  writer.end_object();
}

int copy_exit_code(const Summary& after, const migrate::CopyProgress& progress) {
  const auto failed = static_cast<std::size_t>(CopyStatus::failed);
  const bool bad = progress.failed != 0 || after.copy_files.at(failed) != 0 ||
                   after.copy_folders.at(failed) != 0;
  return bad || after.has_unknown() ? kIncomplete : kSame;
}

/// A ledger whose comparison is finished, and what is to be done with it.
struct CopyJob {
  kv::Store& store;
  const migrate::Settings& settings;
  migrate::State& state;
  const CopyWish& wish;
  const TellingWish& telling;
};

Result<int> carry_out(const Context& context, const CopyJob& job, const Interrupts& interrupts) {
  if (job.wish.dry_run) return print_plan(job.store, job.wish.options);
  SLUICE_LET(before, read_summary(job.store));
  migrate::CopyOptions options = job.wish.options;
  options.clock = &context.clock();
  migrate::Copying copying({.store = job.store, .settings = job.settings, .state = job.state},
                           options);
  Status ended;
  {
    runtime::ThreadExecutor executor;
    const Progress progress(
        {.mode = job.telling.progress, .terminal = context.err(), .clock = context.clock()},
        CopyingLine(context.clock(), copying.progress(), before));
    ended = copying.run(executor, interrupts.token());
  }
  if (ended.code() == Code::cancelled && interrupts.came()) return interrupted(context);
  SLUICE_TRY(ended);
  SLUICE_LET(after, read_summary(job.store));
  const int code = copy_exit_code(after, copying.progress());
  if (job.telling.json) {
    codec::json::Writer writer;
    put_copied(writer.object(), after, copying.progress());
    write_all(1, writer.name("exit_code").number(code).end_object().take() + "\n");
  } else if (!job.telling.quiet) {
    write_all(1, copied_text(after, copying.progress()));
  }
  if (code == kIncomplete)
    context.note(
        "not everything is copied: `report --status failed`, `report --status unknown` "
        "and `why PATH` say what and why");
  return code;
}

Result<int> copy(Context& context, const Arguments& arguments) {
  SLUICE_LET(wish, read_copy_wish(arguments));
  SLUICE_LET(telling, read_telling_wish(arguments));
  SLUICE_LET(interrupts, open_interrupts(context));
  SLUICE_LET(ledger, context.own_existing());
  SLUICE_LET(settings, settings_of(*ledger.store));
  SLUICE_LET(summary, read_summary(*ledger.store));
  if (summary.pending() != 0)
    return error(Code::conflict,
                 "the comparison is not finished: run sluice-migrate compare again first");
  migrate::State state;
  SLUICE_TRY(ledger.store->read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(kept, migrate::read_state(reader));
    state = kept;
    return {};
  }));
  return carry_out(context,
                   {.store = *ledger.store,
                    .settings = settings,
                    .state = state,
                    .wish = wish,
                    .telling = telling},
                   *interrupts);
}

Result<int> run(Context& context, const Arguments& arguments) {
  SLUICE_LET(compare, read_compare_wish(arguments));
  SLUICE_LET(wish, read_copy_wish(arguments));
  SLUICE_LET(telling, read_telling_wish(arguments));
  if (is_simulated(compare.src) || is_simulated(compare.dst))
    return error(Code::invalid_argument,
                 "a sim: tree can be compared, but not be copied: use compare");
  SLUICE_LET(interrupts, open_interrupts(context));
  auto compared = compare_trees(context, std::move(compare), telling, *interrupts);
  if (!compared && compared.error().code() == Code::cancelled && interrupts->came())
    return interrupted(context);
  SLUICE_TRY(compared);
  return carry_out(context,
                   {.store = *compared->ledger.store,
                    .settings = compared->settings,
                    .state = compared->state,
                    .wish = wish,
                    .telling = telling},
                   *interrupts);
}

}  // namespace

std::vector<Command> copy_commands() {
  return {
      {.name = "copy",
       .alias = "",
       .arguments = "",
       .summary = "makes DST like SRC, as the finished comparison found it",
       .details =
           "Files appear under their names only when they are whole. What changed since it was\n"
           "compared is left alone and counts as failed. Nothing is removed without --delete, and\n"
           "nothing ever below a directory that could not be read. Exit code 0: everything is\n"
           "copied; 2: something failed or is unknown; 3: interrupted.\n\n"
           "  sluice-migrate copy --state ./ledger --dry-run --delete\n"
           "  sluice-migrate copy --state ./ledger --delete --max-delete 1000 --verify",
       .options = joined({{state_option()},
                          copy_options(),
                          {threads_option(), memory_option()},
                          telling_options()}),
       .run = copy},
      {.name = "run",
       .alias = "",
       .arguments = "SRC DST",
       .summary = "compares, then copies",
       .details = "The same as compare and copy, one after the other; run again, it goes on where "
                  "it was.\n"
                  "What is extra on DST is no difference unless --delete is given.\n\n"
                  "  sluice-migrate run /srv/old /srv/new --state ./ledger --delete",
       .options = joined({{state_option()},
                          compare_options(),
                          copy_options(),
                          {threads_option(), memory_option()},
                          telling_options()}),
       .takes = Takes::folder,
       .run = run},
  };
}

}  // namespace sluice::cli
