// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/random.h>

#include <deque>
#include <optional>

#include "queue_load.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kGroups = 10'000;

queue::NewJob job_of(const std::string& group) {
  queue::NewJob job = plain_job();
  job.group = group;
  return job;
}

std::string group_name(std::uint64_t number) {
  return fmt::format("tenant-{:05}", number);
}

// ---------------------------------------------------------------------------- groups at their
// limit

constexpr std::uint64_t kFree = 10;
constexpr std::uint64_t kFull = kGroups - kFree;

std::string free_group(std::uint64_t number) {
  return fmt::format("free-{}", number);
}

std::vector<queue::NewJob> batch_of_free_groups() {
  std::vector<queue::NewJob> jobs;
  for (std::size_t i = 0; i < kBatch; ++i) jobs.push_back(job_of(free_group(i % kFree)));
  return jobs;
}

// As many jobs leased, and as many ready that cannot be claimed or at least not all be.
Status lease_and_leave(queue::Queues& queues, const MakeJob& make) {
  SLUICE_TRY(fill(queues, kFull, make));
  SLUICE_TRY(claim_all(queues, kFull));
  return fill(queues, kFull, make);
}

// Every group has as many jobs leased as its limit allows, and one more ready that comes before
// those of the free groups.
Result<Shop> open_full_groups(const Part& part) {
  SLUICE_LET(shop, Shop::open(part.scratch / "groups-full"));
  SLUICE_TRY(shop.queues->configure(kQueue, {.group_max = 1}));
  for (std::uint64_t i = 0; i < kFree; ++i)
    SLUICE_TRY(shop.queues->limit_group(kQueue, free_group(i), 1'000'000));
  SLUICE_TRY(lease_and_leave(*shop.queues, [](std::uint64_t i) { return job_of(group_name(i)); }));
  SLUICE_LET(counted, shop.queues->count(kQueue));
  SLUICE_LET(blocked, shop.queues->count_blocked_groups(kQueue));
  if (counted.leased != kFull || counted.ready != kFull || blocked != queue::kPageMax)
    return error(Code::corrupt, "the groups are not at their limit");
  return std::move(shop);
}

Result<Shop> open_no_groups(const Part& part) {
  SLUICE_LET(shop, Shop::open(part.scratch / "groups-none"));
  SLUICE_TRY(lease_and_leave(*shop.queues, [](std::uint64_t) { return plain_job(); }));
  return std::move(shop);
}

}  // namespace

Status measure_groups_at_limit(const Part& part) {
  const int count = part.quick ? 3 : 15;
  const std::uint64_t batches = part.quick ? 16 : 24;
  SLUICE_LET(full, open_full_groups(part));
  SLUICE_LET(none, open_no_groups(part));
  struct Round {
    Work full, none;
  };
  std::vector<Round> rounds;
  for (int i = -1; i < count; ++i) {
    SLUICE_LET(with_full, turn_over(*full.queues, batch_of_free_groups, batches));
    SLUICE_LET(with_none, turn_over(*none.queues, plain_batch, batches));
    if (i >= 0) rounds.push_back({with_full, with_none});  // The first fills caches.
  }
  const auto row = [&](Work Round::* work) {
    return number(median_of(rounds, [&](const Round& r) { return (r.*work).cpu_us_each(); }));
  };
  part.report.add(
      {.what = fmt::format("claim and ack beside {} groups at their limit: CPU us per job", kFull),
       .ours = row(&Round::full),
       .peer = row(&Round::none) + " (Sluice, no groups)",
       .figure = median_of(
           rounds, [](const Round& r) { return r.full.cpu_us_each() / r.none.cpu_us_each(); }),
       .bar = Bar{"groups_at_limit", Bar::Kind::at_most, 1.5}});
  return {};
}

namespace {

// ---------------------------------------------------------------------------------- limited groups

// Jobs of random groups come and go, while some batches of them are being worked on. The more of
// them, the more groups are at a limit of two at any time.
class Flow {
 public:
  static constexpr std::uint64_t kBacklog = 2 * kGroups;

