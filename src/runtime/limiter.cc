// SPDX-License-Identifier: MIT
#include <sluice/runtime/limiter.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/check.h"
#include "base/mutex.h"
#include "runtime/string_hash.h"

namespace sluice::runtime {
namespace {

MonoTime to_mono(Duration since_epoch) {
  return MonoTime(since_epoch);
}

/// Takes from the bucket and keeps what becomes of it.
Take take_from(const BucketLimit& limit, BucketState& state, MonoTime now, std::uint64_t tokens) {
  const BucketTake taken = sluice::take(limit, state, now.time_since_epoch(), tokens);
  state = taken.state;
  return {.taken = taken.taken, .ready_at = to_mono(taken.ready_at)};
}

}  // namespace

struct Bucket::State {
  State(const BucketLimit& given, const Clock& by)
      : limit(given), clock(by), bucket(full_bucket(limit, clock.mono().time_since_epoch())) {}

  const BucketLimit limit;
  const Clock& clock;
  mutable Mutex mutex;
  BucketState bucket SLUICE_GUARDED_BY(mutex);
};

Bucket::Bucket(const BucketLimit& limit, const Clock& clock) {
  SLUICE_CHECK(validate(limit).ok());
  state_ = std::make_unique<State>(limit, clock);
}

Bucket::~Bucket() = default;

Take Bucket::take(std::uint64_t tokens) {
  const MonoTime now = state_->clock.mono();
  const MutexLock lock(state_->mutex);
  return take_from(state_->limit, state_->bucket, now, tokens);
}

std::uint64_t Bucket::tokens() const {
  const MonoTime now = state_->clock.mono();
  const MutexLock lock(state_->mutex);
  return refill(state_->limit, state_->bucket, now.time_since_epoch()).tokens;
}

struct Limiter::State {
  explicit State(LimiterConfig given) : config(given) {}

  const LimiterConfig config;
  mutable Mutex mutex;
  std::unordered_map<std::string, BucketState, StringHash, std::equal_to<>> buckets
      SLUICE_GUARDED_BY(mutex);
  /// At so many buckets the full ones are looked for again.
  std::size_t sweep_at SLUICE_GUARDED_BY(mutex) = kSweepMin;

  static constexpr std::size_t kSweepMin = 1024;

  void forget_full(MonoTime now) SLUICE_ANNOTATE(requires_capability(mutex)) {
    std::erase_if(buckets, [&](const auto& entry) {
      return refill(config.limit, entry.second, now.time_since_epoch()).tokens ==
             config.limit.burst;
    });
    sweep_at = std::max(kSweepMin, 2 * buckets.size());
  }
};

Limiter::Limiter(LimiterConfig config) {
  SLUICE_CHECK(validate(config.limit).ok());
  SLUICE_CHECK(config.keys_max > 0 && config.clock != nullptr);
  state_ = std::make_unique<State>(config);
}

Limiter::~Limiter() = default;

Take Limiter::take(std::string_view key, std::uint64_t tokens) {
  State& state = *state_;
  const MonoTime now = state.config.clock->mono();
  const MutexLock lock(state.mutex);
  auto found = state.buckets.find(key);
  if (found == state.buckets.end()) {
    const bool at_limit = state.buckets.size() >= state.config.keys_max;
    if (at_limit || state.buckets.size() >= state.sweep_at) state.forget_full(now);
    if (state.buckets.size() >= state.config.keys_max)
      return {.taken = false, .ready_at = now + state.config.limit.per};
    const BucketState full = full_bucket(state.config.limit, now.time_since_epoch());
    found = state.buckets.emplace(key, full).first;
  }
  return take_from(state.config.limit, found->second, now, tokens);
}

std::size_t Limiter::size() const {
  const MutexLock lock(state_->mutex);
  return state_->buckets.size();
}

}  // namespace sluice::runtime
