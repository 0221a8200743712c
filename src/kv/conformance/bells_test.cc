// SPDX-License-Identifier: MIT
// Doorbells within one process; tests/kv/ has those between processes.
#include <sys/resource.h>

#include <functional>
#include <thread>

#include "kv/conformance/engines.h"
#include "tests/support/waiting.h"

namespace sluice::kv {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// How often a thread has gone to sleep while it does something.
long sleeps_of(const std::function<void()>& something) {
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_THREAD, &before);
  something();
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

void ring(const Opened& store, std::string_view bell) {
  must_run(store, [&](Transaction& txn) -> Status {
    txn.put("k", "v");
    txn.ring(bell);
    return {};
  });
}

TEST_P(Conformance, a_bell_that_rang_since_listen_is_noticed_at_once) {
  const Opened store = open_engine(GetParam());
  const BellTicket ticket = store->listen("jobs");
  ring(store, "jobs");
  EXPECT_EQ(store->wait(ticket, {.timeout = hours(1)}), Wake::rung);
}

TEST_P(Conformance, a_waiter_is_woken_by_the_commit) {
  const Opened store = open_engine(GetParam());
  for (int round = 0; round < 50; ++round) {
    const BellTicket ticket = store->listen("jobs");
    const std::jthread writer([&] { ring(store, "jobs"); });
    EXPECT_EQ(store->wait(ticket, {.timeout = hours(1)}), Wake::rung);
    EXPECT_TRUE(committed(store, "k"));  // Rung after the commit, so what it tells of is there.
  }
}

TEST_P(Conformance, a_body_that_fails_rings_nothing) {
  const Opened store = open_engine(GetParam());
  const BellTicket ticket = store->listen("jobs");
  (void)store->run([](Transaction& txn) -> Status {
    txn.put("k", "v");
    txn.ring("jobs");
    return {Code::cancelled, "no"};
  });
  EXPECT_EQ(store->wait(ticket, {.timeout = milliseconds(20)}), Wake::timed_out);
}

TEST_P(Conformance, a_body_that_only_rings_does_ring) {
  const Opened store = open_engine(GetParam());
  const BellTicket ticket = store->listen("jobs");
  must_run(store, [](Transaction& txn) { return txn.ring("jobs"), Status(); });
  EXPECT_EQ(store->wait(ticket, {.timeout = milliseconds(20)}), Wake::rung);
}

TEST_P(Conformance, a_wait_ends_when_it_is_stopped) {
  const Opened store = open_engine(GetParam());
  for (int round = 0; round < 50; ++round) {
    std::stop_source source;
    const BellTicket ticket = store->listen("jobs");
    const std::jthread stopper([&] { source.request_stop(); });
    EXPECT_EQ(store->wait(ticket, {.timeout = hours(1), .stop = source.get_token()}),
              Wake::stopped);
  }
}

TEST_P(Conformance, a_wait_that_hears_nothing_times_out) {
  const Opened store = open_engine(GetParam());
  const BellTicket ticket = store->listen("jobs");
  EXPECT_EQ(store->wait(ticket, {.timeout = Duration::zero()}), Wake::timed_out);
  EXPECT_EQ(store->wait(ticket, {.timeout = milliseconds(5)}), Wake::timed_out);
}

TEST_P(Conformance, a_commit_that_did_not_ring_is_noticed_in_the_end) {
  const Opened store = open_engine(GetParam());
  const BellTicket ticket = store->listen("jobs");
  must_put(store, "k", "v");  // As of a writer that was killed before it could ring.
  EXPECT_EQ(store->wait(ticket, {.timeout = hours(1)}), Wake::rung);
}

TEST_P(Conformance, an_idle_waiter_sleeps_through_its_check_period) {
  const Opened store = open_engine(GetParam());
  const BellTicket ticket = store->listen("jobs");
  static constexpr Duration kIdle = kBellCheckPeriod + milliseconds(500);
  constexpr long kWakesMax = 3;  // One check, one timeout, one to spare.
  // Whatever the machine does to sleepers, it does to one that only sleeps, too.
  long control = 0;
  std::jthread sleeper([&] { control = sleeps_of([] { test::pause(kIdle); }); });
  const long waiter =
      sleeps_of([&] { EXPECT_EQ(store->wait(ticket, {.timeout = kIdle}), Wake::timed_out); });
  sleeper.join();
  EXPECT_LE(waiter, kWakesMax + 2 * control);
}

}  // namespace
}  // namespace sluice::kv
