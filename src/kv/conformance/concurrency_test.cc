// SPDX-License-Identifier: MIT
// Serializability, reads beside writes, submit and nesting.
#include <atomic>
#include <latch>
#include <thread>

#include "kv/conformance/engines.h"

namespace sluice::kv {
namespace {

constexpr int kThreads = 6;
constexpr int kEach = 50;

void in_threads(const std::function<void(int)>& work) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
}

TEST_P(Conformance, read_modify_write_loses_no_update) {
  const Opened store = open_engine(GetParam());
  in_threads([&](int) {
    for (int i = 0; i < kEach; ++i)
      must_run(store, [](Transaction& txn) -> Status {
        SLUICE_LET(value, txn.get("n"));
        txn.put("n", std::to_string(value ? std::stoi(*value) + 1 : 1));
        return {};
      });
  });
  EXPECT_EQ(committed(store, "n"), std::to_string(kThreads * kEach));
}

TEST_P(Conformance, blind_adds_lose_no_update) {
  const Opened store = open_engine(GetParam());
  in_threads([&](int) {
    for (int i = 0; i < kEach; ++i)
      must_run(store, [](Transaction& txn) -> Status {
        txn.add("n", 3);
        return {};
      });
  });
  EXPECT_EQ(decode_counter(committed(store, "n")).value(), 3 * kThreads * kEach);
  EXPECT_EQ(store->stats().conflicts, 0u);
  EXPECT_EQ(store->stats().commits, std::uint64_t{kThreads * kEach});
}

// Each body takes one of two tokens only if both are there: snapshot isolation would let two
// bodies take both (write skew).
TEST_P(Conformance, transactions_are_serializable_and_not_just_snapshots) {
  const Opened store = open_engine(GetParam());
  for (int round = 0; round < kEach; ++round) {
    must_run(store, [](Transaction& txn) -> Status {
      txn.put("left", "1");
      txn.put("right", "1");
      return {};
    });
    in_threads([&](int t) {
      must_run(store, [&](Transaction& txn) -> Status {
        SLUICE_LET(left, txn.get("left"));
        SLUICE_LET(right, txn.get("right"));
        if (left && right) txn.erase(t % 2 == 0 ? "left" : "right");
        return {};
      });
    });
    ASSERT_EQ(all_committed(store).size(), 1u) << round;
  }
}

TEST_P(Conformance, a_scan_conflicts_with_keys_that_appear) {
  const Opened store = open_engine(GetParam());
  in_threads([&](int) {
    for (int i = 0; i < kEach; ++i)
      must_run(store, [](Transaction& txn) -> Status {
        SLUICE_LET(entries, txn.scan(Range::prefix("row/")));
        txn.put("row/" + std::to_string(1000 + entries.size()), "v");
        return {};
      });
  });
  EXPECT_EQ(all_committed(store).size(), std::size_t{kThreads * kEach});  // No number twice.
}

TEST_P(Conformance, a_read_neither_holds_up_writers_nor_sees_them) {
  const Opened store = open_engine(GetParam());
  must_put(store, "a", "old");
  must_put(store, "b", "old");
  const Status status = store->read([&](Reader& reader) -> Status {
    EXPECT_EQ(reader.get("a").value(), "old");
    std::jthread([&] {  // Joined here: a writer that waits for this read would never return.
      must_run(store, [](Transaction& txn) -> Status {
        txn.put("a", "new");
        txn.erase("b");
        txn.put("c", "new");
        return {};
      });
    })
        .join();
    EXPECT_EQ(reader.get("a").value(), "old");
    EXPECT_EQ(reader.get("b").value(), "old");
    EXPECT_EQ(reader.scan(Range::all()).value().size(), 2u);
    return {};
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(committed(store, "a"), "new");
}

TEST_P(Conformance, a_writer_does_not_hold_up_reads) {
  const Opened store = open_engine(GetParam());
  must_put(store, "a", "old");
  must_run(store, [&](Transaction& txn) -> Status {
    txn.put("a", "new");
    std::jthread([&] { EXPECT_EQ(committed(store, "a"), "old"); }).join();
    return {};
  });
  EXPECT_EQ(committed(store, "a"), "new");
}

TEST_P(Conformance, a_failing_body_spoils_nothing_for_those_committed_with_it) {
  const Opened store = open_engine(GetParam());
  std::atomic<int> refused{0};
  in_threads([&](int t) {
    for (int i = 0; i < kEach; ++i) {
      const auto result = store->run([&](Transaction& txn) -> Status {
        txn.put(std::to_string(t) + "/" + std::to_string(i), "v");
        txn.add("n", 1);
        if (i % 3 == 0) return {Code::cancelled, "on purpose"};
        return {};
      });
      if (!result) ++refused;
      EXPECT_EQ(result.has_value(), i % 3 != 0);
    }
  });
  EXPECT_EQ(refused, kThreads * ((kEach + 2) / 3));
  EXPECT_EQ(all_committed(store).size(), std::size_t(kThreads * kEach - refused + 1));
  EXPECT_EQ(decode_counter(committed(store, "n")).value(), kThreads * kEach - refused);
}

TEST_P(Conformance, submit_commits_and_tells_once) {
  const Opened store = open_engine(GetParam());
  constexpr int kSubmitted = 300;
  std::atomic<int> told{0};
  std::latch all(kSubmitted);
  for (int i = 0; i < kSubmitted; ++i)
    store->submit(
        [i](Transaction& txn) -> Status {
          txn.put("k" + std::to_string(i), "v");
          if (i % 10 == 0) return {Code::not_found, "on purpose"};
          return {};
        },
        [&, i](Result<Commit> result) {
          EXPECT_EQ(status_of(result).code(), i % 10 == 0 ? Code::not_found : Code::ok);
          ++told;
          all.count_down();
        });
  all.wait();
  EXPECT_EQ(told, kSubmitted);
  EXPECT_EQ(all_committed(store).size(), std::size_t{kSubmitted * 9 / 10});
}

TEST_P(Conformance, submit_and_run_may_be_mixed_and_done_may_submit) {
  const Opened store = open_engine(GetParam());
  constexpr int kChain = 20;
  std::latch all(kThreads);
  const Body increment = [](Transaction& txn) -> Status {
    txn.add("n", 1);
    return {};
  };
  std::function<void(int)> chain = [&](int left) {
    store->submit(increment, [&, left](Result<Commit> result) {
      EXPECT_TRUE(result);
      if (left > 1)
        chain(left - 1);
      else
        all.count_down();
    });
  };
  in_threads([&](int) {
    chain(kChain);
    for (int i = 0; i < kEach; ++i) must_run(store, increment);
  });
  all.wait();
  EXPECT_EQ(decode_counter(committed(store, "n")).value(), kThreads * (kEach + kChain));
}

TEST_P(Conformance, closing_the_store_first_completes_what_was_submitted) {
  Opened store = open_engine(GetParam());
  std::atomic<int> told{0};
  for (int i = 0; i < 100; ++i)
    store->submit(
        [i](Transaction& txn) -> Status {
          txn.put("k" + std::to_string(i), "v");
          return {};
        },
        [&](Result<Commit> result) {
          EXPECT_TRUE(result);
          ++told;
        });
  store.store.reset();
  EXPECT_EQ(told, 100);
}

TEST_P(Conformance, bodies_do_not_nest) {
  const Opened store = open_engine(GetParam());
  const Opened other = open_engine(EngineKind::memory_serial);
  const auto expect_refused = [&](const Opened& target) {
    EXPECT_EQ(target->run([](Transaction&) { return Status(); }).error().code(),
              Code::invalid_argument);
    EXPECT_EQ(target->read([](Reader&) { return Status(); }).code(), Code::invalid_argument);
    int told = 0;
    target->submit([](Transaction&) { return Status(); },
                   [&](Result<Commit> result) {
                     EXPECT_EQ(result.error().code(), Code::invalid_argument);
                     ++told;
                   });
    EXPECT_EQ(told, 1);
  };
  must_run(store, [&](Transaction&) -> Status {
    expect_refused(store);
    expect_refused(other);
    return {};
  });
  EXPECT_TRUE(store
                  ->read([&](Reader&) -> Status {
                    expect_refused(store);
                    return {};
                  })
                  .ok());
  must_put(store, "after", "v");
}

TEST_P(Conformance, stats_count_what_was_committed) {
  const Opened store = open_engine(GetParam());
  must_put(store, "key", "value");
  must_run(store, [](Transaction& txn) { return status_of(txn.get("key")); });
  const Stats stats = store->stats();
  EXPECT_FALSE(stats.engine.empty());
  EXPECT_EQ(stats.commits, 1u);
  EXPECT_EQ(stats.bytes_written, 8u);
  EXPECT_EQ(stats.batch_size.count, 1u);
  EXPECT_EQ(stats.batch_size.max, 1u);
}

}  // namespace
}  // namespace sluice::kv
