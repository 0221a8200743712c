// SPDX-License-Identifier: MIT
// Store time within one opening; src/kv/lmdb/ has what the file remembers, tests/kv/ has processes.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "kv/conformance/engines.h"

namespace sluice::kv {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_P(Conformance, store_time_begins_at_the_wall_clock_and_advances_with_the_boot_clock) {
  const ManualClock clock;
  clock.advance(hours(3));  // What the boot clock shows must not matter.
  const WallTime opened = clock.wall();
  const Opened store = open_engine(GetParam(), clock);
  EXPECT_EQ(store->now(), opened);
  clock.advance(Duration(1));
  EXPECT_EQ(store->now(), opened + Duration(1));
  clock.advance(hours(24 * 365));
  EXPECT_EQ(store->now(), opened + hours(24 * 365) + Duration(1));
}

TEST_P(Conformance, steps_of_the_wall_clock_do_not_move_store_time) {
  ManualClock clock;
  const WallTime opened = clock.wall();
  const Opened store = open_engine(GetParam(), clock);
  for (const Duration step : {Duration(hours(1)), Duration(-hours(5)), Duration(milliseconds(1))}) {
    const WallTime before = store->now();
    clock.step_wall(step);
    EXPECT_EQ(store->now(), before) << step.count();
    clock.advance(seconds(1));
    EXPECT_EQ(store->now(), before + seconds(1)) << step.count();
  }
  EXPECT_EQ(store->now(), opened + seconds(3));
}

TEST_P(Conformance, a_body_can_ask_for_store_time) {
  const ManualClock clock;
  const Opened store = open_engine(GetParam(), clock);
  WallTime written;
  WallTime read;
  must_run(store, [&](Transaction& txn) -> Status {
    written = store->now();
    txn.put("k", "v");
    return {};
  });
  clock.advance(seconds(1));
  EXPECT_TRUE(store->read([&](Reader&) { return read = store->now(), Status(); }).ok());
  EXPECT_EQ(written, clock.wall() - seconds(1));
  EXPECT_EQ(read, clock.wall());
}

TEST_P(Conformance, stores_have_times_of_their_own) {
  const ManualClock early;
  const ManualClock late(early.wall() + hours(1));
  const Opened first = open_engine(GetParam(), early);
  const Opened second = open_engine(GetParam(), late);
  late.advance(hours(1));
  EXPECT_EQ(first->now(), early.wall());
  EXPECT_EQ(second->now(), late.wall());
}

TEST_P(Conformance, no_thread_is_told_an_earlier_time_than_another_was_before) {
  const Opened store = open_engine(GetParam());
  std::atomic<Duration::rep> latest{0};
  std::atomic<int> backwards{0};
  const auto ask = [&] {
    for (int i = 0; i < 20'000; ++i) {
      Duration::rep known = latest;
      const Duration::rep told = store->now().time_since_epoch().count();
      if (told < known) ++backwards;
      while (known < told && !latest.compare_exchange_weak(known, told)) {
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(ask);
  }
  EXPECT_EQ(backwards, 0);
}

TEST(FaultStoreTime, survives_a_crash_with_the_wall_clock_set_back) {
  ManualClock clock;
  SeededRandom random(1);
  FaultStore store({.clock = &clock}, random);
  clock.advance(hours(2));
  const WallTime before = store.now();
  clock.step_wall(-hours(1));
  store.crash();
  EXPECT_EQ(store.now(), before);
  store.reopen();
  EXPECT_EQ(store.now(), before);
  clock.advance(seconds(1));
  EXPECT_EQ(store.now(), before + seconds(1));
}

}  // namespace
}  // namespace sluice::kv
