// SPDX-License-Identifier: MIT
#include "migrate/traversal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "kv/conformance/engines.h"
#include "migrate/begin.h"
#include "migrate/ledger_testing.h"
#include "migrate/own_descriptors.h"
#include "migrate/sim_tree.h"
#include "migrate/walk.h"
#include "tests/support/waiting.h"

namespace sluice::migrate {
namespace {

using testing::compare_trees;
using testing::dump;
using testing::everything;
using testing::problems;
using testing::quick;
using testing::RunOptions;
using testing::tally;
using testing::Trees;
namespace fs = std::filesystem;

/// Two worlds of the simulator, as one spec says.
struct Worlds {
  explicit Worlds(const std::string& spec, const std::string& faults = "") {
    const SimSeams seams{.clock = system_clock()};
    src = open_sim_tree("sim:world=src," + spec + faults, seams).value();
    dst = open_sim_tree("sim:world=b,presence=0.8,differ=0.2," + spec + faults, seams).value();
  }
  std::unique_ptr<Tree> src;
  std::unique_ptr<Tree> dst;
};

Status compare_worlds(kv::Store& store, Worlds& worlds, RunOptions options = quick()) {
  return compare_trees(store, *worlds.src, *worlds.dst, std::move(options));
}

std::string dump_of(Worlds worlds, RunOptions options = quick()) {
  const auto store = kv::open_memory();
  EXPECT_EQ(compare_worlds(*store, worlds, std::move(options)), Status());
  EXPECT_EQ(problems(*store), "");
  return dump(*store);
}

/// Paths that walk() tells of a side.
std::set<std::string> walked(kv::Store& store, Side side) {
  std::set<std::string> paths;
  EXPECT_TRUE(walk(store, {}, [&](const WalkItem& item) {
                const Entry* entry = side == Side::src ? item.src : item.dst;
                if (entry != nullptr && item.path != ".") paths.emplace(item.path);
                return true;
              }).ok());
  return paths;
}

std::set<std::string> on_disk(const std::string& root, const std::set<std::string>& closed) {
  std::set<std::string> paths;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
       ++it) {
    const std::string path = it->path().lexically_relative(root).string();
    paths.insert(path);
    if (closed.contains(path)) it.disable_recursion_pending();
  }
  return paths;
}

std::set<std::string> only_in_one(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> found;
  std::ranges::set_symmetric_difference(a, b, std::inserter(found, found.end()));
  return found;
}

// ------------------------------------------------------------------------------- on every engine

class TraversalOn : public ::testing::TestWithParam<kv::EngineKind> {};

TEST_P(TraversalOn, the_ledger_has_what_is_on_both_disks) {
  const auto opened = kv::open_engine(GetParam());
  const auto trees = everything();
  ASSERT_EQ(compare_trees(*opened.store, *trees), Status());
  EXPECT_EQ(only_in_one(walked(*opened.store, Side::src),
                        on_disk(trees->dir / "src", {"locked", "folder.tmp"})),
            std::set<std::string>());
  EXPECT_EQ(only_in_one(walked(*opened.store, Side::dst),
                        on_disk(trees->dir / "dst", {"locked", "sealed", "folder.tmp", "extras"})),
            std::set<std::string>());
}

TEST_P(TraversalOn, a_finished_ledger_is_clean) {
  const auto opened = kv::open_engine(GetParam());
  const auto trees = everything();
  ASSERT_EQ(compare_trees(*opened.store, *trees), Status());
  EXPECT_EQ(problems(*opened.store), "");
}

TEST_P(TraversalOn, made_up_trees_are_as_on_any_other_engine) {
  const auto opened = kv::open_engine(GetParam());
  Worlds worlds("seed=3,depth=3");
  ASSERT_EQ(compare_worlds(*opened.store, worlds), Status());
  EXPECT_EQ(dump(*opened.store), dump_of(Worlds("seed=3,depth=3")));
}

INSTANTIATE_TEST_SUITE_P(, TraversalOn,
                         ::testing::Values(kv::EngineKind::memory_serial, kv::EngineKind::lmdb),
                         [](const auto& engine) { return kv::engine_name(engine.param); });

// -----------------------------------------------------------------------------------------
// verdicts

std::map<std::string, std::string> verdicts(kv::Store& store) {
  std::map<std::string, std::string> found;
  EXPECT_TRUE(walk(store, {.descend = false}, [&](const WalkItem& item) {
                found.emplace(item.path, verdict_name(item.found.verdict));
                return true;
              }).ok());
  return found;
}

TEST(Traversal, each_name_has_the_verdict_that_its_two_entries_ask_for) {
  const auto store = kv::open_memory();
  const auto trees = everything();
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  const std::map<std::string, std::string> expected{{".", "same"},
                                                    {"attributes", "attributes"},
                                                    {"big", "same"},
                                                    {"clash_file", "clash"},
                                                    {"clash_folder", "clash"},
                                                    {"content", "content"},
                                                    {"deep", "same"},
                                                    {"extra", "extra"},
                                                    {"extras", "extra"},
                                                    {"folder.tmp", "excluded"},
                                                    {"kept.tmp", "excluded"},
                                                    {"link", "missing"},
                                                    {"locked", "unknown"},
                                                    {"missing", "missing"},
                                                    {"same", "same"},
                                                    {"sealed", "unknown"}};
  EXPECT_EQ(verdicts(*store), expected);
}

TEST(Traversal, what_is_only_on_the_destination_is_never_opened) {
  const auto store = kv::open_memory();
  const auto trees = everything();
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_FALSE(trees->dst->take_lists().contains("extras"));
}

TEST(Traversal, what_is_only_on_the_source_is_listed_there_whole_and_not_looked_for) {
  const auto store = kv::open_memory();
  const auto trees = everything();
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_TRUE(trees->src->take_lists().contains("deep/er/missing/and"));
  EXPECT_FALSE(trees->dst->take_lists().contains("deep/er/missing"));
}

TEST(Traversal, a_destination_that_is_not_there_counts_as_empty) {
  const auto store = kv::open_memory();
  Worlds worlds("depth=2");
  class Absent final : public Tree {
   public:
    Fault list(std::string_view, const FolderStamp&, Listing&, const PageSink&) override {
      ADD_FAILURE() << "listed";
      return {.error = ENOENT};
    }
    Fault stat_root(Listing&) override { return {.error = ENOENT}; }
    Fault hash(std::string_view, const Entry&, Hash&) override { return {.error = ENOENT}; }
    std::string name() const override { return "absent"; }
  } absent;
  ASSERT_EQ(compare_trees(*store, *worlds.src, absent), Status());
  EXPECT_EQ(problems(*store), "");
  EXPECT_EQ(walked(*store, Side::dst), std::set<std::string>());
  EXPECT_EQ(tally(*store, Tally::verdict, static_cast<std::uint8_t>(Verdict::missing)),
            static_cast<std::int64_t>(walked(*store, Side::src).size()) + 1);  // The root itself.
}

TEST(Traversal, contents_are_read_where_only_they_can_tell) {
  testing::Trees trees;
  trees.settings.rules.checksum = true;
  trees.both("same", "abcd");
  trees.both("other", "abcd");
  trees.file("dst", "other", "abce");
  const auto store = kv::open_memory();
  ASSERT_EQ(compare_trees(*store, trees), Status());
  EXPECT_EQ(verdicts(*store).at("same"), "same");
  EXPECT_EQ(verdicts(*store).at("other"), "content");
  EXPECT_EQ(problems(*store), "");
}

// ------------------------------------------------------------------------------- threads, commits

TEST(Traversal, the_outcome_is_the_same_with_any_number_of_threads) {
  const std::string one = dump_of(Worlds("seed=5,depth=3"), quick(1));
  for (const unsigned threads : {2u, 3u, 8u})
    EXPECT_EQ(dump_of(Worlds("seed=5,depth=3"), quick(threads)), one) << threads;
}

TEST(Traversal, the_outcome_is_the_same_with_a_commit_for_each_directory) {
  RunOptions options = quick(3);
  options.traversal.commit_bytes = 1;
  options.traversal.commit_every = {};
  EXPECT_EQ(dump_of(Worlds("seed=6,depth=2"), std::move(options)),
            dump_of(Worlds("seed=6,depth=2")));
}

/// Threads that list meet here, if as many as may do so while one commits.
class Meeting {
 public:
  explicit Meeting(int wanted) : wanted_(wanted) {}

