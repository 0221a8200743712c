// SPDX-License-Identifier: MIT
// The pool by turns on a clock that stands still: outcomes, retries, stopping, what is counted.
#include <sluice/runtime/pool.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/testing.h"

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

Handle must(const Result<Handle>& handle) {
  EXPECT_TRUE(handle) << handle.error().to_string();
  return handle ? *handle : Handle{};
}

/// Nothing is lost and nothing is twice.
void expect_adds_up(const PoolCounts& counts) {
  EXPECT_EQ(counts.enqueued, counts.done + counts.failed + counts.cancelled + counts.handed_back +
                                 counts.queued + counts.running);
}

struct Bench {
  ManualClock clock;
  TurnExecutor executor;
  SeededRandom random{1};
  std::vector<std::string> log;
  std::vector<std::string> calls;  // "id attempt"
  std::function<Outcome(const Work<>&)> answer = [](const Work<>&) { return Outcome::done(); };
  Pool<> pool;

  explicit Bench(PoolConfig config = {})
      : pool(executor, with_seams(std::move(config)), [this](const Work<>& work) {
          calls.push_back(std::string(work.id) + " " + std::to_string(work.attempt));
          return answer(work);
        }) {}
  ~Bench() {
    (void)pool.cut_short();
    executor.run();
  }
  PoolConfig with_seams(PoolConfig config) {
    config.queue.clock = &clock;
    config.queue.log = [this](LogLevel, std::string_view line) { log.emplace_back(line); };
    config.random = &random;
    return config;
  }
  Handle add(const std::string& id, Duration delay = {}) {
    return must(pool.enqueue({.id = id, .payload = "p", .delay = delay}));
  }
  std::vector<std::string> run() {
    executor.run();
    return std::exchange(calls, {});
  }
};

using Calls = std::vector<std::string>;

TEST(Pool, runs_jobs_in_the_order_of_its_queue_and_counts_them) {
  Bench bench;
  bench.add("a");
  bench.add("later", 5s);
  must(bench.pool.enqueue({.id = "urgent", .label = "high"}));
  EXPECT_EQ(bench.run(), (Calls{"urgent 1", "a 1"}));
  EXPECT_EQ(bench.pool.counts().done, 2u);
  expect_adds_up(bench.pool.counts());
  bench.clock.advance(5s);
  EXPECT_EQ(bench.run(), Calls{"later 1"});
}

TEST(Pool, a_handler_sees_the_job) {
  Bench bench;
  bench.answer = [](const Work<>& work) {
    EXPECT_EQ(work.id, "a");
    EXPECT_EQ(work.payload, "what to do");
    EXPECT_EQ(work.correlation_id, "request-7");
    EXPECT_EQ(work.attempt, 1u);
    EXPECT_FALSE(work.stop.stop_requested());
    return Outcome::done();
  };
  must(bench.pool.enqueue({.id = "a", .payload = "what to do", .correlation_id = "request-7"}));
  EXPECT_EQ(bench.run().size(), 1u);
}

TEST(Pool, a_failed_attempt_is_tried_again_after_the_backoff_until_they_are_used_up) {
  Bench bench({.retry = {.attempts_max = 3, .backoff = {.base = 10s, .factor = 2, .jitter = 0}}});
  bench.answer = [](const Work<>&) { return Outcome::retry("not there"); };
  bench.add("a");
  EXPECT_EQ(bench.run(), Calls{"a 1"});
  bench.clock.advance(10s - 1ns);
  EXPECT_EQ(bench.run(), Calls{});
  bench.clock.advance(1ns);
  EXPECT_EQ(bench.run(), Calls{"a 2"});
  bench.clock.advance(20s);
  EXPECT_EQ(bench.run(), Calls{"a 3"});
  bench.clock.advance(1h);
  EXPECT_EQ(bench.run(), Calls{});
  EXPECT_EQ(bench.pool.counts().failed, 1u);
  EXPECT_EQ(bench.pool.counts().retried, 2u);
  expect_adds_up(bench.pool.counts());
}

TEST(Pool, a_handler_may_say_when_to_try_again_and_that_never) {
  Bench bench;
  bench.answer = [](const Work<>& work) {
    return work.attempt == 1 ? Outcome::retry("busy", 30min) : Outcome::fail("broken");
  };
  bench.add("a");
  bench.run();
  bench.clock.advance(30min - 1ns);
  EXPECT_EQ(bench.run(), Calls{});
  bench.clock.advance(1ns);
  EXPECT_EQ(bench.run(), Calls{"a 2"});
  EXPECT_EQ(bench.pool.counts().failed, 1u);
}

TEST(Pool, a_status_is_tried_again_as_its_code_says) {
  Bench bench;
  bench.answer = [](const Work<>& work) -> Outcome {
    if (work.id == "down") return Status(Code::unavailable, "no route");
    if (work.id == "wrong") return Status(Code::invalid_argument, "no such thing");
    return Status();
  };
  for (const char* id : {"down", "wrong", "fine"}) bench.add(id);
  bench.run();
  const PoolCounts counts = bench.pool.counts();
  EXPECT_EQ(counts.retried, 1u);
  EXPECT_EQ(counts.failed, 1u);
  EXPECT_EQ(counts.done, 1u);
  expect_adds_up(counts);
}

