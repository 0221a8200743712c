// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/random.h>
#include <sluice/runtime/delay_queue.h>
#include <tbb/concurrent_priority_queue.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <tuple>
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

/// Both ways of each, on a backlog of its own: strict priority leaves less and less of an old one
/// within reach.
template <class Contender>
std::pair<double, Cost> measure(std::uint64_t count) {
  SeededRandom random(2);
  auto contender = std::make_unique<Contender>();
  fill(*contender);
  const double alone = turn_over(*contender, random, count);
  contender = std::make_unique<Contender>();
  fill(*contender);
  return {alone, crowd(*contender, count / kProducers)};
}

struct Round {
  double ours = 0, locked = 0;  // ns of CPU, one thread
  Cost ours_crowd, locked_crowd, tbb_crowd;
};

}  // namespace

Status measure_ready(const Part& part) {
  const std::uint64_t count = part.quick ? 100'000 : 500'000;
  std::vector<Round> rounds(part.quick ? 3 : 7);
  for (Round& round : rounds) {
    std::tie(round.ours, round.ours_crowd) = measure<Ours>(count);
    std::tie(round.locked, round.locked_crowd) = measure<Locked>(count);
    std::tie(std::ignore, round.tbb_crowd) = measure<Tbb>(count);
  }
  const auto middle = [&](const auto& figure) {
    std::vector<double> figures;
    for (const Round& round : rounds) figures.push_back(figure(round));
    return median(figures);
  };
  part.report.add({.what = "enqueue and dequeue, one thread, 1M ready: CPU ns",
                   .ours = number(middle([](const Round& r) { return r.ours; })),
                   .peer = number(middle([](const Round& r) { return r.locked; })) +
                           " (std::priority_queue and a mutex)",
                   .figure = middle([](const Round& r) { return r.locked / r.ours; }),
                   .bar = Bar{"ready_one_thread", Bar::Kind::at_least, 0.8}});
  const double items = static_cast<double>(count / kProducers * kProducers);
  const auto rate = [&](Cost Round::* cost) {
    return fmt::format(
        "{} ({} ns CPU)",
        number(middle([&](const Round& r) { return items / (r.*cost).wall_seconds; })),
        number(middle([&](const Round& r) { return (r.*cost).cpu_seconds * 1e9 / items; })));
  };
  const auto add = [&](const std::string& name, Cost Round::* peer, const char* what,
                       const char* bar) {
    part.report.add({.what = name,
                     .ours = rate(&Round::ours_crowd),
                     .peer = rate(peer) + what,
                     .figure = middle([&](const Round& r) {
                       return (r.*peer).wall_seconds / r.ours_crowd.wall_seconds;
                     }),
                     .bar = Bar{bar, Bar::Kind::at_least, 1}});
  };
  add("4 threads enqueue, 4 dequeue, 1M ready: items/s", &Round::locked_crowd,
      " (std::priority_queue and a mutex)", "ready_crowd");
  add("  the same", &Round::tbb_crowd, " (tbb::concurrent_priority_queue)", "ready_crowd_vs_tbb");
  return {};
}

}  // namespace sluice::bench
