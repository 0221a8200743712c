// SPDX-License-Identifier: MIT
// A store that fails on purpose, for testing what stands above it.
#pragma once

#include <sluice/kv.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace sluice::kv {

class MemoryStore;

/// What can go wrong with one writing transaction.
enum class Fault : std::uint8_t {
  conflict,         ///< The body runs, loses, and is run again. The caller does not notice.
  full,             ///< A grow transaction is refused with storage_full.
  unknown_applied,  ///< Committed, but the caller is told commit_unknown.
  unknown_lost,     ///< Not committed, and the caller is told commit_unknown.
  io_error,         ///< Not committed; the store is poisoned until reopen().
  crash_lost,       ///< The process dies before the sync: all that is not synced is gone.
  crash_applied,    ///< The process dies after the sync, before the caller is told.
};
inline constexpr std::size_t kFaultCount = 7;

/// The memory engine with faults, drawn for each transaction from a seeded Random.
///
/// After a crash or an I/O error the store is down: every call fails (`commit_unknown` for the
/// transaction that was hit, then `unavailable` or `io_error`) until reopen(). A transaction that
/// runs inside another's MemoryOptions::before_commit does not crash the store.
///
/// Sync is normally part of a commit. With hold_syncs() submitted transactions commit, and are seen
/// by later ones, but their `done` waits for sync() (or for the next run(), which syncs), and a
/// crash loses them: this is how a group commit looks at the moment of a power cut.
class FaultStore final : public Store {
 public:
  /// `random` is used under a lock and outlives the store.
  FaultStore(MemoryOptions options, Random& random);
  ~FaultStore() override;

  /// The probability of one fault per transaction; 0 for all at first.
  void set_chance(Fault fault, double probability);
  void clear_chances();
  /// How often a fault has struck.
  std::uint64_t count(Fault fault) const;

  void hold_syncs(bool hold);
  void sync();
  /// The process dies now. Transactions that wait for their sync are undone, their `done` dropped.
  void crash();
  bool down() const;
  /// What a restarted process sees: the last synced state.
  void reopen();

  Stats stats() const override;

 private:
  Result<Commit> do_run(const Body& body, const WriteOptions& options) override;
  void do_submit(Body body, Done done, const WriteOptions& options) override;
  Status do_read(const ReadBody& body, const ReadOptions& options) override;
  BellTicket do_listen(std::string_view bell) const override;
  Wake do_wait(const BellTicket& ticket, const WaitOptions& options) const override;
  WallTime do_now() const override;
  Result<std::uint16_t> do_raise_epoch() override;
  Status do_copy_to(const std::string& dir) override;

  bool strikes(Fault fault);
  Status usable() const;
  void go_down(Status status);
  Result<Commit> run_unsynced(const Body& body, const WriteOptions& options, bool top_level);
  Status run_undone(const Body& body, const WriteOptions& options);

  const std::unique_ptr<MemoryStore> memory_;

  mutable Mutex mutex_;
  Random& random_ SLUICE_GUARDED_BY(mutex_);
  std::array<double, kFaultCount> chances_ SLUICE_GUARDED_BY(mutex_){};
  std::array<std::uint64_t, kFaultCount> counts_ SLUICE_GUARDED_BY(mutex_){};
  Status down_ SLUICE_GUARDED_BY(mutex_);
  bool hold_syncs_ SLUICE_GUARDED_BY(mutex_) = false;
  std::uint64_t synced_ SLUICE_GUARDED_BY(mutex_) = 0;  // A pinned version of memory_.
  int running_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<Done, Result<Commit>>> unsynced_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kv
