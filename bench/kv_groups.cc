// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/kv.h>

#include <cmath>

#include "kv_load.h"
#include "kv_parts.h"

namespace sluice::bench {
namespace {

constexpr unsigned kThreads = 64;

// The contenders, each with its own directory, so that the statistics are of one alone.
struct Stores {
  std::unique_ptr<kv::Store> group;
  std::unique_ptr<kv::Store> single;
  std::unique_ptr<kv::Store> submitted;
  std::unique_ptr<BareLmdb> bare;
  NextKey group_next{0};
  NextKey single_next{0};
  NextKey submitted_next{0};
};

// What the contenders did in one round.
struct Round {
  double batch = 0;  // Transactions per commit of the group.
  Work group, single, bare, submitted, wakes;
};
using Rounds = std::vector<Round>;

// The median over the rounds. Ratios are taken within a round, because what else the machine does
// changes from one round to the next.
template <class Figure>
double median_of(const Rounds& rounds, const Figure& figure) {
  std::vector<double> figures;
  for (const Round& round : rounds) figures.push_back(figure(round));
  return median(figures);
}

Status open(const Part& part, Stores& stores) {
  SLUICE_LET(group, kv::open_lmdb({.dir = part.scratch / "group"}));
  SLUICE_LET(single, kv::open_lmdb({.dir = part.scratch / "single"}));
  SLUICE_LET(submitted, kv::open_lmdb({.dir = part.scratch / "submitted"}));
  SLUICE_LET(bare, BareLmdb::open(part.scratch / "bare"));
  stores.group = std::move(group);
  stores.single = std::move(single);
  stores.submitted = std::move(submitted);
  stores.bare = std::move(bare);
  return {};
}

Result<Round> measure_round(Stores& stores, Duration duration) {
  const kv::Distribution before = stores.group->stats().batch_size;
  SLUICE_LET(group, write_flat_out(*stores.group, stores.group_next, kThreads, duration));
  const kv::Distribution after = stores.group->stats().batch_size;
  const double batch =
      static_cast<double>(after.sum - before.sum) / static_cast<double>(after.count - before.count);
  SLUICE_LET(bare, stores.bare->write(group.done, static_cast<std::uint64_t>(std::lround(batch))));
  const Duration pause(std::lround(median(stores.bare->commit_ns())));
  const Work wakes = wake_in_rounds(kThreads, pause, duration / 4);
  SLUICE_LET(submitted,
             submit_flat_out(*stores.submitted, stores.submitted_next, kThreads, duration / 2));
  SLUICE_LET(single, write_flat_out(*stores.single, stores.single_next, 1, duration / 2));
  return Round{batch, group, single, bare, submitted, wakes};
}

void add_rates(const Rounds& rounds, Report& report) {
  const auto group = median_of(rounds, [](const Round& r) { return r.group.per_second(); });
  const auto single = median_of(rounds, [](const Round& r) { return r.single.per_second(); });
  const auto bare = median_of(rounds, [](const Round& r) { return r.bare.per_second(); });
  const auto batch = median_of(rounds, [](const Round& r) { return r.batch; });
  report.add(
      {.what = fmt::format("{} threads: transactions/s", kThreads),
       .ours = number(group),
       .peer = number(single) + " (Sluice, one thread)",
       .figure = median_of(
           rounds, [](const Round& r) { return r.group.per_second() / r.single.per_second(); }),
       .bar = Bar{"group_commit_speedup", Bar::Kind::at_least, 10}});
  report.add({.what = "  transactions per commit, mean",
              .ours = number(batch),
              .figure = batch,
              .bar = Bar{"group_commit_batch", Bar::Kind::at_least, 32}});
  report.add({.what = "  transactions/s beside bare LMDB",
              .ours = number(group),
              .peer = number(bare) + " (bare LMDB, one thread)",
              .figure = median_of(rounds, [](const Round& r) {
                return r.group.per_second() / r.bare.per_second();
              })});
}

// Threads that block must be put to sleep and woken for every transaction, whatever they wait for.
// The second row adds that cost to the peer, the third avoids it.
void add_cpu(const Rounds& rounds, Report& report) {
  const auto cpu = [&](Work Round::* work) {
    return median_of(rounds, [&](const Round& r) { return (r.*work).cpu_us_each(); });
  };
  const std::string group = number(cpu(&Round::group));
  const std::string bare = number(cpu(&Round::bare));
  report.add(
      {.what = "  CPU us per transaction",
       .ours = group,
       .peer = bare + " (bare LMDB, commits as large)",
       .figure = median_of(
           rounds, [](const Round& r) { return r.group.cpu_us_each() / r.bare.cpu_us_each(); }),
       .bar = Bar{"cpu_vs_bare_lmdb", Bar::Kind::at_most, 2}});
  report.add({.what = "    beside as many threads that only sleep and wake",
              .ours = group,
              .peer = fmt::format("{} + {} (a wake-up alone)", bare, number(cpu(&Round::wakes))),
              .figure = median_of(rounds, [](const Round& r) {
                return r.group.cpu_us_each() / (r.bare.cpu_us_each() + r.wakes.cpu_us_each());
              })});
  report.add({.what = fmt::format("    by submit() from one thread, {} in flight", kThreads),
              .ours = number(cpu(&Round::submitted)),
              .peer = bare + " (bare LMDB, commits as large)",
              .figure = median_of(rounds, [](const Round& r) {
                return r.submitted.cpu_us_each() / r.bare.cpu_us_each();
              })});
}

void add_commits(const Stores& stores, Report& report) {
  const auto us = [](double ns) { return number(ns / 1000); };
  const kv::Distribution ours = stores.group->stats().commit_ns;
  const auto& bare = stores.bare->commit_ns();
  report.add({.what = "  commit us, p50 / p99",
              .ours = us(static_cast<double>(ours.p50)) + " / " + us(static_cast<double>(ours.p99)),
              .peer = us(median(bare)) + " / " + us(percentile(bare, 0.99)) + " (bare LMDB)"});
}

Status measure_reads(const Stores& stores, int rounds, Duration duration, Report& report) {
  const std::uint64_t keys = stores.group_next;
  std::vector<double> ours, peer, ratio;
  for (int i = 0; i < rounds; ++i) {
    SLUICE_LET(group, read_singly(*stores.group, keys, duration));
    SLUICE_LET(bare, stores.bare->read_singly(keys, duration));
    ours.push_back(group.cpu_us_each());
    peer.push_back(bare.cpu_us_each());
    ratio.push_back(group.cpu_us_each() / bare.cpu_us_each());
  }
  const auto cost = [](const std::vector<double>& us) {
    return fmt::format("{} ({} per second)", number(median(us)), number(1e6 / median(us)));
  };
  report.add({.what = "CPU us of a single get in its own snapshot",
              .ours = cost(ours),
              .peer = cost(peer) + " (bare mdb_get)",
              .figure = median(ratio)});
  return {};
}

}  // namespace

Status measure_groups(const Part& part) {
  const int rounds = part.quick ? 3 : 5;
  const Duration duration = std::chrono::milliseconds(part.quick ? 1000 : 4000);
  Stores stores;
  SLUICE_TRY(open(part, stores));
  SLUICE_TRY(measure_round(stores, duration / 4));  // Fills caches and grows the files.
  Rounds measured;
  for (int i = 0; i < rounds; ++i) {
    SLUICE_LET(round, measure_round(stores, duration));
    measured.push_back(round);
  }
  add_rates(measured, part.report);
  add_cpu(measured, part.report);
  add_commits(stores, part.report);
  return measure_reads(stores, rounds, duration / 4, part.report);
}

}  // namespace sluice::bench
