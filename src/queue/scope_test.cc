// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ScopeTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ScopeTest);

TEST_P(ScopeTest, jobs_and_data_commit_together_or_not_at_all) {
  const Bench bench = open();
  const auto order = [&](const char* id, Status outcome) {
    return bench.store()
        .run([&](kv::Transaction& txn) -> Status {
          Scope jobs(*bench.queues, txn);
          txn.put(std::string("order/") + id, "paid");
          SLUICE_TRY(jobs.enqueue({.queue = "mail", .id = id}));
          return outcome;
        })
        .has_value();
  };
  EXPECT_TRUE(order("1", {}));
  EXPECT_FALSE(order("1", {})) << "the id is taken";
  EXPECT_FALSE(order("2", {Code::cancelled, "no"}));
  EXPECT_EQ(must(bench->count("mail")).ready, 1u);
  EXPECT_EQ(kv::committed(bench.opened, "order/2"), std::nullopt);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(ScopeTest, verbs_may_come_in_any_order_and_new_jobs_are_not_seen) {
  const Bench bench = open();
  for (const char* id : {"a", "b", "dead"})
    must(bench->enqueue({.queue = "q", .id = id, .group = "g"}));
  const auto leases = must(bench->claim({.queues = {"q"}, .jobs_max = 3}));
  must(bench->fail({.queue = "q", .token = leases[2].token, .dead = true}));
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_TRY(jobs.enqueue({.queue = "q", .id = "low", .group = "g", .priority = 9}));
    SLUICE_TRY(jobs.requeue({.queue = "q", .id = "dead"}));
    SLUICE_TRY(jobs.ack({.queue = "q", .token = leases[0].token}));
    SLUICE_TRY(jobs.enqueue({.queue = "q", .id = "high", .group = "g", .priority = 1}));
    EXPECT_EQ(jobs.enqueue({.queue = "q", .id = "high"}).error().code(), Code::already_exists);
    EXPECT_EQ(jobs.cancel({"q", "high"}).code(), Code::not_found);
    EXPECT_EQ(jobs.hold({"q", "dead"}).code(), Code::invalid_argument);
    SLUICE_TRY(jobs.release({.queue = "q", .token = leases[1].token}));
    return {};
  })));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(claim_all(bench, "q"), (std::vector<std::string>{"high", "b", "dead", "low"}));
}

TEST_P(ScopeTest, a_refused_verb_leaves_the_transaction_usable) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "taken"}));
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    EXPECT_FALSE(jobs.enqueue({.queue = "q", .id = "taken"}));
    EXPECT_FALSE(jobs.enqueue({.queue = "never made", .label = "none"}));
    EXPECT_FALSE(jobs.ack({.queue = "q", .token = {}}).ok());
    return status_of(jobs.enqueue({.queue = "q", .id = "fine"}));
  })));
  EXPECT_EQ(must(bench->count("q")).ready, 2u);
  EXPECT_EQ(must(bench->list_queues()).size(), 1u) << "a refused job makes no queue";
}

}  // namespace
}  // namespace sluice::queue
