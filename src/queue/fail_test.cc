// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class FailTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(FailTest);

TEST_P(FailTest, waits_longer_each_time_and_dies_after_the_last_attempt) {
  const Bench bench = open();
  must(bench->configure(
      "q", {.retry = {.attempts_max = 4, .base = 2s, .factor = 2, .cap = 5s, .jitter = 0}}));
  must(bench->enqueue({.queue = "q", .id = "j"}));
  for (const auto delay : {2s, 4s, 5s}) {
    const Lease lease = must_claim(bench, "q");
    must(bench->fail({.queue = "q", .token = lease.token, .error = "no luck"}));
    EXPECT_EQ(must(bench->get({"q", "j"})).due, bench.now() + delay);
    bench.advance(delay);
  }
  const Lease last = must_claim(bench, "q");
  EXPECT_EQ(last.attempt, 4u);
  must(bench->fail({.queue = "q", .token = last.token, .error = "the end"}));
  const Job job = must(bench->get({"q", "j"}, {.history = true}));
  EXPECT_EQ(job.lane, Lane::dead);
  EXPECT_EQ(job.reason, DeathReason::attempts);
  EXPECT_EQ(job.error, "the end");
  ASSERT_EQ(job.history.size(), 4u);
  EXPECT_EQ(job.history[0].error, "no luck");
  EXPECT_EQ(job.history[3].number, 4u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(FailTest, a_jobs_own_policy_wins_over_its_queues) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .retry = RetryPolicy{.attempts_max = 1}}));
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "dead");
}

TEST_P(FailTest, jitter_only_ever_shortens_the_wait) {
  const Bench bench = open();
  must(bench->configure("q", {.retry = {.attempts_max = 2, .base = 100s, .jitter = 0.5}}));
  bool varied = false;
  for (int i = 0; i < 20; ++i) {
    const std::string id = must(bench->enqueue({.queue = "q"}));
    must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token}));
    const Duration wait = *must(bench->get({"q", id})).due - bench.now();
    EXPECT_GE(wait, 50s);
    EXPECT_LE(wait, 100s);
    varied = varied || wait < 90s;
  }
  EXPECT_TRUE(varied);
}

TEST_P(FailTest, a_worker_can_name_the_delay_or_give_up_for_good) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "later"}));
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .delay = 7s}));
  EXPECT_EQ(must(bench->get({"q", "later"})).due, bench.now() + 7s);
  must(bench->enqueue({.queue = "q", .id = "never"}));
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
  EXPECT_EQ(must(bench->get({"q", "never"})).reason, DeathReason::refused);
}

TEST_P(FailTest, a_retry_joins_at_its_due_time_behind_older_jobs) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "failing"}));
  const Lease lease = must_claim(bench, "q");
  must(bench->enqueue({.queue = "q", .id = "waiting"}));
  must(bench->fail({.queue = "q", .token = lease.token, .delay = 0s}));
  EXPECT_EQ(lane_of(bench, {"q", "failing"}), "scheduled");
  EXPECT_EQ(claim_all(bench, "q"), (std::vector<std::string>{"waiting", "failing"}));
}

TEST_P(FailTest, the_history_keeps_the_last_twenty) {
  const Bench bench = open();
  must(bench->configure("q", {.retry = {.attempts_max = 100, .base = 0s}}));
  must(bench->enqueue({.queue = "q", .id = "j"}));
  for (int i = 1; i <= 25; ++i)
    must(bench->fail(
        {.queue = "q", .token = must_claim(bench, "q").token, .error = std::to_string(i)}));
  const Job job = must(bench->get({"q", "j"}, {.history = true}));
  ASSERT_EQ(job.history.size(), kHistoryMax);
  EXPECT_EQ(job.history.front().error, "6");
  EXPECT_EQ(job.history.back().error, "25");
  EXPECT_EQ(breaches(bench), "");
  must(bench->cancel({"q", "j"}));
  EXPECT_EQ(must(verify(bench.store())).jobs, 0u);
  EXPECT_EQ(breaches(bench), "") << "the history went with it";
}

}  // namespace
}  // namespace sluice::queue
