// SPDX-License-Identifier: MIT
// Dependencies: what each ending of a job means to those that wait for it, and how they are let go
// when there are many.
#include <sluice/queue.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AfterTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AfterTest);

constexpr AfterPolicy kPolicies[] = {AfterPolicy::success, AfterPolicy::end, AfterPolicy::cancel};

/// "name-0" to the number before `count`.
Ids numbered(const std::string& name, std::size_t count) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(name + "-" + std::to_string(i));
  return ids;
}

std::vector<After> after_all(const std::string& queue, const Ids& ids,
                             AfterPolicy policy = AfterPolicy::success) {
  std::vector<After> after;
  for (const std::string& id : ids) after.push_back({.queue = queue, .id = id, .policy = policy});
  return after;
}

void enqueue_all(const Bench& bench, const std::vector<NewJob>& jobs) {
  for (const auto& result : bench->enqueue(jobs)) must(result);
}

/// Claims and acks up to `count` jobs of the queue, in one transaction each.
void run_jobs(const Bench& bench, const std::string& queue, std::size_t count = 1) {
  std::vector<AckRequest> acks;
  for (const Lease& lease : must(bench->claim({.queues = {queue}, .jobs_max = count})))
    acks.push_back({.queue = queue, .token = lease.token});
  EXPECT_EQ(acks.size(), count);
  for (const Status& status : bench->ack(acks)) must(status);
}

void run_job(const Bench& bench, const std::string& queue, const std::string& id) {
  const Lease lease = must_claim(bench, queue);
  EXPECT_EQ(lease.id, id);
  must(bench->ack({.queue = queue, .token = lease.token}));
}

// ----------------------------------------------------------------------------------------- endings

/// How the job "p" of queue "p" ends.
struct Ending {
  const char* name;
  Lane lane;     ///< Where it ends, or ended before it was
  bool removed;  ///< removed.
  std::function<void(const Bench&)> bring;
};

void ack_it(const Bench& bench) {
  must(bench->ack({.queue = "p", .token = must_claim(bench, "p").token}));
}
void refuse_it(const Bench& bench) {
  must(bench->fail({.queue = "p", .token = must_claim(bench, "p").token, .dead = true}));
}
void cancel_it(const Bench& bench) {
  must(bench->cancel({"p", "p"}));
}
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
             EXPECT_TRUE(must(b->claim({.queues = {"p"}})).empty());
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

/// The job "p" of queue "p", which two failures and two hours are enough for.
Bench with_parent(EngineKind kind) {
  Bench bench = open_bench(kind);
  const RetryPolicy once{.attempts_max = 1};
  must(bench->configure("p", {.retry = once, .done_retention = 2h, .dead_retention = 2h}));
  must(bench->configure("c", {.retry = once, .done_retention = 5h, .dead_retention = 5h}));
  must(bench->enqueue({.queue = "p", .id = "p", .ttl = 1h}));
  return bench;
}

std::string expected_lane(const Ending& ending, AfterPolicy policy) {
  if (ending.lane == Lane::done || policy == AfterPolicy::end) return "ready";
  if (policy == AfterPolicy::cancel) return "cancelled";
  return ending.removed ? "dead" : "waiting";
}

TEST_P(AfterTest, each_ending_means_to_each_policy_what_the_table_says) {
  for (const Ending& ending : endings())
    for (const AfterPolicy policy : kPolicies)
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
    for (const AfterPolicy policy : kPolicies)
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

// ------------------------------------------------------------------------------ in one transaction

TEST_P(AfterTest, a_diamond_in_one_call_runs_in_order) {
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

TEST_P(AfterTest, generated_ids_may_be_waited_for_in_the_same_transaction) {
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

TEST_P(AfterTest, an_end_and_a_new_tie_to_it_may_share_a_transaction) {
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

TEST_P(AfterTest, a_child_may_wait_for_the_job_whose_ack_enqueues_it) {
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

TEST_P(AfterTest, what_is_not_there_before_is_not_found) {
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

TEST_P(AfterTest, nobody_waits_twice_for_the_same_job) {
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

TEST_P(AfterTest, one_call_names_a_thousand_jobs_and_no_more) {
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

TEST_P(AfterTest, add_after_is_for_older_jobs_that_are_not_settled) {
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

TEST_P(AfterTest, a_job_that_is_waited_for_already_keeps_its_policy) {
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

TEST_P(AfterTest, a_held_job_stays_held_and_unhold_leads_to_waiting) {
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

TEST_P(AfterTest, a_held_job_is_cancelled_or_orphaned_with_what_it_waits_for) {
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

// ------------------------------------------------------------------------------------ many at once

TEST_P(AfterTest, three_thousand_are_added_by_the_thousand_to_a_held_job) {
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

TEST_P(AfterTest, many_dependants_are_let_go_over_several_transactions_by_sweeps) {
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

TEST_P(AfterTest, a_transaction_settles_a_thousand_for_all_of_its_jobs_together) {
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

TEST_P(AfterTest, many_dependants_are_let_go_by_claims_alone) {
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

TEST_P(AfterTest, requeue_is_refused_while_the_dependants_are_being_let_go) {
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

TEST_P(AfterTest, all_are_let_go_also_if_the_job_is_removed_meanwhile) {
  for (const bool failed : {false, true})
    for (const AfterPolicy policy : kPolicies)
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

TEST_P(AfterTest, a_long_chain_is_cancelled_to_its_end) {
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

// ------------------------------------------------------------------------------------ keeping them

TEST_P(AfterTest, a_job_that_others_waited_for_is_kept_for_an_hour_at_least) {
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

TEST_P(AfterTest, a_job_that_nobody_waited_for_is_kept_no_longer_than_the_queue_says) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "p", .id = "p"}));
  ack_it(bench);
  EXPECT_EQ(lane_of(bench, {"p", "p"}), "absent");
}

// ----------------------------------------------------------------------------- while it is waiting

TEST_P(AfterTest, a_due_time_counts_after_the_wait) {
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

TEST_P(AfterTest, time_to_live_counts_during_the_wait) {
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

TEST_P(AfterTest, a_cancelled_job_waits_for_nothing_any_more) {
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

TEST_P(AfterTest, a_later_job_of_the_same_id_is_not_taken_for_the_one_that_waited) {
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

TEST_P(AfterTest, a_job_gets_its_place_when_it_is_let_go) {
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

TEST_P(AfterTest, waiting_jobs_are_part_of_the_backlog) {
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
