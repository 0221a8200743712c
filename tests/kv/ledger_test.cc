// SPDX-License-Identifier: MIT
// The judge is judged: each kind of damage is done to a ledger on purpose, and must be found.
#include "tests/kv/ledger.h"

#include <gtest/gtest.h>

#include "tests/kv/ledger_layout.h"
#include "tests/kv/notes.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kPostings = 60;

std::unique_ptr<kv::Store> ledger_of_three_lanes() {
  auto store = kv::open_memory();
  EXPECT_TRUE(set_up_ledger(*store).ok());
  for (std::uint64_t number = 1; number <= kPostings; ++number)
    for (unsigned lane = 0; lane < 3; ++lane) {
      const Posting posting{.lane = lane, .number = number, .seed = number * 3 + lane};
      EXPECT_TRUE(post(*store, posting).has_value());
    }
  return store;
}

Truth truth_of_three_lanes() {
  Truth truth;
  for (unsigned lane = 0; lane < 3; ++lane) truth[lane].acked = kPostings;
  return truth;
}

void damage(kv::Store& store, const std::function<void(kv::Transaction&)>& how) {
  EXPECT_TRUE(store.run([&](kv::Transaction& txn) -> Status {
    how(txn);
    return {};
  }));
}

bool finds(const Verdict& verdict, Breach::Kind kind) {
  for (const Breach& breach : verdict.breaches)
    if (breach.kind == kind) return true;
  return false;
}

TEST(Ledger, an_undamaged_one_is_clean) {
  const auto store = ledger_of_three_lanes();
  const Verdict verdict = check_ledger(*store, truth_of_three_lanes());
  EXPECT_TRUE(verdict.clean()) << verdict.to_string();
  EXPECT_EQ(verdict.last.at(2), kPostings);
}

TEST(Ledger, a_posting_in_flight_may_or_may_not_be_there) {
  const auto store = ledger_of_three_lanes();
  Truth truth = truth_of_three_lanes();
  truth[1].in_flight = true;
  EXPECT_TRUE(check_ledger(*store, truth).clean());
  truth[1].acked = kPostings - 1;
  EXPECT_TRUE(check_ledger(*store, truth).clean());
}

TEST(Ledger, a_lost_posting_is_found) {
  const auto store = ledger_of_three_lanes();
  Truth truth = truth_of_three_lanes();
  ++truth[1].acked;
  EXPECT_TRUE(finds(check_ledger(*store, truth), Breach::Kind::lost));
}

TEST(Ledger, a_posting_that_nobody_made_is_found) {
  const auto store = ledger_of_three_lanes();
  Truth truth = truth_of_three_lanes();
  --truth[2].acked;
  EXPECT_TRUE(finds(check_ledger(*store, truth), Breach::Kind::extra));
  truth.erase(2);
  EXPECT_TRUE(finds(check_ledger(*store, truth), Breach::Kind::extra));
}

TEST(Ledger, a_missing_log_entry_is_found) {
  const auto store = ledger_of_three_lanes();
  damage(*store, [](kv::Transaction& txn) { txn.erase(log_key(0, kPostings - 1)); });
  EXPECT_TRUE(finds(check_ledger(*store, truth_of_three_lanes()), Breach::Kind::lost));
}

TEST(Ledger, a_flipped_bit_is_found) {
  const auto store = ledger_of_three_lanes();
  damage(*store, [](kv::Transaction& txn) {
    std::string entry = **txn.get(log_key(0, kPostings));
    entry[entry.size() / 2] ^= 1;
    txn.put(log_key(0, kPostings), entry);
  });
  EXPECT_TRUE(finds(check_ledger(*store, truth_of_three_lanes()), Breach::Kind::corrupt));
}

TEST(Ledger, a_half_done_transfer_is_found) {
  const auto store = ledger_of_three_lanes();
  damage(*store, [](kv::Transaction& txn) {
    txn.put(account_key(3), Account{.balance = kBalanceStart + 1, .version = 9}.encode());
  });
  EXPECT_TRUE(finds(check_ledger(*store, truth_of_three_lanes()), Breach::Kind::corrupt));
}

TEST(Ledger, a_wrong_count_is_found) {
  const auto store = ledger_of_three_lanes();
  damage(*store, [](kv::Transaction& txn) { txn.add(kCountKey, -1); });
  EXPECT_TRUE(finds(check_ledger(*store, truth_of_three_lanes()), Breach::Kind::corrupt));
}

TEST(Ledger, stamps_out_of_order_are_found) {
  const auto store = ledger_of_three_lanes();
  damage(*store, [](kv::Transaction& txn) {
    const auto stamped = *txn.scan(kv::Range::prefix(stamped_prefix(1)));
    txn.put(stamped[0].key, stamped[1].value);
    txn.put(stamped[1].key, stamped[0].value);
  });
  EXPECT_TRUE(finds(check_ledger(*store, truth_of_three_lanes()), Breach::Kind::corrupt));
}

TEST(Ledger, a_posting_out_of_turn_is_refused) {
  const auto store = ledger_of_three_lanes();
  for (const std::uint64_t number : {kPostings, kPostings + 2}) {
    const auto outcome = post(*store, {.lane = 0, .number = number});
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), Code::conflict);
  }
}

TEST(Ledger, notes_tell_what_was_acknowledged_and_what_was_in_flight) {
  Truth truth;
  apply_notes("S 0 1\nS 1 1\nA 0 1\nS 0 2\nF 0 2\nS 0 22\nA 1 1\nA 0 2", truth);
  EXPECT_EQ(encode_truth(truth), "0:1:1,1:1:0");
  EXPECT_EQ(encode_truth(decode_truth("0:1:1,1:1:0")), "0:1:1,1:1:0");
}

}  // namespace
}  // namespace sluice::test
