// SPDX-License-Identifier: MIT
// Scenarios that are made up from a seed: two worlds, folders that fail and change, a store that
// dies, runs that are stopped. Whatever happens, what the ledger says in the end is what a run says
// that nobody disturbed, and it proves itself at every stop on the way.
#include <gtest/gtest.h>
#include <sluice/random.h>

#include <cstdlib>
#include <iostream>

#include "kv/fault_store.h"
#include "migrate/ledger_testing.h"
#include "migrate/retry.h"
#include "migrate/sim_tree.h"
#include "tests/support/run_size.h"

namespace sluice::migrate {
namespace {

using testing::compare_trees;
using testing::dump;
using testing::problems;
using testing::RunOptions;

/// What strikes a transaction. Conflicts are settled by the store itself.
constexpr kv::Fault kFaults[] = {kv::Fault::conflict,     kv::Fault::full,
                                 kv::Fault::io_error,     kv::Fault::unknown_applied,
                                 kv::Fault::unknown_lost, kv::Fault::crash_lost,
                                 kv::Fault::crash_applied};

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

/// Everything that a seed decides. With several threads the order of things is the machine's.
class Scenario {
 public:
  explicit Scenario(std::uint64_t seed)
      : random_(seed), store_random_(random_.next()), store_({}, store_random_) {
    // Some have few folders, each of which is written in many transactions: one that is hit among
    // these begins anew, so the store fails less often.
    const bool large = random_.below(8) == 0;
    const std::uint64_t folders = 1 + random_.below(4);
    const std::uint64_t files = random_.below(large ? 400 : 12);
    shape_ = "seed=" + number(1 + random_.below(1'000'000)) +
             ",depth=" + number(random_.below(large ? 2 : 5)) +
             ",folders=" + number(random_.below(folders + 1)) + "-" + number(folders) +
             ",files=" + number(files / 2) + "-" + number(files) +
             ",page=" + number(1 + random_.below(50));
    other_ = ",world=b,presence=" + tenths(5, 10) + ",differ=" + tenths(0, 4);
    for (std::string* faults : {&src_faults_, &dst_faults_})
      *faults = ",errors=" + tenths(0, 4) + ",heal=" + number(random_.below(5)) +
                ",mutate=" + tenths(0, 4);
    threads_ = static_cast<unsigned>(1 + random_.below(4));
    commit_bytes_ = std::size_t{1} << random_.below(16);
    listing_bytes_ = std::size_t{large ? 4'000u : 400u} << random_.below(7);
    tasks_max_ = 4 + random_.below(60);
    if (random_.below(4) == 0) lead_ = static_cast<std::uint32_t>(random_.below(4));
    chance_ = (large ? 0.0005 : 0.002) * static_cast<double>(random_.below(16));
  }

  std::string run() {
    const std::string expected = undisturbed();
    run_to_an_end(true);
    // Now and then everything once more, over what the first sweep has found.
    if (random_.below(3) == 0) {
      mark({.all = true});
      run_to_an_end(true);
    }
    // The faults of the trees are mended, and whoever looks after it says so.
    mark({.failed = true});
    run_to_an_end(false);
    if (failure_.empty() && dump(store_) != expected) failure_ = "the outcome is another one";
    return failure_;
  }

  std::uint64_t restarts() const { return restarts_; }
  std::uint64_t struck() const {
    std::uint64_t count = 0;
    for (const kv::Fault fault : kFaults) count += store_.count(fault);
    return count;
  }

 private:
  std::string tenths(std::uint64_t least, std::uint64_t most) {
    return std::to_string(0.1 * static_cast<double>(least + random_.below(most - least + 1)));
  }

  std::unique_ptr<Tree> open(const std::string& spec) {
    return open_sim_tree("sim:" + shape_ + spec, {.clock = system_clock()}).value();
  }

  RunOptions options() {
    RunOptions options = testing::quick(threads_);
    options.traversal.commit_bytes = commit_bytes_;
    options.traversal.listing_bytes_max = listing_bytes_;
    options.traversal.gate = {.lead = lead_, .lead_max = 10, .tasks_max = tasks_max_};
    return options;
  }

  std::string undisturbed() {
    const auto store = kv::open_memory();
    const auto src = open("");
    const auto dst = open(other_);
    const Status ran = compare_trees(*store, *src, *dst, testing::quick(1));
    if (!ran.ok()) failure_ = "without faults: " + ran.to_string();
    return dump(*store);
  }

  /// A run after another, each as a process that has just begun, until one comes through.
  void run_to_an_end(bool trees_fail) {
    for (int runs = 0; failure_.empty(); ++runs) {
      if (runs == 3'000) failure_ = "it never ends";
      if (one_run(trees_fail)) return;
      ++restarts_;
    }
  }

  bool one_run(bool trees_fail) {
    const auto src = open(trees_fail ? src_faults_ : "");
    const auto dst = open(other_ + (trees_fail ? dst_faults_ : ""));
    for (const kv::Fault fault : kFaults) store_.set_chance(fault, chance_);
    std::stop_source stop;
    RunOptions wish = options();
    wish.stop = stop.get_token();
    std::atomic<std::uint64_t> left = random_.below(3) == 0 ? random_.below(60) : UINT64_MAX;
    wish.probe.started = [&](const FolderTask&) {
      if (left-- == 0) stop.request_stop();
    };
    const Status ran = compare_trees(store_, *src, *dst, std::move(wish));
    revive();
    return ran.ok();
  }

  void mark(const RetryWish& wish) {
    while (failure_.empty()) {
      for (const kv::Fault fault : kFaults) store_.set_chance(fault, chance_);
      const auto marked = mark_for_retry(store_, wish);
      revive();
      // Nothing has failed: there is nothing to mark.
      if (marked || marked.error().code() == Code::not_found) return;
      // A mark that was half set is a run that is not finished: it goes on first.
      if (marked.error().code() == Code::conflict) return;
    }
  }

  /// The next process finds the store as it is on the disk.
  void revive() {
    store_.clear_chances();
    if (store_.down()) store_.reopen();
    if (testing::rows_of(store_).empty()) return;  // Before the first commit.
    if (const std::string found = problems(store_); !found.empty()) failure_ = found;
  }

  SeededRandom random_;
  SeededRandom store_random_;
  kv::FaultStore store_;
  std::string shape_, other_, src_faults_, dst_faults_;
  unsigned threads_ = 1;
  std::size_t commit_bytes_ = 0;
  std::size_t listing_bytes_ = 0;
  std::size_t tasks_max_ = 0;
  std::optional<std::uint32_t> lead_;
  double chance_ = 0;
  std::uint64_t restarts_ = 0;
  std::string failure_;
};

TEST(Soak, whatever_happens_the_outcome_is_that_of_a_run_that_nobody_disturbed) {
  const bool one = std::getenv("SLUICE_SEED") != nullptr;
  const std::uint64_t first = test::seed_or(1);
  const std::uint64_t scenarios = one ? 1 : test::RunSize{10, 100, 10'000}.pick();
  std::uint64_t restarts = 0;
  std::uint64_t struck = 0;
  for (std::uint64_t seed = first; seed < first + scenarios; ++seed) {
    Scenario scenario(seed);
    const std::string failure = scenario.run();
    ASSERT_EQ(failure, "") << "again: SLUICE_SEED=" << seed
                           << " migrate_test --gtest_filter='Soak.*' --gtest_repeat=20";
    restarts += scenario.restarts();
    struck += scenario.struck();
  }
  // Else it was no soak.
  EXPECT_TRUE(one || restarts > scenarios) << restarts;
  test::print_figure("migrate.soak_scenarios", scenarios);
  test::print_figure("migrate.soak_restarts", restarts);
  test::print_figure("migrate.soak_faults_of_the_store", struck);
}

}  // namespace
}  // namespace sluice::migrate
