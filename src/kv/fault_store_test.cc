// SPDX-License-Identifier: MIT
#include "kv/fault_store.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace sluice::kv {
namespace {

struct Bundle {
  SeededRandom random{1};
  FaultStore store{{}, random};

  Code put(std::string_view key, WriteClass write_class = WriteClass::grow) {
    const auto result = store.run(
        [&](Transaction& txn) -> Status {
          ++runs;
          txn.put(key, "v");
          return {};
        },
        {.write_class = write_class});
    return status_of(result).code();
  }
  bool has(std::string_view key) {
    bool found = false;
    const Status status = store.read([&](Reader& reader) -> Status {
      SLUICE_LET(value, reader.get(key));
      found = value.has_value();
      return {};
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
    return found;
  }

  int runs = 0;
};

TEST(FaultStore, a_conflict_runs_the_body_again_and_nobody_notices) {
  Bundle b;
  b.store.set_chance(Fault::conflict, 1);
  EXPECT_EQ(b.put("k"), Code::ok);
  EXPECT_EQ(b.runs, 2);
  EXPECT_TRUE(b.has("k"));
  EXPECT_EQ(b.store.count(Fault::conflict), 1u);
}

TEST(FaultStore, full_refuses_to_grow_and_lets_drain) {
  Bundle b;
  b.store.set_chance(Fault::full, 1);
  EXPECT_EQ(b.put("k"), Code::storage_full);
  EXPECT_FALSE(b.has("k"));
  EXPECT_EQ(b.put("k", WriteClass::drain), Code::ok);
  EXPECT_TRUE(b.has("k"));
}

TEST(FaultStore, unknown_may_mean_applied_and_may_mean_lost) {
  Bundle b;
  b.store.set_chance(Fault::unknown_applied, 1);
  EXPECT_EQ(b.put("applied"), Code::commit_unknown);
  b.store.clear_chances();
  b.store.set_chance(Fault::unknown_lost, 1);
  EXPECT_EQ(b.put("lost"), Code::commit_unknown);
  EXPECT_TRUE(b.has("applied"));
  EXPECT_FALSE(b.has("lost"));
}

TEST(FaultStore, an_io_error_poisons_until_reopened) {
  Bundle b;
  EXPECT_EQ(b.put("before"), Code::ok);
  b.store.set_chance(Fault::io_error, 1);
  EXPECT_EQ(b.put("k"), Code::io_error);
  b.store.clear_chances();
  EXPECT_TRUE(b.store.down());
  EXPECT_EQ(b.put("k"), Code::io_error);
  EXPECT_EQ(b.store.read([](Reader&) { return Status(); }).code(), Code::io_error);
  b.store.reopen();
  EXPECT_EQ(b.put("after"), Code::ok);
  EXPECT_TRUE(b.has("before"));
  EXPECT_FALSE(b.has("k"));
}

TEST(FaultStore, a_crash_keeps_what_was_synced_and_loses_the_rest) {
  Bundle b;
  EXPECT_EQ(b.put("synced"), Code::ok);
  b.store.set_chance(Fault::crash_lost, 1);
  EXPECT_EQ(b.put("lost"), Code::commit_unknown);
  EXPECT_EQ(b.put("down"), Code::unavailable);
  b.store.clear_chances();
  b.store.reopen();
  b.store.set_chance(Fault::crash_applied, 1);
  EXPECT_EQ(b.put("applied"), Code::commit_unknown);
  b.store.clear_chances();
  b.store.reopen();
  EXPECT_TRUE(b.has("synced"));
  EXPECT_FALSE(b.has("lost"));
  EXPECT_FALSE(b.has("down"));
  EXPECT_TRUE(b.has("applied"));
}

// What a group commit looks like when the power goes: bodies have seen each other, none is durable.
TEST(FaultStore, held_syncs_are_seen_by_later_bodies_and_lost_in_a_crash) {
  Bundle b;
  EXPECT_EQ(b.put("synced"), Code::ok);
  b.store.hold_syncs(true);
  std::vector<std::string> told;
  const auto submit = [&](const std::string& key) {
    b.store.submit(
        [&, key](Transaction& txn) -> Status {
          txn.put(key, "v");
          return {};
        },
        [&, key](Result<Commit> result) {
          EXPECT_TRUE(result);
          told.push_back(key);
        });
  };
  submit("one");
  submit("two");
  EXPECT_TRUE(told.empty());
  b.store.sync();
  EXPECT_EQ(told, (std::vector<std::string>{"one", "two"}));
  submit("three");
  EXPECT_TRUE(b.has("three"));
  b.store.crash();
  b.store.reopen();
  b.store.sync();
  EXPECT_EQ(told.size(), 2u);
  EXPECT_TRUE(b.has("synced"));
  EXPECT_TRUE(b.has("two"));
  EXPECT_FALSE(b.has("three"));
  submit("four");
  EXPECT_EQ(b.put("run syncs all"), Code::ok);
  EXPECT_EQ(told.back(), "four");
}

TEST(FaultStore, chances_are_kept_and_repeat_with_the_seed) {
  const auto outcomes = [] {
    Bundle b;
    b.store.set_chance(Fault::unknown_lost, 0.3);
    std::vector<Code> codes;
    for (int i = 0; i < 200; ++i) codes.push_back(b.put("k"));
    EXPECT_NEAR(static_cast<double>(b.store.count(Fault::unknown_lost)), 60, 25);
    return codes;
  };
  EXPECT_EQ(outcomes(), outcomes());
}

TEST(FaultStore, a_rewound_store_counts_on_from_where_it_was) {
  Bundle b;
  const auto add = [&] {
    return b.store.run([](Transaction& txn) -> Status {
      txn.add("n", 1);
      txn.erase_range({"x", "y"});
      txn.put("x1", "v");
      return {};
    });
  };
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(add());
    b.store.hold_syncs(true);
    b.store.submit([](Transaction& txn) { return txn.add("n", 100), Status(); },
                   [](Result<Commit>) { ADD_FAILURE() << "was lost"; });
    b.store.crash();
    b.store.reopen();
    b.store.hold_syncs(false);
  }
  std::optional<std::string> value;
  EXPECT_TRUE(b.store
                  .read([&](Reader& reader) -> Status {
                    SLUICE_LET(found, reader.get("n"));
                    value = found;
                    return {};
                  })
                  .ok());
  EXPECT_EQ(decode_counter(value).value(), 50);
}

}  // namespace
}  // namespace sluice::kv
