// SPDX-License-Identifier: MIT
// A store whose map is full must still let its content be taken out, one deletion at a time.
#include <gtest/gtest.h>
#include <sluice/kv.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

// Something like a job: a value, and index entries that go with it.
std::string value_key(std::uint64_t number) {
  return "value/" + std::to_string(number);
}
std::string index_key(unsigned index, std::uint64_t number) {
  // A different order in each index, so that every deletion touches pages all over the tree.
  const std::uint64_t place = number * (2 * index + 1) * 0x9E3779B97F4A7C15u;
  return "index/" + std::to_string(index) + "/" + std::to_string(place);
}
constexpr unsigned kIndexes = 5;

class FullMap : public ::testing::TestWithParam<std::size_t> {
 protected:
  FullMap() {
    auto opened = kv::open_lmdb({.dir = dir_ / "store", .map_bytes = 4 << 20});
    if (opened) store_ = std::move(*opened);
  }

  Status put(std::uint64_t number) {
    return status_of(store_->run([&](kv::Transaction& txn) -> Status {
      txn.put(value_key(number), std::string(GetParam(), 'v'));
      for (unsigned index = 0; index < kIndexes; ++index) txn.put(index_key(index, number), "");
      txn.add("count", 1);
      return {};
    }));
  }

  Status take(std::uint64_t number) {
    return status_of(store_->run(
        [&](kv::Transaction& txn) -> Status {
          SLUICE_LET(value, txn.get(value_key(number)));
          if (!value) return error(Code::not_found, value_key(number));
          txn.erase(value_key(number));
          for (unsigned index = 0; index < kIndexes; ++index) txn.erase(index_key(index, number));
          txn.add("count", -1);
          return {};
        },
        {.write_class = kv::WriteClass::drain}));
  }

  // Puts until that is refused, and returns how many there are.
  std::uint64_t fill() {
    std::uint64_t number = 0;
    Status status = put(number);
    while (status.ok()) status = put(++number);
    EXPECT_EQ(status.code(), Code::storage_full) << status.to_string();
    return number;
  }

  std::uint64_t entries() {
    std::uint64_t entries = 0;
    const Status status = store_->read([&](kv::Reader& reader) {
      entries = 0;
      return reader.scan(kv::Range::all(), {}, [&](auto, auto) { return ++entries > 0; });
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
    return entries;
  }

  TempDir dir_;
  std::unique_ptr<kv::Store> store_;
};

TEST_P(FullMap, is_drained_one_by_one_and_can_be_filled_again) {
  ASSERT_TRUE(store_);
  const std::uint64_t filled = fill();
  ASSERT_GT(filled, 10u);
  std::uint64_t refused = 0;
  for (std::uint64_t number = 0; number < filled; ++number)
    if (const Status status = take(number); !status.ok() && ++refused <= 3)
      ADD_FAILURE() << "deletion " << number << " of " << filled << ": " << status.to_string();
  EXPECT_EQ(refused, 0u);
  EXPECT_EQ(entries(), 1u) << "more than the count is left";
  const std::uint64_t again = fill();
  EXPECT_GT(again, filled * 8 / 10);
  print_figure("full_map_drained_" + std::to_string(GetParam()) + "_byte_values", filled);
}

TEST_P(FullMap, is_drained_by_many_threads_at_once) {
  ASSERT_TRUE(store_);
  const std::uint64_t filled = fill();
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&] {
        for (std::uint64_t number = next++; number < filled; number = next++)
          if (!take(number).ok()) ++refused;
      });
  }
  EXPECT_EQ(refused, 0u) << "of " << filled;
  EXPECT_EQ(entries(), 1u);
  EXPECT_TRUE(put(0).ok());
}

// Readers keep deleted pages from being used again, so draining needs room of its own meanwhile.
TEST_P(FullMap, is_partly_drained_while_somebody_reads) {
  ASSERT_TRUE(store_);
  const std::uint64_t filled = fill();
  Status worst;
  const Status read = store_->read([&](kv::Reader& reader) -> Status {
    SLUICE_TRY(reader.get("count"));
    std::jthread([&] {
      for (std::uint64_t number = 0; number < 10 && worst.ok(); ++number) worst = take(number);
    }).join();
    return {};
  });
  EXPECT_TRUE(read.ok());
  EXPECT_TRUE(worst.ok()) << worst.to_string();
  for (std::uint64_t number = 10; number < filled; ++number)
    ASSERT_TRUE(take(number).ok()) << number;
  EXPECT_EQ(entries(), 1u);
}

INSTANTIATE_TEST_SUITE_P(WithValuesOf, FullMap, ::testing::Values(50, 3'000, 60'000),
                         [](const auto& bytes) { return std::to_string(bytes.param) + "_bytes"; });

}  // namespace
}  // namespace sluice::test
