// SPDX-License-Identifier: MIT
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "cli/visible.h"

namespace sluice::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ProgressState half_way() {
  return {.label = "enqueue", .done = 51'200, .total = 100'000, .per_second = 84'211.4};
}

TEST(ProgressLine, all_parts_with_the_bar_taking_what_is_left) {
  EXPECT_EQ(line(half_way(), 61), "enqueue [#######-------] 51,200/100,000 51%  84,211/s  ETA 1s");
  EXPECT_EQ(line(half_way(), 200),
            "enqueue [####################--------------------] 51,200/100,000 51%  84,211/s  "
            "ETA 1s");
}

TEST(ProgressLine, parts_are_left_out_as_the_terminal_narrows) {
  const struct {
    std::size_t width;
    std::string_view expected;
  } rows[] = {{57, "enqueue [#####-----] 51,200/100,000 51%  84,211/s  ETA 1s"},
              {56, "enqueue 51,200/100,000 51%  84,211/s  ETA 1s"},
              {44, "enqueue 51,200/100,000 51%  84,211/s  ETA 1s"},
              {43, "enqueue 51,200/100,000 51%  ETA 1s"},
              {34, "enqueue 51,200/100,000 51%  ETA 1s"},
              {33, "51,200/100,000 51%  ETA 1s"},
              {26, "51,200/100,000 51%  ETA 1s"},
              {25, "51,200/100,000 51%"},
              {18, "51,200/100,000 51%"},
              {17, "51%"},
              {3, "51%"},
              {2, ".."},
              {0, ""}};
  for (const auto& row : rows) EXPECT_EQ(line(half_way(), row.width), row.expected) << row.width;
}

TEST(ProgressLine, without_a_total_there_is_only_what_was_done) {
  const ProgressState state{
      .label = "import", .done = 1234, .total = std::nullopt, .per_second = 10};
  EXPECT_EQ(line(state, 80), "import 1,234  10/s");
  EXPECT_EQ(line(state, 12), "import 1,234");
  EXPECT_EQ(line(state, 11), "1,234");
  EXPECT_EQ(line(state, 4), "1...");
}

TEST(ProgressLine, a_hundred_percent_means_that_nothing_is_left) {
  const auto shown = [](std::uint64_t done, std::uint64_t total) {
    return line({.label = "", .done = done, .total = total, .per_second = 1}, 45);
  };
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(shown(0, 10), "[---------------------] 0/10 0%  1/s  ETA 10s");
  EXPECT_EQ(shown(10, 10), "[###########################] 10/10 100%  1/s");
  EXPECT_EQ(shown(12, 10), "[###########################] 12/10 100%  1/s");
  EXPECT_EQ(shown(0, 0), "[#############################] 0/0 100%  1/s");
  EXPECT_NE(shown(kMax - 1, kMax).find("99%"), std::string::npos);
  EXPECT_NE(line({.label = "", .done = kMax - 1, .total = kMax, .per_second = {}}, 90).find("#-]"),
            std::string::npos);
}

TEST(ProgressLine, rates_and_times_that_say_nothing_are_left_out) {
  const auto shown = [](std::optional<double> rate, std::uint64_t total) {
    return line({.label = "", .done = 0, .total = total, .per_second = rate}, 25);
  };
  EXPECT_EQ(shown(std::nullopt, 9), "[----------------] 0/9 0%");
  EXPECT_EQ(shown(0, 9), "[-----------] 0/9 0%  0/s");
  EXPECT_EQ(shown(-1, 9), "[----------------] 0/9 0%");
  EXPECT_EQ(shown(std::numeric_limits<double>::quiet_NaN(), 9), "[----------------] 0/9 0%");
  EXPECT_EQ(shown(std::numeric_limits<double>::infinity(), 9), "[----------------] 0/9 0%");
  EXPECT_EQ(shown(0.25, 9), "0/9 0%  0.3/s  ETA 36s");
  EXPECT_EQ(shown(9.96, 9), "0/9 0%  10/s  ETA 1s");
  EXPECT_EQ(shown(2, 999), "0/999 0%  2/s  ETA 8m20s");
  EXPECT_EQ(shown(1e-9, 9), "[-----------] 0/9 0%  0/s");
}

TEST(ProgressLine, a_hostile_label_is_shown_and_not_obeyed) {
  const ProgressState state{
      .label = "a\x1b[2J\n", .done = 1, .total = std::nullopt, .per_second = {}};
  EXPECT_EQ(line(state, 80), "a\\x1b[2J\\n 1");
}

TEST(RateMeter, knows_nothing_before_time_has_passed) {
  RateMeter rate;
  EXPECT_EQ(rate.per_second(), std::nullopt);
  rate.add(10, MonoTime(seconds(5)));
  EXPECT_EQ(rate.per_second(), std::nullopt);
  rate.add(20, MonoTime(seconds(5)));
  rate.add(30, MonoTime(seconds(4)));
  EXPECT_EQ(rate.per_second(), std::nullopt);
  rate.add(30, MonoTime(seconds(7)));
  EXPECT_DOUBLE_EQ(rate.per_second().value(), 10);
}

TEST(RateMeter, after_its_memory_the_old_rate_weighs_one_part_in_e) {
  for (int steps : {1, 10, 100}) {
    RateMeter rate;
    rate.add(0, MonoTime(seconds(0)));
    rate.add(1000, MonoTime(seconds(1)));
    for (int i = 1; i <= steps; ++i) rate.add(1000, MonoTime(seconds(1) + kRateMemory * i / steps));
    EXPECT_NEAR(rate.per_second().value(), 1000 * 0.36788, 0.01) << steps;
  }
}

TEST(RateMeter, falling_counts_as_standing_still) {
  RateMeter rate;
  rate.add(100, MonoTime(seconds(0)));
  rate.add(0, MonoTime(seconds(1)));
  EXPECT_DOUBLE_EQ(rate.per_second().value(), 0);
}

// What a bar writes, one entry for each call of its sink.
struct Screen {
  std::vector<std::string> written;
  ProgressBar::Sink sink() {
    return [this](std::string_view text) { written.emplace_back(text); };
  }
};

TEST(ProgressBar, draws_at_most_ten_times_a_second) {
  ManualClock clock;
  Screen screen;
  ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 1000, .width = 40});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    bar.update(i);
    clock.advance(milliseconds(1));
  }
  EXPECT_EQ(screen.written.size(), 10u);
  bar.update(1000);
  EXPECT_EQ(screen.written.size(), 11u);
}

