// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "queue/group.h"
#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class FairTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(FairTest);

/// The groups of the jobs that claims get one by one.
std::string turns(const Bench& bench, int claims) {
  std::string groups;
  for (int i = 0; i < claims; ++i) {
    const auto leases = must(bench->claim({.queues = {"q"}}));
    if (leases.empty()) break;
    groups += leases[0].group.empty() ? "-" : leases[0].group;
  }
  return groups;
}

/// Whether every group of `all` is in each full round of `turns`.
bool takes_turns(const std::string& turns, const std::string& all) {
  for (std::size_t at = 0; at + all.size() <= turns.size(); at += all.size())
    for (const char group : all)
      if (turns.substr(at, all.size()).find(group) == std::string::npos) return false;
  return true;
}

TEST_P(FairTest, groups_take_turns_however_deep_one_is) {
  const Bench bench = open();
  must(bench->configure("q", {.fair = true}));
  for (int i = 0; i < 50; ++i) must(bench->enqueue({.queue = "q", .group = "a"}));
  for (int i = 0; i < 5; ++i) {
    must(bench->enqueue({.queue = "q", .group = "b"}));
    must(bench->enqueue({.queue = "q"}));
  }
  const std::string order = turns(bench, 15);
  EXPECT_TRUE(takes_turns(order, "ab-")) << order;
  EXPECT_EQ(turns(bench, 5), "aaaaa");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(FairTest, one_claim_of_many_takes_turns_too) {
  const Bench bench = open();
  must(bench->configure("q", {.fair = true}));
  for (int i = 0; i < 6; ++i) must(bench->enqueue({.queue = "q", .group = "a"}));
  for (int i = 0; i < 3; ++i) must(bench->enqueue({.queue = "q", .group = "b"}));
  std::string order;
  for (const Lease& lease : must(bench->claim({.queues = {"q"}, .jobs_max = 9})))
    order += lease.group;
  EXPECT_TRUE(takes_turns(order.substr(0, 6), "ab")) << order;
  EXPECT_EQ(order.substr(6), "aaa");
}

TEST_P(FairTest, priority_counts_within_a_group) {
  const Bench bench = open();
  must(bench->configure("q", {.fair = true}));
  must(bench->enqueue({.queue = "q", .id = "a-low", .group = "a", .priority = 9}));
  must(bench->enqueue({.queue = "q", .id = "a-high", .group = "a", .priority = 1}));
  EXPECT_EQ(must_claim(bench, "q").id, "a-high");
}

TEST_P(FairTest, peek_follows_the_round_that_each_shard_has_reached) {
  const Bench bench = open();
  const QueueConfig config{.shards = 3, .fair = true};
  must(bench->configure("q", config));
  const std::string groups = "abcdefgh";
  for (const char group : groups)
    for (int i = 0; i < 12; ++i)
      must(bench->enqueue({.queue = "q", .group = std::string(1, group)}));
  // The first of each shard is passed over while the others take turns, and so is all of shard 0.
  std::vector<std::string> passed_over;
  std::set<std::uint32_t> seen = {0};
  for (const char group : groups) {
    const std::uint32_t shard = shard_for(config, std::string(1, group), "");
    if (seen.insert(shard).second || shard == 0) passed_over.emplace_back(1, group);
  }
  for (int i = 0; i < 15; ++i) must(bench->claim({.queues = {"q"}, .skip_groups = passed_over}));
  std::map<std::uint32_t, std::string> peeked;
  std::map<std::uint32_t, std::string> claimed;
  for (const Job& job : must(bench->peek("q", kPageMax)))
    peeked[shard_for(config, job.group, job.id)] += job.group;
  for (const char group : turns(bench, 100))
    claimed[shard_for(config, std::string(1, group), "")] += group;
  EXPECT_GT(peeked.size(), 1u);
  EXPECT_EQ(peeked, claimed);
}

TEST_P(FairTest, a_new_group_starts_at_the_current_round) {
  const Bench bench = open();
  must(bench->configure("q", {.fair = true}));
  for (int i = 0; i < 20; ++i) must(bench->enqueue({.queue = "q", .group = "a"}));
  EXPECT_EQ(turns(bench, 10), "aaaaaaaaaa");
  for (int i = 0; i < 20; ++i) must(bench->enqueue({.queue = "q", .group = "b"}));
  // Had it started at round 0, it would now get ten turns in a row.
  const std::string order = turns(bench, 10);
  EXPECT_GE(std::count(order.begin(), order.end(), 'a'), 4) << order;
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(FairTest, a_group_whose_jobs_come_one_by_one_does_not_starve_the_others) {
  for (const char* group : {"b", "c", "d", "e", ""}) {
    const Bench bench = open();
    must(bench->configure("q", {.fair = true}));
    for (int i = 0; i < 20; ++i) must(bench->enqueue({.queue = "q", .group = "a"}));
    int turns_of_a = 0;
    for (int i = 0; i < 20; ++i) {
      if (must(bench->count("q")).ready + static_cast<std::uint64_t>(turns_of_a) == 20)
        must(bench->enqueue({.queue = "q", .group = group}));
      const Lease lease = must_claim(bench, "q");
      turns_of_a += lease.group == "a";
      must(bench->ack({.queue = "q", .token = lease.token}));
    }
    EXPECT_GE(turns_of_a, 9) << "beside \"" << group << '"';
    EXPECT_LE(turns_of_a, 11) << "beside \"" << group << '"';
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(FairTest, a_group_that_was_passed_over_does_not_catch_up_in_a_row) {
  const Bench bench = open();
  must(bench->configure("q", {.fair = true}));
  for (int i = 0; i < 20; ++i)
    for (const char* group : {"a", "b"}) must(bench->enqueue({.queue = "q", .group = group}));
  for (int i = 0; i < 10; ++i) must(bench->claim({.queues = {"q"}, .skip_groups = {"b"}}));
  const std::string order = turns(bench, 8);
  EXPECT_LE(std::abs(std::count(order.begin(), order.end(), 'b') - 4), 1) << order;
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(FairTest, limits_hold) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 1, .fair = true}));
  for (int i = 0; i < 3; ++i)
    for (const char* group : {"a", "b", ""}) must(bench->enqueue({.queue = "q", .group = group}));
  std::string order = turns(bench, 20);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, "---ab") << "jobs without a group have no limit";
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
