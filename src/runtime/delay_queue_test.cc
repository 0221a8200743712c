// SPDX-License-Identifier: MIT
// The delay queue on a clock that stands still: order, times, limits, what each refusal leaves.
#include <sluice/runtime/delay_queue.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;
using Queue = DelayQueue<std::string>;

std::string drain(Queue& queue) {
  std::string order;
  while (auto item = queue.try_dequeue()) order += item->value;
  return order;
}

Handle must(const Result<Handle>& handle) {
  EXPECT_TRUE(handle) << handle.error().to_string();
  return handle ? *handle : Handle{};
}

Code code_of(const Result<Handle>& handle) {
  return status_of(handle).code();
}

struct Bench {
  ManualClock clock;
  std::vector<std::string> log;
  Queue queue;

  explicit Bench(DelayQueueConfig config = {}) : queue(with_seams(std::move(config))) {}
  DelayQueueConfig with_seams(DelayQueueConfig config) {
    config.clock = &clock;
    config.log = [this](LogLevel, std::string_view line) { log.emplace_back(line); };
    return config;
  }
};

// ------------------------------------------------------------------------------------------- order

TEST(DelayQueue, lower_values_come_first_and_equal_ones_as_they_came) {
  Bench bench;
  must(bench.queue.enqueue("n1"));
  must(bench.queue.enqueue("l", {.label = "low"}));
  must(bench.queue.enqueue("h1", {.label = "high"}));
  must(bench.queue.enqueue("n2", {.label = "normal"}));
  must(bench.queue.enqueue("h2", {.priority = 0}));
  must(bench.queue.enqueue("first", {.priority = -1}));
  must(bench.queue.enqueue("last", {.priority = INT32_MAX}));
  must(bench.queue.enqueue("very first", {.priority = INT32_MIN}));
  EXPECT_EQ(drain(bench.queue), "very firstfirsth1h2n1n2llast");
}

TEST(DelayQueue, a_delayed_item_is_ready_at_its_time_and_not_a_nanosecond_before) {
  Bench bench;
  must(bench.queue.enqueue("x", {.delay = 10s}));
  bench.clock.advance(10s - 1ns);
  EXPECT_FALSE(bench.queue.try_dequeue());
  EXPECT_EQ(bench.queue.snapshot().scheduled, 1u);
  bench.clock.advance(1ns);
  EXPECT_EQ(bench.queue.snapshot().ready, 1u);
  EXPECT_EQ(bench.queue.try_dequeue()->value, "x");
}

TEST(DelayQueue, what_is_due_takes_the_place_of_its_sequence_among_the_ready) {
  Bench bench;
  must(bench.queue.enqueue("1", {.delay = 2s}));
  must(bench.queue.enqueue("2", {.delay = 1s}));
  must(bench.queue.enqueue("3"));
  bench.clock.advance(2s);
  must(bench.queue.enqueue("4"));
  EXPECT_EQ(drain(bench.queue), "1234");
}

TEST(DelayQueue, a_delay_of_nothing_or_less_is_none_and_one_without_end_is_cut) {
  Bench bench;
  must(bench.queue.enqueue("a", {.delay = 0s}));
  must(bench.queue.enqueue("b", {.delay = -5s}));
  must(bench.queue.enqueue("c", {.delay = Duration::max()}));
  EXPECT_EQ(drain(bench.queue), "ab");
  bench.clock.advance(kDelayMax);
  EXPECT_EQ(drain(bench.queue), "c");
}

TEST(DelayQueue, an_item_keeps_what_was_known_of_it) {
  Bench bench;
  const MonoTime start = bench.clock.mono();
  must(bench.queue.enqueue("a"));
  const Handle handle =
      must(bench.queue.enqueue("b", {.label = "high", .delay = 3s, .correlation_id = "request-7"}));
  bench.clock.advance(5s);
  const auto item = bench.queue.try_dequeue();
  ASSERT_TRUE(item);
  EXPECT_EQ(item->value, "b");
  EXPECT_EQ(item->handle, handle);
  EXPECT_EQ(item->enqueued_at, start);
  EXPECT_EQ(item->due, start + 3s);
  EXPECT_EQ(item->priority, 0);
  EXPECT_EQ(item->label, "high");
  EXPECT_EQ(item->sequence, 2u);
  EXPECT_EQ(item->correlation_id, "request-7");
}

TEST(DelayQueue, with_ageing_nobody_is_overtaken_for_longer_than_the_bound) {
  // A low item (10) and ever new high ones (0): after ten intervals they come behind it.
  for (const auto& [ageing, last_before_it] : {std::pair{1s, 9}, std::pair{2s, 19}}) {
    Bench bench({.ageing = ageing});
    must(bench.queue.enqueue("low", {.label = "low"}));
    int before_it = 0;
    for (int second = 0; second < 40; ++second) {
      must(bench.queue.enqueue("high", {.label = "high"}));
      if (bench.queue.try_dequeue()->value == "low") break;
      before_it = second;
      bench.clock.advance(1s);
    }
    EXPECT_EQ(before_it, last_before_it);
  }
}