  /// `out`: batches that are leased at a time.
  static Result<Flow> open(const std::string& dir, std::optional<std::uint32_t> limit,
                           std::size_t out) {
    SLUICE_LET(shop, Shop::open(dir));
    SLUICE_TRY(shop.queues->configure(kQueue, {.group_max = limit}));
    Flow flow(std::move(shop), out);
    for (std::uint64_t done = 0; done < kBacklog; done += kBatch)
      SLUICE_TRY(enqueue_all(*flow.shop_.queues, flow.next_jobs()));
    SLUICE_TRY(flow.run(out));
    return flow;
  }

  /// So many batches enqueued, claimed and, a while after, acked.
  Result<Work> run(std::size_t batches) {
    Work work;
    for (std::size_t i = 0; i < batches; ++i) {
      const auto jobs = next_jobs();
      SLUICE_TRY(work.measure(kBatch, [&] { return step(jobs); }));
    }
    return work;
  }

  Result<std::uint64_t> blocked() { return shop_.queues->count_blocked_groups(kQueue); }

 private:
  Flow(Shop shop, std::size_t out) : shop_(std::move(shop)), out_max_(out) {}

  std::vector<queue::NewJob> next_jobs() {
    std::vector<queue::NewJob> jobs;
    for (std::size_t i = 0; i < kBatch; ++i)
      jobs.push_back(job_of(group_name(random_.below(kGroups))));
    return jobs;
  }

  Status step(const std::vector<queue::NewJob>& jobs) {
    SLUICE_TRY(enqueue_all(*shop_.queues, jobs));
    SLUICE_LET(leases, claim_all(*shop_.queues, kBatch));
    out_.push_back(std::move(leases));
    if (out_.size() <= out_max_) return {};
    SLUICE_TRY(ack_all(*shop_.queues, out_.front()));
    out_.pop_front();
    return {};
  }

  Shop shop_;
  std::size_t out_max_;
  SeededRandom random_{1};  // The same jobs for every contender.
  std::deque<std::vector<queue::Lease>> out_;
};

Status measure_flow(const Part& part, std::size_t out, std::optional<Bar> bar) {
  const int count = part.quick ? 3 : 15;
  const std::size_t batches = part.quick ? 12 : 24;
  SLUICE_LET(limited, Flow::open(part.scratch / fmt::format("groups-limited-{}", out), 2, out));
  SLUICE_LET(free, Flow::open(part.scratch / fmt::format("groups-free-{}", out), {}, out));
  struct Round {
    Work limited, free;
  };
  std::vector<Round> rounds;
  for (int i = -1; i < count; ++i) {
    SLUICE_LET(with_limit, limited.run(batches));
    SLUICE_LET(without, free.run(batches));
    if (i >= 0) rounds.push_back({with_limit, without});  // The first fills caches.
  }
  SLUICE_LET(blocked, limited.blocked());
  const auto per_cpu_second = [](const Work& work) { return 1e6 / work.cpu_us_each(); };
  const auto row = [&](Work Round::* work) {
    return number(median_of(rounds, [&](const Round& r) { return per_cpu_second(r.*work); }));
  };
  part.report.add(
      {.what = fmt::format("{} groups limited to 2, {} jobs in flight: jobs per CPU second",
                           kGroups, out * kBatch),
       .ours = row(&Round::limited),
       .peer = row(&Round::free) + " (Sluice, no limit)",
       .figure = median_of(
           rounds,
           [&](const Round& r) { return per_cpu_second(r.limited) / per_cpu_second(r.free); }),
       .bar = std::move(bar)});
  part.report.add({.what = "  groups that wait for a slot at the end",
                   .ours = number(static_cast<double>(blocked))});
  return {};
}

}  // namespace

Status measure_limited_groups(const Part& part) {
  SLUICE_TRY(measure_flow(part, 4, Bar{"limited_groups", Bar::Kind::at_least, 0.9}));
  return measure_flow(part, 16, {});
}

}  // namespace sluice::bench
