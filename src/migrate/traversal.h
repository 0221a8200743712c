// SPDX-License-Identifier: MIT
// Lists both trees, directory by directory, and keeps what it finds in the ledger.
#pragma once

#include <sluice/clock.h>
#include <sluice/kv.h>
#include <sluice/result.h>
#include <sluice/runtime/executor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "migrate/coordinator.h"
#include "migrate/ledger.h"
#include "migrate/tree.h"

namespace sluice::migrate {

struct TraversalOptions {
  /// That list at the same time. With more than one, another commits meanwhile.
  unsigned threads = 2;
  std::uint32_t attempts_max = 3;  ///< Of each directory, before it is `failed`.
  GateRules gate = {};
  Duration backoff = std::chrono::milliseconds(100);  ///< After the first fault; doubles.
  const Clock* clock = &system_clock();
  /// What is found is committed when so much has come together, or after so long, or when there is
  /// nothing else to do.
  std::size_t commit_bytes = std::size_t{2} << 20;
  Duration commit_every = std::chrono::milliseconds(50);
  /// Of a directory's entries in memory, per thread, before they are sorted by way of the ledger.
  std::size_t listing_bytes_max = std::size_t{8} << 20;
  /// Each thread that lists takes descriptors of its own, where it can (own_descriptors.h). For an
  /// executor with a thread for each loop.
  bool own_descriptors = false;
};

/// How far it has come, for people to look at. Reading it costs nothing.
struct TraversalProgress {
  std::atomic<std::uint64_t> src_entries = 0;
  std::atomic<std::uint64_t> dst_entries = 0;
  std::atomic<std::uint64_t> src_folders = 0;
  std::atomic<std::uint64_t> dst_folders = 0;
  std::atomic<std::uint32_t> src_level = 0;
  std::atomic<std::uint32_t> dst_level = 0;
  std::atomic<std::uint64_t> commits = 0;
};

/// What a schedule looks like from outside: for tests.
struct TraversalProbe {
  std::function<void(const FolderTask& task)> started = {};  ///< Under no lock.
  std::function<void(const TaskName& task)> durable = {};
};

class Traversal {
 public:
  struct Context {
    kv::Store& store;
    Tree& src;
    Tree& dst;
    const Settings& settings;
    State& state;  ///< As it is in the ledger; kept up to date.
  };
  Traversal(const Context& context, TraversalOptions options, TraversalProbe probe = {});
  ~Traversal();
  Traversal(const Traversal&) = delete;
  Traversal& operator=(const Traversal&) = delete;

  /// Runs what is pending to its end, on loops of `executor`, and waits for it. `cancelled` if
  /// `stop` was requested: what had been listed by then is in the ledger, and the next run goes on
  /// there. On any other failure (of the store) the same holds up to the last commit.
  Status run(runtime::Executor& executor, std::stop_token stop);

  const TraversalProgress& progress() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::migrate
