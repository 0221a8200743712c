// SPDX-License-Identifier: MIT
#include "migrate/verify.h"

#include <gtest/gtest.h>

#include <functional>

#include "migrate/exclude.h"
#include "migrate/ledger_testing.h"
#include "migrate/retry.h"

namespace sluice::migrate {
namespace {

using testing::compare_trees;
using testing::everything;
using testing::problems;
using testing::rows_of;

void put(kv::Store& store, std::string_view key, std::string_view value) {
  ASSERT_TRUE(store.run([&](kv::Transaction& txn) -> Status {
    txn.put(key, value);
    return {};
  }));
}

void erase(kv::Store& store, const std::string& key) {
  ASSERT_TRUE(store.run([&](kv::Transaction& txn) -> Status {
    txn.erase(key);
    return {};
  }));
}

/// One of everything, listed, changed here and there, and listed again.
struct Ledger {
  std::unique_ptr<testing::Trees> trees = everything();
  std::unique_ptr<kv::Store> store = kv::open_memory();

  Ledger() {
    EXPECT_EQ(compare_trees(*store, *trees), Status());
    trees->file("src", "deep/er/later", "later");
    trees->folder("src", "deep/empty/no more");
    EXPECT_TRUE(mark_for_retry(*store, {.paths = {"deep"}}));
  }
  void finish() { EXPECT_EQ(compare_trees(*store, *trees), Status()); }
};

bool is_counter_of_nothing(const kv::KeyValue& row) {
  return keys::parse_tally(row.key) && kv::decode_counter(row.value).value_or(1) == 0;
}

TEST(Verify, a_ledger_of_everything_is_clean) {
  Ledger ledger;
  ledger.finish();
  EXPECT_EQ(problems(*ledger.store), "");
}

TEST(Verify, a_ledger_that_is_being_listed_again_is_clean) {
  const Ledger ledger;
  EXPECT_EQ(problems(*ledger.store), "");
}

TEST(Verify, what_it_read_is_told) {
  Ledger ledger;
  ledger.finish();
  const auto report = verify(*ledger.store);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->folders, 14u);
  EXPECT_GT(report->entries, 1'500u);
  EXPECT_GT(report->chunks, 20u);
}

TEST(Verify, every_key_that_is_missing_is_found) {
  Ledger ledger;
  ledger.finish();
  ASSERT_TRUE(exclude(*ledger.store, "deep/er").ok());
  for (const kv::KeyValue& row : rows_of(*ledger.store)) {
    // No counter and one that is zero say the same.
    if (is_counter_of_nothing(row)) continue;
    erase(*ledger.store, row.key);
    EXPECT_NE(problems(*ledger.store), "") << ::testing::PrintToString(row.key);
    put(*ledger.store, row.key, row.value);
  }
  EXPECT_EQ(problems(*ledger.store), "");
}

void find_flipped_bits(kv::Store& store) {
  for (const kv::KeyValue& row : rows_of(store)) {
    for (const std::size_t at : {std::size_t{0}, row.value.size() / 2, row.value.size() - 1}) {
      std::string damaged = row.value.empty() ? "x" : row.value;
      if (!row.value.empty()) damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      put(store, row.key, damaged);
      EXPECT_NE(problems(store), "") << ::testing::PrintToString(row.key) << " at " << at;
    }
    put(store, row.key, row.value);
  }
  EXPECT_EQ(problems(store), "");
}

TEST(Verify, every_value_with_a_flipped_bit_is_found) {
  Ledger ledger;
  ledger.finish();
  ASSERT_TRUE(exclude(*ledger.store, "deep/er").ok());
  find_flipped_bits(*ledger.store);
}

TEST(Verify, a_flipped_bit_is_found_while_directories_are_pending) {
  const Ledger ledger;
  find_flipped_bits(*ledger.store);
}

TEST(Verify, a_key_of_no_known_kind_is_found) {
  Ledger ledger;
  put(*ledger.store, "key", "value");
  EXPECT_EQ(problems(*ledger.store), "M7: there is a key of no known kind\n");
}

TEST(Verify, a_chunk_of_an_earlier_generation_is_found) {
  Ledger ledger;
  ledger.finish();
  const auto rows = rows_of(*ledger.store);
  put(*ledger.store, keys::chunk(Part::src, kRoot, 7, 0), "");
  EXPECT_EQ(problems(*ledger.store), "M4: a chunk of directory 1 belongs to no block\n");
}

TEST(Verify, a_step_that_nothing_asks_for_is_found) {
  Ledger ledger;
  ledger.finish();
  put(*ledger.store, keys::work({.pass = Pass::links, .level = 0, .id = kRoot}), "");
  EXPECT_EQ(problems(*ledger.store),
            "M6: a step of pass 2 is planned without need for directory 1\n");
}

TEST(Verify, a_counter_that_is_off_by_one_is_found) {
  Ledger ledger;
  ledger.finish();
  ASSERT_TRUE(ledger.store->run([](kv::Transaction& txn) -> Status {
    txn.add(keys::tally({.what = Tally::verdict, .level = 1}), 1);
    return {};
  }));
  EXPECT_TRUE(problems(*ledger.store).starts_with("M5: counter (2, level 1, 0) is "));
}

TEST(Verify, an_empty_store_is_no_ledger) {
  const auto store = kv::open_memory();
  EXPECT_NE(problems(*store), "");
}

}  // namespace
}  // namespace sluice::migrate
