// SPDX-License-Identifier: MIT
// Faults of the trees, stops, crashes of the store, and what the gate lets through.
#include <gtest/gtest.h>
#include <sluice/random.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <set>

#include "kv/fault_store.h"
#include "migrate/ledger_testing.h"
#include "migrate/retry.h"
#include "migrate/sim_tree.h"
#include "migrate/traversal.h"
#include "migrate/walk.h"

namespace sluice::migrate {
namespace {

using testing::compare_trees;
using testing::dump;
using testing::problems;
using testing::quick;
using testing::RunOptions;
using testing::tally;
using testing::Trees;

std::unique_ptr<Trees> small_trees() {
  auto trees = std::make_unique<Trees>();
  for (const char* path : {"a/b/c/d/file", "a/b/other", "e/f", "g", "h/i/j"})
    trees->both(path, "same");
  trees->file("src", "a/b/c/missing", "missing");
  trees->file("dst", "a/b/c/extra", "extra");
  return trees;
}

testing::ScriptedTree::Script failing(std::string path, Fault fault, int attempts) {
  return [path = std::move(path), fault = std::move(fault), attempts](std::string_view listed,
                                                                      int attempt) {
    return listed == path && attempt <= attempts ? fault : Fault{};
  };
}

std::string clean_dump() {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  EXPECT_EQ(compare_trees(*store, *trees), Status());
  return dump(*store);
}

std::int64_t count_of(kv::Store& store, Tally side, TraversalStatus status) {
  return tally(store, side, static_cast<std::uint8_t>(status));
}

/// The record of a directory.
std::optional<Folder> folder_at(kv::Store& store, Side side, std::string_view path) {
  const auto id = find_folder(store, path).value();
  std::optional<Folder> folder;
  EXPECT_TRUE(id) << path;
  EXPECT_EQ(store.read([&](kv::Reader& reader) -> Status {
    SLUICE_LET(found, read_folder(reader, side, id.value_or(0)));
    folder = std::move(found);
    return {};
  }),
            Status());
  return folder;
}

// ------------------------------------------------------------------------------------------ faults

TEST(TraversalFault, one_that_passes_within_the_attempts_leaves_no_trace_in_the_outcome) {
  for (const Side side : {Side::src, Side::dst}) {
    const auto store = kv::open_memory();
    const auto trees = small_trees();
    (side == Side::src ? trees->src : trees->dst)->set_script(failing("a/b", {.error = EIO}, 2));
    ASSERT_EQ(compare_trees(*store, *trees), Status());
    EXPECT_EQ(dump(*store), clean_dump());
    EXPECT_EQ(problems(*store), "");
    EXPECT_EQ(folder_at(*store, side, "a/b")->attempts, 2u);
  }
}

TEST(TraversalFault, one_that_does_not_pass_is_tried_so_often_and_then_failed) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  trees->src->set_script(failing("a/b", {.error = EIO}, 99));
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_EQ(trees->src->take_lists().at("a/b"), 3);
  const auto folder = folder_at(*store, Side::src, "a/b");
  EXPECT_EQ(folder->status, TraversalStatus::failed);
  EXPECT_EQ(folder->attempts, 3u);
  EXPECT_EQ(folder->error, static_cast<std::uint32_t>(EIO));
  EXPECT_EQ(problems(*store), "");
}

TEST(TraversalFault, one_that_will_not_pass_is_not_tried_again) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  trees->dst->set_script(failing("a/b", {.error = EACCES}, 99));
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_EQ(trees->dst->take_lists().at("a/b"), 1);
  EXPECT_EQ(count_of(*store, Tally::dst, TraversalStatus::failed), 1);
}

TEST(TraversalFault, what_is_below_a_failed_destination_is_unknown_and_nothing_is_deleted_there) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  trees->dst->set_script(failing("a/b", {.error = EACCES}, 99));
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_EQ(count_of(*store, Tally::dst, TraversalStatus::unknown), 2);
  EXPECT_FALSE(trees->dst->take_lists().contains("a/b/c"));
  EXPECT_EQ(store->read([](kv::Reader& reader) -> Status {
    SLUICE_LET(deletes, reader.scan(keys::work_of(Pass::deletes)));
    EXPECT_TRUE(deletes.empty());
    return {};
  }),
            Status());
}

TEST(TraversalFault, the_destination_of_a_failed_source_is_not_opened) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  trees->src->set_script(failing("a", {.error = EACCES}, 99));
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_FALSE(trees->dst->take_lists().contains("a"));
  EXPECT_EQ(folder_at(*store, Side::dst, "a")->status, TraversalStatus::unknown);
}

TEST(TraversalFault, a_directory_that_changes_once_is_read_again) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  trees->src->set_script(failing("a/b", {.changed = true}, 1));
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_EQ(dump(*store), clean_dump());
}

TEST(TraversalFault, a_directory_that_changes_each_time_is_in_doubt_but_its_names_are_kept) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  trees->dst->set_script(failing("a/b", {.changed = true}, 99));
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  const auto folder = folder_at(*store, Side::dst, "a/b");
  EXPECT_EQ(folder->status, TraversalStatus::unknown);
  EXPECT_TRUE(folder->changed);
  EXPECT_EQ(folder->entries, 2u);
  EXPECT_EQ(problems(*store), "");
}

