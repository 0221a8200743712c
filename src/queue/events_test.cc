// SPDX-License-Identifier: MIT
// The stream of events: what is in it, in which order, page by page.
#include <sluice/queue.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "queue/events_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class EventsTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(EventsTest);

// -------------------------------------------------------------------------------- what is in there

TEST_P(EventsTest, every_move_of_a_job_is_an_event_and_nothing_else_is) {
  const Bench bench = open();
  const JobRef job{"q", "j"};
  must(bench->enqueue({.queue = "q", .id = "j", .delay = 1s}));
  bench.advance(1s);
  Lease lease = must_claim(bench, "q");
  must(bench->extend({.queue = "q", .token = lease.token, .progress = "half"}));
  must(bench->fail({.queue = "q", .token = lease.token, .delay = 1h}));
  must(bench->edit({.queue = "q", .id = "j", .due = bench.now() + 1s}));
  bench.advance(1s);
  must(bench->sweep());
  lease = must_claim(bench, "q");
  must(bench->release({.queue = "q", .token = lease.token}));
  must(bench->edit({.queue = "q", .id = "j", .payload = "other"}));
  must(bench->edit({.queue = "q", .id = "j", .priority = 1}));
  must(bench->hold(job));
  must(bench->edit({.queue = "q", .id = "j", .priority = 2}));
  must(bench->unhold(job));
  must_claim(bench, "q");
  must(bench->break_lease(job));
  must_claim(bench, "q", 1s);
  bench.advance(1s);
  must(bench->sweep());
  EXPECT_EQ(
      lines_of(read_all(bench)),
      (Lines{"j - scheduled 0", "j scheduled ready 0", "j ready leased 1", "j leased scheduled 1",
             "j scheduled scheduled 1", "j scheduled ready 1", "j ready leased 2",
             "j leased ready 1", "j ready ready 1", "j ready held 1", "j held ready 1",
             "j ready leased 2", "j leased ready 2", "j ready leased 3", "j leased dead 3"}));
  const std::string end = must(bench->events_end("q"));
  must(bench->requeue({.queue = "q", .id = "j"}));
  must(bench->cancel(job));
  EXPECT_EQ(lines_of(read_all(bench, end)), (Lines{"j dead ready 0", "j ready cancelled 0"}))
      << "also where it is not kept";
  EXPECT_EQ(lane_of(bench, job), "absent");
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTest, every_end_is_an_event_and_a_removal_is_none) {
  for (const Duration retention : {Duration{}, Duration(10min)}) {
    const Bench bench = open();
    must(bench->configure("q", {.done_retention = retention, .dead_retention = retention}));
    must(bench->enqueue({.queue = "q", .id = "acked"}));
    must(bench->ack({.queue = "q", .token = must_claim(bench, "q").token}));
    must(bench->enqueue({.queue = "q", .id = "killed"}));
    must(bench->fail({.queue = "q", .token = must_claim(bench, "q").token, .dead = true}));
    must(bench->enqueue({.queue = "q", .id = "expired", .ttl = 1s}));
    bench.advance(1s);
    must(bench->sweep());
    bench.advance(10min);
    must(bench->sweep());
    EXPECT_EQ(must(bench->count("q")).total(), 0u);
    EXPECT_EQ(lines_of(read_all(bench)),
              (Lines{"acked - ready 0", "acked ready leased 1", "acked leased done 1",
                     "killed - ready 0", "killed ready leased 1", "killed leased dead 1",
                     "expired - ready 0", "expired ready dead 0"}));
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(EventsTest, what_a_move_causes_is_in_the_stream_as_well) {
  const Bench bench = open();
  must(bench->open_batch({.queue = "q", .id = "b", .on_end = NewJob{.queue = "q", .id = "back"}}));
  must(bench->enqueue({.queue = "q", .id = "p", .batch = "b"}));
  must(bench->seal_batch({"q", "b"}));
  must(bench->enqueue({.queue = "q", .id = "run", .after = {{"", "p", AfterPolicy::end}}}));
  must(bench->enqueue({.queue = "q", .id = "drop", .after = {{"", "p", AfterPolicy::cancel}}}));
  const std::string end = must(bench->events_end("q"));
  must(bench->cancel({"q", "p"}));
  const auto events = read_all(bench, end);
  EXPECT_EQ(lines_of(events), (Lines{"p ready cancelled 0", "run waiting ready 0",
                                     "drop waiting cancelled 0", "back - ready 0"}));
  for (const Event& event : events) EXPECT_EQ(event.at, bench.now());
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTest, in_one_transaction_they_are_in_the_order_of_the_calls_and_new_jobs_last) {
  const Bench bench = open();
  for (const char* id : {"a", "b"}) must(bench->enqueue({.queue = "q", .id = id}));
  const std::string end = must(bench->events_end("q"));
  must(status_of(bench.store().run([&](kv::Transaction& txn) -> Status {
    Scope jobs(*bench.queues, txn);
    SLUICE_TRY(jobs.enqueue({.queue = "q", .id = "new"}));
    SLUICE_TRY(jobs.cancel({"q", "b"}));
    SLUICE_TRY(jobs.hold({"q", "a"}));
    return status_of(jobs.enqueue({.queue = "q", .id = "newer", .delay = 1s}));
  })));
  EXPECT_EQ(lines_of(read_all(bench, end)), (Lines{"b ready cancelled 0", "a ready held 0",
                                                   "new - ready 0", "newer - scheduled 0"}));
}

TEST_P(EventsTest, an_event_knows_its_time) {
  const Bench bench = open();
  const WallTime start = bench.now();
  for (int i = 0; i < 3; ++i) {
    must(bench->enqueue({.queue = "q"}));
    bench.advance(1s);
  }
  const auto events = read_all(bench);
  ASSERT_EQ(events.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(events[static_cast<std::size_t>(i)].at, start + i * 1s);
}

// ------------------------------------------------------------------------------------------ paging

TEST_P(EventsTest, pages_of_any_size_show_the_same_in_the_order_of_the_commits) {
  for (const std::uint32_t shards : {1u, 3u}) {
    SCOPED_TRACE(shards);
    const Bench bench = open();
    must(bench->configure("q", {.shards = shards}));
    Lines expected;
    for (int i = 0; i < 30; ++i) {
      const std::string id = "j" + std::to_string(i);
      must(bench->enqueue({.queue = "q", .id = id, .priority = 30 - i}));
      expected.push_back(id + " - ready 0");
      const Lease lease = must_claim(bench, "q");
      expected.push_back(lease.id + " ready leased 1");
      must(bench->ack({.queue = "q", .token = lease.token}));
      expected.push_back(lease.id + " leased done 1");
    }
    // One transaction with many events, of which a page may end in the middle.
    const std::vector<NewJob> many(50, NewJob{.queue = "q"});
    for (const auto& result : bench->enqueue(many)) must(result);
    const auto all = read_all(bench, {}, kPageMax);
    ASSERT_EQ(all.size(), 140u);
    EXPECT_EQ(lines_of({all.begin(), all.begin() + 90}), expected);
    for (const std::size_t limit : {1u, 7u, 64u, 100u})
      EXPECT_EQ(lines_of(read_all(bench, {}, limit)), lines_of(all)) << limit;
    // From any event on, what follows it.
    for (const std::size_t at : {0u, 1u, 89u, 90u, 117u, 139u})
      EXPECT_EQ(lines_of(read_all(bench, all[at].cursor)),
                lines_of({all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end()}))
          << at;
  }
}

TEST_P(EventsTest, a_transaction_with_more_than_one_key_takes_is_read_in_order) {
  const Bench bench = open();
  std::vector<NewJob> jobs;
  for (int i = 0; i < 1'000; ++i)
    jobs.push_back({.queue = "q", .id = std::to_string(10'000 + i) + std::string(200, 'x')});
  for (const auto& result : bench->enqueue(jobs)) must(result);
  EXPECT_GT(stored_events(bench), 1u);
  const auto events = read_all(bench, {}, 300);
  ASSERT_EQ(events.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) ASSERT_EQ(events[i].id, jobs[i].id);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTest, the_end_is_after_everything_that_has_happened) {
  for (const std::uint32_t shards : {1u, 3u}) {
    const Bench bench = open();
    must(bench->configure("q", {.shards = shards}));
    EXPECT_EQ(lines_of(read_all(bench, must(bench->events_end("q")))), Lines{});
    for (int i = 0; i < 20; ++i) must(bench->enqueue({.queue = "q"}));
    const std::string end = must(bench->events_end("q"));
    EXPECT_EQ(lines_of(read_all(bench, end)), Lines{});
    must(bench->enqueue({.queue = "q", .id = "new"}));
    EXPECT_EQ(lines_of(read_all(bench, end)), Lines{"new - ready 0"});
    bench.advance(kEventsKept);
    must(bench->sweep());
    EXPECT_EQ(stored_events(bench), 0u);
    const std::string later = must(bench->events_end("q"));
    EXPECT_FALSE(must(bench->events({.queue = "q", .after = later})).gap);
    must(bench->enqueue({.queue = "q", .id = "newest"}));
    EXPECT_EQ(lines_of(read_all(bench, later)), Lines{"newest - ready 0"});
  }
}

TEST_P(EventsTest, what_is_no_cursor_is_refused) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q"}));
  const std::string good = must(bench->events_end("q"));
  const auto code = [&](const std::string& after, std::size_t limit = 1) {
    return status_of(bench->events({.queue = "q", .after = after, .limit = limit})).code();
  };
  EXPECT_EQ(code(good), Code::ok);
  for (const std::string& bad :
       {std::string("x"), good + "x", good.substr(1), "g" + good.substr(1),
        good.substr(0, good.find('.')), good.substr(0, good.find('.') + 1), good + "-1",
        good.substr(0, good.find('.')) + ".99999999999999999999", std::string(34, '.')})
    EXPECT_EQ(code(bad), Code::invalid_argument) << bad;
  EXPECT_EQ(code("", 0), Code::invalid_argument);
  EXPECT_EQ(code("", kPageMax), Code::ok);
  EXPECT_EQ(code("", kPageMax + 1), Code::invalid_argument);
  EXPECT_EQ(status_of(bench->events({.queue = "none"})).code(), Code::not_found);
  EXPECT_EQ(status_of(bench->events_end("none")).code(), Code::not_found);
  EXPECT_EQ(status_of(bench->events({.queue = ""})).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sluice::queue