TEST(Pool, what_a_handler_throws_is_a_failed_attempt_and_nothing_more) {
  Bench bench({.retry = {.attempts_max = 1}});
  bench.answer = [](const Work<>& work) -> Outcome {
    if (work.id == "a") throw std::out_of_range("too far");
    if (work.id == "b") throw 42;  // NOLINT(hicpp-exception-baseclass)
    return Outcome::done();
  };
  must(bench.pool.enqueue({.id = "a", .correlation_id = "request-7"}));
  bench.add("b");
  bench.add("c");
  EXPECT_EQ(bench.run().size(), 3u);
  const auto failures = bench.pool.recent_failures();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].id, "b");
  EXPECT_EQ(failures[0].type, "unknown");
  EXPECT_EQ(failures[1].id, "a");
  EXPECT_EQ(failures[1].error, "too far");
  EXPECT_EQ(failures[1].type, "std::out_of_range");
  EXPECT_EQ(failures[1].correlation_id, "request-7");
  EXPECT_TRUE(failures[1].last);
  ASSERT_EQ(bench.log.size(), 2u);
  EXPECT_EQ(bench.log[0],
            "job \"a\" [request-7]: attempt 1 of 1 failed: too far (std::out_of_range)");
  expect_adds_up(bench.pool.counts());
}

TEST(Pool, remembers_only_the_last_failures) {
  Bench bench({.retry = {.attempts_max = 1}, .failures_kept = 3});
  bench.answer = [](const Work<>&) { return Outcome::fail("no"); };
  for (const char* id : {"1", "2", "3", "4"}) bench.add(id);
  bench.run();
  const auto failures = bench.pool.recent_failures();
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures.front().id, "4");
  EXPECT_EQ(failures.back().id, "2");
}

TEST(Pool, a_retry_passes_the_capacity_and_keeps_its_priority) {
  Bench bench({.queue = {.items_max = 1}, .retry = {.backoff = {.base = 1s, .jitter = 0}}});
  bench.answer = [&](const Work<>& work) {
    if (work.attempt > 1) return Outcome::done();
    must(bench.pool.enqueue({.id = "other", .delay = 1s}));  // Takes the place.
    return Outcome::retry("again");
  };
  must(bench.pool.enqueue({.id = "a", .label = "high"}));
  bench.executor.step(0);
  EXPECT_EQ(bench.pool.snapshot().depth, 2u);
  EXPECT_EQ(status_of(bench.pool.enqueue({.id = "x"})).code(), Code::limit_exceeded);
  bench.calls.clear();
  bench.answer = [](const Work<>&) { return Outcome::done(); };
  bench.clock.advance(1s);
  EXPECT_EQ(bench.run(), (Calls{"a 2", "other 1"}));
}

TEST(Pool, a_refused_job_stays_with_the_caller) {
  Bench bench({.queue = {.items_max = 1}});
  bench.add("a");
  NewWork<> work{.id = "b", .payload = "a payload that is longer than a small string"};
  EXPECT_EQ(status_of(bench.pool.enqueue(std::move(work))).code(), Code::limit_exceeded);
  EXPECT_EQ(work.payload, "a payload that is longer than a small string");
  EXPECT_EQ(bench.pool.counts().enqueued, 1u);
}

TEST(Pool, a_dedup_key_is_held_until_the_job_is_over_on_every_path) {
  Bench bench({.retry = {.attempts_max = 2, .backoff = {.base = 1s, .jitter = 0}}});
  const auto enqueue = [&](const std::string& id, Duration delay = {}) {
    return bench.pool.enqueue({.id = id, .delay = delay, .dedup_key = "k"});
  };
  const auto taken = [&] { return status_of(enqueue("other")).code() == Code::already_exists; };
  must(enqueue("done"));
  EXPECT_TRUE(taken());
  bench.run();
  bench.answer = [](const Work<>&) -> Outcome { throw std::runtime_error("no"); };
  must(enqueue("failed"));
  bench.run();
  EXPECT_TRUE(taken()) << "it waits for its second attempt";
  bench.clock.advance(1s);
  bench.run();
  const Handle handle = must(enqueue("cancelled"));
  EXPECT_TRUE(taken());
  EXPECT_EQ(bench.pool.cancel(handle)->id, "cancelled");
  must(enqueue("purged"));
  EXPECT_EQ(bench.pool.purge(), 1u);
  must(enqueue("refused by its label"));
  EXPECT_EQ(bench.pool.purge(), 1u);
  EXPECT_EQ(status_of(bench.pool.enqueue({.label = "none", .dedup_key = "k"})).code(),
            Code::invalid_argument);
  must(enqueue("handed back", 1h));
  EXPECT_EQ(bench.pool.stop().size(), 1u);
  EXPECT_FALSE(taken()) << "refused because the pool stops";
  expect_adds_up(bench.pool.counts());
}

