// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ClaimTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ClaimTest);

TEST_P(ClaimTest, takes_the_lowest_priority_first_then_the_oldest) {
  const Bench bench = open();
  for (const auto& [id, priority] : std::initializer_list<std::pair<const char*, int>>{
           {"b1", 0}, {"c1", INT32_MAX}, {"a1", INT32_MIN}, {"b2", 0}, {"a2", INT32_MIN}})
    must(bench->enqueue({.queue = "q", .id = id, .priority = priority}));
  EXPECT_EQ(claim_all(bench, "q"), (Ids{"a1", "a2", "b1", "b2", "c1"}));
}

TEST_P(ClaimTest, a_lease_says_what_the_worker_needs) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .group = "g", .payload = "p", .priority = 7}));
  const auto leases = must(bench->claim({.queues = {"q"}, .lease = 90s, .worker = "me"}));
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0].queue, "q");
  EXPECT_EQ(leases[0].id, "j");
  EXPECT_EQ(leases[0].group, "g");
  EXPECT_EQ(leases[0].payload, "p");
  EXPECT_EQ(leases[0].priority, 7);
  EXPECT_EQ(leases[0].attempt, 1u);
  EXPECT_EQ(leases[0].token.claim, 1u);
  EXPECT_EQ(leases[0].deadline, bench.now() + 90s);
  const Job job = must(bench->get({"q", "j"}));
  EXPECT_EQ(job.worker, "me");
  EXPECT_EQ(job.claimed, bench.now());
}

TEST_P(ClaimTest, tokens_increase_with_every_claim_and_over_a_reused_id) {
  const Bench bench = open();
  Token last;
  for (int round = 0; round < 3; ++round) {
    must(bench->enqueue({.queue = "q", .id = "same"}));
    for (int claim = 0; claim < 3; ++claim) {
      const Lease lease = must_claim(bench, "q");
      EXPECT_GT(lease.token, last);
      EXPECT_GT(lease.token.to_string(), last.to_string());
      EXPECT_EQ(must(Token::parse(lease.token.to_string())), lease.token);
      last = lease.token;
      if (claim < 2) must(bench->release({.queue = "q", .token = lease.token}));
    }
    must(bench->ack({.queue = "q", .token = last}));
  }
}

TEST_P(ClaimTest, over_several_queues_the_first_by_priority_then_by_place_is_taken) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "a", .id = "a1", .priority = 5}));
  must(bench->enqueue({.queue = "b", .id = "b1", .priority = 5}));
  must(bench->enqueue({.queue = "a", .id = "a2", .priority = 1}));
  must(bench->enqueue({.queue = "b", .id = "b2", .priority = 9}));
  must(bench->enqueue({.queue = "a", .id = "a3", .priority = 5}));
  Ids ids;
  for (const Lease& lease : must(bench->claim({.queues = {"b", "a", "none"}, .jobs_max = 10})))
    ids.push_back(lease.id);
  EXPECT_EQ(ids, (Ids{"a2", "a1", "b1", "a3", "b2"}));
}

TEST_P(ClaimTest, skipped_groups_are_passed_over) {
  const Bench bench = open();
  for (int i = 0; i < 5; ++i)
    for (const char* group : {"x", "y", "z"})
      must(bench->enqueue({.queue = "q", .group = group, .priority = i}));
  must(bench->enqueue({.queue = "q", .id = "alone"}));
  std::size_t got = 0;
  for (const Lease& lease :
       must(bench->claim({.queues = {"q"}, .jobs_max = 100, .skip_groups = {"x", "z", "none"}}))) {
    EXPECT_TRUE(lease.group == "y" || lease.id == "alone");
    ++got;
  }
  EXPECT_EQ(got, 6u);
}

TEST_P(ClaimTest, a_paused_queue_hands_out_nothing_and_takes_everything_else) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "before"}));
  const Lease lease = must_claim(bench, "q");
  must(bench->pause("q"));
  must(bench->pause("q"));
  must(bench->enqueue({.queue = "q", .id = "during"}));
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  must(bench->ack({.queue = "q", .token = lease.token}));
  must(bench->resume("q"));
  EXPECT_EQ(claim_all(bench, "q"), Ids{"during"});
}

TEST_P(ClaimTest, ends_early_once_the_payloads_are_large) {
  const Bench bench = open();
  for (int i = 0; i < 6; ++i)
    must(bench->enqueue({.queue = "q", .payload = std::string(kPayloadBytesMax, 'x')}));
  const auto leases = must(bench->claim({.queues = {"q"}, .jobs_max = 10}));
  EXPECT_EQ(leases.size(), kClaimBytesMax / kPayloadBytesMax);
}

TEST_P(ClaimTest, due_jobs_join_in_due_order_behind_what_is_ready) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "late", .delay = 3s}));
  must(bench->enqueue({.queue = "q", .id = "soon", .delay = 1s}));
  must(bench->enqueue({.queue = "q", .id = "first"}));
  must(bench->enqueue({.queue = "q", .id = "never", .delay = 10s}));
  bench.advance(3s);
  EXPECT_EQ(claim_all(bench, "q"), (Ids{"first", "soon", "late"}));
}

TEST_P(ClaimTest, a_job_that_is_due_in_a_millisecond_is_not_due) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .delay = 10ms}));
  bench.advance(9ms);
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  bench.advance(1ms);
  EXPECT_EQ(must_claim(bench, "q").id, "j");
}

TEST_P(ClaimTest, a_job_past_its_time_to_live_is_buried_instead_of_handed_out) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "short", .group = "g", .ttl = 1s}));
  must(bench->enqueue({.queue = "q", .id = "long", .group = "g", .ttl = 1001ms}));
  bench.advance(1s);
  EXPECT_EQ(must_claim(bench, "q").id, "long");
  EXPECT_EQ(must(bench->get({"q", "short"})).reason, DeathReason::expired);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
