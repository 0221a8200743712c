// SPDX-License-Identifier: MIT
// How often something may happen: a token bucket, and one for each key.
//
//   Limiter limiter({.limit = {.tokens = 10, .per = 1s, .burst = 20}});
//   if (const Take take = limiter.take(affiliate); !take.taken) return retry_at(take.ready_at);
#pragma once

#include <sluice/clock.h>
#include <sluice/token_bucket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::runtime {

/// What became of a take.
struct Take {
  bool taken = false;
  /// The earliest time when the same take succeeds, if nobody else takes: now if it was taken;
  /// MonoTime::max() if it asks for more than a whole burst.
  MonoTime ready_at = {};
};

/// One bucket, full at the start. The arithmetic is exact (sluice/token_bucket.h): nothing is lost
/// to rounding, however it is asked.
///
/// Concurrency: thread-safe. Cost: a lock and a look at the clock.
class Bucket {
 public:
  /// An invalid limit stops the process (validate()).
  explicit Bucket(const BucketLimit& limit, const Clock& clock = system_clock());
  ~Bucket();
  Take take(std::uint64_t tokens = 1);
  /// Whole tokens there now.
  std::uint64_t tokens() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct LimiterConfig {
  BucketLimit limit = {};
  /// Buckets that are not full, at once; at least 1. Once there are so many, a key that has none is
  /// refused until one is full again: who floods with ever new keys gets no further than that.
  std::size_t keys_max = 100'000;
  const Clock* clock = &system_clock();
};

/// A bucket for each key. A full bucket says nothing and is forgotten, so idle keys cost no memory.
///
/// Concurrency: thread-safe.
/// Cost: a hash, a lock and a look at the clock; forgetting is paid by who adds keys, O(1) each.
class Limiter {
 public:
  explicit Limiter(LimiterConfig config);
  ~Limiter();
  Take take(std::string_view key, std::uint64_t tokens = 1);
  /// Buckets that are kept.
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::runtime
