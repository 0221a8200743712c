// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class EnqueueTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(EnqueueTest);

TEST_P(EnqueueTest, generated_ids_are_ulids_that_sort_in_the_order_of_the_calls) {
  const Bench bench = open();
  std::string last;
  for (int i = 0; i < 50; ++i) {
    const std::string id = must(bench->enqueue({.queue = "q"}));
    EXPECT_EQ(id.size(), 26u);
    EXPECT_GT(id, last);
    last = id;
    if (i % 7 == 0) bench.advance(1ms);
  }
}

TEST_P(EnqueueTest, a_new_job_has_all_it_was_given) {
  const Bench bench = open();
  const RetryPolicy retry{.attempts_max = 7, .base = 3s, .factor = 1.5, .cap = 1h, .jitter = 0.25};
  must(bench->enqueue({.queue = "q",
                       .id = "j",
                       .group = "g",
                       .payload = std::string("a\0b", 3),
                       .priority = -3,
                       .delay = 1500us,
                       .ttl = 10s,
                       .retry = retry}));
  const Job job = must(bench->get({"q", "j"}, {.payload = true}));
  EXPECT_EQ(job.lane, Lane::scheduled);
  EXPECT_EQ(job.group, "g");
  EXPECT_EQ(job.priority, -3);
  EXPECT_EQ(job.payload, std::string("a\0b", 3));
  EXPECT_EQ(job.enqueued, bench.now());
  EXPECT_EQ(job.due, bench.now() + 2ms) << "a delay is rounded up, so that nothing is early";
  EXPECT_EQ(job.expires, bench.now() + 10s);
  EXPECT_EQ(job.retry, retry);
}

TEST_P(EnqueueTest, a_label_stands_for_its_priority) {
  const Bench bench = open();
  QueueConfig config;
  config.labels.push_back({"urgent", -100});
  config.priority = 42;
  must(bench->configure("q", config));
  must(bench->enqueue({.queue = "q", .id = "plain"}));
  must(bench->enqueue({.queue = "q", .id = "low", .label = "low"}));
  must(bench->enqueue({.queue = "q", .id = "urgent", .label = "urgent"}));
  EXPECT_EQ(claim_all(bench, "q"), (std::vector<std::string>{"urgent", "low", "plain"}));
}

TEST_P(EnqueueTest, a_large_payload_comes_back_whole_and_leaves_nothing_behind) {
  const Bench bench = open();
  must(bench->configure("q", {.events = false}));
  for (const std::size_t bytes : {1024u, 1025u, 64'000u, 64'001u, 200'000u}) {
    std::string payload(bytes, 'x');
    for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<char>(i * 31);
    must(bench->enqueue({.queue = "q", .payload = payload}));
    EXPECT_EQ(breaches(bench), "");
    const Lease lease = must_claim(bench, "q");
    EXPECT_EQ(lease.payload, payload);
    must(bench->ack({.queue = "q", .token = lease.token}));
  }
  const VerifyReport report = must(verify(bench.store()));
  EXPECT_TRUE(report.clean()) << report.to_text();
  EXPECT_EQ(report.jobs, 0u);
  EXPECT_LE(report.keys, 5u) << "the header, the queue, its name, two counts";
}

TEST_P(EnqueueTest, the_backlog_cap_is_exact_and_counts_what_waits) {
  const Bench bench = open();
  must(bench->configure("q", {.backlog_max = 3}));
  must(bench->enqueue({.queue = "q"}));
  must(bench->enqueue({.queue = "q", .delay = 1h}));
  must(bench->enqueue({.queue = "q", .id = "held", .hold = true}));
  EXPECT_EQ(bench->enqueue({.queue = "q"}).error().code(), Code::limit_exceeded);
  must(bench->configure("q", {.backlog_max = 2}));
  EXPECT_EQ(bench->enqueue({.queue = "q", .id = "held"}).error().code(), Code::already_exists)
      << "whoever repeats an enqueue learns that the job is there";
  must(bench->configure("q", {.backlog_max = 3}));
  must_claim(bench, "q");
  const std::vector<NewJob> two(2, NewJob{.queue = "q"});
  const auto results = bench->enqueue(two);
  EXPECT_TRUE(results[0]);
  EXPECT_EQ(results[1].error().code(), Code::limit_exceeded) << "within one batch too";
  EXPECT_EQ(must(bench->count("q")).backlog(), 3u);
}

TEST_P(EnqueueTest, a_batch_that_is_all_or_none_is_refused_for_one_bad_job) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "taken"}));
  const std::vector<NewJob> jobs = {{.queue = "q", .id = "a"}, {.queue = "q", .id = "taken"}};
  const auto refused = bench->enqueue(jobs, {.all_or_none = true});
  EXPECT_EQ(refused[0].error().code(), Code::cancelled);
  EXPECT_EQ(refused[1].error().code(), Code::already_exists);
  EXPECT_EQ(must(bench->count("q")).total(), 1u);
  const auto partly = bench->enqueue(jobs);
  EXPECT_TRUE(partly[0]);
  EXPECT_FALSE(partly[1]);
  EXPECT_EQ(must(bench->count("q")).total(), 2u);
}

TEST_P(EnqueueTest, a_batch_over_the_limit_is_split_and_all_or_none_refused) {
  const Bench bench = open();
  const std::vector<NewJob> jobs(kBatchJobsMax + 1, NewJob{.queue = "q"});
  EXPECT_EQ(bench->enqueue(jobs, {.all_or_none = true})[0].error().code(), Code::invalid_argument);
  const auto results = bench->enqueue(jobs, {.operation = "op"});
  for (const auto& result : results) must(result);
  EXPECT_EQ(bench->enqueue(jobs, {.operation = "op"}).back().value(), results.back().value());
  EXPECT_EQ(must(bench->count("q")).ready, kBatchJobsMax + 1);
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
