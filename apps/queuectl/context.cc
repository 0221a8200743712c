// SPDX-License-Identifier: MIT
#include "queuectl/context.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/output.h"

namespace sluice::cli {
namespace {

bool is_folder(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// --db, else $QUEUECTL_DB, else the state folder; a ~/.queuectl that exists serves if that does
/// not.
std::string choose_dir(const Arguments& arguments, const Environment& environment) {
  if (const auto given = arguments.text("--db")) return *given;
  if (const auto given = environment("QUEUECTL_DB"); given && !given->empty()) return *given;
  const std::string home = environment("HOME").value_or("");
  const auto xdg = environment("XDG_STATE_HOME");
  const std::string state = xdg && !xdg->empty() ? *xdg : home + "/.local/state";
  const std::string standard = state + "/queuectl";
  const std::string old = home + "/.queuectl";
  return !is_folder(standard) && is_folder(old) ? old : standard;
}

/// Only the last folder is private to the user; those above are made as `mkdir -p` does.
Status make_folders(const std::string& dir) {
  for (auto at = dir.find('/', 1); at != std::string::npos; at = dir.find('/', at + 1))
    if (mkdir(dir.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST && errno != EROFS)
      return error(Code::unavailable, "cannot make the folder " + dir.substr(0, at) + ": " +
                                          std::strerror(errno) + "; choose another with --db");
  return {};
}

LogSink store_log(bool quiet) {
  if (quiet) return {};
  return [](LogLevel level, std::string_view line) {
    if (level < LogLevel::warning) return;
    write_all(2, "queuectl: " + std::string(line) + "\n");
  };
}

}  // namespace

Result<std::unique_ptr<Context>> Context::make(const Arguments& arguments) {
  std::unique_ptr<Context> context(new Context);
  context->environment_ = process_environment();
  context->json_ = arguments.has("--json");
  context->quiet_ = arguments.has("--quiet");
  context->verbose_ = arguments.has("--verbose");
  context->dir_ = choose_dir(arguments, context->environment_);
  if (context->dir_.empty()) return error(Code::invalid_argument, "--db needs a folder");
  while (context->dir_.size() > 1 && context->dir_.ends_with('/')) context->dir_.pop_back();
  std::error_code problem;
  if (const auto whole = std::filesystem::absolute(context->dir_, problem); !problem)
    context->dir_ = whole.string();
  SLUICE_LET(mode, parse_colour_mode(arguments.text("--color").value_or("auto")));
  context->out_ = inspect(1, mode, context->environment_);
  context->err_ = inspect(2, mode, context->environment_);
  return context;
}

Context::~Context() = default;

Status Context::open() {
  SLUICE_LET(settings, config());
  SLUICE_LET(most, settings->size("store-size"));
  SLUICE_TRY(make_folders(dir_));
  auto store = kv::open_lmdb({.dir = dir_, .map_bytes = most, .log = store_log(quiet_)});
  if (!store) {
    const Status& why = store.error();
    // Whatever keeps the store from being opened is a matter of storage to whoever runs a script.
    if (why.code() == Code::permission_denied || why.code() == Code::not_found)
      return error(Code::unavailable,
                   why.message() + "; choose another folder with --db or $QUEUECTL_DB");
    return why;
  }
  store_ = std::move(*store);
  auto queues = queue::Queues::open(*store_);
  // That of a newer program, for one.
  if (!queues) return error(Code::unavailable, dir_ + ": " + queues.error().message());
  queues_ = std::move(*queues);
  return {};
}

Result<queue::Queues*> Context::queues() {
  if (!queues_) SLUICE_TRY(open());
  return queues_.get();
}

Result<kv::Store*> Context::store() {
  if (!queues_) SLUICE_TRY(open());
  return store_.get();
}

void Context::close() {
  queues_.reset();
  store_.reset();
}

Status Context::prepare_queue(const std::string& name) {
  SLUICE_LET(all, queues());
  const auto known = all->get_queue(name);
  if (known || known.error().code() != Code::not_found) return status_of(known);
  SLUICE_LET(settings, config());
  SLUICE_LET(kept, settings->duration("keep-completed"));
  queue::QueueConfig fresh;
  fresh.done_retention = std::min(kept, queue::kDelayMax);
  fresh.lapses_max = queue::kAttemptsMax;  // Runs are counted by attempts alone.
  return all->configure(name, fresh);
}

Result<Config*> Context::config() {
  if (!config_) {
    SLUICE_LET(loaded, Config::load(default_config_path(environment_), environment_));
    config_.emplace(std::move(loaded));
  }
  return &*config_;
}

void Context::print(std::string_view text) const {
  write_all(1, text);
}

void Context::say(std::string_view line) const {
  if (!quiet_) write_all(2, std::string(line) + "\n");
}

void Context::detail(std::string_view line) const {
  if (verbose_) write_all(2, "queuectl: " + std::string(line) + "\n");
}

void Context::warn(std::string_view line) const {
  write_all(2, "queuectl: " + std::string(line) + "\n");
}

std::string queue_of(const Arguments& arguments) {
  return arguments.text("--queue").value_or(std::string(kDefaultQueue));
}

Result<std::vector<queue::JobRef>> jobs_of(const Arguments& arguments) {
  if (arguments.words().empty()) return error(Code::invalid_argument, "say which job: its id");
  std::vector<queue::JobRef> jobs;
  for (const std::string& id : arguments.words())
    jobs.push_back({.queue = queue_of(arguments), .id = id});
  return jobs;
}

}  // namespace sluice::cli
