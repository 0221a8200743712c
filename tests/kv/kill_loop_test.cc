// SPDX-License-Identifier: MIT
// kill -9 again and again, at any moment, and after each: nothing acknowledged is missing, nothing
// is there that nobody asked for. (The page cache survives a kill: durability is the power cut's
// test, this one is about atomicity and about coming back.)
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <vector>

#include "tests/kv/actor_path.h"
#include "tests/kv/checked.h"
#include "tests/kv/notes.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kLanes = 4;

// One store that lives through all kills, and what is known of it.
class Patient {
 public:
  explicit Patient(Place place) : dir_(place) {}

  // Lets a process work for a while, kills it, and looks. A kill `in_open` meets it while it
  // starts.
  void cycle(Random& random, bool in_open) {
    std::filesystem::remove(notes());
    {
      Child victim({actor_path(), "work", store(), notes(), "0", std::to_string(kLanes), "0",
                    std::to_string(random.next() >> 32)});
      if (!in_open) victim.read_line();
      const std::uint64_t most_us = in_open ? 6'000 : 40'000;
      pause(std::chrono::microseconds(1 + random.below(most_us)));
      victim.kill();
      const Exit exit = victim.wait();
      ASSERT_EQ(exit.signal, SIGKILL) << "it ended by itself with " << exit.to_string();
    }
    const std::string said = read_file(notes());
    ASSERT_EQ(said.find('F'), std::string::npos) << "a posting failed: see above for the reason";
    apply_notes(said, truth_);
    const Checked checked = check_in_child(store(), truth_);
    breaches += checked.breaches.size();
    ASSERT_TRUE(checked.clean()) << checked.to_string();
    open_us.push_back(checked.open_us);
    truth_ = checked.truth;
  }

  std::uint64_t acked() const {
    std::uint64_t sum = 0;
    for (const auto& [lane, known] : truth_) sum += known.acked;
    return sum;
  }

  std::vector<std::uint64_t> open_us;
  std::uint64_t breaches = 0;

 private:
  std::string store() const { return dir_ / "store"; }
  std::string notes() const { return dir_ / "notes"; }

  TempDir dir_;
  Truth truth_;
};

TEST(KillLoop, nothing_acknowledged_is_lost_to_a_kill) {
  const std::uint64_t cycles = RunSize{30, 1'000, 5'000}.pick();
  const std::uint64_t seed = seed_or(SystemRandom().next() >> 32);
  std::cout << "run again: SLUICE_SEED=" << seed << " with the same filter" << std::endl;
  SeededRandom random(seed);
  Patient in_memory(Place::memory);
  Patient on_disk(Place::disk);
  std::uint64_t kills_in_open = 0;
  for (std::uint64_t i = 1; i <= cycles; ++i) {
    Patient& patient = i % 10 == 0 ? on_disk : in_memory;
    ASSERT_NO_FATAL_FAILURE(patient.cycle(random, false)) << "cycle " << i;
    // Every 50th also kills while the store is being opened again.
    if (i % 50 > 1) continue;
    ASSERT_NO_FATAL_FAILURE(patient.cycle(random, true)) << "cycle " << i << ", restart";
    ++kills_in_open;
  }
  std::vector<std::uint64_t> open_us = in_memory.open_us;
  open_us.insert(open_us.end(), on_disk.open_us.begin(), on_disk.open_us.end());
  std::ranges::sort(open_us);
  print_figure("kill_loop_kills", cycles + kills_in_open);
  print_figure("kill_loop_kills_during_open", kills_in_open);
  print_figure("kill_loop_acked", in_memory.acked() + on_disk.acked());
  print_figure("kill_loop_breaches", in_memory.breaches + on_disk.breaches);
  print_figure("kill_loop_reopen_p99_us", open_us[open_us.size() * 99 / 100]);
}

}  // namespace
}  // namespace sluice::test
