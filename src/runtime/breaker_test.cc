// SPDX-License-Identifier: MIT
#include <sluice/runtime/breaker.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

/// A breaker without jitter on a clock that stands still.
struct Bench {
  ManualClock clock;
  Breaker breaker;

  explicit Bench(BreakerPolicy policy = {}) : breaker("host", plain(policy), {.clock = &clock}) {}
  static BreakerPolicy plain(BreakerPolicy policy) {
    policy.jitter = 0;
    return policy;
  }
  /// One call: "ok" and "fail" are its verdict, "refused" if there was none.
  std::string call(const std::string& verdict) {
    auto call = breaker.admit();
    if (!call) return "refused";
    verdict == "ok" ? call->succeeded() : call->failed("no answer");
    return breaker_state_name(breaker.view().state);
  }
  std::string state() { return breaker_state_name(breaker.view().state); }
};

TEST(Breaker, goes_through_its_table) {
  Bench bench({.failures_in_row = 3, .cooldown = 10s, .cooldown_max = 35s});
  struct Row {
    Duration later;
    std::string verdict;
    std::string then;
  };
  const std::vector<Row> script = {
      {0s, "ok", "closed"},         {0s, "fail", "closed"}, {0s, "fail", "closed"},
      {0s, "ok", "closed"},         {0s, "fail", "closed"}, {0s, "fail", "closed"},
      {0s, "fail", "open"},                                 // The third in a row.
      {10s - 1ns, "ok", "refused"}, {1ns, "fail", "open"},  // A probe that fails: 20 s.
      {20s - 1ns, "ok", "refused"}, {1ns, "fail", "open"},  // 40 s would be over the most.
      {35s - 1ns, "ok", "refused"}, {1ns, "fail", "open"},  {35s - 1ns, "ok", "refused"},
      {1ns, "ok", "closed"},  // A probe that succeeds.
      {0s, "fail", "closed"},       {0s, "fail", "closed"}, {0s, "fail", "open"},
      {10s - 1ns, "ok", "refused"},  // The first cooldown again.
      {1ns, "ok", "closed"},
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    bench.clock.advance(script[i].later);
    EXPECT_EQ(bench.call(script[i].verdict), script[i].then) << "row " << i;
  }
}

TEST(Breaker, half_open_lets_exactly_the_probes_through) {
  Bench bench({.failures_in_row = 1, .cooldown = 10s, .probes = 2});
  EXPECT_EQ(bench.call("fail"), "open");
  bench.clock.advance(10s);
  auto first = bench.breaker.admit();
  auto second = bench.breaker.admit();
  ASSERT_TRUE(first && second);
  const auto third = bench.breaker.admit();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), Code::unavailable);
  first->succeeded();
  EXPECT_EQ(bench.state(), "half-open");
  EXPECT_FALSE(bench.breaker.admit()) << "a place is not given twice";
  second->succeeded();
  EXPECT_EQ(bench.state(), "closed");
}

TEST(Breaker, a_probe_without_a_verdict_gives_its_place_back) {
  Bench bench({.failures_in_row = 1, .cooldown = 10s});
  EXPECT_EQ(bench.call("fail"), "open");
  bench.clock.advance(10s);
  {
    const auto dropped = bench.breaker.admit();
  }
  EXPECT_EQ(bench.state(), "half-open");
  EXPECT_EQ(bench.call("ok"), "closed");
}

TEST(Breaker, verdicts_on_calls_from_before_a_change_count_for_nothing) {
  Bench bench({.failures_in_row = 2, .cooldown = 10s});
  auto early_ok = bench.breaker.admit();
  auto early_fail = bench.breaker.admit();
  bench.call("fail");
  EXPECT_EQ(bench.call("fail"), "open");
  early_ok->succeeded();
  EXPECT_EQ(bench.state(), "open");
  bench.clock.advance(10s);
  auto probe = bench.breaker.admit();
  ASSERT_TRUE(probe);
  early_fail->failed("late");
  EXPECT_EQ(bench.state(), "half-open");
  probe->succeeded();
  EXPECT_EQ(bench.state(), "closed");
}

TEST(Breaker, opens_by_the_rate_of_failures_in_the_window) {
  Bench bench({.failures_in_row = 0, .failure_rate = 0.5, .window = 10s, .calls_min = 4});
  bench.call("fail");
  bench.call("ok");
  EXPECT_EQ(bench.call("fail"), "closed") << "too few calls to judge by";
  bench.clock.advance(11s);
  bench.call("fail");
  bench.call("ok");
  bench.call("ok");
  EXPECT_EQ(bench.call("ok"), "closed") << "those of before have left the window";
  bench.call("fail");
  EXPECT_EQ(bench.call("fail"), "open") << "3 of 6";
  EXPECT_NE(bench.breaker.view().reason.find("3 of 6 calls failed"), std::string::npos);
}

TEST(Breaker, the_window_slides_in_tenths) {
  Bench bench({.failures_in_row = 0, .failure_rate = 1, .window = 10s, .calls_min = 2});
  bench.call("ok");
  bench.clock.advance(9s);
  EXPECT_EQ(bench.call("fail"), "closed") << "the success counts still";
  bench.clock.advance(1s);
  EXPECT_EQ(bench.call("fail"), "open") << "it is 10 s ago";
}

