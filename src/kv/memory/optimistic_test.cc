// SPDX-License-Identifier: MIT
// The optimistic mode: which overlapping transactions conflict, made to overlap on one thread.
#include <gtest/gtest.h>
#include <sluice/kv.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::kv {
namespace {

// A store in which `intruder` runs to its end between the body of the next transaction and its
// commit, once.
struct Overlap {
  std::function<void()> intruder;
  std::unique_ptr<Store> store =
      open_memory({.mode = MemoryOptions::Mode::optimistic, .before_commit = [this] {
                     if (intruder) std::exchange(intruder, nullptr)();
                   }});

  void commit(const Body& body) const {
    const auto result = store->run(body);
    EXPECT_TRUE(result) << result.error().to_string();
  }
};

using Act = std::function<void(Transaction&)>;

// How often `mine` runs when `theirs` commits in the middle of it.
int runs_when_overtaken(const Act& mine, const Act& theirs) {
  Overlap overlap;
  overlap.commit([](Transaction& txn) -> Status {
    for (const char* key : {"b", "d", "f", "h"}) txn.put(key, "v");
    return {};
  });
  overlap.intruder = [&] {
    overlap.commit([&](Transaction& txn) -> Status {
      theirs(txn);
      return {};
    });
  };
  int runs = 0;
  overlap.commit([&](Transaction& txn) -> Status {
    ++runs;
    txn.put("~mine", "v");
    mine(txn);
    return {};
  });
  return runs;
}

TEST(Optimistic, a_body_that_ran_again_is_told_of_once) {
  Overlap overlap;
  overlap.intruder = [&] {
    overlap.commit([](Transaction& txn) -> Status {
      txn.put("a", "theirs");
      return {};
    });
  };
  int runs = 0;
  int told = 0;
  overlap.commit([&](Transaction& txn) -> Status {
    ++runs;
    SLUICE_TRY(txn.get("a"));
    txn.put("a", "mine");
    txn.after_commit([&] { ++told; });
    return {};
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(told, 1);
}

TEST(Optimistic, a_body_that_saw_another_epoch_runs_again) {
  Overlap overlap;
  overlap.intruder = [&] { EXPECT_TRUE(overlap.store->raise_epoch()); };
  std::uint16_t seen = 0;
  const auto commit = overlap.store->run([&](Transaction& txn) -> Status {
    SLUICE_LET(epoch, txn.epoch());
    seen = epoch;
    txn.put("a", "mine");
    return {};
  });
  ASSERT_TRUE(commit);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(commit->epoch, 2);
}

constexpr int kConflicts = 2;
constexpr int kCommutes = 1;

struct Case {
  const char* name;
  Act mine;
  Act theirs;
  int runs;
};

void put_d(Transaction& txn) {
  txn.put("d", "w");
}
void get_d(Transaction& txn) {
  (void)txn.get("d");
}

TEST(Optimistic, a_transaction_runs_again_exactly_when_what_it_read_has_changed) {
  const std::vector<Case> cases = {
      {"get and put", get_d, put_d, kConflicts},
      {"get and erase", get_d, [](Transaction& txn) { txn.erase("d"); }, kConflicts},
      {"get and add", get_d, [](Transaction& txn) { txn.add("d", 1); }, kConflicts},
      {"get and erase_range", get_d, [](Transaction& txn) { txn.erase_range({"c", "e"}); },
       kConflicts},
      {"get of an absent key and put", [](Transaction& txn) { (void)txn.get("x"); },
       [](Transaction& txn) { txn.put("x", "v"); }, kConflicts},
      {"get of an absent key and erase_range over nothing",
       [](Transaction& txn) { (void)txn.get("x"); },
       [](Transaction& txn) { txn.erase_range({"w", "y"}); }, kConflicts},
      {"get and a change beside it", get_d, [](Transaction& txn) { txn.put("d2", "w"); },
       kCommutes},
      {"snapshot get and put", [](Transaction& txn) { (void)txn.get("d", Isolation::snapshot); },
       put_d, kCommutes},
      {"put and put", put_d, put_d, kCommutes},
      {"add and add", [](Transaction& txn) { txn.add("n", 1); },
       [](Transaction& txn) { txn.add("n", 1); }, kCommutes},
      {"add and put", [](Transaction& txn) { txn.add("n", 1); },
       [](Transaction& txn) { txn.put("n", "v"); }, kCommutes},
      {"get of what was just put", [](Transaction& txn) { put_d(txn), get_d(txn); }, put_d,
       kCommutes},
      {"get of what was just added to", [](Transaction& txn) { txn.add("d", 1), get_d(txn); },
       put_d, kConflicts},
      {"scan and a key that appears", [](Transaction& txn) { (void)txn.scan({"a", "z"}); },
       [](Transaction& txn) { txn.put("e", "v"); }, kConflicts},
      {"snapshot scan and a key that appears",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.isolation = Isolation::snapshot}); },
       [](Transaction& txn) { txn.put("e", "v"); }, kCommutes},
      {"limited scan and a change before its end",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.limit = 2}); },
       [](Transaction& txn) { txn.put("c", "v"); }, kConflicts},
      {"limited scan and a change of its last key",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.limit = 2}); }, put_d, kConflicts},
      {"limited scan and a change after its end",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.limit = 2}); },
       [](Transaction& txn) { txn.put("e", "v"); }, kCommutes},
      {"limited reverse scan and a change beyond its end",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.limit = 2, .reverse = true}); }, put_d,
       kCommutes},
      {"limited reverse scan and a change within it",
       [](Transaction& txn) { (void)txn.scan({"a", "z"}, {.limit = 2, .reverse = true}); },
       [](Transaction& txn) { txn.put("g", "v"); }, kConflicts},
      {"scan and a stamped key in its range",
       [](Transaction& txn) { (void)txn.scan({"log/", "log0"}); },
       [](Transaction& txn) { txn.put_stamped_key("log/", 0, "", "v"); }, kConflicts},
      {"stamped keys under one prefix",
       [](Transaction& txn) { txn.put_stamped_key("log/", 0, "", "v"); },
       [](Transaction& txn) { txn.put_stamped_key("log/", 0, "", "v"); }, kCommutes},
  };
  for (const Case& c : cases) EXPECT_EQ(runs_when_overtaken(c.mine, c.theirs), c.runs) << c.name;
}

