// SPDX-License-Identifier: MIT
#include "migrate/pull.h"

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <map>
#include <set>

#include "tests/support/run_size.h"

namespace sluice::migrate {
namespace {

struct Ledger {
  std::unique_ptr<kv::Store> store = kv::open_memory();

  void put(std::string_view key, std::string_view value) const {
    const auto put = [&](kv::Transaction& txn) -> Status {
      txn.put(key, value);
      return {};
    };
    ASSERT_TRUE(store->run(put));
  }
  void put_listed(FolderId id, const FolderPlace& place) const {
    put(keys::folder(Side::src, id), encode(Folder{.parent = place.parent, .name = place.name}));
  }
  void put_pending(Side side, std::uint32_t level, FolderId id,
                   const PendingFolder& pending) const {
    put(keys::pending(side, level, id), encode(pending));
  }
  /// The root is listed, and has these folders.
  void put_flat(const std::set<FolderId>& ids) const {
    put_listed(kRoot, {.parent = kAboveRoot});
    for (const FolderId id : ids)
      put_pending(Side::src, 1, id, {.parent = kRoot, .name = "n" + std::to_string(id)});
  }
  std::vector<FolderTask> pull(Side side = Side::src, std::size_t room = SIZE_MAX,
                               const std::set<FolderId>& known = {}) const {
    auto pulled =
        pull_pending(*store, side, room, [&](Side, FolderId id) { return known.contains(id); });
    EXPECT_TRUE(pulled) << pulled.error().to_string();
    all = pulled && pulled->all;
    return pulled ? std::move(pulled->tasks) : std::vector<FolderTask>();
  }

  mutable bool all = false;  ///< Of the last pull.
};

std::set<FolderId> ids_of(const std::vector<FolderTask>& tasks) {
  std::set<FolderId> ids;
  for (const FolderTask& task : tasks) ids.insert(task.id);
  return ids;
}

std::set<FolderId> leftovers_of(const std::vector<FolderTask>& tasks) {
  std::set<FolderId> ids;
  for (const FolderTask& task : tasks)
    if (task.leftovers) ids.insert(task.id);
  return ids;
}

TEST(Pull, what_nobody_has_is_pulled_as_far_as_there_is_room) {
  Ledger ledger;
  ledger.put_flat({2, 3, 4, 5});
  EXPECT_EQ(ids_of(ledger.pull(Side::src, 4, {})), (std::set<FolderId>{2, 3, 4, 5}));
  EXPECT_TRUE(ledger.all);
  EXPECT_EQ(ids_of(ledger.pull(Side::src, 2, {2, 4})), (std::set<FolderId>{3, 5}));
  EXPECT_TRUE(ledger.all);
  EXPECT_EQ(ids_of(ledger.pull(Side::src, 1, {2})), (std::set<FolderId>{3}));
  EXPECT_FALSE(ledger.all);
  for (const FolderTask& task : ledger.pull()) EXPECT_TRUE(task.in_ledger);
}

TEST(Pull, paths_are_those_of_any_tree_in_any_order) {
  const std::uint64_t first = test::seed_or(1);
  for (std::uint64_t seed = first; seed < first + 50; ++seed) {
    SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
    SeededRandom random(seed);
    Ledger ledger;
    std::map<FolderId, std::string> paths{{kRoot, ""}};
    std::map<FolderId, std::uint32_t> levels{{kRoot, 0}};
    std::map<FolderId, std::string> wanted;
    ledger.put_listed(kRoot, {.parent = kAboveRoot});
    for (FolderId id = 2; id < 200; ++id) {
      FolderId parent = random.below(3) == 0 ? kRoot : 1 + random.below(id - 1);
      while (!paths.contains(parent)) --parent;
      const std::string name = "n" + std::to_string(random.below(1000)) + "." + std::to_string(id);
      const std::string path = join_path(paths[parent], name);
      const std::uint32_t level = levels[parent] + 1;
      if (random.below(2) == 0) {
        ledger.put_listed(id, {.parent = parent, .name = name});
        paths[id] = path;
        levels[id] = level;
        // On the destination, it may be that of a listed one, or of one that is pending.
        if (random.below(2) == 0) ledger.put_pending(Side::dst, level, id, {});
      } else {
        ledger.put_pending(Side::src, level, id, {.parent = parent, .name = name});
        ledger.put_pending(Side::dst, level, id, {});
      }
      wanted[id] = path;
    }
    for (const Side side : {Side::src, Side::dst}) {
      const auto tasks = ledger.pull(side);
      EXPECT_GT(tasks.size(), 50u);
      for (const FolderTask& task : tasks) EXPECT_EQ(task.path, wanted[task.id]) << task.id;
    }
  }
}

TEST(Pull, a_directory_whose_next_block_is_begun_has_leftovers) {
  Ledger ledger;
  ledger.put_flat({2, 3, 4});
  ledger.put_pending(Side::src, 1, 3, {.parent = kRoot, .name = "again", .generation = 2});
  ledger.put(keys::chunk(Part::src, 2, 1, 0), "");
  ledger.put(keys::chunk(Part::src, 3, 1, 0), "");  // That is its last block.
  ledger.put(keys::chunk(Part::dst, 4, 1, 0), "");  // That is the other side's.
  EXPECT_EQ(leftovers_of(ledger.pull()), (std::set<FolderId>{2}));
  ledger.put(keys::chunk(Part::src, 3, 2, 0), "");
  EXPECT_EQ(leftovers_of(ledger.pull()), (std::set<FolderId>{2, 3}));
}

TEST(Pull, while_there_are_runs_every_directory_may_have_left_some) {
  Ledger ledger;
  ledger.put_flat({2, 3});
  EXPECT_EQ(leftovers_of(ledger.pull()), (std::set<FolderId>{}));
  ledger.put(keys::chunk(Part::runs, 7, 1, 0), "");
  EXPECT_EQ(leftovers_of(ledger.pull()), (std::set<FolderId>{2, 3}));
}

TEST(Pull, a_ledger_without_a_parent_is_corrupt) {
  Ledger ledger;
  ledger.put_flat({2});
  ledger.put_pending(Side::src, 2, 9, {.parent = 8, .name = "orphan"});
  const auto pulled =
      pull_pending(*ledger.store, Side::src, SIZE_MAX, [](Side, FolderId) { return false; });
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().code(), Code::corrupt);
}

}  // namespace
}  // namespace sluice::migrate
