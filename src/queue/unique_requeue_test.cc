// SPDX-License-Identifier: MIT
// Unique keys of jobs that are requeued.
#include <sluice/queue.h>

#include "queue/unique_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class UniqueRequeueTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(UniqueRequeueTest);

TEST_P(UniqueRequeueTest, requeue_is_refused_while_another_job_holds_the_key) {
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = 1h}));
    bring(bench, keyed("first"), lane);
    must(bench->enqueue(keyed("second")));
    const Dump before = dump(bench);
    EXPECT_EQ(bench->requeue({.queue = "q", .id = "first"}).code(), Code::already_exists);
    EXPECT_EQ(dump(bench), before);
    must(bench->cancel({"q", "second"}));
    must(bench->requeue({.queue = "q", .id = "first"}));
    EXPECT_EQ(key_of(bench, "first"), "k");
    EXPECT_EQ(bench->requeue({.queue = "q", .id = "second"}).code(), Code::already_exists);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueRequeueTest, requeue_is_not_refused_if_the_lane_ready_is_not_declared) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  bring(bench, keyed("first", UniquePolicy::reject, {Lane::leased}), Lane::cancelled);
  must(bench->enqueue(keyed("second")));
  must(bench->requeue({.queue = "q", .id = "first"}));
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(key_of(bench, "second"), "k");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueRequeueTest, a_job_that_lost_its_key_to_a_replacement_may_not_be_requeued) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  bring(bench, keyed("first", UniquePolicy::reject, kAll), Lane::done);
  must(bench->enqueue(keyed("second", UniquePolicy::replace)));
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(bench->requeue({.queue = "q", .id = "first"}).code(), Code::already_exists);
  must(bench->remove({"q", "first"}));
  EXPECT_EQ(key_of(bench, "second"), "k");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueRequeueTest, a_finished_job_within_its_own_window_may_be_requeued) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  NewJob first = keyed("first");
  first.unique->window = 30min;
  bring(bench, first, Lane::done);
  must(bench->requeue({.queue = "q", .id = "first"}));
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
