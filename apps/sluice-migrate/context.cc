// SPDX-License-Identifier: MIT
#include "sluice-migrate/context.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/output.h"
#include "cli/visible.h"
#include "migrate/ledger.h"
#include "sluice-migrate/wishes.h"

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

// Address space, not disk: about four billion entries.
constexpr std::uint64_t kMapBytes = std::uint64_t{256} << 30;

std::string ledger_in(const std::string& dir) {
  return dir + "/ledger";
}

std::string lock_in(const std::string& dir) {
  return dir + "/run.lock";
}

Result<std::unique_ptr<kv::Store>> open_store(const std::string& dir, std::uint64_t memory) {
  auto store = kv::open_lmdb(
      {.dir = ledger_in(dir), .map_bytes = kMapBytes, .resident_bytes_max = memory / 4});
  if (store) return store;
  const Status& status = store.error();
  if (status.code() == Code::permission_denied)
    return error(status.code(), "the ledger in " + dir + ": " + status.message() +
                                    "; whoever reads one writes there too: use the account that "
                                    "made it, or a copy of the folder");
  return Failure{status.with("the ledger in " + dir)};
}

Failure no_ledger(const std::string& dir) {
  return error(Code::not_found, "there is no ledger in " + dir +
                                    ": name another folder with --state, or make one with "
                                    "sluice-migrate compare");
}

/// False also for a folder that may not be entered, if nobody looks at errno.
bool has_ledger(const std::string& dir) {
  return access((ledger_in(dir) + "/data.mdb").c_str(), F_OK) == 0;
}

Failure no_access(const std::string& what, const std::string& why) {
  return error(Code::permission_denied, "cannot reach " + what + ": " + why +
                                            "; grant this account access, or name another folder "
                                            "with --state");
}

/// `not_found` if there is none.
Status check_ledger(const std::string& dir) {
  if (has_ledger(dir)) return {};
  if (errno == EACCES)
    return no_access("the ledger in " + dir, std::generic_category().message(EACCES)).status;
  return no_ledger(dir).status;
}

/// A folder of somebody else's is not written to.
Status check_empty(const std::string& dir) {
  std::error_code problem;
  for (fs::directory_iterator it(dir, problem), end; !problem && it != end; it.increment(problem)) {
    const std::string name = it->path().filename().string();
    if (name == "ledger" || name == "run.lock") continue;
    return {Code::invalid_argument, "the folder " + dir + " holds something that is no ledger (" +
                                        in_quotes(name) + "): name a new one with --state"};
  }
  return {};
}

}  // namespace

Context::Context(const Arguments& arguments)
    : state_(arguments.text("--state").value_or("")),
      // A size that is none is refused by the command.
      memory_(read_memory(arguments).value_or(kMemoryBytes)),
      quiet_(arguments.has("--quiet")),
      out_(inspect(1, ColourMode::automatic, process_environment())),
      err_(inspect(2, ColourMode::automatic, process_environment())) {}

void Context::note(std::string_view text) const {
  if (quiet_) return;
  // Not behind a line of progress.
  const std::string_view begin = err_.is_terminal ? "\r\x1b[K" : "";
  write_all(2, std::string(begin) + "sluice-migrate: " + visible(text) + "\n");
}

Result<std::string> Context::state_dir() const {
  if (state_.empty()) return error(Code::invalid_argument, "say where the ledger is: --state DIR");
  std::error_code problem;
  const fs::path path = fs::weakly_canonical(fs::absolute(state_, problem), problem);
  if (problem.value() == EACCES)
    return no_access("--state " + in_quotes(state_), problem.message());
  if (problem)
    return error(Code::invalid_argument,
                 "--state " + in_quotes(state_) + " is no path: " + problem.message());
  return path.string();
}

Status Context::check_there() const {
  SLUICE_LET(dir, state_dir());
  return check_ledger(dir);
}

Result<std::unique_ptr<kv::Store>> Context::open_existing() const {
  SLUICE_LET(dir, state_dir());
  SLUICE_TRY(check_ledger(dir));
  SLUICE_LET(store, open_store(dir, memory_));
  // Of a run that was ended before its first commit.
  bool begun = false;
  SLUICE_TRY(store->read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(settings, migrate::read_settings(reader));
    begun = settings.has_value();
    return {};
  }));
  if (!begun) return no_ledger(dir);
  return std::move(store);
}

Result<OwnedLedger> Context::own_existing() const {
  SLUICE_LET(dir, state_dir());
  SLUICE_TRY(check_ledger(dir));
  SLUICE_LET(ledger, own(dir));
  bool begun = false;
  SLUICE_TRY(ledger.store->read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(settings, migrate::read_settings(reader));
    begun = settings.has_value();
    return {};
  }));
  if (!begun) return no_ledger(dir);
  return std::move(ledger);
}

Result<OwnedLedger> Context::own_or_make() const {
  SLUICE_LET(dir, state_dir());
  std::error_code problem;
  fs::create_directories(dir, problem);
  if (problem)
    return error(
        problem.value() == EACCES ? Code::permission_denied : Code::unavailable,
        "cannot make the folder " + dir + ": " + problem.message() + "; name another with --state");
  if (!has_ledger(dir)) SLUICE_TRY(check_empty(dir));
  return own(dir);
}

Result<OwnedLedger> Context::own(const std::string& dir) const {
  SLUICE_LET(file, exec::LockFile::open(lock_in(dir)));
  SLUICE_LET(lock, file.try_lock(0));
  if (!lock)
    return error(Code::conflict, "another run is at work on the ledger in " + dir +
                                     ": wait for its end, or stop it (Ctrl-C there loses nothing)");
  SLUICE_LET(store, open_store(dir, memory_));
  return OwnedLedger{.lock = std::move(*lock), .store = std::move(store)};
}

Result<bool> Context::is_running() const {
  SLUICE_LET(dir, state_dir());
  if (access(lock_in(dir).c_str(), F_OK) != 0) return false;
  SLUICE_LET(file, exec::LockFile::open(lock_in(dir)));
  return file.held(0);
}

}  // namespace sluice::cli
