// SPDX-License-Identifier: MIT
// Batches: jobs that belong together, their end and its callbacks, cancelling them.
#include <sluice/queue.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queue/keys.h"
#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BatchTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BatchTest);

const BatchRef kBatch{"q", "b"};

/// The batch "b" of queue "q", with a callback for success and one for the end, in queue "cb".
void open_b(const Bench& bench) {
  EXPECT_EQ(must(bench->open_batch({.queue = "q",
                                    .id = "b",
                                    .on_success = NewJob{.queue = "cb", .id = "success"},
                                    .on_end = NewJob{.queue = "cb", .id = "end"}})),
            "b");
}

void add(const Bench& bench, const Ids& ids) {
  for (const std::string& id : ids) must(bench->enqueue({.queue = "q", .id = id, .batch = "b"}));
}

void ack_one(const Bench& bench) {
  must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
}

void kill_one(const Bench& bench) {
  must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
}

Batch look(const Bench& bench) {
  return must(bench->get_batch(kBatch));
}

/// The callbacks that exist: "success", "end".
Ids called_back(const Bench& bench) {
  Ids ids;
  for (const char* id : {"success", "end"})
    if (lane_of(bench, {"cb", id}) == "ready") ids.push_back(id);
  return ids;
}

// ---------------------------------------------------------------------------------------- its life

TEST_P(BatchTest, a_batch_from_its_beginning_to_its_end) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  const WallTime created = bench.now();
  Batch batch = look(bench);
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
  batch = look(bench);
  EXPECT_EQ(batch.total, 2u);
  EXPECT_EQ(batch.done, 2u);
  EXPECT_EQ(batch.pending(), 0u);
  EXPECT_FALSE(batch.ended) << "it is not sealed";
  add(bench, {"3"});
  must(bench->seal_batch(kBatch));
  EXPECT_TRUE(look(bench).sealed);
  EXPECT_FALSE(look(bench).ended);
  EXPECT_EQ(called_back(bench), Ids{});
  EXPECT_EQ(breaches(bench), "");
  bench.advance(1min);
  ack_one(bench);
  batch = look(bench);
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
      const Batch batch = look(bench);
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
  EXPECT_TRUE(look(bench).ended) << "sealed when nothing was left";
  EXPECT_FALSE(look(bench).succeeded());
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, an_empty_batch_ends_when_it_is_sealed) {
  for (const bool cancel : {false, true}) {
    const Bench bench = open();
    must(bench->configure("cb", {}));
    open_b(bench);
    EXPECT_FALSE(look(bench).ended);
    must(cancel ? bench->cancel_batch(kBatch) : bench->seal_batch(kBatch));
    EXPECT_TRUE(look(bench).ended);
    EXPECT_EQ(look(bench).succeeded(), !cancel);
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
  EXPECT_EQ(look(bench).total, 1u);
  EXPECT_FALSE(look(bench).ended);
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
  EXPECT_TRUE(look(bench).succeeded());
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(breaches(bench), "");
}

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
    EXPECT_EQ(look(bench).pending(), 0u);
    EXPECT_FALSE(look(bench).ended);
    bench.advance(1s);
    if (by_claim)
      EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
    else
      must(bench->sweep());
    EXPECT_TRUE(look(bench).succeeded());
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
  EXPECT_EQ(look(bench).total, 0u);
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
    EXPECT_TRUE(look(bench).ended);
    EXPECT_EQ(look(bench).done, 1u);
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
  EXPECT_EQ(look(bench).dropped, 1u);
  EXPECT_TRUE(look(bench).ended);
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
  EXPECT_EQ(look(bench).total, 2u);
  EXPECT_FALSE(look(bench).ended) << "the child is its last member now";
  EXPECT_EQ(breaches(bench), "");
  ack_one(bench);
  EXPECT_TRUE(look(bench).succeeded());
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
  ASSERT_TRUE(look(bench).ended);
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

// --------------------------------------------------------------------------------------- callbacks

TEST_P(BatchTest, a_callback_has_what_it_was_given) {
  const Bench bench = open();
  must(bench->open_batch(
      {.queue = "q",
       .id = "b",
       .on_success = NewJob{.queue = "cb",
                            .group = "g",
                            .payload = std::string(kTemplateBytesMax, 'p'),
                            .priority = 3,
                            .delay = 10min,
                            .ttl = 1h,
                            .retry = RetryPolicy{.attempts_max = 7}},
       .on_end = NewJob{.queue = "q", .payload = "end", .label = "high", .hold = true}}));
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  bench.advance(5min);
  ack_one(bench);
  const Batch batch = look(bench);
  const Job success = must(bench->get({"cb", batch.success_id}, {.payload = true}));
  EXPECT_EQ(success.group, "g");
  EXPECT_EQ(success.payload, std::string(kTemplateBytesMax, 'p'));
  EXPECT_EQ(success.priority, 3);
  EXPECT_EQ(success.due, bench.now() + 10min) << "from the end on";
  EXPECT_EQ(success.expires, bench.now() + 1h);
  EXPECT_EQ(success.retry, (RetryPolicy{.attempts_max = 7}));
  const Job end = must(bench->get({"q", batch.end_id}, {.payload = true}));
  EXPECT_EQ(end.lane, Lane::held);
  EXPECT_EQ(end.payload, "end");
  EXPECT_EQ(end.priority, 0);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, what_a_callback_may_not_be) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "there"}));
  const NewJob bad[] = {
      {.queue = ""},
      {.queue = "q", .payload = std::string(kTemplateBytesMax + 1, 'p')},
      {.queue = "q", .unique = Unique{.key = "k"}},
      {.queue = "q", .after = {{.id = "there"}}},
      {.queue = "q", .batch = "b"},
      {.queue = "q", .delay = -1ms},
      {.queue = "q", .priority = 1, .label = "high"},
  };
  const Dump before = dump(bench);
  for (const NewJob& job : bad) {
    EXPECT_EQ(code_of(bench->open_batch({.queue = "q", .id = "b", .on_success = job})),
              Code::invalid_argument);
    EXPECT_EQ(code_of(bench->open_batch({.queue = "q", .id = "b", .on_end = job})),
              Code::invalid_argument);
  }
  EXPECT_EQ(dump(bench), before);
}