TEST(DelayQueue, without_ageing_the_less_urgent_waits_for_ever) {
  Bench bench;
  must(bench.queue.enqueue("low", {.label = "low"}));
  for (int hour = 0; hour < 1000; ++hour) {
    must(bench.queue.enqueue("high", {.label = "high"}));
    bench.clock.advance(1h);
    ASSERT_EQ(bench.queue.try_dequeue()->value, "high");
  }
}

TEST(DelayQueue, ageing_at_its_limits_does_not_overflow) {
  Bench bench({.ageing = kAgeingMax});
  must(bench.queue.enqueue("last", {.priority = INT32_MAX}));
  must(bench.queue.enqueue("first", {.priority = INT32_MIN}));
  EXPECT_EQ(drain(bench.queue), "firstlast");
}

// ---------------------------------------------------------------------------------------- refusals

TEST(DelayQueue, an_unknown_label_is_refused_with_those_that_there_are) {
  Bench bench;
  std::string value = "still here, and longer than a small string";
  const auto refused = bench.queue.enqueue(std::move(value), {.label = "urgent"});
  EXPECT_EQ(code_of(refused), Code::invalid_argument);
  EXPECT_NE(refused.error().message().find("high, normal, low"), std::string::npos);
  EXPECT_EQ(value, "still here, and longer than a small string");
  EXPECT_EQ(code_of(bench.queue.enqueue("x", {.label = "low", .priority = 1})),
            Code::invalid_argument);
  EXPECT_EQ(bench.queue.snapshot().depth, 0u);
}

TEST(DelayQueue, the_last_place_is_taken_and_one_more_is_refused) {
  Bench bench({.items_max = 3});
  must(bench.queue.enqueue("1"));
  must(bench.queue.enqueue("2", {.delay = 1h}));
  must(bench.queue.enqueue("3"));
  std::string value = "4";
  EXPECT_EQ(code_of(bench.queue.enqueue(std::move(value))), Code::limit_exceeded);
  EXPECT_EQ(value, "4");
  must(bench.queue.enqueue_again("again", {}));
  EXPECT_EQ(bench.queue.snapshot().depth, 4u);
  EXPECT_EQ(bench.queue.try_dequeue()->value, "1");
  EXPECT_EQ(code_of(bench.queue.enqueue(std::move(value))), Code::limit_exceeded);
  EXPECT_EQ(bench.queue.try_dequeue()->value, "3");
  must(bench.queue.enqueue(std::move(value)));
}

TEST(DelayQueue, a_depth_that_is_too_much_is_logged_once_per_crossing) {
  Bench bench({.name = "reports", .warn_depth = 2});
  must(bench.queue.enqueue("1"));
  must(bench.queue.enqueue("2"));
  EXPECT_TRUE(bench.log.empty());
  for (int i = 0; i < 5; ++i) must(bench.queue.enqueue("more"));
  EXPECT_EQ(bench.log, std::vector<std::string>{"queue \"reports\" has more than 2 items"});
  drain(bench.queue);
  for (int i = 0; i < 5; ++i) must(bench.queue.enqueue("again"));
  EXPECT_EQ(bench.log.size(), 2u);
}

// --------------------------------------------------------------------------------- waiting, the
// end

TEST(DelayQueue, a_wait_ends_exactly_when_the_next_item_is_due) {
  Bench bench;
  const MonoTime start = bench.clock.mono();
  must(bench.queue.enqueue("x", {.delay = 7s}));
  EXPECT_EQ(bench.queue.dequeue(1h)->value, "x");
  EXPECT_EQ(bench.clock.mono(), start + 7s);
}

TEST(DelayQueue, a_wait_ends_with_nothing_when_its_time_is_over) {
  Bench bench;
  const MonoTime start = bench.clock.mono();
  must(bench.queue.enqueue("x", {.delay = 7s}));
  EXPECT_FALSE(bench.queue.dequeue(5s));
  EXPECT_EQ(bench.clock.mono(), start + 5s);
  EXPECT_EQ(bench.queue.dequeue(2s)->value, "x") << "due and timeout at the same instant";
}

TEST(DelayQueue, steps_of_the_date_change_nothing) {
  Bench bench;
  must(bench.queue.enqueue("x", {.delay = 1h}));
  bench.clock.step_wall(24h);
  EXPECT_FALSE(bench.queue.try_dequeue());
  bench.clock.step_wall(-48h);
  bench.clock.advance(1h);
  EXPECT_TRUE(bench.queue.try_dequeue());
}

