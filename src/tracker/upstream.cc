// SPDX-License-Identifier: MIT
#include "tracker/upstream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace sluice::tracker {

using runtime::BreakerState;

const char* upstream_state_name(UpstreamState state) {
  switch (state) {
    case UpstreamState::ok:
      return "ok";
    case UpstreamState::suspended:
      return "suspended";
    case UpstreamState::open:
      return "open";
    case UpstreamState::disabled:
      return "disabled";
    case UpstreamState::leaving:
      return "leaving";
  }
  return "unknown";
}

Upstream::Upstream(UpstreamConfig config, const ForwardOptions& options, const Clock& clock,
                   Random& random)
    : config_(std::make_shared<const UpstreamConfig>(std::move(config))),
      options_(options),
      breaker_(config_->name, options.breaker, {.clock = &clock, .random = &random}),
      bucket_(full_bucket(options.upstream_rate, clock.mono().time_since_epoch())) {}

Upstream::Admission Upstream::admit(MonoTime now) {
  if (disabled_ || blocked(now)) return {.leave = Leave::blocked, .at = blocked_until_};
  const std::uint32_t most = proven_ ? options_.in_flight_max : options_.in_flight_unproven_max;
  if (probing_ || in_flight_ >= most) return {.leave = Leave::when_answered};
  const BucketTake taken = take(options_.upstream_rate, bucket_, now.time_since_epoch(), 1);
  if (!taken.taken) return {.leave = Leave::at_rate, .at = MonoTime(taken.ready_at)};
  auto leave = breaker_.admit();
  // Its cooldown is over, as nothing blocks, and its probe is not out: it cannot refuse.
  SLUICE_CHECK(leave.has_value());
  bucket_ = taken.state;
  probing_ = !closed_;
  ++in_flight_;
  ++counts_.sent;
  Admission admission;
  admission.call.emplace(Call{.leave = std::move(*leave), .started = now, .is_probe = probing_});
  return admission;
}

void Upstream::answered(Call call, const UpstreamResult& result, MonoTime now) {
  --in_flight_;
  if (call.is_probe) probing_ = false;
  if (result.outcome != UpstreamOutcome::unreachable) measure(now - call.started);
  proven_ = result.outcome != UpstreamOutcome::unreachable;
  judge(call, result, now);
}

void Upstream::give_up(Call call) {
  --in_flight_;
  ++counts_.given_up;
  if (call.is_probe) probing_ = false;
}

void Upstream::judge(Call& call, const UpstreamResult& result, MonoTime now) {
  switch (result.outcome) {
    case UpstreamOutcome::ok:
    case UpstreamOutcome::refused:
      ++(result.outcome == UpstreamOutcome::ok ? counts_.ok : counts_.refused);
      call.leave.succeeded();
      if (!closed_) look_at_breaker();
      return;
    case UpstreamOutcome::busy: {
      ++counts_.busy;
      const Duration pause = result.retry_after.value_or(options_.suspend);
      suspended_until_ = now + std::clamp(pause, Duration{}, options_.interval_max);
      blocked_until_ = std::max(blocked_until_, suspended_until_);
      busy_reason_ = result.reason;
      return;
    }
    case UpstreamOutcome::unreachable:
      ++counts_.unreachable;
      call.leave.failed(result.reason);
      look_at_breaker();
      return;
  }
}

void Upstream::look_at_breaker() {
  const runtime::BreakerView view = breaker_.view();
  closed_ = view.state == BreakerState::closed;
  blocked_until_ = std::max(suspended_until_, view.next_probe_at.value_or(suspended_until_));
}

void Upstream::measure(Duration elapsed) {
  if (!response_ns_) response_ns_ = std::make_shared<Histogram>();
  response_ns_->record(static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count()));
  if (response_time_ == Duration{}) {
    response_time_ = elapsed;
    return;
  }
  const auto mean = static_cast<double>(response_time_.count());
  const auto newest = static_cast<double>(elapsed.count());
  response_time_ = Duration(static_cast<Duration::rep>(mean + kResponseWeight * (newest - mean)));
}

void Upstream::set_config(UpstreamConfig config) {
  if (config == *config_) return;
  config_ = std::make_shared<const UpstreamConfig>(std::move(config));
}

void Upstream::disable(std::string reason, DisabledBy by) {
  disabled_ = true;
  by_ = by;
  disabled_reason_ = std::move(reason);
}

void Upstream::enable() {
  disabled_ = false;
  disabled_reason_.clear();
}

UpstreamState Upstream::state(MonoTime now) const {
  if (disabled_) return UpstreamState::disabled;
  if (!closed_) return UpstreamState::open;
  return now < suspended_until_ ? UpstreamState::suspended : UpstreamState::ok;
}

std::string Upstream::reason(MonoTime now) const {
  switch (state(now)) {
    case UpstreamState::ok:
      return {};
    case UpstreamState::suspended:
      return busy_reason_;
    case UpstreamState::open:
      return breaker_.view().reason;
    case UpstreamState::disabled:
      return disabled_reason_;
    case UpstreamState::leaving:
      break;
  }
  return {};
}

}  // namespace sluice::tracker
