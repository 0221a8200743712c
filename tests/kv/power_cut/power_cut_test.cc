// SPDX-License-Identifier: MIT
// Records a real run, then asks of thousands of states that a power cut could have left: does the
// store open, is it whole, is everything there that was acknowledged?
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "tests/kv/actor_path.h"
#include "tests/kv/power_cut/replay.h"
#include "tests/support/child.h"
#include "tests/support/run_size.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

struct Tally {
  std::uint64_t planned = 0;
  std::uint64_t checked = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t lost = 0;
  std::uint64_t extra = 0;
  std::uint64_t crashed = 0;
  std::vector<std::string> texts;

  std::uint64_t bad() const { return corrupt + lost + extra + crashed; }
};

// A run of the ledger with group commits, and the log of what it did to its file.
struct Recording {
  explicit Recording(Place place) : dir(place) {}

  std::string log_path() const { return dir / "io.log"; }
  std::string data_path() const { return dir / "store/data.mdb"; }

  void record(std::uint64_t postings, std::uint64_t seed) {
    const std::string notes = dir / "notes";
    Child victim(
        {actor_path(), "work", dir / "store", notes, "0", "8", std::to_string(postings / 8),
         std::to_string(seed)},
        {std::string("LD_PRELOAD=") + recorder_path(), std::string(kRecorderLog) + "=" + log_path(),
         std::string(kRecorderData) + "=" + data_path(),
         std::string(kRecorderNotes) + "=" + notes});
    victim.read_lines();
    const Exit exit = victim.wait();
    ASSERT_TRUE(exit.clean()) << exit.to_string();
    auto read = read_io_log(log_path());
    ASSERT_TRUE(read);
    log = std::move(*read);
  }

  TempDir dir;
  std::vector<IoRecord> log;
};

struct Job {
  std::string mode = "honest";
  std::uint64_t target = 0;
  std::uint64_t seed = 0;
  std::uint64_t bad_max = 10;  // Then it is clear enough.
  std::string part = "working";
};

void note_line(const std::string& line, Tally& tally, std::uint64_t& current) {
  std::istringstream words(line);
  std::string what;
  std::string kind;
  words >> what;
  if (what == "plan") words >> tally.planned;
  if (what == "image") {
    words >> current;
    ++tally.checked;
  }
  if (what != "bad") return;
  words >> current >> kind;
  ++(kind == "lost" ? tally.lost : kind == "extra" ? tally.extra : tally.corrupt);
  tally.texts.push_back(line);
}

// Starts another checker behind every image that crashes one.
Tally check_images(const Recording& recording, const Job& job) {
  Tally tally;
  std::uint64_t current = 0;
  for (bool finished = false; !finished && tally.bad() < job.bad_max;) {
    const TempDir scratch;
    Child checker({actor_path(), "images", recording.log_path(), job.mode, std::to_string(job.seed),
                   std::to_string(job.target), std::to_string(current + 1), scratch.path(),
                   job.part});
    while (auto line = checker.read_line()) {
      note_line(*line, tally, current);
      if (tally.bad() >= job.bad_max) return tally;
    }
    const Exit exit = checker.wait();
    finished = exit.clean();
    if (finished) continue;
    ++tally.crashed;
    tally.texts.push_back("image " + std::to_string(current) + ": " + exit.to_string());
  }
  return tally;
}

// Leaves the log behind, because threads never make the same one twice.
void expect_clean(const Recording& recording, const Job& job, const Tally& tally) {
  EXPECT_EQ(tally.corrupt, 0u);
  EXPECT_EQ(tally.lost, 0u);
  EXPECT_EQ(tally.extra, 0u);
  EXPECT_EQ(tally.crashed, 0u);
  if (tally.bad() == 0) {
    EXPECT_EQ(tally.checked, tally.planned);
    EXPECT_GE(tally.checked, job.target);
    return;
  }
  for (const std::string& text : tally.texts) std::cout << text << "\n";
  const std::string kept = "/tmp/sluice-power-cut-" + std::to_string(job.seed) + ".log";
  write_file(kept, read_file(recording.log_path()));
  std::cout << "run again (put the image's number in place of 1): mkdir -p /tmp/image && "
            << actor_path() << " images " << kept << " " << job.mode << " " << job.seed << " "
            << job.target << " 1 /tmp/image " << job.part << "\n";
}

