// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class HoldTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(HoldTest);

TEST_P(HoldTest, a_held_job_is_not_claimed_and_comes_back_with_a_new_place) {
  const Bench bench = open();
  for (const char* group : {"", "g"}) {
    for (const char* id : {"a", "b"})
      must(bench->enqueue({.queue = "q", .id = id, .group = group}));
    must(bench->hold({"q", "a"}));
    EXPECT_EQ(breaches(bench), "");
    EXPECT_EQ(must(bench->peek("q", 10)).size(), 1u);
    must(bench->unhold({"q", "a"}));
    EXPECT_EQ(breaches(bench), "");
    EXPECT_EQ(claim_all(bench, "q"), (std::vector<std::string>{"b", "a"}));
    for (const char* id : {"a", "b"}) must(bench->cancel({"q", id}));
  }
}

TEST_P(HoldTest, a_due_time_that_passes_meanwhile_is_over) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .delay = 5s}));
  must(bench->hold({"q", "j"}));
  bench.advance(4s);
  must(bench->unhold({"q", "j"}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "scheduled");
  must(bench->hold({"q", "j"}));
  bench.advance(1s);
  must(bench->unhold({"q", "j"}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "ready");
}

TEST_P(HoldTest, a_job_can_start_held_and_expires_held) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .delay = 1s, .ttl = 5s, .hold = true}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "held");
  bench.advance(5s);
  EXPECT_EQ(must(bench->sweep()).expired, 1u);
  EXPECT_EQ(must(bench->get({"q", "j"})).reason, DeathReason::expired);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
