// SPDX-License-Identifier: MIT
// Builds and checks the images of one recorded run, in a process that a damaged image may crash.
//
//   kv_actor images LOG MODE SEED TARGET BEGIN DIR PART
//
// PART is "making", the log up to the first note, when the store is being made, or "working", the
// rest. Says "plan N", then for every image from number BEGIN on "image NUMBER", and for one that
// is not as it should be "bad NUMBER KIND TEXT". The same words make the same images.
#include <unistd.h>

#include <algorithm>

#include "tests/kv/actor/actor.h"
#include "tests/kv/ledger.h"
#include "tests/kv/power_cut/replay.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::test {
namespace {

constexpr std::uint64_t kGoOnEvery = 40;  // Every so many images work is also resumed.

// The images that a run is to have at each of its positions.
class Plan {
 public:
  Plan(const std::vector<IoRecord>& log, bool making) : making_(making) {
    while (first_note_ < log.size() && log[first_note_].kind != IoHeader::note) ++first_note_;
  }

  // Takes the least number per position with which there are `target` images, if there are.
  std::uint64_t aim(const std::vector<IoRecord>& log, CutMode mode, std::uint64_t target) {
    std::vector<std::uint64_t> possible;
    for (Replay replay(log, mode); replay.step();)
      if (includes(replay)) possible.push_back(replay.images_max());
    std::uint64_t images = 0;
    for (; images < target && per_position_ < 2'000; ++per_position_) {
      images = 0;
      for (const std::uint64_t limit : possible) images += std::min(limit, per_position_ + 1);
    }
    return images;
  }

  std::uint64_t images_at(const Replay& replay) const {
    return includes(replay) ? std::min(replay.images_max(), per_position_) : 0;
  }

 private:
  bool includes(const Replay& replay) const {
    return (replay.position() <= first_note_) == making_;
  }

  const bool making_;
  std::size_t first_note_ = 0;
  std::uint64_t per_position_ = 0;
};

Status go_on(kv::Store& store, Verdict& verdict) {
  Truth truth;
  for (const auto& [lane, last] : verdict.last) truth[lane].acked = last;
  SLUICE_TRY(set_up_ledger(store));
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t number = ++truth[0].acked;
    SLUICE_TRY(post(store, {.lane = 0, .number = number, .seed = number}));
  }
  verdict = check_ledger(store, truth);
  return {};
}

Verdict check_image(const std::string& dir, const Truth& truth, bool resume) {
  auto store = kv::open_lmdb({.dir = dir, .map_bytes = kMapBytes});
  if (!store)
    return {.breaches = {{Breach::Kind::corrupt, "cannot open: " + store.error().to_string()}},
            .last = {}};
  Verdict verdict = check_ledger(**store, truth);
  if (!resume || !verdict.clean()) return verdict;
  if (const Status status = go_on(**store, verdict); !status.ok())
    verdict.breaches.push_back({Breach::Kind::corrupt, "cannot go on: " + status.to_string()});
  return verdict;
}

void put_image(const std::string& path, const Replay& replay, Random& random) {
  const std::string unfinished = path + kUnfinishedSuffix;
  unlink(path.c_str());
  unlink(unfinished.c_str());
  const bool named = replay.named(random);
  write_file(named ? path : unfinished, replay.image(random));
}

}  // namespace

int run_images(const Words& words) {
  const auto log = read_io_log(words.text(0));
  if (!log) return 2;
  const CutMode mode = cut_mode_named(words.text(1));
  const std::uint64_t seed = words.number(2);
  const std::uint64_t begin = words.number(4);
  const std::string& dir = words.text(5);
  Plan plan(*log, words.text(6) == "making");
  say("plan " + std::to_string(plan.aim(*log, mode, words.number(3))));
  std::uint64_t number = 0;
  for (Replay replay(*log, mode); replay.step();) {
    for (std::uint64_t i = 0; i < plan.images_at(replay); ++i) {
      if (++number < begin) continue;
      say("image " + std::to_string(number));
      // A damaged tree may have a loop in it.
      alarm(static_cast<unsigned>(patience() / std::chrono::seconds(1)));
      SeededRandom random(seed * 1'000'000'007 + number);
      put_image(dir + "/data.mdb", replay, random);
      const Verdict verdict = check_image(dir, replay.truth(), number % kGoOnEvery == 0);
      if (verdict.clean()) continue;
      const Breach& first = verdict.breaches.front();
      say("bad " + std::to_string(number) + " " + breach_name(first.kind) + " " + first.text +
          " (log position " + std::to_string(replay.position()) + ", " +
          std::to_string(replay.pending()) + " writes pending)");
    }
  }
  return 0;
}

}  // namespace sluice::test
