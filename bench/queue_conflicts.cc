// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <barrier>
#include <optional>
#include <thread>

#include "queue_load.h"
#include "queue_parts.h"

namespace sluice::bench {
namespace {

constexpr unsigned kClaimers = 8;

// Store time that passes with each commit: what one takes on a real engine of this kind.
constexpr Duration kCommitTime = std::chrono::milliseconds(5);

struct Tick {
  const ManualClock& clock;
  void operator()() const noexcept { clock.advance(kCommitTime); }
};
// Lets nobody commit before all who are still at work have read: each commit then meets the
// changes of all others, which is the most that can collide.
using Meeting = std::barrier<Tick>;

// One claimer as a process of its own would be: with its own Queues on the shared store.
struct Claimer {
  std::unique_ptr<queue::Queues> queues;
  std::vector<queue::Lease> leases = {};
};

struct Collisions {
  std::uint64_t commits = 0;
  std::uint64_t conflicts = 0;

  double share() const { return static_cast<double>(conflicts) / static_cast<double>(commits); }
};

struct Outcome {
  Collisions first, steady, last, acks;
};

constexpr std::uint64_t kUntilDry = UINT64_MAX;

// Claims `count` jobs singly, or until there is none left.
Status claim_singly(Claimer& claimer, std::uint64_t count) {
  for (; count > 0; --count) {
    SLUICE_LET(leases, claimer.queues->claim({.queues = {kQueue}, .lease = kLongLease}));
    if (leases.empty()) return {};
    claimer.leases.push_back(std::move(leases.front()));
  }
  return {};
}

Status ack_one_by_one(Claimer& claimer) {
  for (const queue::Lease& lease : claimer.leases)
    SLUICE_TRY(claimer.queues->ack({.queue = kQueue, .token = lease.token}));
  return {};
}

// An optimistic store, and the meeting that its commits wait for while there is one.
struct Arena {
  // Pauses after a conflict take no time: everybody else would wait for them.
  ManualClock clock;
  std::optional<Meeting> meeting;
  std::unique_ptr<kv::Store> store;
  std::vector<Claimer> claimers;

  Arena() {
    store = kv::open_memory(
        {.mode = kv::MemoryOptions::Mode::optimistic, .clock = &clock, .before_commit = [this] {
           if (meeting) meeting->arrive_and_wait();
         }});
  }

  template <class Task>
  Result<Collisions> collide(const Task& task) {
    const kv::Stats before = store->stats();
    FirstFailure failure;
    meeting.emplace(kClaimers, Tick{clock});
    {
      std::vector<std::jthread> threads;
      for (Claimer& claimer : claimers) {
        threads.emplace_back([&] {
          failure.note(task(claimer));
          meeting->arrive_and_drop();  // The others no longer wait for this one.
        });
      }
    }
    meeting.reset();
    SLUICE_TRY(failure.get());
    const kv::Stats after = store->stats();
    return Collisions{.commits = after.commits - before.commits,
                      .conflicts = after.conflicts - before.conflicts};
  }
};

// The jobs of each claimer: a first part, in which they learn of each other, and a steady one.
struct Load {
  std::uint32_t shards = 1;
  std::uint64_t first = 0;
  std::uint64_t steady = 0;
  std::uint64_t left = 0;  // For the last part, in which shards run dry one after another.

  std::uint64_t jobs() const { return kClaimers * (first + steady + left); }
};

Result<Outcome> claim_together(const Load& load) {
  Arena arena;
  for (unsigned i = 0; i < kClaimers; ++i) {
    SLUICE_LET(queues, queue::Queues::open(*arena.store));
    arena.claimers.push_back({.queues = std::move(queues)});
  }
  queue::Queues& any = *arena.claimers.front().queues;
  SLUICE_TRY(any.configure(kQueue, {.shards = load.shards}));
  SLUICE_TRY(fill(any, load.jobs(), [](std::uint64_t) { return plain_job(); }));
  const auto claim = [&](std::uint64_t count) {
    return arena.collide([count](Claimer& claimer) { return claim_singly(claimer, count); });
  };
  SLUICE_LET(first, claim(load.first));
  SLUICE_LET(steady, claim(load.steady));
  SLUICE_LET(last, claim(kUntilDry));
  std::uint64_t claimed = 0;
  for (const Claimer& claimer : arena.claimers) claimed += claimer.leases.size();
  if (claimed != load.jobs())
    return error(Code::corrupt, fmt::format("{} jobs were claimed of {}", claimed, load.jobs()));
  SLUICE_LET(acks, arena.collide(ack_one_by_one));
  return Outcome{first, steady, last, acks};
}

void add_row(const std::string& what, const Collisions& collisions, std::optional<Bar> bar,
             Report& report) {
  report.add({.what = what,
              .ours = fmt::format("{:.0f} in {}", static_cast<double>(collisions.conflicts),
                                  number(static_cast<double>(collisions.commits))),
              .figure = collisions.share(),
              .bar = std::move(bar)});
}

}  // namespace

Status measure_conflicts(const Part& part) {
  const std::uint64_t scale = part.quick ? 1 : 4;
  SLUICE_LET(
      sharded,
      claim_together({.shards = 16, .first = 400, .steady = 600 * scale, .left = 300 * scale}));
  SLUICE_LET(crowded, claim_together({.shards = 1, .first = 8, .steady = 32 * scale}));
  Collisions all = sharded.first;
  for (const Collisions* more : {&sharded.steady, &sharded.last}) {
    all.conflicts += more->conflicts;
    all.commits += more->commits;
  }
  add_row(fmt::format("{} processes claim singly from 16 shards: conflicts per commit", kClaimers),
          all, Bar{"conflicts_16_shards", Bar::Kind::at_most, 0.05}, part.report);
  add_row("  in the first seconds", sharded.first, {}, part.report);
  add_row("  while shards run dry", sharded.last, {}, part.report);
  add_row("  of their acks", sharded.acks, {}, part.report);
  add_row("  from one shard", crowded.steady, {}, part.report);
  return {};
}

}  // namespace sluice::bench
