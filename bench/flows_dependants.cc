// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "flows_parts.h"
#include "flows_store.h"

namespace sluice::bench {
namespace {

constexpr const char* kParent = "parent";

struct Round {
  Work plain, enqueue, settle;
  Work ack;  // Of the job that all wait for: one transaction.
  std::uint64_t by_ack = 0;
  Largest largest;
};

Result<std::uint64_t> waiting(const WatchedShop& shop) {
  SLUICE_LET(counts, shop.queues->count(kQueue));
  return counts.waiting;
}

Status enqueue(Work& work, queue::Queues& queues, const queue::NewJob& job, std::uint64_t count) {
  const std::vector<queue::NewJob> batch(kBatch, job);
  return work.measure(count, [&]() -> Status {
    for (std::uint64_t made = 0; made < count; made += kBatch)
      SLUICE_TRY(
          enqueue_all(queues, std::span(batch).first(std::min<std::size_t>(kBatch, count - made))));
    return {};
  });
}

Status sweep_until_done(const WatchedShop& shop) {
  for (;;) {
    SLUICE_LET(swept, shop.queues->sweep());
    if (swept.released == 0) return {};
  }
}

// In stores of their own, so that every round begins with empty ones.
Result<Round> measure_round(const Part& part, int number, std::uint64_t count) {
  SLUICE_LET(shop, WatchedShop::open(part.scratch / fmt::format("dependants-{}", number)));
  SLUICE_LET(other, WatchedShop::open(part.scratch / fmt::format("dependants-none-{}", number)));
  Round round;
  queue::NewJob parent = plain_job();
  parent.id = kParent;
  SLUICE_TRY(shop.queues->enqueue(parent));
  SLUICE_LET(leases, claim_all(*shop.queues, 1));
  queue::NewJob job = plain_job();
  SLUICE_TRY(enqueue(round.plain, *other.queues, job, count));
  job.after.push_back({.id = kParent});
  SLUICE_TRY(enqueue(round.enqueue, *shop.queues, job, count));
  SLUICE_TRY(round.ack.measure(1, [&] { return ack_all(*shop.queues, leases); }));
  SLUICE_LET(left, waiting(shop));
  round.by_ack = count - left;
  SLUICE_TRY(round.settle.measure(left, [&]() -> Status {
    SLUICE_LET(largest,
               shop.watch_lane(queue::Lane::waiting, [&] { return sweep_until_done(shop); }));
    round.largest = largest;
    return {};
  }));
  SLUICE_LET(rest, shop.queues->count(kQueue));
  if (rest.waiting != 0 || rest.ready != count)
    return error(Code::corrupt, "not every dependant was released");
  return round;
}

}  // namespace

Status measure_dependants(const Part& part) {
  const std::uint64_t count = part.quick ? 10'000 : 100'000;
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 2 : 3); ++i) {
    SLUICE_LET(round, measure_round(part, i, count));
    rounds.push_back(round);
  }
  const auto middle = [&](auto figure) { return median_of(rounds, figure); };
  const auto cpu = [&](Work Round::* work) {
    return number(middle([&](const Round& r) { return (r.*work).cpu_us_each(); }));
  };
  part.report.add({.what = fmt::format("{} jobs that wait for one, settled by sweep: per second",
                                       short_number(count)),
                   .ours = number(middle([](const Round& r) { return r.settle.per_second(); }))});
  const auto beside_plain = [&](const char* what, Work Round::* work) {
    part.report.add({.what = what,
                     .ours = cpu(work),
                     .peer = cpu(&Round::plain) + " (Sluice, enqueue of a job that waits for none)",
                     .figure = middle([&](const Round& r) {
                       return (r.*work).cpu_us_each() / r.plain.cpu_us_each();
                     })});
  };
  beside_plain("  CPU us each", &Round::settle);
  beside_plain("  CPU us of the enqueue of each", &Round::enqueue);
  part.report.add(
      {.what = "  the most in one transaction of a sweep", .ours = size_of(rounds.back().largest)});
  part.report.add({.what = "  settled by the ack itself, and its CPU ms",
                   .ours = fmt::format(
                       "{} in {}", rounds.back().by_ack,
                       number(middle([](const Round& r) { return r.ack.cpu_us_each() / 1e3; })))});
  return {};
}

}  // namespace sluice::bench
