// SPDX-License-Identifier: MIT
// Every limit at its edge and one past it; what is refused has no effect.
#include "kv/conformance/engines.h"

namespace sluice::kv {
namespace {

// Runs a body that ignores all failures, and returns what run() makes of it.
Code outcome(const Opened& store, const std::function<void(Transaction&)>& act) {
  const auto result = store->run([&](Transaction& txn) -> Status {
    txn.put("bystander", "v");
    act(txn);
    return {};
  });
  const Code code = result ? Code::ok : result.error().code();
  EXPECT_EQ(committed(store, "bystander").has_value(), code == Code::ok);
  return code;
}

TEST_P(Conformance, keys_may_have_511_bytes_and_no_more) {
  const Opened store = open_engine(GetParam());
  const std::string edge(kKeyBytesMax, 'k');
  const std::string past(kKeyBytesMax + 1, 'k');
  EXPECT_EQ(outcome(store, [&](Transaction& txn) { txn.put(edge, "v"); }), Code::ok);
  EXPECT_EQ(committed(store, edge), "v");
  EXPECT_EQ(outcome(store,
                    [&](Transaction& txn) {
                      EXPECT_EQ(txn.scan({edge, edge + '\0'}).value().size(), 1u);
                      txn.add(edge, 1);
                      txn.erase(edge);
                      txn.erase_range({edge, edge + '\0'});
                    }),
            Code::ok);
  const std::vector<std::function<void(Transaction&)>> refused = {
      [&](Transaction& txn) { txn.put(past, "v"); },
      [&](Transaction& txn) { txn.erase(past); },
      [&](Transaction& txn) { txn.add(past, 1); },
      [&](Transaction& txn) { txn.put_stamped_value(past, "v", 0); },
      [&](Transaction& txn) { txn.erase_range({past, "z"}); },
      [&](Transaction& txn) { (void)txn.get(past); },
      [&](Transaction& txn) { (void)txn.get(past, Isolation::snapshot); },
      [&](Transaction& txn) { (void)txn.scan({past, "z"}); },
      [&](Transaction& txn) { txn.put("", "v"); },
      [&](Transaction& txn) { (void)txn.get(""); },
  };
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const Opened fresh = open_engine(GetParam());
    EXPECT_EQ(outcome(fresh, refused[i]), Code::invalid_argument) << i;
  }
}

TEST_P(Conformance, stamped_keys_count_with_their_mark) {
  const std::string prefix(400, 'p');
  const std::string suffix(kKeyBytesMax - 400 - kMarkBytes, 's');
  const Opened store = open_engine(GetParam());
  EXPECT_EQ(outcome(store, [&](Transaction& txn) { txn.put_stamped_key(prefix, 0, suffix, "v"); }),
            Code::ok);
  const Opened fresh = open_engine(GetParam());
  EXPECT_EQ(
      outcome(fresh, [&](Transaction& txn) { txn.put_stamped_key(prefix, 0, suffix + "s", "v"); }),
      Code::invalid_argument);
  EXPECT_EQ(outcome(fresh, [&](Transaction& txn) { txn.put_stamped_key("", 0, "s", "v"); }),
            Code::invalid_argument);
}

TEST_P(Conformance, values_may_have_100000_bytes_and_no_more) {
  const Opened store = open_engine(GetParam());
  const std::string edge(kValueBytesMax, 'v');
  const std::string marked(kValueBytesMax - kMarkBytes, 'v');
  EXPECT_EQ(outcome(store,
                    [&](Transaction& txn) {
                      txn.put("k", edge);
                      txn.put_stamped_key("log/", 0, "", edge);
                      txn.put_stamped_value("id", marked, 0);
                    }),
            Code::ok);
  EXPECT_EQ(committed(store, "k"), edge);
  EXPECT_EQ(committed(store, "id")->size(), kValueBytesMax);
  const std::vector<std::function<void(Transaction&)>> refused = {
      [&](Transaction& txn) { txn.put("k", edge + "v"); },
      [&](Transaction& txn) { txn.put_stamped_key("log/", 0, "", edge + "v"); },
      [&](Transaction& txn) { txn.put_stamped_value("id", marked + "v", 0); },
  };
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const Opened fresh = open_engine(GetParam());
    EXPECT_EQ(outcome(fresh, refused[i]), Code::invalid_argument) << i;
  }
}

// outcome() itself costs 3 * 9 + 1.
constexpr std::size_t kBystander = 28;

