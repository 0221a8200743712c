// SPDX-License-Identifier: MIT
// Carries out what the comparison found: makes folders, copies files, removes what is extra, sets
// attributes; in this order, level by level, in parallel.
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/result.h>
#include <sluice/runtime/executor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "migrate/ledger.h"

namespace sluice::migrate {

struct CopyOptions {
  unsigned threads = 2;
  bool remove = false;  ///< Extra names, where both listings are complete; folders in the way.
  std::optional<std::uint64_t> remove_max = {};  ///< Entries, over all runs on this ledger.
  std::uint64_t bytes_per_second = 0;            ///< 0: as fast as it goes.
  bool verify = false;  ///< Hash while copying, read back, compare; the hash stays in the ledger.
  bool sync = true;     ///< What was copied is on the disk before the ledger says so.
  const Clock* clock = &system_clock();
};

/// Since it began. Reading it costs nothing.
struct CopyProgress {
  std::atomic<std::uint64_t> names = 0;  ///< Done, in whichever way.
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> failed = 0;
  std::atomic<std::uint64_t> deleted = 0;
  std::atomic<std::uint8_t> pass = 0;  ///< Pass.
};

/// Nothing half written ever stands under its final name; a name whose source or destination is not
/// what was compared is left alone and `failed`. What a killed run had not recorded is found again:
/// what is already as it should be is not copied twice, and what lies about is removed.
class Copying {
 public:
  struct Context {
    kv::Store& store;
    const Settings& settings;  ///< Both trees are local: `invalid_argument` otherwise.
    State& state;
  };
  Copying(const Context& context, CopyOptions options);
  ~Copying();
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

  /// Runs what is planned to its end and waits for it. `cancelled` if `stop` was requested: what
  /// was done is in the ledger. Single names that fail do not end it: they are in the counters.
  Status run(runtime::Executor& executor, std::stop_token stop);

  const CopyProgress& progress() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::migrate
