// SPDX-License-Identifier: MIT
// What the commands of sluice-migrate share: where the ledger is, and how output is to look.
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/result.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/args.h"
#include "cli/terminal.h"
#include "exec/lock_file.h"

namespace sluice::cli {

inline constexpr std::string_view kVersion = SLUICE_VERSION;

/// Of compare, run, copy; every other command has 0, or the code of its failure.
enum ExitCode : int {
  kSame = 0,         ///< Nothing differs, or everything was copied.
  kDifferent = 1,    ///< Something differs, and that is known.
  kIncomplete = 2,   ///< Something is unknown, or failed.
  kInterrupted = 3,  ///< By a signal; the same command goes on.
};

/// The ledger, held by the only process that may change it.
struct OwnedLedger {
  exec::Lock lock;  ///< Released after the store is closed.
  std::unique_ptr<kv::Store> store;
};

class Context {
 public:
  explicit Context(const Arguments& arguments);

  const Clock& clock() const { return system_clock(); }
  const Terminal& out() const { return out_; }
  const Terminal& err() const { return err_; }
  /// A line on standard error, unless --quiet.
  void note(std::string_view text) const;

  /// What --state names, absolute; `invalid_argument` if it is not there.
  Result<std::string> state_dir() const;
  /// `not_found` if there is no ledger. Reads nothing of it.
  Status check_there() const;
  /// For readers, also beside a run. `not_found` if there is no ledger; makes none.
  Result<std::unique_ptr<kv::Store>> open_existing() const;
  /// For a command that changes a ledger. `not_found` if there is none, `conflict` if another
  /// process changes it at this moment.
  Result<OwnedLedger> own_existing() const;
  /// The same; makes the folder and the ledger if they are not there. `invalid_argument` for a
  /// folder that holds something else.
  Result<OwnedLedger> own_or_make() const;
  /// Whether a command that changes the ledger is at work.
  Result<bool> is_running() const;

 private:
  Result<OwnedLedger> own(const std::string& dir) const;

  std::string state_;
  std::uint64_t memory_ = 0;
  bool quiet_ = false;
  Terminal out_;
  Terminal err_;
};

}  // namespace sluice::cli
