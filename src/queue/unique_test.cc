// SPDX-License-Identifier: MIT
// Unique keys: what an enqueue does that finds its key taken.
#include <sluice/queue.h>

#include <string>
#include <utility>

#include "queue/unique_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class UniqueTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(UniqueTest);

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
      for (const UniquePolicy policy : kUniquePolicies) {
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
