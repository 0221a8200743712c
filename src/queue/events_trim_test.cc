// SPDX-License-Identifier: MIT
// Events that are trimmed, by age and by number, and what a reader learns who comes too late.
#include <sluice/queue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "queue/events_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class EventsTrimTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(EventsTrimTest);

TEST_P(EventsTrimTest, events_are_trimmed_by_age_and_a_late_reader_learns_it) {
  for (const std::uint32_t shards : {1u, 3u}) {
    const Bench bench = open();
    must(bench->configure("q", {.shards = shards}));
    for (int i = 0; i < 10; ++i) must(bench->enqueue({.queue = "q"}));
    const std::string first = must(bench->events({.queue = "q", .limit = 1})).next;
    const std::string end = must(bench->events_end("q"));
    bench.advance(30min);
    must(bench->enqueue({.queue = "q", .id = "young"}));
    bench.advance(30min - 1ms);
    must(bench->sweep());
    EXPECT_EQ(read_all(bench).size(), 11u);
    bench.advance(1ms);
    must(bench->sweep());
    EXPECT_EQ(lines_of(read_all(bench)), Lines{"young - ready 0"});
    const EventPage late = must(bench->events({.queue = "q", .after = first}));
    EXPECT_TRUE(late.gap);
    EXPECT_EQ(lines_of(late.events), Lines{"young - ready 0"}) << "it goes on with the oldest";
    EXPECT_FALSE(must(bench->events({.queue = "q", .after = late.next})).gap);
    const EventPage in_time = must(bench->events({.queue = "q", .after = end}));
    EXPECT_FALSE(in_time.gap) << "it had read all that is gone";
    EXPECT_EQ(in_time.events.size(), 1u);
    EXPECT_FALSE(must(bench->events({.queue = "q"})).gap) << "it asked for the oldest there is";
    EXPECT_EQ(breaches(bench), "");
  }
}

TEST_P(EventsTrimTest, a_reader_in_the_middle_of_a_transaction_learns_that_its_rest_is_gone) {
  const Bench bench = open();
  const std::vector<NewJob> jobs(3, NewJob{.queue = "q"});
  for (const auto& result : bench->enqueue(jobs)) must(result);
  const std::string middle = must(bench->events({.queue = "q", .limit = 1})).next;
  const std::string end = must(bench->events({.queue = "q", .limit = 3})).next;
  bench.advance(kEventsKept);
  must(bench->sweep());
  const EventPage page = must(bench->events({.queue = "q", .after = middle}));
  EXPECT_TRUE(page.gap);
  EXPECT_TRUE(page.events.empty());
  EXPECT_FALSE(must(bench->events({.queue = "q", .after = page.next})).gap)
      << "the same gap is told once";
  EXPECT_FALSE(must(bench->events({.queue = "q", .after = end})).gap);
}

TEST_P(EventsTrimTest, writers_trim_what_is_too_much) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q"}));
  const std::string first = must(bench->events({.queue = "q"})).next;
  const std::vector<NewJob> thousand(1'000, NewJob{.queue = "q"});
  const auto enqueue_thousand = [&] {
    for (const auto& result : bench->enqueue(thousand)) must(result);
  };
  for (std::uint64_t n = 0; n < kEventsMax / 1'000; ++n) enqueue_thousand();
  EXPECT_EQ(read_all(bench, {}, kPageMax).size(), kEventsMax + 1) << "the newest stay";
  enqueue_thousand();
  // One transaction of sixteen trims, whole transactions.
  for (int i = 0; i < 300; ++i) must(bench->enqueue({.queue = "q"}));
  EXPECT_EQ(read_all(bench, {}, kPageMax).size(), kEventsMax + 300);
  const EventPage page = must(bench->events({.queue = "q", .after = first, .limit = 1}));
  EXPECT_TRUE(page.gap);
  EXPECT_EQ(page.events.size(), 1u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTrimTest, writers_trim_what_is_too_old) {
  const Bench bench = open();
  for (int i = 0; i < 20; ++i)
    must(bench->enqueue({.queue = "q", .id = "old" + std::to_string(i)}));
  bench.advance(kEventsKept);
  for (int i = 0; i < 300; ++i) must(bench->enqueue({.queue = "q"}));
  const auto events = read_all(bench, {}, kPageMax);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.size(), 300u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTrimTest, a_queue_may_do_without_and_a_sweep_trims_what_it_had) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "noted"}));
  must(bench->configure("q", {.events = false}));
  must(bench->enqueue({.queue = "q", .id = "not noted"}));
  must(bench->cancel({"q", "noted"}));
  EXPECT_EQ(lines_of(read_all(bench)), Lines{"noted - ready 0"}) << "nothing is erased at once";
  bench.advance(kEventsKept);
  must(bench->sweep());
  EXPECT_EQ(stored_events(bench), 0u);
  EXPECT_EQ(breaches(bench), "");
  must(bench->configure("q", {.events = true}));
  must(bench->cancel({"q", "not noted"}));
  EXPECT_EQ(lines_of(read_all(bench)), Lines{"not noted ready cancelled 0"});
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTrimTest, fewer_shards_lose_no_events) {
  const Bench bench = open();
  must(bench->configure("q", {.shards = 3}));
  for (int i = 0; i < 12; ++i) must(bench->enqueue({.queue = "q", .id = std::to_string(i)}));
  for (int i = 0; i < 12; ++i) must(bench->cancel({"q", std::to_string(i)}));
  const Lines before = lines_of(read_all(bench));
  must(bench->configure("q", {.shards = 1}));
  EXPECT_EQ(lines_of(read_all(bench)), before);
  EXPECT_EQ(breaches(bench), "");
  bench.advance(kEventsKept);
  must(bench->sweep());
  EXPECT_EQ(stored_events(bench), 0u);
  EXPECT_EQ(breaches(bench), "");
}

TEST_P(EventsTrimTest, the_stream_goes_with_the_queue) {
  const Bench bench = open();
  must(bench->enqueue({.queue = "q", .id = "old"}));
  must(bench->cancel({"q", "old"}));
  must(bench->remove_queue("q"));
  EXPECT_EQ(status_of(bench->events({.queue = "q"})).code(), Code::not_found);
  must(bench->enqueue({.queue = "q", .id = "new"}));
  EXPECT_EQ(lines_of(read_all(bench)), Lines{"new - ready 0"});
  EXPECT_EQ(breaches(bench), "");
}

}  // namespace
}  // namespace sluice::queue
