// SPDX-License-Identifier: MIT
// Who may wait for whom: ties to jobs of the same transaction, to jobs that end at the same moment,
// and those that are added later.
#include <sluice/queue.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queue/after_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AfterTieTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AfterTieTest);

// ------------------------------------------------------------------------------ in one transaction

TEST_P(AfterTieTest, a_diamond_in_one_call_runs_in_order) {
  const Bench bench = open();
  enqueue_all(bench, {{.queue = "q", .id = "top"},
                      {.queue = "q", .id = "left", .after = {{.id = "top"}}},
                      {.queue = "r", .id = "right", .after = {{.queue = "q", .id = "top"}}},
                      {.queue = "q", .id = "end", .after = {{"", "left"}, {"r", "right"}}},
                      {.queue = "q", .id = "loose"}});
  EXPECT_EQ(must(bench->count("q")), (Counts{.waiting = 2, .ready = 2}));
  EXPECT_EQ(breaches(bench), "");
  run_job(bench, "q", "top");
  run_job(bench, "q", "loose");
  run_job(bench, "q", "left");
  EXPECT_EQ(lane_of(bench, {"q", "end"}), "waiting");
  run_job(bench, "r", "right");
  run_job(bench, "q", "end");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterTieTest, generated_ids_may_be_waited_for_in_the_same_transaction) {
  const Bench bench = open();
  std::string first;
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    EXPECT_EQ(code_of(jobs.enqueue({.queue = "q", .after = {{.id = "later"}}})), Code::not_found);
    SLUICE_LET(id, jobs.enqueue({.queue = "q"}));
    first = id;
    SLUICE_LET(second, jobs.enqueue({.queue = "q", .after = {{.id = id}}}));
    SLUICE_TRY(jobs.enqueue({.queue = "r", .id = "third", .after = {{"q", id}, {"q", second}}}));
    return status_of(jobs.enqueue({.queue = "q", .id = "later"}));
  })));
  EXPECT_EQ(must(bench->count("q")), (Counts{.waiting = 1, .ready = 2}));
  run_job(bench, "q", first);
  EXPECT_EQ(must(bench->count("q")), (Counts{.ready = 2, .done = 1}));
  run_jobs(bench, "q", 2);
  run_job(bench, "r", "third");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterTieTest, an_end_and_a_new_tie_to_it_may_share_a_transaction) {
  for (const bool tie_first : {true, false}) {
    const Bench bench = with_parent(GetParam());
    const Lease lease = must_claim(bench, "p");
    const auto tie = [](Scope& jobs) {
      return status_of(
          jobs.enqueue({.queue = "c", .id = "child", .after = {{.queue = "p", .id = "p"}}}));
    };
    must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
      Scope jobs(*bench.queues, txn);
      if (tie_first) SLUICE_TRY(tie(jobs));
      SLUICE_TRY(jobs.ack({.queue = "p", .token = lease.token}));
      return tie_first ? Status() : tie(jobs);
    })));
    EXPECT_EQ(breaches(bench), "");
    must(bench->sweep());
    EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready");
    EXPECT_EQ(breaches(bench), "");
  }
}

