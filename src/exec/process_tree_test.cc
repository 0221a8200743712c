// SPDX-License-Identifier: MIT
#include "exec/process_tree.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>

#include "exec/testing.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"
#include "tests/support/waiting.h"

namespace sluice::exec {
namespace {

using testing::kPath;
using testing::pid_in;
using testing::Pipe;
using testing::readable;
using testing::role;
using testing::shell;
using testing::started;
using testing::watch;

const Duration kPatience = test::patience();

// A lock file, and a mark that no other test and no other run of this one has.
struct World {
  test::TempDir dir;
  LockFile locks = LockFile::open(dir / "locks").value();
  TreeMark mark{.env = "SLUICE_TEST_MARK=" + dir.path(), .lock = 7};

  std::vector<pid_t> found() const { return find_trees(locks, {&mark, 1}).value(); }
  Status end(Duration patience = kPatience) const {
    return end_trees(locks, {&mark, 1}, system_clock(), patience);
  }
  // Whether these, and only these, are found, once no program is being loaded any more.
  bool comes_to_find(std::vector<pid_t> pids) const {
    std::ranges::sort(pids);
    return test::wait_until([&] { return found() == pids; });
  }
};

// A tree with both marks whose leader runs `script`, and what it says first.
struct Tree {
  Tree(const World& world, const std::string& script) : Tree(world, shell(script)) {}
  Tree(const World& world, Command command) {
    const auto lock = world.locks.try_lock(world.mark.lock).value();
    SLUICE_CHECK(lock.has_value());
    command.env.push_back(world.mark.env);
    command.output = pipe.end();
    command.kept = lock->fd();
    process.emplace(started(command));
    first_line = pipe.line();
  }

