// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class AckTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(AckTest);

TEST_P(AckTest, without_retention_the_job_is_gone_and_its_id_free) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "absent");
  must(bench->enqueue({.queue = "q", .id = "j"}));
}

TEST_P(AckTest, with_retention_the_result_is_kept_until_it_is_over) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 10s}));
  must(bench->enqueue({.queue = "q", .id = "j"}));
  const Lease lease = must_claim(bench, "q");
  bench.advance(1s);
  must(bench->ack({.queue = "q", .token = lease.token, .result = "42"}));
  const Job job = must(bench->get({"q", "j"}, {.history = true}));
  EXPECT_EQ(job.lane, Lane::done);
  EXPECT_EQ(job.result, "42");
  EXPECT_EQ(job.finished, bench.now());
  ASSERT_EQ(job.history.size(), 1u);
  EXPECT_EQ(job.history[0].outcome, Outcome::acked);
  EXPECT_EQ(job.history[0].ended - job.history[0].started, 1s);
  bench.advance(9999ms);
  EXPECT_EQ(must(bench->sweep()).removed, 0u);
  bench.advance(1ms);
  EXPECT_EQ(must(bench->sweep()).removed, 1u);
  EXPECT_EQ(lane_of(bench, {"q", "j"}), "absent");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AckTest, children_are_enqueued_with_it) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "parent", .group = "g"}));
  const Lease lease = must_claim(bench, "q");
  must(bench->ack({.queue = "q",
                   .token = lease.token,
                   .children = {{.queue = "q", .id = "child", .group = "g"},
                                {.queue = "other", .id = "child", .delay = 1s}}}));
  EXPECT_EQ(lane_of(bench, {"q", "parent"}), "absent");
  EXPECT_EQ(lane_of(bench, {"q", "child"}), "ready");
  EXPECT_EQ(lane_of(bench, {"other", "child"}), "scheduled");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AckTest, a_child_that_is_refused_refuses_the_ack_and_the_other_children) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "parent"}));
  const Lease lease = must_claim(bench, "q");
  must(bench->enqueue({.queue = "q", .id = "taken"}));
  const Dump before = dump(bench);
  const AckRequest request{
      .queue = "q",
      .token = lease.token,
      .children = {{.queue = "new queue", .id = "a"}, {.queue = "q", .id = "taken"}}};
  EXPECT_EQ(bench->ack(request).code(), Code::already_exists);
  EXPECT_EQ(dump(bench), before);
  // Also inside a batch that goes on: its first child can still be enqueued by another.
  const std::vector<AckRequest> batch = {
      request,
      {.queue = "q", .token = lease.token, .children = {{.queue = "new queue", .id = "a"}}}};
  const auto statuses = bench->ack(batch);
  EXPECT_EQ(statuses[0].code(), Code::already_exists);
  must(statuses[1]);
  EXPECT_EQ(lane_of(bench, {"new queue", "a"}), "ready");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AckTest, a_thousand_children_are_the_most) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q"}));
  AckRequest request{.queue = "q", .token = must_claim(bench, "q").token};
  request.children.assign(kBatchJobsMax + 1, NewJob{.queue = "q"});
  EXPECT_EQ(bench->ack(request).code(), Code::invalid_argument);
  request.children.pop_back();
  must(bench->ack(request));
  EXPECT_EQ(must(bench->count("q")), (Counts{.ready = kBatchJobsMax}));
}

TEST_P(AckTest, a_batch_answers_for_each) {
  const Bench bench = open();
  for (int i = 0; i < 5; ++i) must(bench->enqueue({.queue = "q", .group = "g"}));
  std::vector<AckRequest> requests;
  for (const Lease& lease : must(bench->claim({.queues = {"q"}, .jobs_max = 5})))
    requests.push_back({.queue = "q", .token = lease.token});
  requests.push_back(requests[0]);
  const auto statuses = bench->ack(requests);
  for (std::size_t i = 0; i < 5; ++i) must(statuses[i]);
  EXPECT_EQ(statuses[5].code(), Code::lease_lost);
  EXPECT_EQ(must(bench->count("q")).total(), 0u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(AckTest, an_older_token_does_not_ack_a_newer_claim) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "j"}));
  const Lease slow = must_claim(bench, "q", 1s);
  bench.advance(1s);
  const Lease quick = must_claim(bench, "q", 1h);
  EXPECT_EQ(quick.id, "j");
  EXPECT_EQ(bench->ack({.queue = "q", .token = slow.token}).code(), Code::lease_lost);
  must(bench->ack({.queue = "q", .token = quick.token}));
}

}  // namespace
}  // namespace sluice::queue
