// SPDX-License-Identifier: MIT
#include "migrate_ground.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>

#include "codec/json.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

// A signal handler sees nothing but these.
std::atomic<bool> interrupted = false;
std::atomic<pid_t> running = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);

void end_running(int /*signal*/) {
  interrupted = true;
  if (const pid_t pid = running; pid > 0) kill(pid, SIGTERM);
}

const std::vector<std::string>& environment() {
  static const std::vector<std::string> variables = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C",
                                                     "HOME=/nonexistent",
                                                     "RCLONE_CONFIG=/dev/null"};
  return variables;
}

std::uint64_t count_in(const codec::json::Value* value, std::string_view name) {
  const codec::json::Value* member = value != nullptr ? value->find(name) : nullptr;
  const auto* count = member != nullptr ? member->as<std::int64_t>() : nullptr;
  return count != nullptr ? static_cast<std::uint64_t>(*count) : 0;
}

Result<Summary> read_summary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  SLUICE_LET(json, codec::json::parse(text));
  const codec::json::Value* src = json.find("src");
  const codec::json::Value* dst = json.find("dst");
  if (src == nullptr || dst == nullptr || json.find("missing") == nullptr)
    return error(Code::corrupt, "sluice-migrate has no summary: " + text);
  return Summary{.entries = count_in(src, "entries") + count_in(dst, "entries"),
                 .attributes = count_in(&json, "attributes"),
                 .content = count_in(&json, "content"),
                 .missing = count_in(&json, "missing"),
                 .extra = count_in(&json, "extra"),
                 .clash = count_in(&json, "clash")};
}

}  // namespace

void clean_up_when_interrupted() {
  struct sigaction action{};
  action.sa_handler = end_running;  // And not SIG_IGN, which other programs would inherit.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

Result<TmpfsDir> TmpfsDir::make() {
  std::string path = "/dev/shm/bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return error(Code::io_error, "cannot make " + path + ": " + std::strerror(errno));
  return TmpfsDir(path);
}

TmpfsDir::~TmpfsDir() {
  if (!path_.empty()) (void)Ground::remove(path_);
}

Result<Ground> Ground::make(const Part& part, const std::string& name) {
  SLUICE_LET(tmpfs, TmpfsDir::make());
  Ground ground(std::move(tmpfs));
  std::error_code failure;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  ground.self_ = self;
  ground.migrate_ = self.parent_path() / "sluice-migrate";
  if (!fs::exists(ground.migrate_, failure))
    return error(Code::not_found, "there is no " + ground.migrate_ + ": ./run build makes it");
  ground.disk_ = fs::absolute(part.scratch / name, failure);
  fs::create_directories(ground.disk_, failure);
  if (failure) return error(Code::io_error, "cannot make " + ground.disk_);
  return ground;
}

Program Ground::program(const Command& command) const {
  return {.words = command.words,
          .environment = environment(),
          .output = command.output,
          .errors = tmpfs_ / "errors"};
}

Result<Ended> Ground::run(const Command& command) const {
  if (interrupted) return error(Code::cancelled, "interrupted");
  SLUICE_LET(process, Process::start(program(command)));
  running = process.pid();
  if (interrupted) kill(process.pid(), SIGTERM);  // It came before the handler knew whom to end.
  auto ended = process.end();
  running = 0;
  if (interrupted) return error(Code::cancelled, "interrupted");
  if (!ended || ended->exit_code == command.exit_code) return ended;
  std::ifstream file(tmpfs_ / "errors");
  std::string line;
  std::getline(file, line);
  return error(Code::unavailable, fmt::format("{} ended with exit code {} instead of {}: {}",
                                              fmt::join(command.words, " "), ended->exit_code,
                                              command.exit_code, line));
}

Result<Ended> Ground::migrate(std::vector<std::string> words, int exit_code) const {
  words.insert(words.begin(), migrate_);
  return run({.words = std::move(words), .exit_code = exit_code, .output = tmpfs_ / "output"});
}

std::vector<std::string> Ground::words_of(const Comparing& wish) const {
  std::vector<std::string> words = {migrate_,
                                    "compare",
                                    wish.src,
                                    wish.dst,
                                    "--state",
                                    wish.ledger,
                                    "--json",
                                    "--progress",
                                    "never",
                                    "--threads",
                                    std::to_string(wish.threads)};
  words.insert(words.end(), wish.options.begin(), wish.options.end());
  return words;
}

Result<Compared> Ground::compare(const Comparing& wish) const {
  SLUICE_LET(
      ended,
      run({.words = words_of(wish), .exit_code = wish.same ? 0 : 1, .output = tmpfs_ / "summary"}));
  SLUICE_LET(summary, read_summary(tmpfs_ / "summary"));
  return Compared{.ended = ended, .summary = summary};
}

Result<Process> Ground::start_compare(const Comparing& wish) const {
  return Process::start(program({.words = words_of(wish)}));
}

Result<Summary> Ground::status(const std::string& ledger) const {
  const auto ended = run(
      {.words = {migrate_, "status", "--state", ledger, "--json"}, .output = tmpfs_ / "status"});
  if (interrupted) return Failure{ended.error()};
  return ended ? read_summary(tmpfs_ / "status") : Summary{};
}

Result<Ended> Ground::run_self(std::vector<std::string> words, const std::string& output) const {
  words.insert(words.begin(), self_);
  return run({.words = std::move(words), .output = output});
}

// In a session of its own, so that a terminal's second Ctrl-C does not reach it. By another
// program, because it must not need memory here, nor a descriptor per level.
Status Ground::remove(const std::string& path) {
  return status_of(run_program(
      {.words = {"setsid", "--wait", "rm", "-rf", "--", path}, .environment = environment()}));
}

unsigned default_threads() {
  return std::max(std::thread::hardware_concurrency(), 1U);
}

Result<std::uint64_t> count_lines(const std::string& path, const std::string& beginning) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(Code::not_found, "cannot read " + path);
  std::uint64_t count = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(beginning)) ++count;
  return count;
}

}  // namespace sluice::bench
