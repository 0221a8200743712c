// SPDX-License-Identifier: MIT
// Finished members that are requeued or removed, and ended batches that are forgotten.
#include <sluice/queue.h>

#include <utility>

#include "queue/batch_testing.h"
#include "queue/keys.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BatchFinishedTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BatchFinishedTest);

TEST_P(BatchFinishedTest, requeuing_a_member_before_the_end_makes_it_pending_again) {
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    SCOPED_TRACE(lane_name(lane));
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = 1h}));
    must(bench->configure("cb", {}));
    open_b(bench);
    add(bench, {"1", "2"});
    if (lane == Lane::done) ack_one(bench);
    if (lane == Lane::dead) kill_one(bench);
    if (lane == Lane::cancelled) must(bench->cancel({"q", "1"}));
    must(bench->seal_batch(kBatch));
    EXPECT_EQ(look_b(bench).pending(), 1u);
    must(bench->requeue({.queue = "q", .id = "1"}));
    EXPECT_EQ(look_b(bench).pending(), 2u);
    EXPECT_EQ(breaches(bench), "");
    ack_one(bench);
    EXPECT_FALSE(look_b(bench).ended);
    ack_one(bench);
    EXPECT_TRUE(look_b(bench).succeeded());
    EXPECT_EQ(look_b(bench).done, 2u);
    EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(BatchFinishedTest, requeuing_a_member_after_the_end_does_not_count) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  kill_one(bench);
  const Batch ended = look_b(bench);
  must(bench->requeue({.queue = "q", .id = "1"}));
  EXPECT_EQ(must(bench->get({"q", "1"})).batch, "");
  EXPECT_EQ(breaches(bench), "");
  ack_one(bench);
  EXPECT_EQ(look_b(bench).dead, 1u);
  EXPECT_EQ(look_b(bench).done, 0u);
  EXPECT_EQ(look_b(bench).ended, ended.ended);
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchFinishedTest, removing_a_finished_member_changes_no_count) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  open_b(bench);
  add(bench, {"1", "2"});
  kill_one(bench);
  must(bench->remove({"q", "1"}));
  EXPECT_EQ(look_b(bench).total, 2u);
  EXPECT_EQ(look_b(bench).dead, 1u);
  must(bench->seal_batch(kBatch));
  ack_one(bench);
  EXPECT_TRUE(look_b(bench).ended);
  EXPECT_FALSE(look_b(bench).succeeded());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchFinishedTest, an_ended_batch_is_forgotten_after_the_retention_or_an_hour) {
  for (const auto& [retention, kept] :
       {std::pair<Duration, Duration>{0h, 1h}, {10min, 1h}, {3h, 3h}})
    for (const bool by_claim : {false, true}) {
      const Bench bench = open();
      must(bench->configure("q", {.done_retention = retention}));
      open_b(bench);
      add(bench, {"1"});
      must(bench->seal_batch(kBatch));
      kill_one(bench);
      const auto work = [&, by = by_claim] {
        if (by)
          EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
        else
          must(bench->sweep());
      };
      bench.advance(kept - 1ms);
      work();
      EXPECT_TRUE(look_b(bench).ended);
      bench.advance(1ms);
      work();
      EXPECT_EQ(status_of(bench->get_batch(kBatch)).code(), Code::not_found);
      EXPECT_EQ(stored(bench, "q", Space::batch) + stored(bench, "q", Space::batch_count), 0u);
      EXPECT_EQ(breaches(bench), "");
      // The id may be used again; a job of the old batch is none of the new one.
      open_b(bench);
      must(bench->requeue({.queue = "q", .id = "1"}));
      EXPECT_EQ(look_b(bench).total, 0u);
      must(bench->seal_batch(kBatch));
      EXPECT_TRUE(look_b(bench).succeeded());
      ack_one(bench);
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(BatchFinishedTest, an_open_batch_is_not_forgotten) {
  const Bench bench = open();
  open_b(bench);
  add(bench, {"1"});
  ack_one(bench);
  bench.advance(48h);
  must(bench->sweep());
  EXPECT_FALSE(look_b(bench).ended);
  EXPECT_EQ(look_b(bench).done, 1u);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
