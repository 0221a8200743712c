// SPDX-License-Identifier: MIT
// Store::copy_to(). What kills and full disks do to it is in tests/kv/copy_test.cc.
#include <gtest/gtest.h>
#include <sluice/kv.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "kv/fault_store.h"
#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

using std::chrono::hours;
using test::TempDir;

constexpr std::uint64_t kMapBytes = 64 << 20;

std::unique_ptr<Store> must_open(const std::string& dir, const Clock& clock = system_clock(),
                                 std::uint64_t map_bytes = kMapBytes) {
  auto store = open_lmdb({.dir = dir, .map_bytes = map_bytes, .clock = &clock});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

void fill(Store& store, int begin, int end) {
  for (int first = begin; first < end; first += 100)
    ASSERT_TRUE(store.run([&](Transaction& txn) -> Status {
      for (int i = first; i < first + 100; ++i)
        txn.put("k" + std::to_string(100'000 + i), std::string(1'000 + i % 7 * 900, 'v'));
      return {};
    }));
}

Mark append(Store& store) {
  const auto commit = store.run([](Transaction& txn) -> Status {
    txn.put_stamped_key("log/", 0, "", "v");
    return {};
  });
  EXPECT_TRUE(commit) << commit.error().to_string();
  return commit.value_or(Commit{}).mark(0);
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

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

unsigned mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(Copy, holds_what_the_store_holds_and_is_private) {
  const TempDir dir;
  const auto store = must_open(dir / "store");
  fill(*store, 0, 1'000);
  ASSERT_TRUE(store->raise_epoch());
  append(*store);
  const Status copied = store->copy_to(dir / "copy");
  ASSERT_TRUE(copied.ok()) << copied.to_string();
  EXPECT_EQ(names_in(dir / "copy"), (std::vector<std::string>{"bell", "data.mdb"}));
  EXPECT_EQ(mode_of(dir / "copy"), 0700u);
  EXPECT_EQ(mode_of(dir / "copy/data.mdb"), 0600u);
  EXPECT_EQ(mode_of(dir / "copy/bell"), 0600u);
  const auto copy = must_open(dir / "copy", system_clock(), 1 << 20);
  EXPECT_EQ(entries_of(*copy), entries_of(*store));
  EXPECT_EQ(copy->stats().map_bytes, kMapBytes);
  EXPECT_GT(append(*copy).epoch, 2) << "what is written to a copy is of another world";
}

// An even and an odd number of transactions have their meta pages in different places.
TEST(Copy, its_stamps_go_on_after_those_that_it_holds) {
  const TempDir dir;
  const auto store = must_open(dir / "store");
  for (int round = 0; round < 20; ++round) {
    const Mark last = append(*store);
    const std::string target = dir / ("copy" + std::to_string(round));
    ASSERT_TRUE(store->copy_to(target).ok());
    for (int opening = 0; opening < 3; ++opening) {
      const auto copy = must_open(target);
      EXPECT_GT(append(*copy), last) << "round " << round;
      EXPECT_EQ(entries_of(*copy).size(), static_cast<std::size_t>(round + 2 + opening));
    }
  }
}

TEST(Copy, leaves_out_what_was_deleted) {
  const TempDir dir;
  const auto store = must_open(dir / "store");
  fill(*store, 0, 3'000);
  ASSERT_TRUE(store->run([](Transaction& txn) -> Status {
    txn.erase_range({"k", "k102900"});
    return {};
  }));
  ASSERT_TRUE(store->copy_to(dir / "copy").ok());
  EXPECT_GT(std::filesystem::file_size(dir / "store/data.mdb"), 8u << 20);
  EXPECT_LT(std::filesystem::file_size(dir / "copy/data.mdb"), 1u << 20);
  EXPECT_EQ(entries_of(*must_open(dir / "copy")), entries_of(*store));
}

// Two keys that are far apart always hold the same number.
TEST(Copy, is_one_moment_of_a_store_that_is_being_written) {
  const TempDir dir;
  const auto store = must_open(dir / "store", system_clock(), 512 << 20);
  fill(*store, 0, 3'000);
  std::atomic<std::uint64_t> number{0};
  const std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto commit = store->run([&](Transaction& txn) -> Status {
        txn.put("a", std::to_string(number + 1));
        txn.put("k101500", std::string(1 + number % 5'000, 'w'));
        txn.put("z", std::to_string(number + 1));
        return {};
      });
      ASSERT_TRUE(commit) << commit.error().to_string();
      ++number;
    }
  });
  while (number < 20) std::this_thread::yield();
  for (int round = 0; round < 10; ++round) {
    const std::string target = dir / ("copy" + std::to_string(round));
    const std::uint64_t before = number;
    const Status copied = store->copy_to(target);
    ASSERT_TRUE(copied.ok()) << copied.to_string();
    const std::uint64_t after = number + 1;
    const auto entries = entries_of(*must_open(target));
    ASSERT_EQ(entries.size(), 3'002u);
    EXPECT_EQ(entries.front().value, entries.back().value);
    EXPECT_GE(std::stoull(entries.front().value), before);
    EXPECT_LE(std::stoull(entries.front().value), after);
    std::filesystem::remove_all(target);
  }
}

TEST(Copy, goes_into_an_empty_directory_and_into_no_other) {
  const TempDir dir;
  const auto store = must_open(dir / "store");
  append(*store);
  std::filesystem::create_directory(dir / "empty");
  EXPECT_TRUE(store->copy_to(dir / "empty").ok());
  EXPECT_EQ(store->copy_to(dir / "empty").code(), Code::already_exists);
  EXPECT_EQ(store->copy_to(dir / "store").code(), Code::already_exists);
  std::filesystem::create_directories(dir / "full/logs");
  EXPECT_EQ(store->copy_to(dir / "full").code(), Code::already_exists);
  EXPECT_EQ(names_in(dir / "full"), std::vector<std::string>{"logs"});
  test::write_file(dir / "file", "x");
  EXPECT_EQ(store->copy_to(dir / "file").code(), Code::already_exists);
  EXPECT_EQ(test::read_file(dir / "file"), "x");
  EXPECT_EQ(store->copy_to(dir / "missing/copy").code(), Code::not_found);
  EXPECT_EQ(store->copy_to("").code(), Code::invalid_argument);
  EXPECT_EQ(entries_of(*must_open(dir / "empty")).size(), 1u);
}

TEST(Copy, its_time_does_not_run_backwards) {
  const TempDir dir;
  ManualClock clock;
  const auto store = must_open(dir / "store", clock);
  clock.advance(hours(1));
  const WallTime last = store->now();
  ASSERT_TRUE(store->copy_to(dir / "copy").ok());
  clock.step_wall(-hours(10));
  const auto copy = must_open(dir / "copy", clock);
  EXPECT_GE(copy->now(), last);
  EXPECT_LE(copy->now(), last + std::chrono::milliseconds(1));
}

TEST(Copy, is_refused_inside_a_body) {
  const TempDir dir;
  const auto store = must_open(dir / "store");
  Status copied;
  ASSERT_TRUE(store->run([&](Transaction&) -> Status {
    copied = store->copy_to(dir / "copy");
    return {};
  }));
  EXPECT_EQ(copied.code(), Code::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(dir / "copy"));
}

TEST(Copy, is_refused_by_a_store_without_a_file) {
  const TempDir dir;
  EXPECT_EQ(open_memory()->copy_to(dir / "copy").code(), Code::invalid_argument);
  SeededRandom random(1);
  FaultStore fault({}, random);
  EXPECT_EQ(fault.copy_to(dir / "copy").message(), "a memory store has no file to copy");
  fault.crash();
  EXPECT_EQ(fault.copy_to(dir / "copy").code(), Code::unavailable);
  EXPECT_FALSE(std::filesystem::exists(dir / "copy"));
}

TEST(Copy, may_lie_in_the_store_s_own_directory_as_may_files_of_others) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "store/logs/old");
  test::write_file(dir / "store/locks", "mine");
  {
    const auto store = must_open(dir / "store");
    const Mark mark = append(*store);
    ASSERT_TRUE(store->copy_to(dir / "store/backup").ok());
    EXPECT_GT(append(*must_open(dir / "store/backup")), mark);
  }
  EXPECT_TRUE(compact_lmdb({.dir = dir / "store"}).ok());
  EXPECT_EQ(entries_of(*must_open(dir / "store")).size(), 1u);
  EXPECT_EQ(names_in(dir / "store"),
            (std::vector<std::string>{"backup", "bell", "data.mdb", "lock.mdb", "locks", "logs"}));
  EXPECT_EQ(test::read_file(dir / "store/locks"), "mine");
}

}  // namespace
}  // namespace sluice::kv
