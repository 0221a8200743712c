// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/random.h>

#include "flows_parts.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kBatches = 32;  // Of one round.
constexpr std::uint64_t kJobs = kBatches * kBatch;

using Batches = std::vector<std::vector<queue::NewJob>>;

// Keys of 20 bytes, each once: as a caller numbers things, or in no order.
enum class Order : char { ascending, random };

Batches with_keys(Order order, std::uint64_t& next) {
  Batches batches(kBatches, plain_batch());
  for (auto& batch : batches) {
    for (queue::NewJob& job : batch) {
      const std::uint64_t number = next++;
      const std::uint64_t shown =
          order == Order::ascending ? number : SeededRandom(number).below(10'000'000'000'000'000);
      job.unique = queue::Unique{.key = fmt::format("key-{:016}", shown)};
    }
  }
  return batches;
}

struct Round {
  Work plain, unique, random, taken;
  Work plain_rest, unique_rest;
};

struct Contenders {
  Shop plain, unique, random;
  std::uint64_t next = 0;
};

Result<Contenders> open(const Part& part) {
  SLUICE_LET(plain, Shop::open(part.scratch / "unique-none"));
  SLUICE_LET(unique, Shop::open(part.scratch / "unique"));
  SLUICE_LET(random, Shop::open(part.scratch / "unique-random"));
  return Contenders{
      .plain = std::move(plain), .unique = std::move(unique), .random = std::move(random)};
}

Status enqueue(Work& work, const Shop& shop, const std::vector<queue::NewJob>& batch) {
  return work.measure(batch.size(), [&] { return enqueue_all(*shop.queues, batch); });
}

Status drain(Work& work, const Shop& shop) {
  return work.measure(kBatch, [&]() -> Status {
    SLUICE_LET(leases, claim_all(*shop.queues, kBatch));
    return ack_all(*shop.queues, leases);
  });
}

// Contenders take turns batch by batch: what else the machine does meets them all alike.
Result<Round> measure_round(Contenders& all) {
  const auto plain = plain_batch();
  Batches unique = with_keys(Order::ascending, all.next);
  const Batches random = with_keys(Order::random, all.next);
  Round round;
  for (std::size_t i = 0; i < kBatches; ++i) {
    SLUICE_TRY(enqueue(round.plain, all.plain, plain));
    SLUICE_TRY(enqueue(round.unique, all.unique, unique[i]));
    SLUICE_TRY(enqueue(round.random, all.random, random[i]));
  }
  for (auto& batch : unique) {
    for (queue::NewJob& job : batch) job.unique->policy = queue::UniquePolicy::keep;
    SLUICE_TRY(enqueue(round.taken, all.unique, batch));
  }
  SLUICE_LET(counts, all.unique.queues->count(kQueue));
  if (counts.ready != kJobs) return error(Code::corrupt, "a taken key did not keep its job");
  Work ignored;
  for (std::size_t i = 0; i < kBatches; ++i) {
    SLUICE_TRY(drain(round.plain_rest, all.plain));
    SLUICE_TRY(drain(round.unique_rest, all.unique));
    SLUICE_TRY(drain(ignored, all.random));
  }
  return round;
}

}  // namespace

Status measure_unique(const Part& part) {
  SLUICE_LET(all, open(part));
  SLUICE_TRY(measure_round(all));  // Fills caches and grows the files.
  std::vector<Round> rounds;
  for (int i = 0; i < (part.quick ? 4 : 15); ++i) {
    SLUICE_LET(round, measure_round(all));
    rounds.push_back(round);
  }
  const auto cpu = [&](Work Round::* work) {
    return number(median_of(rounds, [&](const Round& r) { return (r.*work).cpu_us_each(); }));
  };
  const auto add = [&](const std::string& what, Work Round::* ours, Work Round::* peer,
                       std::optional<Bar> bar) {
    part.report.add({.what = what,
                     .ours = cpu(ours),
                     .peer = cpu(peer) + " (Sluice, without keys)",
                     .figure = median_of(rounds,
                                         [&](const Round& r) {
                                           return (r.*ours).cpu_us_each() / (r.*peer).cpu_us_each();
                                         }),
                     .bar = std::move(bar)});
  };
  add(fmt::format("enqueue with a unique key, batches of {}: CPU us per job", kBatch),
      &Round::unique, &Round::plain, Bar{"unique_enqueue", Bar::Kind::at_most, 1.3});
  add("  the same, keys in a random order", &Round::random, &Round::plain, {});
  add("  the same, every key taken and its job kept", &Round::taken, &Round::plain, {});
  add("  claim and ack of such jobs", &Round::unique_rest, &Round::plain_rest, {});
  return {};
}

}  // namespace sluice::bench
