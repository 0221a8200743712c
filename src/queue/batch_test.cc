// SPDX-License-Identifier: MIT
// Batches: jobs that belong together, from the first that is added to the end of the last.
#include <sluice/queue.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "queue/batch_testing.h"
#include "queue/keys.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BatchTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BatchTest);

// ---------------------------------------------------------------------------------------- its life

TEST_P(BatchTest, a_batch_from_its_beginning_to_its_end) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  const WallTime created = bench.now();
  Batch batch = look_b(bench);
  EXPECT_EQ(batch.queue, "q");
  EXPECT_EQ(batch.id, "b");
  EXPECT_EQ(batch.created, created);
  EXPECT_FALSE(batch.sealed);
  EXPECT_EQ(batch.total, 0u);
  add(bench, {"1", "2"});
  EXPECT_EQ(must(bench->get({"q", "1"})).batch, "b");
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(lease.batch, "b");
  must(bench->ack({.queue = "q", .token = lease.token}));
  ack_one(bench);
  batch = look_b(bench);
  EXPECT_EQ(batch.total, 2u);
  EXPECT_EQ(batch.done, 2u);
  EXPECT_EQ(batch.pending(), 0u);
  EXPECT_FALSE(batch.ended) << "it is not sealed";
  add(bench, {"3"});
  must(bench->seal_batch(kBatch));
  EXPECT_TRUE(look_b(bench).sealed);
  EXPECT_FALSE(look_b(bench).ended);
  EXPECT_EQ(called_back(bench), Ids{});
  EXPECT_EQ(breaches(bench), "");
  bench.advance(1min);
  ack_one(bench);
  batch = look_b(bench);
  EXPECT_EQ(batch.ended, created + 1min);
  EXPECT_TRUE(batch.succeeded());
  EXPECT_EQ(batch.success_id, "success");
  EXPECT_EQ(batch.end_id, "end");
  EXPECT_EQ(batch.error, "");
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(stored(bench, "q", Space::member), 0u);
  EXPECT_EQ(breaches(bench), "");
  bench.advance(30min);
  must(bench->sweep());
  EXPECT_EQ(must(bench->count("cb")).total(), 2u) << "once";
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, the_end_of_one_member_by_each_way_counts) {
  struct Way {
    const char* name;
    std::function<void(const Bench&)> end;
    Lane lane;
  };
  const Way ways[] = {
      {"ack", ack_one, Lane::done},
      {"refused", kill_one, Lane::dead},
      {"out of attempts",
       [](auto& b) { must(b->fail({.queue = "q", .token = must_claim(b, "q").token})); },
       Lane::dead},
      {"cancel", [](auto& b) { must(b->cancel({"q", "1"})); }, Lane::cancelled},
      {"cancelled while leased",
       [](auto& b) {
         must_claim(b, "q");
         must(b->cancel({"q", "1"}));
       },
       Lane::cancelled},
      {"expiry",
       [](auto& b) {
         b.advance(1h);
         must(b->sweep());
       },
       Lane::dead},
  };
  for (const Duration retention : {Duration{}, Duration(3h)})
    for (const Way& way : ways) {
      SCOPED_TRACE(way.name);
      const Bench bench = open();
      must(bench->configure("cb", {}));
      must(bench->configure("q", {.retry = {.attempts_max = 1},
                                  .done_retention = retention,
                                  .dead_retention = retention}));
      open_b(bench);
      must(bench->enqueue({.queue = "q", .id = "1", .ttl = 1h, .batch = "b"}));
      must(bench->seal_batch(kBatch));
      way.end(bench);
      const Batch batch = look_b(bench);
      EXPECT_TRUE(batch.ended);
      EXPECT_EQ(batch.done, way.lane == Lane::done ? 1u : 0u);
      EXPECT_EQ(batch.dead, way.lane == Lane::dead ? 1u : 0u);
      EXPECT_EQ(batch.dropped, way.lane == Lane::cancelled ? 1u : 0u);
      EXPECT_EQ(batch.succeeded(), way.lane == Lane::done);
      EXPECT_EQ(called_back(bench), way.lane == Lane::done ? (Ids{"success", "end"}) : Ids{"end"});
      EXPECT_EQ(batch.success_id, way.lane == Lane::done ? "success" : "");
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(BatchTest, one_failure_of_many_is_no_success) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1", "2", "3"});
  kill_one(bench);
  ack_one(bench);
  ack_one(bench);
  must(bench->seal_batch(kBatch));
  EXPECT_TRUE(look_b(bench).ended) << "sealed when nothing was left";
  EXPECT_FALSE(look_b(bench).succeeded());
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, an_empty_batch_ends_when_it_is_sealed) {
  for (const bool cancel : {false, true}) {
    const Bench bench = open();
    must(bench->configure("cb", {}));
    open_b(bench);
    EXPECT_FALSE(look_b(bench).ended);
    must(cancel ? bench->cancel_batch(kBatch) : bench->seal_batch(kBatch));
    EXPECT_TRUE(look_b(bench).ended);
    EXPECT_EQ(look_b(bench).succeeded(), !cancel);
    EXPECT_EQ(called_back(bench), cancel ? Ids{"end"} : (Ids{"success", "end"}));
    must(bench->sweep());
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(BatchTest, a_batch_needs_no_callbacks_and_gets_an_id) {
  const Bench bench = open();
  const std::string id = must(bench->open_batch({.queue = "q"}));
  EXPECT_FALSE(id.empty());
  must(bench->enqueue({.queue = "q", .batch = id}));
  must(bench->seal_batch({"q", id}));
  ack_one(bench);
  EXPECT_TRUE(must(bench->get_batch({"q", id})).succeeded());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, opening_adding_sealing_and_ending_may_be_one_transaction) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  must(bench->enqueue({.queue = "q", .id = "early"}));
  const Lease lease = must_claim(bench, "q");
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_TRY(jobs.open_batch({.queue = "q",
                                .id = "b",
                                .on_success = NewJob{.queue = "cb", .id = "success"},
                                .on_end = NewJob{.queue = "cb", .id = "end"}}));
    EXPECT_EQ(code_of(jobs.open_batch({.queue = "q", .id = "b"})), Code::already_exists);
    SLUICE_TRY(jobs.enqueue({.queue = "q", .id = "1", .batch = "b"}));
    SLUICE_TRY(jobs.seal_batch(kBatch));
    EXPECT_EQ(code_of(jobs.enqueue({.queue = "q", .id = "2", .batch = "b"})), Code::conflict);
    return jobs.ack({.queue = "q", .token = lease.token});
  })));
  EXPECT_EQ(look_b(bench).total, 1u);
  EXPECT_FALSE(look_b(bench).ended);
  EXPECT_EQ(breaches(bench), "");
  ack_one(bench);
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, members_that_finish_in_one_transaction_end_it_once) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1", "2", "3"});
  must(bench->seal_batch(kBatch));
  std::vector<AckRequest> acks;
  for (const Lease& lease : must(bench->claim({.queues = {"q"}, .jobs_max = 3})))
    acks.push_back({.queue = "q", .token = lease.token});
  for (const Status& status : bench->ack(acks)) must(status);
  EXPECT_TRUE(look_b(bench).succeeded());
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(breaches(bench), "");
}

