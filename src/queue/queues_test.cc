// SPDX-License-Identifier: MIT
// Opening queues, waiting for jobs, claiming from many threads and processes at once.
#include <sluice/queue.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "queue/keys.h"
#include "queue/records.h"
#include "queue/testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class QueuesTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(QueuesTest);

void put_header(const Bench& bench, std::uint64_t major, std::uint64_t minor) {
  kv::must_put(bench.opened, header_key(), encode(HeaderRecord{.major = major, .minor = minor}));
}

TEST_P(QueuesTest, a_store_of_a_newer_format_is_refused_by_name) {
  const Bench bench = open();
  put_header(bench, kFormatMajor, kFormatMinor);
  must(status_of(Queues::open(bench.store())));
  for (const auto& [major, minor] :
       {std::pair{kFormatMajor, kFormatMinor + 1}, std::pair{kFormatMajor + 1, std::uint64_t{0}}}) {
    put_header(bench, major, minor);
    const auto queues = Queues::open(bench.store());
    ASSERT_FALSE(queues);
    EXPECT_EQ(queues.error().code(), Code::invalid_argument);
    const std::string versions = std::to_string(major) + "." + std::to_string(minor);
    EXPECT_NE(queues.error().message().find("format " + versions), std::string::npos);
  }
}

TEST_P(QueuesTest, opening_twice_changes_nothing) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q"}));
  const Dump before = dump(bench);
  const auto again = must(Queues::open(bench.store()));
  EXPECT_EQ(dump(bench), before);
  EXPECT_EQ(must(again->claim({.queues = {"q"}})).size(), 1u);
}

TEST_P(QueuesTest, every_verb_takes_a_batch_and_answers_for_each_item) {
  const Bench bench = open();
  must(bench->configure("q", {.done_retention = 1h}));
  std::vector<JobRef> jobs;
  std::vector<EditRequest> edits;
  for (int i = 0; i < 6; ++i) {
    const std::string id = std::to_string(i);
    must(bench->enqueue({.queue = "q", .id = id, .group = i % 2 == 0 ? "g" : ""}));
    jobs.push_back({"q", id});
    edits.push_back({.queue = "q", .id = id, .priority = 9 - i});
  }
  const auto all_but_last = [&](const std::vector<Status>& statuses) {
    ASSERT_EQ(statuses.size(), 7u);
    for (std::size_t i = 0; i < 6; ++i) must(statuses[i]);
    EXPECT_EQ(statuses[6].code(), Code::not_found);
    EXPECT_EQ(breaches(bench), "");
  };
  jobs.push_back({"q", "none"});
  edits.push_back({.queue = "q", .id = "none", .priority = 1});
  all_but_last(bench->edit(edits));
  all_but_last(bench->hold(jobs));
  all_but_last(bench->unhold(jobs));
  std::vector<ExtendRequest> extensions;
  std::vector<std::string> order;
  for (const Lease& lease : must(bench->claim({.queues = {"q"}, .jobs_max = 9}))) {
    extensions.push_back({.queue = "q", .token = lease.token, .lease = 2h});
    order.push_back(lease.id);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"5", "4", "3", "2", "1", "0"}));
  for (const auto& extended : bench->extend(extensions))
    EXPECT_EQ(must(extended), bench.now() + 2h);
  all_but_last(bench->break_lease(jobs));
  all_but_last(bench->cancel(jobs));
  std::vector<RequeueRequest> again;
  for (const JobRef& job : jobs) again.push_back({.queue = job.queue, .id = job.id});
  all_but_last(bench->requeue(again));
  all_but_last(bench->cancel(jobs));
  all_but_last(bench->remove(jobs));
  EXPECT_EQ(must(bench->count("q")).total(), 0u);
}

/// On a clock that runs, because somebody waits.
struct Running {
  kv::Opened opened;
  std::unique_ptr<Queues> queues;
};

Running open_running(EngineKind kind) {
  Running running{.opened = kv::open_engine(kind), .queues = {}};
  running.queues = must(Queues::open(*running.opened.store));
  return running;
}

