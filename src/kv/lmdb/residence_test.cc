// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sluice/kv.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace sluice::kv {
namespace {

constexpr std::uint64_t kMib = 1 << 20;

std::string key_of(int i) {
  std::string text = std::to_string(i);
  return "key" + std::string(8 - text.size(), '0') + text;
}

/// A store of about 40 MiB.
std::string fill(const test::TempDir& dir) {
  const std::string path = dir / "store";
  const auto store = open_lmdb({.dir = path}).value();
  for (int i = 0; i < 800; i += 40)
    EXPECT_TRUE(store->run([&](Transaction& txn) -> Status {
      for (int j = i; j < i + 40; ++j) txn.put(key_of(j), std::string(50'000, 'x'));
      return {};
    }));
  return path;
}

/// Of mapped files.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::uint64_t mapped = 0;
  file >> all >> resident >> mapped;
  return mapped * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Reads everything, in many transactions; the most that was resident after a commit.
std::uint64_t most_resident(Store& store) {
  std::uint64_t most = 0;
  for (int i = 0; i < 800; ++i) {
    EXPECT_EQ(store.read([&](Reader& reader) -> Status {
      SLUICE_LET(value, reader.get(key_of(i)));
      EXPECT_EQ(value.value_or("").size(), 50'000u);
      return {};
    }),
              Status());
    if (i % 10 != 0) continue;
    EXPECT_TRUE(store.run([&](Transaction& txn) -> Status {
      txn.put("last", std::to_string(i));
      return {};
    }));
    most = std::max(most, resident_bytes());
  }
  return most;
}

TEST(Residence, what_is_mapped_stays_below_the_bound_and_can_still_be_read) {
  const test::TempDir dir;
  const std::string path = fill(dir);
  // The program itself and its libraries are mapped, too.
  const std::uint64_t before = resident_bytes();
  {
    const auto store = open_lmdb({.dir = path, .resident_bytes_max = before + 8 * kMib}).value();
    EXPECT_LE(most_resident(*store), before + 10 * kMib);
  }
  const auto store = open_lmdb({.dir = path}).value();
  EXPECT_GE(most_resident(*store), before + 30 * kMib) << "nothing was to be bounded";
}

}  // namespace
}  // namespace sluice::kv