TEST(TraversalFault, an_entry_of_the_destination_that_cannot_be_looked_at_is_counted_once) {
  class Unreadable final : public Tree {
   public:
    explicit Unreadable(Tree& tree) : tree_(tree) {}
    Fault list(std::string_view path, const FolderStamp& seen, Listing& scratch,
               const PageSink& sink) override {
      return tree_.list(path, seen, scratch, [&](Listing& page) {
        Listing changed;
        for (std::size_t i = 0; i < page.size(); ++i) {
          Entry entry = page.at(i);
          if (entry.name == "a") entry.error = EIO;
          if (entry.name == "e") entry.excluded = true;
          changed.add(entry);
        }
        std::swap(page, changed);
        return sink(page);
      });
    }
    Fault stat_root(Listing& one) override { return tree_.stat_root(one); }
    Fault hash(std::string_view, const Entry&, Hash&) override { return {}; }
    std::string name() const override { return "unreadable"; }

   private:
    Tree& tree_;
  };
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  Unreadable dst(*trees->dst);
  ASSERT_EQ(compare_trees(*store, *trees->src, dst), Status());
  EXPECT_EQ(problems(*store), "");
  // Nothing below them is to be copied: a, a/b, a/b/c, a/b/c/d and e.
  EXPECT_EQ(count_of(*store, Tally::dst, TraversalStatus::unknown), 5);
  EXPECT_EQ(tally(*store, Tally::verdict, static_cast<std::uint8_t>(Verdict::missing)), 0);
}

TEST(TraversalFault, made_up_errors_that_heal_leave_no_trace_in_the_outcome) {
  const auto run = [](const std::string& faults) {
    const auto store = kv::open_memory();
    const SimSeams seams{.clock = system_clock()};
    const auto src = open_sim_tree("sim:seed=9,depth=3" + faults, seams).value();
    const auto dst = open_sim_tree("sim:seed=9,depth=3,world=b,presence=0.8", seams).value();
    EXPECT_EQ(compare_trees(*store, *src, *dst), Status());
    EXPECT_EQ(problems(*store), "");
    return dump(*store);
  };
  EXPECT_EQ(run(",mutate=0.5"), run(""));
}

// ------------------------------------------------------------------------------------------ stops

TEST(TraversalStop, attempts_are_kept_over_a_stop) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  std::stop_source stop;
  trees->src->set_script([&](std::string_view path, int) {
    if (path != "a/b") return Fault{};
    stop.request_stop();
    return Fault{.error = EIO};
  });
  RunOptions options = quick(1);
  options.stop = stop.get_token();
  EXPECT_EQ(compare_trees(*store, *trees, std::move(options)).code(), Code::cancelled);
  EXPECT_EQ(trees->src->take_lists().at("a/b"), 1);
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  EXPECT_EQ(trees->src->take_lists().at("a/b"), 2);
  EXPECT_EQ(folder_at(*store, Side::src, "a/b")->attempts, 3u);
}

/// Stops when `tasks` have begun.
RunOptions stopping_after(int tasks, std::stop_source& stop, unsigned threads) {
  RunOptions options = quick(threads);
  options.stop = stop.get_token();
  options.probe.started = [&stop,
                           left = std::make_shared<std::atomic<int>>(tasks)](const FolderTask&) {
    if (--*left == 0) stop.request_stop();
  };
  return options;
}

TEST(TraversalStop, a_run_that_was_stopped_anywhere_goes_on_to_the_same_end) {
  const std::string expected = clean_dump();
  for (int tasks = 1; tasks < 17; ++tasks) {
    const auto store = kv::open_memory();
    const auto trees = small_trees();
    std::stop_source stop;
    const Status stopped = compare_trees(*store, *trees, stopping_after(tasks, stop, 2));
    EXPECT_TRUE(stopped.ok() || stopped.code() == Code::cancelled) << stopped.to_string();
    EXPECT_EQ(problems(*store), "") << tasks;
    ASSERT_EQ(compare_trees(*store, *trees), Status());
    EXPECT_EQ(dump(*store), expected) << tasks;
  }
}

TEST(TraversalStop, nothing_is_listed_twice_after_a_stop) {
  const auto store = kv::open_memory();
  const auto trees = small_trees();
  std::stop_source stop;
  ASSERT_EQ(compare_trees(*store, *trees, stopping_after(6, stop, 1)).code(), Code::cancelled);
  ASSERT_EQ(compare_trees(*store, *trees), Status());
  for (const auto& [path, lists] : trees->src->take_lists()) EXPECT_EQ(lists, 1) << path;
  for (const auto& [path, lists] : trees->dst->take_lists()) EXPECT_EQ(lists, 1) << path;
}

// ----------------------------------------------------------------------------------------- crashes

struct CrashRun {
  std::string dump;
  std::uint64_t crashes = 0;
};

