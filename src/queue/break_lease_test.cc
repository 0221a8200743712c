// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class BreakLeaseTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(BreakLeaseTest);

TEST_P(BreakLeaseTest, the_job_is_back_at_its_place_and_the_attempt_counts) {
  const Bench bench = open();
  for (const char* id : {"a", "b"}) must(bench->enqueue({.queue = "q", .id = id}));
  const Lease lease = must_claim(bench, "q");
  must(bench->break_lease({"q", "a"}));
  EXPECT_EQ(bench->ack({.queue = "q", .token = lease.token}).code(), Code::lease_lost);
  const Job job = must(bench->get({"q", "a"}, {.history = true}));
  EXPECT_EQ(job.attempts, 1u);
  EXPECT_EQ(job.lapses, 0u);
  ASSERT_EQ(job.history.size(), 1u);
  EXPECT_EQ(job.history[0].outcome, Outcome::broken);
  const Lease again = must_claim(bench, "q");
  EXPECT_EQ(again.id, "a");
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
