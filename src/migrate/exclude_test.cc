// SPDX-License-Identifier: MIT
#include "migrate/exclude.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "migrate/ledger_testing.h"
#include "migrate/retry.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

using testing::compare_trees;
using testing::everything;
using testing::problems;
using testing::rows_of;
using testing::tally;

struct Ledger {
  std::unique_ptr<testing::Trees> trees = everything();
  std::unique_ptr<kv::Store> store = kv::open_memory();

  Ledger() { EXPECT_EQ(compare_trees(*store, *trees), Status()); }
  kv::Store& operator*() { return *store; }
};

/// Every name, as walk() says it, and how often it is `excluded`.
std::vector<std::string> excluded_names(kv::Store& store) {
  std::vector<std::string> names;
  EXPECT_TRUE(walk(store, {}, [&](const WalkItem& item) {
                if (item.excluded) names.emplace_back(item.path);
                return true;
              }).ok());
  return names;
}

std::int64_t pending_names(kv::Store& store) {
  const auto pending = static_cast<std::uint8_t>(CopyStatus::pending);
  return tally(store, Tally::copy_files, pending) + tally(store, Tally::copy_folders, pending);
}

std::int64_t counted_excluded(kv::Store& store, Tally side) {
  return tally(store, side, static_cast<std::uint8_t>(TraversalStatus::excluded));
}

TEST(Exclude, what_is_included_again_leaves_the_ledger_byte_for_byte_as_it_was) {
  Ledger ledger;
  const auto before = rows_of(*ledger);
  for (const char* path :
       {"deep", "deep/er", "big", "missing", "extra", "extras", "clash_file", "clash_folder",
        "locked", "sealed", "sealed/below", "kept.tmp", "attributes", "link", "deep/empty"}) {
    ASSERT_EQ(exclude(*ledger, path), Status()) << path;
    EXPECT_NE(rows_of(*ledger), before) << path;
    ASSERT_EQ(include(*ledger, path), Status()) << path;
    EXPECT_EQ(rows_of(*ledger), before) << path;
  }
}

TEST(Exclude, several_are_taken_back_in_any_order) {
  Ledger ledger;
  const auto before = rows_of(*ledger);
  for (const char* path : {"deep/er", "big", "deep/empty"})
    ASSERT_EQ(exclude(*ledger, path), Status()) << path;
  for (const char* path : {"deep/er", "deep/empty", "big"})
    ASSERT_EQ(include(*ledger, path), Status()) << path;
  EXPECT_EQ(rows_of(*ledger), before);
}

TEST(Exclude, a_ledger_with_exclusions_is_clean) {
  Ledger ledger;
  for (const char* path : {"deep", "big", "locked", "sealed", "extras", "clash_folder"}) {
    ASSERT_EQ(exclude(*ledger, path), Status());
    EXPECT_EQ(problems(*ledger), "") << path;
  }
}

TEST(Exclude, everything_below_it_is_excluded_too) {
  Ledger ledger;
  ASSERT_EQ(exclude(*ledger, "deep/er"), Status());
  EXPECT_EQ(excluded_names(*ledger),
            (std::vector<std::string>{"deep/er", "deep/er/est", "deep/er/est/file", "deep/er/extra",
                                      "deep/er/missing", "deep/er/missing/and",
                                      "deep/er/missing/and/below"}));
}

TEST(Exclude, names_are_counted_as_excluded_on_the_sides_they_are_on) {
  Ledger ledger;
  const auto src = counted_excluded(*ledger, Tally::src);
  const auto dst = counted_excluded(*ledger, Tally::dst);
  ASSERT_EQ(exclude(*ledger, "deep/er"), Status());
  EXPECT_EQ(counted_excluded(*ledger, Tally::src) - src, 6);
  EXPECT_EQ(counted_excluded(*ledger, Tally::dst) - dst, 4);
}

