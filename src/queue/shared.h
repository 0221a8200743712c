// SPDX-License-Identifier: MIT
// What all transactions of one Queues object share: its store, its randomness, its name among the
// processes that claim.
#pragma once

#include <sluice/kv.h>
#include <sluice/random.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "queue/bytes16.h"
#include "queue/keys.h"

namespace sluice::queue {

/// Thread-safe.
class Shared {
 public:
  Shared(kv::Store& store, Random* random);

  kv::Store& store() const { return store_; }
  const Bytes16& process() const { return process_; }

  double draw_unit();
  std::uint64_t draw_below(std::uint64_t bound);

  /// A ULID that sorts after every other one of this object. Neighbours in time are neighbours in
  /// the index of ids, and so cost no page of their own.
  std::string next_ulid(Millis now);

  /// The processes that claim from a queue, as last seen, and when that was.
  struct Claimers {
    std::vector<Bytes16> processes = {};
    Millis seen = 0;
    Millis registered = 0;
  };
  Claimers claimers(const Bytes16& queue);
  void set_claimers(const Bytes16& queue, Claimers claimers);

 private:
  kv::Store& store_;
  Bytes16 process_;

  Mutex mutex_;
  SystemRandom system_random_ SLUICE_GUARDED_BY(mutex_);
  Random* random_ SLUICE_GUARDED_BY(mutex_);
  Millis ulid_ms_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint16_t ulid_high_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t ulid_low_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::map<Bytes16, Claimers> claimers_ SLUICE_GUARDED_BY(mutex_);
};

/// Rung when a job of the queue may have become claimable, and when one of any queue may have.
std::string queue_bell(const Bytes16& queue);
inline constexpr std::string_view kAnyQueueBell = "sluice/queues";

}  // namespace sluice::queue
