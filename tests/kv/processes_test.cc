// SPDX-License-Identifier: MIT
// Several processes on one store, some of which are killed.
#include <gtest/gtest.h>
#include <sluice/kv.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <vector>

#include "tests/kv/actor_path.h"
#include "tests/kv/checked.h"
#include "tests/kv/ledger.h"
#include "tests/kv/notes.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kMapBytes = 256 << 20;

std::unique_ptr<kv::Store> open_store(const TempDir& dir, const Clock& clock = system_clock()) {
  auto store = kv::open_lmdb({.dir = dir / "store", .map_bytes = kMapBytes, .clock = &clock});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

std::uint64_t file_bytes(const TempDir& dir) {
  return std::filesystem::file_size(dir / "store/data.mdb");
}

TEST(Processes, eight_of_them_share_a_store_and_two_are_killed) {
  constexpr unsigned kProcesses = 8;
  constexpr unsigned kKilled = 2;
  const std::uint64_t count = RunSize{100, kSanitized ? 150U : 8'000U, 20'000}.pick();
  const std::uint64_t seed = seed_or(SystemRandom().next() >> 32);
  std::cout << "run again: SLUICE_SEED=" << seed << " with the same filter" << std::endl;
  SeededRandom random(seed);
  const TempDir dir;
  std::vector<Child> workers;
  for (unsigned i = 0; i < kProcesses; ++i)
    // The ones to be killed work for ever, so that the kill always meets them at work.
    workers.emplace_back(std::vector<std::string>{
        actor_path(), "work", dir / "store", dir / "notes", std::to_string(i), "1",
        i < kKilled ? "0" : std::to_string(count), std::to_string(seed + i)});
  for (Child& worker : workers) EXPECT_EQ(worker.read_line(), "ready");
  for (unsigned i = 0; i < kKilled; ++i) {
    pause(std::chrono::milliseconds(5 + random.below(150)));
    workers[i].kill();
    EXPECT_EQ(workers[i].wait().signal, SIGKILL);
  }
  for (unsigned i = kKilled; i < kProcesses; ++i) {
    workers[i].read_lines();
    const Exit exit = workers[i].wait();
    EXPECT_TRUE(exit.clean()) << exit.to_string();
  }
  Truth truth;
  apply_notes(read_file(dir / "notes"), truth);
  for (unsigned i = kKilled; i < kProcesses; ++i) EXPECT_EQ(truth[i].acked, count);
  const Checked checked = check_in_child(dir / "store", truth, 3);
  EXPECT_TRUE(checked.clean()) << checked.to_string();
  std::uint64_t acked = 0;
  for (const auto& [lane, known] : truth) acked += known.acked;
  print_figure("processes_acked", acked);
}

TEST(Processes, a_writer_killed_inside_its_transaction_blocks_nobody) {
  const TempDir dir;
  const auto store = open_store(dir);
  ASSERT_TRUE(store && set_up_ledger(*store).ok());
  for (std::uint64_t round = 1; round <= 5; ++round) {
    Child writer({actor_path(), "die_inside", dir / "store"});
    EXPECT_EQ(writer.wait().signal, SIGKILL);
    EXPECT_TRUE(post(*store, {.number = round, .seed = round}).has_value());
  }
  const Verdict verdict = check_ledger(*store, {{0, {.acked = 5}}});
  EXPECT_TRUE(verdict.clean()) << verdict.to_string();
}

// A reader holds on to every page that it can see. When it is killed, those must come free.
TEST(Processes, the_pages_of_a_killed_reader_are_used_again) {
  const TempDir dir;
  const ManualClock clock;
  const auto store = open_store(dir, clock);
  ASSERT_TRUE(store && set_up_ledger(*store).ok());
  std::uint64_t number = 0;
  const auto post_some = [&] {
    for (int i = 0; i < 150; ++i) {
      ++number;
      ASSERT_TRUE(post(*store, {.number = number, .seed = number}).has_value()) << number;
    }
  };
  post_some();
  Child reader({actor_path(), "hold_read", dir / "store"});
  ASSERT_EQ(reader.read_line(), "holding");
  const std::uint64_t before = file_bytes(dir);
  post_some();
  const std::uint64_t while_held = file_bytes(dir);
  EXPECT_GT(while_held, before) << "the reader held nothing";
  reader.kill();
  EXPECT_EQ(reader.wait().signal, SIGKILL);
  clock.advance(std::chrono::minutes(1));  // The engine looks for such readers now and then.
  post_some();
  post_some();
  // What comes before the engine looks may still grow the file.
  EXPECT_LT(file_bytes(dir) - while_held, (while_held - before) / 10);
}

TEST(Processes, slots_of_killed_readers_do_not_pile_up) {
  const TempDir dir;
  const ManualClock clock;
  const auto store = open_store(dir, clock);
  ASSERT_TRUE(store);
  std::uint64_t most = 0;
  for (int round = 0; round < 10; ++round) {
    Child reader({actor_path(), "hold_read", dir / "store"});
    ASSERT_EQ(reader.read_line(), "holding");
    most = std::max(most, store->stats().readers);
    reader.kill();
    reader.wait();
    clock.advance(std::chrono::minutes(1));
    ASSERT_TRUE(store->run([](kv::Transaction& txn) -> Status {
      txn.put("a", "b");
      return {};
    }));
  }
  EXPECT_GE(most, 1u);
  EXPECT_LE(most, 4u) << "each killed reader kept a slot";
  EXPECT_LT(store->stats().readers, most) << "no slot was given back";
}

}  // namespace
}  // namespace sluice::test
