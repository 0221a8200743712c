// SPDX-License-Identifier: MIT
// Dependencies: what each ending of a job means to those that wait for it.
#include <sluice/queue.h>

#include <functional>
#include <string>
#include <vector>

#include "queue/after_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AfterTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AfterTest);

/// How the job "p" of queue "p" ends.
struct Ending {
  const char* name;
  Lane lane;     ///< Where it ends, or ended before it was
  bool removed;  ///< removed.
  std::function<void(const Bench&)> bring;
};

void outlive_it(const Bench& bench) {
  bench.advance(2h);
  // Only the first that is due: the same sweep would take along what ended because of it.
  EXPECT_EQ(must(bench->sweep(1)).removed, 1u);
}

std::vector<Ending> endings() {
  const auto then = [](auto first, auto second) {
    return [=](const Bench& bench) {
      first(bench);
      second(bench);
    };
  };
  const auto remove = [](const Bench& bench) { must(bench->remove({"p", "p"})); };
  const auto purge = [](Lane lane) {
    return [lane](const Bench& bench) { EXPECT_EQ(must(bench->purge("p", lane, 1)), 1u); };
  };
  return {{"acked", Lane::done, false, ack_it},
          {"out of attempts", Lane::dead, false,
           [](auto& b) { must(b->fail({.queue = "p", .token = must_claim(b, "p").token})); }},
          {"lapsed", Lane::dead, false,
           [](auto& b) {
             must_claim(b, "p", 1s);
             b.advance(1s);
             EXPECT_EQ(must(b->sweep()).lapsed, 1u);
           }},
          {"refused", Lane::dead, false, refuse_it},
          {"expired", Lane::dead, false,
           [](auto& b) {
             b.advance(1h);
             EXPECT_EQ(must(b->sweep()).expired, 1u);
           }},
          {"expired, met by a claim", Lane::dead, false,
           [](auto& b) {
             b.advance(1h);
             // One transaction, which cannot see what it makes ready.
             kv::must_run(b.opened, [&](kv::Transaction& txn) {
               Scope scope(*b.queues, txn);
               return status_of(scope.claim({.queues = {"p"}}));
             });
           }},
          {"cancelled", Lane::cancelled, false, cancel_it},
          {"done, removed", Lane::done, true, then(ack_it, remove)},
          {"done, past its retention", Lane::done, true, then(ack_it, outlive_it)},
          {"dead, removed", Lane::dead, true, then(refuse_it, remove)},
          {"dead, purged", Lane::dead, true, then(refuse_it, purge(Lane::dead))},
          {"dead, past its retention", Lane::dead, true, then(refuse_it, outlive_it)},
          {"cancelled, removed", Lane::cancelled, true, then(cancel_it, remove)},
          {"cancelled, purged", Lane::cancelled, true, then(cancel_it, purge(Lane::cancelled))},
          {"cancelled, past its retention", Lane::cancelled, true, then(cancel_it, outlive_it)}};
}

std::string expected_lane(const Ending& ending, AfterPolicy policy) {
  if (ending.lane == Lane::done || policy == AfterPolicy::end) return "ready";
  if (policy == AfterPolicy::cancel) return "cancelled";
  return ending.removed ? "dead" : "waiting";
}

TEST_P(AfterTest, each_ending_means_to_each_policy_what_the_table_says) {
  for (const Ending& ending : endings())
    for (const AfterPolicy policy : kAfterPolicies)
      for (const char* queue : {"p", "c"}) {
        SCOPED_TRACE(std::string(ending.name) + ", " + policy_name(policy) + ", in " + queue);
        const Bench bench = with_parent(GetParam());
        const JobRef child{queue, "child"};
        must(bench->enqueue({.queue = queue,
                             .id = "child",
                             .after = {{.queue = "p", .id = "p", .policy = policy}}}));
        EXPECT_EQ(lane_of(bench, child), "waiting");
        EXPECT_TRUE(must(bench->claim({.queues = {"c"}})).empty());
        EXPECT_EQ(breaches(bench), "");
        ending.bring(bench);
        const std::string lane = expected_lane(ending, policy);
        EXPECT_EQ(lane_of(bench, child), lane);
        const Job job = must(bench->get(child, {.after = true}));
        EXPECT_EQ(job.reason, lane == "dead" ? DeathReason::orphaned : DeathReason::none);
        EXPECT_EQ(job.after.size(), lane == "waiting" ? 1u : 0u);
        EXPECT_EQ(breaches(bench), "");
        if (lane == "ready") run_job(bench, queue, "child");
      }
}

TEST_P(AfterTest, a_new_job_sees_the_others_as_they_are) {
  for (const Ending& ending : endings())
    for (const AfterPolicy policy : kAfterPolicies)
      for (const char* queue : {"p", "c"}) {
        SCOPED_TRACE(std::string(ending.name) + ", " + policy_name(policy) + ", in " + queue);
        const Bench bench = with_parent(GetParam());
        ending.bring(bench);
        const Dump before = dump(bench);
        const auto result =
            bench->enqueue({.queue = queue,
                            .id = "child",
                            .after = {{.queue = "p", .id = "p", .policy = policy}}});
        const std::string lane = expected_lane(ending, policy);
        const Code code = ending.removed        ? Code::not_found
                          : lane == "cancelled" ? Code::conflict
                                                : Code::ok;
        EXPECT_EQ(code_of(result), code) << status_of(result).to_string();
        if (code != Code::ok) {
          EXPECT_EQ(dump(bench), before);
          continue;
        }
        EXPECT_EQ(lane_of(bench, {queue, "child"}), lane);
        EXPECT_EQ(breaches(bench), "");
      }
}

TEST_P(AfterTest, who_waits_for_success_goes_on_when_the_other_is_requeued_and_succeeds) {
  for (const bool before : {true, false}) {
    const Bench bench = with_parent(GetParam());
    const NewJob child{.queue = "c", .id = "child", .after = {{.queue = "p", .id = "p"}}};
    if (before) must(bench->enqueue(child));
    refuse_it(bench);
    if (!before) must(bench->enqueue(child));
    must(bench->requeue({.queue = "p", .id = "p"}));
    EXPECT_EQ(lane_of(bench, {"c", "child"}), "waiting");
    EXPECT_EQ(breaches(bench), "");
    run_job(bench, "p", "p");
    run_job(bench, "c", "child");
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(AfterTest, every_one_of_several_must_be_settled) {
  const Bench bench = open();
  for (const char* id : {"a", "b", "c"}) must(bench->enqueue({.queue = "p", .id = id}));
  must(bench->enqueue(
      {.queue = "w",
       .id = "child",
       .after = {{"p", "a"}, {"p", "b", AfterPolicy::end}, {"p", "c", AfterPolicy::cancel}}}));
  const Job waiting = must(bench->get({"w", "child"}, {.after = true}));
  EXPECT_EQ(waiting.after.size(), 3u);
  EXPECT_TRUE(must(bench->get({"w", "child"})).after.empty()) << "not asked for";
  run_job(bench, "p", "a");
  EXPECT_EQ(lane_of(bench, {"w", "child"}), "waiting");
  must(bench->cancel({"p", "b"}));
  EXPECT_EQ(lane_of(bench, {"w", "child"}), "waiting");
  const Job last = must(bench->get({"w", "child"}, {.after = true}));
  ASSERT_EQ(last.after.size(), 1u);
  EXPECT_EQ(last.after[0], (After{"p", "c", AfterPolicy::cancel}));
  run_job(bench, "p", "c");
  EXPECT_EQ(lane_of(bench, {"w", "child"}), "ready");
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
