// SPDX-License-Identifier: MIT
#include <sluice/queue.h>

#include <algorithm>
#include <functional>

#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class GroupTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(GroupTest);

void enqueue_ids(const Bench& bench, const std::string& group, const Ids& ids) {
  for (const auto& id : ids) must(bench->enqueue({.queue = "q", .id = id, .group = group}));
}

TEST_P(GroupTest, a_group_at_its_limit_lets_others_pass_and_gets_its_slot_back_with_the_ack) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 1}));
  enqueue_ids(bench, "a", {"a1", "a2"});
  enqueue_ids(bench, "b", {"b1"});
  const Lease first = must_claim(bench, "q");
  EXPECT_EQ(first.id, "a1");
  EXPECT_EQ(claim_all(bench, "q"), Ids{"b1"});
  EXPECT_EQ(must(bench->count_blocked_groups("q")), 1u);
  EXPECT_EQ(breaches(bench), "");
  must(bench->ack({.queue = "q", .token = first.token}));
  EXPECT_EQ(must(bench->count_blocked_groups("q")), 0u);
  EXPECT_EQ(claim_all(bench, "q"), Ids{"a2"});
}

TEST_P(GroupTest, every_way_out_of_a_lease_frees_the_slot) {
  const Bench bench = open();
  must(bench->configure("q", {.lease = 10s, .group_max = 1}));
  const auto freed_by = [&](const char* how, const std::function<void(const Lease&)>& leave) {
    must(bench->enqueue({.queue = "q", .id = "one", .group = "g", .priority = 0}));
    must(bench->enqueue({.queue = "q", .id = "two", .group = "g", .priority = 9}));
    const Lease lease = must_claim(bench, "q");
    EXPECT_EQ(lease.id, "one");
    EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty()) << how;
    leave(lease);
    (void)bench->hold({"q", "one"});  // If it came back, it must not be in the way.
    EXPECT_EQ(must_claim(bench, "q").id, "two") << how;
    EXPECT_EQ(breaches(bench), "") << how;
    for (const char* id : {"one", "two"}) (void)bench->cancel({"q", id});
    must(bench->purge("q", Lane::dead));
  };
  freed_by("ack", [&](const Lease& l) { must(bench->ack({.queue = "q", .token = l.token})); });
  freed_by("fail", [&](const Lease& l) { must(bench->fail({.queue = "q", .token = l.token})); });
  freed_by("dead", [&](const Lease& l) {
    must(bench->fail({.queue = "q", .token = l.token, .dead = true}));
  });
  freed_by("release",
           [&](const Lease& l) { must(bench->release({.queue = "q", .token = l.token})); });
  freed_by("cancel", [&](const Lease&) { must(bench->cancel({"q", "one"})); });
  freed_by("break_lease", [&](const Lease&) { must(bench->break_lease({"q", "one"})); });
  freed_by("lapse", [&](const Lease&) {
    bench.advance(10s);
    EXPECT_EQ(must(bench->sweep()).lapsed, 1u);
  });
}

TEST_P(GroupTest, the_order_of_claims_is_exact_over_groups_and_loose_jobs) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "1", .group = "a", .priority = 1}));
  must(bench->enqueue({.queue = "q", .id = "5", .group = "b", .priority = 2}));
  must(bench->enqueue({.queue = "q", .id = "2", .priority = 1}));
  must(bench->enqueue({.queue = "q", .id = "3", .group = "a", .priority = 1}));
  must(bench->enqueue({.queue = "q", .id = "6", .group = "a", .priority = 2}));
  must(bench->enqueue({.queue = "q", .id = "0", .group = "b", .priority = 0}));
  must(bench->enqueue({.queue = "q", .id = "4", .group = "b", .priority = 1}));
  Ids ids;
  for (const Lease& lease : must(bench->claim({.queues = {"q"}, .jobs_max = 10})))
    ids.push_back(lease.id);
  EXPECT_EQ(ids, (Ids{"0", "1", "2", "3", "4", "5", "6"}));
}

TEST_P(GroupTest, a_limit_holds_within_one_claim) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 2}));
  enqueue_ids(bench, "a", {"a1", "a2", "a3"});
  enqueue_ids(bench, "b", {"b1"});
  EXPECT_EQ(must(bench->claim({.queues = {"q"}, .jobs_max = 10})).size(), 3u);
  EXPECT_EQ(must(bench->count("q", "a")).leased, 2u);
}

TEST_P(GroupTest, an_own_limit_wins_and_its_change_counts_at_once) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 1}));
  enqueue_ids(bench, "a", {"a1", "a2", "a3", "a4"});
  must(bench->limit_group("q", "a", 2));
  EXPECT_EQ(claim_all(bench, "q"), (Ids{"a1", "a2"}));
  must(bench->limit_group("q", "a", 3));
  EXPECT_EQ(claim_all(bench, "q"), Ids{"a3"});
  must(bench->limit_group("q", "a", std::nullopt));
  EXPECT_TRUE(claim_all(bench, "q").empty()) << "the queue's limit of 1 is in force again";
  must(bench->limit_group("q", "a", 0));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(must(bench->list_groups("q")).at(0).limit, 0u);
}

TEST_P(GroupTest, lowering_the_queues_limit_takes_nothing_away_and_lets_nothing_more_in) {
  const Bench bench = open();
  enqueue_ids(bench, "a", {"a1", "a2", "a3"});
  const Lease one = must_claim(bench, "q");
  const Lease two = must_claim(bench, "q");
  must(bench->configure("q", {.group_max = 1}));
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  must(bench->ack({.queue = "q", .token = one.token}));
  EXPECT_TRUE(must(bench->claim({.queues = {"q"}})).empty());
  EXPECT_EQ(breaches(bench), "");
  must(bench->ack({.queue = "q", .token = two.token}));
  EXPECT_EQ(must_claim(bench, "q").id, "a3");
}

TEST_P(GroupTest, raising_the_queues_limit_reviews_every_blocked_group) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 0}));
  for (int i = 0; i < 1100; ++i)
    must(bench->enqueue({.queue = "q", .group = "group " + std::to_string(i)}));
  EXPECT_EQ(must(bench->count_blocked_groups("q", 5000)), 1100u);
  must(bench->configure("q", {.group_max = 1}));
  EXPECT_EQ(breaches(bench), "");
  EXPECT_EQ(claim_all(bench, "q").size(), 1100u);
  EXPECT_EQ(must(bench->count_blocked_groups("q", 5000)), 0u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(GroupTest, a_sweep_reviews_as_well) {
  const Bench bench = open();
  must(bench->configure("q", {.group_max = 0}));
  enqueue_ids(bench, "a", {"a1"});
  must(bench->configure("q", {}));
  EXPECT_EQ(must(bench->sweep()).unblocked, 1u);
  EXPECT_EQ(must(bench->count_blocked_groups("q")), 0u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(GroupTest, a_group_is_forgotten_with_its_last_job_unless_it_has_a_limit) {
  const Bench bench = open();
  enqueue_ids(bench, "a", {"a1"});
  enqueue_ids(bench, "b", {"b1"});
  must(bench->limit_group("q", "b", 5));
  for (int i = 0; i < 2; ++i)
    must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
  const auto groups = must(bench->list_groups("q"));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "b");
  EXPECT_EQ(breaches(bench), "");
  must(bench->limit_group("q", "b", std::nullopt));
  EXPECT_TRUE(must(bench->list_groups("q")).empty());
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
