// SPDX-License-Identifier: MIT
// restore_lmdb(), and what a store makes of files that were put back in other ways. What kills do
// to a restore is in tests/kv/copy_test.cc.
#include <gtest/gtest.h>
#include <sluice/kv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kv/lmdb/copy_file.h"
#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using Lines = std::vector<std::string>;

std::unique_ptr<Store> must_open(const std::string& dir, Lines* log = nullptr,
                                 const Clock& clock = system_clock()) {
  LmdbOptions options{.dir = dir, .map_bytes = 16 << 20, .clock = &clock};
  if (log != nullptr)
    options.log = [log](LogLevel, std::string_view line) { log->emplace_back(line); };
  auto store = open_lmdb(options);
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

/// Writes a key; the epoch of the commit.
std::uint16_t put(Store& store, const std::string& key) {
  const auto commit = store.run([&](Transaction& txn) -> Status {
    txn.put(key, "v");
    return {};
  });
  EXPECT_TRUE(commit) << commit.error().to_string();
  return commit.value_or(Commit{}).epoch;
}

std::set<std::string> keys_of(const std::string& dir) {
  std::set<std::string> keys;
  const auto store = must_open(dir);
  const Status status = store->read([&](Reader& reader) {
    return reader.scan(Range::all(), {}, [&](std::string_view key, std::string_view) {
      keys.emplace(key);
      return true;
    });
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return keys;
}

/// A store with the key "a", a backup of that, and then the key "b".
struct Ground {
  Ground() {
    const auto store = must_open(store_dir());
    put(*store, "a");
    EXPECT_TRUE(store->copy_to(backup()).ok());
    epoch = put(*store, "b");
  }
  std::string store_dir() const { return dir / "store"; }
  std::string backup() const { return dir / "backup"; }
  Restored must_restore(const std::string& to, bool replace = false) const {
    const auto restored = restore_lmdb({.backup = backup(), .dir = to, .replace = replace});
    EXPECT_TRUE(restored) << restored.error().to_string();
    return restored.value_or(Restored{});
  }

  TempDir dir;
  std::uint16_t epoch = 0;
};

using Keys = std::set<std::string>;

TEST(Restore, gives_an_empty_folder_what_the_backup_holds_in_a_higher_epoch) {
  const Ground ground;
  const std::string to = ground.dir / "new";
  const Restored restored = ground.must_restore(to);
  EXPECT_EQ(restored.put_aside, "");
  EXPECT_GT(restored.epoch, ground.epoch);
  EXPECT_LE(restored.epoch, ground.epoch + 200);
  EXPECT_EQ(keys_of(to), Keys{"a"});
  Lines log;
  EXPECT_EQ(put(*must_open(to, &log), "c"), restored.epoch);
  EXPECT_EQ(log, Lines{}) << "a restored store is no copy that was made by other means";
}

TEST(Restore, refuses_a_folder_with_a_store_and_changes_nothing) {
  const Ground ground;
  const auto refused = restore_lmdb({.backup = ground.backup(), .dir = ground.store_dir()});
  EXPECT_EQ(refused.error().code(), Code::already_exists);
  EXPECT_NE(refused.error().message().find("or replace it"), std::string::npos);
  EXPECT_EQ(keys_of(ground.store_dir()), (Keys{"a", "b"}));
}

TEST(Restore, puts_the_old_store_aside_from_where_it_can_be_restored) {
  const Ground ground;
  const std::string dir = ground.store_dir();
  test::write_file(dir + "/notes", "mine");
  fs::create_directory(dir + "/logs");
  const Restored restored = ground.must_restore(dir, true);
  EXPECT_EQ(restored.put_aside.substr(0, dir.size() + 5), dir + "/old-");
  EXPECT_EQ(keys_of(dir), Keys{"a"});
  EXPECT_EQ(keys_of(restored.put_aside), (Keys{"a", "b"}));
  EXPECT_EQ(test::read_file(dir + "/notes"), "mine");
  EXPECT_TRUE(fs::is_directory(dir + "/logs"));
  const auto back = restore_lmdb({.backup = restored.put_aside, .dir = dir, .replace = true});
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_NE(back->put_aside, restored.put_aside);
  EXPECT_EQ(keys_of(dir), (Keys{"a", "b"}));
}

TEST(Restore, rises_above_every_store_that_the_folder_has_seen) {
  const Ground ground;
  const std::string dir = ground.store_dir();
  std::uint16_t last = 0;
  std::uint16_t before = 0;
  for (int round = 0; round < 5; ++round) {
    const Restored restored = ground.must_restore(dir, true);
    EXPECT_GT(restored.epoch, last);
    before = std::exchange(last, restored.epoch);
  }
  // Now only those that were put aside tell.
  fs::remove(dir + "/data.mdb");
  EXPECT_GT(ground.must_restore(dir).epoch, before);
}

TEST(Restore, steps_are_by_chance_so_that_two_worlds_of_one_backup_differ) {
  const Ground ground;
  std::set<std::uint16_t> epochs;
  for (int i = 0; i < 20; ++i)
    epochs.insert(ground.must_restore(ground.dir / ("new" + std::to_string(i))).epoch);
  EXPECT_GT(epochs.size(), 10u);
}

TEST(Restore, needs_both_stores_for_itself) {
  const Ground ground;
  const auto code = [&] {
    const auto restored =
        restore_lmdb({.backup = ground.backup(), .dir = ground.store_dir(), .replace = true});
    return status_of(restored).code();
  };
  {
    const auto open = must_open(ground.store_dir());
    EXPECT_EQ(code(), Code::unavailable);
  }
  {
    const auto open = must_open(ground.backup());
    EXPECT_EQ(code(), Code::unavailable);
  }
  EXPECT_EQ(keys_of(ground.store_dir()), (Keys{"a", "b"}));
  EXPECT_EQ(code(), Code::ok);
}

TEST(Restore, refuses_what_is_no_backup_and_leaves_the_store) {
  const Ground ground;
  const auto code = [&](const std::string& backup) {
    const auto restored =
        restore_lmdb({.backup = backup, .dir = ground.store_dir(), .replace = true});
    return status_of(restored).code();
  };
  EXPECT_EQ(code(""), Code::invalid_argument);
  EXPECT_EQ(code(ground.dir / "missing"), Code::not_found);
  EXPECT_EQ(code(ground.store_dir()), Code::invalid_argument);
  fs::create_directory(ground.dir / "text");
  test::write_file(ground.dir / "text/data.mdb", "no store at all");
  EXPECT_NE(code(ground.dir / "text"), Code::ok);
  EXPECT_EQ(keys_of(ground.store_dir()), (Keys{"a", "b"}));
  for (const auto& entry : fs::directory_iterator(ground.store_dir()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("old-"));
}

struct stat stat_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info;
}

TEST(Restore, leaves_the_files_to_the_owner_of_the_folder) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  const Ground ground;
  for (const auto& [mode, of_files] :
       {std::pair(0700, 0600), {0750, 0640}, {0770, 0660}, {0755, 0640}}) {
    const std::string to = ground.dir / ("mode" + std::to_string(mode));
    fs::create_directory(to);
    ASSERT_EQ(chmod(to.c_str(), static_cast<mode_t>(mode)), 0);
    ASSERT_EQ(chown(to.c_str(), 12'345, 23'456), 0);
    ground.must_restore(to);
    for (const std::string& path : {to + "/data.mdb", to + "/bell"}) {
      EXPECT_EQ(stat_of(path).st_uid, 12'345u);
      EXPECT_EQ(stat_of(path).st_gid, 23'456u);
      EXPECT_EQ(stat_of(path).st_mode & 0777, static_cast<mode_t>(of_files));
    }
    EXPECT_EQ(stat_of(to).st_mode & 0777, static_cast<mode_t>(mode));
  }
}

TEST(Restore, time_goes_on_after_what_either_store_has_told) {
  const TempDir dir;
  ManualClock clock;
  const std::string store_dir = dir / "store";
  WallTime told;
  {
    const auto store = must_open(store_dir, nullptr, clock);
    put(*store, "a");
    ASSERT_TRUE(store->copy_to(dir / "backup").ok());
    clock.advance(std::chrono::hours(1));
    told = store->now();
  }
  clock.step_wall(-std::chrono::hours(3));
  ASSERT_TRUE(restore_lmdb({.backup = dir / "backup", .dir = store_dir, .replace = true}));
  EXPECT_GE(must_open(store_dir, nullptr, clock)->now(), told);
  ASSERT_TRUE(restore_lmdb({.backup = dir / "backup", .dir = dir / "new"}));
  EXPECT_GE(must_open(dir / "new", nullptr, clock)->now(), told - std::chrono::hours(1));
}

TEST(Restore, the_last_epoch_is_told) {
  const TempDir dir;
  {
    const auto store = must_open(dir / "store");
    put(*store, "a");
    ASSERT_TRUE(store->copy_to(dir / "backup").ok());
  }
  ASSERT_TRUE(settle_in(dir / "backup/data.mdb", UINT16_MAX).ok());
  const auto refused = restore_lmdb({.backup = dir / "backup", .dir = dir / "new"});
  EXPECT_EQ(refused.error().code(), Code::limit_exceeded);
  EXPECT_FALSE(fs::exists(dir / "new/data.mdb"));
}

// ------------------------------------------------------------------------------- by other means

TEST(CopiedStore, is_noticed_by_the_first_write_and_raises_the_epoch_once) {
  const Ground ground;
  const std::string copy = ground.dir / "copy";
  fs::copy(ground.store_dir(), copy, fs::copy_options::recursive);
  Lines log;
  std::uint16_t epoch = 0;
  {
    const auto store = must_open(copy, &log);
    EXPECT_EQ(log, Lines{});
    epoch = put(*store, "c");
    EXPECT_GT(epoch, ground.epoch);
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("its epoch is now " + std::to_string(epoch)), std::string::npos);
    EXPECT_EQ(put(*store, "d"), epoch);
  }
  EXPECT_EQ(put(*must_open(copy, &log), "e"), epoch);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_EQ(put(*must_open(ground.store_dir(), &log), "f"), ground.epoch) << "the original";
  EXPECT_EQ(log.size(), 1u);
}

TEST(CopiedStore, a_backup_that_is_used_as_a_store_is_one) {
  const Ground ground;
  EXPECT_GT(put(*must_open(ground.backup()), "c"), ground.epoch);
}

TEST(CopiedStore, an_older_file_over_the_store_is_noticed_by_the_last_commit) {
  const Ground ground;
  const std::string data = ground.store_dir() + "/data.mdb";
  const std::string older = test::read_file(data);
  put(*must_open(ground.store_dir()), "c");
  test::write_file(data, older);  // Into the same file, as `cp` does.
  Lines log;
  EXPECT_GT(put(*must_open(ground.store_dir(), &log), "d"), ground.epoch);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("holds less than was committed"), std::string::npos) << log[0];
}

TEST(CopiedStore, reading_changes_nothing) {
  const Ground ground;
  const std::string copy = ground.dir / "copy";
  fs::copy(ground.store_dir(), copy, fs::copy_options::recursive);
  const std::string before = test::read_file(copy + "/data.mdb");
  EXPECT_EQ(keys_of(copy), (Keys{"a", "b"}));
  EXPECT_EQ(test::read_file(copy + "/data.mdb"), before);
}

TEST(CopiedStore, a_store_that_is_compacted_or_moved_in_place_is_none) {
  const Ground ground;
  ASSERT_TRUE(compact_lmdb({.dir = ground.store_dir()}).ok());
  fs::rename(ground.store_dir(), ground.dir / "elsewhere");
  Lines log;
  EXPECT_EQ(put(*must_open(ground.dir / "elsewhere", &log), "c"), ground.epoch);
  EXPECT_EQ(log, Lines{});
}

}  // namespace
}  // namespace sluice::kv
