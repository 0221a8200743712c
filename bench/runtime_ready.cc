// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/random.h>
#include <sluice/runtime/delay_queue.h>
#include <tbb/concurrent_priority_queue.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "runtime_parts.h"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kBacklog = 1'000'000;
constexpr int kProducers = 4;
constexpr int kConsumers = 4;

struct Entry {
  std::int32_t priority = 0;
  std::uint64_t sequence = 0;
  std::uint64_t value = 0;
  bool operator<(const Entry& other) const {
    return priority != other.priority ? priority > other.priority : sequence > other.sequence;
  }
};

// Each contender has push(priority, value) and pop(), which has something to take.

struct Ours {
  runtime::DelayQueue<std::uint64_t> queue{{.items_max = 4 * kBacklog}};

  void push(std::int32_t priority, std::uint64_t value) {
    (void)queue.enqueue(value, {.priority = priority});
  }
  std::uint64_t pop() { return queue.dequeue(std::chrono::hours(1))->value; }
};

/// Ready work only: no delays, no handles, no waiting, no capacity.
struct Locked {
  std::mutex mutex;
  std::priority_queue<Entry> queue;
  std::uint64_t sequence = 0;

  void push(std::int32_t priority, std::uint64_t value) {
    const std::lock_guard lock(mutex);
    queue.push({priority, ++sequence, value});
  }
  std::uint64_t pop() {
    const std::lock_guard lock(mutex);
    const std::uint64_t value = queue.top().value;
    queue.pop();
    return value;
  }
};

/// The same without an order among equals.
struct Tbb {
  tbb::concurrent_priority_queue<Entry> queue;

  void push(std::int32_t priority, std::uint64_t value) { queue.push({priority, 0, value}); }
  std::uint64_t pop() {
    Entry entry;
    while (!queue.try_pop(entry)) std::this_thread::yield();
    return entry.value;
  }
};

template <class Contender>
void fill(Contender& contender) {
  SeededRandom random(1);
  for (std::uint64_t i = 0; i < kBacklog; ++i)
    contender.push(static_cast<std::int32_t>(random.below(1000)), i);
}

/// One thread: a push and a pop, the backlog stays.
template <class Contender>
double turn_over(Contender& contender, SeededRandom& random, std::uint64_t count) {
  std::uint64_t sum = 0;
  const double each = cpu_ns_each(count, [&](std::uint64_t i) {
    contender.push(static_cast<std::int32_t>(random.below(1000)), i);
    sum += contender.pop();
  });
  return sum == 0 ? 0 : each;  // The sum keeps the compiler from leaving it out.
}

/// Many threads: as many pushes as pops. The backlog is there from the start, so nobody waits.
template <class Contender>
Cost crowd(Contender& contender, std::uint64_t each) {
  std::atomic<std::uint64_t> sum{0};
  const Stopwatch watch;
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < kProducers; ++p)
      threads.emplace_back([&, p] {
        SeededRandom random(static_cast<std::uint64_t>(p));
        for (std::uint64_t i = 0; i < each; ++i)
          contender.push(static_cast<std::int32_t>(random.below(1000)), i);
      });
    for (int c = 0; c < kConsumers; ++c)
      threads.emplace_back([&] {
        std::uint64_t own = 0;
        for (std::uint64_t i = 0; i < each; ++i) own += contender.pop();
        sum += own;
      });
  }
  return watch.read();
}

/// What one contender took. Each way of measuring has a backlog of its own: strict priority leaves
/// less and less of an old one within reach, until new items are taken as soon as they come. How a
/// queue does then is measured as well: after the crowd, once more on what that has left.
struct Measured {
  double alone = 0;  // ns of CPU
  Cost crowd, worn;
};
template <class Contender>
Measured measure(std::uint64_t count) {
  SeededRandom random(2);
  Measured measured;
  auto contender = std::make_unique<Contender>();
  fill(*contender);
  measured.alone = turn_over(*contender, random, count);
  contender = std::make_unique<Contender>();
  fill(*contender);
  measured.crowd = crowd(*contender, count / kProducers);
  for (int i = 0; i < 3; ++i) (void)crowd(*contender, count / kProducers);
  measured.worn = crowd(*contender, count / kProducers);
  return measured;
}

struct Round {
  Measured ours, locked, tbb;
};

}  // namespace

Status measure_ready(const Part& part) {
  const std::uint64_t count = part.quick ? 100'000 : 500'000;
  std::vector<Round> rounds(part.quick ? 3 : 7);
  for (Round& round : rounds) {
    round.ours = measure<Ours>(count);
    round.locked = measure<Locked>(count);
    round.tbb = measure<Tbb>(count);
  }
  const auto middle = [&](const auto& figure) {
    std::vector<double> figures;
    for (const Round& round : rounds) figures.push_back(figure(round));
    return median(figures);
  };
  part.report.add({.what = "enqueue and dequeue, one thread, 1M ready: CPU ns",
                   .ours = number(middle([](const Round& r) { return r.ours.alone; })),
                   .peer = number(middle([](const Round& r) { return r.locked.alone; })) +
                           " (std::priority_queue and a mutex)",
                   .figure = middle([](const Round& r) { return r.locked.alone / r.ours.alone; }),
                   .bar = Bar{"ready_one_thread", Bar::Kind::at_least, 0.8}});
  const double items = static_cast<double>(count / kProducers * kProducers);
  const auto rate = [&](Measured Round::* who, Cost Measured::* cost) {
    return fmt::format(
        "{} ({} ns CPU)",
        number(middle([&](const Round& r) { return items / ((r.*who).*cost).wall_seconds; })),
        number(middle([&](const Round& r) { return ((r.*who).*cost).cpu_seconds * 1e9 / items; })));
  };
  const auto add = [&](const std::string& name, Measured Round::* peer, Cost Measured::* cost,
                       const char* what, std::optional<Bar> bar) {
    part.report.add({.what = name,
                     .ours = rate(&Round::ours, cost),
                     .peer = rate(peer, cost) + what,
                     .figure = middle([&](const Round& r) {
                       return ((r.*peer).*cost).wall_seconds / (r.ours.*cost).wall_seconds;
                     }),
                     .bar = std::move(bar)});
  };
  constexpr const char* kLocked = " (std::priority_queue and a mutex)";
  constexpr const char* kTbb = " (tbb::concurrent_priority_queue)";
  add("4 threads enqueue, 4 dequeue, 1M ready: items/s", &Round::locked, &Measured::crowd, kLocked,
      Bar{"ready_crowd", Bar::Kind::at_least, 1});
  add("  the same", &Round::tbb, &Measured::crowd, kTbb,
      Bar{"ready_crowd_vs_tbb", Bar::Kind::at_least, 1});
  add("  new items more urgent than the backlog", &Round::locked, &Measured::worn, kLocked, {});
  add("  the same", &Round::tbb, &Measured::worn, kTbb, {});
  return {};
}

}  // namespace sluice::bench
