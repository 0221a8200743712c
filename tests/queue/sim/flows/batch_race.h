// SPDX-License-Identifier: MIT
// A race for the end of a batch: two to four clients whose transactions really overlap, each at the
// commit point of another, do what can end a batch or keep it from ending.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::queue::sim {

enum class RaceProbe : std::uint8_t {
  overlapped,
  conflict,
  ended_in_the_race,
  ended_by_the_check,
  succeeded,
  failed,
  cancelled,
  child_after_the_seal,
  requeued_before_the_end,
  requeued_after_the_end,
  three_deep,
};
inline constexpr std::size_t kRaceProbeCount = 11;

struct RaceTally {
  std::uint64_t races = 0;
  std::array<std::uint64_t, kRaceProbeCount> probes{};

  void hit(RaceProbe probe) { ++probes[static_cast<std::size_t>(probe)]; }
  std::vector<std::string> missed() const;
};

/// Runs the race of this seed on a store of its own. What was wrong, if anything.
std::optional<std::string> run_batch_race(std::uint64_t seed, RaceTally& tally);

}  // namespace sluice::queue::sim
