// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sluice/random.h>
#include <sluice/runtime/delay_queue.h>
#include <sluice/runtime/timers.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "runtime_parts.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kScheduled = 1'000'000;

/// Beyond any run.
Duration far_away(Random& random) {
  return 1h + Duration(static_cast<Duration::rep>(random.below(3'600'000'000'000)));
}

using Queue = runtime::DelayQueue<std::uint64_t>;

std::vector<runtime::Handle> schedule_many(Queue& queue, Random& random) {
  std::vector<runtime::Handle> handles;
  for (std::uint64_t i = 0; i < kScheduled; ++i)
    handles.push_back(*queue.enqueue(i, {.delay = far_away(random)}));
  return handles;
}

/// Adds and cancels in a random order; the million stays.
void measure_changes(const Part& part, Queue& queue, std::vector<runtime::Handle>& handles,
                     Random& random) {
  const std::uint64_t count = part.quick ? 40'000 : 200'000;
  std::vector<double> adds, cancels, timer_adds, timer_cancels;
  runtime::Timers<std::uint64_t> timers;
  std::vector<runtime::Handle> armed;
  const MonoTime now = system_clock().mono();
  for (std::uint64_t i = 0; i < kScheduled; ++i)
    armed.push_back(timers.add(now + far_away(random), i));
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::swap(handles[random.below(handles.size())], handles.back());
      std::swap(armed[random.below(armed.size())], armed[armed.size() - 1 - i]);
    }
    // The victims were drawn before: what is measured is the queue.
    cancels.push_back(cpu_ns_each(
        count, [&](std::uint64_t i) { (void)queue.cancel(handles[handles.size() - 1 - i]); }));
    timer_cancels.push_back(cpu_ns_each(
        count, [&](std::uint64_t i) { (void)timers.cancel(armed[armed.size() - 1 - i]); }));
    handles.resize(handles.size() - count);
    armed.resize(armed.size() - count);
    adds.push_back(cpu_ns_each(count, [&](std::uint64_t i) {
      handles.push_back(*queue.enqueue(i, {.delay = far_away(random)}));
    }));
    timer_adds.push_back(cpu_ns_each(
        count, [&](std::uint64_t i) { armed.push_back(timers.add(now + far_away(random), i)); }));
  }
  const auto add = [&](const char* what, const std::vector<double>& ours,
                       const std::vector<double>& bare, const char* bar) {
    part.report.add({.what = what,
                     .ours = number(median(ours)),
                     .peer = number(median(bare)) + " (Timers: one thread, no lock)",
                     .figure = median(ours) / 1000,
                     .bar = Bar{bar, Bar::Kind::at_most, 1}});
  };
  add("schedule an item beside 1M others: CPU ns", adds, timer_adds, "schedule_us");
  add("cancel one of 1M: CPU ns", cancels, timer_cancels, "cancel_us");
}

/// How much later than due items come out, while a million others wait.
void measure_lateness(const Part& part, Queue& queue, Random& random) {
  const int count = part.quick ? 500 : 2000;
  std::vector<double> late_ms;
  std::jthread consumer([&] {
    for (int i = 0; i < count; ++i) {
      const auto item = queue.dequeue(1min);
      if (!item) return;
      late_ms.push_back(
          std::chrono::duration<double, std::milli>(system_clock().mono() - item->due).count());
    }
  });
  for (int i = 0; i < count; ++i)
    (void)queue.enqueue(
        0, {.delay = 50ms + Duration(static_cast<Duration::rep>(random.below(2'000'000'000)))});
  consumer.join();
  part.report.add({.what = "ms from due to dequeued, p50 / p99",
                   .ours = fmt::format("{} / {}", number(percentile(late_ms, 0.5)),
                                       number(percentile(late_ms, 0.99))),
                   .figure = percentile(late_ms, 0.99),
                   .bar = Bar{"lateness_ms_p99", Bar::Kind::at_most, 5}});
}

/// How often an idle queue wakes anybody: four wait, for two seconds.
void measure_idle(const Part& part, Queue& queue) {
  const auto switches = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  const std::stop_source stop;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] { (void)queue.dequeue(10min, stop.get_token()); });
  system_clock().sleep_for(500ms, {});
  const long before = switches();
  system_clock().sleep_for(2s, {});
  const long wakes = switches() - before - 1;  // The one that counts slept too.
  stop.request_stop();
  part.report.add({.what = "wake-ups in 2 s, 4 wait beside 1M scheduled",
                   .ours = number(static_cast<double>(wakes)),
                   .figure = static_cast<double>(wakes),
                   .bar = Bar{"idle_wakes", Bar::Kind::at_most, 0}});
}

}  // namespace

Status measure_scheduled(const Part& part) {
  SeededRandom random(1);
  Queue queue({.items_max = 2 * kScheduled});
  std::vector<runtime::Handle> handles = schedule_many(queue, random);
  measure_changes(part, queue, handles, random);
  measure_lateness(part, queue, random);
  measure_idle(part, queue);
  return {};
}

}  // namespace sluice::bench
