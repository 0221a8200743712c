// SPDX-License-Identifier: MIT
// One upstream tracker: whether it may be asked now, and how it does.
#pragma once

#include <sluice/clock.h>
#include <sluice/random.h>
#include <sluice/runtime/breaker.h>
#include <sluice/token_bucket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/histogram.h"
#include "tracker/forward_options.h"
#include "tracker/upstream_transport.h"

namespace sluice::tracker {

enum class UpstreamState : std::uint8_t {
  ok,
  suspended,  ///< It said that it is busy.
  open,       ///< It could not be reached too often in a row; its breaker is not closed.
  disabled,   ///< It said never, or somebody did.
  leaving,    ///< It was removed, and hears that its peers have stopped.
};
const char* upstream_state_name(UpstreamState state);

/// Requests by what became of them: sent is the sum of the others and of those in flight.
struct UpstreamCounts {
  std::uint64_t sent = 0;
  std::uint64_t ok = 0;
  std::uint64_t refused = 0;
  std::uint64_t busy = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t given_up = 0;  ///< The answer was not waited for.

  std::uint64_t ended() const { return ok + refused + busy + unreachable + given_up; }
};

/// The weight of the newest answer in the mean response time.
inline constexpr double kResponseWeight = 0.15;

/// Lifecycle: outlives its calls. Concurrency: not thread-safe. Cost: every call O(1).
class Upstream {
 public:
  /// `options`, `clock` and `random` outlive it.
  Upstream(UpstreamConfig config, const ForwardOptions& options, const Clock& clock,
           Random& random);

  /// A request that was let through. It goes back to answered(), or to give_up().
  struct Call {
    runtime::Breaker::Call leave;
    MonoTime started = {};
    bool is_probe = false;
  };
  enum class Leave : std::uint8_t {
    granted,
    blocked,        ///< Not before blocked_until().
    when_answered,  ///< Not before one of its requests has ended.
    at_rate,        ///< Not before `at`.
  };
  struct Admission {
    Leave leave = Leave::granted;
    MonoTime at = {};
    std::optional<Call> call = {};  ///< Only if it was granted.
  };
  Admission admit(MonoTime now);
  void answered(Call call, const UpstreamResult& result, MonoTime now);
  /// The answer will not be waited for.
  void give_up(Call call);

  void set_config(UpstreamConfig config);
  enum class DisabledBy : std::uint8_t { itself, hand };
  void disable(std::string reason, DisabledBy by);
  void enable();

  const std::shared_ptr<const UpstreamConfig>& config() const { return config_; }
  bool disabled() const { return disabled_; }
  /// And not because it said so.
  bool disabled_by_hand() const { return disabled_ && by_ == DisabledBy::hand; }
  bool blocked(MonoTime now) const { return now < blocked_until_; }
  MonoTime blocked_until() const { return blocked_until_; }
  /// Blocked, or being tried by a probe.
  bool suspended(MonoTime now) const { return blocked(now) || probing_; }
  /// Only one request is let through, until that has succeeded.
  bool must_prove() const { return !closed_; }
  UpstreamState state(MonoTime now) const;
  /// Why it is not ok; empty if it is.
  std::string reason(MonoTime now) const;
  std::uint32_t in_flight() const { return in_flight_; }
  const UpstreamCounts& counts() const { return counts_; }
  /// The mean of the time to an answer; 0 before the first.
  Duration response_time() const { return response_time_; }
  /// Null before the first.
  const std::shared_ptr<Histogram>& response_ns() const { return response_ns_; }

 private:
  void judge(Call& call, const UpstreamResult& result, MonoTime now);
  void look_at_breaker();
  void measure(Duration elapsed);

  std::shared_ptr<const UpstreamConfig> config_;  // The last request dies last.
  const ForwardOptions& options_;
  runtime::Breaker breaker_;
  BucketState bucket_;
  MonoTime blocked_until_ = {};
  MonoTime suspended_until_ = {};
  std::string busy_reason_ = {};
  std::string disabled_reason_ = {};
  UpstreamCounts counts_ = {};
  Duration response_time_ = {};
  std::shared_ptr<Histogram> response_ns_ = {};  // The last who looks at it holds it last.
  std::uint32_t in_flight_ = 0;
  bool disabled_ = false;
  DisabledBy by_ = DisabledBy::itself;
  bool closed_ = true;    ///< The breaker.
  bool probing_ = false;  ///< A probe is in flight.
  bool proven_ = false;   ///< The last request was answered.
};

}  // namespace sluice::tracker
