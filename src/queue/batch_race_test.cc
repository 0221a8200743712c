// SPDX-License-Identifier: MIT
// Batches whose end, seal or cancellation comes at the same moment as something else, on the engine
// whose transactions overlap.
#include <sluice/queue.h>

#include <thread>
#include <vector>

#include "queue/batch_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

// The two see each other as unfinished: neither ends the batch, and the agenda does.
TEST(BatchCheckTest, two_last_members_that_finish_at_once_leave_the_end_to_the_agenda) {
  for (const bool by_claim : {false, true}) {
    const Bench bench = open_bench(EngineKind::memory_optimistic);
    must(bench->configure("cb", {}));
    open_b(bench);
    add(bench, {"1", "2"});
    must(bench->seal_batch(kBatch));
    const Lease first = must_claim(bench, "q", 1h);
    const Lease second = must_claim(bench, "q", 1h);
    int attempts = 0;
    must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
      Scope jobs(*bench.queues, txn);
      SLUICE_TRY(jobs.ack({.queue = "q", .token = first.token}));
      if (++attempts == 1) {
        std::jthread([&] { must(bench->ack({.queue = "q", .token = second.token})); }).join();
      }
      return {};
    })));
    EXPECT_EQ(attempts, 1) << "finishing members do not get into each other's way";
    EXPECT_EQ(look_b(bench).pending(), 0u);
    EXPECT_FALSE(look_b(bench).ended);
    bench.advance(1s);
    if (by_claim)
      EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
    else
      must(bench->sweep());
    EXPECT_TRUE(look_b(bench).succeeded());
    EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST(BatchRaceTest, a_batch_that_ends_at_the_same_moment_takes_no_more) {
  const Bench bench = open_bench(EngineKind::memory_optimistic);
  must(bench->configure("cb", {}));
  open_b(bench);
  int attempts = 0;
  const auto commit = bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    const auto added = jobs.enqueue({.queue = "q", .batch = "b"});
    if (++attempts == 1) {
      std::jthread([&] { must(bench->seal_batch(kBatch)); }).join();
    }
    return status_of(added);
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(status_of(commit).code(), Code::conflict);
  EXPECT_EQ(look_b(bench).total, 0u);
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(breaches(bench), "");
}

TEST(BatchRaceTest, a_batch_that_is_sealed_while_its_last_member_finishes_ends) {
  for (const bool cancel : {false, true}) {
    const Bench bench = open_bench(EngineKind::memory_optimistic);
    must(bench->configure("cb", {}));
    open_b(bench);
    add(bench, {"1"});
    const Lease lease = must_claim(bench, "q");
    int attempts = 0;
    must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
      Scope jobs(*bench.queues, txn);
      SLUICE_TRY(cancel ? jobs.cancel_batch(kBatch) : jobs.seal_batch(kBatch));
      if (++attempts == 1) {
        std::jthread([&] { must(bench->ack({.queue = "q", .token = lease.token})); }).join();
      }
      return {};
    })));
    EXPECT_EQ(attempts, 2) << "whoever seals it has to know";
    bench.advance(1s);
    must(bench->sweep());
    EXPECT_TRUE(look_b(bench).ended);
    EXPECT_EQ(look_b(bench).done, 1u);
    EXPECT_EQ(called_back(bench), cancel ? Ids{"end"} : (Ids{"success", "end"}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST(BatchRaceTest, a_claim_at_the_same_moment_as_a_cancellation_hands_nothing_out) {
  const Bench bench = open_bench(EngineKind::memory_optimistic);
  open_b(bench);
  add(bench, {"1"});
  std::vector<Lease> leases;
  int attempts = 0;
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_LET(claimed, jobs.claim({.queues = {"q"}}));
    leases = claimed.leases;
    if (++attempts == 1) {
      std::jthread([&] { must(bench->cancel_batch(kBatch)); }).join();
    }
    return {};
  })));
  EXPECT_EQ(attempts, 2);
  EXPECT_TRUE(leases.empty());
  must(bench->sweep());
  EXPECT_EQ(look_b(bench).dropped, 1u);
  EXPECT_TRUE(look_b(bench).ended);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
