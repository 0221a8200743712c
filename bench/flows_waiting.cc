// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "flows_parts.h"

namespace sluice::bench {
namespace {

// So many are ready in every store, so that the waiting ones are the only difference.
constexpr std::uint64_t kReady = 1'000;
constexpr std::size_t kParents = 64;
constexpr std::size_t kParentsOfEach = 3;

std::string parent_id(std::size_t number) {
  return fmt::format("parent-{}", number);
}

// Waits for the first of the jobs that are held; or for several of them, in turn.
queue::NewJob waiting_job(std::uint64_t number, std::size_t each) {
  queue::NewJob job = plain_job();
  if (each == 1) job.after.push_back({.id = parent_id(0)});
  for (std::size_t i = 0; each > 1 && i < each; ++i)
    job.after.push_back({.id = parent_id((number + i) % kParents)});
  return job;
}

struct Contenders {
  Shop none, one, several;
};

Result<Shop> open_ready(const std::string& dir) {
  SLUICE_LET(shop, Shop::open(dir));
  SLUICE_TRY(fill(*shop.queues, kReady, [](std::uint64_t) { return plain_job(); }));
  return std::move(shop);
}

Result<Shop> fill_waiting(const std::string& dir, std::uint64_t count, std::size_t each) {
  SLUICE_LET(shop, open_ready(dir));
  std::vector<queue::NewJob> parents(kParents, plain_job());
  for (std::size_t i = 0; i < kParents; ++i) {
    parents[i].id = parent_id(i);
    parents[i].hold = true;
  }
  SLUICE_TRY(enqueue_all(*shop.queues, parents));
  const Stopwatch watch;
  SLUICE_TRY(
      fill(*shop.queues, count, [&](std::uint64_t number) { return waiting_job(number, each); }));
  SLUICE_LET(counts, shop.queues->count(kQueue));
  if (counts.waiting != count) return error(Code::corrupt, "a job does not wait");
  fmt::print(stderr, "    {} jobs that wait for {} each in {:.1f} s\n", count, each,
             watch.read().wall_seconds);
  return std::move(shop);
}

struct Round {
  Work none, one, several;
};

Status turn_over_once(Work& work, const Shop& shop, const std::vector<queue::NewJob>& jobs) {
  SLUICE_TRY(enqueue_all(*shop.queues, jobs));
  return work.measure(jobs.size(), [&]() -> Status {
    SLUICE_LET(leases, claim_all(*shop.queues, jobs.size()));
    return ack_all(*shop.queues, leases);
  });
}

// Contenders take turns batch by batch: what else the machine does meets them all alike.
Result<Round> measure_round(const Contenders& all, std::uint64_t batches) {
  const auto jobs = plain_batch();
  Round round;
  for (std::uint64_t i = 0; i < batches; ++i) {
    SLUICE_TRY(turn_over_once(round.none, all.none, jobs));
    SLUICE_TRY(turn_over_once(round.one, all.one, jobs));
    SLUICE_TRY(turn_over_once(round.several, all.several, jobs));
  }
  return round;
}

}  // namespace

Status measure_waiting(const Part& part) {
  const std::uint64_t many = part.quick ? 100'000 : 1'000'000;
  SLUICE_LET(none, open_ready(part.scratch / "waiting-none"));
  SLUICE_LET(one, fill_waiting(part.scratch / "waiting-one", many, 1));
  SLUICE_LET(several, fill_waiting(part.scratch / "waiting-several", many / 10, kParentsOfEach));
  const Contenders all{
      .none = std::move(none), .one = std::move(one), .several = std::move(several)};
  const std::uint64_t batches = part.quick ? 8 : 16;
  SLUICE_TRY(measure_round(all, batches));  // Fills caches and grows the files.
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 5 : 15); ++i) {
    SLUICE_LET(round, measure_round(all, batches));
    rounds.push_back(round);
  }
  const auto add = [&](const std::string& what, Work Round::* work, std::optional<Bar> bar) {
    const auto cpu = [&](Work Round::* of) {
      return number(median_of(rounds, [&](const Round& r) { return (r.*of).cpu_us_each(); }));
    };
    part.report.add({.what = what,
                     .ours = cpu(work),
                     .peer = cpu(&Round::none) + " (Sluice, none waiting)",
                     .figure = median_of(rounds,
                                         [&](const Round& r) {
                                           return (r.*work).cpu_us_each() / r.none.cpu_us_each();
                                         }),
                     .bar = std::move(bar)});
  };
  add(fmt::format("claim and ack beside {} jobs that wait for one: CPU us per job",
                  short_number(many)),
      &Round::one, Bar{"waiting_1m", Bar::Kind::at_most, 1.2});
  add(fmt::format("  beside {} that wait for {} each", short_number(many / 10), kParentsOfEach),
      &Round::several, {});
  return {};
}

}  // namespace sluice::bench
