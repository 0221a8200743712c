// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class SlotsTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(SlotsTest);

void enqueue_many(const Bench& bench, int count) {
  for (int i = 0; i < count; ++i) must(bench->enqueue({.queue = "q"}));
}

std::vector<Lease> claim_many(const Bench& bench) {
  return must(bench->claim({.queues = {"q"}, .jobs_max = 100}));
}

TEST_P(SlotsTest, a_queue_runs_no_more_than_its_limit) {
  const Bench bench = open();
  for (const std::uint32_t shards : {1u, 4u}) {
    must(bench->configure("q", {.active_max = 3, .shards = shards}));
    enqueue_many(bench, 10);
    auto leases = claim_many(bench);
    EXPECT_EQ(leases.size(), 3u);
    EXPECT_TRUE(claim_many(bench).empty());
    EXPECT_EQ(breaches(bench), "");
    must(bench->ack({.queue = "q", .token = leases[0].token}));
    must(bench->fail({.queue = "q", .token = leases[1].token, .dead = true}));
    EXPECT_EQ(claim_many(bench).size(), 2u);
    EXPECT_EQ(breaches(bench), "");
    bench.advance(1h);
    while (!claim_many(bench).empty()) bench.advance(1h);
    must(bench->purge("q", Lane::dead));
    EXPECT_EQ(must(bench->count("q")).total(), 0u);
  }
}

TEST_P(SlotsTest, a_lowered_limit_is_paid_off_by_the_jobs_that_end) {
  const Bench bench = open();
  must(bench->configure("q", {.active_max = 5}));
  enqueue_many(bench, 20);
  const auto leases = claim_many(bench);
  EXPECT_EQ(leases.size(), 5u);
  must(bench->configure("q", {.active_max = 2}));
  EXPECT_EQ(breaches(bench), "");
  for (int i = 0; i < 3; ++i) {
    must(bench->ack({.queue = "q", .token = leases[static_cast<std::size_t>(i)].token}));
    EXPECT_TRUE(claim_many(bench).empty()) << "still at or over the limit";
    EXPECT_EQ(breaches(bench), "");
  }
  must(bench->ack({.queue = "q", .token = leases[3].token}));
  EXPECT_EQ(claim_many(bench).size(), 1u);
  must(bench->configure("q", {.active_max = 4}));
  EXPECT_EQ(claim_many(bench).size(), 2u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(SlotsTest, a_limit_that_comes_and_goes_counts_the_jobs_that_run) {
  const Bench bench = open();
  enqueue_many(bench, 20);
  EXPECT_EQ(must(bench->claim({.queues = {"q"}, .jobs_max = 4})).size(), 4u);
  must(bench->configure("q", {.active_max = 6}));
  EXPECT_EQ(claim_many(bench).size(), 2u);
  EXPECT_EQ(breaches(bench), "");
  must(bench->configure("q", {}));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(claim_many(bench).size(), 14u);
  must(bench->configure("q", {.active_max = 0}));
  enqueue_many(bench, 1);
  EXPECT_TRUE(claim_many(bench).empty());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(SlotsTest, a_job_that_gives_back_several_slots_loses_none) {
  const Bench bench = open();
  must(bench->configure("q", {.active_max = 2}));
  enqueue_many(bench, 1);
  for (int i = 0; i < 4; ++i) {
    must(bench->release({.queue = "q", .token = must_claim(bench, "q").token}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(SlotsTest, a_slot_freed_in_a_transaction_can_be_used_in_it) {
  const Bench bench = open();
  must(bench->configure("q", {.active_max = 1}));
  enqueue_many(bench, 2);
  const Lease lease = must_claim(bench, "q");
  std::size_t claimed = 0;
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_TRY(jobs.ack({.queue = "q", .token = lease.token}));
    SLUICE_LET(next, jobs.claim({.queues = {"q"}}));
    claimed = next.leases.size();
    return {};
  })));
  EXPECT_EQ(claimed, 1u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(SlotsTest, the_rate_is_kept_and_says_when_to_come_back) {
  const Bench bench = open();
  must(bench->configure("q", {.rate = Rate{.jobs = 2, .per = 1s, .burst = 3}}));
  enqueue_many(bench, 20);
  EXPECT_EQ(claim_many(bench).size(), 3u) << "the burst";
  EXPECT_TRUE(claim_many(bench).empty());
  bench.advance(499ms);
  EXPECT_TRUE(claim_many(bench).empty());
  bench.advance(1ms);
  EXPECT_EQ(claim_many(bench).size(), 1u);
  bench.advance(1h);
  EXPECT_EQ(claim_many(bench).size(), 3u) << "no more than the burst is saved up";
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
