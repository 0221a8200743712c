// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "flows_parts.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kBatches = 32;  // Of one round.
constexpr std::size_t kSingles = 64;  // Jobs that one round takes through single calls.

// A life is one job's enqueue, claim and ack.
struct Round {
  Work on, off;
  Work single_on, single_off;
};

struct Contenders {
  Shop on, off;
};

Result<Contenders> open(const Part& part) {
  SLUICE_LET(on, open_shop(part.scratch / "events-on", true));
  SLUICE_LET(off, open_shop(part.scratch / "events-off", false));
  return Contenders{.on = std::move(on), .off = std::move(off)};
}

Status live(Work& work, const Shop& shop, const std::vector<queue::NewJob>& jobs) {
  return work.measure(jobs.size(), [&]() -> Status {
    SLUICE_TRY(enqueue_all(*shop.queues, jobs));
    SLUICE_LET(leases, claim_all(*shop.queues, jobs.size()));
    return ack_all(*shop.queues, leases);
  });
}

// Both take turns batch by batch: what else the machine does meets them alike.
Result<Round> measure_round(const Contenders& all) {
  const auto jobs = plain_batch();
  const std::vector<queue::NewJob> one(1, plain_job());
  Round round;
  for (std::size_t i = 0; i < kBatches; ++i) {
    SLUICE_TRY(live(round.on, all.on, jobs));
    SLUICE_TRY(live(round.off, all.off, jobs));
  }
  for (std::size_t i = 0; i < kSingles; ++i) {
    SLUICE_TRY(live(round.single_on, all.on, one));
    SLUICE_TRY(live(round.single_off, all.off, one));
  }
  return round;
}

// Bytes of keys and values that one job's life in batches writes.
Result<double> bytes_each(const Shop& shop) {
  Work ignored;
  const std::uint64_t before = shop.store->stats().bytes_written;
  const auto jobs = plain_batch();
  for (std::size_t i = 0; i < kBatches; ++i) SLUICE_TRY(live(ignored, shop, jobs));
  const std::uint64_t written = shop.store->stats().bytes_written - before;
  return static_cast<double>(written) / static_cast<double>(kBatches * kBatch);
}

}  // namespace

Status measure_events(const Part& part) {
  SLUICE_LET(all, open(part));
  // Also writes more events than are kept, so that trimming them is part of what is measured.
  static_assert(kBatches * kBatch * 3 > queue::kEventsMax);
  SLUICE_TRY(measure_round(all));
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 5 : 15); ++i) {
    SLUICE_LET(round, measure_round(all));
    rounds.push_back(round);
  }
  SLUICE_LET(bytes_on, bytes_each(all.on));
  SLUICE_LET(bytes_off, bytes_each(all.off));
  const auto add = [&](const std::string& what, Work Round::* on, Work Round::* off,
                       std::optional<Bar> bar) {
    const auto cpu = [&](Work Round::* work) {
      return number(median_of(rounds, [&](const Round& r) { return (r.*work).cpu_us_each(); }));
    };
    part.report.add({.what = what,
                     .ours = cpu(on),
                     .peer = cpu(off) + " (Sluice, events off)",
                     .figure = median_of(rounds,
                                         [&](const Round& r) {
                                           return (r.*on).cpu_us_each() / (r.*off).cpu_us_each();
                                         }),
                     .bar = std::move(bar)});
  };
  add(fmt::format("enqueue, claim and ack with events, batches of {}: CPU us per job", kBatch),
      &Round::on, &Round::off, Bar{"events", Bar::Kind::at_most, 1.15});
  part.report.add({.what = "  bytes of keys and values written per job",
                   .ours = number(bytes_on),
                   .peer = number(bytes_off) + " (Sluice, events off)",
                   .figure = bytes_on / bytes_off});
  add("  the same, one job per call: CPU us per job", &Round::single_on, &Round::single_off, {});
  return {};
}

}  // namespace sluice::bench