void fill(Transaction& txn, std::size_t bytes) {
  const std::string value(90'000, 'v');
  while (bytes > 200'000) {
    txn.put("k", value);
    bytes -= 3 + value.size();
  }
  const std::string half((bytes - 6) / 2, 'v');
  txn.put("k", half);
  txn.put("k", half + std::string((bytes - 6) % 2, 'v'));
}

TEST_P(Conformance, transactions_may_have_10_megabytes_and_no_more) {
  const Opened store = open_engine(GetParam());
  const std::size_t room = kTransactionBytesMax - kBystander;
  EXPECT_EQ(outcome(store, [&](Transaction& txn) { fill(txn, room); }), Code::ok);
  using Act = std::function<void(Transaction&)>;
  const std::vector<std::pair<std::size_t, Act>> charges = {
      {3, [](Transaction& txn) { txn.erase("x"); }},
      {3 + 8, [](Transaction& txn) { txn.add("x", 1); }},
      {2 * (2 + 3), [](Transaction& txn) { txn.erase_range({"aa", "bbb"}); }},
      {2, [](Transaction& txn) { (void)txn.get("x"); }},
      {5, [](Transaction& txn) { (void)txn.scan({"aa", "bbb"}); }},
      {3 * (2 + 16 + 1) + 4, [](Transaction& txn) { txn.put_stamped_key("p/", 0, "s", "1234"); }},
      {3 + 1 + 16, [](Transaction& txn) { txn.put_stamped_value("i", "v", 0); }},
      {0, [](Transaction& txn) { (void)txn.get("x", Isolation::snapshot); }},
  };
  for (const auto& [bytes, act] : charges) {
    const Opened edge = open_engine(GetParam());
    EXPECT_EQ(outcome(edge, [&](Transaction& txn) { fill(txn, room - bytes), act(txn); }), Code::ok)
        << bytes;
    const Opened past = open_engine(GetParam());
    EXPECT_EQ(outcome(past, [&](Transaction& txn) { fill(txn, room - bytes + 1), act(txn); }),
              Code::invalid_argument)
        << bytes;
  }
}

TEST_P(Conformance, transactions_may_take_less_than_5_seconds) {
  ManualClock clock;
  const Opened store = open_engine(GetParam(), clock);
  const Duration edge = kTransactionTimeMax - Duration(1);
  EXPECT_EQ(outcome(store, [&](Transaction&) { clock.advance(edge); }), Code::ok);
  const Opened late = open_engine(GetParam(), clock);
  EXPECT_EQ(outcome(late, [&](Transaction&) { clock.advance(kTransactionTimeMax); }),
            Code::deadline_exceeded);
  // A body that only reads is stopped on the way.
  int reads = 0;
  const Status status = late->read([&](Reader& reader) -> Status {
    clock.advance(kTransactionTimeMax);
    for (; reads < 1000; ++reads) SLUICE_TRY(reader.get("k"));
    return {};
  });
  EXPECT_EQ(status.code(), Code::deadline_exceeded);
  EXPECT_LT(reads, 100);
}

TEST_P(Conformance, a_long_scan_is_stopped_on_the_way) {
  ManualClock clock;
  const Opened store = open_engine(GetParam(), clock);
  must_run(store, [](Transaction& txn) -> Status {
    for (int i = 0; i < 500; ++i) txn.put("k" + std::to_string(i), "v");
    return {};
  });
  int visited = 0;
  const Status status = store->read([&](Reader& reader) {
    return reader.scan(Range::all(), {}, [&](std::string_view, std::string_view) {
      ++visited;
      clock.advance(std::chrono::milliseconds(100));
      return true;
    });
  });
  EXPECT_EQ(status.code(), Code::deadline_exceeded);
  EXPECT_LT(visited, 100);
}

TEST_P(Conformance, an_unbounded_read_may_take_longer_or_is_refused) {
  ManualClock clock;
  const Opened store = open_engine(GetParam(), clock);
  const Status status = store->read(
      [&](Reader& reader) -> Status {
        clock.advance(std::chrono::hours(1));
        for (int i = 0; i < 100; ++i) SLUICE_TRY(reader.get("k"));
        return {};
      },
      {.unbounded = true});
  if (GetParam() == EngineKind::memory_optimistic)
    EXPECT_EQ(status.code(), Code::invalid_argument);
  else
    EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_P(Conformance, keys_of_the_engine_are_out_of_reach) {
  const std::vector<std::function<void(Transaction&)>> refused = {
      [](Transaction& txn) { txn.put("\xff", "v"); },
      [](Transaction& txn) { txn.put(std::string_view("\0", 1), "v"); },
      [](Transaction& txn) { txn.erase(std::string_view("\0sluice", 7)); },
      [](Transaction& txn) { (void)txn.get(std::string_view("\0sluice", 7)); },
      [](Transaction& txn) { txn.put_stamped_key(std::string_view("\0", 1), 0, "", "v"); },
      [](Transaction& txn) { txn.put("\xff key", "v"); },
      [](Transaction& txn) { txn.add("\xff", 1); },
      [](Transaction& txn) { txn.put_stamped_key("\xff", 0, "", "v"); },
      [](Transaction& txn) { txn.erase_range({"a", "\xff\x01"}); },
      [](Transaction& txn) { (void)txn.get("\xff"); },
      [](Transaction& txn) { (void)txn.scan({"a", "\xff\xff"}); },
  };
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const Opened store = open_engine(GetParam());
    EXPECT_EQ(outcome(store, refused[i]), Code::invalid_argument) << i;
    EXPECT_TRUE(all_committed(store).empty());
  }
}

TEST_P(Conformance, ranges_pass_by_the_keys_of_the_engine) {
  const Opened store = open_engine(GetParam());
  must_put(store, "\x01", "v");
  must_run(store, [](Transaction& txn) -> Status {
    EXPECT_EQ(txn.scan({"", "\x02"}).value().size(), 1u);
    EXPECT_EQ(txn.scan({std::string(1, '\0'), "\x02"}, {.reverse = true}).value().size(), 1u);
    EXPECT_EQ(txn.scan({"", "\x01"}).value().size(), 0u);
    EXPECT_EQ(txn.scan({"", "\x01"}, {.reverse = true}).value().size(), 0u);
    txn.erase_range({"", "\x01"});
    txn.erase_range(Range::all());
    return {};
  });
  EXPECT_TRUE(all_committed(store).empty());
  EXPECT_TRUE(store->raise_epoch());  // The engine's own keys are still there.
}

TEST_P(Conformance, after_a_failure_every_operation_fails_the_same_way) {
  const Opened store = open_engine(GetParam());
  must_put(store, "a", "v");
  const auto result = store->run([](Transaction& txn) -> Status {
    txn.put("", "v");
    EXPECT_EQ(txn.get("a").error().code(), Code::invalid_argument);
    EXPECT_EQ(txn.scan(Range::all()).error().code(), Code::invalid_argument);
    return {Code::not_found, "what the body makes of it does not matter"};
  });
  EXPECT_EQ(result.error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace sluice::kv
