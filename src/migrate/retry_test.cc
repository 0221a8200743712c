// SPDX-License-Identifier: MIT
// Listing again what is in a ledger already.
#include <gtest/gtest.h>

#include <sluice/random.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "migrate/ledger_testing.h"
#include "migrate/retry.h"
#include "migrate/sim_tree.h"

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
using Paths = std::set<std::string>;

std::string fresh_dump(Trees& trees) {
  const auto store = kv::open_memory();
  EXPECT_EQ(compare_trees(*store, trees), Status());
  return dump(*store);
}

Paths listed(testing::ScriptedTree& tree) {
  Paths paths;
  for (const auto& [path, lists] : tree.take_lists()) paths.insert(path);
  return paths;
}

std::int64_t drift(kv::Store& store, Drift drift) {
  return tally(store, Tally::drift, static_cast<std::uint8_t>(drift));
}

/// A ledger of everything, and what was listed for it forgotten.
struct Listed {
  std::unique_ptr<Trees> trees = everything();
  std::unique_ptr<kv::Store> store = kv::open_memory();

  Listed() {
    EXPECT_EQ(compare_trees(*store, *trees), Status());
    trees->src->take_lists();
    trees->dst->take_lists();
  }
  void retry(const RetryWish& wish) {
    EXPECT_EQ(status_of(mark_for_retry(*store, wish)), Status());
    EXPECT_EQ(compare_trees(*store, *trees), Status());
    EXPECT_EQ(problems(*store), "");
  }
};

// Its own attributes are in the listing of what it is in, which is therefore read again.
TEST(Retry, a_source_that_can_be_read_now_and_its_parent_are_all_that_is_listed_again) {
  Listed ledger;
  ledger.trees->src->set_script({});
  ledger.retry({.failed = true});
  EXPECT_EQ(listed(*ledger.trees->src), (Paths{"", "locked", "locked/below"}));
  EXPECT_EQ(listed(*ledger.trees->dst), (Paths{"", "locked", "locked/below", "sealed"}));
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, a_destination_that_can_be_read_now_is_listed_again_without_its_source) {
  Listed ledger;
  ledger.trees->dst->set_script({});
  ledger.retry({.failed = true});
  EXPECT_EQ(listed(*ledger.trees->src), (Paths{"", "locked"}));
  EXPECT_EQ(listed(*ledger.trees->dst), (Paths{"", "sealed", "sealed/below"}));
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, a_source_that_cannot_be_read_any_more_loses_what_was_below_it) {
  Listed ledger;
  ledger.trees->src->set_script([](std::string_view path, int) {
    return Fault{.error = path == "locked" || path == "deep" ? EACCES : 0};
  });
  ledger.retry({.paths = {"deep"}});
  EXPECT_EQ(drift(*ledger.store, Drift::vanished), 0);
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, one_subtree_and_its_parent_are_listed_again_and_nothing_else) {
  Listed ledger;
  ledger.retry({.paths = {"deep/er"}});
  EXPECT_EQ(listed(*ledger.trees->src),
            (Paths{"deep", "deep/er", "deep/er/est", "deep/er/missing", "deep/er/missing/and"}));
  EXPECT_EQ(listed(*ledger.trees->dst), (Paths{"deep", "deep/er", "deep/er/est"}));
}

TEST(Retry, subtrees_within_each_other_are_listed_once) {
  Listed ledger;
  ledger.retry({.failed = true, .paths = {"deep/er", "deep", "deep/er/est", "sealed/below"}});
  for (const auto& [path, lists] : ledger.trees->src->take_lists()) EXPECT_EQ(lists, 1) << path;
  for (const auto& [path, lists] : ledger.trees->dst->take_lists()) EXPECT_EQ(lists, 1) << path;
}

// What each directory learns of the one below it comes before that one is compared.
TEST(Retry, of_two_subtrees_the_lower_one_is_compared_by_what_the_higher_one_found) {
  Listed ledger;
  fs::permissions(ledger.trees->dir / "dst/deep/er", fs::perms::owner_all);
  ledger.retry({.paths = {"deep/er/est", "deep/empty"}});
  EXPECT_EQ(listed(*ledger.trees->dst), (Paths{"deep", "deep/er", "deep/er/est"}));
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, what_lies_between_two_subtrees_is_listed_again_but_nothing_beside_it) {
  Listed ledger;
  fs::permissions(ledger.trees->dir / "dst/deep", fs::perms::owner_all);
  fs::permissions(ledger.trees->dir / "dst/deep/er", fs::perms::owner_all);
  ledger.retry({.paths = {"deep/er/est", "big"}});
  EXPECT_EQ(listed(*ledger.trees->dst), (Paths{"", "big", "deep", "deep/er", "deep/er/est"}));
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, a_lower_subtree_that_went_with_a_higher_directory_is_known_to_be_gone) {
  Listed ledger;
  fs::remove_all(ledger.trees->dir / "dst/deep");
  ledger.retry({.paths = {"deep/er/est", "big"}});
  EXPECT_EQ(listed(*ledger.trees->dst), (Paths{"", "big"}));
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, trees_that_did_not_change_have_the_same_outcome_and_no_drift) {
  Listed ledger;
  const std::string before = dump(*ledger.store);
  ledger.retry({.all = true});
  EXPECT_EQ(dump(*ledger.store), before);
  for (const Drift each : {Drift::appeared, Drift::vanished, Drift::changed})
    EXPECT_EQ(drift(*ledger.store, each), 0);
}

