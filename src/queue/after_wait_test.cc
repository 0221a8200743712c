// SPDX-License-Identifier: MIT
// Dependencies over time: how long a job is kept that others waited for, and what counts while a
// job waits.
#include <sluice/queue.h>

#include <string>

#include "queue/after_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AfterWaitTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AfterWaitTest);

// ------------------------------------------------------------------------------------ keeping them

TEST_P(AfterWaitTest, a_job_that_others_waited_for_is_kept_for_an_hour_at_least) {
  struct Way {
    Duration retention;
    Duration kept;
  };
  for (const Way way :
       {Way{0min, 1h}, Way{10min, 1h}, Way{59min, 1h}, Way{60min, 1h}, Way{90min, 90min}})
    for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
      SCOPED_TRACE(std::string(lane_name(lane)) + " " + std::to_string(way.retention.count()));
      const Bench bench = open();
      must(bench->configure("p",
                            {.done_retention = way.retention, .dead_retention = way.retention}));
      must(bench->enqueue({.queue = "p", .id = "p"}));
      must(bench->enqueue({.queue = "c", .id = "child", .after = {{"p", "p", AfterPolicy::end}}}));
      (lane == Lane::done ? ack_it : lane == Lane::dead ? refuse_it : cancel_it)(bench);
      const WallTime ended = bench.now();
      must_claim(bench, "c");
      EXPECT_EQ(breaches(bench), "");
      bench.advance(way.kept - 1ms);
      must(bench->sweep());
      EXPECT_EQ(lane_of(bench, {"p", "p"}), lane_name(lane));
      EXPECT_EQ(must(bench->get({"p", "p"})).finished, ended);
      must(bench->enqueue({.queue = "c", .id = "late", .after = {{"p", "p", AfterPolicy::end}}}));
      EXPECT_EQ(lane_of(bench, {"c", "late"}), "ready");
      EXPECT_EQ(breaches(bench), "");
      bench.advance(1ms);
      EXPECT_EQ(must(bench->sweep()).removed, 1u);
      EXPECT_EQ(lane_of(bench, {"p", "p"}), "absent");
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(AfterWaitTest, a_job_that_nobody_waited_for_is_kept_no_longer_than_the_queue_says) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "p", .id = "p"}));
  ack_it(bench);
  EXPECT_EQ(lane_of(bench, {"p", "p"}), "absent");
}

// ----------------------------------------------------------------------------- while it is waiting

TEST_P(AfterWaitTest, a_due_time_counts_after_the_wait) {
  for (const bool late : {false, true}) {
    const Bench bench = open();
    must(bench->enqueue({.queue = "p", .id = "p"}));
    must(bench->enqueue({.queue = "c", .id = "child", .delay = 10min, .after = {{"p", "p"}}}));
    EXPECT_EQ(lane_of(bench, {"c", "child"}), "waiting");
    bench.advance(late ? 10min : 10min - 1ms);
    must(bench->sweep());
    EXPECT_EQ(lane_of(bench, {"c", "child"}), "waiting");
    run_job(bench, "p", "p");
    EXPECT_EQ(lane_of(bench, {"c", "child"}), late ? "ready" : "scheduled");
    EXPECT_EQ(breaches(bench), "");
    bench.advance(1ms);
    run_job(bench, "c", "child");
  }
}

TEST_P(AfterWaitTest, time_to_live_counts_during_the_wait) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "p", .id = "p"}));
  must(bench->enqueue({.queue = "c", .id = "child", .ttl = 10min, .after = {{"p", "p"}}}));
  bench.advance(10min);
  EXPECT_EQ(must(bench->sweep()).expired, 1u);
  EXPECT_EQ(must(bench->get({"c", "child"})).reason, DeathReason::expired);
  EXPECT_TRUE(must(bench->get({"c", "child"}, {.after = true})).after.empty());
  EXPECT_EQ(breaches(bench), "");
  must(bench->requeue({.queue = "c", .id = "child"}));
  EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready") << "it waits for nothing any more";
  run_job(bench, "p", "p");
  run_job(bench, "c", "child");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterWaitTest, a_claim_that_finds_a_parent_expired_hands_out_what_waited_for_it) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "parent", .ttl = 1min}));
  must(bench->enqueue(
      {.queue = "q", .id = "child", .after = {{.id = "parent", .policy = AfterPolicy::end}}}));
  bench.advance(1min);
  const auto leases = must(bench->claim({.queues = {"q"}}));
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0].id, "child");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterWaitTest, a_cancelled_job_waits_for_nothing_any_more) {
  const Bench bench = with_parent(GetParam());
  must(bench->enqueue({.queue = "c", .id = "child", .after = {{"p", "p"}}}));
  must(bench->cancel({"c", "child"}));
  EXPECT_EQ(breaches(bench), "");
  must(bench->requeue({.queue = "c", .id = "child"}));
  EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready");
  refuse_it(bench);
  must(bench->remove({"p", "p"}));
  EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterWaitTest, a_later_job_of_the_same_id_is_not_taken_for_the_one_that_waited) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "p", .id = "p"}));
  for (const AfterPolicy policy : {AfterPolicy::cancel, AfterPolicy::success, AfterPolicy::end}) {
    must(bench->enqueue(
        {.queue = "c", .id = "child", .after = {{.queue = "p", .id = "p", .policy = policy}}}));
    if (policy != AfterPolicy::end) must(bench->cancel({"c", "child"}));
  }
  EXPECT_EQ(breaches(bench), "");
  refuse_it(bench);
  EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready");
  EXPECT_EQ(breaches(bench), "");
  must(bench->remove({"p", "p"}));
  EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterWaitTest, a_job_gets_its_place_when_it_is_let_go) {
  for (const char* group : {"", "g"}) {
    const Bench bench = open();
    must(bench->enqueue({.queue = "p", .id = "p"}));
    enqueue_all(bench, {{.queue = "q", .id = "first", .group = group, .after = {{"p", "p"}}},
                        {.queue = "q", .id = "second", .group = group}});
    run_job(bench, "p", "p");
    must(bench->enqueue({.queue = "q", .id = "third", .group = group}));
    EXPECT_EQ(claim_all(bench, "q"), (Ids{"second", "first", "third"}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AfterWaitTest, waiting_jobs_are_part_of_the_backlog) {
  const Bench bench = open();
  must(bench->configure("c", {.backlog_max = 2}));
  must(bench->enqueue({.queue = "p", .id = "p"}));
  for (const char* id : {"a", "b"})
    must(bench->enqueue({.queue = "c", .id = id, .after = {{"p", "p"}}}));
  EXPECT_EQ(code_of(bench->enqueue({.queue = "c"})), Code::limit_exceeded);
  run_job(bench, "p", "p");
  EXPECT_EQ(must(bench->count("c")).ready, 2u) << "who is let go always finds room";
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