TEST(Optimistic, reading_alone_never_conflicts) {
  Overlap overlap;
  overlap.intruder = [&] { overlap.commit([](Transaction& txn) { return put_d(txn), Status(); }); };
  int runs = 0;
  overlap.commit([&](Transaction& txn) {
    ++runs;
    return status_of(txn.get("d"));
  });
  EXPECT_EQ(runs, 1);
}

TEST(Optimistic, a_body_reads_from_one_moment_even_when_it_is_overtaken) {
  Overlap overlap;
  overlap.commit([](Transaction& txn) -> Status {
    txn.put("a", "1");
    txn.put("b", "1");
    return {};
  });
  bool overtaken = false;
  overlap.commit([&](Transaction& txn) -> Status {
    SLUICE_LET(a, txn.get("a"));
    const std::string first = a.value();
    if (!std::exchange(overtaken, true)) {
      // A second store object is not needed: another thread may commit at any moment.
      std::jthread([&] {
        overlap.commit([](Transaction& other) -> Status {
          other.put("a", "2");
          other.put("b", "2");
          return {};
        });
      }).join();
    }
    SLUICE_LET(b, txn.get("b"));
    EXPECT_EQ(first, b.value());
    txn.put("sum", first + b.value());
    return {};
  });
  EXPECT_EQ(overlap.store->stats().conflicts, 1u);
}

TEST(Optimistic, a_stamp_tells_when_a_transaction_committed_and_not_when_it_began) {
  Overlap overlap;
  const auto stamped = [](Transaction& txn) -> Status {
    txn.put_stamped_key("log/", 0, "", "v");
    return {};
  };
  Commit theirs;
  overlap.intruder = [&] { theirs = overlap.store->run(stamped).value(); };
  const Commit mine = overlap.store->run(stamped).value();
  EXPECT_LT(theirs.stamp, mine.stamp);
}

TEST(Optimistic, a_transaction_that_always_loses_gives_up_with_conflict) {
  ManualClock clock;
  std::unique_ptr<Store> store;
  bool inside = false;
  const Body increment = [](Transaction& txn) -> Status {
    SLUICE_LET(value, txn.get("n"));
    txn.put("n", value.value_or("") + "+");
    return {};
  };
  store =
      open_memory({.mode = MemoryOptions::Mode::optimistic, .clock = &clock, .before_commit = [&] {
                     if (std::exchange(inside, true)) return;
                     EXPECT_TRUE(store->run(increment));
                     inside = false;
                   }});
  const auto result = store->run(increment, {.attempts_max = 7});
  EXPECT_EQ(result.error().code(), Code::conflict);
  EXPECT_EQ(store->stats().conflicts, 7u);
  EXPECT_EQ(store->stats().commits, 7u);
}

}  // namespace
}  // namespace sluice::kv
