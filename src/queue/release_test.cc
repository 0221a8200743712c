// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class ReleaseTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ReleaseTest);

TEST_P(ReleaseTest, puts_the_job_back_where_it_was_and_takes_the_attempt_back) {
  const Bench bench = open();
  for (const char* group : {"", "g"}) {
    for (const char* id : {"first", "second", "third"})
      must(bench->enqueue({.queue = "q", .id = id, .group = group}));
    const auto leases = must(bench->claim({.queues = {"q"}, .jobs_max = 2}));
    must(bench->release({.queue = "q", .token = leases[0].token}));
    must(bench->release({.queue = "q", .token = leases[1].token}));
    EXPECT_EQ(breaches(bench), "");
    const Lease again = must_claim(bench, "q");
    EXPECT_EQ(again.id, "first");
    EXPECT_EQ(again.attempt, 1u);
    EXPECT_EQ(again.token.claim, 2u);
    EXPECT_EQ(claim_all(bench, "q"), (std::vector<std::string>{"second", "third"}));
    for (const char* id : {"first", "second", "third"}) must(bench->cancel({"q", id}));
  }
}

TEST_P(ReleaseTest, with_a_delay_it_is_scheduled) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  must(bench->release({.queue = "q", .token = must_claim(bench, "q").token, .delay = 5s}));
  EXPECT_EQ(must(bench->get({"q", "j"})).due, bench.now() + 5s);
  EXPECT_EQ(must(bench->get({"q", "j"})).attempts, 0u);
}

}  // namespace
}  // namespace sluice::queue