// Only where transactions overlap: the other's end is not seen by the one that ties itself to it.
TEST(AfterRaceTest, an_end_at_the_same_moment_is_not_missed) {
  for (const bool add : {false, true}) {
    const Bench bench = with_parent(EngineKind::memory_optimistic);
    const Lease lease = must_claim(bench, "p");
    if (add) must(bench->enqueue({.queue = "c", .id = "child", .hold = true}));
    int attempts = 0;
    must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
      Scope jobs(*bench.queues, txn);
      if (add) {
        SLUICE_TRY(jobs.add_after({.queue = "c", .id = "child", .after = {{"p", "p"}}}));
      } else {
        SLUICE_TRY(jobs.enqueue({.queue = "c", .id = "child", .after = {{"p", "p"}}}));
      }
      if (++attempts == 1)
        std::jthread([&] { must(bench->ack({.queue = "p", .token = lease.token})); }).join();
      return {};
    })));
    EXPECT_EQ(attempts, 2) << "it has to look again";
    if (add) must(bench->unhold({"c", "child"}));
    EXPECT_EQ(lane_of(bench, {"c", "child"}), "ready");
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AfterTieTest, a_child_may_wait_for_the_job_whose_ack_enqueues_it) {
  for (const Duration retention : {Duration{}, Duration(1h)}) {
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = retention}));
    must(bench->enqueue({.queue = "q", .id = "parent"}));
    const Lease lease = must_claim(bench, "q");
    must(bench->ack({.queue = "q",
                     .token = lease.token,
                     .children = {{.queue = "q", .id = "a", .after = {{.id = "parent"}}},
                                  {.queue = "q", .id = "b", .after = {{"", "parent"}, {"", "a"}}},
                                  {.queue = "new", .id = "c"},
                                  {.queue = "new", .id = "d", .after = {{"new", "c"}}}}}));
    EXPECT_EQ(lane_of(bench, {"new", "d"}), "waiting");
    run_job(bench, "q", "a");
    run_job(bench, "q", "b");
    run_job(bench, "new", "c");
    run_job(bench, "new", "d");
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AfterTieTest, what_is_not_there_before_is_not_found) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "there"}));
  const Dump before = dump(bench);
  const NewJob jobs[] = {{.queue = "q", .id = "x", .after = {{.id = "none"}}},
                         {.queue = "q", .id = "x", .after = {{.id = "there"}, {.id = "none"}}},
                         {.queue = "q", .id = "x", .after = {{.queue = "none", .id = "there"}}},
                         {.queue = "new", .id = "x", .after = {{.id = "there"}}},
                         {.queue = "q", .id = "x", .after = {{.id = "x"}}},
                         {.queue = "q", .id = "x", .after = {{.queue = "q", .id = "x"}}}};
  for (const NewJob& job : jobs) {
    EXPECT_EQ(code_of(bench->enqueue(job)), Code::not_found);
    EXPECT_EQ(dump(bench), before);
  }
  const std::vector<NewJob> wrong_order{{.queue = "q", .id = "x", .after = {{.id = "y"}}},
                                        {.queue = "q", .id = "y"}};
  const auto results = bench->enqueue(wrong_order);
  EXPECT_EQ(code_of(results[0]), Code::not_found);
  EXPECT_EQ(code_of(results[1]), Code::ok);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterTieTest, nobody_waits_twice_for_the_same_job) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "a"}));
  must(bench->enqueue({.queue = "q", .id = "held", .hold = true}));
  const Dump before = dump(bench);
  const std::vector<After> twice[] = {{{.id = "a"}, {.id = "a"}},
                                      {{.id = "a"}, {.id = "a", .policy = AfterPolicy::end}},
                                      {{.queue = "q", .id = "a"}, {.queue = "q", .id = "a"}},
                                      {{.id = "a"}, {.queue = "q", .id = "a"}}};
  for (const auto& after : twice) {
    SCOPED_TRACE(&after - twice);
    EXPECT_EQ(code_of(bench->enqueue({.queue = "q", .id = "x", .after = after})),
              Code::invalid_argument);
    EXPECT_EQ(bench->add_after({.queue = "q", .id = "held", .after = after}).code(),
              Code::invalid_argument);
    EXPECT_EQ(dump(bench), before);
  }
}

TEST_P(AfterTieTest, one_call_names_a_thousand_jobs_and_no_more) {
  const Bench bench = open();
  const Ids ids = numbered("p", kAfterMax + 1);
  std::vector<NewJob> parents;
  for (const std::string& id : ids) parents.push_back({.queue = "p", .id = id});
  enqueue_all(bench, parents);
  must(bench->enqueue({.queue = "w", .id = "held", .hold = true}));
  const Dump before = dump(bench);
  const auto more = after_all("p", ids);
  EXPECT_EQ(code_of(bench->enqueue({.queue = "w", .id = "x", .after = more})),
            Code::invalid_argument);
  EXPECT_EQ(bench->add_after({.queue = "w", .id = "held", .after = more}).code(),
            Code::invalid_argument);
  EXPECT_EQ(dump(bench), before);
  const std::vector<After> most(more.begin(), more.end() - 1);
  must(bench->enqueue({.queue = "w", .id = "x", .after = most}));
  must(bench->add_after({.queue = "w", .id = "held", .after = most}));
  EXPECT_EQ(must(bench->get({"w", "x"}, {.after = true})).after.size(), kAfterMax);
  must(bench->add_after({.queue = "w", .id = "held", .after = {{"p", ids.back()}}}));
  EXPECT_EQ(must(bench->get({"w", "held"}, {.after = true})).after.size(), kAfterMax)
      << "it waits for one more, but so many are shown";
  EXPECT_EQ(breaches(bench), "");
}

