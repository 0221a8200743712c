// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "migrate_ground.h"
#include "migrate_parts.h"

namespace sluice::bench {
namespace {

constexpr double kMemoryMibMax = 64;

struct Round {
  Compared one, two;        ///< By the number of threads.
  double ledger_bytes = 0;  ///< Per entry.
  Ended rerun = {};         ///< Of what `two` finished.
  double killed_at = 0;     ///< The share of the entries that was in the ledger by then.
  Compared resumed = {};    ///< What was left, on two threads.
};

double wall(const Ended& ended) {
  return ended.cost.wall_seconds;
}
double cpu(const Ended& ended) {
  return ended.cost.cpu_seconds;
}

Result<double> disk_bytes(const std::string& ledger) {
  struct stat info{};
  if (stat((ledger + "/ledger/data.mdb").c_str(), &info) != 0)
    return error(Code::not_found, "there is no data.mdb in " + ledger);
  return static_cast<double>(info.st_blocks) * 512;
}

/// Without waiting for its end or taking note of it.
bool has_ended(const Process& process) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

/// Of memory that no file backs, as it is now.
double anonymous_mib(const Process& process) {
  std::ifstream status(fmt::format("/proc/{}/status", process.pid()));
  constexpr std::string_view kField = "RssAnon:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kField)) return std::stod(line.substr(kField.size())) / 1024;
  return 0;
}

/// The peaks of one run, mapped files included and not.
struct Memory {
  double all_mib = 0;
  double anonymous_mib = 0;  ///< Looked at again and again: what is short-lived is missed.
};

/// Runs by themselves, because looking costs time. The largest of them, because how much is needed
/// at once is a matter of which thread is where: it differs from run to run.
Result<Memory> peak_memory(const Ground& ground, const Comparing& wish, int runs) {
  Memory most;
  for (int i = 0; i < runs; ++i) {
    SLUICE_LET(process, ground.start_compare(wish));
    Memory memory;
    while (!has_ended(process)) {
      memory.anonymous_mib = std::max(memory.anonymous_mib, anonymous_mib(process));
      system_clock().sleep_for(std::chrono::milliseconds(2), {});
    }
    SLUICE_LET(ended, process.end());
    if (ended.exit_code != 1) return error(Code::unavailable, "a comparison has failed");
    memory.all_mib = ended.peak_mib;
    if (memory.all_mib > most.all_mib) most = memory;
    SLUICE_TRY(Ground::remove(wish.ledger));
  }
  return most;
}

/// The share of `entries` that was in the ledger when it was killed, a little more than half; none
/// if it was too quick.
Result<std::optional<double>> kill_half_way(const Ground& ground, const Comparing& wish,
                                            std::uint64_t entries) {
  SLUICE_LET(process, ground.start_compare(wish));
  for (;;) {
    SLUICE_LET(now, ground.status(wish.ledger));
    if (has_ended(process)) return std::optional<double>();
    if (now.entries * 2 >= entries) break;
  }
  kill(process.pid(), SIGKILL);
  (void)process.end();
  SLUICE_LET(left, ground.status(wish.ledger));
  return std::optional(static_cast<double>(left.entries) / static_cast<double>(entries));
}

class Runs {
 public:
  explicit Runs(const Ground& ground) : ground_(ground) {}

  Comparing wish(const std::string& ledger, unsigned threads) const {
    return {.src = ground_ / "src",
            .dst = ground_ / "dst",
            .ledger = ground_.ledger(ledger),
            .threads = threads};
  }

  /// Every other round begins with two threads.
  Result<Round> run(int number) const {
    Round round;
    if (number % 2 != 0) SLUICE_TRY(compare_with(2, round.two));
    SLUICE_TRY(compare_with(1, round.one));
    if (number % 2 == 0) SLUICE_TRY(compare_with(2, round.two));
    SLUICE_LET(bytes, disk_bytes(ground_.ledger("2")));
    SLUICE_LET(again, ground_.compare(wish("2", 2)));
    round.rerun = again.ended;
    round.ledger_bytes = bytes / static_cast<double>(round.two.summary.entries);
    SLUICE_TRY(resume(round));
    for (const Compared& other : {round.one, again, round.resumed})
      if (other.summary != round.two.summary)
        return error(Code::corrupt, "not every run has found the same");
    for (const char* ledger : {"1", "2", "killed"})
      SLUICE_TRY(Ground::remove(ground_.ledger(ledger)));
    return round;
  }

 private:
  Status compare_with(unsigned threads, Compared& compared) const {
    SLUICE_LET(done, ground_.compare(wish(std::to_string(threads), threads)));
    compared = done;
    return {};
  }

  Status resume(Round& round) const {
    constexpr int kAttempts = 10;
    for (int i = 0; i < kAttempts; ++i) {
      SLUICE_LET(killed_at, kill_half_way(ground_, wish("killed", 2), round.two.summary.entries));
      if (killed_at && *killed_at < 0.9) {
        round.killed_at = *killed_at;
        SLUICE_LET(resumed, ground_.compare(wish("killed", 2)));
        round.resumed = resumed;
        return {};
      }
      SLUICE_TRY(Ground::remove(ground_.ledger("killed")));
    }
    return {Code::unavailable, "it is always finished before it can be killed half way"};
  }

