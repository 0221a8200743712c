// SPDX-License-Identifier: MIT
// Unique keys: who holds one and for how long, and what an enqueue does that finds it taken.
#include <sluice/queue.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "queue/keys.h"
#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class UniqueTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(UniqueTest);

constexpr UniquePolicy kPolicies[] = {UniquePolicy::reject, UniquePolicy::keep,
                                      UniquePolicy::replace};
const std::vector<Lane> kUnfinished = Unique{}.lanes;
const std::vector<Lane> kUntilClaimed = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready};
const std::vector<Lane> kAll = {Lane::waiting, Lane::held, Lane::scheduled, Lane::ready,
                                Lane::leased,  Lane::done, Lane::dead,      Lane::cancelled};

NewJob keyed(const std::string& id, UniquePolicy policy = UniquePolicy::reject,
             const std::vector<Lane>& lanes = kUnfinished) {
  return {.queue = "q", .id = id, .unique = Unique{.key = "k", .lanes = lanes, .policy = policy}};
}

/// The key that the job holds; "-" if there is no such job.
std::string key_of(const Bench& bench, const std::string& id) {
  const auto job = bench->get({"q", id});
  return job ? job->unique : "-";
}

std::size_t stored_keys(const Bench& bench) {
  return stored(bench, "q", Space::unique);
}

/// Enqueues `job` and takes it to the lane.
void bring(const Bench& bench, NewJob job, Lane lane) {
  if (lane == Lane::waiting) {
    must(bench->enqueue({.queue = "q", .id = "other", .hold = true}));
    job.after = {{.id = "other"}};
  }
  job.hold = lane == Lane::held;
  if (lane == Lane::scheduled) job.delay = 10min;
  must(bench->enqueue(job));
  if (lane == Lane::cancelled) must(bench->cancel({"q", job.id}));
  if (lane != Lane::leased && lane != Lane::done && lane != Lane::dead) return;
  const Lease lease = must_claim(bench, "q");
  if (lane == Lane::done) must(bench->ack({.queue = "q", .token = lease.token}));
  if (lane == Lane::dead) must(bench->fail({.queue = "q", .token = lease.token, .dead = true}));
}

// -------------------------------------------------------------------------------- the key is taken