TEST_P(BatchTest, a_callback_whose_id_is_taken_is_not_enqueued) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "cb", .id = "success", .hold = true}));
  open_b(bench);
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  ack_one(bench);
  const Batch batch = look(bench);
  EXPECT_TRUE(batch.succeeded());
  EXPECT_EQ(batch.success_id, "");
  EXPECT_EQ(batch.end_id, "end");
  EXPECT_NE(batch.error.find("\"success\""), std::string::npos) << batch.error;
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(must(bench->count("cb")).total(), 2u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, two_callbacks_of_the_same_id_are_one) {
  const Bench bench = open();
  must(bench->open_batch({.queue = "q",
                          .id = "b",
                          .on_success = NewJob{.queue = "cb", .id = "same", .payload = "success"},
                          .on_end = NewJob{.queue = "cb", .id = "same", .payload = "end"}}));
  must(bench->seal_batch(kBatch));
  EXPECT_EQ(look(bench).success_id, "same");
  EXPECT_EQ(look(bench).end_id, "");
  EXPECT_NE(look(bench).error, "");
  EXPECT_EQ(must(bench->get({"cb", "same"}, {.payload = true})).payload, "success");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, a_callback_that_its_queue_refuses_now_does_not_stop_the_last_ack) {
  const Bench bench = open();
  must(bench->open_batch(
      {.queue = "q", .id = "b", .on_end = NewJob{.queue = "cb", .label = "high"}}));
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  must(bench->configure("cb", {.labels = {}}));
  ack_one(bench);
  EXPECT_TRUE(look(bench).ended);
  EXPECT_NE(look(bench).error, "");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, callbacks_pass_the_backlog_cap) {
  const Bench bench = open();
  must(bench->configure("cb", {.backlog_max = 0}));
  open_b(bench);
  EXPECT_EQ(code_of(bench->enqueue({.queue = "cb"})), Code::limit_exceeded);
  must(bench->seal_batch(kBatch));
  EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
  EXPECT_EQ(breaches(bench), "");
}

// -------------------------------------------------------------------------------------- cancelling

