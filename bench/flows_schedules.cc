// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "flows_parts.h"
#include "flows_store.h"

namespace sluice::bench {
namespace {

struct Round {
  Work fire, plain;
  Work one;  // A sweep that fires a single schedule.
  Largest largest;
};

struct Contenders {
  ManualClock& clock;  // The schedules' minutes pass as they are needed.
  WatchedShop many, none, single;
  std::uint64_t count = 0;
};

Status add_schedules(const WatchedShop& shop, std::uint64_t count) {
  queue::NewJob job = plain_job();
  job.queue.clear();
  for (std::uint64_t i = 0; i < count; ++i)
    SLUICE_TRY(shop.queues->put_schedule({.queue = kQueue,
                                          .name = fmt::format("schedule-{:05}", i),
                                          .cron = "* * * * *",
                                          .job = job}));
  return {};
}

Status fire(const WatchedShop& shop, std::uint64_t count) {
  SLUICE_LET(swept, shop.queues->sweep());
  if (swept.fired != count) return error(Code::corrupt, "not every schedule has fired");
  return {};
}

Status drain(const WatchedShop& shop, std::uint64_t count) {
  SLUICE_LET(leases, claim_all(*shop.queues, count));
  return ack_all(*shop.queues, leases);
}

Result<Round> measure_round(const Contenders& all) {
  const std::vector<queue::NewJob> jobs(all.count, plain_job());
  Round round;
  all.clock.advance(std::chrono::minutes(1));
  SLUICE_TRY(round.fire.measure(all.count, [&]() -> Status {
    SLUICE_LET(largest,
               all.many.watch_lane(queue::Lane::ready, [&] { return fire(all.many, all.count); }));
    round.largest = largest;
    return {};
  }));
  SLUICE_TRY(round.plain.measure(all.count, [&] { return enqueue_all(*all.none.queues, jobs); }));
  SLUICE_TRY(round.one.measure(1, [&] { return fire(all.single, 1); }));
  SLUICE_TRY(drain(all.many, all.count));
  SLUICE_TRY(drain(all.none, all.count));
  SLUICE_TRY(drain(all.single, 1));
  return round;
}

}  // namespace

Status measure_schedules(const Part& part) {
  ManualClock clock;
  const std::uint64_t count = queue::kBatchJobsMax;
  SLUICE_LET(many, WatchedShop::open(part.scratch / "schedules", clock));
  SLUICE_LET(none, WatchedShop::open(part.scratch / "schedules-none", clock));
  SLUICE_LET(single, WatchedShop::open(part.scratch / "schedules-one", clock));
  SLUICE_TRY(add_schedules(many, count));
  SLUICE_TRY(add_schedules(single, 1));
  const Contenders all{.clock = clock,
                       .many = std::move(many),
                       .none = std::move(none),
                       .single = std::move(single),
                       .count = count};
  SLUICE_TRY(measure_round(all));  // Fills caches and grows the files.
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 9 : 41); ++i) {
    SLUICE_LET(round, measure_round(all));
    rounds.push_back(round);
  }
  const auto middle = [&](auto figure) { return median_of(rounds, figure); };
  part.report.add(
      {.what = fmt::format("{} schedules fire at once: CPU us each", short_number(count)),
       .ours = number(middle([](const Round& r) { return r.fire.cpu_us_each(); })),
       .peer = number(middle([](const Round& r) { return r.plain.cpu_us_each(); })) +
               " (Sluice, enqueue of as many jobs)",
       .figure =
           middle([](const Round& r) { return r.fire.cpu_us_each() / r.plain.cpu_us_each(); })});
  part.report.add(
      {.what = "  the most in one transaction of a sweep", .ours = size_of(rounds.back().largest)});
  part.report.add({.what = "  one fires alone: CPU us of the sweep",
                   .ours = number(middle([](const Round& r) { return r.one.cpu_us_each(); }))});
  return {};
}

}  // namespace sluice::bench
