// SPDX-License-Identifier: MIT
// compact_lmdb(). What other processes and kills do to it is in tests/kv/copy_test.cc.
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sluice/kv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kv/lmdb/environment.h"
#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

using test::TempDir;

std::unique_ptr<Store> must_open(const TempDir& dir, const Clock& clock = system_clock()) {
  auto store = open_lmdb({.dir = dir.path(), .map_bytes = 64 << 20, .clock = &clock});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

Status compact(const TempDir& dir) {
  return compact_lmdb({.dir = dir.path()});
}

// Many entries, most of which are then deleted, and a log of stamps.
void make_holes(Store& store) {
  for (int batch = 0; batch < 20; ++batch)
    ASSERT_TRUE(store.run([&](Transaction& txn) -> Status {
      for (int i = 0; i < 100; ++i)
        txn.put("k" + std::to_string(10'000 + batch * 100 + i), std::string(3'000, 'v'));
      txn.put_stamped_key("log/", 0, "", "v");
      return {};
    }));
  ASSERT_TRUE(store.run([](Transaction& txn) -> Status {
    txn.erase_range({"k", "k11900"});
    return {};
  }));
}

std::vector<KeyValue> entries_of(Store& store) {
  std::vector<KeyValue> entries;
  const Status status = store.read([&](Reader& reader) -> Status {
    SLUICE_LET(found, reader.scan(Range::all()));
    entries = found;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return entries;
}

Commit append(Store& store) {
  const auto commit = store.run([](Transaction& txn) -> Status {
    txn.put_stamped_key("log/", 0, "", "v");
    return {};
  });
  EXPECT_TRUE(commit) << commit.error().to_string();
  return commit.value_or(Commit{});
}

std::uint64_t file_bytes(const TempDir& dir) {
  return std::filesystem::file_size(dir / "data.mdb");
}

TEST(Compact, makes_the_file_smaller_and_changes_nothing_else) {
  const TempDir dir;
  ManualClock clock;
  std::vector<KeyValue> before;
  Commit last;
  WallTime told;
  {
    const auto store = must_open(dir, clock);
    make_holes(*store);
    ASSERT_TRUE(store->raise_epoch());
    last = append(*store);
    before = entries_of(*store);
    clock.advance(std::chrono::hours(1));
    told = store->now();
  }
  const std::uint64_t large = file_bytes(dir);
  const Status status = compact(dir);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_LT(file_bytes(dir), large / 4);
  EXPECT_FALSE(std::filesystem::exists(dir / "data.mdb.new"));
  clock.step_wall(-std::chrono::hours(5));
  const auto store = must_open(dir, clock);
  EXPECT_EQ(entries_of(*store), before);
  EXPECT_EQ(store->stats().map_bytes, 64u << 20);
  EXPECT_GE(store->now(), told);
  const Commit next = append(*store);
  EXPECT_EQ(next.epoch, 2);
  EXPECT_GT(next.mark(0), last.mark(0));
}

// Stamps hold LMDB's transaction number, whose last bit names a meta page.
TEST(Compact, stamps_go_on_over_any_number_of_times) {
  const TempDir dir;
  Mark last;
  for (std::size_t round = 1; round <= 20; ++round) {
    {
      const auto store = must_open(dir);
      const Mark mark = append(*store).mark(0);
      EXPECT_GT(mark, last);
      last = mark;
      EXPECT_EQ(entries_of(*store).size(), round);
    }
    ASSERT_TRUE(compact(dir).ok());
    const bool twice = round % 3 == 0;
    EXPECT_TRUE(!twice || compact(dir).ok());
  }
}

TEST(Compact, is_refused_while_this_process_has_the_store_open) {
  const TempDir dir;
  auto store = must_open(dir);
  make_holes(*store);
  const std::uint64_t large = file_bytes(dir);
  EXPECT_EQ(compact(dir).code(), Code::unavailable);
  EXPECT_EQ(file_bytes(dir), large);
  append(*store);
  EXPECT_EQ(open_lmdb({.dir = dir.path()}).error().code(), Code::already_exists);
  EXPECT_EQ(compact(dir).code(), Code::unavailable);
  store.reset();
  EXPECT_TRUE(compact(dir).ok());
  EXPECT_LT(file_bytes(dir), large);
}

// The docs forbid it; it must not cost what is written afterwards.
TEST(Compact, is_refused_even_if_the_bell_of_an_open_store_was_removed) {
  const TempDir dir;
  const auto store = must_open(dir);
  std::filesystem::remove(dir / "bell");
  EXPECT_EQ(compact(dir).code(), Code::unavailable);
}

TEST(Compact, is_refused_while_another_program_has_the_file_open_with_lmdb) {
  const TempDir dir;
  make_holes(*must_open(dir));
  MDB_env* raw = nullptr;
  ASSERT_EQ(mdb_env_create(&raw), 0);
  EnvPtr other(raw);
  ASSERT_EQ(mdb_env_open(raw, dir.path().c_str(), MDB_RDONLY, 0600), 0);
  EXPECT_EQ(compact(dir).code(), Code::unavailable);
  other.reset();
  EXPECT_TRUE(compact(dir).ok());
}

TEST(Compact, needs_a_store) {
  const TempDir dir;
  EXPECT_EQ(compact_lmdb({.dir = dir / "missing"}).code(), Code::not_found);
  EXPECT_EQ(compact(dir).code(), Code::not_found);
  EXPECT_EQ(compact_lmdb({}).code(), Code::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Compact, leaves_a_file_of_another_program_alone) {
  const TempDir dir;
  MDB_env* raw = nullptr;
  ASSERT_EQ(mdb_env_create(&raw), 0);
  EnvPtr other(raw);
  ASSERT_EQ(mdb_env_open(raw, dir.path().c_str(), 0, 0600), 0);
  other.reset();
  const std::string before = test::read_file(dir / "data.mdb");
  EXPECT_EQ(compact(dir).code(), Code::invalid_argument);
  EXPECT_EQ(test::read_file(dir / "data.mdb"), before);
  EXPECT_FALSE(std::filesystem::exists(dir / "data.mdb.new"));
}

TEST(Compact, what_a_crash_left_of_it_is_swept_away_by_the_next_one_and_by_opening) {
  const TempDir dir;
  append(*must_open(dir));
  test::write_file(dir / "data.mdb.new", std::string(5'000, 'x'));
  EXPECT_TRUE(compact(dir).ok());
  EXPECT_FALSE(std::filesystem::exists(dir / "data.mdb.new"));
  test::write_file(dir / "data.mdb.new", std::string(5'000, 'x'));
  EXPECT_EQ(entries_of(*must_open(dir)).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(dir / "data.mdb.new"));
}

TEST(Compact, the_new_file_belongs_to_the_owner_of_the_old_one) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const TempDir dir;
  append(*must_open(dir));
  ASSERT_EQ(chown((dir / "data.mdb").c_str(), 65'534, 65'533), 0);
  ASSERT_EQ(chmod((dir / "data.mdb").c_str(), 0660), 0);
  ASSERT_TRUE(compact(dir).ok());
  struct stat info{};
  ASSERT_EQ(stat((dir / "data.mdb").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65'534u);
  EXPECT_EQ(info.st_gid, 65'533u);
  EXPECT_EQ(info.st_mode & 07777, 0660u);
}

}  // namespace
}  // namespace sluice::kv
