// SPDX-License-Identifier: MIT
// A token bucket in whole numbers: so many tokens per so much time, up to so many saved up. The
// state is a plain value, so that it can live in a stored record as well as behind a mutex.
//
// Two promises, both exact and both tested:
// - never more: the tokens taken at the instants a .. b are at most burst + rate * (b - a + 1 ns);
//   a window counts its first and its last nanosecond, as an instant is known no finer than that;
// - never less: whoever takes tokens as soon as each is ready gets burst + rate * time, rounded
//   down, for ever. What a refill leaves over of a token is kept, so nothing drifts.
#pragma once

#include <sluice/clock.h>
#include <sluice/result.h>

#include <chrono>
#include <cstdint>

namespace sluice {

/// The quickest rate: one token per nanosecond, which is as fine as time is known.
inline constexpr std::uint64_t kBucketTokensPerNanosecondMax = 1;

/// `tokens` per `per`, of which up to `burst` are saved up while nobody takes any.
struct BucketLimit {
  std::uint64_t tokens = 1;
  Duration per = std::chrono::seconds(1);
  std::uint64_t burst = 1;
};

/// What is in a bucket. Any values are safe to use. After a change of the limit the state stays
/// usable: tokens beyond the new burst are dropped, time since `as_of` counts at the new rate, and
/// the part may come to mean another share of one token.
struct BucketState {
  Duration as_of{};          ///< When this was so, since whichever epoch the caller uses.
  std::uint64_t tokens = 0;  ///< Whole tokens present.
  std::uint64_t part = 0;    ///< Of the next token, in 1 / per.count().

  friend bool operator==(const BucketState&, const BucketState&) = default;
};

/// What became of a take().
struct BucketTake {
  bool taken = false;
  BucketState state;    ///< What to keep: after a refusal the state as it was, so nothing to store.
  Duration ready_at{};  ///< The earliest instant at which the same take succeeds, if nobody else
                        ///< takes; `now` when taken. Duration::max() when that never comes: more
                        ///< than a whole burst is asked for, or time ends first.
};

/// invalid_argument, naming the member and what is allowed, unless: tokens, per and burst are at
/// least 1 and the rate is at most kBucketTokensPerNanosecondMax.
Status validate(const BucketLimit& limit);

/// A bucket that nobody has taken from yet.
BucketState full_bucket(const BucketLimit& limit, Duration now);

/// The bucket as it is at `now`. A `now` before state.as_of counts as state.as_of: time that runs
/// backwards leaves the tokens as they are, and refilling goes on when time is past as_of again.
/// The limit must be valid (checked). No overflow at any values. Constant time.
BucketState refill(const BucketLimit& limit, const BucketState& state, Duration now);

/// Takes `n` tokens, all or none, out of the bucket as it is at `now`; see refill().
BucketTake take(const BucketLimit& limit, const BucketState& state, Duration now, std::uint64_t n);

}  // namespace sluice
