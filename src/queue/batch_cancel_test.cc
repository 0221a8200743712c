// SPDX-License-Identifier: MIT
// Cancelling a batch: every unfinished member is dropped, by sweeps and by claims, step by step.
#include <sluice/queue.h>

#include <cstddef>
#include <vector>

#include "queue/batch_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BatchCancelTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BatchCancelTest);

TEST_P(BatchCancelTest, cancelling_takes_every_unfinished_job_also_from_its_worker) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"done", "leased", "ready"});
  ack_one(bench);
  const Lease lease = must_claim(bench, "q");
  must(bench->enqueue({.queue = "q", .id = "held", .hold = true, .batch = "b"}));
  must(bench->enqueue({.queue = "q", .id = "scheduled", .delay = 1h, .batch = "b"}));
  must(bench->enqueue({.queue = "q", .id = "waiting", .after = {{.id = "held"}}, .batch = "b"}));
  must(bench->enqueue({.queue = "q", .id = "stranger", .priority = 9}));
  must(bench->cancel_batch(kBatch));
  must(bench->cancel_batch(kBatch));
  EXPECT_TRUE(look_b(bench).sealed);
  EXPECT_TRUE(look_b(bench).cancelled);
  EXPECT_FALSE(look_b(bench).ended);
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must(bench->sweep()).batches, 5u);
  for (const char* id : {"leased", "ready", "held", "scheduled", "waiting"})
    EXPECT_EQ(lane_of(bench, {"q", id}), "cancelled") << id;
  EXPECT_EQ(lane_of(bench, {"q", "done"}), "done");
  EXPECT_EQ(bench->ack({.queue = "q", .token = lease.token}).code(), Code::lease_lost);
  const Job leased = must(bench->get({"q", "leased"}, {.history = true}));
  ASSERT_EQ(leased.history.size(), 1u);
  EXPECT_EQ(leased.history[0].outcome, Outcome::cancelled);
  const Batch batch = look_b(bench);
  EXPECT_TRUE(batch.ended);
  EXPECT_EQ(batch.done, 1u);
  EXPECT_EQ(batch.dropped, 5u);
  EXPECT_FALSE(batch.succeeded());
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(claim_all(bench, "q"), Ids{"stranger"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCancelTest, an_ack_that_comes_before_the_drop_counts_as_done) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1", "2"});
  const Lease lease = must_claim(bench, "q");
  must(bench->cancel_batch(kBatch));
  must(bench->ack({.queue = "q", .token = lease.token}));
  must(bench->sweep());
  EXPECT_EQ(look_b(bench).done, 1u);
  EXPECT_EQ(look_b(bench).dropped, 1u);
  EXPECT_TRUE(look_b(bench).ended);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCancelTest, a_cancelled_batch_whose_jobs_were_all_acked_is_no_success) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1"});
  const Lease lease = must_claim(bench, "q");
  must(bench->cancel_batch(kBatch));
  must(bench->ack({.queue = "q", .token = lease.token}));
  EXPECT_TRUE(look_b(bench).ended);
  EXPECT_EQ(look_b(bench).done, 1u);
  EXPECT_FALSE(look_b(bench).succeeded());
  EXPECT_EQ(called_back(bench), Ids{"end"});
  must(bench->sweep());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCancelTest, claims_cancel_what_they_meet_instead_of_handing_it_out) {
  for (const char* group : {"", "g"})
    for (const bool fair : {false, true}) {
      const Bench bench = open();
      must(bench->configure("q", {.fair = fair}));
      must(bench->configure("cb", {}));
      open_b(bench);
      for (const char* id : {"1", "2"})
        must(bench->enqueue({.queue = "q", .id = id, .group = group, .batch = "b"}));
      must(bench->enqueue({.queue = "q", .id = "stranger", .group = group}));
      must(bench->cancel_batch(kBatch));
      const auto peeked = must(bench->peek("q", 10));
      ASSERT_EQ(peeked.size(), 1u) << "what claims would get";
      EXPECT_EQ(peeked[0].id, "stranger");
      EXPECT_EQ(claim_all(bench, "q"), Ids{"stranger"});
      EXPECT_EQ(look_b(bench).dropped, 2u);
      EXPECT_TRUE(look_b(bench).ended);
      EXPECT_EQ(called_back(bench), Ids{"end"});
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(BatchCancelTest, a_claim_cancels_no_more_than_its_share) {
  constexpr std::size_t kMembers = 500;
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  const std::vector<NewJob> jobs(kMembers, NewJob{.queue = "q", .batch = "b"});
  for (const auto& result : bench->enqueue(jobs)) must(result);
  must(bench->enqueue({.queue = "q", .id = "stranger"}));
  must(bench->cancel_batch(kBatch));
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope scope(*bench.queues, txn);
    SLUICE_LET(claimed, scope.claim({.queues = {"q"}}));
    EXPECT_TRUE(claimed.moved) << "claim again at once";
    return {};
  })));
  EXPECT_GT(look_b(bench).dropped, 0u);
  EXPECT_LE(look_b(bench).dropped, 2 * kClaimMovesMax) << "of those it meets, and of the agenda";
  EXPECT_EQ(claim_all(bench, "q"), Ids{"stranger"});
  EXPECT_EQ(look_b(bench).dropped, kMembers);
  EXPECT_TRUE(look_b(bench).ended);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchCancelTest, many_members_are_cancelled_in_bounded_steps) {
  constexpr std::size_t kMembers = 2'500;
  for (const bool by_claim : {false, true}) {
    const Bench bench = open();
    must(bench->configure("cb", {}));
    open_b(bench);
    const std::vector<NewJob> jobs(kMembers, NewJob{.queue = "q", .hold = true, .batch = "b"});
    for (const auto& result : bench->enqueue(jobs)) must(result);
    must(bench->cancel_batch(kBatch));
    EXPECT_EQ(look_b(bench).dropped, 0u) << "it takes the same time however many there are";
    if (by_claim) {
      must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
        Scope scope(*bench.queues, txn);
        SLUICE_LET(claimed, scope.claim({.queues = {"q"}}));
        EXPECT_TRUE(claimed.moved);
        return {};
      })));
      EXPECT_GT(look_b(bench).dropped, 0u);
      EXPECT_LE(look_b(bench).dropped, kClaimMovesMax);
      EXPECT_FALSE(look_b(bench).ended);
      EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
    } else {
      must(bench->sweep(100));
      EXPECT_EQ(look_b(bench).dropped, 100u);
      EXPECT_EQ(breaches(bench), "");
      must(bench->sweep());
    }
    EXPECT_EQ(look_b(bench).dropped, kMembers);
    EXPECT_TRUE(look_b(bench).ended);
    EXPECT_EQ(called_back(bench), Ids{"end"});
    EXPECT_EQ(must(bench->count("q")).total(), 0u);
    EXPECT_EQ(breaches(bench), "");
  }
}

}  // namespace
}  // namespace sluice::queue
