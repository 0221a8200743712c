// SPDX-License-Identifier: MIT
// Blind adds, stamped keys and values, ordinals and epochs.
#include <algorithm>
#include <thread>

#include "kv/conformance/engines.h"

namespace sluice::kv {
namespace {

std::int64_t counter(const Opened& store, std::string_view key) {
  return decode_counter(committed(store, key)).value_or(-1);
}

TEST_P(Conformance, adds_count_from_zero_and_wrap) {
  const Opened store = open_engine(GetParam());
  const auto add = [&](std::int64_t delta) {
    must_run(store, [&](Transaction& txn) -> Status {
      txn.add("n", delta);
      return {};
    });
  };
  add(5);
  EXPECT_EQ(counter(store, "n"), 5);
  add(-8);
  EXPECT_EQ(counter(store, "n"), -3);
  EXPECT_EQ(committed(store, "n"), std::string("\xfd\xff\xff\xff\xff\xff\xff\xff"));
  add(INT64_MAX);
  add(4);
  EXPECT_EQ(counter(store, "n"), INT64_MIN);
}

TEST_P(Conformance, adds_in_one_body_add_up_over_puts_and_erases) {
  const Opened store = open_engine(GetParam());
  must_run(store, [](Transaction& txn) -> Status {
    txn.add("twice", 20);
    txn.add("erased", 20);
    txn.add("ranged", 20);
    return {};
  });
  must_run(store, [](Transaction& txn) -> Status {
    txn.add("twice", 1);
    txn.add("twice", 2);
    EXPECT_EQ(decode_counter(txn.get("twice").value()).value(), 23);
    txn.put("put", std::string("\x05\0\0\0\0\0\0\0", 8));
    txn.add("put", 2);
    EXPECT_EQ(decode_counter(txn.get("put").value()).value(), 7);
    txn.erase("erased");
    txn.add("erased", 3);
    txn.erase_range({"r", "s"});
    txn.add("ranged", 4);
    EXPECT_EQ(decode_counter(txn.get("ranged").value()).value(), 4);
    txn.add("dropped", 1);
    txn.erase("dropped");
    return {};
  });
  EXPECT_EQ(counter(store, "twice"), 23);
  EXPECT_EQ(counter(store, "put"), 7);
  EXPECT_EQ(counter(store, "erased"), 3);
  EXPECT_EQ(counter(store, "ranged"), 4);
  EXPECT_EQ(committed(store, "dropped"), std::nullopt);
}

TEST_P(Conformance, add_extends_short_values_and_cuts_long_ones) {
  const Opened store = open_engine(GetParam());
  must_put(store, "short", "\x07");
  must_put(store, "long", std::string("\x01\0\0\0\0\0\0\0 and more", 17));
  must_run(store, [](Transaction& txn) -> Status {
    txn.add("short", 1);
    txn.add("long", 1);
    EXPECT_EQ(decode_counter(txn.get("short").value()).value(), 8);
    return {};
  });
  EXPECT_EQ(counter(store, "short"), 8);
  EXPECT_EQ(counter(store, "long"), 2);
  must_put(store, "not a counter", "abc");
  EXPECT_EQ(decode_counter(committed(store, "not a counter")).error().code(), Code::corrupt);
}

TEST_P(Conformance, stamps_are_filled_in_as_the_commit_tells) {
  const Opened store = open_engine(GetParam());
  const Commit commit = must_run(store, [](Transaction& txn) -> Status {
    EXPECT_EQ(txn.take_ordinal(), 0u);
    EXPECT_EQ(txn.take_ordinal(), 1u);
    txn.put_stamped_key("log/", 1, "/end", "v");
    txn.put_stamped_key("log/", 0, "", "first");
    txn.put_stamped_value("id", "record", 7);
    return {};
  });
  EXPECT_NE(commit.stamp, Stamp{});
  EXPECT_EQ(committed(store, "log/" + commit.mark(1).encode() + "/end"), "v");
  EXPECT_EQ(committed(store, "log/" + commit.mark(0).encode()), "first");
  const std::string value = committed(store, "id").value();
  ASSERT_EQ(value.size(), 6 + kMarkBytes);
  EXPECT_EQ(value.substr(0, 6), "record");
  EXPECT_EQ(Mark::decode(value.substr(6)).value(), commit.mark(7));
}

TEST_P(Conformance, stamps_are_unique_and_increase_in_commit_order) {
  const Opened store = open_engine(GetParam());
  constexpr int kThreads = 6;
  constexpr int kEach = 40;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        Mark last;
        for (int i = 0; i < kEach; ++i) {
          const Commit commit = must_run(store, [&](Transaction& txn) -> Status {
            txn.put_stamped_key("log/", txn.take_ordinal(), "",
                                std::to_string(t) + "/" + std::to_string(i));
            return {};
          });
          EXPECT_LT(last, commit.mark(0));
          last = commit.mark(0);
        }
      });
  }
  const auto entries = all_committed(store);
  ASSERT_EQ(entries.size(), std::size_t{kThreads * kEach});
  std::array<int, kThreads> next{};
  for (const auto& [key, value] : entries)  // In key order, each thread's own order is kept.
    EXPECT_EQ(value.substr(2), std::to_string(next.at(static_cast<std::size_t>(value[0] - '0'))++));
}