/// Runs to the end over a store that dies now and then; `sweeps`: and lists everything again.
CrashRun run_over_crashes(std::uint64_t seed, const std::string& spec, bool sweep) {
  SeededRandom random(seed);
  kv::FaultStore store({}, random);
  const SimSeams seams{.clock = system_clock()};
  const auto src = open_sim_tree("sim:" + spec, seams).value();
  const auto dst = open_sim_tree("sim:world=b,presence=0.8,differ=0.2," + spec, seams).value();
  bool swept = !sweep;
  for (int restarts = 0; restarts < 500; ++restarts) {
    store.set_chance(kv::Fault::crash_lost, 0.1);
    store.set_chance(kv::Fault::crash_applied, 0.1);
    RunOptions options = quick();
    options.traversal.commit_bytes = 4'000;
    options.traversal.listing_bytes_max = 10'000;
    const Status ran = compare_trees(store, *src, *dst, std::move(options));
    store.clear_chances();
    if (store.down()) store.reopen();
    // Before the first commit there is nothing that could be wrong.
    EXPECT_TRUE(testing::rows_of(store).empty() || problems(store).empty()) << problems(store);
    if (!ran.ok()) continue;
    if (swept)
      return {
          .dump = dump(store),
          .crashes = store.count(kv::Fault::crash_lost) + store.count(kv::Fault::crash_applied)};
    swept = true;
    EXPECT_TRUE(mark_for_retry(store, {.all = true}));
  }
  ADD_FAILURE() << "it never ends";
  return {};
}

std::string run_without_crashes(const std::string& spec) {
  const auto store = kv::open_memory();
  const SimSeams seams{.clock = system_clock()};
  const auto src = open_sim_tree("sim:" + spec, seams).value();
  const auto dst = open_sim_tree("sim:world=b,presence=0.8,differ=0.2," + spec, seams).value();
  EXPECT_EQ(compare_trees(*store, *src, *dst), Status());
  return dump(*store);
}

TEST(TraversalCrash, any_commit_may_be_lost_and_the_outcome_is_the_same) {
  const std::string spec = "depth=2,folders=3-5,files=5-300";
  const std::string expected = run_without_crashes(spec);
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const CrashRun run = run_over_crashes(seed, spec, false);
    EXPECT_EQ(run.dump, expected) << "seed " << seed;
    crashes += run.crashes;
  }
  EXPECT_GT(crashes, 10u);
}

TEST(TraversalCrash, any_commit_of_a_second_sweep_may_be_lost_too) {
  const std::string spec = "depth=2,folders=3-5,files=5-300";
  const std::string expected = run_without_crashes(spec);
  for (std::uint64_t seed = 21; seed <= 28; ++seed)
    EXPECT_EQ(run_over_crashes(seed, spec, true).dump, expected) << "seed " << seed;
}

// -------------------------------------------------------------------------------------------- gate

/// What began and what became durable, in order.
struct Event {
  bool start = false;
  Side side = Side::src;
  std::uint32_t level = 0;
  FolderId id = 0;
};

std::vector<Event> events_of(const std::string& spec, RunOptions options) {
  std::mutex mutex;
  std::vector<Event> events;
  const auto record = [&](bool start) {
    return [&, start](const auto& task) {
      const std::lock_guard lock(mutex);
      events.push_back({.start = start, .side = task.side, .level = task.level, .id = task.id});
    };
  };
  options.probe = {.started = record(true), .durable = record(false)};
  const auto store = kv::open_memory();
  const SimSeams seams{.clock = system_clock()};
  const auto src = open_sim_tree("sim:" + spec, seams).value();
  const auto dst = open_sim_tree("sim:world=b,presence=0.9," + spec, seams).value();
  EXPECT_EQ(compare_trees(*store, *src, *dst, std::move(options)), Status());
  return events;
}

TEST(TraversalGate, no_destination_starts_before_its_source_is_durable) {
  RunOptions options = quick(4);
  options.traversal.commit_bytes = 2'000;
  std::set<FolderId> durable;
  for (const Event& event : events_of("depth=4,folders=2-5", std::move(options))) {
    if (event.side == Side::src && !event.start) durable.insert(event.id);
    if (event.side == Side::src || !event.start) continue;
    EXPECT_TRUE(durable.contains(event.id)) << event.id;
  }
}

TEST(TraversalGate, with_a_lead_the_destination_stays_so_many_rounds_behind) {
  RunOptions options = quick(4);
  options.traversal.gate = {.lead = 3, .lead_max = 4};
  const auto events = events_of("depth=6,folders=2", std::move(options));
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].start) continue;
    for (std::size_t later = i + 1; later < events.size(); ++later) {
      const Event& event = events[later];
      if (event.start || event.side == events[i].side) continue;
      const bool kept = event.side == Side::src ? event.level >= events[i].level + 3
                                                : events[i].level <= event.level + 4;
      EXPECT_TRUE(kept) << events[i].level << " began before " << event.level << " was done";
    }
  }
}

}  // namespace
}  // namespace sluice::migrate
