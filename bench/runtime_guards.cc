// SPDX-License-Identifier: MIT
#include <sluice/runtime/breaker.h>
#include <sluice/runtime/dedup.h>
#include <sluice/runtime/limiter.h>

#include <vector>

#include "runtime_parts.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;

template <class Step>
double median_ns(const Part& part, const Step& step) {
  std::vector<double> samples;
  for (int round = 0; round < 7; ++round)
    samples.push_back(cpu_ns_each(part.quick ? 400'000 : 2'000'000, step));
  return median(samples);
}

void add(const Part& part, const char* what, double ns, double clock_ns, const char* bar) {
  part.report.add(
      {.what = what,
       .ours = number(ns),
       .peer = number(clock_ns) + " (a look at the clock)",
       .figure = ns,
       .bar = bar == nullptr ? std::optional<Bar>() : Bar{bar, Bar::Kind::at_most, 50}});
}

}  // namespace

Status measure_guards(const Part& part) {
  runtime::Breaker breaker("host", {});
  runtime::Breaker by_rate("host", {.failures_in_row = 0, .failure_rate = 0.5});
  runtime::Bucket bucket({.tokens = 1'000'000'000, .per = 1s, .burst = 1'000'000'000});
  runtime::Bucket empty({.tokens = 1, .per = 1h, .burst = 1});
  runtime::Limiter limiter({.limit = {.tokens = 1'000'000'000, .per = 1s, .burst = 1'000'000'000}});
  runtime::Dedup dedup;
  std::int64_t sum = 0;
  const double clock = median_ns(
      part, [&](std::uint64_t) { sum += system_clock().mono().time_since_epoch().count(); });
  const auto call = [](runtime::Breaker& by) {
    if (auto admitted = by.admit()) admitted->succeeded();
  };
  add(part, "a call through a closed breaker: CPU ns",
      median_ns(part, [&](std::uint64_t) { call(breaker); }), clock, "breaker_ns");
  add(part, "  the same, opened by rate", median_ns(part, [&](std::uint64_t) { call(by_rate); }),
      clock, nullptr);
  add(part, "a token taken from a bucket: CPU ns",
      median_ns(part, [&](std::uint64_t) { sum += bucket.take().taken ? 1 : 0; }), clock,
      "bucket_ns");
  add(part, "  the same, refused", median_ns(part, [&](std::uint64_t) { (void)empty.take(); }),
      clock, nullptr);
  add(part, "  the same, by key",
      median_ns(part, [&](std::uint64_t) { (void)limiter.take("key"); }), clock, nullptr);
  add(part, "a key held and let go: CPU ns",
      median_ns(part, [&](std::uint64_t) { (void)dedup.hold("key"); }), clock, nullptr);
  return sum == 0 ? Status(Code::corrupt, "the clock stands still") : Status();
}

}  // namespace sluice::bench
