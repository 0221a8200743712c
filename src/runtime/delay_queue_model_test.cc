// SPDX-License-Identifier: MIT
// A million random operations on the delay queue, each compared with a reference that is plainly
// right: it keeps its items in ordered sets by what the documentation says.
#include <gtest/gtest.h>
#include <sluice/random.h>
#include <sluice/runtime/delay_queue.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/run_size.h"

namespace sluice::runtime {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kItemsMax = 300;

class Reference {
 public:
  explicit Reference(Duration ageing) : ageing_(ageing) {}

  struct Item {
    MonoTime enqueued_at, due;
    std::int32_t priority;
    std::uint64_t sequence;
    std::uint64_t value;
  };

  Code enqueue(std::uint64_t value, std::int32_t priority, Duration delay, MonoTime now) {
    if (shut_down) return Code::cancelled;
    if (items.size() >= kItemsMax) return Code::limit_exceeded;
    place({now, now + std::max(delay, Duration{}), priority, ++sequence_, value}, now);
    return Code::ok;
  }
  std::optional<Item> dequeue(MonoTime now) {
    promote(now);
    if (ready.empty()) return std::nullopt;
    return take(std::get<1>(*ready.begin()));
  }
  std::optional<MonoTime> next_due() const {
    if (scheduled.empty()) return std::nullopt;
    return std::get<0>(*scheduled.begin());
  }
  std::optional<Item> cancel(std::uint64_t sequence) {
    return items.contains(sequence) ? std::optional(take(sequence)) : std::nullopt;
  }
  bool reschedule(std::uint64_t sequence, Duration delay, MonoTime now) {
    if (!items.contains(sequence)) return false;
    Item item = take(sequence);
    item.due = now + std::max(delay, Duration{});
    place(item, now);
    return true;
  }
  std::vector<Item> end(MonoTime now) {
    shut_down = true;
    promote(now);
    std::vector<Item> back;
    while (!scheduled.empty()) back.push_back(take(std::get<2>(*scheduled.begin())));
    return back;
  }
  void promote(MonoTime now) {
    while (!scheduled.empty() && std::get<0>(*scheduled.begin()) <= now)
      place(take(std::get<2>(*scheduled.begin())), now);
  }

  std::map<std::uint64_t, Item> items;  // By sequence, as the sets' last element.
  std::set<std::tuple<std::int64_t, std::uint64_t>> ready;
  std::set<std::tuple<MonoTime, std::int32_t, std::uint64_t>> scheduled;
  bool shut_down = false;

 private:
  std::int64_t rank(const Item& item) const {
    return ageing_ == Duration{} ? item.priority
                                 : (item.due.time_since_epoch() + item.priority * ageing_).count();
  }
  void place(const Item& item, MonoTime now) {
    items.emplace(item.sequence, item);
    if (item.due <= now)
      ready.emplace(rank(item), item.sequence);
    else
      scheduled.emplace(item.due, item.priority, item.sequence);
  }
  Item take(std::uint64_t sequence) {
    const Item item = items.at(sequence);
    items.erase(sequence);
    if (ready.erase({rank(item), sequence}) == 0)
      scheduled.erase({item.due, item.priority, sequence});
    return item;
  }

  Duration ageing_;
  std::uint64_t sequence_ = 0;
};

/// One queue and its reference, until they are shut down.
class Pair {
 public:
  Pair(SeededRandom& random, ManualClock& clock, Duration ageing)
      : random_(random),
        clock_(clock),
        queue_({.items_max = kItemsMax, .ageing = ageing, .clock = &clock}),
        reference_(ageing) {}

  void step() {
    const std::uint64_t what = random_.below(1000);
    if (what < 400) return enqueue();
    if (what < 650) return dequeue(Duration{});
    if (what < 700) return dequeue(draw_delay());
    if (what < 800) return cancel();
    if (what < 870) return reschedule();
    if (what < 960) return clock_.advance(std::max(draw_delay(), Duration{}));
    if (what < 998) return clock_.step_wall(draw_delay() * 1000);
    if (what < 999) return purge();
    shut_down();
  }
  bool over() const { return reference_.shut_down && reference_.items.empty(); }

