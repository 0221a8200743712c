// SPDX-License-Identifier: MIT
#include "worker/worker.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "exec/testing.h"
#include "tests/support/waiting.h"
#include "worker/recovery.h"
#include "worker/run_book.h"
#include "worker/testing.h"

namespace sluice::worker {
namespace {

using testing::Bench;

TEST(Worker, runs_jobs_and_settles_how_they_ended) {
  const Bench bench;
  bench.enqueue("good", "echo hi; echo there >&2");
  bench.enqueue("bad", "exit 7", 2);
  bench.enqueue("words", Command{.argv = {"/bin/echo", "a b", "$HOME"}});
  bench.enqueue("missing", Command{.argv = {"/no/such/program"}});
  bench.drain({.slots = 2});
  EXPECT_EQ(bench.lane("good"), "done");
  EXPECT_EQ(bench.output("good"), "hi\nthere\n");
  EXPECT_EQ(bench.lane("bad"), "dead");
  EXPECT_EQ(bench.job("bad").attempts, 2);
  EXPECT_EQ(parse_report(bench.job("bad").error).exit_code, 7);
  EXPECT_EQ(bench.output("words"), "a b $HOME\n");
  EXPECT_EQ(parse_report(bench.job("missing").error).exit_code, 127);
  EXPECT_NE(bench.output("missing").find("not found"), std::string::npos);
  EXPECT_TRUE(queue::verify(*bench.store).value().clean());
}

TEST(Worker, a_job_that_is_no_command_is_dead_at_once) {
  const Bench bench;
  ASSERT_TRUE(bench.queues->enqueue({.queue = "q", .id = "a", .payload = "what?"}));
  bench.drain();
  EXPECT_EQ(bench.lane("a"), "dead");
  EXPECT_EQ(bench.job("a").attempts, 1);
}

TEST(Worker, what_this_machine_cannot_run_now_is_put_off_and_loses_no_attempt) {
  const Bench bench;
  // Linux runs no file that somebody is about to change.
  const std::string program = bench.path("program");
  const Descriptor writing(::open(program.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
  ASSERT_TRUE(writing.valid());
  bench.enqueue("a", Command{.argv = {program}});
  Worker* worker = nullptr;
  std::string said;
  const auto log = [&](LogLevel, std::string_view line) {
    said += line;
    worker->stop(Worker::Stop::drain);
  };
  const auto tell = [&](const Happening& what) {
    if (what.kind == Happening::Kind::dead) worker->stop(Worker::Stop::drain);
  };
  const auto owned = bench.worker({.tell = tell, .log = log});
  worker = owned.get();
  EXPECT_TRUE(owned->run().ok());
  EXPECT_NE(said.find("a could not be started: cannot run " + program), std::string::npos) << said;
  EXPECT_EQ(bench.lane("a"), "scheduled");
  EXPECT_EQ(bench.job("a").attempts, 0);
}

TEST(Worker, the_processes_of_a_run_hold_the_lock_of_their_job_and_nobody_else_does) {
  const Bench bench;
  const std::string begun = bench.path("begun");
  bench.enqueue("a", "echo > " + begun + "; exec sleep 600");
  Worker* worker = nullptr;
  bool held = false;
  const auto tell = [&](const Happening& what) {
    if (what.kind != Happening::Kind::started) return;
    // Before its program is loaded, a new process has whatever we have.
    EXPECT_TRUE(test::wait_until([&] { return access(begun.c_str(), F_OK) == 0; }));
    held = bench.locks.held(job_place(bench.job("a").number)).value();
    worker->stop(Worker::Stop::kill);
  };
  const auto owned = bench.worker({.tell = tell});
  worker = owned.get();
  EXPECT_TRUE(owned->run().ok());
  EXPECT_TRUE(held);
  EXPECT_FALSE(bench.locks.held(job_place(bench.job("a").number)).value());
}

TEST(Worker, a_stop_that_hands_back_leaves_attempts_as_they_were) {
  const Bench bench;
  bench.enqueue("a", "sleep 600");
  bench.enqueue("b", "true");
  Worker* worker = nullptr;
  const auto tell = [&](const Happening& what) {
    if (what.kind == Happening::Kind::started) worker->stop(Worker::Stop::hand_back);
  };
  const auto owned = bench.worker({.tell = tell});
  worker = owned.get();
  EXPECT_TRUE(owned->run().ok());
  EXPECT_EQ(bench.lane("a"), "ready");
  EXPECT_EQ(bench.job("a").attempts, 0);
  EXPECT_EQ(bench.job("b").attempts, 0);
}

TEST(Worker, a_gentler_stop_than_that_in_force_changes_nothing) {
  const Bench bench;
  bench.enqueue("a", "sleep 0.2");
  Worker* worker = nullptr;
  const auto tell = [&](const Happening& what) {
    if (what.kind != Happening::Kind::started) return;
    worker->stop(Worker::Stop::drain);
    worker->stop(Worker::Stop::drain);
  };
  const auto owned = bench.worker({.tell = tell});
  worker = owned.get();
  EXPECT_TRUE(owned->run().ok());
  EXPECT_EQ(bench.lane("a"), "done");
}

TEST(Worker, a_job_that_somebody_cancels_is_stopped) {
  const Bench bench;
  bench.enqueue("a", "sleep 600");
  bool lost = false;
  const auto tell = [&](const Happening& what) {
    if (what.kind == Happening::Kind::started) {
      EXPECT_TRUE(bench.queues->cancel({"q", "a"}).ok());
    }
    lost = lost || what.kind == Happening::Kind::lost;
  };
  bench.drain({.tell = tell});
  EXPECT_TRUE(lost);
  EXPECT_EQ(bench.lane("a"), "cancelled");
}

TEST(Worker, no_more_slots_are_used_than_there_are) {
  const Bench bench;
  for (int i = 0; i < 12; ++i)
    bench.enqueue(std::to_string(i), Command{.text = "sleep 0.02",
                                             .set = {"PATH=/bin:/usr/bin"},
                                             .slots = static_cast<std::uint32_t>(i % 3 + 1)});
  unsigned used = 0;
  unsigned most = 0;
  const auto slots = [](std::string_view id) {
    return static_cast<unsigned>(std::stoi(std::string(id)) % 3 + 1);
  };
  const auto tell = [&](const Happening& what) {
    if (what.kind == Happening::Kind::started)
      used += slots(what.id);
    else
      used -= slots(what.id);
    most = std::max(most, used);
  };
  bench.drain({.slots = 3, .tell = tell});
  EXPECT_EQ(most, 3);
  EXPECT_EQ(bench.queues->count("q").value().done, 12);
}

TEST(Worker, a_run_that_wrote_nothing_leaves_no_file) {
  const Bench bench;
  bench.enqueue("a", "true");
  bench.enqueue("b", "echo b");
  bench.drain();
  const auto log = [&](const char* id) {
    const queue::Job job = bench.job(id);
    return log_path(bench.dir.path(), {job.number, job.claims});
  };
  EXPECT_NE(access(log("a").c_str(), F_OK), 0);
  EXPECT_EQ(access(log("b").c_str(), F_OK), 0);
}

// Files of runs that wrote nothing are used again; a run's file may be open for longer than it ran.
TEST(Worker, what_outlives_its_run_writes_into_no_other) {
  const Bench bench;
  const std::string go = bench.path("go");
  const std::string gone = bench.path("gone");
  const std::string began = bench.path("began");
  ASSERT_EQ(mkfifo(go.c_str(), 0600), 0);
  const auto until = [](const std::string& file) {
    return "while [ ! -e " + file + " ]; do sleep 0.01; done";
  };
  bench.enqueue("a", "setsid sh -c 'touch " + began + "; read x < " + go + "; echo late; touch " +
                         gone + "' 3>&- & " + until(began));
  bench.enqueue("b", "sleep 0.2");  // Until the end of `a` is settled: its file is free then.
  bench.enqueue("c", "echo > " + go + "; " + until(gone));
  bench.drain();
  for (const char* id : {"b", "c"}) {
    EXPECT_EQ(bench.lane(id), "done");
    EXPECT_EQ(bench.output(id), "") << id;
  }
}

TEST(Worker, a_follow_up_is_enqueued_with_the_end_of_its_job_and_not_before) {
  const Bench bench;
  const std::string out = bench.path("out");
  bench.enqueue("a",
                Command{.text = "exit 4",
                        .set = {"PATH=/bin:/usr/bin"},
                        .on_done = "echo $QUEUECTL_DONE_ID $QUEUECTL_DONE_STATE "
                                   "$QUEUECTL_DONE_EXIT_CODE >> " +
                                   out},
                2);
  bench.drain();
  EXPECT_EQ(test::read_file(out), "a dead 4\n");
}

TEST(Worker, a_job_that_was_cancelled_before_its_end_was_settled_has_no_follow_up) {
  const Bench bench;
  bench.enqueue("a", Command{.text = "true", .on_done = "echo done"});
  const auto tell = [&](const Happening& what) {
    if (what.kind != Happening::Kind::completed) return;
    EXPECT_TRUE(bench.queues->cancel({"q", "a"}).ok());
  };
  bench.drain({.tell = tell});
  EXPECT_EQ(bench.lane("a"), "cancelled");
  EXPECT_EQ(bench.queues->list({.queue = "q"}).value().jobs.size(), 1);
}

// ---------------------------------------------------------------------------------------- recovery

/// A worker that is gone: registered, without its lock, with a job of each kind.
struct GoneWorker {
  static constexpr const char* kName = "queuectl/gone-1-abcd";

  explicit GoneWorker(const Bench& with) : bench(with) { enter(); }
  void enter() const {
    EXPECT_TRUE(
        bench.queues->register_worker({.name = kName, .queues = {"q"}}, std::chrono::hours(1))
            .ok());
  }
  queue::Lease claim() const {
    return bench.queues->claim({.queues = {"q"}, .worker = kName}).value().at(0);
  }
  /// A process such as a run of `lease` would have left behind.
  exec::Process orphan(const queue::Lease& lease) const {
    const std::string log = log_path(bench.dir.path(), lease.token);
    mkdir(log_root(bench.dir.path()).c_str(), 0700);
    mkdir(log.substr(0, log.rfind('/')).c_str(), 0700);
    test::write_file(log, "");
    return exec::testing::started(
        {.argv = {"/bin/sleep", "600"}, .env = {mark_of(bench.locks, lease.token).env}});
  }
  std::vector<Recovered> recover() const {
    return recover_workers(*bench.queues, bench.locks, bench.dir.path(), system_clock()).value();
  }

  const Bench& bench;
};

TEST(Recovery, orphans_are_ended_before_the_job_is_offered_again) {
  const Bench bench;
  bench.enqueue("a", "true", 3);
  const GoneWorker gone(bench);
  exec::Process orphan = gone.orphan(gone.claim());
  const auto recovered = gone.recover();
  ASSERT_EQ(recovered.size(), 1);
  EXPECT_EQ(recovered[0].again, std::vector<std::string>{"a"});
  const auto ending = orphan.reap();
  ASSERT_TRUE(ending && *ending) << "the orphan lives on";
  EXPECT_EQ((**ending).signal, SIGKILL);
  EXPECT_EQ(bench.job("a").attempts, 1);
  EXPECT_TRUE(bench.queues->list_workers().value().empty());
  bench.drain();
  EXPECT_EQ(bench.lane("a"), "done");
}

TEST(Recovery, a_follow_up_is_enqueued_if_the_last_attempt_died_with_its_worker) {
  const Bench bench;
  bench.enqueue("a", Command{.text = "true", .set = {"PATH=/bin:/usr/bin"}, .on_done = "echo done"},
                2);
  const GoneWorker gone(bench);
  for (const std::size_t followers : {0, 1}) {
    const exec::Process orphan = gone.orphan(gone.claim());
    gone.recover();
    const auto ready = bench.queues->list({.queue = "q", .lane = queue::Lane::ready}).value();
    EXPECT_EQ(std::ranges::count_if(ready.jobs, [](const auto& job) { return job.id != "a"; }),
              followers);
    gone.enter();
  }
  EXPECT_EQ(bench.lane("a"), "dead");
}

TEST(Recovery, a_job_that_had_not_begun_keeps_its_attempts) {
  const Bench bench;
  bench.enqueue("a", "true");
  const GoneWorker gone(bench);
  gone.claim();
  EXPECT_EQ(gone.recover().at(0).unstarted, std::vector<std::string>{"a"});
  EXPECT_EQ(bench.lane("a"), "ready");
  EXPECT_EQ(bench.job("a").attempts, 0);
}

TEST(Recovery, a_worker_that_lives_is_left_alone) {
  const Bench bench;
  bench.enqueue("a", "true");
  const GoneWorker worker(bench);
  const auto lock = bench.locks.try_lock(worker_place(GoneWorker::kName)).value();
  ASSERT_TRUE(lock);
  worker.claim();
  EXPECT_TRUE(worker.recover().empty());
  EXPECT_EQ(bench.lane("a"), "leased");
}

TEST(Recovery, workers_of_other_programs_are_none_of_ours) {
  const Bench bench;
  bench.enqueue("a", "true");
  ASSERT_TRUE(
      bench.queues->register_worker({.name = "mine", .queues = {"q"}}, std::chrono::hours(1)).ok());
  ASSERT_EQ(bench.queues->claim({.queues = {"q"}, .worker = "mine"}).value().size(), 1);
  EXPECT_TRUE(recover_workers(*bench.queues, bench.locks, bench.dir.path(), system_clock())
                  .value()
                  .empty());
  EXPECT_EQ(bench.lane("a"), "leased");
}

TEST(Recovery, a_job_that_has_moved_on_stays_as_it_is) {
  const Bench bench;
  bench.enqueue("a", "true");
  const GoneWorker gone(bench);
  const queue::Lease lease = gone.claim();
  ASSERT_TRUE(bench.queues->ack({.queue = "q", .token = lease.token}).ok());
  EXPECT_TRUE(gone.recover().at(0).again.empty());
  EXPECT_EQ(bench.lane("a"), "done");
}

TEST(RunBook, tells_what_the_slots_ran_last_within_one_boot_and_one_store) {
  const test::TempDir dir;
  const queue::Token token{.job = {.epoch = 1, .ordinal = 7}, .claim = 3};
  {
    const auto book = RunBook::open(dir.path(), "queuectl/w", "08:01:5").value();
    book.note(2, {.token = {}, .session = 1, .started = {}});
    book.note(2, {.token = token, .session = 4'194'303, .started = MonoTime(Duration(55))});
  }
  const auto notes = read_run_book(dir.path(), "queuectl/w", "08:01:5");
  ASSERT_EQ(notes.size(), 1);
  EXPECT_EQ(notes[0].token, token);
  EXPECT_EQ(notes[0].session, 4'194'303);
  EXPECT_EQ(notes[0].started, MonoTime(Duration(55)));
  EXPECT_TRUE(read_run_book(dir.path(), "queuectl/w", "08:01:55").empty());
  EXPECT_TRUE(read_run_book(dir.path(), "queuectl/other", "08:01:5").empty());
  remove_run_book(dir.path(), "queuectl/w");
  EXPECT_TRUE(read_run_book(dir.path(), "queuectl/w", "08:01:5").empty());
}

}  // namespace
}  // namespace sluice::worker
