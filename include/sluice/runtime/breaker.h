// SPDX-License-Identifier: MIT
// Stops calling what does not work, and finds out by few calls when it works again.
//
//   SLUICE_LET(breaker, breakers.get(host));
//   auto call = breaker->admit();
//   if (!call) return call.error();              // unavailable: says until when.
//   const Status status = fetch(host);
//   call->finish(status);
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/result.h>
#include <sluice/runtime/metrics.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// When a breaker opens and for how long. Each of the two ways to open may be turned off, not both.
struct BreakerPolicy {
  std::uint32_t failures_in_row = 5;  ///< 0: not for that.
  double failure_rate = 0;            ///< Of the calls of the window, 0 to 1; 0: not for that.
  Duration window = std::chrono::seconds(10);
  std::uint32_t calls_min = 20;  ///< Fewer calls in the window do not open it by rate.
  Duration slow_call = {};       ///< A success that took so long counts as a failure; 0: never.

  Duration cooldown = std::chrono::seconds(30);
  Duration cooldown_max =
      std::chrono::hours(1);  ///< It doubles with each failed probe, up to this.
  double jitter = 0.1;        ///< The share of a cooldown that is random, 0 to 1; it shortens it.
  std::uint32_t probes = 1;   ///< Calls that are let through half-open, and must all succeed.
};

/// invalid_argument, naming the member and what is allowed.
Status validate(const BreakerPolicy& policy);

enum class BreakerState : std::uint8_t { closed, half_open, open };
const char* breaker_state_name(BreakerState state);

/// A breaker as it was at one moment.
struct BreakerView {
  BreakerState state = BreakerState::closed;
  MonoTime since = {};                         ///< The last change of state.
  std::optional<MonoTime> next_probe_at = {};  ///< Only while it is open.
  std::string reason = {};                     ///< Why it opened last; empty if it never did.
  std::uint32_t failures_in_row = 0;
  Duration cooldown = {};  ///< Of the last opening, before jitter.
};

/// One breaker.
///
/// | state     | what happens                                   | then | | --------- |
/// ---------------------------------------------- | --------------------------------- | | closed |
/// a success                                      | closed, no failures in a row      | | closed |
/// a failure                                      | closed                            | | closed |
/// the failures_in_row-th failure, or the rate    | open for the cooldown             | | open | a
/// call before the cooldown is over             | refused                           | | open      |
/// a call then or later                           | half-open; it is the first probe  | | half-open
/// | a call while fewer than `probes` were admitted | a probe                           | |
/// half-open | another call                                   | refused                           |
/// | half-open | a probe fails                                  | open for twice the last cooldown
/// | | half-open | a probe is let go without a verdict            | its place is free again | |
/// half-open | the last probe succeeds                        | closed; the first cooldown again  |
/// | any       | a verdict on a call admitted before the change | nothing |
///
/// Lifecycle: outlives its calls. Concurrency: thread-safe, its calls too.
/// Cost: closed and without failures, admit() and a verdict take no lock, unless the policy goes by
/// rate or by time.
class Breaker {
 public:
  /// An invalid policy stops the process. `random` is used under the breaker's lock; without one,
  /// the kernel's.
  struct Seams {
    const Clock* clock = &system_clock();
    Random* random = nullptr;
  };
  Breaker(std::string key, const BreakerPolicy& policy, Seams seams);
  Breaker(std::string key, const BreakerPolicy& policy)
      : Breaker(std::move(key), policy, Seams{}) {}
  ~Breaker();
  Breaker(const Breaker&) = delete;
  Breaker& operator=(const Breaker&) = delete;

  /// A call that was let through. Give it one verdict; without one it counts for nothing.
  class [[nodiscard]] Call {
   public:
    Call(Call&& other) noexcept
        : breaker_(std::exchange(other.breaker_, nullptr)),
          epoch_(other.epoch_),
          started_(other.started_) {}
    Call& operator=(Call&&) = delete;
    ~Call();
    void succeeded();
    void failed(std::string_view reason);
    /// Either, by the status.
    void finish(const Status& status) { status.ok() ? succeeded() : failed(status.message()); }

   private:
    friend class Breaker;
    Call(Breaker* breaker, std::uint64_t epoch, MonoTime started)
        : breaker_(breaker), epoch_(epoch), started_(started) {}
    Breaker* breaker_;  ///< Null once there was a verdict.
    std::uint64_t epoch_;
    MonoTime started_;
  };

  /// `unavailable` if the call is refused, with how long that lasts.
  Result<Call> admit();

  const std::string& key() const { return key_; }
  BreakerView view() const;

 private:
  struct State;
  void settle(const Call& call, bool ok, std::string_view reason);
  void let_go(const Call& call);

  const std::string key_;
  std::unique_ptr<State> state_;
};

/// A breaker for each key: a platform, a host, an upstream.
///
/// Lifecycle: a breaker lives as long as the registry. Concurrency: thread-safe.
/// Limits: keys_max breakers. Cost of get(): a hash and a lock.
class Breakers {
 public:
  struct Config {
    BreakerPolicy policy = {};
    std::size_t keys_max = 10'000;
    Breaker::Seams seams = {};  ///< A `random` must then be thread-safe.
  };
  explicit Breakers(Config config);
  ~Breakers();

  /// The breaker of the key, which is made closed if there is none; never null. `limit_exceeded` if
  /// there are keys_max others.
  Result<Breaker*> get(std::string_view key);
  /// All of them, by key.
  std::vector<std::pair<std::string, BreakerView>> list() const;
  /// Adds `sluice_breaker_state` for each key: 0 closed, 1 half-open, 2 open.
  void collect(std::vector<Metric>& metrics) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::runtime
