// SPDX-License-Identifier: MIT
#pragma once

#include <sluice/kv.h>

#include <atomic>
#include <cstdint>

#include "base/histogram.h"
#include "base/mutex.h"
#include "kv/bells.h"
#include "kv/engine.h"
#include "kv/memory/versions.h"

namespace sluice::kv {

/// The engine behind open_memory(). A commit is as durable as the process, at once.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryOptions options);

  Stats stats() const override;

  /// For fault injection: the committed versions, which can be rewound to an earlier one.
  Versions& versions() { return versions_; }

 private:
  Result<Commit> do_run(const Body& body, const WriteOptions& options) override;
  void do_submit(Body body, Done done, const WriteOptions& options) override;
  Status do_read(const ReadBody& body, const ReadOptions& options) override;
  BellTicket do_listen(std::string_view bell) const override { return bells_.listen(bell); }
  Wake do_wait(const BellTicket& ticket, const WaitOptions& options) const override {
    return bells_.wait(ticket, options);
  }
  WallTime do_now() const override {
    return opened_wall_ + (options_.clock->mono() - opened_mono_);
  }
  Result<std::uint16_t> do_raise_epoch() override;
  Status do_copy_to(const std::string& dir) override;

  std::optional<Result<Commit>> attempt(const Body& body);

  const MemoryOptions options_;
  const WallTime opened_wall_ = options_.clock->wall();
  const MonoTime opened_mono_ = options_.clock->mono();
  Versions versions_;
  BellWords words_{};
  const Bells bells_;
  Mutex writer_;  // Serial mode: held from the start of a body to its commit.
  std::atomic<std::uint16_t> epoch_{1};
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> conflicts_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
  Histogram batch_size_;
};

}  // namespace sluice::kv
