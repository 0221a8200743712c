// SPDX-License-Identifier: MIT
#include "server/long_polls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace sluice::server {
namespace {

using std::chrono::hours;

struct Bench {
  std::unique_ptr<kv::Store> store = kv::open_memory();
  std::unique_ptr<queue::Queues> queues = queue::Queues::open(*store).value();
  Mutex mutex;
  std::vector<std::string> got;  // In the order of the answers; "" for none.
  std::atomic<std::uint32_t> answers = 0;
  std::atomic<bool> gone = false;
  LongPolls polls{*queues};  // Last: it answers to the end.

  bool wait_for(const std::string& queue, Duration wait = hours(1),
                const std::string& operation = {}) {
    LongPolls::Waiter waiter{
        .request = {.queues = {queue}, .wait = wait, .operation = operation},
        .is_gone = [this] { return gone.load(); },
        .done =
            [this](const Result<std::vector<queue::Lease>>& leases) {
              {
                const MutexLock lock(mutex);
                got.push_back(leases && !leases->empty() ? leases->front().id : "");
              }
              ++answers;
              answers.notify_all();
            }};
    return polls.add(waiter);
  }
  void enqueue(const std::string& queue, const std::string& id) const {
    EXPECT_TRUE(queues->enqueue({.queue = queue, .id = id}));
  }
  void wait_for_answers(std::uint32_t count) const {
    for (std::uint32_t now = answers; now < count; now = answers) answers.wait(now);
  }
};

TEST(LongPolls, a_job_that_is_there_is_handed_out_at_once) {
  Bench bench;
  bench.enqueue("q", "a");
  EXPECT_TRUE(bench.wait_for("q"));
  bench.wait_for_answers(1);
  EXPECT_EQ(bench.got, std::vector<std::string>{"a"});
}

TEST(LongPolls, whoever_waits_longest_is_served_first_and_each_job_once) {
  Bench bench;
  constexpr std::uint32_t kWaiters = 50;
  for (std::uint32_t i = 0; i < kWaiters; ++i) EXPECT_TRUE(bench.wait_for("q"));
  for (std::uint32_t i = 0; i < kWaiters; ++i) bench.enqueue("q", std::to_string(i));
  bench.wait_for_answers(kWaiters);
  EXPECT_EQ(std::set<std::string>(bench.got.begin(), bench.got.end()).size(), kWaiters);
}

TEST(LongPolls, lines_do_not_hold_each_other_up) {
  Bench bench;
  EXPECT_TRUE(bench.wait_for("empty"));
  EXPECT_TRUE(bench.wait_for("q"));
  bench.enqueue("q", "a");
  bench.wait_for_answers(1);
  EXPECT_EQ(bench.got, std::vector<std::string>{"a"});
}

TEST(LongPolls, time_runs_out) {
  Bench bench;
  EXPECT_TRUE(bench.wait_for("q", std::chrono::milliseconds(1)));
  bench.wait_for_answers(1);
  EXPECT_EQ(bench.got, std::vector<std::string>{""});
}

TEST(LongPolls, a_call_that_has_given_its_leases_back_holds_up_nobody) {
  Bench bench;
  bench.enqueue("q", "a");
  const auto leases = bench.queues->claim({.queues = {"q"}, .operation = "op"}).value();
  EXPECT_TRUE(bench.queues->release({.queue = "q", .token = leases[0].token}).ok());
  EXPECT_TRUE(bench.wait_for("q", hours(1), "op"));
  bench.wait_for_answers(1);
  EXPECT_TRUE(bench.wait_for("q"));
  bench.wait_for_answers(2);
  EXPECT_EQ(bench.got, (std::vector<std::string>{"", "a"}));
}

TEST(LongPolls, a_call_that_is_made_again_gets_no_job_that_comes_later) {
  Bench bench;
  EXPECT_TRUE(bench.wait_for("q", hours(1), "first"));
  EXPECT_TRUE(bench.wait_for("q", hours(1), "second"));
  bench.polls.give_up("first");
  bench.polls.give_up("nobody");
  bench.enqueue("q", "a");
  bench.wait_for_answers(2);
  EXPECT_EQ(bench.got, (std::vector<std::string>{"", "a"}));
}

TEST(LongPolls, whoever_has_left_gets_nothing) {
  Bench bench;
  bench.enqueue("q", "a");
  bench.gone = true;
  EXPECT_TRUE(bench.wait_for("q"));
  bench.wait_for_answers(1);
  EXPECT_EQ(bench.got, std::vector<std::string>{""});
  EXPECT_EQ(bench.queues->count("q")->ready, 1u);
}

TEST(LongPolls, stop_answers_everybody) {
  Bench bench;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(bench.wait_for("q" + std::to_string(i % 3)));
  bench.polls.stop();
  EXPECT_EQ(bench.answers, 20u);
  EXPECT_FALSE(bench.wait_for("q"));
}

TEST(LongPolls, lines_are_limited) {
  Bench bench;
  for (std::size_t i = 0; i < LongPolls::kLinesMax; ++i)
    EXPECT_TRUE(bench.wait_for(std::to_string(i)));
  EXPECT_FALSE(bench.wait_for("one more"));
  EXPECT_TRUE(bench.wait_for("0"));
}

}  // namespace
}  // namespace sluice::server