TEST(Retry, names_that_appeared_vanished_or_changed_are_counted_and_known) {
  Listed ledger;
  ledger.trees->file("src", "deep/new", "new");
  ledger.trees->file("src", "deep/empty/first", "new");
  ledger.trees->file("src", "deep/er/est/file", "changed");
  fs::remove(ledger.trees->dir / "src/missing");
  ledger.retry({.all = true});
  EXPECT_EQ(drift(*ledger.store, Drift::appeared), 2);
  EXPECT_EQ(drift(*ledger.store, Drift::vanished), 1);
  EXPECT_EQ(drift(*ledger.store, Drift::changed), 1);
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, what_vanished_leaves_nothing_in_the_ledger) {
  Listed ledger;
  fs::remove_all(ledger.trees->dir / "src/deep/er");
  ledger.retry({.paths = {"deep"}});
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, a_folder_in_a_files_place_and_a_file_in_a_folders_place_are_what_they_are_now) {
  Listed ledger;
  fs::remove_all(ledger.trees->dir / "src/deep/er");
  ledger.trees->file("src", "deep/er", "a file now");
  fs::remove(ledger.trees->dir / "src/same");
  ledger.trees->file("src", "same/below", "a folder now");
  ledger.retry({.all = true});
  EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees));
}

TEST(Retry, the_attributes_of_a_folder_are_still_to_be_set_when_it_was_compared_again) {
  Listed ledger;
  const auto attributes_of_deep = [&] {
    bool planned = false;
    const FolderId id = find_folder(*ledger.store, "deep/er/missing").value().value();
    EXPECT_EQ(ledger.store->read([&](kv::Reader& reader) -> Status {
      SLUICE_LET(step, reader.get(keys::work({.pass = Pass::attributes, .level = 3, .id = id})));
      planned = step.has_value();
      return {};
    }),
              Status());
    return planned;
  };
  EXPECT_TRUE(attributes_of_deep());
  ledger.retry({.paths = {"deep/er/missing"}});
  EXPECT_TRUE(attributes_of_deep());
  ledger.retry({.all = true});
  EXPECT_TRUE(attributes_of_deep());
}

/// Folders in one another on both sides, that change between sweeps.
class Changing {
 public:
  explicit Changing(std::uint64_t seed) : random_(seed) {
    paths_ = {"a"};
    while (paths_.size() < 24) paths_.push_back(any() + "/" + name(paths_.size()));
    for (const std::string& path : paths_) trees_.both(path + "/file", "same");
    EXPECT_EQ(compare_trees(*store_, trees_), Status());
  }

  /// Any folders are listed again, after any of them have changed.
  void sweep() {
    for (std::uint64_t left = random_.below(4); left != 0; --left) change();
    const std::set<std::string> locked = {any(), any()};
    const bool fails = random_.below(2) == 0;
    const testing::ScriptedTree::Script script = [=](std::string_view path, int) {
      return Fault{.error = fails && locked.contains(std::string(path)) ? EACCES : 0};
    };
    trees_.src->set_script(random_.below(3) == 0 ? script : testing::ScriptedTree::Script());
    trees_.dst->set_script(script);
    RetryWish wish{.failed = random_.below(2) == 0};
    for (std::uint64_t left = random_.below(4); left != 0; --left) wish.paths.push_back(any());
    const Status marked = status_of(mark_for_retry(*store_, wish));
    if (marked.code() == Code::not_found) return;
    EXPECT_EQ(marked, Status());
    EXPECT_EQ(compare_trees(*store_, trees_), Status());
    EXPECT_EQ(problems(*store_), "");
  }

  /// In the end nothing is left of the way that led there.
  void finish() {
    trees_.src->set_script({});
    trees_.dst->set_script({});
    EXPECT_TRUE(mark_for_retry(*store_, {.all = true}));
    EXPECT_EQ(compare_trees(*store_, trees_), Status());
    EXPECT_EQ(dump(*store_), fresh_dump(trees_));
  }