TEST(Breaker, a_slow_success_is_a_failure) {
  Bench bench({.failures_in_row = 1, .slow_call = 2s});
  auto quick = bench.breaker.admit();
  bench.clock.advance(2s - 1ns);
  quick->succeeded();
  EXPECT_EQ(bench.state(), "closed");
  auto slow = bench.breaker.admit();
  bench.clock.advance(2s);
  slow->succeeded();
  EXPECT_EQ(bench.state(), "open");
  EXPECT_NE(bench.breaker.view().reason.find("took 2.0 s"), std::string::npos);
}

TEST(Breaker, jitter_shortens_the_cooldown_by_up_to_its_share) {
  ManualClock clock;
  SeededRandom random(1);
  Duration least = Duration::max(), most{};
  for (int i = 0; i < 200; ++i) {
    Breaker breaker("x", {.failures_in_row = 1, .cooldown = 10s, .jitter = 0.5},
                    {.clock = &clock, .random = &random});
    breaker.admit()->failed("no");
    const Duration wait = *breaker.view().next_probe_at - clock.mono();
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 5s);
  EXPECT_LT(least, 6s);
  EXPECT_GT(most, 9s);
  EXPECT_LE(most, 10s);
}

TEST(Breaker, tells_its_state_since_when_until_when_and_why) {
  Bench bench({.failures_in_row = 2, .cooldown = 10s});
  const MonoTime start = bench.clock.mono();
  EXPECT_EQ(bench.breaker.view().since, start);
  EXPECT_EQ(bench.breaker.view().next_probe_at, std::nullopt);
  bench.call("fail");
  EXPECT_EQ(bench.breaker.view().failures_in_row, 1u);
  bench.clock.advance(3s);
  bench.call("fail");
  const BreakerView view = bench.breaker.view();
  EXPECT_EQ(view.since, start + 3s);
  EXPECT_EQ(view.next_probe_at, start + 13s);
  EXPECT_EQ(view.reason, "2 failures in a row, the last: no answer");
  EXPECT_EQ(view.cooldown, 10s);
  const auto refused = bench.breaker.admit();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "\"host\" is not called for another 10.0 s: 2 failures in a row, the last: no answer");
}

TEST(Breaker, what_a_policy_may_not_be) {
  const BreakerPolicy good;
  EXPECT_TRUE(validate(good).ok());
  const auto refused = [](auto change) {
    BreakerPolicy policy;
    change(policy);
    return validate(policy).code() == Code::invalid_argument;
  };
  EXPECT_TRUE(refused([](auto& p) { p.failures_in_row = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.failure_rate = 1.01; }));
  EXPECT_TRUE(refused([](auto& p) { p.failure_rate = -0.1; }));
  EXPECT_TRUE(refused([](auto& p) { p.window = 0s; }));
  EXPECT_TRUE(refused([](auto& p) { p.slow_call = -1s; }));
  EXPECT_TRUE(refused([](auto& p) { p.cooldown = 0s; }));
  EXPECT_TRUE(refused([](auto& p) { p.cooldown_max = p.cooldown - 1ns; }));
  EXPECT_TRUE(refused([](auto& p) { p.jitter = 1.5; }));
  EXPECT_TRUE(refused([](auto& p) { p.probes = 0; }));
}

TEST(Breaker, many_threads_get_no_more_probes_than_there_are) {
  for (int round = 0; round < 100; ++round) {
    ManualClock clock;
    Breaker breaker("x", {.failures_in_row = 1, .cooldown = 1s, .jitter = 0, .probes = 3},
                    {.clock = &clock});
    breaker.admit()->failed("no");
    clock.advance(1s);
    std::atomic<int> admitted{0};
    std::vector<std::jthread> threads;
    std::vector<Result<Breaker::Call>> kept;
    std::mutex mutex;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        auto call = breaker.admit();
        if (!call) return;
        ++admitted;
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(call));
      });
    threads.clear();
    ASSERT_EQ(admitted, 3);
  }
}

TEST(Breakers, each_key_has_its_own) {
  ManualClock clock;
  Breakers breakers({.policy = {.failures_in_row = 1}, .keys_max = 2, .seams = {.clock = &clock}});
  Breaker* const a = *breakers.get("a");
  EXPECT_EQ(*breakers.get("a"), a);
  a->admit()->failed("no");
  EXPECT_TRUE((*breakers.get("b"))->admit());
  const auto third = breakers.get("c");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), Code::limit_exceeded);
  const auto all = breakers.list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].first, "a");
  EXPECT_EQ(all[0].second.state, BreakerState::open);
  EXPECT_EQ(all[1].second.state, BreakerState::closed);
  std::vector<Metric> metrics;
  breakers.collect(metrics);
  EXPECT_EQ(prometheus_text(metrics),
            "# HELP sluice_breaker_state 0 closed, 1 half-open, 2 open.\n"
            "# TYPE sluice_breaker_state gauge\n"
            "sluice_breaker_state{key=\"a\"} 2\n"
            "sluice_breaker_state{key=\"b\"} 0\n");
}

}  // namespace
}  // namespace sluice::runtime
