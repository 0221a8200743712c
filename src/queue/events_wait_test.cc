// SPDX-License-Identifier: MIT
// Readers of the stream of events that wait for more.
#include <sluice/queue.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "queue/events_testing.h"

namespace sluice::queue {
namespace {

using namespace std::chrono_literals;

class EventsWaitTest : public OnEngines {};
INSTANTIATE_ON_ENGINES(EventsWaitTest);

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

TEST_P(EventsWaitTest, a_waiting_reader_gets_what_happens_meanwhile) {
  const Running running = open_running(GetParam());
  must(running.queues->enqueue({.queue = "q", .id = "before"}));
  const std::string end = must(running.queues->events_end("q"));
  EventPage page;
  std::atomic<bool> started = false;
  {
    std::jthread reader([&] {
      started = true;
      page = must(running.queues->events({.queue = "q", .after = end, .wait = 1h}));
    });
    while (!started) std::this_thread::yield();
    must(running.queues->enqueue({.queue = "other"}));
    must(running.queues->cancel({"q", "before"}));
  }
  ASSERT_EQ(page.events.size(), 1u);
  EXPECT_EQ(line_of(page.events[0]), "before ready cancelled 0");
}

TEST_P(EventsWaitTest, a_wait_ends_when_told_or_when_its_time_is_over) {
  const Running running = open_running(GetParam());
  must(running.queues->enqueue({.queue = "q"}));
  const std::string end = must(running.queues->events_end("q"));
  const EventPage page = must(running.queues->events({.queue = "q", .after = end, .wait = 5ms}));
  EXPECT_TRUE(page.events.empty());
  EXPECT_EQ(page.next, end);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(must(running.queues->events(
                       {.queue = "q", .after = end, .wait = 1h, .stop = stop.get_token()}))
                  .events.empty());
  EXPECT_EQ(must(running.queues->events({.queue = "q", .wait = 1h})).events.size(), 1u)
      << "what is there needs no waiting";
}

}  // namespace
}  // namespace sluice::queue