  Pipe pipe;
  std::optional<Process> process;
  std::string first_line;
};

TEST(ProcessTree, nothing_to_end_is_success) {
  const World world;
  EXPECT_EQ(world.found(), std::vector<pid_t>());
  EXPECT_TRUE(world.end().ok());
  EXPECT_TRUE(end_trees(world.locks, {}, system_clock(), kPatience).ok());
}

TEST(ProcessTree, a_whole_tree_is_found_and_ended) {
  const World world;
  Tree tree(world, "sleep 600 & echo $!; wait");
  const pid_t child = pid_in(tree.first_line);
  EXPECT_TRUE(world.comes_to_find({tree.process->pid(), child}));
  const Descriptor last = watch(child);
  EXPECT_EQ(world.end().to_string(), "ok");
  EXPECT_TRUE(readable(last.get()));
  EXPECT_EQ(tree.process->reap().value()->signal, SIGKILL);
  EXPECT_FALSE(world.locks.held(world.mark.lock).value());
}

TEST(ProcessTree, one_that_closed_the_lock_is_found_by_its_environment) {
  const World world;
  // A session of its own, so that its parent does not betray it.
  Tree tree(world, "setsid sh -c 'exec 3>&-; echo $$; exec sleep 600' & wait");
  const pid_t pid = pid_in(tree.first_line);
  EXPECT_FALSE(holds_lock(pid, world.locks, world.mark.lock));
  EXPECT_TRUE(world.comes_to_find({tree.process->pid(), pid}));
  const Descriptor last = watch(pid);
  EXPECT_EQ(world.end().to_string(), "ok");
  EXPECT_TRUE(readable(last.get()));
}

TEST(ProcessTree, one_that_cleared_its_environment_is_found_by_its_lock) {
  const World world;
  for (const char* moved : {"", "exec 9>&3 3>&-; "}) {
    Tree tree(world, std::string("setsid env -i /bin/sh -c '") + moved +
                         "echo $$; exec /bin/sleep 600' & wait");
    const pid_t pid = pid_in(tree.first_line);
    EXPECT_TRUE(holds_lock(pid, world.locks, world.mark.lock));
    EXPECT_TRUE(world.comes_to_find({tree.process->pid(), pid}));
    const Descriptor last = watch(pid);
    EXPECT_EQ(world.end().to_string(), "ok");
    EXPECT_TRUE(readable(last.get()));
  }
}

TEST(ProcessTree, one_without_any_mark_is_found_by_its_session) {
  const World world;
  Tree tree(world, "env -i " + testing::test_worker() +
                       " group /bin/sh -c 'exec 3>&-; echo $$; exec /bin/sleep 600' & wait");
  const pid_t pid = pid_in(tree.first_line);
  EXPECT_EQ(::getpgid(pid), pid);
  EXPECT_EQ(::getsid(pid), tree.process->pid());
  EXPECT_FALSE(holds_lock(pid, world.locks, world.mark.lock));
  EXPECT_TRUE(world.comes_to_find({tree.process->pid(), pid}));
  const Descriptor last = watch(pid);
  EXPECT_EQ(world.end().to_string(), "ok");
  EXPECT_TRUE(readable(last.get()));
}

TEST(ProcessTree, one_whose_marked_parent_has_gone_is_found_by_the_session_that_was_noted) {
  World world;
  const MonoTime before = test::mono_now();
  Tree tree(world, "env -i /bin/sleep 600 3>&- & echo $!; exec 3>&-; kill -STOP $$");
  const pid_t child = pid_in(tree.first_line);
  const Descriptor last = watch(child);
  // The leader alone goes, as it does when the worker that started it is killed.
  ::kill(tree.process->pid(), SIGKILL);
  ASSERT_TRUE(world.end().ok());
  EXPECT_EQ(::kill(child, 0), 0);
  world.mark.session = {.id = tree.process->pid(), .started = before};
  ASSERT_TRUE(world.end().ok());
  EXPECT_TRUE(readable(last.get()));
}

TEST(ProcessTree, a_noted_session_whose_number_is_another_process_s_is_left_alone) {
  World world;
  const World other;
  Tree tree(other, "echo $$; sleep 600");
  world.mark.session = {.id = tree.process->pid(),
                        .started = test::mono_now() - std::chrono::hours(1)};
  EXPECT_EQ(world.found(), std::vector<pid_t>());
  world.mark.session.started = test::mono_now();
  EXPECT_FALSE(world.found().empty());
}

TEST(ProcessTree, strangers_are_left_alone) {
  const World world;
  const auto place_before = world.locks.try_lock(world.mark.lock - 1).value();
  const auto place_after = world.locks.try_lock(world.mark.lock + 1).value();
  const World other_file;
  const auto same_place = other_file.locks.try_lock(world.mark.lock).value();
  std::vector<Process> strangers;
  for (const std::string& entry : {world.mark.env + "x", "X" + world.mark.env, kPath})
    for (const int kept : {-1, place_before->fd(), place_after->fd(), same_place->fd()}) {
      Command command = shell("exec sleep 600");
      command.env.push_back(entry);
      command.kept = kept;
      strangers.push_back(started(command));
    }
  // In our own session, where the marks of one say nothing about the others.
  test::Child neighbour({"sleep", "600"});
  test::Child marked({"sleep", "600"}, {world.mark.env});
  const Tree tree(world, "echo ready; exec sleep 600");
  EXPECT_TRUE(world.comes_to_find({marked.pid(), tree.process->pid()}));
  EXPECT_EQ(world.end().to_string(), "ok");
  EXPECT_EQ(marked.wait().signal, SIGKILL);
  for (Process& stranger : strangers) EXPECT_EQ(stranger.reap().value(), std::nullopt);
  neighbour.kill();
  EXPECT_EQ(neighbour.wait().signal, SIGKILL);
}

TEST(ProcessTree, many_trees_are_ended_at_once) {
  const World world;
  std::vector<TreeMark> marks;
  std::vector<Process> leaders;
  for (std::uint64_t i = 0; i < 5; ++i) {
    marks.push_back({.env = world.mark.env + std::to_string(i), .lock = 1000 - i});
    const auto lock = world.locks.try_lock(marks.back().lock).value();
    Command command = shell("exec sleep 600");
    // Each with only one of the marks.
    if (i % 2 == 0) command.env.push_back(marks.back().env);
    if (i % 2 == 1) command.kept = lock->fd();
    leaders.push_back(started(command));
  }
  EXPECT_EQ(end_trees(world.locks, marks, system_clock(), kPatience).to_string(), "ok");
  for (Process& leader : leaders) EXPECT_EQ(leader.reap().value()->signal, SIGKILL);
}

TEST(ProcessTree, one_that_forks_and_ends_all_the_time_is_ended) {
  const World world;
  const Tree tree(world, role({"hydra"}));
  ASSERT_EQ(tree.first_line, "ready");
  EXPECT_EQ(world.end().to_string(), "ok");
  EXPECT_EQ(world.found(), std::vector<pid_t>());
}

TEST(ProcessTree, what_a_killed_worker_left_behind_is_ended) {
  const World world;
  test::Child worker({testing::test_worker(), "worker", world.dir / "locks", "7", world.mark.env,
                      "sh", "-c", "trap '' TERM HUP; sleep 600 & echo grandchild $!; wait"});
  std::string line;
  while (!line.starts_with("grandchild ")) {
    const auto next = worker.read_line();
    ASSERT_TRUE(next);
    line = *next;
  }
  const Descriptor last = watch(pid_in(line.substr(11)));
  worker.kill();
  worker.wait();
  EXPECT_TRUE(world.locks.held(7).value());
  EXPECT_EQ(world.end().to_string(), "ok");
  EXPECT_FALSE(world.locks.held(7).value());
  EXPECT_TRUE(readable(last.get()));
}

TEST(ProcessTree, a_zombie_is_not_alive) {
  const World world;
  Tree tree(world, "echo ready; exec sleep 600");
  tree.process->signal(SIGKILL);
  ASSERT_TRUE(readable(tree.process->pidfd()));
  EXPECT_EQ(world.found(), std::vector<pid_t>());
  EXPECT_EQ(world.end(Duration::zero()).to_string(), "ok");
}

TEST(ProcessTree, those_that_do_not_go_in_time_are_named) {
  const World world;
  const Tree tree(world, "echo ready; exec sleep 600");
  // Without any patience, not even the first look after the kill is waited for.
  const Status status = world.end(Duration::zero());
  EXPECT_EQ(status.code(), Code::unavailable);
  const std::string pid = " " + std::to_string(tree.process->pid()) + ";";
  EXPECT_NE(status.message().find(pid), std::string::npos) << status.message();
}

TEST(ProcessTree, a_lock_whose_holder_is_not_found_is_named_after_all_patience) {
  const World world;
  const auto own = world.locks.try_lock(world.mark.lock).value();
  EXPECT_EQ(world.found(), std::vector<pid_t>());
  const ManualClock clock;
  const MonoTime start = clock.mono();
  const Status status = end_trees(world.locks, {&world.mark, 1}, clock, std::chrono::seconds(1));
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("place 7 of the lock file " + world.locks.path()),
            std::string::npos);
  EXPECT_GE(clock.mono() - start, std::chrono::seconds(1));
  EXPECT_LT(clock.mono() - start, std::chrono::seconds(2));
}

TEST(ProcessTree, a_mark_without_a_name_is_refused) {
  World world;
  for (const char* env : {"", "NAME", "=value"}) {
    world.mark.env = env;
    EXPECT_EQ(find_trees(world.locks, {&world.mark, 1}).error().code(), Code::invalid_argument);
    EXPECT_EQ(world.end().code(), Code::invalid_argument);
  }
}

TEST(ProcessTree, who_holds_a_lock_is_proven_by_its_descriptors) {
  const World world;
  EXPECT_FALSE(holds_lock(getpid(), world.locks, 7));
  const auto lock = world.locks.try_lock(7).value();
  EXPECT_TRUE(holds_lock(getpid(), world.locks, 7));
  EXPECT_FALSE(holds_lock(getpid(), world.locks, 8));
  Command command = shell("exec sleep 600");
  command.kept = lock->fd();
  Process with = started(command);
  command.kept = -1;
  const Process without = started(command);
  EXPECT_TRUE(holds_lock(with.pid(), world.locks, 7));
  EXPECT_FALSE(holds_lock(without.pid(), world.locks, 7));
  const pid_t pid = with.pid();
  with.signal(SIGKILL);
  ASSERT_TRUE(readable(with.pidfd()));
  EXPECT_FALSE(holds_lock(pid, world.locks, 7)) << "a zombie holds nothing";
  const World other;
  EXPECT_FALSE(holds_lock(getpid(), other.locks, 7));
}

}  // namespace
}  // namespace sluice::exec