TEST_P(Conformance, a_new_epoch_orders_after_all_before_it) {
  const Opened store = open_engine(GetParam());
  const auto stamped = [&] {
    return must_run(store, [](Transaction& txn) -> Status {
      txn.put_stamped_key("log/", 0, "", "v");
      return {};
    });
  };
  const Commit before = stamped();
  EXPECT_EQ(store->raise_epoch().value(), before.epoch + 1);
  const Commit after = stamped();
  EXPECT_EQ(after.epoch, before.epoch + 1);
  EXPECT_LT(before.mark(UINT32_MAX), after.mark(0));
  EXPECT_LT(before.mark(UINT32_MAX).encode(), after.mark(0).encode());
}

TEST_P(Conformance, own_stamped_keys_and_values_cannot_be_read) {
  using Act = std::function<void(Transaction&)>;
  const std::vector<std::pair<const char*, Act>> refused = {
      {"get under the prefix", [](Transaction& txn) { (void)txn.get("log/x"); }},
      {"get of the prefix", [](Transaction& txn) { (void)txn.get("log/"); }},
      {"get of the stamped value", [](Transaction& txn) { (void)txn.get("id"); }},
      {"visit", [](Transaction& txn) { (void)txn.visit("id", [](std::string_view) {}); }},
      {"scan over the key", [](Transaction& txn) { (void)txn.scan(Range::all()); }},
      {"scan that would end before it",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.limit = 1}); }},
      {"scan of the value", [](Transaction& txn) { (void)txn.scan({"i", "j"}); }},
      {"scan from inside the prefix", [](Transaction& txn) { (void)txn.scan({"log/z", "m"}); }},
      {"erase_range", [](Transaction& txn) { txn.erase_range(Range::prefix("log")); }},
      {"add", [](Transaction& txn) { txn.add("id", 1); }},
  };
  for (const auto& [what, act] : refused) {
    const Opened store = open_engine(GetParam());
    must_put(store, "b", "v");
    const auto result = store->run([&](Transaction& txn) -> Status {
      txn.put_stamped_key("log/", 0, "", "v");
      txn.put_stamped_value("id", "v", 1);
      act(txn);
      return {};  // Even a body that ignores the failure does not commit.
    });
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code(), Code::invalid_argument) << what;
    EXPECT_EQ(all_committed(store).size(), 1u) << what;
  }
}

TEST_P(Conformance, beside_own_stamped_keys_reading_goes_on) {
  const Opened store = open_engine(GetParam());
  must_put(store, "log", "v");
  must_put(store, "log/old", "v");
  must_put(store, "log0", "v");
  must_run(store, [](Transaction& txn) -> Status {
    txn.put_stamped_key("log/", 0, "", "v");
    txn.put_stamped_value("id", "v", 1);
    EXPECT_EQ(txn.get("log").value(), "v");
    EXPECT_EQ(txn.get("log0").value(), "v");
    EXPECT_EQ(txn.get("ie").value(), std::nullopt);
    EXPECT_EQ(txn.get("log/old", Isolation::snapshot).value(), "v");
    EXPECT_EQ(txn.scan(Range::all(), {.isolation = Isolation::snapshot}).value().size(), 3u);
    txn.put("id", "plain after all");
    return {};
  });
  EXPECT_EQ(committed(store, "id"), "plain after all");
  EXPECT_EQ(all_committed(store).size(), 5u);
}

TEST(Mark, encodes_in_order_and_decodes_back) {
  const std::vector<Mark> ordered = {
      {0, {}, 0},
      {0, {}, 1},
      {0, {}, 256},
      {0, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, 0},
      {0, {{0, 0, 0, 0, 0, 0, 0, 1, 0, 0}}, 0},
      {1, {}, 0},
      {256, {}, 0},
  };
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    EXPECT_EQ(ordered[i].encode().size(), kMarkBytes);
    EXPECT_EQ(Mark::decode(ordered[i].encode()).value(), ordered[i]);
    if (i == 0) continue;
    EXPECT_LT(ordered[i - 1].encode(), ordered[i].encode());
  }
  EXPECT_EQ(Mark::decode("short").error().code(), Code::corrupt);
}

}  // namespace
}  // namespace sluice::kv