TEST_P(QueuesTest, a_waiting_claim_gets_a_job_that_is_enqueued_meanwhile) {
  const Running running = open_running(GetParam());
  for (const bool several : {false, true}) {
    std::vector<Lease> leases;
    std::atomic<bool> started = false;
    {
      std::jthread worker([&] {
        ClaimRequest request{.queues = {"q"}, .wait = 1h};
        if (several) request.queues.push_back("other");
        started = true;
        leases = must(running.queues->claim(request));
      });
      while (!started) std::this_thread::yield();
      must(running.queues->enqueue({.queue = "q"}));
    }
    EXPECT_EQ(leases.size(), 1u);
  }
}

TEST_P(QueuesTest, a_waiting_claim_gets_what_comes_due_and_what_lapses) {
  const Running running = open_running(GetParam());
  must(running.queues->enqueue({.queue = "q", .id = "due", .delay = 20ms}));
  const auto first = must(running.queues->claim({.queues = {"q"}, .lease = 20ms, .wait = 1h}));
  ASSERT_EQ(first.size(), 1u);
  const auto second = must(running.queues->claim({.queues = {"q"}, .wait = 1h}));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].attempt, 2u);
}

TEST_P(QueuesTest, a_waiting_claim_ends_when_told_or_when_its_time_is_over) {
  const Running running = open_running(GetParam());
  EXPECT_TRUE(must(running.queues->claim({.queues = {"q"}, .wait = 5ms})).empty());
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(
      must(running.queues->claim({.queues = {"q"}, .wait = 1h, .stop = stop.get_token()})).empty());
}

TEST_P(QueuesTest, many_threads_get_every_job_once) {
  const Running running = open_running(GetParam());
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kJobs = 50;
  std::mutex mutex;
  std::multiset<std::string> seen;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < kJobs; ++i)
          must(running.queues->enqueue({.queue = "q", .group = i % 2 == 0 ? "g" : ""}));
        for (std::size_t i = 0; i < kJobs; ++i) {
          const auto leases = must(
              running.queues->claim({.queues = {"q"}, .worker = std::to_string(t), .wait = 1h}));
          if (leases.size() != 1) continue;
          must(running.queues->ack({.queue = "q", .token = leases[0].token}));
          const std::lock_guard lock(mutex);
          seen.insert(leases[0].id);
        }
      });
  }
  EXPECT_EQ(seen.size(), kThreads * kJobs);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), kThreads * kJobs);
  EXPECT_EQ(must(running.queues->count("q")).total(), 0u);
  EXPECT_TRUE(must(verify(*running.opened.store)).clean());
}

TEST_P(QueuesTest, each_shard_keeps_its_order_and_all_are_claimed) {
  const Bench bench = open();
  must(bench->configure("q", {.shards = 5}));
  for (int i = 0; i < 100; ++i)
    must(bench->enqueue({.queue = "q",
                         .id = std::to_string(1000 + i),
                         .group = i % 4 == 0 ? "g" + std::to_string(i % 12) : ""}));
  EXPECT_EQ(breaches(bench), "");
  std::map<std::uint32_t, std::string> last;
  const auto ids = claim_all(bench, "q");
  EXPECT_EQ(ids.size(), 100u);
  for (const auto& id : ids) {
    std::string& before = last[must(bench->get({"q", id})).shard];
    EXPECT_LT(before, id);
    before = id;
  }
  EXPECT_EQ(last.size(), 5u) << "every shard is in use";
}

TEST_P(QueuesTest, processes_deal_the_shards_out_and_take_over_what_others_leave) {
  const Bench bench = open();
  must(bench->configure("q", {.shards = 4}));
  const auto other = must(Queues::open(bench.store()));
  for (int i = 0; i < 200; ++i) must(bench->enqueue({.queue = "q"}));
  const auto claim_one = [](Queues& queues) { return must(queues.claim({.queues = {"q"}})).at(0); };
  claim_one(*bench.queues);
  claim_one(*other);
  bench.advance(1s);  // By now each has seen the other.
  std::set<std::uint32_t> mine;
  std::set<std::uint32_t> others;
  for (int i = 0; i < 20; ++i) {
    mine.insert(must(bench->get({"q", claim_one(*bench.queues).id})).shard);
    others.insert(must(bench->get({"q", claim_one(*other).id})).shard);
  }
  EXPECT_EQ(mine.size(), 2u);
  EXPECT_EQ(others.size(), 2u);
  for (const std::uint32_t shard : mine) EXPECT_FALSE(others.contains(shard));
  EXPECT_EQ(claim_all(bench, "q").size(), 200u - 42u) << "also from shards that are not its own";
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
