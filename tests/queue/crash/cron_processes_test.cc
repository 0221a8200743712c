// SPDX-License-Identifier: MIT
// Two processes sweep one store while time passes one minute after the other, and one of them is
// killed now and then: one job per planned time.
#include <gtest/gtest.h>
#include <sluice/queue.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "tests/queue/crash/actor_path.h"
#include "tests/queue/crash/flow_plan.h"
#include "tests/queue/crash/stepped_clock.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;

// The store as this process sees it, and the two that sweep it.
class Ticks {
 public:
  Ticks() : clock_(dir_ / "clock") {
    open();
    const auto put = queues_->put_schedule(
        {.queue = kTickQueue, .name = kTickName, .cron = "* * * * *", .job = {}});
    EXPECT_TRUE(put.ok()) << put.to_string();
    start();
  }

  // Time goes on until `late` after (before, if negative) the planned time `ahead` minutes after
  // the next, and the processes do what there is to do. The planned time that this is about.
  WallTime leap(int ahead, Duration late) {
    const WallTime wanted = *schedule().next + minutes(ahead);
    clock_.suspend(wanted + late - store_->now());
    return wanted;
  }

  // Waits until that time has been dealt with.
  bool wait_for(WallTime planned) {
    return wait_until([&] { return schedule().planned >= planned; }, microseconds(300));
  }

  // The wall clock, which those who have the store open must not follow.
  void set_wall(Duration wrong_by) { clock_.set_wrong_by(wrong_by); }

  void kill_one(std::size_t which) {
    std::vector<Child> others;
    for (std::size_t i = 0; i < sweepers_.size(); ++i) {
      if (i != which) {
        others.push_back(std::move(sweepers_[i]));
        continue;
      }
      sweepers_[i].kill();
      for (const std::string& line : sweepers_[i].read_lines()) fired_ += line == "fired" ? 1 : 0;
      EXPECT_EQ(sweepers_[i].wait().signal, SIGKILL);
      ++kills_;
    }
    sweepers_.swap(others);
  }

  void start() {
    while (sweepers_.size() < 2) {
      sweepers_.emplace_back(
          std::vector<std::string>{actor_path(), "fire", dir_ / "store", dir_ / "clock"});
      EXPECT_EQ(sweepers_.back().read_line(), "going");
    }
  }

  // Nobody has the store open while the wall clock goes on by so much.
  void sleep_closed(Duration lasts) {
    kill_one(0);
    kill_one(0);
    queues_.reset();
    store_.reset();
    clock_.set_wrong_by(lasts);
    open();
    start();
  }

  std::vector<WallTime> planned_times() {
    std::vector<WallTime> times;
    std::string after;
    do {
      const auto page = queues_->list({.queue = kTickQueue, .after = after, .limit = 1'000});
      EXPECT_TRUE(page) << status_of(page).to_string();
      for (const queue::Job& job : page->jobs) {
        EXPECT_EQ(job.schedule, kTickName);
        times.push_back(job.planned.value());
      }
      after = page->next;
    } while (!after.empty());
    return times;
  }

  queue::Schedule schedule() {
    const auto schedule = queues_->get_schedule(kTickQueue, kTickName);
    EXPECT_TRUE(schedule) << status_of(schedule).to_string();
    return *schedule;
  }

  WallTime now() const { return store_->now(); }
  std::uint64_t kills() const { return kills_; }
  /// What those that were killed said they had fired.
  std::uint64_t fired() const { return fired_; }

  queue::VerifyReport verify() {
    const auto report = queue::verify(*store_);
    EXPECT_TRUE(report) << status_of(report).to_string();
    return *report;
  }

 private:
  void open() {
    auto store = kv::open_lmdb(
        {.dir = dir_ / "store", .map_bytes = std::uint64_t{512} << 20, .clock = &clock_});
    EXPECT_TRUE(store) << status_of(store).to_string();
    store_ = std::move(*store);
    auto queues = queue::Queues::open(*store_);
    EXPECT_TRUE(queues) << status_of(queues).to_string();
    queues_ = std::move(*queues);
  }

  TempDir dir_;
  SteppedClock clock_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<queue::Queues> queues_;
  std::vector<Child> sweepers_;
  std::uint64_t kills_ = 0;
  std::uint64_t fired_ = 0;
};

TEST(QueueCronProcesses, one_job_per_planned_time) {
  const std::uint64_t rounds = RunSize{10, 120, 3'000}.pick();
  const std::uint64_t seed = seed_or(SystemRandom().next() >> 32);
  std::cout << "run again: SLUICE_SEED=" << seed << " with the same filter" << std::endl;
  SeededRandom random(seed);
  Ticks ticks;
  std::vector<WallTime> wanted;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ticks.set_wall(hours(random.below(5)) - hours(2));
    // They live to see the time come, or find that it and perhaps others have gone by.
    if (random.chance(0.5))
      wanted.push_back(ticks.leap(0, -microseconds(random.below(2'000))));
    else
      wanted.push_back(ticks.leap(static_cast<int>(random.below(4)), milliseconds(1)));
    if (random.chance(0.3)) {
      pause(microseconds(random.below(2'500)));
      ticks.kill_one(random.below(2));
    }
    ASSERT_TRUE(ticks.wait_for(wanted.back())) << "nobody fired in round " << round;
    ticks.start();
  }
  ticks.sleep_closed(hours(5));
  ASSERT_TRUE(ticks.wait_for(wanted.back() + hours(2)));
  wanted.push_back(*ticks.schedule().planned);
  EXPECT_GT(wanted.back(), ticks.now() - minutes(2)) << "the last that was missed";
  for (int turn = 0; turn < 2; ++turn) ticks.kill_one(0);
  EXPECT_EQ(ticks.planned_times(), wanted);
  const queue::Schedule schedule = ticks.schedule();
  EXPECT_EQ(schedule.fired, wanted.size());
  EXPECT_EQ(schedule.skipped, 0u);
  // A kill may have come between a commit and the word about it.
  EXPECT_LE(ticks.fired(), wanted.size());
  EXPECT_GE(ticks.fired() + ticks.kills(), wanted.size());
  const queue::VerifyReport report = ticks.verify();
  EXPECT_TRUE(report.clean()) << report.to_text();
  print_figure("queue.crash.planned_times", wanted.size());
  print_figure("queue.crash.cron_kills", ticks.kills());
}

}  // namespace
}  // namespace sluice::test
