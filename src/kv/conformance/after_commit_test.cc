// SPDX-License-Identifier: MIT
// What a transaction asks to be told once it is committed, and the epoch that it sees.
#include <semaphore>

#include "kv/conformance/engines.h"

namespace sluice::kv {
namespace {

TEST_P(Conformance, a_commit_is_told_once_and_before_its_caller_learns_of_it) {
  const Opened store = open_engine(GetParam());
  int told = 0;
  must_run(store, [&](Transaction& txn) -> Status {
    txn.put("a", "1");
    txn.after_commit([&] { ++told; });
    EXPECT_EQ(told, 0);
    return {};
  });
  EXPECT_EQ(told, 1);
  must_put(store, "b", "2");
  EXPECT_EQ(told, 1);
}

TEST_P(Conformance, a_body_that_fails_is_not_told_of) {
  const Opened store = open_engine(GetParam());
  int told = 0;
  const auto commit = store->run([&](Transaction& txn) -> Status {
    txn.put("a", "1");
    txn.after_commit([&] { ++told; });
    return {Code::cancelled, "as the test wants it"};
  });
  EXPECT_EQ(commit.error().code(), Code::cancelled);
  must_put(store, "b", "2");
  EXPECT_EQ(told, 0);
}

TEST_P(Conformance, a_transaction_that_breaks_a_limit_is_not_told_of) {
  const Opened store = open_engine(GetParam());
  int told = 0;
  const auto commit = store->run([&](Transaction& txn) -> Status {
    txn.after_commit([&] { ++told; });
    txn.put("a", std::string(kValueBytesMax + 1, 'v'));
    return {};
  });
  EXPECT_EQ(commit.error().code(), Code::invalid_argument);
  EXPECT_EQ(told, 0);
}

TEST_P(Conformance, a_submitted_body_is_told_of_before_its_done_is_called) {
  const Opened store = open_engine(GetParam());
  std::string order;
  std::binary_semaphore finished{0};
  store->submit(
      [&](Transaction& txn) -> Status {
        txn.put("a", "1");
        txn.after_commit([&] { order += "told "; });
        return {};
      },
      [&](const Result<Commit>& commit) {
        order += commit ? "done" : "failed";
        finished.release();
      });
  finished.acquire();
  EXPECT_EQ(order, "told done");
}

TEST_P(Conformance, a_transaction_sees_the_epoch_of_its_marks) {
  const Opened store = open_engine(GetParam());
  const auto seen = [&] {
    std::uint16_t epoch = 0;
    const Commit commit = must_run(store, [&](Transaction& txn) -> Status {
      SLUICE_LET(now, txn.epoch());
      epoch = now;
      txn.put("a", "1");
      return {};
    });
    EXPECT_EQ(commit.epoch, epoch);
    const Status read = store->read([&](Reader& reader) -> Status {
      SLUICE_LET(now, reader.epoch());
      EXPECT_EQ(now, epoch);
      return {};
    });
    EXPECT_TRUE(read.ok()) << read.to_string();
    return epoch;
  };
  const std::uint16_t first = seen();
  ASSERT_EQ(store->raise_epoch().value(), first + 1);
  EXPECT_EQ(seen(), first + 1);
}

}  // namespace
}  // namespace sluice::kv