  void commit() {
    std::unique_lock lock(mutex_);
    if (std::exchange(committing_, true)) return;
    in_vain_ = !changed_.wait_for(lock, test::patience(), [this] { return met_; });
    changed_.notify_all();
  }
  void list() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    met_ = met_ || (committing_ && inside_ == wanted_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !committing_ || met_ || in_vain_; });
    // A moment for one too many.
    changed_.wait_for(lock, std::chrono::milliseconds(1), [this] { return inside_ > wanted_; });
    --inside_;
  }
  bool met() const { return met_; }
  int most() const { return most_; }

 private:
  const int wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool committing_ = false;
  bool met_ = false;
  bool in_vain_ = false;
  int inside_ = 0;
  int most_ = 0;
};

TEST(Traversal, as_many_as_may_list_while_one_commits) {
  Trees trees;
  for (int i = 0; i < 50; ++i) trees.folder("src", "folder-" + std::to_string(i));
  Meeting meeting(2);
  RunOptions options = quick(2);
  options.traversal.commit_every = Duration::zero();
  options.probe.started = [&](const FolderTask&) { meeting.list(); };
  options.probe.durable = [&](const TaskName&) { meeting.commit(); };
  const auto store = kv::open_memory();
  ASSERT_EQ(compare_trees(*store, trees, std::move(options)), Status());
  EXPECT_TRUE(meeting.met());
  EXPECT_EQ(meeting.most(), 2);
}

