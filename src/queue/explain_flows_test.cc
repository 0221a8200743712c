// SPDX-License-Identifier: MIT
// What explain() says about jobs that wait for others, and about cancelled batches.
#include <sluice/queue.h>

#include <string>
#include <vector>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;
using Reasons = std::vector<std::string>;

class ExplainFlowsTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(ExplainFlowsTest);

Reasons reasons(const Bench& bench, const JobRef& ref) {
  return must(bench->explain(ref)).reasons;
}

void kill(const Bench& bench, const std::string& queue) {
  must(bench->fail({.queue = queue, .token = must_claim(bench, queue).token, .dead = true}));
}

// The test's clock stands at 2023-11-14 22:13:20 UTC.
const std::string kNow = "2023-11-14T22:13:20.000Z";

TEST_P(ExplainFlowsTest, it_names_what_is_waited_for_and_where_that_is) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "a"}));
  must(bench->enqueue({.queue = "q", .id = "job", .after = {{.id = "a"}}}));
  must(bench->enqueue({.queue = "other", .id = "far", .after = {{.queue = "q", .id = "a"}}}));
  EXPECT_EQ(reasons(bench, {"q", "job"}), Reasons{"it waits for job \"a\", which is ready"});
  EXPECT_EQ(reasons(bench, {"other", "far"}),
            Reasons{"it waits for job \"a\" of queue \"q\", which is ready"});
  must_claim(bench, "q");
  EXPECT_EQ(reasons(bench, {"q", "job"}), Reasons{"it waits for job \"a\", which is leased"});
}

TEST_P(ExplainFlowsTest, it_says_what_a_failure_means_and_what_to_do) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  must(bench->enqueue({.queue = "q", .id = "a"}));
  must(bench->enqueue({.queue = "q", .id = "job", .after = {{.id = "a"}}}));
  kill(bench, "q");
  EXPECT_EQ(reasons(bench, {"q", "job"}),
            Reasons{"it waits for job \"a\", which is dead since " + kNow +
                    "; policy: wait for its success: requeue or remove that job"});
  must(bench->remove({"q", "a"}));
  EXPECT_EQ(reasons(bench, {"q", "job"}),
            Reasons{"it is dead since " + kNow +
                    ": a job that it waited for was removed without having succeeded"});
}

TEST_P(ExplainFlowsTest, it_says_when_only_a_claim_or_sweep_is_missing) {
  for (const bool failed : {false, true}) {
    const Bench bench = open();
    must(bench->enqueue({.queue = "p", .id = "a"}));
    std::vector<NewJob> jobs;
    for (int i = 0; i < 1'001; ++i)
      jobs.push_back({.queue = "q",
                      .id = "job-" + std::to_string(i),
                      .after = {{.queue = "p", .id = "a", .policy = AfterPolicy::end}}});
    for (const auto& result : bench->enqueue(jobs)) must(result);
    const Token token = must_claim(bench, "p").token;
    must(failed ? bench->fail({.queue = "p", .token = token, .dead = true})
                : bench->ack({.queue = "p", .token = token}));
    const auto waiting = must(bench->list({.queue = "q", .lane = Lane::waiting})).jobs;
    ASSERT_EQ(waiting.size(), 1u);
    const std::string other = "it waits for job \"a\" of queue \"p\", which is ";
    EXPECT_EQ(reasons(bench, {"q", waiting[0].id}),
              Reasons{failed ? other + "dead since " + kNow + "; policy: run anyway"
                             : other + "done since " + kNow + ": a claim or sweep lets it go on"});
    if (failed) continue;
    must(bench->remove({"p", "a"}));
    EXPECT_EQ(reasons(bench, {"q", waiting[0].id}),
              Reasons{other + "gone: a claim or sweep settles that"});
  }
}

TEST_P(ExplainFlowsTest, of_many_it_names_five_and_counts_the_rest) {
  const Bench bench = open();
  const auto last_of = [&](std::size_t count) {
    std::vector<After> after;
    for (std::size_t i = 0; i < count; ++i) after.push_back({.id = std::to_string(i)});
    const std::string id = "job-" + std::to_string(count);
    must(bench->enqueue({.queue = "q", .id = id, .after = after}));
    const Reasons all = reasons(bench, {"q", id});
    return std::to_string(all.size()) + ": " + all.back();
  };
  for (std::size_t i = 0; i < kAfterMax; ++i)
    must(bench->enqueue({.queue = "q", .id = std::to_string(i)}));
  EXPECT_EQ(last_of(5).substr(0, 15), "5: it waits for");
  EXPECT_EQ(last_of(6), "6: it waits for 1 others");
  EXPECT_EQ(last_of(1'000), "6: it waits for 995 others");
  must(bench->enqueue({.queue = "q", .id = "more"}));
  must(bench->enqueue({.queue = "q", .id = "last"}));
  std::vector<After> after;
  for (std::size_t i = 0; i < kAfterMax; ++i) after.push_back({.id = std::to_string(i)});
  must(bench->enqueue({.queue = "q", .id = "job", .after = after}));
  must(bench->add_after({.queue = "q", .id = "job", .after = {{.id = "more"}, {.id = "last"}}}));
  EXPECT_EQ(reasons(bench, {"q", "job"}).back(), "it waits for more than 995 others");
}

TEST_P(ExplainFlowsTest, a_held_job_says_both) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "a"}));
  must(bench->enqueue({.queue = "q", .id = "job", .hold = true, .after = {{.id = "a"}}}));
  EXPECT_EQ(reasons(bench, {"q", "job"}), (Reasons{"it is held since " + kNow + ": unhold it",
                                                   "it waits for job \"a\", which is ready"}));
}

TEST_P(ExplainFlowsTest, a_cancelled_batch_is_the_first_reason) {
  const Bench bench = open();
  must(bench->open_batch({.queue = "q", .id = "b"}));
  must(bench->enqueue({.queue = "q", .id = "job", .delay = 1min, .batch = "b"}));
  EXPECT_EQ(reasons(bench, {"q", "job"}).size(), 1u);
  must(bench->cancel_batch({"q", "b"}));
  const Reasons found = reasons(bench, {"q", "job"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], "its batch \"b\" was cancelled: a claim or sweep cancels it too");
}

}  // namespace
}  // namespace sluice::queue
