// SPDX-License-Identifier: MIT
// Listing again what is in a ledger already.
#include <gtest/gtest.h>

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
