// SPDX-License-Identifier: MIT
// Dependencies by the thousand: they are let go over several transactions, and none is forgotten.
#include <sluice/queue.h>

#include <cstddef>
#include <string>
#include <vector>

#include "queue/after_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AfterManyTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AfterManyTest);

/// One job of queue "p" and many of queue "c" that wait for it.
Bench with_children(EngineKind kind, std::size_t count, AfterPolicy policy) {
  Bench bench = with_parent(kind);
  std::vector<NewJob> children;
  for (const std::string& id : numbered("c", count))
    children.push_back(
        {.queue = "c", .id = id, .after = {{.queue = "p", .id = "p", .policy = policy}}});
  enqueue_all(bench, children);
  return bench;
}

constexpr std::size_t kMany = 2'500;

TEST_P(AfterManyTest, three_thousand_are_added_by_the_thousand_to_a_held_job) {
  constexpr std::size_t kJobs = 3'000;
  const Bench bench = open();
  const Ids ids = numbered("p", kJobs);
  std::vector<NewJob> parents;
  for (const std::string& id : ids) parents.push_back({.queue = "p", .id = id});
  enqueue_all(bench, parents);
  must(bench->enqueue({.queue = "w", .id = "join", .hold = true}));
  const auto after = after_all("p", ids);
  for (std::size_t at = 0; at < kJobs; at += kAfterMax)
    must(
        bench->add_after({.queue = "w",
                          .id = "join",
                          .after = {after.begin() + static_cast<std::ptrdiff_t>(at),
                                    after.begin() + static_cast<std::ptrdiff_t>(at + kAfterMax)}}));
  must(bench->unhold({"w", "join"}));
  EXPECT_EQ(lane_of(bench, {"w", "join"}), "waiting");
  EXPECT_EQ(breaches(bench), "");
  for (std::size_t left = kJobs; left > 1'000; left -= 1'000) run_jobs(bench, "p", 1'000);
  run_jobs(bench, "p", 999);
  EXPECT_EQ(lane_of(bench, {"w", "join"}), "waiting");
  EXPECT_EQ(must(bench->get({"w", "join"}, {.after = true})).after.size(), 1u);
  run_jobs(bench, "p", 1);
  EXPECT_EQ(lane_of(bench, {"w", "join"}), "ready");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterManyTest, many_dependants_are_let_go_over_several_transactions_by_sweeps) {
  const Bench bench = with_children(GetParam(), kMany, AfterPolicy::success);
  ack_it(bench);
  EXPECT_EQ(must(bench->count("c")), (Counts{.waiting = kMany - 1'000, .ready = 1'000}));
  EXPECT_EQ(breaches(bench), "");
  must(bench->enqueue({.queue = "c", .id = "late", .after = {{.queue = "p", .id = "p"}}}));
  EXPECT_EQ(lane_of(bench, {"c", "late"}), "ready") << "the other is done, whoever waits still";
  EXPECT_EQ(must(bench->sweep(100)).released, 100u);
  EXPECT_EQ(must(bench->count("c")).waiting, kMany - 1'100);
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must(bench->sweep()).released, kMany - 1'100);
  EXPECT_EQ(must(bench->count("c")), (Counts{.ready = kMany + 1}));
  EXPECT_EQ(must(bench->sweep()).moved(), 0u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterManyTest, a_transaction_settles_a_thousand_for_all_of_its_jobs_together) {
  const Bench bench = open();
  std::vector<NewJob> jobs;
  for (const char* parent : {"a", "b"}) {
    jobs.push_back({.queue = "p", .id = parent});
    for (const std::string& id : numbered(parent, 600))
      jobs.push_back({.queue = "c", .id = id, .after = {{.queue = "p", .id = parent}}});
  }
  enqueue_all(bench, jobs);
  run_jobs(bench, "p", 2);
  EXPECT_EQ(must(bench->count("c")), (Counts{.waiting = 200, .ready = 1'000}));
  EXPECT_EQ(must(bench->sweep()).released, 200u);
  EXPECT_EQ(must(bench->count("c")), (Counts{.ready = 1'200}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterManyTest, many_dependants_are_let_go_by_claims_alone) {
  const Bench bench = with_children(GetParam(), kMany, AfterPolicy::end);
  refuse_it(bench);
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_LET(claimed, jobs.claim({.queues = {"p"}}));
    EXPECT_TRUE(claimed.leases.empty());
    EXPECT_TRUE(claimed.moved) << "claim again at once";
    return {};
  })));
  EXPECT_EQ(must(bench->count("c")).waiting, kMany - 1'000 - kClaimMovesMax);
  EXPECT_EQ(breaches(bench), "");
  EXPECT_TRUE(must(bench->claim({.queues = {"p"}})).empty());
  EXPECT_EQ(must(bench->count("c")), (Counts{.ready = kMany}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AfterManyTest, requeue_is_refused_while_the_dependants_are_being_let_go) {
  for (const bool failed : {false, true}) {
    const Bench bench = with_children(GetParam(), 1'200, AfterPolicy::end);
    (failed ? refuse_it : ack_it)(bench);
    const Dump before = dump(bench);
    EXPECT_EQ(bench->requeue({.queue = "p", .id = "p"}).code(), Code::conflict);
    EXPECT_EQ(dump(bench), before);
    EXPECT_EQ(must(bench->sweep()).released, 200u);
    must(bench->requeue({.queue = "p", .id = "p"}));
    must(bench->enqueue({.queue = "c", .id = "late", .after = {{.queue = "p", .id = "p"}}}));
    EXPECT_EQ(lane_of(bench, {"c", "late"}), "waiting");
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AfterManyTest, all_are_let_go_also_if_the_job_is_removed_meanwhile) {
  for (const bool failed : {false, true})
    for (const AfterPolicy policy : kAfterPolicies)
      for (const bool at_once : {true, false}) {
        SCOPED_TRACE(std::string(failed ? "dead, " : "done, ") + policy_name(policy) +
                     (at_once ? ", removed" : ", past its retention"));
        const Bench bench = with_children(GetParam(), 1'200, policy);
        (failed ? refuse_it : ack_it)(bench);
        if (at_once) {
          must(bench->remove({"p", "p"}));
        } else {
          bench.advance(2h);
          must(bench->sweep(1));
        }
        EXPECT_EQ(lane_of(bench, {"p", "p"}), "absent");
        EXPECT_EQ(breaches(bench), "");
        must(bench->sweep());
        const bool ready = !failed || policy == AfterPolicy::end;
        Counts expected;
        (ready                           ? expected.ready
         : policy == AfterPolicy::cancel ? expected.cancelled
                                         : expected.dead) = 1'200;
        EXPECT_EQ(must(bench->count("c")), expected);
        EXPECT_EQ(breaches(bench), "");
      }
}

TEST_P(AfterManyTest, a_long_chain_is_cancelled_to_its_end) {
  constexpr std::size_t kLength = 1'500;
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  std::vector<NewJob> chain{{.queue = "q", .id = "c-0"}};
  for (const std::string& id : numbered("c", kLength)) {
    if (id == "c-0") continue;
    chain.push_back({.queue = "q",
                     .id = id,
                     .after = {{.id = chain.back().id, .policy = AfterPolicy::cancel}}});
  }
  enqueue_all(bench, chain);
  must(bench->cancel({"q", "c-0"}));
  EXPECT_EQ(must(bench->count("q")), (Counts{.waiting = kLength - 1'001, .cancelled = 1'001}));
  EXPECT_EQ(breaches(bench), "");
  must(bench->sweep());
  EXPECT_EQ(must(bench->count("q")), (Counts{.cancelled = kLength}));
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
