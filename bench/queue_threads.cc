// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <atomic>
#include <latch>
#include <thread>

#include "queue_load.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr unsigned kThreads = 64;
constexpr Duration kPatience = std::chrono::seconds(5);

struct Lives {
  Work work;
  std::uint64_t commits = 0;  // Of the engine, hence syncs.
};

struct Round {
  Lives many, one;
};

constexpr std::uint64_t kCallsPerJob = 3;

// One job of this thread's making, and one of anybody's to its end. There is always one to claim:
// each thread has enqueued as many as it claims.
Status live_once(queue::Queues& queues, const queue::NewJob& job) {
  SLUICE_TRY(queues.enqueue(job));
  SLUICE_LET(leases, queues.claim({.queues = {kQueue}, .worker = "bench", .wait = kPatience}));
  if (leases.empty()) return error(Code::not_found, "there was nothing to claim");
  return queues.ack({.queue = kQueue, .token = leases.front().token});
}

Result<Lives> live_flat_out(Shop& shop, unsigned threads, Duration duration) {
  std::latch ready(threads + 1);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> jobs{0};
  FirstFailure failure;
  const auto live = [&] {
    const queue::NewJob job = plain_job();
    ready.arrive_and_wait();
    std::uint64_t mine = 0;
    for (; !stop.load(std::memory_order_relaxed); ++mine)
      if (const Status status = live_once(*shop.queues, job); !status.ok())
        return failure.note(status);
    jobs += mine;
  };
  const auto commits = [&] { return shop.store->stats().batch_size.count; };
  const std::uint64_t before = commits();
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(live);
  ready.arrive_and_wait();
  const Stopwatch watch;
  system_clock().sleep_for(duration, {});
  stop = true;
  workers.clear();
  const Cost cost = watch.read();
  SLUICE_TRY(failure.get());
  return Lives{.work = {.jobs = jobs, .cost = cost}, .commits = commits() - before};
}

}  // namespace

Status measure_threads(const Part& part) {
  const int count = part.quick ? 3 : 7;
  const Duration duration = std::chrono::milliseconds(part.quick ? 700 : 2000);
  SLUICE_LET(many, Shop::open(part.scratch / "threads"));
  SLUICE_LET(one, Shop::open(part.scratch / "thread"));
  SLUICE_TRY(live_flat_out(many, kThreads, duration / 2));  // Fills caches and grows the files.
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) {
    SLUICE_LET(with_many, live_flat_out(many, kThreads, duration));
    SLUICE_LET(with_one, live_flat_out(one, 1, duration));
    rounds.push_back({with_many, with_one});
  }
  const auto row = [&](auto get) { return number(median_of(rounds, get)); };
  const auto batch = median_of(rounds, [](const Round& round) {
    return static_cast<double>(round.many.work.jobs * kCallsPerJob) /
           static_cast<double>(round.many.commits);
  });
  part.report.add(
      {.what = fmt::format("{} threads, one enqueue, claim or ack at a time: jobs/s", kThreads),
       .ours = row([](const Round& round) { return round.many.work.per_second(); }),
       .peer = row([](const Round& round) { return round.one.work.per_second(); }) +
               " (Sluice, one thread)",
       .figure = median_of(rounds,
                           [](const Round& round) {
                             return round.many.work.per_second() / round.one.work.per_second();
                           }),
       .bar = Bar{"threads_speedup", Bar::Kind::at_least, 10}});
  part.report.add({.what = "  calls per commit, mean",
                   .ours = number(batch),
                   .figure = batch,
                   .bar = Bar{"mean_batch", Bar::Kind::at_least, 32}});
  part.report.add({.what = "  CPU us per job, all three calls",
                   .ours = row([](const Round& round) { return round.many.work.cpu_us_each(); }),
                   .peer = row([](const Round& round) { return round.one.work.cpu_us_each(); }) +
                           " (Sluice, one thread)",
                   .figure = median_of(rounds, [](const Round& round) {
                     return round.many.work.cpu_us_each() / round.one.work.cpu_us_each();
                   })});
  return {};
}

}  // namespace sluice::bench
