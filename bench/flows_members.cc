// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "flows_parts.h"
#include "flows_store.h"

namespace sluice::bench {
namespace {

constexpr const char* kMembers = "members";

// What became of one batch, or of as many jobs that belong to none.
struct Life {
  Work enqueue, claim_ack;
};
struct Round {
  Life members, others;
  Work drop;  // Of a second batch that is cancelled.
  Largest largest;
};

Result<Life> live(queue::Queues& queues, const queue::NewJob& job, std::uint64_t count) {
  const std::vector<queue::NewJob> batch(kBatch, job);
  const auto in_batches = [&](auto step) -> Status {
    for (std::uint64_t made = 0; made < count; made += kBatch)
      SLUICE_TRY(step(std::min<std::size_t>(kBatch, count - made)));
    return {};
  };
  Life life;
  SLUICE_TRY(life.enqueue.measure(count, [&] {
    return in_batches(
        [&](std::size_t jobs) { return enqueue_all(queues, std::span(batch).first(jobs)); });
  }));
  if (!job.batch.empty()) SLUICE_TRY(queues.seal_batch({.queue = kQueue, .id = job.batch}));
  SLUICE_TRY(life.claim_ack.measure(count, [&] {
    return in_batches([&](std::size_t jobs) -> Status {
      SLUICE_LET(leases, claim_all(queues, jobs));
      return ack_all(queues, leases);
    });
  }));
  return life;
}

// Fails unless the last ack has ended the batch and enqueued its callback.
Status check_ended(queue::Queues& queues, std::uint64_t count) {
  SLUICE_LET(batch, queues.get_batch({.queue = kQueue, .id = kMembers}));
  SLUICE_LET(counts, queues.count(kQueue));
  if (!batch.succeeded() || batch.done != count || counts.ready != 1)
    return error(Code::corrupt, "the batch has not ended as it should");
  return {};
}

Status drop_all(const WatchedShop& shop, Round& round, std::uint64_t count) {
  constexpr const char* kDropped = "dropped";
  SLUICE_TRY(shop.queues->open_batch({.queue = kQueue, .id = kDropped}));
  queue::NewJob job = plain_job();
  job.batch = kDropped;
  SLUICE_TRY(fill(*shop.queues, count, [&](std::uint64_t) { return job; }));
  return round.drop.measure(count, [&]() -> Status {
    SLUICE_TRY(shop.queues->cancel_batch({.queue = kQueue, .id = kDropped}));
    SLUICE_LET(largest, shop.watch_lane(queue::Lane::ready, [&]() -> Status {
      for (bool ended = false; !ended;) {
        SLUICE_TRY(shop.queues->sweep());
        SLUICE_LET(batch, shop.queues->get_batch({.queue = kQueue, .id = kDropped}));
        ended = batch.ended.has_value();
      }
      return {};
    }));
    round.largest = largest;
    return {};
  });
}

// In stores of their own, so that every round begins with empty ones.
Result<Round> measure_round(const Part& part, int number, std::uint64_t count) {
  SLUICE_LET(shop, WatchedShop::open(part.scratch / fmt::format("members-{}", number)));
  SLUICE_LET(other, WatchedShop::open(part.scratch / fmt::format("members-none-{}", number)));
  Round round;
  queue::NewJob job = plain_job();
  SLUICE_LET(others, live(*other.queues, job, count));
  SLUICE_TRY(shop.queues->open_batch({.queue = kQueue, .id = kMembers, .on_success = job}));
  job.batch = kMembers;
  SLUICE_LET(members, live(*shop.queues, job, count));
  SLUICE_TRY(check_ended(*shop.queues, count));
  round.others = others;
  round.members = members;
  SLUICE_TRY(drop_all(shop, round, count));
  return round;
}

}  // namespace

Status measure_members(const Part& part) {
  const std::uint64_t count = part.quick ? 10'000 : 100'000;
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 2 : 3); ++i) {
    SLUICE_LET(round, measure_round(part, i, count));
    rounds.push_back(round);
  }
  const auto middle = [&](auto figure) { return median_of(rounds, figure); };
  const auto add = [&](const std::string& what, Work Life::* work) {
    const auto cpu = [&](Life Round::* life) {
      return number(middle([&](const Round& r) { return ((r.*life).*work).cpu_us_each(); }));
    };
    part.report.add({.what = what,
                     .ours = cpu(&Round::members),
                     .peer = cpu(&Round::others) + " (Sluice, jobs of no batch)",
                     .figure = middle([&](const Round& r) {
                       return (r.members.*work).cpu_us_each() / (r.others.*work).cpu_us_each();
                     })});
  };
  add(fmt::format("enqueue a batch of {} members: CPU us per member", short_number(count)),
      &Life::enqueue);
  add("  claim and ack them all, which ends it", &Life::claim_ack);
  part.report.add({.what = "  cancel such a batch by sweep: members per second",
                   .ours = number(middle([](const Round& r) { return r.drop.per_second(); }))});
  part.report.add({.what = "    CPU us per member",
                   .ours = number(middle([](const Round& r) { return r.drop.cpu_us_each(); }))});
  part.report.add({.what = "    the most in one transaction of a sweep",
                   .ours = size_of(rounds.back().largest)});
  return {};
}

}  // namespace sluice::bench