TEST(DelayQueue, shutting_down_drains_the_ready_and_hands_back_the_scheduled) {
  Bench bench;
  must(bench.queue.enqueue("ready"));
  must(bench.queue.enqueue("later", {.delay = 2s, .correlation_id = "c"}));
  must(bench.queue.enqueue("sooner", {.delay = 1s}));
  must(bench.queue.enqueue("due", {.delay = 500ms}));
  bench.clock.advance(500ms);
  const auto back = bench.queue.shut_down();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].value, "sooner");
  EXPECT_EQ(back[1].value, "later");
  EXPECT_EQ(back[1].correlation_id, "c");
  EXPECT_TRUE(bench.queue.snapshot().shut_down);
  EXPECT_EQ(bench.queue.snapshot().depth, 2u);
  EXPECT_EQ(code_of(bench.queue.enqueue("x")), Code::cancelled);
  EXPECT_EQ(code_of(bench.queue.enqueue_again("x", {})), Code::cancelled);
  const MonoTime now = bench.clock.mono();
  EXPECT_EQ(bench.queue.dequeue(1h)->value, "ready");
  EXPECT_EQ(bench.queue.dequeue(1h)->value, "due");
  EXPECT_FALSE(bench.queue.dequeue(1h));
  EXPECT_EQ(bench.clock.mono(), now) << "nothing is waited for any more";
  EXPECT_TRUE(bench.queue.shut_down().empty());
}

// ------------------------------------------------------------------------- handles, what it
// reports

TEST(DelayQueue, ready_and_scheduled_items_are_cancelled_by_their_handles) {
  Bench bench;
  const Handle ready = must(bench.queue.enqueue("ready"));
  const Handle scheduled = must(bench.queue.enqueue("scheduled", {.delay = 1s}));
  must(bench.queue.enqueue("rest"));
  EXPECT_EQ(bench.queue.cancel(ready)->value, "ready");
  EXPECT_EQ(bench.queue.cancel(scheduled)->value, "scheduled");
  EXPECT_FALSE(bench.queue.cancel(ready));
  EXPECT_FALSE(bench.queue.cancel({}));
  const Handle rest = bench.queue.try_dequeue()->handle;
  EXPECT_FALSE(bench.queue.cancel(rest));
  bench.clock.advance(1s);
  EXPECT_FALSE(bench.queue.try_dequeue());
  EXPECT_EQ(bench.queue.snapshot().depth, 0u);
}

TEST(DelayQueue, a_rescheduled_item_moves_between_ready_and_scheduled) {
  Bench bench;
  const Handle a = must(bench.queue.enqueue("a"));
  const Handle b = must(bench.queue.enqueue("b", {.delay = 1h}));
  EXPECT_TRUE(bench.queue.reschedule(a, 10s));
  EXPECT_TRUE(bench.queue.reschedule(b, 0s));
  EXPECT_EQ(drain(bench.queue), "b");
  bench.clock.advance(10s);
  EXPECT_EQ(drain(bench.queue), "a");
  EXPECT_FALSE(bench.queue.reschedule(a, 1s));
}

TEST(DelayQueue, purging_forgets_everything) {
  Bench bench;
  must(bench.queue.enqueue("a"));
  const Handle b = must(bench.queue.enqueue("b", {.delay = 1h}));
  EXPECT_EQ(bench.queue.purge(), 2u);
  EXPECT_EQ(bench.queue.snapshot().depth, 0u);
  EXPECT_FALSE(bench.queue.cancel(b));
  must(bench.queue.enqueue("c"));
  EXPECT_EQ(drain(bench.queue), "c");
}

TEST(DelayQueue, values_that_only_move_are_held_and_freed) {
  const auto counted = std::make_shared<int>(1);
  {
    DelayQueue<std::unique_ptr<std::shared_ptr<int>>> queue;
    ASSERT_TRUE(queue.enqueue(std::make_unique<std::shared_ptr<int>>(counted)));
    ASSERT_TRUE(queue.enqueue(std::make_unique<std::shared_ptr<int>>(counted), {.delay = 1h}));
    EXPECT_EQ(counted.use_count(), 3);
    EXPECT_EQ(**queue.try_dequeue()->value, 1);
    EXPECT_EQ(counted.use_count(), 2);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(DelayQueue, its_metrics_tell_depth_and_latency) {
  Bench bench({.name = "reports"});
  must(bench.queue.enqueue("a"));
  must(bench.queue.enqueue("b", {.delay = 1h}));
  bench.clock.advance(3s);
  EXPECT_TRUE(bench.queue.try_dequeue());
  std::vector<Metric> metrics;
  bench.queue.collect(metrics);
  const std::string text = prometheus_text(metrics);
  EXPECT_NE(text.find("sluice_queue_depth{queue=\"reports\",state=\"ready\"} 0\n"),
            std::string::npos);
  EXPECT_NE(text.find("sluice_queue_depth{queue=\"reports\",state=\"scheduled\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("sluice_dequeue_latency_seconds_sum{queue=\"reports\"} 3\n"),
            std::string::npos);
  EXPECT_NE(text.find("sluice_dequeue_latency_seconds_count{queue=\"reports\"} 1\n"),
            std::string::npos);
}

TEST(DelayQueueDeath, a_wrong_configuration_stops_the_process) {
  EXPECT_DEATH(Queue({.items_max = 0}), "items_max");
  EXPECT_DEATH(Queue({.labels = {{"a", 1}, {"a", 2}}, .label = "a"}), "insert");
  EXPECT_DEATH(Queue({.label = "none"}), "contains");
  EXPECT_DEATH(Queue({.ageing = kAgeingMax + 1ns}), "kAgeingMax");
}

}  // namespace
}  // namespace sluice::runtime
