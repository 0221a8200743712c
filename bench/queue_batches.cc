// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "queue_bare.h"
#include "queue_load.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr std::size_t kBatches = 32;  // Of one round.

// What the contenders did in one round: Sluice, bare LMDB, and Sluice's store without queues.
struct Round {
  Work enqueue, claim_ack;
  Work bare_enqueue, bare_claim_ack;
  Work store_enqueue, store_claim_ack;
};

struct Contenders {
  Shop shop;
  std::unique_ptr<BareStore> bare;
  std::unique_ptr<kv::Store> store;
  Recording recording;
  std::vector<queue::NewJob> jobs;
};

// Bytes that Sluice wrote, as its store counts them.
struct Bytes {
  std::uint64_t enqueue = 0;
  std::uint64_t claim_ack = 0;
};

Result<Contenders> open(const Part& part) {
  SLUICE_LET(shop, Shop::open(part.scratch / "batches"));
  SLUICE_LET(bare, BareStore::open(part.scratch / "batches-bare"));
  SLUICE_LET(store, kv::open_lmdb({.dir = part.scratch / "batches-store"}));
  SLUICE_LET(recording, record(part.scratch / "batches-recorded", kBatches));
  return Contenders{.shop = std::move(shop),
                    .bare = std::move(bare),
                    .store = std::move(store),
                    .recording = std::move(recording),
                    .jobs = plain_batch()};
}

// Each transaction of the first kind, followed by its counterpart of the second if there is one.
template <class Write>
Status replay(const std::vector<Changes>& first, const std::vector<Changes>& second,
              const Write& write) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    SLUICE_TRY(write(first[i]));
    if (i < second.size()) SLUICE_TRY(write(second[i]));
  }
  return {};
}

Status write_through(kv::Store& store, const Changes& changes) {
  return status_of(store.run([&](kv::Transaction& txn) -> Status {
    for (const Change& change : changes) {
      if (change.value)
        txn.put(change.key, *change.value);
      else
        txn.erase(change.key);
    }
    return {};
  }));
}

Result<Round> measure_round(Contenders& all) {
  constexpr std::uint64_t kJobs = kBatches * kBatch;
  queue::Queues& queues = *all.shop.queues;
  const auto enqueue = [&]() -> Status {
    for (std::size_t i = 0; i < kBatches; ++i) SLUICE_TRY(enqueue_all(queues, all.jobs));
    return {};
  };
  const auto claim_ack = [&]() -> Status {
    for (std::size_t i = 0; i < kBatches; ++i) {
      SLUICE_LET(leases, claim_all(queues, kBatch));
      SLUICE_TRY(ack_all(queues, leases));
    }
    return {};
  };
  const auto write_bare = [&](const Changes& changes) { return all.bare->commit(changes); };
  const auto write_store = [&](const Changes& changes) {
    return write_through(*all.store, changes);
  };
  Round round;
  SLUICE_TRY(round.enqueue.measure(kJobs, enqueue));
  SLUICE_TRY(round.bare_enqueue.measure(
      kJobs, [&] { return replay(all.recording.enqueues, {}, write_bare); }));
  SLUICE_TRY(round.store_enqueue.measure(
      kJobs, [&] { return replay(all.recording.enqueues, {}, write_store); }));
  SLUICE_TRY(round.claim_ack.measure(kJobs, claim_ack));
  SLUICE_TRY(round.bare_claim_ack.measure(
      kJobs, [&] { return replay(all.recording.claims, all.recording.acks, write_bare); }));
  SLUICE_TRY(round.store_claim_ack.measure(
      kJobs, [&] { return replay(all.recording.claims, all.recording.acks, write_store); }));
  return round;
}

Result<Bytes> count_bytes(Contenders& all) {
  const auto written = [&] { return all.shop.store->stats().bytes_written; };
  const std::uint64_t before = written();
  SLUICE_TRY(enqueue_all(*all.shop.queues, all.jobs));
  const std::uint64_t enqueued = written();
  SLUICE_LET(leases, claim_all(*all.shop.queues, kBatch));
  SLUICE_TRY(ack_all(*all.shop.queues, leases));
  return Bytes{.enqueue = enqueued - before, .claim_ack = written() - enqueued};
}

struct Step {
  const char* what;
  const char* bar;
  Work Round::* ours;
  Work Round::* bare;
  Work Round::* store;
  double bytes;
  double bare_bytes;
};

void add_rows(const std::vector<Round>& rounds, const Step& step, Report& report) {
  const auto figure = [&](Work Round::* work, auto get) {
    return median_of(rounds, [&](const Round& round) { return get(round.*work); });
  };
  const auto cpu = [](const Work& work) { return work.cpu_us_each(); };
  const auto rate = [](const Work& work) { return work.per_second(); };
  report.add({.what = fmt::format("{} in batches of {}: CPU us per job", step.what, kBatch),
              .ours = number(figure(step.ours, cpu)),
              .peer = number(figure(step.bare, cpu)) + " (bare LMDB, the same keys and bytes)",
              .figure = median_of(rounds,
                                  [&](const Round& round) {
                                    return cpu(round.*step.ours) / cpu(round.*step.bare);
                                  }),
              .bar = Bar{step.bar, Bar::Kind::at_most, 2}});
  report.add({.what = "  of which the store's own: the same keys through kv",
              .ours = number(figure(step.store, cpu)),
              .peer = number(figure(step.bare, cpu)) + " (bare LMDB)",
              .figure = median_of(rounds, [&](const Round& round) {
                return cpu(round.*step.store) / cpu(round.*step.bare);
              })});
  report.add({.what = "  jobs/s",
              .ours = number(figure(step.ours, rate)),
              .peer = number(figure(step.bare, rate)) + " (bare LMDB)",
              .figure = median_of(rounds, [&](const Round& round) {
                return rate(round.*step.ours) / rate(round.*step.bare);
              })});
  report.add({.what = "  bytes of keys and values written per job",
              .ours = number(step.bytes / kBatch),
              .peer = number(step.bare_bytes / (kBatch * kBatches)) + " (bare LMDB)",
              .figure = step.bytes * kBatches / step.bare_bytes});
}

}  // namespace

Status measure_batches(const Part& part) {
  const int count = part.quick ? 4 : 21;
  SLUICE_LET(all, open(part));
  SLUICE_TRY(measure_round(all));  // Fills caches and grows the files.
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) {
    SLUICE_LET(round, measure_round(all));
    rounds.push_back(round);
  }
  SLUICE_LET(bytes, count_bytes(all));
  const Recording& recording = all.recording;
  add_rows(rounds,
           {.what = "enqueue",
            .bar = "enqueue_vs_bare",
            .ours = &Round::enqueue,
            .bare = &Round::bare_enqueue,
            .store = &Round::store_enqueue,
            .bytes = static_cast<double>(bytes.enqueue),
            .bare_bytes = static_cast<double>(bytes_of(recording.enqueues))},
           part.report);
  add_rows(
      rounds,
      {.what = "claim and ack",
       .bar = "claim_ack_vs_bare",
       .ours = &Round::claim_ack,
       .bare = &Round::bare_claim_ack,
       .store = &Round::store_claim_ack,
       .bytes = static_cast<double>(bytes.claim_ack),
       .bare_bytes = static_cast<double>(bytes_of(recording.claims) + bytes_of(recording.acks))},
      part.report);
  return {};
}

}  // namespace sluice::bench
