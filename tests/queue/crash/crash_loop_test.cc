// SPDX-License-Identifier: MIT
// kill -9 again and again while every verb is in use, and after each: verify is clean, nothing
// acknowledged is missing, nothing was accepted twice, and what was in flight happened as a whole
// or not at all. (The page cache survives a kill: this is about atomicity and about coming back.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/queue/crash/actor_path.h"
#include "tests/queue/crash/oracle.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

// How a process is killed.
enum class Killer : std::uint8_t {
  timer,    // Some time after it has begun to work.
  call,     // By a tracer, as it enters its n-th write or sync.
  restart,  // While it starts.
};

struct Tally {
  std::uint64_t kills = 0;
  std::uint64_t kills_at_calls = 0;
  std::uint64_t kills_in_restart = 0;
  std::uint64_t drains = 0;
  std::uint64_t lost = 0;
  std::uint64_t doubled = 0;
  std::uint64_t other = 0;
  std::uint64_t verify_errors = 0;
  std::uint64_t repeated_calls = 0;
  std::uint64_t jobs_acked = 0;
  std::uint64_t completions = 0;
  std::vector<std::uint64_t> open_us = {};

  void add(const Tally& more) {
    for (std::uint64_t Tally::* member :
         {&Tally::kills, &Tally::kills_at_calls, &Tally::kills_in_restart, &Tally::drains,
          &Tally::lost, &Tally::doubled, &Tally::other, &Tally::verify_errors,
          &Tally::repeated_calls, &Tally::jobs_acked, &Tally::completions})
      this->*member += more.*member;
    open_us.insert(open_us.end(), more.open_us.begin(), more.open_us.end());
  }
};

// One store that lives through all kills, and what is known of it.
class Patient {
 public:
  Patient(Place place, Tally& tally) : dir_(place), tally_(tally) {}

  // Lets a process work for a while, kills it, and looks.
  void cycle(Random& random, Killer killer) {
    std::filesystem::remove(notes());
    std::string pending;
    for (const Note& note : oracle_.pending()) pending += encode_note(note);
    write_file(dir_ / "pending", pending);
    tally_.repeated_calls += oracle_.pending().size();
    ASSERT_NO_FATAL_FAILURE(kill_one(random, killer));
    ++tally_.kills;
    const Look look = look_in_child(actor_path(), store());
    tally_.open_us.push_back(look.open_us);
    tally_.verify_errors += look.complaints.size();
    for (const std::string& complaint : look.complaints) ADD_FAILURE() << complaint;
    report(oracle_.judge(decode_notes(read_file(notes())), look.jobs));
    ASSERT_FALSE(testing::Test::HasFailure());
  }

  // Works everything off and compares exactly; then begins anew.
  void drain() {
    Child child({actor_path(), "drain", store()});
    std::vector<JobKey> claimed;
    while (auto line = child.read_line()) {
      std::istringstream words(*line);
      std::string what;
      JobKey key;
      words >> what >> key.first >> key.second;
      claimed.push_back(key);
    }
    const Exit exit = child.wait();
    ASSERT_TRUE(exit.clean()) << exit.to_string();
    const Look look = look_in_child(actor_path(), store());
    for (const std::string& complaint : look.complaints) ADD_FAILURE() << complaint;
    report(oracle_.judge_drain(claimed, look.jobs));
    ASSERT_FALSE(testing::Test::HasFailure());
    Child purger({actor_path(), "purge", store()});
    ASSERT_TRUE(purger.wait().clean());
    oracle_.forget();
    ++tally_.drains;
  }

  std::uint64_t jobs_acked() const { return oracle_.jobs_acked(); }
  std::uint64_t completions() const { return oracle_.completions(); }

