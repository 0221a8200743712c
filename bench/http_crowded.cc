// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "http_cycle.h"
#include "http_load.h"
#include "http_parts.h"
#include "queue_load.h"

namespace sluice::bench {
namespace {

constexpr unsigned kWorkers = 8;
/// Many short ones: a machine that slows down for a while does so for all.
constexpr int kRounds = 7;
constexpr std::uint64_t kGroups = 10'000;

Status fill_backlog(const std::string& data, std::uint64_t jobs) {
  SLUICE_LET(shop, Shop::open(data));
  return fill(*shop.queues, jobs, [](std::uint64_t) { return plain_job(); });
}

/// Two jobs in each of kGroups groups that may run one: one of them is held by a worker.
Status block_groups(const std::string& data) {
  SLUICE_LET(shop, Shop::open(data));
  queue::QueueConfig config;
  config.group_max = 1;
  SLUICE_TRY(shop.queues->configure(kQueue, config));
  SLUICE_TRY(fill(*shop.queues, 2 * kGroups, [](std::uint64_t number) {
    queue::NewJob job = plain_job();
    job.group = fmt::format("group-{}", number % kGroups);
    return job;
  }));
  SLUICE_TRY(claim_all(*shop.queues, kGroups));
  SLUICE_LET(blocked, shop.queues->count_blocked_groups(kQueue, kGroups));
  if (blocked == kGroups) return {};
  return error(Code::unavailable, fmt::format("{} groups are blocked", blocked));
}

/// As many jobs, in the same lanes, that nothing blocks: what blocked groups are held against, so
/// that the size of the store is not counted as theirs. Those that are ready there are held here,
/// as they would be handed out otherwise.
Status leave_as_many(const std::string& data) {
  SLUICE_LET(shop, Shop::open(data));
  SLUICE_TRY(fill(*shop.queues, kGroups, [](std::uint64_t) { return plain_job(); }));
  SLUICE_TRY(claim_all(*shop.queues, kGroups));
  return fill(*shop.queues, kGroups, [](std::uint64_t) {
    queue::NewJob job = plain_job();
    job.hold = true;
    return job;
  });
}

Result<double> cpu_us_per_cycle(const std::string& dir, const std::string& data, unsigned seconds) {
  SLUICE_LET(server, start_sluiced(dir, data));
  SLUICE_LET(cycles, run_cycles(server.url, kWorkers, seconds));
  SLUICE_LET(cost, server.stop());
  return cost.cpu_seconds * 1e6 / static_cast<double>(cycles.count);
}

struct Round {
  double empty = 0;
  double backlog = 0;
  double blocked = 0;
  double as_many = 0;
};

}  // namespace

Status measure_crowded_queues(const Part& part) {
  const std::uint64_t jobs = part.quick ? 100'000 : 1'000'000;
  const unsigned seconds = part.quick ? 1 : 3;
  SLUICE_LET(dir, make_dir(part.scratch, "crowded"));
  SLUICE_TRY(fill_backlog(dir + "/backlog", jobs));
  SLUICE_TRY(block_groups(dir + "/blocked"));
  SLUICE_TRY(leave_as_many(dir + "/as-many"));
  std::vector<Round> rounds;
  for (int i = 0; i < kRounds; ++i) {
    SLUICE_LET(empty, cpu_us_per_cycle(dir, dir + fmt::format("/empty-{}", i), seconds));
    SLUICE_LET(backlog, cpu_us_per_cycle(dir, dir + "/backlog", seconds));
    SLUICE_LET(blocked, cpu_us_per_cycle(dir, dir + "/blocked", seconds));
    SLUICE_LET(as_many, cpu_us_per_cycle(dir, dir + "/as-many", seconds));
    rounds.push_back({.empty = empty, .backlog = backlog, .blocked = blocked, .as_many = as_many});
  }
  const auto middle = [&](auto figure) { return number(median_of(rounds, figure)); };
  const std::string empty = middle([](const Round& r) { return r.empty; }) + " (an empty queue)";
  part.report.add(
      {.what = fmt::format("push, pop, complete beside {} jobs: CPU us of the server", jobs),
       .ours = middle([](const Round& r) { return r.backlog; }),
       .peer = empty,
       .figure = median_of(rounds, [](const Round& r) { return r.backlog / r.empty; }),
       .bar = Bar{"backlog_cpu", Bar::Kind::at_most, 1.5}});
  part.report.add(
      {.what = "the same beside 10,000 groups that are at their limit",
       .ours = middle([](const Round& r) { return r.blocked; }),
       .peer = middle([](const Round& r) { return r.as_many; }) + " (as many jobs, no groups)",
       .figure = median_of(rounds, [](const Round& r) { return r.blocked / r.as_many; }),
       .bar = Bar{"blocked_cpu", Bar::Kind::at_most, 1.1}});
  part.report.add(
      {.what = "  and of an empty queue",
       .ours = middle([](const Round& r) { return r.blocked; }),
       .peer = empty,
       .figure = median_of(rounds, [](const Round& r) { return r.blocked / r.empty; })});
  return {};
}

}  // namespace sluice::bench
