// SPDX-License-Identifier: MIT
#include "migrate/coordinator.h"

#include <gtest/gtest.h>
#include <sluice/random.h>

#include <algorithm>
#include <set>

#include "tests/support/run_size.h"

namespace sluice::migrate {
namespace {

using namespace std::chrono_literals;

FolderTask task_of(Side side, FolderId id, std::uint32_t level = 0) {
  return {.side = side, .level = level, .id = id};
}

bool never(const FolderTask&) {
  return false;
}
bool always(const FolderTask&) {
  return true;
}

/// Both sides as a new ledger has them: nothing there but what is given.
Coordinator with(std::vector<FolderTask> src, std::vector<FolderTask> dst, GateRules rules = {}) {
  Coordinator coordinator(rules);
  for (auto* tasks : {&src, &dst}) {
    const Side side = tasks == &src ? Side::src : Side::dst;
    Coordinator::Pull pull = coordinator.needs_pull();
    EXPECT_TRUE(pull.needed);
    pull.side = side;
    coordinator.begin_pull();
    coordinator.pulled(pull, std::move(*tasks), true);
  }
  return coordinator;
}

TEST(Coordinator, a_destination_waits_until_its_source_is_durable) {
  auto coordinator = with({task_of(Side::src, kRoot)}, {task_of(Side::dst, kRoot)});
  const auto src = coordinator.next({}, never);
  ASSERT_TRUE(src);
  EXPECT_EQ(src->side, Side::src);
  EXPECT_FALSE(coordinator.next({}, never));
  coordinator.durable(name_of(*src));
  const auto dst = coordinator.next({}, never);
  ASSERT_TRUE(dst);
  EXPECT_EQ(dst->side, Side::dst);
  EXPECT_FALSE(coordinator.done());
  coordinator.durable(name_of(*dst));
  EXPECT_TRUE(coordinator.done());
}

TEST(Coordinator, it_is_not_done_before_both_sides_were_looked_up_in_the_ledger) {
  Coordinator coordinator;
  EXPECT_FALSE(coordinator.done());
  EXPECT_TRUE(coordinator.needs_pull().needed);
  EXPECT_TRUE(with({}, {}).done());
}

TEST(Coordinator, a_task_after_a_fault_waits_for_its_time) {
  auto coordinator = with({task_of(Side::src, kRoot)}, {});
  auto task = coordinator.next({}, never);
  coordinator.again(*task, MonoTime(5s));
  EXPECT_FALSE(coordinator.next(MonoTime(4s), never));
  EXPECT_EQ(coordinator.next_due(), MonoTime(5s));
  EXPECT_FALSE(coordinator.done());
  EXPECT_TRUE(coordinator.next(MonoTime(5s), never));
  EXPECT_EQ(coordinator.next_due(), std::nullopt);
}

TEST(Coordinator, those_of_the_lowest_level_of_each_side_are_ready) {
  FolderTask lower = task_of(Side::src, 9);
  ++lower.level;
  auto coordinator =
      with({task_of(Side::src, 2), task_of(Side::src, 3), lower}, {task_of(Side::dst, 2)});
  EXPECT_EQ(coordinator.ready(), 3u);
  // Of the destination nothing may start, so that one waits for its source now.
  ASSERT_TRUE(coordinator.next({}, never));
  EXPECT_EQ(coordinator.ready(), 1u);
  ASSERT_TRUE(coordinator.next({}, never));
  EXPECT_EQ(coordinator.ready(), 1u) << "the level below";
  ASSERT_TRUE(coordinator.next({}, never));
  EXPECT_EQ(coordinator.ready(), 0u);
  coordinator.durable({.side = Side::src, .level = task_of(Side::src, 2).level, .id = 2});
  EXPECT_EQ(coordinator.ready(), 1u);
}

TEST(Coordinator, what_does_not_fit_is_pulled_once_it_is_durable) {
  auto coordinator = with({task_of(Side::src, 1)}, {}, {.tasks_max = 1});
  EXPECT_FALSE(coordinator.add(task_of(Side::src, 2)));
  coordinator.durable(name_of(*coordinator.next({}, never)));
  EXPECT_FALSE(coordinator.needs_pull().needed);
  coordinator.dropped_are_durable(Side::src, 1);
  EXPECT_TRUE(coordinator.needs_pull().needed);
  EXPECT_FALSE(coordinator.done());
}

TEST(Coordinator, what_ended_during_a_pull_is_not_begun_again) {
  auto coordinator = with({task_of(Side::src, 1)}, {}, {.tasks_max = 1});
  EXPECT_FALSE(coordinator.add(task_of(Side::src, 2)));
  coordinator.dropped_are_durable(Side::src, 1);
  const auto first = coordinator.next({}, never);
  const auto pull = coordinator.needs_pull();
  coordinator.begin_pull();
  coordinator.durable(name_of(*first));
  coordinator.pulled(pull, {task_of(Side::src, 1), task_of(Side::src, 2)}, true);
  EXPECT_EQ(coordinator.next({}, never)->id, 2u);
  EXPECT_FALSE(coordinator.next({}, never));
}

TEST(Coordinator, with_rounds_nothing_begins_before_all_of_the_ledger_is_known) {
  Coordinator coordinator({.lead = 3});
  auto pull = coordinator.needs_pull();
  coordinator.begin_pull();
  coordinator.pulled(pull, {task_of(pull.side, 1)}, false);
  EXPECT_FALSE(coordinator.next({}, always));
}

// ------------------------------------------------------------------------------ random schedules

/// A ledger and its tasks, run in any order that a coordinator allows, each rule held against what
/// is really pending.
class Schedule {
 public:
  Schedule(std::uint64_t seed, GateRules rules)
      : random_(seed), rules_(rules), coordinator_(rules) {
    for (auto& side : pending_) side[kRoot] = 0;
  }