 private:
  void kill_one(Random& random, Killer killer) {
    std::vector<std::string> words;
    if (killer == Killer::call) {
      const std::vector<std::string> calls = {"pwrite64", "pwrite64", "writev", "fdatasync"};
      const std::string call = calls[random.below(calls.size())];
      const std::string when = std::to_string(1 + random.below(40));
      words = {"strace",
               "-f",
               "-qq",
               "-o",
               "/dev/null",
               "-e",
               "trace=" + call,
               "-e",
               "inject=" + call + ":signal=KILL:when=" + when};
      ++tally_.kills_at_calls;
    }
    // Its jobs are named after it: no two have the same.
    const std::uint64_t seed = tally_.kills << 24 | random.next() >> 40;
    for (const std::string& word : {actor_path(), std::string("work"), store(), notes(),
                                    dir_ / "pending", std::to_string(seed)})
      words.push_back(word);
    Child victim(words);
    if (killer == Killer::restart) ++tally_.kills_in_restart;
    if (killer == Killer::call) {
      victim.read_lines();
    } else {
      if (killer == Killer::timer) victim.read_line();
      const std::uint64_t most_us = killer == Killer::restart ? 8'000 : 40'000;
      pause(std::chrono::microseconds(1'000 + random.below(most_us)));
      victim.kill();
    }
    const Exit exit = victim.wait();
    ASSERT_EQ(exit.signal, SIGKILL) << "it ended by itself with " << exit.to_string();
  }

  void report(const std::vector<Breach>& breaches) const {
    for (const Breach& breach : breaches) {
      ++(breach.kind == Breach::Kind::lost      ? tally_.lost
         : breach.kind == Breach::Kind::doubled ? tally_.doubled
                                                : tally_.other);
      ADD_FAILURE() << breach.text;
    }
  }

  std::string store() const { return dir_ / "store"; }
  std::string notes() const { return dir_ / "notes"; }

  TempDir dir_;
  Tally& tally_;
  Oracle oracle_;
};

void print_figures(Tally tally) {
  std::ranges::sort(tally.open_us);
  print_figure("queue.crash.kills", tally.kills);
  print_figure("queue.crash.kills_at_calls", tally.kills_at_calls);
  print_figure("queue.crash.kills_in_restart", tally.kills_in_restart);
  print_figure("queue.crash.drains", tally.drains);
  print_figure("queue.crash.acked_jobs", tally.jobs_acked);
  print_figure("queue.crash.completions", tally.completions);
  print_figure("queue.crash.repeated_calls", tally.repeated_calls);
  print_figure("queue.crash.lost", tally.lost);
  print_figure("queue.crash.doubled", tally.doubled);
  print_figure("queue.crash.other", tally.other);
  print_figure("queue.crash.verify_errors", tally.verify_errors);
  print_figure("queue.crash.restart_p99_us", tally.open_us[tally.open_us.size() * 99 / 100]);
}

// Two stores, of which one in ten kills meets the one on disk.
void kill_again_and_again(std::uint64_t cycles, std::uint64_t seed, Tally& tally) {
  SeededRandom random(seed);
  Patient in_memory(Place::memory, tally);
  Patient on_disk(Place::disk, tally);
  for (std::uint64_t i = 1; i <= cycles; ++i) {
    Patient& patient = i % 10 == 5 ? on_disk : in_memory;
    const Killer killer = i % 7 == 0 ? Killer::call : Killer::timer;
    ASSERT_NO_FATAL_FAILURE(patient.cycle(random, killer)) << "cycle " << i;
    if (i % 50 == 0) {
      Patient& restarted = i % 100 == 0 ? on_disk : in_memory;
      ASSERT_NO_FATAL_FAILURE(restarted.cycle(random, Killer::restart)) << "restart " << i;
    }
    if (i % 100 != 0 && i != cycles) continue;
    ASSERT_NO_FATAL_FAILURE(in_memory.drain()) << "cycle " << i;
    ASSERT_NO_FATAL_FAILURE(on_disk.drain()) << "cycle " << i;
  }
  tally.jobs_acked = in_memory.jobs_acked() + on_disk.jobs_acked();
  tally.completions = in_memory.completions() + on_disk.completions();
}

TEST(QueueCrashLoop, nothing_is_lost_or_doubled_by_a_kill) {
  constexpr std::size_t kSupervisors = 2;
  const std::uint64_t cycles = RunSize{30, 1'000, 10'000}.pick();
  const std::uint64_t seed = seed_or(SystemRandom().next() >> 32);
  std::cout << "run again: SLUICE_SEED=" << seed << " with the same filter" << std::endl;
  std::array<Tally, kSupervisors> tallies;
  {
    std::vector<std::jthread> supervisors;
    for (std::size_t i = 0; i < kSupervisors; ++i)
      supervisors.emplace_back([&, i] {
        kill_again_and_again(cycles / kSupervisors, seed * kSupervisors + i, tallies[i]);
      });
  }
  ASSERT_FALSE(HasFailure());
  Tally all;
  for (const Tally& tally : tallies) all.add(tally);
  print_figures(all);
}

}  // namespace
}  // namespace sluice::test
