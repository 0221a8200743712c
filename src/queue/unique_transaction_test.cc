// SPDX-License-Identifier: MIT
// Unique keys that are taken and given back within one transaction, one call, one ack, or by many
// at once.
#include <sluice/queue.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "queue/unique_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class UniqueTransactionTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(UniqueTransactionTest);

TEST_P(UniqueTransactionTest, two_in_one_call) {
  for (const UniquePolicy policy : kUniquePolicies) {
    SCOPED_TRACE(static_cast<int>(policy));
    const Bench bench = open();
    const std::vector<NewJob> jobs{keyed("first", policy), keyed("second", policy)};
    const auto results = bench->enqueue(jobs);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(must(results[0]), "first");
    if (policy == UniquePolicy::keep)
      EXPECT_EQ(must(results[1]), "first");
    else
      EXPECT_EQ(code_of(results[1]), Code::already_exists);
    EXPECT_EQ(must(bench->count("q")), (Counts{.ready = 1}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueTransactionTest, of_many_that_come_at_once_one_gets_the_key) {
  constexpr std::size_t kThreads = 4;
  constexpr int kRounds = 20;
  for (const UniquePolicy policy : {UniquePolicy::reject, UniquePolicy::keep}) {
    const Bench bench = open();
    std::array<Ids, kThreads> answers;
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          for (int round = 0; round < kRounds; ++round) {
            NewJob job = keyed("", policy);
            job.unique->key = std::to_string(round);
            const auto id = bench->enqueue(job);
            if (!id) {
              EXPECT_EQ(code_of(id), Code::already_exists);
            }
            answers[t].push_back(id ? *id : "");
          }
        });
    }
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::set<std::string> ids;
      std::size_t got = 0;
      for (const Ids& of : answers) {
        if (of[round].empty()) continue;
        ids.insert(of[round]);
        ++got;
      }
      EXPECT_EQ(ids.size(), 1u);
      EXPECT_EQ(got, policy == UniquePolicy::keep ? kThreads : 1u);
    }
    EXPECT_EQ(must(bench->count("q")).total(), static_cast<std::uint64_t>(kRounds));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueTransactionTest, a_transaction_may_take_what_it_gave_back) {
  const Bench bench = open();
  must(bench->enqueue(keyed("first")));
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    EXPECT_EQ(code_of(jobs.enqueue(keyed("second"))), Code::already_exists);
    SLUICE_TRY(jobs.cancel({"q", "first"}));
    SLUICE_TRY(jobs.enqueue(keyed("second")));
    EXPECT_EQ(code_of(jobs.enqueue(keyed("third"))), Code::already_exists);
    EXPECT_EQ(must(jobs.enqueue(keyed("third", UniquePolicy::keep))), "second");
    return {};
  })));
  EXPECT_EQ(key_of(bench, "second"), "k");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTransactionTest, a_refused_enqueue_leaves_the_key_free) {
  const Bench bench = open();
  must(bench->configure("q", {.backlog_max = 1}));
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    NewJob lost = keyed("first");
    lost.after = {{.id = "none"}};
    EXPECT_EQ(code_of(jobs.enqueue(lost)), Code::not_found);
    EXPECT_EQ(must(jobs.enqueue(keyed("first"))), "first");
    return {};
  })));
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTransactionTest, an_ack_may_enqueue_a_child_with_the_key_that_it_gives_back) {
  const Bench bench = open();
  must(bench->enqueue(keyed("1")));
  for (int run = 1; run < 4; ++run) {
    const Lease lease = must_claim(bench, "q");
    EXPECT_EQ(code_of(bench->enqueue(keyed("intruder"))), Code::already_exists);
    const std::string next = std::to_string(run + 1);
    must(bench->ack({.queue = "q", .token = lease.token, .children = {keyed(next)}}));
    EXPECT_EQ(key_of(bench, next), "k");
    EXPECT_EQ(stored_keys(bench), 1u);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueTransactionTest, a_child_gets_no_key_that_the_ack_does_not_give_back) {
  struct Way {
    const char* name;
    std::vector<Lane> lanes;
    Duration window;
    Duration retention;
    Code code;
  };
  const Way ways[] = {{"window", kUnfinished, 10min, 0h, Code::already_exists},
                      {"done is declared", kAll, 0min, 1h, Code::already_exists},
                      {"done is declared, not kept", kAll, 0min, 0h, Code::ok},
                      {"window that is over", kUnfinished, 1min, 1h, Code::ok}};
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = way.retention}));
    NewJob first = keyed("first", UniquePolicy::reject, way.lanes);
    first.unique->window = way.window;
    must(bench->enqueue(first));
    const Lease lease = must_claim(bench, "q", 1h);
    bench.advance(2min);
    const Dump before = dump(bench);
    const Status status =
        bench->ack({.queue = "q", .token = lease.token, .children = {keyed("child")}});
    EXPECT_EQ(status.code(), way.code) << status.to_string();
    if (!status.ok()) {
      EXPECT_EQ(dump(bench), before) << "the job is still leased";
    }
    EXPECT_EQ(breaches(bench), "");
  }
}

}  // namespace
}  // namespace sluice::queue