  void compare_snapshot() {
    reference_.promote(clock_.mono());
    const auto snapshot = queue_.snapshot();
    ASSERT_EQ(snapshot.ready, reference_.ready.size());
    ASSERT_EQ(snapshot.scheduled, reference_.scheduled.size());
    ASSERT_EQ(snapshot.depth, reference_.items.size());
    ASSERT_EQ(snapshot.shut_down, reference_.shut_down);
  }

 private:
  using Item = runtime::Item<std::uint64_t>;

  /// In either direction, often nothing.
  Duration draw_delay() {
    return random_.chance(0.3) ? Duration{} : Duration(random_.below(60) * 1s) - 10s;
  }
  static void expect_same(const std::optional<Item>& ours,
                          const std::optional<Reference::Item>& its) {
    ASSERT_EQ(ours.has_value(), its.has_value());
    if (!ours) return;
    ASSERT_EQ(ours->value, its->value);
    ASSERT_EQ(ours->sequence, its->sequence);
    ASSERT_EQ(ours->due, its->due);
    ASSERT_EQ(ours->enqueued_at, its->enqueued_at);
    ASSERT_EQ(ours->priority, its->priority);
  }
  /// One that there is, or was.
  const std::pair<Handle, std::uint64_t>* draw_handle() {
    if (handles_.empty()) return nullptr;
    const std::size_t recent = std::min<std::size_t>(handles_.size(), 2 * kItemsMax);
    return &handles_[handles_.size() - 1 - random_.below(recent)];
  }

  void enqueue() {
    const auto priority = static_cast<std::int32_t>(random_.below(5)) - 2;
    const Duration delay = draw_delay();
    const auto handle = queue_.enqueue(++value_, {.priority = priority, .delay = delay});
    ASSERT_EQ(status_of(handle).code(), reference_.enqueue(value_, priority, delay, clock_.mono()));
    if (handle) handles_.emplace_back(*handle, ++sequence_);
  }
  void dequeue(Duration timeout) {
    const MonoTime begun = clock_.mono();
    const auto ours = queue_.dequeue(timeout);
    auto its = reference_.dequeue(begun);
    MonoTime until = begun;
    if (!its && timeout > Duration{} && !reference_.shut_down) {
      until = begun + timeout;
      if (const auto due = reference_.next_due()) until = std::min(until, *due);
      its = reference_.dequeue(until);
    }
    ASSERT_EQ(clock_.mono(), until);
    expect_same(ours, its);
  }
  void cancel() {
    if (const auto* one = draw_handle())
      expect_same(queue_.cancel(one->first), reference_.cancel(one->second));
  }
  void reschedule() {
    const auto* one = draw_handle();
    if (one == nullptr) return;
    reference_.promote(clock_.mono());
    const Duration delay = draw_delay();
    ASSERT_EQ(queue_.reschedule(one->first, delay),
              reference_.reschedule(one->second, delay, clock_.mono()));
  }
  void purge() {
    ASSERT_EQ(queue_.purge(), reference_.items.size());
    reference_.items.clear();
    reference_.ready.clear();
    reference_.scheduled.clear();
  }
  void shut_down() {
    const auto ours = queue_.shut_down();
    const auto its = reference_.end(clock_.mono());
    ASSERT_EQ(ours.size(), its.size());
    for (std::size_t i = 0; i < ours.size(); ++i) expect_same(ours[i], its[i]);
  }

  SeededRandom& random_;
  ManualClock& clock_;
  DelayQueue<std::uint64_t> queue_;
  Reference reference_;
  std::vector<std::pair<Handle, std::uint64_t>> handles_;  // With the item's sequence.
  std::uint64_t value_ = 0;
  std::uint64_t sequence_ = 0;
};

TEST(DelayQueueModel, random_operations_agree_with_the_reference) {
  const std::uint64_t seed = test::seed_or(20240506);
  std::cout << "SLUICE_SEED=" << seed << std::endl;
  SeededRandom random(seed);
  ManualClock clock;
  const std::uint64_t steps = test::RunSize{50'000, 1'000'000, 20'000'000}.pick();
  std::uint64_t queues = 0;
  std::unique_ptr<Pair> pair;
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (!pair || pair->over())
      pair = std::make_unique<Pair>(random, clock, ++queues % 3 == 0 ? 7s : 0s);
    pair->step();
    if (step % 8 == 0) pair->compare_snapshot();
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", step " << step;
  }
  test::print_figure("runtime.model_operations", steps);
  test::print_figure("runtime.model_queues", queues);
}

}  // namespace
}  // namespace sluice::runtime
