// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class CancelTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(CancelTest);

TEST_P(CancelTest, takes_a_leased_job_from_its_worker) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  must(bench->enqueue({.queue = "q", .id = "j", .group = "g"}));
  const Lease lease = must_claim(bench, "q");
  must(bench->cancel({"q", "j"}));
  EXPECT_EQ(bench->extend({.queue = "q", .token = lease.token}).error().code(), Code::lease_lost);
  const Job job = must(bench->get({"q", "j"}, {.history = true}));
  EXPECT_EQ(job.lane, Lane::cancelled);
  ASSERT_EQ(job.history.size(), 1u);
  EXPECT_EQ(job.history[0].outcome, Outcome::cancelled);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(CancelTest, of_a_groups_first_job_offers_the_next_one) {
  const Bench bench = open();
  for (const char* id : {"one", "two"})
    must(bench->enqueue({.queue = "q", .id = id, .group = "g"}));
  must(bench->cancel({"q", "one"}));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must_claim(bench, "q").id, "two");
}

TEST_P(CancelTest, a_batch_of_one_group_is_one_transaction) {
  const Bench bench = open();
  std::vector<JobRef> jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back({"q", must(bench->enqueue({.queue = "q", .group = "g", .delay = i % 2 * 1s}))});
  jobs.push_back({"q", "none"});
  const auto statuses = bench->cancel(jobs);
  for (std::size_t i = 0; i < 20; ++i) must(statuses[i]);
  EXPECT_EQ(statuses[20].code(), Code::not_found);
  EXPECT_EQ(must(bench->count("q")).total(), 0u);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
