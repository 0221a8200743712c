// SPDX-License-Identifier: MIT
// Every contender copies the same tree into a destination that is not there yet. The ledger is on
// the disk, both trees are not.
#include <fmt/format.h>

#include <array>
#include <fstream>

#include "migrate_ground.h"
#include "migrate_parts.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kMib = 1024 * 1024;
constexpr std::uint64_t kGib = 1024 * kMib;

enum Who : std::uint8_t { kOurs, kCp, kRsync, kRclone, kContenders };
constexpr std::array<const char*, kContenders> kNames = {"ours", "cp", "rsync", "rclone"};
constexpr std::array<const char*, kContenders> kNotes = {"", "cp -a", "rsync -a",
                                                         "rclone copy --transfers 2"};
using Round = std::array<Cost, kContenders>;

struct Load {
  std::string name = {};  ///< In the bars.
  std::string what = {};
  std::uint64_t folders = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  ///< Of each.
};

Result<Ended> copy(const Ground& ground, Who who) {
  const std::string src = ground / "src";
  const std::string dst = ground / "dst";
  switch (who) {
    case kCp:
      return ground.run({.words = {"cp", "-a", src, dst}});
    case kRsync:
      return ground.run({.words = {"rsync", "-a", src + "/", dst + "/"}});
    case kRclone:
      return ground.run({.words = {"rclone", "copy", "--transfers", "2", src, dst}});
    default:
      return ground.migrate(
          {"run", src, dst, "--state", ground.ledger("copy"), "--progress", "never"}, 0);
  }
}

/// Nothing is left to do for rsync. Contents take long to compare, and once is enough.
Status check(const Ground& ground, bool contents) {
  SLUICE_TRY(ground.run({.words = {"rsync", contents ? "-anc" : "-an", "-i", "--delete",
                                   ground / "src/", ground / "dst/"},
                         .output = ground / "left"}));
  SLUICE_LET(left, count_lines(ground / "left"));
  if (left == 0) return {};
  return {Code::corrupt, fmt::format("sluice-migrate has left {} differences", left)};
}

/// Another contender begins each time.
Result<Round> run_round(const Ground& ground, int number) {
  Round round;
  for (int i = 0; i < kContenders; ++i) {
    const auto who = static_cast<Who>((number + i) % kContenders);
    SLUICE_LET(ended, copy(ground, who));
    round[who] = ended.cost;
    if (who == kOurs) {
      SLUICE_TRY(check(ground, number == 0));
      SLUICE_TRY(Ground::remove(ground.ledger("copy")));
    }
    SLUICE_TRY(Ground::remove(ground / "dst"));
  }
  return round;
}

void add_rows(const std::vector<Round>& rounds, const Load& load, Report& report) {
  const auto costs = [&](std::size_t who) {
    return fmt::format(
        "{} ({})", number(median_of(rounds, [&](const Round& r) { return r[who].wall_seconds; })),
        number(median_of(rounds, [&](const Round& r) { return r[who].cpu_seconds; })));
  };
  for (std::size_t who = kCp; who < kContenders; ++who)
    report.add(
        {.what = who == kCp ? load.what + " copied: s (CPU s)" : "  the same",
         .ours = costs(kOurs),
         .peer = fmt::format("{} ({})", costs(who), kNotes[who]),
         .figure = median_of(
             rounds, [&](const Round& r) { return r[who].wall_seconds / r[kOurs].wall_seconds; }),
         .bar = Bar{fmt::format("copy_{}_{}", load.name, kNames[who]), Bar::Kind::at_least, 1}});
}

Status measure_load(const Part& part, const Load& load) {
  SLUICE_LET(ground, Ground::make(part, "copy"));
  SLUICE_TRY(ground.run_self({kGrowCommand, "files", ground / "src", std::to_string(load.folders),
                              std::to_string(load.files), std::to_string(load.bytes)}));
  std::vector<Round> rounds;
  for (int i = 0; i < rounds_of(part); ++i) {
    SLUICE_LET(round, run_round(ground, i));
    rounds.push_back(round);
  }
  add_rows(rounds, load, part.report);
  return {};
}

/// What can be had without taking it from anybody.
std::uint64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  constexpr std::string_view kField = "MemAvailable:";
  for (std::string line; std::getline(info, line);)
    if (line.starts_with(kField)) return std::stoull(line.substr(kField.size())) * 1024;
  return 0;
}

Load small_files(bool quick) {
  const std::uint64_t files = quick ? 10'000 : 100'000;
  return {.name = "small",
          .what = fmt::format("{} files of 4 KiB", number(static_cast<double>(files))),
          .folders = files / 100,
          .files = files,
          .bytes = 4096};
}

// Source and destination are in memory at the same time.
Load big_files(bool quick) {
  const std::uint64_t most = available_bytes() < 26 * kGib ? 512 * kMib : kGib;
  const std::uint64_t bytes = quick ? 64 * kMib : most;
  return {.name = "big",
          .what = fmt::format("10 files of {} MiB", bytes / kMib),
          .folders = 1,
          .files = 10,
          .bytes = bytes};
}

}  // namespace

Status measure_copy(const Part& part) {
  SLUICE_TRY(measure_load(part, small_files(part.quick)));
  return measure_load(part, big_files(part.quick));
}

}  // namespace sluice::bench
