// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sluice/random.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "child.h"
#include "queue_load.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kSmall = 1'000;

// The stores, each in a directory of its name.
constexpr const char* kSmallDir = "backlog-small";
constexpr const char* kLargeDir = "backlog-large";
constexpr const char* kRandomDir = "backlog-random-ids";
constexpr const char* kScheduledDir = "backlog-scheduled";
constexpr const char* kInOrderDir = "backlog-scheduled-in-order";

std::uint64_t large(const Part& part) {
  return part.quick ? 100'000 : 1'000'000;
}

std::string short_number(std::uint64_t jobs) {
  return jobs >= 1'000'000 ? fmt::format("{}M", jobs / 1'000'000) : fmt::format("{}k", jobs / 1000);
}

// As a caller's own ids come: in no order, and as long as generated ones.
queue::NewJob job_with_random_id(std::uint64_t number) {
  SeededRandom random(number);
  queue::NewJob job = plain_job();
  job.id = fmt::format("{:016x}{:010}", random.next(), number);
  return job;
}

// Due in one to two days, in no order.
queue::NewJob job_for_later(std::uint64_t number) {
  SeededRandom random(number);
  queue::NewJob job = plain_job();
  job.delay = std::chrono::hours(24) + std::chrono::seconds(random.below(86'400));
  return job;
}

// The same in the order of their due times, as jobs come that all have the same delay.
queue::NewJob job_for_later_in_order(std::uint64_t number) {
  queue::NewJob job = plain_job();
  job.delay = std::chrono::hours(24) + std::chrono::milliseconds(number * 80);
  return job;
}

queue::NewJob ready_job(std::uint64_t) {
  return plain_job();
}

struct Backlogs {
  Shop small, large, random_ids, scheduled, in_order;
  std::uint64_t next_id = 0;
};

Result<Backlogs> build(const Part& part) {
  const std::uint64_t many = large(part);
  Backlogs all;
  all.next_id = many;
  const auto open = [&](Shop& shop, const char* dir, std::uint64_t count,
                        const MakeJob& make) -> Status {
    SLUICE_LET(opened, Shop::open(part.scratch / dir));
    shop = std::move(opened);
    const Stopwatch watch;
    SLUICE_TRY(fill(*shop.queues, count, make));
    fmt::print(stderr, "    {}: {} jobs in {:.1f} s\n", dir, count, watch.read().wall_seconds);
    return {};
  };
  SLUICE_TRY(open(all.small, kSmallDir, kSmall, ready_job));
  SLUICE_TRY(open(all.large, kLargeDir, many, ready_job));
  SLUICE_TRY(open(all.random_ids, kRandomDir, many, job_with_random_id));
  SLUICE_TRY(open(all.scheduled, kScheduledDir, many, job_for_later));
  SLUICE_TRY(fill(*all.scheduled.queues, kSmall, ready_job));
  SLUICE_TRY(open(all.in_order, kInOrderDir, many, job_for_later_in_order));
  SLUICE_TRY(fill(*all.in_order.queues, kSmall, ready_job));
  return all;
}

struct Round {
  Work small, large, random_ids, scheduled, in_order;
};

Result<Round> measure_round(Backlogs& all, std::uint64_t batches) {
  SLUICE_LET(small, turn_over(*all.small.queues, plain_batch, batches));
  SLUICE_LET(large, turn_over(*all.large.queues, plain_batch, batches));
  SLUICE_LET(scheduled, turn_over(*all.scheduled.queues, plain_batch, batches));
  SLUICE_LET(in_order, turn_over(*all.in_order.queues, plain_batch, batches));
  const auto with_ids = [&] {
    std::vector<queue::NewJob> jobs;
    while (jobs.size() < kBatch) jobs.push_back(job_with_random_id(all.next_id++));
    return jobs;
  };
  SLUICE_LET(random_ids, turn_over(*all.random_ids.queues, with_ids, batches));
  return Round{small, large, random_ids, scheduled, in_order};
}

void add_turnover(const std::vector<Round>& rounds, std::uint64_t many, Report& report) {
  const auto cpu = [&](Work Round::* work) {
    return number(median_of(rounds, [&](const Round& r) { return (r.*work).cpu_us_each(); }));
  };
  const auto add = [&](const std::string& what, Work Round::* work, std::optional<Bar> bar) {
    report.add({.what = what,
                .ours = cpu(work),
                .peer = cpu(&Round::small) + " (Sluice, 1k ready)",
                .figure = median_of(rounds,
                                    [&](const Round& r) {
                                      return (r.*work).cpu_us_each() / r.small.cpu_us_each();
                                    }),
                .bar = std::move(bar)});
  };
  const std::string jobs = short_number(many);
  add(fmt::format("claim and ack, {} jobs ready: CPU us per job", jobs), &Round::large,
      Bar{"backlog_1m", Bar::Kind::at_most, 1.5});
  add("  the same with the caller's own random ids", &Round::random_ids, {});
  add(fmt::format("claim and ack, 1k ready beside {} scheduled: CPU us per job", jobs),
      &Round::in_order, Bar{"scheduled_1m", Bar::Kind::at_most, 1.2});
  add("  the same, scheduled in a random order of their due times", &Round::scheduled, {});
}

// ----------------------------------------------------------------------- opening, counting, memory

// So that what follows reads from the disk. The store must be closed.
void drop_from_cache(const std::string& dir) {
  const int fd = open((dir + "/data.mdb").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

Status measure_open(const Part& part) {
  const int count = part.quick ? 3 : 5;
  const std::string dir = part.scratch / kLargeDir;
  std::vector<double> cold;
  std::vector<double> warm;
  std::vector<double> count_ms;
  for (int i = 0; i < count; ++i) {
    drop_from_cache(dir);
    for (auto* seconds : {&cold, &warm}) {
      const Stopwatch opening;
      SLUICE_LET(shop, Shop::open(dir));
      seconds->push_back(opening.read().wall_seconds);
      for (int j = 0; j < 200; ++j) {
        const Stopwatch counting;
        SLUICE_TRY(shop.queues->count(kQueue));
        count_ms.push_back(counting.read().wall_seconds * 1e3);
      }
    }
  }
  const std::string jobs = short_number(large(part));
  part.report.add({.what = fmt::format("seconds to open a store of {} jobs, not in memory", jobs),
                   .ours = fmt::format("{:.4f}", median(cold)),
                   .peer = fmt::format("{:.4f} (once in memory)", median(warm)),
                   .figure = median(cold),
                   .bar = Bar{"open_1m_s", Bar::Kind::at_most, 1}});
  part.report.add(
      {.what = "  ms to count its jobs, p50 / p99",
       .ours = fmt::format("{:.4f} / {:.4f}", median(count_ms), percentile(count_ms, 0.99)),
       .figure = percentile(count_ms, 0.99),
       .bar = Bar{"count_ms", Bar::Kind::at_most, 1}});
  return {};
}

// Memory of this process that no file backs: LMDB's map of the store does not count.
std::int64_t anonymous_kib() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kField = "RssAnon:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kField)) return std::stoll(line.substr(kField.size()));
  return 0;
}

Status measure_memory(const Part& part) {
  const int count = part.quick ? 3 : 5;
  std::vector<double> with_small;
  std::vector<double> with_large;
  for (int i = 0; i < count; ++i) {
    for (const char* dir : {kSmallDir, kLargeDir}) {
      SLUICE_LET(child, Child::spawn({kMemoryCommand, part.scratch / dir}));
      SLUICE_LET(told, child.numbers(1));
      SLUICE_TRY(child.finish());
      (dir == kSmallDir ? with_small : with_large).push_back(static_cast<double>(told[0]) / 1024);
    }
  }
  part.report.add({.what = fmt::format("MiB of memory of a process that works on {} jobs",
                                       short_number(large(part))),
                   .ours = number(median(with_large)),
                   .peer = number(median(with_small)) + " (Sluice, 1k jobs)",
                   .figure = median(with_large) / median(with_small),
                   .bar = Bar{"rss_growth", Bar::Kind::at_most, 1.2}});
  return {};
}

}  // namespace

// Argument: the store. Uses it in every way, then tells how much memory it holds.
Status memory_process(const std::vector<std::string>& args) {
  SLUICE_LET(shop, Shop::open(args.at(0)));
  SLUICE_TRY(turn_over(*shop.queues, plain_batch, 16));
  SLUICE_TRY(shop.queues->count(kQueue));
  SLUICE_TRY(shop.queues->list({.queue = kQueue, .limit = queue::kPageMax}));
  SLUICE_TRY(shop.queues->peek(kQueue, 100));
  SLUICE_TRY(shop.queues->sweep());
  tell_parent({anonymous_kib()});
  return {};
}

Status measure_backlog(const Part& part) {
  const int count = part.quick ? 3 : 11;
  const std::uint64_t batches = part.quick ? 8 : 16;
  {
    SLUICE_LET(all, build(part));
    SLUICE_TRY(measure_round(all, batches));  // Fills caches and grows the files.
    std::vector<Round> rounds;
    for (int i = 0; i < count; ++i) {
      SLUICE_LET(round, measure_round(all, batches));
      rounds.push_back(round);
    }
    add_turnover(rounds, large(part), part.report);
  }
  SLUICE_TRY(measure_open(part));
  return measure_memory(part);
}

}  // namespace sluice::bench