  const Ground& ground_;
};

void add_run_rows(const std::vector<Round>& rounds, const std::string& what, Report& report) {
  const auto middle = [&](const auto& figure) { return median_of(rounds, figure); };
  report.add(
      {.what = what,
       .ours = number(middle([](const Round& r) { return wall(r.two.ended); })),
       .peer = number(middle([](const Round& r) { return wall(r.one.ended); })) +
               " (Sluice, --threads 1)",
       .figure = middle([](const Round& r) { return wall(r.one.ended) / wall(r.two.ended); }),
       .bar = Bar{"scaling", Bar::Kind::at_least, 1.7}});
  const double rate = middle([](const Round& r) {
    return static_cast<double>(r.two.summary.entries) / wall(r.two.ended);
  });
  report.add({.what = "  entries/s, of both sides", .ours = number(rate)});
  const double bytes = middle([](const Round& r) { return r.ledger_bytes; });
  report.add({.what = "  bytes of the ledger per entry",
              .ours = number(bytes),
              .figure = bytes,
              .bar = Bar{"ledger_bytes", Bar::Kind::at_most, 64}});
  const double rerun_ms = middle([](const Round& r) { return wall(r.rerun) * 1000; });
  report.add({.what = "  once more when it is finished: ms",
              .ours = number(rerun_ms),
              .figure = rerun_ms,
              .bar = Bar{"rerun_ms", Bar::Kind::at_most, 50}});
}

// It is killed at a little more than half, and how much more differs from round to round. Entries
// cost about the same, so what was done before its time is added again.
void add_resume_rows(const std::vector<Round>& rounds, Report& report) {
  const auto middle = [&](const auto& figure) { return median_of(rounds, figure); };
  const auto row = [&](const std::string& what, double (*cost)(const Ended&)) {
    return Row{.what = what,
               .ours = number(middle([&](const Round& r) { return cost(r.resumed.ended); })),
               .peer = number(middle([&](const Round& r) { return cost(r.two.ended); })) +
                       " (Sluice, all of it)",
               .figure = middle([&](const Round& r) {
                 return cost(r.resumed.ended) / cost(r.two.ended) + r.killed_at - 0.5;
               })};
  };
  Row by_cpu = row(fmt::format("  the rest after kill -9 at {:.0f} %: CPU s",
                               100 * middle([](const Round& r) { return r.killed_at; })),
                   cpu);
  by_cpu.bar = Bar{"resume", Bar::Kind::at_most, 0.55};
  report.add(by_cpu);
  report.add(row("    s", wall));
}

void add_memory_row(const std::string& what, const std::string& bar, const Memory& memory,
                    Report& report) {
  report.add({.what = what,
              .ours = fmt::format("{} ({} without mapped files)", number(memory.all_mib),
                                  number(memory.anonymous_mib)),
              .figure = memory.all_mib,
              .bar = Bar{bar, Bar::Kind::at_most, kMemoryMibMax}});
}

Status grow(const Ground& ground, std::uint64_t folders, std::uint64_t files) {
  return status_of(ground.run_self({kGrowCommand, "pair", ground / "src", ground / "dst",
                                    std::to_string(folders), std::to_string(files)}));
}

}  // namespace

Status measure_million(const Part& part) {
  const std::uint64_t files = part.quick ? 100'000 : 1'000'000;
  SLUICE_LET(ground, Ground::make(part, "million"));
  SLUICE_TRY(grow(ground, files / 10, files));
  const Runs runs(ground);
  std::vector<Round> rounds;
  for (int i = 0; i < rounds_of(part); ++i) {
    SLUICE_LET(round, runs.run(i));
    rounds.push_back(round);
  }
  add_run_rows(
      rounds,
      fmt::format("{} files in {} folders, --threads 2: s", number(static_cast<double>(files)),
                  number(static_cast<double>(files) / 10)),
      part.report);
  add_resume_rows(rounds, part.report);
  SLUICE_LET(memory, peak_memory(ground, runs.wish("memory", 2), rounds_of(part)));
  add_memory_row("  MiB of memory, peak", "rss_mib", memory, part.report);
  return {};
}

Status measure_wide(const Part& part) {
  const std::uint64_t files = part.quick ? 100'000 : 1'000'000;
  SLUICE_LET(ground, Ground::make(part, "wide"));
  SLUICE_TRY(grow(ground, 1, files));
  const Comparing wish = Runs(ground).wish("wide", default_threads());
  std::vector<double> seconds;
  for (int i = 0; i < rounds_of(part); ++i) {
    SLUICE_LET(compared, ground.compare(wish));
    SLUICE_TRY(Ground::remove(wish.ledger));
    seconds.push_back(wall(compared.ended));
  }
  SLUICE_LET(memory, peak_memory(ground, wish, rounds_of(part)));
  add_memory_row(fmt::format("one folder with {} names: MiB of memory, peak",
                             number(static_cast<double>(files))),
                 "wide_rss_mib", memory, part.report);
  part.report.add({.what = "  s", .ours = number(median(seconds))});
  return {};
}

}  // namespace sluice::bench
