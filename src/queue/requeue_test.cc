// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class RequeueTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(RequeueTest);

Lease kill(const Bench& bench, const char* error) {
  const Lease lease = must_claim(bench, "q");
  must(bench->fail({.queue = "q", .token = lease.token, .error = error, .dead = true}));
  return lease;
}

TEST_P(RequeueTest, begins_anew_at_the_end_of_its_priority) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j", .ttl = 10s}));
  const Lease before = kill(bench, "boo");
  must(bench->enqueue({.queue = "q", .id = "other"}));
  must(bench->requeue({.queue = "q", .id = "j"}));
  const Job job = must(bench->get({"q", "j"}, {.history = true}));
  EXPECT_EQ(job.lane, Lane::ready);
  EXPECT_EQ(job.attempts, 0u);
  EXPECT_EQ(job.reason, DeathReason::none);
  EXPECT_EQ(job.error, "");
  EXPECT_FALSE(job.expires);
  EXPECT_EQ(job.history.size(), 1u) << "what was stays known";
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must_claim(bench, "q").id, "other");
  const Lease after = must_claim(bench, "q");
  EXPECT_GT(after.token, before.token);
  EXPECT_EQ(after.attempt, 1u);
}

TEST_P(RequeueTest, can_keep_the_attempts) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  kill(bench, "boo");
  must(bench->requeue({.queue = "q", .id = "j", .keep_attempts = true}));
  EXPECT_EQ(must_claim(bench, "q").attempt, 2u);
}

TEST_P(RequeueTest, a_batch_keeps_the_order_of_the_calls) {
  const Bench bench = open();
  for (const char* group : {"", "g"}) {
    std::vector<RequeueRequest> requests;
    for (const char* id : {"a", "b", "c"}) {
      must(bench->enqueue({.queue = "q", .id = id, .group = group}));
      kill(bench, "");
      requests.insert(requests.begin(), {.queue = "q", .id = id});
    }
    for (const auto& status : bench->requeue(requests)) must(status);
    EXPECT_EQ(breaches(bench), "");
    EXPECT_EQ(claim_all(bench, "q"), (std::vector<std::string>{"c", "b", "a"}));
    for (const char* id : {"a", "b", "c"}) must(bench->cancel({"q", id}));
  }
}

}  // namespace
}  // namespace sluice::queue
