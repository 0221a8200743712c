// SPDX-License-Identifier: MIT
// Time that passes only when nobody has anything to do: a run takes, on this clock, what the trees
// make it wait for, and a worker that looks at the time to see whether there is work is noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "migrate/ledger_testing.h"
#include "migrate/sim_tree.h"

namespace sluice::migrate {
namespace {

using std::chrono::milliseconds;

/// For so many threads, none of which waits for another but through this clock. When all of them
/// wait, and nobody can wake anybody, it is at once as late as the first of them waits for.
class IdleClock final : public Clock {
 public:
  explicit IdleClock(unsigned threads) : threads_(threads) {}

  WallTime wall() const override { return WallTime(mono().time_since_epoch()); }
  MonoTime mono() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep_for(Duration duration, std::stop_token /*stop*/) const override {
    const MonoTime until = mono() + duration;
    for (;;) {
      const std::uint32_t heard = ticks_.load();
      if (mono() >= until) return;
      wait_for(ticks_, heard, until);
    }
  }
  void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
            MonoTime until) const override {
    const bool timed = until < MonoTime(kNever);
    if (timed) ++timed_waits_;
    wait_for(word, expected, timed ? until : MonoTime::max());
  }

  /// Since it began to run.
  Duration passed() const { return mono() - MonoTime(); }
  /// Waits for work that would have ended without any.
  std::uint64_t timed_waits() const { return timed_waits_; }

 private:
  static constexpr Duration kNever = std::chrono::hours(24 * 365);
  struct Waiter {
    const std::atomic<std::uint32_t>& word;
    std::uint32_t expected;
    MonoTime until;
  };

  void wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                MonoTime until) const {
    std::list<Waiter>::iterator self;
    {
      const std::lock_guard lock(mutex_);
      self = waiters_.insert(waiters_.end(), {word, expected, until});
      pass_time();
    }
    Clock::wait(word, expected, MonoTime::max());
    const std::lock_guard lock(mutex_);
    waiters_.erase(self);
  }

  /// Whoever is not here, or has been rung for, is at work, and comes here at its end.
  void pass_time() const {
    if (waiters_.size() < threads_) return;
    MonoTime first = MonoTime::max();
    for (const Waiter& waiter : waiters_) {
      if (waiter.word.load() != waiter.expected) return;
      first = std::min(first, waiter.until);
    }
    SLUICE_CHECK(first < MonoTime::max());  // Else everybody waits for ever.
    now_ = std::max(now_, first);
    ++ticks_;
    Clock::wake(ticks_);
    for (const Waiter& waiter : waiters_)
      if (waiter.until <= now_) Clock::wake(waiter.word);
  }

  const unsigned threads_;
  mutable std::mutex mutex_;
  mutable MonoTime now_;
  mutable std::list<Waiter> waiters_;
  mutable std::atomic<std::uint32_t> ticks_ = 0;
  mutable std::atomic<std::uint64_t> timed_waits_ = 0;
};

struct Shape {
  std::uint32_t depth = 0;
  std::uint64_t folders = 0;

  std::string spec(const std::string& rest) const {
    return "sim:depth=" + std::to_string(depth) + ",folders=" + std::to_string(folders) +
           ",files=2," + rest;
  }
};

/// How many calls one after another the destination needs if so many can be under way at once: each
/// folder is one call, and can be made when that of its parent has returned.
std::int64_t critical_steps(const Shape& shape, std::uint64_t workers) {
  std::vector<std::uint64_t> known(shape.depth + 1);
  known[0] = 1;
  for (std::int64_t steps = 0;; ++steps) {
    std::vector<std::uint64_t> found(known.size());
    std::uint64_t free = workers;
    for (std::size_t level = 0; level < known.size(); ++level) {
      const std::uint64_t now = std::min(free, known[level]);
      free -= now;
      known[level] -= now;
      if (level + 1 < known.size()) found[level + 1] = now * shape.folders;
    }
    if (free == workers) return steps;
    for (std::size_t level = 0; level < known.size(); ++level) known[level] += found[level];
  }
}

struct Took {
  std::int64_t latencies = 0;  ///< The time that it took, in latencies.
  std::uint64_t timed_waits = 0;
};

Took run(const Shape& shape, const std::string& src, const std::string& dst, unsigned threads,
         GateRules gate = {}) {
  constexpr Duration kLatency = milliseconds(10);
  const IdleClock clock(threads > 1 ? threads + 1 : 1);  // One more, for the time of a commit.
  const SimSeams seams{.clock = clock};
  const auto store = kv::open_memory();
  const auto src_tree = open_sim_tree(shape.spec("world=src" + src), seams).value();
  const auto dst_tree = open_sim_tree(shape.spec("world=dst" + dst), seams).value();
  testing::RunOptions options = testing::quick(threads);
  options.traversal.clock = &clock;
  options.traversal.gate = gate;
  EXPECT_EQ(testing::compare_trees(*store, *src_tree, *dst_tree, std::move(options)), Status());
  EXPECT_EQ(testing::problems(*store), "");
  return {.latencies = clock.passed() / kLatency, .timed_waits = clock.timed_waits()};
}

constexpr const char* kSlow = ",latency=10ms";

TEST(Idle, a_slow_destination_takes_little_more_than_its_critical_path) {
  const Shape shape{.depth = 3, .folders = 11};  // 1,464 folders.
  for (const unsigned threads : {1u, 4u, 64u}) {
    const std::int64_t least = critical_steps(shape, threads);
    const Took ended = run(shape, "", kSlow, threads);
    EXPECT_GE(ended.latencies, least) << threads;
    EXPECT_LE(ended.latencies * 10, least * 12) << threads;
  }
}

TEST(Idle, both_sides_wait_at_the_same_time_if_both_are_slow) {
  const Shape shape{.depth = 3, .folders = 11};
  const std::int64_t one = critical_steps(shape, 64);
  // Twice the calls, and the destination a call behind.
  EXPECT_LE(run(shape, kSlow, kSlow, 64).latencies * 10, (2 * one + 1) * 12);
}

TEST(Idle, a_chain_takes_a_call_for_each_folder) {
  const Shape shape{.depth = 200, .folders = 1};
  EXPECT_EQ(run(shape, "", kSlow, 8).latencies, 201);
  EXPECT_EQ(run(shape, kSlow, kSlow, 8).latencies, 202);
}

TEST(Idle, nobody_wakes_up_by_the_clock_to_see_whether_there_is_work) {
  for (const unsigned threads : {2u, 64u}) {
    EXPECT_EQ(run({.depth = 2, .folders = 7}, kSlow, kSlow, threads).timed_waits, 0u);
    EXPECT_EQ(run({.depth = 20, .folders = 1}, "", kSlow, threads).timed_waits, 0u);
    EXPECT_EQ(run({.depth = 3, .folders = 4}, kSlow, kSlow, threads, {.lead = 1, .lead_max = 2})
                  .timed_waits,
              0u);
  }
}

}  // namespace
}  // namespace sluice::migrate