TEST_P(BatchTest, cancelling_takes_every_unfinished_job_also_from_its_worker) {
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
  EXPECT_TRUE(look(bench).sealed);
  EXPECT_TRUE(look(bench).cancelled);
  EXPECT_FALSE(look(bench).ended);
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must(bench->sweep()).batches, 5u);
  for (const char* id : {"leased", "ready", "held", "scheduled", "waiting"})
    EXPECT_EQ(lane_of(bench, {"q", id}), "cancelled") << id;
  EXPECT_EQ(lane_of(bench, {"q", "done"}), "done");
  EXPECT_EQ(bench->ack({.queue = "q", .token = lease.token}).code(), Code::lease_lost);
  const Job leased = must(bench->get({"q", "leased"}, {.history = true}));
  ASSERT_EQ(leased.history.size(), 1u);
  EXPECT_EQ(leased.history[0].outcome, Outcome::cancelled);
  const Batch batch = look(bench);
  EXPECT_TRUE(batch.ended);
  EXPECT_EQ(batch.done, 1u);
  EXPECT_EQ(batch.dropped, 5u);
  EXPECT_FALSE(batch.succeeded());
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(claim_all(bench, "q"), Ids{"stranger"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, an_ack_that_comes_before_the_drop_counts_as_done) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1", "2"});
  const Lease lease = must_claim(bench, "q");
  must(bench->cancel_batch(kBatch));
  must(bench->ack({.queue = "q", .token = lease.token}));
  must(bench->sweep());
  EXPECT_EQ(look(bench).done, 1u);
  EXPECT_EQ(look(bench).dropped, 1u);
  EXPECT_TRUE(look(bench).ended);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, a_cancelled_batch_whose_jobs_were_all_acked_is_no_success) {
  const Bench bench = open();
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1"});
  const Lease lease = must_claim(bench, "q");
  must(bench->cancel_batch(kBatch));
  must(bench->ack({.queue = "q", .token = lease.token}));
  EXPECT_TRUE(look(bench).ended);
  EXPECT_EQ(look(bench).done, 1u);
  EXPECT_FALSE(look(bench).succeeded());
  EXPECT_EQ(called_back(bench), Ids{"end"});
  must(bench->sweep());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, claims_cancel_what_they_meet_instead_of_handing_it_out) {
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
      EXPECT_EQ(look(bench).dropped, 2u);
      EXPECT_TRUE(look(bench).ended);
      EXPECT_EQ(called_back(bench), Ids{"end"});
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(BatchTest, a_claim_cancels_no_more_than_its_share) {
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
  EXPECT_GT(look(bench).dropped, 0u);
  EXPECT_LE(look(bench).dropped, 2 * kClaimMovesMax) << "of those it meets, and of the agenda";
  EXPECT_EQ(claim_all(bench, "q"), Ids{"stranger"});
  EXPECT_EQ(look(bench).dropped, kMembers);
  EXPECT_TRUE(look(bench).ended);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, many_members_are_cancelled_in_bounded_steps) {
  constexpr std::size_t kMembers = 2'500;
  for (const bool by_claim : {false, true}) {
    const Bench bench = open();
    must(bench->configure("cb", {}));
    open_b(bench);
    const std::vector<NewJob> jobs(kMembers, NewJob{.queue = "q", .hold = true, .batch = "b"});
    for (const auto& result : bench->enqueue(jobs)) must(result);
    must(bench->cancel_batch(kBatch));
    EXPECT_EQ(look(bench).dropped, 0u) << "it takes the same time however many there are";
    if (by_claim) {
      must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
        Scope scope(*bench.queues, txn);
        SLUICE_LET(claimed, scope.claim({.queues = {"q"}}));
        EXPECT_TRUE(claimed.moved);
        return {};
      })));
      EXPECT_GT(look(bench).dropped, 0u);
      EXPECT_LE(look(bench).dropped, kClaimMovesMax);
      EXPECT_FALSE(look(bench).ended);
      EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
    } else {
      must(bench->sweep(100));
      EXPECT_EQ(look(bench).dropped, 100u);
      EXPECT_EQ(breaches(bench), "");
      must(bench->sweep());
    }
    EXPECT_EQ(look(bench).dropped, kMembers);
    EXPECT_TRUE(look(bench).ended);
    EXPECT_EQ(called_back(bench), Ids{"end"});
    EXPECT_EQ(must(bench->count("q")).total(), 0u);
    EXPECT_EQ(breaches(bench), "");
  }
}

