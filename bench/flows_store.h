// SPDX-License-Identifier: MIT
// A store that notes how large its transactions are.
#pragma once

#include <sluice/kv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "queue_load.h"

namespace sluice::bench {

/// The largest transaction of a stretch of work.
struct Largest {
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;  ///< Of keys and values.
};

/// Hands every call on to another store, and looks at it after each commit.
///
/// For one thread. `steps` tells how far the work has got, as it is committed; it may read.
class WatchedStore final : public kv::Store {
 public:
  explicit WatchedStore(std::unique_ptr<kv::Store> inner) : inner_(std::move(inner)) {}

  /// Notes from now on; the outcome is what stop_watching() returns.
  void watch(std::function<std::uint64_t()> steps);
  Largest stop_watching();

  kv::Stats stats() const override { return inner_->stats(); }

 private:
  Result<kv::Commit> do_run(const kv::Body& body, const kv::WriteOptions& options) override;
  void do_submit(kv::Body body, kv::Done done, const kv::WriteOptions& options) override;
  Status do_read(const kv::ReadBody& body, const kv::ReadOptions& options) override;
  kv::BellTicket do_listen(std::string_view bell) const override;
  kv::Wake do_wait(const kv::BellTicket& ticket, const kv::WaitOptions& options) const override;
  WallTime do_now() const override { return inner_->now(); }
  Result<std::uint16_t> do_raise_epoch() override { return inner_->raise_epoch(); }
  void note();

  std::unique_ptr<kv::Store> inner_;
  std::function<std::uint64_t()> steps_;
  std::uint64_t steps_before_ = 0;
  std::uint64_t bytes_before_ = 0;
  Largest largest_;
};

/// Queues on a watched LMDB.
struct WatchedShop {
  std::unique_ptr<WatchedStore> store;
  std::unique_ptr<queue::Queues> queues;

  static Result<WatchedShop> open(const std::string& dir, const Clock& clock = system_clock());
  /// Runs `work` and notes its transactions; a step is a job that has left or entered `lane`.
  Result<Largest> watch_lane(queue::Lane lane, const std::function<Status()>& work) const;
};

/// "500 in one transaction" in words of the table.
std::string size_of(const Largest& largest);

}  // namespace sluice::bench
