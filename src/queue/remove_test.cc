// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class RemoveTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(RemoveTest);

TEST_P(RemoveTest, a_removed_job_leaves_no_key) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h, .events = false}));
  must(bench->enqueue({.queue = "q", .id = "keeper"}));
  const std::size_t before = dump(bench).size();
  must(bench->enqueue({.queue = "q",
                       .id = "j",
                       .group = "g",
                       .payload = std::string(100'000, 'x'),
                       .priority = 0,
                       .ttl = 1h}));
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
  must(bench->remove({"q", "j"}));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(dump(bench).size(), before + 2) << "two more lanes have a count";
}

TEST_P(RemoveTest, purge_empties_a_lane_oldest_first) {
  const Bench bench = open();
  for (int i = 0; i < 1200; ++i) {
    must(bench->enqueue({.queue = "q", .id = std::to_string(i), .hold = i >= 700}));
    if (i % 100 == 0) bench.advance(1ms);
  }
  must(bench->configure("q", {.done_retention = 1h}));
  for (int i = 0; i < 700; ++i) must(bench->cancel({"q", std::to_string(i)}));
  EXPECT_EQ(must(bench->purge("q", Lane::cancelled, 10)), 10u);
  EXPECT_EQ(lane_of(bench, {"q", "9"}), "absent");
  EXPECT_EQ(lane_of(bench, {"q", "10"}), "cancelled");
  EXPECT_EQ(must(bench->purge("q", Lane::cancelled)), 690u);
  EXPECT_EQ(must(bench->purge("q", Lane::cancelled)), 0u);
  EXPECT_EQ(must(bench->count("q")).total(), 500u);
  EXPECT_EQ(bench->purge("q", Lane::held).error().code(), Code::invalid_argument);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
