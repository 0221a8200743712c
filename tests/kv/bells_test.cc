// SPDX-License-Identifier: MIT
// Doorbells between processes: a ring wakes, a ring lost to a kill is made up for, silence is
// cheap.
#include <gtest/gtest.h>
#include <sluice/kv.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <regex>
#include <thread>

#include "tests/kv/actor_path.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

constexpr Duration kLong = std::chrono::seconds(60);
constexpr Duration kRingMax = kv::kBellCheckPeriod / 2;

std::unique_ptr<kv::Store> open_store(const TempDir& dir) {
  auto store = kv::open_lmdb({.dir = dir / "store", .map_bytes = 256 << 20});
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

bool holds(kv::Store& store, const std::string& key) {
  bool there = false;
  const Status status = store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(value, reader.get(key));
    there = value.has_value();
    return {};
  });
  return status.ok() && there;
}

TEST(Bells, a_ring_wakes_a_waiter_in_another_process) {
  const std::uint64_t rounds = RunSize{50, 2'000, 20'000}.pick();
  const TempDir dir;
  const auto store = open_store(dir);
  ASSERT_TRUE(store);
  Child other({actor_path(), "pong", dir / "store", std::to_string(rounds)});
  ASSERT_EQ(other.read_line(), "ready");
  std::uint64_t in_vain = 0;
  Heartbeat heart;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const std::string text = std::to_string(round);
    ASSERT_TRUE(store->run([&](kv::Transaction& txn) -> Status {
      txn.put("ping", text);
      txn.ring("ping");
      return {};
    }));
    for (std::string seen; seen != text;) {
      const kv::BellTicket ticket = store->listen("pong");
      ASSERT_TRUE(store
                      ->read([&](kv::Reader& reader) -> Status {
                        SLUICE_LET(pong, reader.get("pong"));
                        seen = pong.value_or("");
                        return {};
                      })
                      .ok());
      // Shorter than the period after which a waiter looks by itself: only a ring can wake it.
      heart.begin();
      if (seen != text) store->wait(ticket, {.timeout = kRingMax});
      if (heart.lasted(kRingMax)) ++in_vain;
    }
    // A process that gets no turn may cost a wait or two; rings that do not arrive, one per round.
    ASSERT_LE(in_vain, 5u) << "in " << round << " rounds";
  }
  std::uint64_t in_vain_there = rounds;
  if (const auto line = other.read_line())
    std::sscanf(line->c_str(), "in_vain %lu", &in_vain_there);
  EXPECT_LE(in_vain_there, 5u);
  EXPECT_TRUE(other.wait().clean());
  print_figure("bell_rounds_between_processes", rounds);
}

TEST(Bells, a_commit_whose_ring_never_came_is_noticed) {
  const TempDir dir;
  const auto store = open_store(dir);
  ASSERT_TRUE(store);
  const kv::BellTicket ticket = store->listen("bell");
  Child writer({actor_path(), "commit_one", dir / "store", "news", "-"});
  EXPECT_EQ(writer.read_lines(), std::vector<std::string>{"committed"});
  EXPECT_TRUE(writer.wait().clean());
  EXPECT_EQ(store->wait(ticket, {.timeout = kLong}), kv::Wake::rung);
  EXPECT_TRUE(holds(*store, "news"));
}

std::vector<std::string> traced_commit(const TempDir& dir, const std::string& key,
                                       const std::string& inject) {
  return {"strace", "-f",   "-qq",        "-o",         dir / "trace", "-e", "trace=pwrite64,futex",
          "-e",     inject, actor_path(), "commit_one", dir / "store", key,  "bell"};
}

// Which futex call of a committing process is the ring: the first after the commit's last write, of
// 120 bytes of a meta page.
unsigned find_ring(const TempDir& dir) {
  Child writer(traced_commit(dir, "old", "inject=futex:delay_enter=0"));
  EXPECT_EQ(writer.read_lines(), std::vector<std::string>{"committed"});
  EXPECT_TRUE(writer.wait().clean());
  const std::string trace = read_file(dir / "trace");
  const std::size_t written = trace.rfind("pwrite64(");
  unsigned before = 0;
  for (std::size_t at = 0; (at = trace.find("futex(", at)) < written; ++at) ++before;
  return before + 1;
}

// The kill comes at the system call that would wake the waiter; everything before it is done.
TEST(Bells, a_writer_killed_between_commit_and_ring_is_noticed) {
  const TempDir dir;
  const auto store = open_store(dir);
  ASSERT_TRUE(store);
  const unsigned ring = find_ring(dir);
  const kv::BellTicket ticket = store->listen("bell");
  kv::Wake woken = kv::Wake::timed_out;
  std::jthread waiter([&] { woken = store->wait(ticket, {.timeout = kLong}); });
  Child writer(traced_commit(dir, "news", "inject=futex:signal=KILL:when=" + std::to_string(ring)));
  EXPECT_EQ(writer.read_lines(), std::vector<std::string>{});
  EXPECT_EQ(writer.wait().signal, SIGKILL);
  const std::string trace = read_file(dir / "trace");
  EXPECT_TRUE(std::regex_search(trace, std::regex(R"(, 120, \d+\) += 120\n\d+ +futex\()")))
      << trace;
  waiter.join();
  EXPECT_EQ(woken, kv::Wake::rung);
  EXPECT_TRUE(holds(*store, "news"));
}

// How often a thread has gone to sleep while it does something.
long sleeps_of(const std::function<void()>& something) {
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_THREAD, &before);
  something();
  getrusage(RUSAGE_THREAD, &after);
  return after.ru_nvcsw - before.ru_nvcsw;
}

// Whatever the machine does to sleepers, it does to one that only sleeps, too.
TEST(Bells, an_idle_waiter_wakes_at_most_every_other_second) {
  constexpr Duration kIdle = std::chrono::seconds(5);
  constexpr long kWakesMax = 4;
  const TempDir dir;
  const auto store = open_store(dir);
  ASSERT_TRUE(store);
  const kv::BellTicket ticket = store->listen("bell");
  long control = 0;
  std::jthread sleeper([&] { control = sleeps_of([] { pause(kIdle); }); });
  const long waiter =
      sleeps_of([&] { EXPECT_EQ(store->wait(ticket, {.timeout = kIdle}), kv::Wake::timed_out); });
  sleeper.join();
  EXPECT_LE(waiter, kWakesMax + 2 * control);
  print_figure("bell_idle_wakes_in_5_s", static_cast<std::uint64_t>(waiter));
}

}  // namespace
}  // namespace sluice::test