// --------------------------------------------------------------------------------------- add_after

TEST_P(AfterTieTest, add_after_is_for_older_jobs_that_are_not_settled) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  for (const char* id : {"done", "dead", "older"}) must(bench->enqueue({.queue = "q", .id = id}));
  run_job(bench, "q", "done");
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
  must(bench->enqueue({.queue = "q", .id = "job", .hold = true}));
  must(bench->enqueue({.queue = "q", .id = "younger"}));
  const auto add = [&](After after) {
    return bench->add_after({.queue = "q", .id = "job", .after = {std::move(after)}}).code();
  };
  const Dump before = dump(bench);
  EXPECT_EQ(add({.id = "younger"}), Code::invalid_argument);
  EXPECT_EQ(add({.id = "job"}), Code::invalid_argument);
  EXPECT_EQ(add({.id = "none"}), Code::not_found);
  EXPECT_EQ(add({.queue = "none", .id = "older"}), Code::not_found);
  EXPECT_EQ(add({.id = "dead", .policy = AfterPolicy::cancel}), Code::conflict);
  EXPECT_EQ(add({.id = ""}), Code::invalid_argument);
  EXPECT_EQ(dump(bench), before);
  EXPECT_EQ(add({.id = "done"}), Code::ok);
  EXPECT_EQ(add({.id = "dead", .policy = AfterPolicy::end}), Code::ok);
  must(bench->unhold({"q", "job"}));
  EXPECT_EQ(lane_of(bench, {"q", "job"}), "ready") << "all of those were settled";
  EXPECT_EQ(add({.id = "older"}), Code::conflict);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterTieTest, a_job_that_is_waited_for_already_keeps_its_policy) {
  const Bench bench = with_parent(GetParam());
  must(bench->enqueue({.queue = "c",
                       .id = "child",
                       .after = {{.queue = "p", .id = "p", .policy = AfterPolicy::cancel}}}));
  must(bench->add_after({.queue = "c",
                         .id = "child",
                         .after = {{.queue = "p", .id = "p", .policy = AfterPolicy::end}}}));
  EXPECT_EQ(breaches(bench), "");
  refuse_it(bench);
  EXPECT_EQ(lane_of(bench, {"c", "child"}), "cancelled");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterTieTest, a_held_job_stays_held_and_unhold_leads_to_waiting) {
  for (const bool by_hold : {true, false}) {
    const Bench bench = open();
    for (const char* id : {"a", "b"}) must(bench->enqueue({.queue = "p", .id = id}));
    must(bench->enqueue(
        {.queue = "w", .id = "child", .hold = !by_hold, .after = {{"p", "a"}, {"p", "b"}}}));
    if (by_hold) must(bench->hold({"w", "child"}));
    EXPECT_EQ(lane_of(bench, {"w", "child"}), "held");
    run_job(bench, "p", "a");
    must(bench->unhold({"w", "child"}));
    EXPECT_EQ(lane_of(bench, {"w", "child"}), "waiting");
    must(bench->hold({"w", "child"}));
    EXPECT_EQ(breaches(bench), "");
    run_job(bench, "p", "b");
    EXPECT_EQ(lane_of(bench, {"w", "child"}), "held");
    EXPECT_TRUE(must(bench->get({"w", "child"}, {.after = true})).after.empty());
    must(bench->unhold({"w", "child"}));
    EXPECT_EQ(lane_of(bench, {"w", "child"}), "ready");
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AfterTieTest, a_held_job_is_cancelled_or_orphaned_with_what_it_waits_for) {
  for (const AfterPolicy policy : {AfterPolicy::cancel, AfterPolicy::success}) {
    const Bench bench = with_parent(GetParam());
    must(bench->enqueue({.queue = "c",
                         .id = "child",
                         .hold = true,
                         .after = {{.queue = "p", .id = "p", .policy = policy}}}));
    cancel_it(bench);
    must(bench->remove({"p", "p"}));
    EXPECT_EQ(lane_of(bench, {"c", "child"}), policy == AfterPolicy::cancel ? "cancelled" : "dead");
    EXPECT_EQ(breaches(bench), "");
  }
}

}  // namespace
}  // namespace sluice::queue