TEST(Pool, each_job_has_a_context_that_is_let_go_whatever_happens) {
  ManualClock clock;
  TurnExecutor executor;
  int made = 0;
  std::weak_ptr<int> last;
  {
    Pool<> pool(executor, {.queue = {.clock = &clock}, .retry = {.attempts_max = 1}},
                MakeHandler<>([&] {
                  auto session = std::make_shared<int>(++made);
                  last = session;
                  return Handler<>([session](const Work<>& work) -> Outcome {
                    if (work.id == "throws") throw std::runtime_error("no");
                    return work.id == "fails" ? Outcome::fail("no") : Outcome::done();
                  });
                }));
    for (const char* id : {"fine", "throws", "fails"}) {
      must(pool.enqueue({.id = id}));
      executor.run();
      EXPECT_TRUE(last.expired()) << id;
    }
    EXPECT_EQ(made, 3);
    (void)pool.stop();
    executor.run();
  }
}

TEST(Pool, stopping_does_what_is_ready_and_gives_back_the_rest) {
  Bench bench({.retry = {.backoff = {.base = 10s, .jitter = 0}}});
  bench.answer = [](const Work<>& work) {
    return work.id == "again" ? Outcome::retry("no") : Outcome::done();
  };
  bench.add("ready");
  bench.add("again");
  must(bench.pool.enqueue({.id = "later", .payload = "p", .delay = 1h, .correlation_id = "c"}));
  bench.clock.advance(1min);
  const auto back = bench.pool.stop();
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].id, "later");
  EXPECT_EQ(back[0].payload, "p");
  EXPECT_EQ(back[0].left, 59min);
  EXPECT_EQ(back[0].correlation_id, "c");
  EXPECT_EQ(status_of(bench.pool.enqueue({.id = "x"})).code(), Code::cancelled);
  EXPECT_EQ(bench.run(), (Calls{"ready 1", "again 1"}));
  EXPECT_EQ(bench.pool.workers(), 0u);
  EXPECT_TRUE(bench.pool.join(0s).ok());
  const auto undone = bench.pool.taken_back();
  ASSERT_EQ(undone.size(), 1u);
  EXPECT_EQ(undone[0].id, "again");
  EXPECT_EQ(undone[0].attempts, 1u);
  EXPECT_EQ(undone[0].left, 10s);
  EXPECT_TRUE(bench.pool.taken_back().empty());
  EXPECT_EQ(bench.pool.counts().handed_back, 2u);
  expect_adds_up(bench.pool.counts());
}

TEST(Pool, cutting_it_short_gives_back_what_is_ready_and_tells_the_handlers) {
  Bench bench;
  std::stop_token stop;
  bench.answer = [&](const Work<>& work) {
    stop = work.stop;
    return Outcome::done();
  };
  bench.add("running");
  bench.executor.step(0);
  bench.add("ready");
  bench.add("later", 1h);
  EXPECT_FALSE(stop.stop_requested());
  EXPECT_EQ(bench.pool.cut_short().size(), 2u);
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(bench.run(), Calls{"running 1"});
  expect_adds_up(bench.pool.counts());
}

TEST(Pool, jobs_that_nobody_takes_back_are_told_of) {
  std::vector<std::string> log;
  {
    ThreadExecutor threads;
    Pool<> pool(
        threads,
        {.queue = {.name = "reports",
                   .log = [&](LogLevel, std::string_view line) { log.emplace_back(line); }}},
        [](const Work<>&) { return Outcome::done(); });
    must(pool.enqueue({.id = "later", .delay = 1h}));
    must(pool.enqueue({.id = "much later", .delay = 2h}));
  }
  EXPECT_EQ(log, Calls{"pool \"reports\" ended with 2 jobs that nobody took back"});
}

TEST(Pool, its_metrics_tell_what_became_of_jobs) {
  Bench bench({.queue = {.name = "reports"}, .retry = {.attempts_max = 2}});
  bench.answer = [&](const Work<>& work) {
    bench.clock.advance(2s);
    return work.id == "bad" ? Outcome::retry("no") : Outcome::done();
  };
  bench.add("good");
  bench.add("bad");
  bench.run();
  bench.clock.advance(1h);
  bench.run();
  std::vector<Metric> metrics;
  bench.pool.collect(metrics);
  const std::string text = prometheus_text(metrics);
  for (const char* line : {"sluice_jobs_done_total{queue=\"reports\"} 1\n",
                           "sluice_job_failures_total{queue=\"reports\",retried=\"no\"} 1\n",
                           "sluice_job_failures_total{queue=\"reports\",retried=\"yes\"} 1\n",
                           "sluice_pool_workers{queue=\"reports\"} 1\n",
                           "sluice_job_processing_duration_seconds_count{queue=\"reports\"} 3\n",
                           "sluice_job_processing_duration_seconds_sum{queue=\"reports\"} 6\n",
                           "sluice_queue_depth{queue=\"reports\",state=\"ready\"} 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
}

}  // namespace
}  // namespace sluice::runtime