/// Whether the first thread of this process has what the calling one opens.
bool shares_descriptors() {
  const Descriptor fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return access(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), F_OK) == 0;
}

TEST(Traversal, threads_that_list_have_descriptors_of_their_own_if_they_are_to) {
  bool possible = false;
  std::jthread([&] { possible = take_own_descriptors(); }).join();
  if (!possible) GTEST_SKIP() << "not allowed here, or ThreadSanitizer would not understand";
  for (const unsigned threads : {1u, 3u})
    for (const bool own : {false, true}) {
      const auto trees = everything();
      std::atomic<int> shared = 0;
      std::atomic<int> all = 0;
      RunOptions options = quick(threads);
      options.traversal.own_descriptors = own;
      options.probe.started = [&](const FolderTask&) {
        ++all;
        if (shares_descriptors()) ++shared;
      };
      const auto store = kv::open_memory();
      ASSERT_EQ(compare_trees(*store, *trees, std::move(options)), Status());
      EXPECT_GT(all, 5);
      EXPECT_EQ(shared, own ? 0 : all.load()) << threads << " threads";
      EXPECT_EQ(problems(*store), "");
    }
}

TEST(Traversal, a_finished_ledger_is_not_listed_again) {
  const auto store = kv::open_memory();
  const auto trees = everything();
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  trees->src->take_lists();
  trees->dst->take_lists();
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_TRUE(trees->src->take_lists().empty());
  EXPECT_TRUE(trees->dst->take_lists().empty());
}

TEST(Traversal, other_trees_or_rules_are_refused_with_the_difference) {
  const auto store = kv::open_memory();
  testing::Trees trees;
  ASSERT_EQ(compare_trees(*store, trees), Status());
  trees.settings.rules.checksum = true;
  const Status refused = compare_trees(*store, trees);
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_NE(refused.message().find("--checksum: off in the ledger, on now"), std::string::npos);
}

// ----------------------------------------------------------------------------- large directories

TEST(Traversal, more_folders_than_one_transaction_makes_pending_are_all_listed) {
  const std::string spec = "depth=1,folders=" + std::to_string(2 * kChildrenMax + 1) + ",files=0";
  const auto store = kv::open_memory();
  Worlds worlds(spec);
  ASSERT_EQ(compare_worlds(*store, worlds), Status());
  EXPECT_EQ(problems(*store), "");
  EXPECT_EQ(tally(*store, Tally::src, static_cast<std::uint8_t>(TraversalStatus::successful)),
            static_cast<std::int64_t>(2 * kChildrenMax + 2));
}

TEST(Traversal, folders_that_do_not_fit_in_memory_are_pulled_from_the_ledger) {
  const std::string spec = "depth=2,folders=110,files=0";
  static_assert(110 * 110 > kTasksMax + kTasksMax / 4);
  EXPECT_EQ(dump_of(Worlds(spec), quick(1)), dump_of(Worlds(spec), quick(3)));
}

TEST(Traversal, a_listing_larger_than_its_memory_has_the_same_outcome) {
  RunOptions options = quick();
  options.traversal.listing_bytes_max = 10'000;
  const std::string spec = "depth=1,folders=3,files=3000,page=100";
  EXPECT_EQ(dump_of(Worlds(spec), std::move(options)), dump_of(Worlds(spec)));
}

TEST(Traversal, listings_that_spill_and_then_fail_leave_nothing_behind) {
  RunOptions options = quick();
  options.traversal.listing_bytes_max = 10'000;
  options.traversal.attempts_max = 2;
  const auto store = kv::open_memory();
  Worlds worlds("depth=1,folders=30,files=1000,page=100", ",errors=0.5,heal=9,mutate=0.3");
  ASSERT_EQ(compare_worlds(*store, worlds, std::move(options)), Status());
  EXPECT_GT(tally(*store, Tally::src, static_cast<std::uint8_t>(TraversalStatus::failed)), 0);
  EXPECT_EQ(problems(*store), "");
}

}  // namespace
}  // namespace sluice::migrate
