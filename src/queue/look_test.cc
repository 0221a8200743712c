// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include <set>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class LookTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(LookTest);

Ids ids_of(const std::vector<Job>& jobs) {
  Ids ids;
  for (const Job& job : jobs) ids.push_back(job.id);
  return ids;
}

TEST_P(LookTest, peek_shows_what_claims_will_get) {
  for (const bool fair : {false, true}) {
    const Bench bench = open();
    must(bench->configure("q", {.group_max = 2, .fair = fair}));
    int n = 0;
    for (const char* group : {"a", "b", "a", "", "a", "b", "", "c"})
      must(bench->enqueue({.queue = "q",
                           .id = std::to_string(n),
                           .group = group,
                           .priority = n * 7 % 3,
                           .ttl = n == 6 ? 1s : 1h})),
          ++n;
    bench.advance(1s);
    const Ids peeked = ids_of(must(bench->peek("q", 100)));
    EXPECT_EQ(must(bench->peek("q", 2)).size(), 2u);
    EXPECT_EQ(peeked.size(), 6u);
    EXPECT_EQ(claim_all(bench, "q"), peeked);
  }
}

TEST_P(LookTest, peek_sees_past_groups_over_a_lowered_limit_and_expired_jobs) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 2}));
  for (int i = 0; i < 150; ++i)
    for (int k = 0; k < 2; ++k)
      must(bench->enqueue({.queue = "q", .group = std::to_string(i), .priority = k}));
  must(bench->claim({.queues = {"q"}, .jobs_max = 150}));
  must(bench->configure("q", {.group_max = 1}));
  must(bench->enqueue({.queue = "q", .id = "short", .group = "g", .priority = 8, .ttl = 1s}));
  must(bench->enqueue({.queue = "q", .id = "behind", .group = "g", .priority = 9}));
  bench.advance(1s);
  EXPECT_EQ(ids_of(must(bench->peek("q", 1))), Ids{"behind"});
  EXPECT_EQ(claim_all(bench, "q"), Ids{"behind"});
}

TEST_P(LookTest, a_filtered_page_looks_further_than_its_limit) {
  const Bench bench = open();
  for (int i = 0; i < 20; ++i)
    must(bench->enqueue({.queue = "q", .group = i < 15 ? "a" : "b", .hold = true}));
  const Page page = must(bench->list({.queue = "q", .lane = Lane::held, .group = "b", .limit = 5}));
  EXPECT_EQ(page.jobs.size(), 5u);
}

TEST_P(LookTest, list_pages_through_every_lane) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h, .shards = 3}));
  for (int i = 0; i < 60; ++i) {
    const std::string id = std::to_string(i);
    must(bench->enqueue({.queue = "q",
                         .id = id,
                         .group = i % 2 == 0 ? "g" : "",
                         .payload = id,
                         .priority = i,
                         .delay = i % 3 == 1 ? 1h : 0h,
                         .hold = i % 3 == 2}));
  }
  must(bench->claim({.queues = {"q"}, .jobs_max = 5}));
  must(bench->cancel({"q", "59"}));
  const auto listed = [&](std::optional<Lane> lane, const std::string& group) {
    Ids ids;
    ListRequest request{.queue = "q", .lane = lane, .group = group, .limit = 7, .payload = true};
    do {
      const Page page = must(bench->list(request));
      EXPECT_LE(page.jobs.size(), 7u);
      for (const Job& job : page.jobs) {
        EXPECT_EQ(job.payload, job.id);
        ids.push_back(job.id);
      }
      request.after = page.next;
    } while (!request.after.empty());
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size()) << "none twice";
    return ids;
  };
  EXPECT_EQ(listed({}, "").size(), 60u);
  EXPECT_EQ(listed({}, "g").size(), 30u);
  EXPECT_EQ(listed(Lane::ready, "").size(), 15u);
  EXPECT_EQ(listed(Lane::leased, "").size(), 5u);
  EXPECT_EQ(listed(Lane::scheduled, "").size(), 20u);
  EXPECT_EQ(listed(Lane::held, "").size(), 19u);
  EXPECT_EQ(listed(Lane::cancelled, ""), Ids{"59"});
  EXPECT_TRUE(listed(Lane::dead, "").empty());
}

TEST_P(LookTest, counts_are_by_lane_for_queue_and_group) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .group = "g"}));
  must(bench->enqueue({.queue = "q", .group = "g", .delay = 1s}));
  must(bench->enqueue({.queue = "q"}));
  must_claim(bench, "q");
  EXPECT_EQ(must(bench->count("q")), (Counts{.scheduled = 1, .ready = 1, .leased = 1}));
  EXPECT_EQ(must(bench->count("q", "g")), (Counts{.scheduled = 1, .leased = 1}));
  EXPECT_EQ(must(bench->count("q", "none")), Counts{});
}

std::string first_reason(const Bench& bench, const char* id) {
  return must(bench->explain({"q", id})).reasons.at(0);
}

TEST_P(LookTest, explain_says_why_a_job_does_not_run) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h, .group_max = 1}));
  const auto has = [&](const char* id, const char* words) {
    const std::string reason = first_reason(bench, id);
    EXPECT_NE(reason.find(words), std::string::npos) << reason;
  };
  must(bench->enqueue({.queue = "q", .id = "run", .group = "g", .priority = 0}));
  must(bench->enqueue({.queue = "q", .id = "blocked", .group = "g"}));
  must(bench->enqueue({.queue = "q", .id = "free"}));
  must(bench->enqueue({.queue = "q", .id = "held", .hold = true}));
  must(bench->enqueue({.queue = "q", .id = "later", .delay = 90s}));
  must_claim(bench, "q");
  has("run", "worker \"worker\" has it until 2023-11-14T22:14:20.000Z (attempt 1)");
  has("blocked", "group \"g\" runs 1 of the 1 jobs");
  has("free", "nothing holds it back");
  has("held", "unhold it");
  has("later", "in 90.000 s");
  must(bench->pause("q"));
  has("free", "the queue is paused");
  must(bench->configure("q", {.done_retention = 1h, .active_max = 1, .group_max = 1}));
  must(bench->resume("q"));
  has("free", "the queue runs 1 of the 1 jobs");
  must(bench->cancel({"q", "run"}));
  has("run", "it was cancelled at");
  const Lease lease = must_claim(bench, "q");
  must(bench->fail({.queue = "q", .token = lease.token, .error = "disk on fire", .dead = true}));
  has(lease.id.c_str(), "disk on fire");
}

}  // namespace
}  // namespace sluice::queue