  void run() {
    for (std::uint64_t steps = 0; !coordinator_.done(); ++steps) {
      ASSERT_LT(steps, 100'000u) << "it never ends";
      ASSERT_FALSE(::testing::Test::HasFailure());
      ASSERT_TRUE(anything_left()) << "it should be done";
      step();
    }
    EXPECT_FALSE(anything_left());
    for (const Side side : {Side::src, Side::dst})
      EXPECT_EQ(ended_[at(side)].size(), made_ - lost_);
  }

 private:
  struct Finished {
    FolderTask task;
    std::vector<FolderId> children;
    bool again = false;    // It goes on once this is durable.
    std::size_t told = 0;  // How many of its children are.
  };
  using Levels = std::map<FolderId, std::uint32_t>;

  static std::size_t at(Side side) { return static_cast<std::size_t>(side); }

  bool anything_left() const {
    return !pending_[0].empty() || !pending_[1].empty() || !uncommitted_.empty() ||
           !running_.empty();
  }

  void step() {
    if (crashes_left_ > 0 && random_.below(100) == 0) return crash();
    switch (random_.below(6)) {
      case 0:
      case 1:
        return begin();
      case 2:
      case 3:
        return finish();
      case 4:
        return commit();
      default:
        return pull();
    }
  }

  void begin() {
    now_ += 1ms;
    auto task = coordinator_.next(
        now_, [&](const FolderTask& dst) { return !pending_[at(Side::src)].contains(dst.id); });
    if (!task) return;
    check(*task);
    EXPECT_TRUE(active_.emplace(task->side, task->id).second) << "handed out twice";
    running_.push_back(std::move(*task));
  }

  void check(const FolderTask& task) {
    EXPECT_FALSE(ended_[at(task.side)].contains(task.id)) << "handed out after its end";
    EXPECT_TRUE(task.side == Side::src || durable_.contains(task.id)) << "the gate";
    if (!rules_.lead) return;
    const auto own = round(task.side);
    EXPECT_TRUE(own && task.level <= *own) << "its round has not begun";
    const auto other = round(task.side == Side::src ? Side::dst : Side::src);
    if (!other) return;
    const bool open = task.side == Side::dst ? task.level + *rules_.lead <= *other
                                             : task.level <= *other + rules_.lead_max;
    EXPECT_TRUE(open) << "level " << task.level << ", the other side is at " << *other;
  }

  /// The least level that something is left of, in the ledger or on its way there.
  std::optional<std::uint32_t> round(Side side) const {
    std::optional<std::uint32_t> least;
    const auto see = [&](std::uint32_t level) { least = std::min(least.value_or(level), level); };
    for (const auto& [id, level] : pending_[at(side)]) see(level);
    return least;
  }

  void finish() {
    if (running_.empty()) return;
    std::swap(running_[random_.below(running_.size())], running_.back());
    FolderTask task = std::move(running_.back());
    running_.pop_back();
    if (random_.below(6) == 0) {
      active_.erase({task.side, task.id});
      coordinator_.again(std::move(task), now_ + std::chrono::milliseconds(random_.below(9)));
      return;
    }
    Finished finished{.task = task, .children = {}, .again = random_.below(8) == 0};
    finished.children = children_of(task, finished.again);
    finished.told = told_[at(task.side)][task.id];
    for (const FolderId id : finished.children)
      if (!coordinator_.add(task_of(task.side, id, task.level + 1))) ++dropped_[at(task.side)];
    uncommitted_.push_back(std::move(finished));
  }

  /// Those of the source are made up as they are found; the destination has the same ones.
  std::vector<FolderId> children_of(const FolderTask& task, bool some) {
    std::vector<FolderId>& all = children_[task.id];
    std::size_t& told = told_[at(task.side)][task.id];
    if (task.side == Side::src && task.level < 5 && made_ < 300)
      for (std::uint64_t left = random_.below(5); left > 0; --left) all.push_back(++made_);
    const std::size_t end = some ? told + (all.size() - told) / 2 : all.size();
    std::vector<FolderId> next(all.begin() + static_cast<std::ptrdiff_t>(told),
                               all.begin() + static_cast<std::ptrdiff_t>(end));
    told = end;
    return next;
  }

  void commit() {
    for (const Finished& finished : std::exchange(uncommitted_, {})) {
      const FolderTask& task = finished.task;
      Levels& pending = pending_[at(task.side)];
      kept_[at(task.side)][task.id] = finished.told;
      for (const FolderId id : finished.children) pending[id] = task.level + 1;
      active_.erase({task.side, task.id});
      if (finished.again) {
        coordinator_.again(task, now_);
        continue;
      }
      pending.erase(task.id);
      EXPECT_TRUE(ended_[at(task.side)].insert(task.id).second);
      if (task.side == Side::src) durable_.insert(task.id);
      coordinator_.durable(name_of(task));
    }
    for (const Side side : {Side::src, Side::dst})
      coordinator_.dropped_are_durable(side, std::exchange(dropped_[at(side)], 0));
  }

  /// Another process goes on with what is in the ledger.
  void crash() {
    --crashes_left_;
    for (const Finished& finished : uncommitted_) {
      if (finished.task.side == Side::dst) continue;
      // What only this process had found is found anew, and may be something else.
      std::vector<FolderId>& all = children_[finished.task.id];
      const std::size_t kept = kept_[at(Side::src)][finished.task.id];
      lost_ += all.size() - kept;
      all.resize(kept);
    }
    running_.clear();
    uncommitted_.clear();
    active_.clear();
    dropped_ = {};
    told_ = kept_;
    coordinator_ = Coordinator(rules_);
  }

  /// Anything may happen between the look at the ledger and its answer.
  void pull() {
    const auto wanted = coordinator_.needs_pull();
    if (!wanted.needed) return;
    coordinator_.begin_pull();
    const Levels snapshot = pending_[at(wanted.side)];
    const auto others = [&] {
      for (std::uint64_t left = random_.below(4); left > 0; --left)
        if (random_.below(2) == 0)
          commit();
        else
          finish();
    };
    others();
    std::vector<std::pair<std::uint32_t, FolderId>> order;
    for (const auto& [id, level] : snapshot)
      if (!coordinator_.knows(wanted.side, id)) order.emplace_back(level, id);
    std::ranges::sort(order);
    const std::size_t most = std::min<std::size_t>(wanted.room, 1 + random_.below(8));
    const bool all = order.size() <= most;
    order.resize(std::min(order.size(), most));
    others();
    std::vector<FolderTask> tasks;
    for (const auto& [level, id] : order) tasks.push_back(task_of(wanted.side, id, level));
    coordinator_.pulled(wanted, std::move(tasks), all);
  }

  SeededRandom random_;
  GateRules rules_;
  Coordinator coordinator_;
  MonoTime now_ = {};
  std::array<Levels, 2> pending_;  // In the ledger.
  std::vector<FolderTask> running_;
  std::vector<Finished> uncommitted_;
  std::set<std::pair<Side, FolderId>> active_;  // Handed out.
  std::array<std::set<FolderId>, 2> ended_;
  std::set<FolderId> durable_;  // Of the source.
  std::array<std::uint64_t, 2> dropped_ = {};
  std::map<FolderId, std::vector<FolderId>> children_;
  std::array<std::map<FolderId, std::size_t>, 2> told_;
  std::array<std::map<FolderId, std::size_t>, 2> kept_;  // The same, in the ledger.
  FolderId made_ = kRoot;
  std::uint64_t lost_ = 0;
  int crashes_left_ = 4;  // Each may cost all that was pulled.
};

void run_schedules(std::uint64_t first, GateRules rules) {
  const std::uint64_t count = test::RunSize{.quick = 20, .normal = 60, .long_run = 5'000}.pick();
  const std::uint64_t begin = test::seed_or(first);
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    SCOPED_TRACE("rerun with SLUICE_SEED=" + std::to_string(seed));
    Schedule(seed, rules).run();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CoordinatorSchedules, with_room_for_every_task) {
  run_schedules(1, {});
}

TEST(CoordinatorSchedules, with_room_for_a_few_tasks) {
  run_schedules(10'000, {.tasks_max = 4});
}

TEST(CoordinatorSchedules, with_a_lead_of_three_rounds) {
  run_schedules(20'000, {.lead = 3, .lead_max = 4});
}

TEST(CoordinatorSchedules, with_both_sides_in_the_same_round) {
  run_schedules(30'000, {.lead = 1, .lead_max = 1});
}

}  // namespace
}  // namespace sluice::migrate