 private:
  static std::string name(std::uint64_t number) { return {static_cast<char>('a' + number % 26)}; }
  const std::string& any() { return paths_[random_.below(paths_.size())]; }

  void change() {
    const std::string side = random_.below(3) == 0 ? "src" : "dst";
    const fs::path path = trees_.dir / (side + "/" + any());
    const std::uint64_t what = random_.below(4);
    if (what == 0)
      fs::remove_all(path);
    else if (what == 1)
      fs::create_directories(path);
    else if (fs::exists(path))
      fs::permissions(path, what == 2 ? fs::perms::owner_all : fs::perms(0755));
  }

  SeededRandom random_;
  Trees trees_;
  std::unique_ptr<kv::Store> store_ = kv::open_memory();
  std::vector<std::string> paths_;
};

TEST(Retry, whatever_changed_and_whatever_is_listed_again_the_ledger_is_sound) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Changing trees(seed);
    for (int sweeps = 0; sweeps < 6; ++sweeps) trees.sweep();
    trees.finish();
  }
}

TEST(Retry, a_sweep_that_was_stopped_anywhere_goes_on_to_the_same_end) {
  for (int tasks = 1; tasks < 26; tasks += 3) {
    Listed ledger;
    fs::remove_all(ledger.trees->dir / "src/deep/er/est");
    ledger.trees->file("src", "deep/new/and/below", "new");
    ASSERT_TRUE(mark_for_retry(*ledger.store, {.all = true}));
    std::stop_source stop;
    RunOptions options = quick();
    options.stop = stop.get_token();
    options.probe.started = [&,
                             left = std::make_shared<std::atomic<int>>(tasks)](const FolderTask&) {
      if (--*left == 0) stop.request_stop();
    };
    (void)compare_trees(*ledger.store, *ledger.trees, std::move(options));
    EXPECT_EQ(problems(*ledger.store), "") << tasks;
    ASSERT_EQ(compare_trees(*ledger.store, *ledger.trees), Status());
    EXPECT_EQ(problems(*ledger.store), "") << tasks;
    EXPECT_EQ(dump(*ledger.store), fresh_dump(*ledger.trees)) << tasks;
  }
}

TEST(Retry, a_directory_of_more_folders_than_a_transaction_makes_pending_is_listed_again) {
  const std::string spec = "sim:depth=1,files=0,folders=" + std::to_string(kChildrenMax + 9);
  const auto store = kv::open_memory();
  const SimSeams seams{.clock = system_clock()};
  const auto src = open_sim_tree(spec, seams).value();
  const auto dst = open_sim_tree(spec + ",world=b,presence=0.5", seams).value();
  ASSERT_EQ(compare_trees(*store, *src, *dst), Status());
  const std::string before = dump(*store);
  ASSERT_TRUE(mark_for_retry(*store, {.all = true}));
  ASSERT_EQ(compare_trees(*store, *src, *dst), Status());
  EXPECT_EQ(problems(*store), "");
  EXPECT_EQ(dump(*store), before);
}

TEST(Retry, nothing_failed_means_nothing_marked) {
  const auto store = kv::open_memory();
  Trees trees;
  ASSERT_EQ(compare_trees(*store, trees), Status());
  EXPECT_EQ(mark_for_retry(*store, {.failed = true}).value(), 0u);
}

TEST(Retry, a_path_that_is_no_directory_is_not_found_and_nothing_is_marked) {
  Listed ledger;
  const auto before = testing::rows_of(*ledger.store);
  for (const char* path : {"same", "nothing", "deep/nothing", "extras"})
    EXPECT_EQ(status_of(mark_for_retry(*ledger.store, {.paths = {"deep", path}})).code(),
              Code::not_found)
        << path;
  EXPECT_EQ(testing::rows_of(*ledger.store), before);
}

TEST(Retry, it_is_refused_while_directories_are_pending) {
  Listed ledger;
  ASSERT_TRUE(mark_for_retry(*ledger.store, {.all = true}));
  EXPECT_EQ(status_of(mark_for_retry(*ledger.store, {.all = true})).code(), Code::conflict);
}

TEST(Retry, each_one_is_another_sweep) {
  Listed ledger;
  ledger.retry({.paths = {"deep"}});
  ledger.retry({.paths = {"deep"}});
  EXPECT_EQ(ledger.store->read([](kv::Reader& reader) -> Status {
    SLUICE_LET(state, read_state(reader));
    EXPECT_EQ(state.sweep, 3u);
    return {};
  }),
            Status());
}

}  // namespace
}  // namespace sluice::migrate
