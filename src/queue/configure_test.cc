// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ConfigureTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ConfigureTest);

TEST_P(ConfigureTest, every_setting_comes_back_as_it_was_given) {
  const Bench bench = open();
  const QueueConfig config{
      .priority = -7,
      .labels = {{"a", INT32_MIN}, {"b", 3}},
      .lease = 5ms,
      .retry = {.attempts_max = 9, .base = 0s, .factor = 1.125, .cap = 9h, .jitter = 1},
      .lapses_max = 2,
      .done_retention = 3h,
      .dead_retention = 4h,
      .active_max = 17,
      .group_max = 0,
      .backlog_max = 1'000'000'000'000,
      .rate = Rate{.jobs = 5, .per = 3min, .burst = 7},
      .shards = 8,
      .fair = true};
  must(bench->configure("q", config));
  const Queue queue = must(bench->get_queue("q"));
  EXPECT_TRUE(queue.config == config);
  EXPECT_EQ(queue.created, bench.now());
  must(bench->configure("q", {}));
  EXPECT_TRUE(must(bench->get_queue("q")).config == QueueConfig{});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ConfigureTest, what_shapes_the_order_changes_only_without_unfinished_jobs) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .delay = 1h}));
  EXPECT_EQ(bench->configure("q", {.shards = 2}).code(), Code::conflict);
  EXPECT_EQ(bench->configure("q", {.fair = true}).code(), Code::conflict);
  must(bench->configure("q", {.done_retention = 1h}));
  must(bench->cancel({"q", "j"}));
  must(bench->configure("q", {.active_max = 5, .shards = 16, .fair = true}));
  must(bench->requeue({.queue = "q", .id = "j"}));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must_claim(bench, "q").id, "j");
}

TEST_P(ConfigureTest, queues_are_listed_by_name_and_removed_when_empty) {
  const Bench bench = open();
  for (const char* name : {"b", "a", "c/d", "\xc3\xa4"}) must(bench->enqueue({.queue = name}));
  must(bench->limit_group("a", "g", 3));
  const auto queues = must(bench->list_queues());
  ASSERT_EQ(queues.size(), 4u);
  EXPECT_EQ(queues[0].name, "a");
  EXPECT_EQ(queues[3].name, "\xc3\xa4");
  EXPECT_EQ(must(bench->list_queues("a", 1)).at(0).name, "b");
  EXPECT_EQ(bench->remove_queue("a").code(), Code::conflict);
  must(bench->ack({.queue = "a", .token = must_claim(bench, "a").token}));
  must(bench->remove_queue("a"));
  EXPECT_EQ(bench->count("a").error().code(), Code::not_found);
  EXPECT_EQ(must(bench->list_queues()).size(), 3u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ConfigureTest, a_removed_queue_leaves_no_key) {
  const Bench bench = open();
  const std::size_t before = dump(bench).size();
  must(bench->configure("q", {.active_max = 3,
                              .group_max = 0,
                              .rate = Rate{.jobs = 9, .burst = 9},
                              .shards = 4,
                              .fair = true}));
  must(bench->enqueue({.queue = "q", .id = "j", .group = "g"}, {.operation = "op"}));
  must(bench->configure("q", {.active_max = 3, .shards = 4, .fair = true}));
  must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
  must(bench->remove_queue("q"));
  EXPECT_EQ(dump(bench).size(), before);
}

}  // namespace
}  // namespace sluice::queue