TEST(Exclude, names_to_be_copied_are_skipped_instead) {
  Ledger ledger;
  const auto before = pending_names(*ledger);
  const auto bytes = tally(*ledger, Tally::copy_bytes, 0);
  ASSERT_EQ(exclude(*ledger, "deep/er/missing"), Status());
  EXPECT_EQ(before - pending_names(*ledger), 3);
  EXPECT_EQ(bytes - tally(*ledger, Tally::copy_bytes, 0), 7);
}

TEST(Exclude, a_folder_that_could_not_be_listed_is_not_left_to_be_copied) {
  Ledger ledger;
  const auto store = kv::open_memory();
  ledger.trees->dst->set_script({});
  std::filesystem::remove_all(ledger.trees->dir / "dst/locked");
  ASSERT_EQ(compare_trees(*store, *ledger.trees), Status());
  const auto before = pending_names(*store);
  ASSERT_EQ(exclude(*store, "locked"), Status());
  EXPECT_EQ(before - pending_names(*store), 1);
}

TEST(Exclude, what_is_below_an_excluded_folder_is_excluded_already) {
  Ledger ledger;
  ASSERT_EQ(exclude(*ledger, "deep"), Status());
  EXPECT_EQ(exclude(*ledger, "deep/er").code(), Code::already_exists);
  EXPECT_EQ(exclude(*ledger, "deep").code(), Code::already_exists);
}

TEST(Exclude, a_name_that_only_begins_alike_is_another) {
  Ledger ledger;
  ASSERT_EQ(exclude(*ledger, "extra"), Status());
  EXPECT_EQ(exclude(*ledger, "extras"), Status());
}

TEST(Exclude, a_folder_with_something_excluded_in_it_is_refused) {
  Ledger ledger;
  ASSERT_EQ(exclude(*ledger, "deep/er"), Status());
  const auto before = rows_of(*ledger);
  EXPECT_EQ(exclude(*ledger, "deep").code(), Code::conflict);
  EXPECT_EQ(rows_of(*ledger), before);
}

TEST(Exclude, a_name_that_the_ledger_does_not_know_is_not_found) {
  Ledger ledger;
  for (const char* path : {"nothing", "deep/nothing", "same/nothing", "extras/below"})
    EXPECT_EQ(exclude(*ledger, path).code(), Code::not_found) << path;
}

TEST(Exclude, the_root_is_refused) {
  Ledger ledger;
  EXPECT_EQ(exclude(*ledger, "").code(), Code::invalid_argument);
  EXPECT_EQ(exclude(*ledger, ".").code(), Code::invalid_argument);
}

TEST(Exclude, nothing_is_excluded_while_directories_are_pending) {
  Ledger ledger;
  ASSERT_TRUE(mark_for_retry(*ledger, {.paths = {"big"}}));
  EXPECT_EQ(exclude(*ledger, "deep").code(), Code::conflict);
}

TEST(Exclude, only_the_very_path_that_was_excluded_can_be_included) {
  Ledger ledger;
  ASSERT_EQ(exclude(*ledger, "deep"), Status());
  EXPECT_EQ(include(*ledger, "deep/er").code(), Code::not_found);
  EXPECT_EQ(include(*ledger, "big").code(), Code::not_found);
}

TEST(Exclude, excluded_paths_are_told_in_order) {
  Ledger ledger;
  for (const char* path : {"missing", "deep/er", "big"})
    ASSERT_EQ(exclude(*ledger, path), Status());
  EXPECT_EQ(excluded_paths(*ledger).value(),
            (std::vector<std::string>{"big", "deep/er", "missing"}));
}

TEST(Exclude, a_retry_over_something_excluded_is_refused) {
  Ledger ledger;
  ASSERT_EQ(exclude(*ledger, "deep/er"), Status());
  for (const char* path : {"deep", "deep/er", "deep/er/est"})
    EXPECT_EQ(status_of(mark_for_retry(*ledger, {.paths = {path}})).code(), Code::conflict) << path;
  EXPECT_EQ(status_of(mark_for_retry(*ledger, {.all = true})).code(), Code::conflict);
  EXPECT_TRUE(mark_for_retry(*ledger, {.paths = {"big"}}));
}

}  // namespace
}  // namespace sluice::migrate
