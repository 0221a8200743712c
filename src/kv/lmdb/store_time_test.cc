// SPDX-License-Identifier: MIT
// What a store's file remembers of the time, from one opening to the next.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sluice/kv.h>
#include <sys/file.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kv/lmdb/descriptor.h"
#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;
using test::TempDir;

// A store that is opened again goes on at most this much later than it stopped.
constexpr Duration kSlack = microseconds(100);

std::unique_ptr<Store> must_open(const TempDir& dir, const Clock& clock, LogSink log = {}) {
  auto store =
      open_lmdb({.dir = dir.path(), .map_bytes = 16 << 20, .clock = &clock, .log = std::move(log)});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

// Opens, asks and closes.
WallTime ask(const TempDir& dir, const Clock& clock) {
  return must_open(dir, clock)->now();
}

TEST(LmdbTime, goes_on_where_it_was_if_the_wall_clock_was_set_back) {
  const TempDir dir;
  ManualClock clock;
  WallTime last;
  {
    const auto store = must_open(dir, clock);
    for (int i = 0; i < 1000; ++i) {  // Steps within and beyond what is noted ahead.
      clock.advance(microseconds(1 + i));
      last = store->now();
    }
    clock.step_wall(-hours(1));
    EXPECT_EQ(store->now(), last);
  }
  const auto store = must_open(dir, clock);
  const WallTime first = store->now();
  EXPECT_GE(first, last);
  EXPECT_LE(first, last + kSlack);
  clock.advance(seconds(1));
  EXPECT_EQ(store->now(), first + seconds(1));
}

TEST(LmdbTime, follows_the_wall_clock_forwards_once_it_is_opened_again) {
  const TempDir dir;
  ManualClock clock;
  {
    const auto store = must_open(dir, clock);
    const WallTime before = store->now();
    clock.step_wall(hours(1));
    EXPECT_EQ(store->now(), before);
  }
  EXPECT_EQ(ask(dir, clock), clock.wall());
  clock.advance(hours(5));  // While nobody has it open.
  EXPECT_EQ(ask(dir, clock), clock.wall());
}

TEST(LmdbTime, never_runs_backwards_over_many_openings_under_an_unruly_wall_clock) {
  const TempDir dir;
  ManualClock clock;
  WallTime last = clock.wall();
  for (int round = 0; round < 100; ++round) {
    const auto store = must_open(dir, clock);
    for (int i = 0; i < 5; ++i) {
      const WallTime now = store->now();
      ASSERT_GE(now, last) << "round " << round;
      last = now;
      clock.step_wall(seconds((round * 7 + i * 13) % 41 - 20));
      clock.advance(microseconds(round * 3));
    }
  }
}

// The boot clock starts anew, so what it showed before means nothing.
TEST(LmdbTime, goes_on_after_a_reboot) {
  const TempDir dir;
  WallTime last;
  {
    const ManualClock before;
    before.advance(hours(100));
    last = ask(dir, before);
  }
  const ManualClock behind(last - hours(1));
  const WallTime first = ask(dir, behind);
  EXPECT_GE(first, last);
  EXPECT_LE(first, last + kSlack);
  const ManualClock ahead(last + hours(1));
  EXPECT_EQ(ask(dir, ahead), ahead.wall());
}

TEST(LmdbTime, a_wrong_date_is_forgotten_when_the_file_is_removed) {
  const TempDir dir;
  const ManualClock clock;
  const ManualClock wrong(clock.wall() + hours(24 * 365 * 50));
  EXPECT_EQ(ask(dir, wrong), wrong.wall());
  EXPECT_GE(ask(dir, clock), wrong.wall());
  std::filesystem::remove(dir / "bell");
  EXPECT_EQ(ask(dir, clock), clock.wall());
}

TEST(LmdbTime, a_file_of_another_layout_is_started_anew) {
  const ManualClock clock;
  for (const std::size_t bytes : {100u, 4224u, 10'000u}) {
    const TempDir dir;
    (void)ask(dir, clock);
    test::write_file(dir / "bell", "SlBell01" + std::string(bytes - 8, '\x7f'));
    EXPECT_EQ(ask(dir, clock), clock.wall()) << bytes;
    clock.advance(seconds(1));
    const auto store = must_open(dir, clock);
    EXPECT_EQ(store->now(), clock.wall()) << bytes;
    EXPECT_TRUE(store->run([](Transaction& txn) { return txn.put("k", "v"), Status(); })) << bytes;
  }
}

TEST(LmdbTime, a_file_of_another_layout_that_is_in_use_is_refused_and_left_alone) {
  const ManualClock clock;
  for (const std::size_t bytes : {0u, 100u, 4224u, 10'000u}) {
    const TempDir dir;
    (void)ask(dir, clock);
    const std::string other = ("SlBell01" + std::string(bytes, '\x7f')).substr(0, bytes);
    test::write_file(dir / "bell", other);
    {
      const Descriptor user(::open((dir / "bell").c_str(), O_RDWR | O_CLOEXEC));
      ASSERT_EQ(flock(user.get(), LOCK_SH), 0);
      const auto refused = open_lmdb({.dir = dir.path(), .clock = &clock});
      ASSERT_FALSE(refused) << bytes;
      EXPECT_EQ(refused.error().code(), Code::unavailable) << bytes;
    }
    EXPECT_EQ(test::read_file(dir / "bell"), other) << bytes;
    EXPECT_EQ(ask(dir, clock), clock.wall()) << bytes;
  }
}

TEST(LmdbTime, opening_warns_if_the_wall_clock_is_far_from_it) {
  const TempDir dir;
  ManualClock clock;
  std::vector<LogLevel> levels;
  const LogSink log = [&](LogLevel level, std::string_view) { levels.push_back(level); };
  (void)must_open(dir, clock, log)->now();
  clock.step_wall(-seconds(59));
  (void)must_open(dir, clock, log);
  EXPECT_TRUE(levels.empty());
  clock.step_wall(-seconds(2));
  (void)must_open(dir, clock, log);
  EXPECT_EQ(levels, std::vector<LogLevel>{LogLevel::warning});
}

}  // namespace
}  // namespace sluice::kv
