// SPDX-License-Identifier: MIT
// What a process that takes over lists again: nothing that was durable, and of the rest no more
// than what one commit holds.
#include <gtest/gtest.h>
#include <sluice/random.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <set>

#include "kv/fault_store.h"
#include "migrate/ledger_testing.h"
#include "migrate/sim_tree.h"
#include "tests/support/waiting.h"

namespace sluice::migrate {
namespace {

using testing::RunOptions;

/// A directory of a side, by its path: its number is another one if it is found anew.
using Place = std::pair<Side, std::string>;

/// The runs on one ledger, each of which ends when the store dies.
class Runs {
 public:
  Runs(std::uint64_t seed, const std::string& spec) : random_(seed), spec_(spec) {}

  /// Until one comes through.
  void run(const RunOptions& options) {
    for (int i = 0; i < 1'000; ++i)
      if (one_run(options)) return;
    ADD_FAILURE() << "it never ends";
  }

  /// Directories that were listed although they were durable.
  std::uint64_t repeated() const { return repeated_; }
  /// The most that one crash has cost.
  std::uint64_t redone_max() const { return redone_max_; }
  std::uint64_t crashes() const { return crashes_; }

 private:
  bool one_run(RunOptions options) {
    const Clock& clock = *options.traversal.clock;
    const auto src = open_sim_tree("sim:" + spec_, {.clock = clock}).value();
    const auto dst = open_sim_tree("sim:world=b," + spec_, {.clock = clock}).value();
    std::map<std::pair<Side, FolderId>, std::string> paths;
    std::set<Place> listed;
    options.probe.started = [&](const FolderTask& task) {
      const std::lock_guard lock(mutex_);
      paths[{task.side, task.id}] = task.path;
      if (durable_.contains({task.side, task.path})) ++repeated_;
      listed.emplace(task.side, task.path);
    };
    options.probe.durable = [&](const TaskName& task) {
      const std::lock_guard lock(mutex_);
      durable_.emplace(task.side, paths.at({task.side, task.id}));
    };
    store_.set_chance(kv::Fault::crash_lost, 0.05);
    const Status ran = testing::compare_trees(store_, *src, *dst, std::move(options));
    store_.clear_chances();
    if (!store_.down()) return ran.ok();
    store_.reopen();
    ++crashes_;
    std::uint64_t redone = 0;
    for (const Place& place : listed)
      if (!durable_.contains(place)) ++redone;
    redone_max_ = std::max(redone_max_, redone);
    return false;
  }

  SeededRandom random_;
  const std::string spec_;
  kv::FaultStore store_{{}, random_};
  std::mutex mutex_;
  std::set<Place> durable_;
  std::uint64_t repeated_ = 0;
  std::uint64_t redone_max_ = 0;
  std::uint64_t crashes_ = 0;
};

RunOptions options_of(unsigned threads, std::size_t commit_bytes, Duration commit_every) {
  RunOptions options = testing::quick(threads);
  options.traversal.commit_bytes = commit_bytes;
  options.traversal.commit_every = commit_every;
  return options;
}

constexpr Duration kNever = std::chrono::hours(24);
constexpr std::size_t kMuch = std::size_t{1} << 30;

TEST(Resume, what_was_durable_is_not_listed_again) {
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Runs runs(seed, "depth=3,folders=3-5,files=3");
    runs.run(options_of(1 + static_cast<unsigned>(seed % 4), 3'000, kNever));
    EXPECT_EQ(runs.repeated(), 0u) << "seed " << seed;
    crashes += runs.crashes();
  }
  EXPECT_GT(crashes, 10u);
}

TEST(Resume, with_a_commit_for_each_directory_one_is_listed_again) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Runs runs(seed, "depth=3,folders=3-5,files=3");
    runs.run(options_of(1, 1, kNever));
    EXPECT_GT(runs.crashes(), 0u);
    EXPECT_LE(runs.redone_max(), 1u) << "seed " << seed;
  }
}

/// Each takes 10 ms on this clock, so the third of them comes after a commit is due.
TEST(Resume, with_a_commit_every_20_ms_what_took_as_long_is_listed_again) {
  std::uint64_t most = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Runs runs(seed, "depth=3,folders=3-5,files=3,latency=10ms");
    const ManualClock clock;  // One thread never waits for another, which would move it.
    RunOptions options = options_of(1, kMuch, std::chrono::milliseconds(20));
    options.traversal.clock = &clock;
    runs.run(options);
    most = std::max(most, runs.redone_max());
    EXPECT_LE(runs.redone_max(), 3u) << "seed " << seed;
  }
  EXPECT_GT(most, 1u);
}

/// Knows when so many threads wait, and nobody has rung for any of them.
class RestClock final : public test::MachineClock {
 public:
  void wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
            MonoTime until) const override {
    std::list<Waiter>::iterator self;
    {
      const std::lock_guard lock(mutex_);
      self = waiters_.insert(waiters_.end(), {word, expected});
    }
    Clock::wait(word, expected, until);
    const std::lock_guard lock(mutex_);
    waiters_.erase(self);
  }
  bool rest(std::size_t threads) const {
    const std::lock_guard lock(mutex_);
    return waiters_.size() == threads && std::ranges::all_of(waiters_, [](const Waiter& waiter) {
             return waiter.word.load() == waiter.expected;
           });
  }

 private:
  struct Waiter {
    const std::atomic<std::uint32_t>& word;
    std::uint32_t expected;
  };
  mutable std::mutex mutex_;
  mutable std::list<Waiter> waiters_;
};

/// The least that a directory of the trees below counts for in a transaction.
constexpr std::size_t kChangeBytesMin = 300;

/// With several threads others go on while one commits, but not for ever: what a crash costs is at
/// most what four commits hold, and what is in their hands.
TEST(Resume, several_threads_find_no_more_than_four_commits_hold_while_one_takes_long) {
  constexpr unsigned kThreads = 3;
  constexpr std::size_t kCommitBytes = 10'000;
  constexpr std::size_t kInHand = kThreads * 8;
  constexpr std::size_t kFirst = kCommitBytes / kChangeBytesMin + kInHand;
  constexpr std::size_t kMost = kFirst + 4 * kCommitBytes / kChangeBytesMin + kInHand;
  const std::string spec = "depth=4,folders=6,files=3";
  const auto src = open_sim_tree("sim:" + spec, {.clock = system_clock()}).value();
  const auto dst = open_sim_tree("sim:world=b," + spec, {.clock = system_clock()}).value();
  const RestClock clock;
  std::atomic<std::size_t> started = 0;
  std::atomic<std::size_t> started_meanwhile = 0;
  std::atomic<bool> first = true;
  RunOptions options = options_of(kThreads, kCommitBytes, kNever);
  options.traversal.clock = &clock;
  options.probe.started = [&](const FolderTask&) { ++started; };
  options.probe.durable = [&](const TaskName&) {
    if (!first.exchange(false)) return;
    EXPECT_TRUE(test::wait_until([&] { return started > kMost || clock.rest(kThreads); }));
    started_meanwhile = started.load();
  };
  const auto store = kv::open_memory();
  ASSERT_EQ(testing::compare_trees(*store, *src, *dst, std::move(options)), Status());
  EXPECT_LE(started_meanwhile.load(), kMost);
  EXPECT_GT(started.load(), 4 * kMost) << "there was not enough to find";
}

}  // namespace
}  // namespace sluice::migrate