// ------------------------------------------------------------------------------------ adding to it

TEST_P(BatchTest, who_may_add_to_a_batch_and_when) {
  const Bench bench = open();
  open_b(bench);
  const auto try_add = [&](const std::string& queue, const std::string& batch) {
    const Dump before = dump(bench);
    const Code code = code_of(bench->enqueue({.queue = queue, .batch = batch}));
    if (code != Code::ok) {
      EXPECT_EQ(dump(bench), before);
    }
    return code;
  };
  EXPECT_EQ(try_add("q", "none"), Code::not_found);
  EXPECT_EQ(try_add("other", "b"), Code::not_found) << "a batch is of one queue";
  EXPECT_EQ(try_add("q", "b"), Code::ok);
  must(bench->seal_batch(kBatch));
  EXPECT_EQ(try_add("q", "b"), Code::conflict);
  must(bench->enqueue({.queue = "q", .id = "stranger", .priority = 0}));
  const Lease stranger = must_claim(bench, "q");
  EXPECT_EQ(stranger.id, "stranger");
  const NewJob child{.queue = "q", .id = "child", .batch = "b"};
  EXPECT_EQ(bench->ack({.queue = "q", .token = stranger.token, .children = {child}}).code(),
            Code::conflict);
  const Lease member = must_claim(bench, "q");
  must(bench->ack({.queue = "q", .token = member.token, .children = {child}}));
  EXPECT_EQ(look_b(bench).total, 2u);
  EXPECT_FALSE(look_b(bench).ended) << "the child is its last member now";
  EXPECT_EQ(breaches(bench), "");
  ack_one(bench);
  EXPECT_TRUE(look_b(bench).succeeded());
  EXPECT_EQ(try_add("q", "b"), Code::conflict) << "it has ended";
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, a_member_of_a_cancelled_batch_adds_nothing) {
  const Bench bench = open();
  open_b(bench);
  add(bench, {"1"});
  const Lease lease = must_claim(bench, "q");
  must(bench->cancel_batch(kBatch));
  EXPECT_EQ(
      bench->ack({.queue = "q", .token = lease.token, .children = {{.queue = "q", .batch = "b"}}})
          .code(),
      Code::conflict);
  EXPECT_EQ(code_of(bench->enqueue({.queue = "q", .batch = "b"})), Code::conflict);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, what_may_be_done_with_a_batch_in_each_state) {
  const Bench bench = open();
  const BatchRef none{"q", "none"};
  open_b(bench);
  EXPECT_EQ(bench->seal_batch(none).code(), Code::not_found);
  EXPECT_EQ(bench->cancel_batch(none).code(), Code::not_found);
  EXPECT_EQ(status_of(bench->get_batch(none)).code(), Code::not_found);
  EXPECT_EQ(bench->seal_batch({"none", "b"}).code(), Code::not_found);
  EXPECT_EQ(code_of(bench->open_batch({.queue = "q", .id = "b"})), Code::already_exists);
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  must(bench->seal_batch(kBatch));
  ack_one(bench);
  ASSERT_TRUE(look_b(bench).ended);
  const Dump before = dump(bench);
  EXPECT_EQ(bench->cancel_batch(kBatch).code(), Code::conflict);
  must(bench->seal_batch(kBatch));
  EXPECT_EQ(code_of(bench->open_batch({.queue = "q", .id = "b"})), Code::already_exists);
  EXPECT_EQ(dump(bench), before);
}

TEST_P(BatchTest, batches_are_listed_by_id) {
  const Bench bench = open();
  for (const char* id : {"c", "a", "b"}) must(bench->open_batch({.queue = "q", .id = id}));
  must(bench->open_batch({.queue = "other", .id = "x"}));
  const auto ids = [&](std::string_view after, std::size_t limit) {
    Ids found;
    for (const Batch& batch : must(bench->list_batches("q", after, limit)))
      found.push_back(batch.id);
    return found;
  };
  EXPECT_EQ(ids("", 10), (Ids{"a", "b", "c"}));
  EXPECT_EQ(ids("", 2), (Ids{"a", "b"}));
  EXPECT_EQ(ids("b", 2), Ids{"c"});
  EXPECT_EQ(ids("c", 2), Ids{});
}

}  // namespace
}  // namespace sluice::queue
