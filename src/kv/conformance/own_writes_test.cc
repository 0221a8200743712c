// SPDX-License-Identifier: MIT
// What a transaction sees: the committed state, its own writes over it, in order.
#include "kv/conformance/engines.h"

namespace sluice::kv {
namespace {

using Keys = std::vector<std::string>;

Keys keys_of(const std::vector<KeyValue>& entries) {
  Keys keys;
  for (const auto& entry : entries) keys.push_back(entry.key);
  return keys;
}

Keys scan_keys(Reader& reader, const Range& range, const ScanOptions& options = {}) {
  auto entries = reader.scan(range, options);
  EXPECT_TRUE(entries) << entries.error().to_string();
  return keys_of(entries.value_or(std::vector<KeyValue>()));
}

TEST_P(Conformance, what_is_put_is_there_after_the_commit) {
  const Opened store = open_engine(GetParam());
  EXPECT_EQ(committed(store, "key"), std::nullopt);
  must_put(store, "key", "value");
  EXPECT_EQ(committed(store, "key"), "value");
  must_put(store, "key", "");
  EXPECT_EQ(committed(store, "key"), "");
  must_run(store, [](Transaction& txn) -> Status {
    txn.erase("key");
    txn.erase("never there");
    return {};
  });
  EXPECT_EQ(committed(store, "key"), std::nullopt);
}

TEST_P(Conformance, a_transaction_that_was_given_up_fails_whatever_its_body_says) {
  const Opened store = open_engine(GetParam());
  const auto result = store->run([](Transaction& txn) -> Status {
    txn.put("new", "1");
    txn.refuse({Code::limit_exceeded, "no"});
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::limit_exceeded);
  EXPECT_TRUE(all_committed(store).empty());
}

TEST_P(Conformance, a_body_that_fails_leaves_nothing) {
  const Opened store = open_engine(GetParam());
  must_put(store, "kept", "1");
  const auto result = store->run([](Transaction& txn) -> Status {
    txn.put("new", "1");
    txn.put("kept", "2");
    txn.add("count", 1);
    txn.put_stamped_key("log/", txn.take_ordinal(), "", "x");
    txn.erase_range({"k", "l"});
    return {Code::limit_exceeded, "no"};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::limit_exceeded);
  EXPECT_EQ(all_committed(store), (std::vector<KeyValue>{{"kept", "1"}}));
}

TEST_P(Conformance, a_body_that_throws_leaves_nothing_and_harms_nobody) {
  const Opened store = open_engine(GetParam());
  const auto result = store->run([](Transaction& txn) -> Status {
    txn.put("new", "1");
    throw std::runtime_error("oops");
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
  must_put(store, "after", "1");
  EXPECT_EQ(keys_of(all_committed(store)), Keys{"after"});
}

TEST_P(Conformance, a_conflict_that_the_body_returns_is_not_retried) {
  const Opened store = open_engine(GetParam());
  int runs = 0;
  const auto result = store->run([&](Transaction&) -> Status {
    ++runs;
    return {Code::conflict, "the job is done already"};
  });
  EXPECT_EQ(result.error().code(), Code::conflict);
  EXPECT_EQ(runs, 1);
}

TEST_P(Conformance, conflicting_reads_see_own_writes) {
  const Opened store = open_engine(GetParam());
  must_put(store, "a", "old");
  must_put(store, "b", "old");
  must_run(store, [](Transaction& txn) -> Status {
    txn.put("a", "new");
    txn.erase("b");
    txn.put("c", "new");
    EXPECT_EQ(txn.get("a").value(), "new");
    EXPECT_EQ(txn.get("b").value(), std::nullopt);
    EXPECT_EQ(txn.get("c").value(), "new");
    EXPECT_EQ(txn.visit("c", [](std::string_view bytes) { EXPECT_EQ(bytes, "new"); }), true);
    EXPECT_EQ(scan_keys(txn, Range::all()), (Keys{"a", "c"}));
    txn.erase("a");
    txn.put("b", "again");
    EXPECT_EQ(scan_keys(txn, Range::all()), (Keys{"b", "c"}));
    return {};
  });
  EXPECT_EQ(all_committed(store), (std::vector<KeyValue>{{"b", "again"}, {"c", "new"}}));
}

TEST_P(Conformance, snapshot_reads_do_not_see_own_writes) {
  const Opened store = open_engine(GetParam());
  must_put(store, "a", "old");
  must_run(store, [](Transaction& txn) -> Status {
    txn.put("a", "new");
    txn.put("b", "new");
    txn.add("n", 5);
    const ScanOptions snapshot{.isolation = Isolation::snapshot};
    EXPECT_EQ(txn.get("a", Isolation::snapshot).value(), "old");
    EXPECT_EQ(txn.get("b", Isolation::snapshot).value(), std::nullopt);
    EXPECT_EQ(txn.get("n", Isolation::snapshot).value(), std::nullopt);
    EXPECT_EQ(scan_keys(txn, Range::all(), snapshot), Keys{"a"});
    txn.erase("a");
    EXPECT_EQ(scan_keys(txn, Range::all(), snapshot), Keys{"a"});
    return {};
  });
}

TEST_P(Conformance, a_scan_merges_own_writes_in_both_directions) {
  const Opened store = open_engine(GetParam());
  must_run(store, [](Transaction& txn) -> Status {
    for (const char* key : {"b", "d", "f", "h"}) txn.put(key, "old");
    return {};
  });
  must_run(store, [](Transaction& txn) -> Status {
    txn.put("a", "new");
    txn.put("d", "new");
    txn.erase("f");
    txn.put("g", "new");
    txn.add("i", 1);
    EXPECT_EQ(scan_keys(txn, Range::all()), (Keys{"a", "b", "d", "g", "h", "i"}));
    EXPECT_EQ(scan_keys(txn, Range::all(), {.reverse = true}),
              (Keys{"i", "h", "g", "d", "b", "a"}));
    EXPECT_EQ(scan_keys(txn, {"b", "h"}), (Keys{"b", "d", "g"}));
    EXPECT_EQ(scan_keys(txn, {"b", "h"}, {.limit = 2, .reverse = true}), (Keys{"g", "d"}));
    EXPECT_EQ(txn.scan({"d", "e"}).value().front().value, "new");
    return {};
  });
}

TEST_P(Conformance, a_scan_honours_its_bounds_and_its_limit) {
  const Opened store = open_engine(GetParam());
  must_run(store, [](Transaction& txn) -> Status {
    for (int i = 0; i < 200; ++i) txn.put("k" + std::to_string(1000 + i), "v");
    return {};
  });
  const Status status = store->read([](Reader& reader) -> Status {
    EXPECT_EQ(scan_keys(reader, Range::all()).size(), 200u);
    EXPECT_EQ(scan_keys(reader, {"k1010", "k1012"}), (Keys{"k1010", "k1011"}));
    EXPECT_EQ(scan_keys(reader, Range::all(), {.limit = 0}), Keys{});
    EXPECT_EQ(scan_keys(reader, Range::all(), {.limit = 1}), Keys{"k1000"});
    EXPECT_EQ(scan_keys(reader, Range::all(), {.limit = 1, .reverse = true}), Keys{"k1199"});
    EXPECT_EQ(scan_keys(reader, {"k1012", "k1010"}), Keys{});
    EXPECT_EQ(scan_keys(reader, {"", "k1001"}, {.reverse = true}), Keys{"k1000"});
    EXPECT_EQ(scan_keys(reader, {"k1199x", "z"}, {.reverse = true}), Keys{});
    EXPECT_EQ(scan_keys(reader, Range::prefix("k119")).size(), 10u);
    int visited = 0;
    EXPECT_TRUE(reader
                    .scan(Range::all(), {},
                          [&](std::string_view, std::string_view) { return ++visited < 77; })
                    .ok());
    EXPECT_EQ(visited, 77);
    return {};
  });
  EXPECT_TRUE(status.ok());
}

TEST_P(Conformance, keys_are_ordered_as_unsigned_bytes_with_prefixes_first) {
  const Opened store = open_engine(GetParam());
  const Keys keys = {"\x01",
                     std::string("\x01\0", 2),
                     "\x01\x01",
                     "a",
                     std::string("a\0", 2),
                     "aa",
                     "b",
                     "\x7f",
                     "\x80",
                     "\xfe",
                     "\xfe\xff"};
  must_run(store, [&](Transaction& txn) -> Status {
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) txn.put(*key, "v");
    EXPECT_EQ(scan_keys(txn, Range::all()), keys);
    return {};
  });
  EXPECT_EQ(keys_of(all_committed(store)), keys);
}

TEST_P(Conformance, erase_range_takes_its_range_and_later_writes_stay) {
  const Opened store = open_engine(GetParam());
  must_run(store, [](Transaction& txn) -> Status {
    for (const char* key : {"a", "b", "b1", "c", "d"}) txn.put(key, "old");
    return {};
  });
  must_run(store, [](Transaction& txn) -> Status {
    txn.put("b2", "gone too");
    txn.erase_range({"b", "d"});
    EXPECT_EQ(txn.get("c").value(), std::nullopt);
    EXPECT_EQ(txn.get("c", Isolation::snapshot).value(), "old");
    txn.put("b1", "new");
    txn.erase_range({"x", "x"});
    txn.erase_range({"z", "y"});
    EXPECT_EQ(scan_keys(txn, Range::all()), (Keys{"a", "b1", "d"}));
    return {};
  });
  EXPECT_EQ(all_committed(store),
            (std::vector<KeyValue>{{"a", "old"}, {"b1", "new"}, {"d", "old"}}));
  must_run(store, [](Transaction& txn) -> Status {
    txn.erase_range(Range::all());
    return {};
  });
  EXPECT_TRUE(all_committed(store).empty());
}

TEST_P(Conformance, a_body_that_writes_nothing_commits_nothing) {
  const Opened store = open_engine(GetParam());
  const Commit commit = must_run(store, [](Transaction& txn) { return status_of(txn.get("a")); });
  EXPECT_EQ(commit.stamp, Stamp{});
}

}  // namespace
}  // namespace sluice::kv