TEST(ProgressBar, draws_again_after_the_interval_and_not_one_nanosecond_before) {
  ManualClock clock;
  Screen screen;
  ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 9, .width = 40});
  bar.update(1);
  clock.advance(kRedrawInterval - Duration(1));
  bar.update(2);
  EXPECT_EQ(screen.written.size(), 1u);
  clock.advance(Duration(1));
  bar.update(3);
  EXPECT_EQ(screen.written.size(), 2u);
}

TEST(ProgressBar, writes_over_its_own_line_and_leaves_the_last_column_free) {
  ManualClock clock;
  Screen screen;
  ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 100, .width = 30});
  clock.advance(seconds(1));
  bar.update(50);
  ASSERT_EQ(screen.written.size(), 1u);
  const std::string expected = line({.label = "x", .done = 50, .total = 100, .per_second = 50}, 29);
  EXPECT_EQ(screen.written[0], "\r" + expected + "\x1b[K");
}

TEST(ProgressBar, finish_leaves_the_last_state_and_the_mean_rate_on_a_line_of_its_own) {
  ManualClock clock;
  Screen screen;
  {
    ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 100, .width = 40});
    clock.advance(seconds(1));
    bar.update(90);
    clock.advance(seconds(4) - milliseconds(1));
    clock.advance(milliseconds(1));
    bar.update(99);
    bar.update(100);
    bar.finish();
    bar.finish();
    bar.update(101);
    bar.clear();
  }
  ASSERT_EQ(screen.written.size(), 3u);
  EXPECT_EQ(screen.written[2], "\rx [################] 100/100 100%  20/s\x1b[K\n");
}

TEST(ProgressBar, an_unfinished_bar_erases_itself) {
  ManualClock clock;
  Screen screen;
  {
    ProgressBar unseen(clock, screen.sink(), {.label = "x", .total = 100, .width = 40});
  }
  EXPECT_TRUE(screen.written.empty());
  {
    ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 100, .width = 40});
    bar.update(1);
  }
  ASSERT_EQ(screen.written.size(), 2u);
  EXPECT_EQ(screen.written[1], "\r\x1b[K");
}

TEST(ProgressBar, after_clear_the_next_update_draws_at_once) {
  ManualClock clock;
  Screen screen;
  ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 100, .width = 40});
  bar.update(1);
  bar.clear();
  bar.clear();
  EXPECT_EQ(screen.written.size(), 2u);
  bar.update(2);
  EXPECT_EQ(screen.written.size(), 3u);
}

TEST(ProgressBar, in_a_terminal_of_one_column_or_none_writes_at_most_one_character) {
  ManualClock clock;
  for (std::size_t width : {0u, 1u, 2u}) {
    Screen screen;
    ProgressBar bar(clock, screen.sink(), {.label = "x", .total = 100, .width = width});
    bar.finish();
    EXPECT_EQ(screen.written.at(0), "\r.\x1b[K\n");
  }
}

}  // namespace
}  // namespace sluice::cli
