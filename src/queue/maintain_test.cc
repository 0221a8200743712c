// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class MaintainTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(MaintainTest);

TEST_P(MaintainTest, a_lapsed_job_is_back_at_its_old_place_at_its_deadline) {
  const Bench bench = open();
  for (const char* id : {"a", "b"}) must(bench->enqueue({.queue = "q", .id = id}));
  const Lease lease = must_claim(bench, "q", 10s);
  bench.advance(9999ms);
  EXPECT_EQ(must(bench->sweep()).lapsed, 0u);
  EXPECT_EQ(must(bench->get({"q", "a"})).lane, Lane::leased);
  bench.advance(1ms);
  const Swept swept = must(bench->sweep());
  EXPECT_EQ(swept.lapsed, 1u);
  const Job job = must(bench->get({"q", "a"}, {.history = true}));
  EXPECT_EQ(job.lapses, 1u);
  EXPECT_EQ(job.history.at(0).outcome, Outcome::lapsed);
  EXPECT_EQ(claim_all(bench, "q"), (Ids{"a", "b"}));
}

TEST_P(MaintainTest, a_job_whose_lease_keeps_lapsing_is_poison) {
  const Bench bench = open();
  must(bench->configure("q", {.lease = 1s, .retry = {.attempts_max = 100}, .lapses_max = 3}));
  must(bench->enqueue({.queue = "q", .id = "j"}));
  for (int i = 0; i < 3; ++i) {
    must_claim(bench, "q");
    bench.advance(1s);
  }
  EXPECT_TRUE(claim_all(bench, "q").empty());
  const Job job = must(bench->get({"q", "j"}));
  EXPECT_EQ(job.lane, Lane::dead);
  EXPECT_EQ(job.reason, DeathReason::poison);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(MaintainTest, lapses_use_up_attempts) {
  const Bench bench = open();
  must(bench->configure("q", {.lease = 1s, .retry = {.attempts_max = 2}}));
  must(bench->enqueue({.queue = "q", .id = "j"}));
  for (int i = 0; i < 2; ++i) {
    must_claim(bench, "q");
    bench.advance(1s);
  }
  must(bench->sweep());
  EXPECT_EQ(must(bench->get({"q", "j"})).reason, DeathReason::attempts);
}

TEST_P(MaintainTest, sweep_says_when_there_is_more_to_do) {
  const Bench bench = open();
  EXPECT_FALSE(must(bench->sweep()).next);
  must(bench->configure("q", {.lease = 7s, .done_retention = 1h}));
  must(bench->enqueue({.queue = "q", .id = "a", .delay = 9s}));
  EXPECT_EQ(must(bench->sweep()).next, bench.now() + 9s);
  must(bench->enqueue({.queue = "q", .id = "b", .ttl = 8s}));
  EXPECT_EQ(must(bench->sweep()).next, bench.now() + 8s);
  must_claim(bench, "q");
  EXPECT_EQ(must(bench->sweep()).next, bench.now() + 7s);
  must(bench->cancel({"q", "b"}));
  must(bench->cancel({"q", "a"}));
  EXPECT_EQ(must(bench->sweep()).next, bench.now() + 1h);
}

TEST_P(MaintainTest, a_sweep_over_many_jobs_is_bounded_and_comes_to_its_end) {
  const Bench bench = open();
  must(bench->configure("q", {.shards = 3}));
  std::vector<NewJob> jobs;
  for (int i = 0; i < 1300; ++i)
    jobs.push_back({.queue = "q", .group = i % 3 == 0 ? "g" : "", .delay = 1s});
  for (const auto& result : bench->enqueue(jobs)) must(result);
  bench.advance(1s);
  const Swept some = must(bench->sweep(700));
  EXPECT_EQ(some.due, 700u);
  EXPECT_EQ(some.next, bench.now());
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must(bench->sweep()).due, 600u);
  EXPECT_EQ(must(bench->count("q")).ready, 1300u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(MaintainTest, operation_ids_are_forgotten_after_their_window) {
  const Bench bench = open();
  must(bench->configure("q", {.events = false}));
  const std::size_t before = dump(bench).size();
  must(bench->enqueue({.queue = "q", .id = "j"}, {.operation = "op"}));
  bench.advance(kOperationWindow - 1ms);
  EXPECT_EQ(must(bench->enqueue({.queue = "q", .id = "j"}, {.operation = "op"})), "j");
  bench.advance(kOperationWindow + 1ms);
  must(bench->sweep());
  EXPECT_EQ(bench->enqueue({.queue = "q", .id = "j"}, {.operation = "op"}).error().code(),
            Code::already_exists);
  EXPECT_EQ(dump(bench).size(), before + 4) << "count, job, id, offer";
}

TEST_P(MaintainTest, workers_are_listed_until_they_are_silent_for_too_long) {
  const Bench bench = open();
  const Worker worker{.name = "w1",
                      .host = "here",
                      .pid = 42,
                      .slots = 8,
                      .queues = {"a", "b"},
                      .started = bench.now() - 1h};
  must(bench->register_worker(worker, 30s));
  must(bench->register_worker({.name = "w2"}, 10s));
  const auto workers = must(bench->list_workers());
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_EQ(workers[0].host, "here");
  EXPECT_EQ(workers[0].pid, 42u);
  EXPECT_EQ(workers[0].queues, worker.queues);
  EXPECT_EQ(workers[0].started, worker.started);
  EXPECT_EQ(workers[0].expires, bench.now() + 30s);
  bench.advance(10s);
  EXPECT_EQ(must(bench->list_workers()).size(), 1u);
  must(bench->register_worker(worker, 30s));
  must(bench->sweep());
  must(bench->forget_worker("w1"));
  EXPECT_EQ(bench->forget_worker("w2").code(), Code::not_found);
}

TEST_P(MaintainTest, steps_of_the_wall_clock_move_nothing) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "a"}));
  must(bench->enqueue({.queue = "q", .id = "b", .delay = 10s}));
  const Lease lease = must_claim(bench, "q", 10s);
  for (const auto step : {1h, -2h}) {
    bench.clock->step_wall(step);
    EXPECT_EQ(must(bench->sweep()).moved(), 0u);
  }
  must(bench->ack({.queue = "q", .token = lease.token}));
  bench.advance(10s);
  EXPECT_EQ(claim_all(bench, "q"), Ids{"b"});
}

}  // namespace
}  // namespace sluice::queue
