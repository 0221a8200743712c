// SPDX-License-Identifier: MIT
#include "kv/lmdb/free_runs.h"

#include <gtest/gtest.h>
#include <sluice/kv.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

using test::TempDir;

/// The calls by which this process has written so far.
std::uint64_t write_calls() {
  std::ifstream io("/proc/self/io");
  for (std::string name; io >> name;) {
    std::uint64_t value = 0;
    io >> value;
    if (name == "syscw:") return value;
  }
  ADD_FAILURE() << "/proc/self/io does not tell";
  return 0;
}

/// A value that has a page to itself.
const std::string kPage(3000, 'p');

/// Keys of one length, so that they sort as their numbers do.
std::string key_of(std::string_view kind, int number) {
  return std::string(kind) + std::to_string(1'000'000 + number);
}

void run(Store& store, const Body& body) {
  const auto commit = store.run(body);
  ASSERT_TRUE(commit) << commit.error().to_string();
}

/// Frees many pages that are neighbours, but in each commit only ones that are not.
void scatter(Store& store) {
  constexpr int kPages = 1600;
  constexpr int kCommits = 16;
  run(store, [](Transaction& txn) -> Status {
    for (int i = 0; i < kPages; ++i) txn.put(key_of("old/", i), kPage);
    return {};
  });
  for (int commit = 0; commit < kCommits; ++commit)
    run(store, [&](Transaction& txn) -> Status {
      for (int i = commit; i < kPages; i += kCommits) txn.erase(key_of("old/", i));
      return {};
    });
}

/// Writes 40 pages per commit; returns by how many calls each did.
double calls_per_commit(Store& store) {
  constexpr int kCommits = 32;
  constexpr int kPages = 40;
  const std::uint64_t before = write_calls();
  for (int commit = 0; commit < kCommits; ++commit)
    run(store, [&](Transaction& txn) -> Status {
      for (int i = 0; i < kPages; ++i) txn.put(key_of("new/", commit * kPages + i), kPage);
      return {};
    });
  return static_cast<double>(write_calls() - before) / kCommits;
}

TEST(FreeRuns, scattered_free_pages_are_written_in_runs) {
  const TempDir dir;
  auto store = open_lmdb({.dir = dir.path()});
  ASSERT_TRUE(store) << store.error().to_string();
  scatter(**store);
  EXPECT_LT(calls_per_commit(**store), 10) << "one is for the meta page";
  EXPECT_LT(std::filesystem::file_size(dir / "data.mdb"), std::size_t{16} << 20);
}

TEST(FreeRuns, the_reserve_of_a_small_map_is_left_alone) {
  constexpr std::uint64_t kMapBytes = 1 << 20;
  const TempDir dir;
  auto store = open_lmdb(
      {.dir = dir.path(), .map_bytes = kMapBytes, .reserve_bytes = kMapBytes - (1 << 18)});
  ASSERT_TRUE(store) << store.error().to_string();
  for (int i = 0; i < 100; ++i)
    run(**store, [](Transaction& txn) { return txn.put("k", "v"), Status(); });
  EXPECT_LT(std::filesystem::file_size(dir / "data.mdb"), std::size_t{1} << 18);
}

}  // namespace
}  // namespace sluice::kv
