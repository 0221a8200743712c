// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class EditTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(EditTest);

TEST_P(EditTest, a_new_priority_moves_the_job_to_its_end) {
  const Bench bench = open();
  for (const char* group : {"", "g"}) {
    for (const char* id : {"a", "b", "c"})
      must(bench->enqueue({.queue = "q", .id = id, .group = group}));
    must(bench->edit({.queue = "q", .id = "c", .priority = 1}));
    must(bench->edit({.queue = "q", .id = "a", .priority = 5}));
    EXPECT_EQ(breaches(bench), "");
    EXPECT_EQ(claim_all(bench, "q"), (Ids{"c", "b", "a"}));
    for (const char* id : {"a", "b", "c"}) must(bench->cancel({"q", id}));
  }
}

TEST_P(EditTest, a_due_time_schedules_and_unschedules) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  must(bench->edit({.queue = "q", .id = "j", .due = bench.now() + 5s}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "scheduled");
  must(bench->edit({.queue = "q", .id = "j", .due = bench.now() + 9s}));
  bench.advance(5s);
  EXPECT_TRUE(claim_all(bench, "q").empty());
  must(bench->edit({.queue = "q", .id = "j", .due = bench.now() - 1h}));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(claim_all(bench, "q"), Ids{"j"});
}

TEST_P(EditTest, a_held_job_keeps_its_due_time_for_later) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .hold = true}));
  must(bench->edit({.queue = "q", .id = "j", .due = bench.now() + 5s}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "held");
  must(bench->unhold({"q", "j"}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "scheduled");
}

TEST_P(EditTest, a_payload_grows_and_shrinks_and_keeps_the_place) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .payload = "small"}));
  must(bench->enqueue({.queue = "q", .id = "k"}));
  for (const std::size_t bytes : {200'000u, 70'000u, 10u, 0u, 1'025u}) {
    const std::string payload(bytes, 'y');
    must(bench->edit({.queue = "q", .id = "j", .payload = payload}));
    EXPECT_EQ(must(bench->get({"q", "j"}, {.payload = true})).payload, payload);
    EXPECT_EQ(breaches(bench), "");
  }
  EXPECT_EQ(claim_all(bench, "q"), (Ids{"j", "k"}));
}

}  // namespace
}  // namespace sluice::queue