/// What the second job meets: the holder "first" in `lane`, which holds the key if `holds`.
void try_policy(const Bench& bench, Lane lane, bool holds, UniquePolicy policy) {
  const Dump before = dump(bench);
  const auto second = bench->enqueue(keyed("second", policy));
  const bool replaceable = policy == UniquePolicy::replace && lane != Lane::leased;
  if (!holds || replaceable) {
    EXPECT_EQ(must(second), "second");
    EXPECT_EQ(key_of(bench, "second"), "k");
    EXPECT_EQ(key_of(bench, "first"), "");
    const bool cancelled = holds && lane < Lane::leased;
    EXPECT_EQ(lane_of(bench, {"q", "first"}), cancelled ? "cancelled" : lane_name(lane));
  } else if (policy == UniquePolicy::keep) {
    EXPECT_EQ(must(second), "first");
    EXPECT_EQ(dump(bench), before);
  } else {
    EXPECT_EQ(code_of(second), Code::already_exists);
    EXPECT_NE(status_of(second).message().find("\"first\""), std::string::npos);
    EXPECT_EQ(dump(bench), before);
  }
  EXPECT_EQ(stored_keys(bench), 1u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, each_policy_meets_a_holder_in_each_lane) {
  for (const Lane lane : kAll)
    for (const bool also_finished : {false, true})
      for (const UniquePolicy policy : kPolicies) {
        const bool holds = also_finished || lane <= Lane::leased;
        SCOPED_TRACE(std::string(lane_name(lane)) + (also_finished ? ", all lanes" : "") +
                     ", policy " + std::to_string(static_cast<int>(policy)));
        const Bench bench = open();
        must(bench->configure("q", {.done_retention = 1h}));
        bring(bench, keyed("first", UniquePolicy::reject, also_finished ? kAll : kUnfinished),
              lane);
        EXPECT_EQ(key_of(bench, "first"), holds ? "k" : "");
        try_policy(bench, lane, holds, policy);
      }
}

TEST_P(UniqueTest, a_replaced_job_that_is_not_kept_is_gone) {
  const Bench bench = open();
  must(bench->enqueue(keyed("first")));
  EXPECT_EQ(must(bench->enqueue(keyed("second", UniquePolicy::replace))), "second");
  EXPECT_EQ(lane_of(bench, {"q", "first"}), "absent");
  EXPECT_EQ(must(bench->count("q")), (Counts{.ready = 1}));
  EXPECT_EQ(must(bench->enqueue(keyed("first", UniquePolicy::replace))), "first");
  EXPECT_EQ(claim_all(bench, "q"), Ids{"first"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, a_replaced_job_is_cancelled_for_those_that_wait_for_it_and_for_its_batch) {
  const Bench bench = open();
  must(bench->open_batch({.queue = "q", .id = "b"}));
  NewJob first = keyed("first");
  first.batch = "b";
  must(bench->enqueue(first));
  must(bench->seal_batch({"q", "b"}));
  for (const auto policy : {AfterPolicy::success, AfterPolicy::end, AfterPolicy::cancel})
    must(bench->enqueue({.queue = "w",
                         .id = policy_name(policy),
                         .after = {{.queue = "q", .id = "first", .policy = policy}}}));
  must(bench->configure("w", {.done_retention = 1h}));
  must(bench->enqueue(keyed("second", UniquePolicy::replace)));
  EXPECT_EQ(lane_of(bench, {"q", "first"}), "cancelled") << "kept, because others waited for it";
  EXPECT_EQ(lane_of(bench, {"w", policy_name(AfterPolicy::success)}), "waiting");
  EXPECT_EQ(lane_of(bench, {"w", policy_name(AfterPolicy::end)}), "ready");
  EXPECT_EQ(lane_of(bench, {"w", policy_name(AfterPolicy::cancel)}), "cancelled");
  const Batch batch = must(bench->get_batch({"q", "b"}));
  EXPECT_EQ(batch.dropped, 1u);
  EXPECT_TRUE(batch.ended);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, a_job_does_not_wait_for_the_one_that_it_replaces) {
  for (const Duration retention : {Duration{}, Duration(1h)})
    for (const auto policy : {AfterPolicy::success, AfterPolicy::end, AfterPolicy::cancel}) {
      SCOPED_TRACE(policy_name(policy));
      const Bench bench = open();
      must(bench->configure("q", {.done_retention = retention}));
      must(bench->enqueue(keyed("first")));
      must(bench->enqueue({.queue = "w", .id = "worker"}));
      const Lease lease = must_claim(bench, "w");
      const Dump before = dump(bench);
      const NewJob second = keyed("second", UniquePolicy::replace);
      NewJob both = second;
      both.after = {{.id = "first", .policy = policy}};
      EXPECT_EQ(code_of(bench->enqueue(both)), Code::conflict);
      const NewJob third{.queue = "q", .id = "third", .after = both.after};
      EXPECT_EQ(
          bench->ack({.queue = "w", .token = lease.token, .children = {second, third}}).code(),
          Code::conflict);
      EXPECT_EQ(dump(bench), before);
      // The other way round it waits first, and the replacement is an end like any other.
      must(bench->ack({.queue = "w", .token = lease.token, .children = {third, second}}));
      must(bench->sweep());
      EXPECT_EQ(key_of(bench, "second"), "k");
      EXPECT_EQ(lane_of(bench, {"q", "third"}), policy == AfterPolicy::success ? "waiting"
                                                : policy == AfterPolicy::end   ? "ready"
                                                : retention == Duration{}      ? "absent"
                                                                               : "cancelled");
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(UniqueTest, a_job_may_wait_for_a_finished_one_whose_key_it_takes) {
  for (const Lane lane : {Lane::done, Lane::dead})
    for (const auto policy : {AfterPolicy::success, AfterPolicy::end}) {
      SCOPED_TRACE(std::string(lane_name(lane)) + ", " + policy_name(policy));
      const Bench bench = open();
      must(bench->configure("q", {.done_retention = 1h}));
      bring(bench, keyed("first", UniquePolicy::reject, kAll), lane);
      NewJob second = keyed("second", UniquePolicy::replace);
      second.after = {{.id = "first", .policy = policy}};
      must(bench->enqueue(second));
      const bool waits = lane == Lane::dead && policy == AfterPolicy::success;
      EXPECT_EQ(lane_of(bench, {"q", "second"}), waits ? "waiting" : "ready");
      EXPECT_EQ(key_of(bench, "second"), "k");
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(UniqueTest, a_key_belongs_to_a_queue) {
  const Bench bench = open();
  must(bench->enqueue(keyed("first")));
  NewJob elsewhere = keyed("first");
  elsewhere.queue = "other";
  EXPECT_EQ(must(bench->enqueue(elsewhere)), "first");
  NewJob another = keyed("second");
  another.unique->key = "K";
  EXPECT_EQ(must(bench->enqueue(another)), "second");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, an_enqueue_is_checked_in_a_fixed_order) {
  const Bench bench = open();
  must(bench->configure("q", {.backlog_max = 2}));
  must(bench->enqueue(keyed("first")));
  must(bench->enqueue({.queue = "q", .id = "full"}));
  NewJob job = keyed("first");
  job.label = "none";
  job.batch = "none";
  job.after = {{.id = "none"}};
  const auto expect = [&](Code code, const char* word) {
    const auto result = bench->enqueue(job);
    EXPECT_EQ(code_of(result), code);
    EXPECT_NE(status_of(result).message().find(word), std::string::npos)
        << status_of(result).message();
  };
  expect(Code::invalid_argument, "label");
  job.label.clear();
  expect(Code::not_found, "batch");
  job.batch.clear();
  expect(Code::already_exists, "has a job \"first\"");
  job.id = "second";
  expect(Code::already_exists, "unique key");
  job.unique->key = "another";
  expect(Code::not_found, "to wait for");
  job.after.clear();
  expect(Code::limit_exceeded, "has its 2 jobs");
  EXPECT_EQ(must(bench->enqueue(keyed("second", UniquePolicy::keep))), "first")
      << "a kept one needs no room";
  EXPECT_EQ(breaches(bench), "");
}

// ----------------------------------------------------------------------------------- letting it go

using End = std::function<void(const Bench&)>;

TEST_P(UniqueTest, every_end_gives_the_key_back_at_once) {
  const std::pair<const char*, End> ends[] = {
      {"ack", [](auto& b) { must(b->ack({.queue = "q", .token = must_claim(b, "q").token})); }},
      {"fail for good",
       [](auto& b) {
         must(b->fail({.queue = "q", .token = must_claim(b, "q").token, .dead = true}));
       }},
      {"last attempt",
       [](auto& b) { must(b->fail({.queue = "q", .token = must_claim(b, "q").token})); }},
      {"lapse",
       [](auto& b) {
         must_claim(b, "q", 1s);
         b.advance(1s);
         EXPECT_EQ(must(b->sweep()).lapsed, 1u);
       }},
      {"cancel", [](auto& b) { must(b->cancel({"q", "first"})); }},
      {"expiry",
       [](auto& b) {
         b.advance(1h);
         EXPECT_EQ(must(b->sweep()).expired, 1u);
       }},
      {"expiry, met by a claim", [](auto& b) {
         b.advance(1h);
         EXPECT_TRUE(must(b->claim({.queues = {"q"}})).empty());
       }}};
  for (const Duration retention : {Duration{}, Duration(2h)})
    for (const auto& [name, end] : ends) {
      SCOPED_TRACE(name);
      const Bench bench = open();
      must(bench->configure("q", {.retry = {.attempts_max = 1},
                                  .done_retention = retention,
                                  .dead_retention = retention}));
      NewJob first = keyed("first");
      first.ttl = 1h;
      must(bench->enqueue(first));
      end(bench);
      EXPECT_EQ(stored_keys(bench), 0u);
      EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(UniqueTest, a_key_of_finished_lanes_goes_with_the_job) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 10min, .dead_retention = 10min}));
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    for (const bool purge : {false, true}) {
      bring(bench, keyed("first", UniquePolicy::reject, kAll), lane);
      EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
      if (purge) {
        EXPECT_EQ(must(bench->purge("q", lane)), 1u);
      } else {
        bench.advance(10min);
        EXPECT_EQ(must(bench->sweep()).removed, 1u);
      }
      EXPECT_EQ(stored_keys(bench), 0u);
    }
  }
  EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
  EXPECT_EQ(breaches(bench), "");
}

// ----------------------------------------------------------------------------------- until claimed

TEST_P(UniqueTest, until_claimed_means_that_the_claim_gives_the_key_back) {
  const Bench bench = open();
  must(bench->enqueue(keyed("first", UniquePolicy::reject, kUntilClaimed)));
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(stored_keys(bench), 0u);
  EXPECT_EQ(must(bench->enqueue(keyed("second", UniquePolicy::replace, kUntilClaimed))), "second");
  EXPECT_EQ(lane_of(bench, {"q", "first"}), "leased");
  must(bench->ack({.queue = "q", .token = lease.token}));
  EXPECT_EQ(key_of(bench, "second"), "k") << "an ack gives back nothing that is another's";
  EXPECT_EQ(code_of(bench->enqueue(keyed("third"))), Code::already_exists);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, a_job_that_comes_back_takes_the_key_again_or_does_without) {
  const std::pair<const char*, std::function<void(const Bench&, const Lease&)>> ways[] = {
      {"fail",
       [](auto& b, auto& lease) {
         must(b->fail({.queue = "q", .token = lease.token, .delay = 1s}));
       }},
      {"release", [](auto& b, auto& lease) { must(b->release({"q", lease.token})); }},
      {"release later", [](auto& b, auto& lease) { must(b->release({"q", lease.token, 1s})); }},
      {"break_lease", [](auto& b, auto& lease) { must(b->break_lease({"q", lease.id})); }},
      {"lapse", [](auto& b, auto&) {
         b.advance(1min);
         must(b->sweep());
       }}};
  for (const auto& [name, come_back] : ways)
    for (const bool free : {true, false}) {
      SCOPED_TRACE(std::string(name) + (free ? ", free" : ", taken"));
      const Bench bench = open();
      must(bench->enqueue(keyed("first", UniquePolicy::reject, kUntilClaimed)));
      const Lease lease = must_claim(bench, "q", 1min);
      if (!free) {
        NewJob second = keyed("second", UniquePolicy::reject, kUntilClaimed);
        second.hold = true;
        must(bench->enqueue(second));
      }
      come_back(bench, lease);
      EXPECT_EQ(key_of(bench, "first"), free ? "k" : "");
      EXPECT_EQ(must(bench->enqueue(keyed("third", UniquePolicy::keep))),
                free ? "first" : "second");
      EXPECT_EQ(breaches(bench), "");
      if (free) continue;
      must(bench->cancel({"q", "second"}));
      bench.advance(1s);
      const Lease again = must_claim(bench, "q");
      must(bench->release({"q", again.token}));
      EXPECT_EQ(key_of(bench, "first"), "k") << "it is free now";
      EXPECT_EQ(breaches(bench), "");
    }
}

TEST_P(UniqueTest, a_job_goes_in_and_out_of_lanes_that_it_declared) {
  const Bench bench = open();
  NewJob job = keyed("first", UniquePolicy::reject, {Lane::held, Lane::leased});
  must(bench->enqueue(job));
  EXPECT_EQ(key_of(bench, "first"), "") << "ready is not declared";
  must(bench->hold({"q", "first"}));
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(breaches(bench), "");
  must(bench->unhold({"q", "first"}));
  EXPECT_EQ(stored_keys(bench), 0u);
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
  must(bench->ack({.queue = "q", .token = lease.token}));
  EXPECT_EQ(stored_keys(bench), 0u);
  EXPECT_EQ(breaches(bench), "");
}

// -------------------------------------------------------------------------------------- the window

TEST_P(UniqueTest, a_window_outlives_the_job) {
  for (const bool lanes : {true, false}) {
    const Bench bench = open();
    NewJob first = keyed("first", UniquePolicy::reject, lanes ? kUnfinished : std::vector<Lane>{});
    first.unique->window = 10min;
    must(bench->enqueue(first));
    EXPECT_EQ(key_of(bench, "first"), lanes ? "k" : "") << "without lanes it only leaves a trace";
    bench.advance(1min);
    must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
    bench.advance(9min - 1ms);
    must(bench->sweep());
    EXPECT_EQ(breaches(bench), "");
    const Dump before = dump(bench);
    EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
    EXPECT_EQ(must(bench->enqueue(keyed("second", UniquePolicy::keep))), "first") << "though gone";
    EXPECT_EQ(code_of(bench->enqueue(keyed("second", UniquePolicy::replace))),
              Code::already_exists);
    EXPECT_EQ(dump(bench), before);
    bench.advance(1ms);
    EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second") << "nobody has swept";
    bench.advance(1h);
    must(bench->sweep());
    EXPECT_EQ(key_of(bench, "second"), "k") << "the note of the old window is not about it";
    EXPECT_EQ(stored_keys(bench), 1u);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueTest, the_agenda_erases_a_key_whose_window_is_over) {
  for (const bool by_claim : {true, false}) {
    const Bench bench = open();
    NewJob first = keyed("first");
    first.unique->window = 10min;
    must(bench->enqueue(first));
    must(bench->cancel({"q", "first"}));
    EXPECT_EQ(stored_keys(bench), 1u);
    const auto look = [&] {
      if (by_claim)
        EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
      else
        must(bench->sweep());
    };
    bench.advance(10min - 1ms);
    look();
    EXPECT_EQ(stored_keys(bench), 1u);
    bench.advance(1ms);
    look();
    EXPECT_EQ(stored_keys(bench), 0u);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueTest, a_job_in_its_lanes_keeps_the_key_after_the_window) {
  const Bench bench = open();
  NewJob first = keyed("first");
  first.unique->window = 10min;
  must(bench->enqueue(first));
  bench.advance(1h);
  must(bench->sweep());
  EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
  must(bench->cancel({"q", "first"}));
  EXPECT_EQ(stored_keys(bench), 0u);
  EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, a_job_that_comes_back_within_its_window_has_its_key_again) {
  const Bench bench = open();
  NewJob first = keyed("first", UniquePolicy::reject, kUntilClaimed);
  first.unique->window = 10min;
  must(bench->enqueue(first));
  const Lease lease = must_claim(bench, "q");
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(code_of(bench->enqueue(keyed("second", UniquePolicy::replace))), Code::already_exists);
  must(bench->release({"q", lease.token}));
  EXPECT_EQ(key_of(bench, "first"), "k");
  bench.advance(20min);
  must(bench->sweep());
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(code_of(bench->enqueue(keyed("second"))), Code::already_exists);
  EXPECT_EQ(breaches(bench), "");
  must_claim(bench, "q");
  EXPECT_EQ(must(bench->enqueue(keyed("second"))), "second");
  EXPECT_EQ(breaches(bench), "");
}

// ---------------------------------------------------------------------------- within a transaction

TEST_P(UniqueTest, two_in_one_call) {
  for (const UniquePolicy policy : kPolicies) {
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

TEST_P(UniqueTest, of_many_that_come_at_once_one_gets_the_key) {
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

TEST_P(UniqueTest, a_transaction_may_take_what_it_gave_back) {
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

TEST_P(UniqueTest, a_refused_enqueue_leaves_the_key_free) {
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

TEST_P(UniqueTest, an_ack_may_enqueue_a_child_with_the_key_that_it_gives_back) {
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

TEST_P(UniqueTest, a_child_gets_no_key_that_the_ack_does_not_give_back) {
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

// ----------------------------------------------------------------------------------------- requeue

TEST_P(UniqueTest, requeue_is_refused_while_another_job_holds_the_key) {
  for (const Lane lane : {Lane::done, Lane::dead, Lane::cancelled}) {
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = 1h}));
    bring(bench, keyed("first"), lane);
    must(bench->enqueue(keyed("second")));
    const Dump before = dump(bench);
    EXPECT_EQ(bench->requeue({.queue = "q", .id = "first"}).code(), Code::already_exists);
    EXPECT_EQ(dump(bench), before);
    must(bench->cancel({"q", "second"}));
    must(bench->requeue({.queue = "q", .id = "first"}));
    EXPECT_EQ(key_of(bench, "first"), "k");
    EXPECT_EQ(bench->requeue({.queue = "q", .id = "second"}).code(), Code::already_exists);
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(UniqueTest, requeue_is_not_refused_if_the_lane_ready_is_not_declared) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  bring(bench, keyed("first", UniquePolicy::reject, {Lane::leased}), Lane::cancelled);
  must(bench->enqueue(keyed("second")));
  must(bench->requeue({.queue = "q", .id = "first"}));
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(key_of(bench, "second"), "k");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, a_job_that_lost_its_key_to_a_replacement_may_not_be_requeued) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  bring(bench, keyed("first", UniquePolicy::reject, kAll), Lane::done);
  must(bench->enqueue(keyed("second", UniquePolicy::replace)));
  EXPECT_EQ(key_of(bench, "first"), "");
  EXPECT_EQ(bench->requeue({.queue = "q", .id = "first"}).code(), Code::already_exists);
  must(bench->remove({"q", "first"}));
  EXPECT_EQ(key_of(bench, "second"), "k");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(UniqueTest, a_finished_job_within_its_own_window_may_be_requeued) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  NewJob first = keyed("first");
  first.unique->window = 30min;
  bring(bench, first, Lane::done);
  must(bench->requeue({.queue = "q", .id = "first"}));
  EXPECT_EQ(key_of(bench, "first"), "k");
  EXPECT_EQ(breaches(bench), "");
}

// ---------------------------------------------------------------------------------------- bad keys

TEST_P(UniqueTest, a_key_has_1_to_256_bytes_and_somebody_can_hold_it) {
  const Bench bench = open();
  const std::pair<Unique, Code> keys[] = {
      {{.key = std::string(kNameBytesMax, 'k')}, Code::ok},
      {{.key = std::string(kNameBytesMax + 1, 'k')}, Code::invalid_argument},
      {{.key = ""}, Code::invalid_argument},
      {{.key = "\xff"}, Code::invalid_argument},
      {{.key = "a", .lanes = {}}, Code::invalid_argument},
      {{.key = "b", .lanes = {}, .window = 1ms}, Code::ok},
      {{.key = "c", .window = -1ms}, Code::invalid_argument},
      {{.key = "d", .window = kDelayMax}, Code::ok},
      {{.key = "e", .window = kDelayMax + 1ms}, Code::invalid_argument}};
  for (const auto& [unique, code] : keys) {
    const Dump before = dump(bench);
    const auto result = bench->enqueue({.queue = "q", .unique = unique});
    EXPECT_EQ(code_of(result), code) << status_of(result).to_string();
    EXPECT_EQ(dump(bench) == before, code != Code::ok);
    EXPECT_EQ(breaches(bench), "");
  }
}

}  // namespace
}  // namespace sluice::queue
