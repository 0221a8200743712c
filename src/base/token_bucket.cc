// SPDX-License-Identifier: MIT
#include <sluice/token_bucket.h>

#include <algorithm>
#include <string>

#include "base/check.h"

namespace sluice {
namespace {

// Everything is counted in units of 1 / per.count() of a token: a nanosecond brings `tokens` units
// and a token costs `per.count()` units, both whole numbers. A product of two 64-bit numbers plus a
// third one always fits.
using Units = unsigned __int128;

std::uint64_t token_cost(const BucketLimit& limit) {
  return static_cast<std::uint64_t>(limit.per.count());
}

// Unsigned, because the distance between two instants may not fit a Duration.
std::uint64_t elapsed(Duration from, Duration to) {
  if (to <= from) return 0;
  return static_cast<std::uint64_t>(to.count()) - static_cast<std::uint64_t>(from.count());
}

struct Refilled {
  Units tokens = 0;
  std::uint64_t part = 0;
};
// A short time brings few units, and 64 bits divide several times quicker than 128.
Refilled divide(Units units, std::uint64_t cost) {
  if (const auto few = static_cast<std::uint64_t>(units); few == units)
    return {.tokens = few / cost, .part = few % cost};
  return {.tokens = units / cost, .part = static_cast<std::uint64_t>(units % cost)};
}

Duration later_by(Duration instant, Units nanoseconds) {
  if (nanoseconds > elapsed(instant, Duration::max())) return Duration::max();
  return Duration(static_cast<Duration::rep>(static_cast<std::uint64_t>(instant.count()) +
                                             static_cast<std::uint64_t>(nanoseconds)));
}

}  // namespace

Status validate(const BucketLimit& limit) {
  if (limit.tokens < 1)
    return error(Code::invalid_argument, "rate limit: tokens must be 1 or more");
  if (limit.per < Duration(1))
    return error(Code::invalid_argument, "rate limit: per must be 1 ns or longer");
  if (limit.burst < 1) return error(Code::invalid_argument, "rate limit: burst must be 1 or more");
  static_assert(kBucketTokensPerNanosecondMax == 1);
  if (limit.tokens > token_cost(limit)) {
    return error(Code::invalid_argument, "rate limit: " + std::to_string(limit.tokens) +
                                             " tokens per " + std::to_string(limit.per.count()) +
                                             " ns is more than one token per nanosecond");
  }
  return {};
}

BucketState full_bucket(const BucketLimit& limit, Duration now) {
  return {.as_of = now, .tokens = limit.burst, .part = 0};
}

BucketState refill(const BucketLimit& limit, const BucketState& state, Duration now) {
  SLUICE_CHECK(validate(limit).ok());
  const std::uint64_t cost = token_cost(limit);
  const Units units =
      Units{elapsed(state.as_of, now)} * limit.tokens + std::min(state.part, cost - 1);
  const Refilled brought = divide(units, cost);
  const Units tokens = brought.tokens + state.tokens;
  BucketState filled{
      .as_of = std::max(state.as_of, now), .tokens = limit.burst, .part = limit.tokens - 1};
  if (tokens <= limit.burst) {
    filled.tokens = static_cast<std::uint64_t>(tokens);
    filled.part = brought.part;
  }
  // A full bucket keeps what arrived within its last nanosecond. Without that, a burst of 1 at 3
  // per second would lose two thirds of a nanosecond with every token.
  if (filled.tokens == limit.burst) filled.part = std::min(filled.part, limit.tokens - 1);
  return filled;
}

BucketTake take(const BucketLimit& limit, const BucketState& state, Duration now, std::uint64_t n) {
  BucketState filled = refill(limit, state, now);
  if (n <= filled.tokens) {
    filled.tokens -= n;
    return {.taken = true, .state = filled, .ready_at = now};
  }
  if (n > limit.burst) return {.taken = false, .state = state, .ready_at = Duration::max()};
  const Units missing = Units{n - filled.tokens} * token_cost(limit) - filled.part;
  const Units wait = (missing + limit.tokens - 1) / limit.tokens;
  return {.taken = false, .state = state, .ready_at = later_by(filled.as_of, wait)};
}

}  // namespace sluice