TEST(PowerCut, the_recorder_misses_nothing_that_reaches_the_file) {
  Recording recording(Place::memory);
  recording.record(400, seed_or(3));
  Replay replay(recording.log, CutMode::honest);
  while (replay.step()) continue;
  EXPECT_TRUE(replay.live_file() == read_file(recording.data_path()));
  EXPECT_EQ(replay.pending(), 0u) << "a write was never synced";
  EXPECT_EQ(replay.truth().size(), 8u);
  for (const auto& [lane, truth] : replay.truth()) EXPECT_EQ(truth.acked, 50u) << lane;
}

TEST(PowerCut, whatever_was_acknowledged_survives_at_any_moment) {
  const std::uint64_t target = RunSize{2'000, 20'480, 204'800}.pick();
  Tally total;
  std::uint64_t cuts = 0;
  // On the disk syncs take long, so that more callers share one.
  for (const Place place : {Place::memory, Place::disk}) {
    const Job job{.target = target / 2, .seed = seed_or(place == Place::memory ? 11 : 12)};
    Recording recording(place);
    ASSERT_NO_FATAL_FAILURE(recording.record(RunSize{200, 1'000, 4'000}.pick(), job.seed));
    const Tally tally = check_images(recording, job);
    expect_clean(recording, job, tally);
    cuts += recording.log.size();
    total.checked += tally.checked;
    total.corrupt += tally.corrupt + tally.crashed;
    total.lost += tally.lost;
    total.extra += tally.extra;
  }
  print_figure("power_cut_positions", cuts);
  print_figure("power_cut_images", total.checked);
  print_figure("power_cut_corrupt", total.corrupt);
  print_figure("power_cut_lost", total.lost);
  print_figure("power_cut_extra", total.extra);
}

TEST(PowerCut, a_store_that_was_just_being_made_can_be_opened) {
  const Job job{.target = 400, .seed = seed_or(31), .bad_max = 10, .part = "making"};
  Recording recording(Place::memory);
  ASSERT_NO_FATAL_FAILURE(recording.record(8, job.seed));
  const Tally tally = check_images(recording, job);
  expect_clean(recording, job, tally);
  print_figure("power_cut_images_of_a_new_store", tally.checked);
}

// A synced file is no use if its name is not on the disk.
TEST(PowerCut, the_directory_of_a_new_store_is_synced_before_the_first_acknowledgement) {
  Recording recording(Place::memory);
  ASSERT_NO_FATAL_FAILURE(recording.record(8, seed_or(41)));
  const auto kind_is = [](IoHeader::Kind kind) {
    return [kind](const IoRecord& record) { return record.kind == kind; };
  };
  const auto note = std::ranges::find_if(recording.log, kind_is(IoHeader::note));
  EXPECT_NE(std::find_if(recording.log.begin(), note, kind_is(IoHeader::dir_sync)), note);
}

// A check that cannot fail proves nothing: without syncs, or with the meta page written before the
// pages it refers to, the same images must be found bad.
TEST(PowerCut, a_disk_that_breaks_its_promises_is_noticed) {
  Recording recording(Place::memory);
  ASSERT_NO_FATAL_FAILURE(recording.record(200, seed_or(21)));
  const Job honest{.target = 500, .seed = seed_or(22)};
  expect_clean(recording, honest, check_images(recording, honest));
  for (const std::string mode : {"syncs_ignored", "meta_first"}) {
    const std::uint64_t enough = RunSize{20, 200, 2'000}.pick();
    const Tally tally = check_images(
        recording, {.mode = mode, .target = enough * 10, .seed = seed_or(22), .bad_max = enough});
    EXPECT_GE(tally.bad(), enough / 4) << mode;
    print_figure("power_cut_control_" + mode + "_images", tally.checked);
    print_figure("power_cut_control_" + mode + "_caught", tally.bad());
    print_figure("power_cut_control_" + mode + "_crashed_the_reader", tally.crashed);
  }
}

}  // namespace
}  // namespace sluice::test