// ------------------------------------------------------------------------- requeue, remove, forget

TEST_P(BatchTest, requeuing_a_member_before_the_end_makes_it_pending_again) {
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    SCOPED_TRACE(lane_name(lane));
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = 1h}));
    must(bench->configure("cb", {}));
    open_b(bench);
    add(bench, {"1", "2"});
    if (lane == Lane::done) ack_one(bench);
    if (lane == Lane::dead) kill_one(bench);
    if (lane == Lane::cancelled) must(bench->cancel({"q", "1"}));
    must(bench->seal_batch(kBatch));
    EXPECT_EQ(look(bench).pending(), 1u);
    must(bench->requeue({.queue = "q", .id = "1"}));
    EXPECT_EQ(look(bench).pending(), 2u);
    EXPECT_EQ(breaches(bench), "");
    ack_one(bench);
    EXPECT_FALSE(look(bench).ended);
    ack_one(bench);
    EXPECT_TRUE(look(bench).succeeded());
    EXPECT_EQ(look(bench).done, 2u);
    EXPECT_EQ(called_back(bench), (Ids{"success", "end"}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(BatchTest, requeuing_a_member_after_the_end_does_not_count) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  must(bench->configure("cb", {}));
  open_b(bench);
  add(bench, {"1"});
  must(bench->seal_batch(kBatch));
  kill_one(bench);
  const Batch ended = look(bench);
  must(bench->requeue({.queue = "q", .id = "1"}));
  EXPECT_EQ(must(bench->get({"q", "1"})).batch, "");
  EXPECT_EQ(breaches(bench), "");
  ack_one(bench);
  EXPECT_EQ(look(bench).dead, 1u);
  EXPECT_EQ(look(bench).done, 0u);
  EXPECT_EQ(look(bench).ended, ended.ended);
  EXPECT_EQ(called_back(bench), Ids{"end"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, removing_a_finished_member_changes_no_count) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  open_b(bench);
  add(bench, {"1", "2"});
  kill_one(bench);
  must(bench->remove({"q", "1"}));
  EXPECT_EQ(look(bench).total, 2u);
  EXPECT_EQ(look(bench).dead, 1u);
  must(bench->seal_batch(kBatch));
  ack_one(bench);
  EXPECT_TRUE(look(bench).ended);
  EXPECT_FALSE(look(bench).succeeded());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(BatchTest, an_ended_batch_is_forgotten_after_the_retention_or_an_hour) {
  for (const auto& [retention, kept] :
       {std::pair<Duration, Duration>{0h, 1h}, {10min, 1h}, {3h, 3h}})
    for (const bool by_claim : {false, true}) {
      const Bench bench = open();
      must(bench->configure("q", {.done_retention = retention}));
      open_b(bench);
      add(bench, {"1"});
      must(bench->seal_batch(kBatch));
      kill_one(bench);
      const auto work = [&, by = by_claim] {
        if (by)
          EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
        else
          must(bench->sweep());
      };
      bench.advance(kept - 1ms);
      work();
      EXPECT_TRUE(look(bench).ended);
      bench.advance(1ms);
      work();
      EXPECT_EQ(status_of(bench->get_batch(kBatch)).code(), Code::not_found);
      EXPECT_EQ(stored(bench, "q", Space::batch) + stored(bench, "q", Space::batch_count), 0u);
      EXPECT_EQ(breaches(bench), "");
      // The id may be used again; a job of the old batch is none of the new one.
      open_b(bench);
      must(bench->requeue({.queue = "q", .id = "1"}));
      EXPECT_EQ(look(bench).total, 0u);
      must(bench->seal_batch(kBatch));
      EXPECT_TRUE(look(bench).succeeded());
      ack_one(bench);
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(BatchTest, an_open_batch_is_not_forgotten) {
  const Bench bench = open();
  open_b(bench);
  add(bench, {"1"});
  ack_one(bench);
  bench.advance(48h);
  must(bench->sweep());
  EXPECT_FALSE(look(bench).ended);
  EXPECT_EQ(look(bench).done, 1u);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
