"""Workers and jobs that die, stand still or are cut off: nothing is lost, nothing runs twice at once."""
import json
import os
import shutil
import signal

from harness import (LONG, QueuectlTest, Stopwatch, alive, chance, lines_of, main, wait_past,
                     wait_until)
from waiting import pause

FOREVER = 1000


class MarkedTest(QueuectlTest):
    """Jobs that write down when they start and end, and whether they find themselves running."""

    def setUp(self):
        super().setUp()
        self.marks = os.path.join(self.home, "marks")

    def marked(self, name, body):
        """A shell command. Its lock is held by all that it starts, so that an orphan is noticed."""
        # Where flock is what was killed, nothing is known, and the run fails.
        return (f"exec 9>>{self.home}/{name}.lock; flock -n 9; "
                f"case $? in 0) ;; 1) echo OVERLAP {name} >> {self.marks} ;; *) exit 9 ;; esac; "
                f"echo start {name} $QUEUECTL_ATTEMPT $$ >> {self.marks}; {body}; "
                f"echo end {name} >> {self.marks}")

    def marks_of(self, kind, name=None):
        words = [line.split() for line in lines_of(self.marks)]
        return [one for one in words if one[0] == kind and (name is None or one[1] == name)]

    def wait_for_marks(self, kind, name, number=1):
        wait_until(lambda: len(self.marks_of(kind, name)) >= number, f"{number} x {kind} of {name}")

    def check_marks(self):
        self.assertEqual(self.marks_of("OVERLAP"), [])

    def check_one_recovery(self, name):
        """Two runs, of which the first was cut off and the second came to its end."""
        job = self.job(name)
        self.assertEqual((job["state"], job["attempts"]), ("completed", 2))
        self.assertEqual([run["attempt"] for run in job["runs"]], [1, 2])
        self.assertEqual([run["outcome"] for run in job["runs"]], ["failed", "acked"])
        self.assertEqual(len(self.marks_of("start", name)), 2)
        self.assertEqual(len(self.marks_of("end", name)), 1)
        self.check_marks()


class KilledWorker(MarkedTest):
    def check_that_it_runs_again(self, first_run):
        """`first_run` never ends by itself and tells the pid of its last process as its child."""
        self.q("enqueue", self.marked("a", f"test $QUEUECTL_ATTEMPT -gt 1 || {{ {first_run}; }}"),
               "--id", "a")
        (first,) = self.start_workers(1)
        self.wait_for_marks("child", "a")
        self.start_workers(1)
        watch = Stopwatch()
        first.kill()
        self.wait_for_marks("start", "a", 2)
        late = watch.shown()
        # Those of the first run were gone before the second began.
        self.assertFalse(alive(int(self.marks_of("start", "a")[0][3])))
        self.assertFalse(alive(int(self.marks_of("child", "a")[0][2])))
        self.q("wait", "a")
        self.check_one_recovery("a")
        return late

    def child(self, command):
        return f"{command} & echo child a $! >> {self.marks}; wait"

    def test_an_idle_worker_takes_over_at_once(self):
        late = self.check_that_it_runs_again(self.child(f"sleep {FOREVER}"))
        print(f"figure queuectl.takeover_s {late}")

    def test_a_child_without_its_environment_is_found(self):
        self.check_that_it_runs_again(self.child(f"env -i sleep {FOREVER}"))

    def test_a_child_in_a_session_of_its_own_without_its_environment_is_found(self):
        self.check_that_it_runs_again(self.child(f"setsid env -i sleep {FOREVER}"))

    def test_a_job_that_closed_the_lock_is_found(self):
        self.check_that_it_runs_again("exec 3>&-; " + self.child(f"sleep {FOREVER}"))

    def test_a_child_in_a_session_of_its_own_that_closed_the_lock_is_found(self):
        self.check_that_it_runs_again(self.child(f"setsid sleep {FOREVER} 3>&-"))

    def test_a_child_without_environment_and_lock_is_found_by_its_session(self):
        self.check_that_it_runs_again(self.child(f"env -i sleep {FOREVER} 3>&-"))

    def test_children_of_another_interpreter_are_found(self):
        script = ("import subprocess, sys; child = subprocess.Popen(['sleep', sys.argv[1]], "
                  "close_fds=False); print('child a', child.pid, file=open(sys.argv[2], 'a'), "
                  "flush=True); child.wait()")
        self.check_that_it_runs_again(f'python3 -c "{script}" {FOREVER} {self.marks}')

    def test_a_job_that_ignores_signals_is_found(self):
        self.check_that_it_runs_again("trap '' TERM HUP INT; " + self.child(f"sleep {FOREVER}"))

    def test_a_worker_that_comes_later_takes_over(self):
        self.q("enqueue", self.marked("a", f"test $QUEUECTL_ATTEMPT -gt 1 || sleep {FOREVER}"),
               "--id", "a")
        (first,) = self.start_workers(1)
        self.wait_for_marks("start", "a")
        first.kill()
        self.assertEqual(self.job("a")["state"], "processing")
        self.drain()
        self.check_one_recovery("a")
        self.assertEqual(self.live_workers(), [])
        self.assertEqual(self.job_processes(), [])

    def test_a_job_that_kills_its_workers_ends_dead(self):
        self.q("enqueue", "kill -9 $PPID; sleep 1000", "--id", "poison")
        for _ in range(3):
            self.assertEqual(self.start_worker("--drain").wait(), -signal.SIGKILL)
        self.drain()
        job = self.job("poison")
        self.assertEqual((job["state"], job["attempts"]), ("dead", 3))
        self.assertIn("died", job["last_error"])

    def test_the_output_of_the_run_that_was_cut_off_is_kept(self):
        self.q("enqueue", "echo run $QUEUECTL_ATTEMPT; test $QUEUECTL_ATTEMPT -gt 1 || sleep 1000",
               "--id", "a")
        (first,) = self.start_workers(1)
        wait_until(lambda: self.q("logs", "a") == "run 1\n", "the output")
        first.kill()
        self.drain()
        self.assertEqual(self.q("logs", "a"), "run 2\n")
        self.assertEqual(self.q("logs", "a", "--attempt", "1"), "run 1\n")


class UnstartedJobs(MarkedTest):
    # On a disk that takes its time to sync, a worker claims in advance.
    place = None

    def recover_without_running(self):
        """Another worker takes stock of the dead one; nothing can start meanwhile."""
        self.q("pause")
        self.start_workers(1)
        wait_until(lambda: not self.jobs("--state", "processing"), "what it held to be given back")

    def test_a_job_that_was_claimed_and_not_begun_keeps_its_attempts(self):
        self.q("enqueue", self.marked("long", f"sleep {FOREVER}"), "--id", "long")
        self.q("enqueue", self.marked("wide", "true"), "--id", "wide", "--slots", "2")
        (worker,) = self.start_workers(1, "--count", "2")
        # Both are claimed at once: one that is killed here may have begun neither.
        self.wait_for_marks("start", "long")
        # The worker keeps it until there is room for it.
        wait_until(lambda: self.states() == {"long": "processing", "wide": "processing"},
                   "both to be claimed")
        worker.kill()
        self.recover_without_running()
        self.assertEqual((self.job("wide")["state"], self.job("wide")["attempts"]), ("pending", 0))
        self.assertEqual(self.job("long")["attempts"], 1)
        self.assertEqual(self.marks_of("start", "wide"), [])

    def test_jobs_that_were_claimed_in_advance_keep_their_attempts(self):
        ran = os.path.join(self.home, "ran")
        number = 200
        self.enqueue_all({"id": f"j{i}", "command": f"echo j{i} >> {ran}"} for i in range(number))
        (worker,) = self.start_workers(1)
        wait_until(lambda: len(lines_of(ran)) > 50, "some jobs to run")
        worker.kill()
        held = len(self.jobs("--state", "processing"))
        self.recover_without_running()
        jobs = {job["id"]: job for job in self.jobs()}
        wrote = set(lines_of(ran))
        # The one that ran may have been killed before it could write.
        tried = [name for name in jobs if name not in wrote and jobs[name]["attempts"] != 0]
        self.assertLessEqual(len(tried), 1, tried)
        self.assertEqual({jobs[name]["state"] for name in jobs if name not in wrote | set(tried)},
                         {"pending"})
        print(f"figure queuectl.held_when_killed {held}")
        # Runs that were over when the worker died, before it could say so.
        uncounted = [name for name in wrote if jobs[name]["attempts"] == 0]
        self.assertEqual(uncounted, [], "runs that are not counted")
        self.q("resume")
        self.q("wait", "--all")
        self.assertEqual(set(self.states().values()), {"completed"})
        self.assertEqual(set(lines_of(ran)), set(jobs))


class Chaos(MarkedTest):
    def short_jobs(self, number, random, retries):
        for i in range(number):
            pause = random.choice((0, 0.01, 0.05, 0.2))
            body = random.choice((f"sleep {pause}", f"sleep {pause} & wait", f"(sleep {pause})"))
            yield {"id": f"j{i}", "command": self.marked(f"j{i}", body), "backoff_base": 0,
                   "max_retries": retries}

    def unfinished(self):
        return [job for job in self.jobs() if job["state"] not in ("completed", "dead")]

    def check_the_end(self, number):
        jobs = self.jobs()
        self.assertEqual(len(jobs), number)
        ended = {mark[1] for mark in self.marks_of("end")}
        self.assertLessEqual({job["id"] for job in jobs if job["state"] == "completed"}, ended)
        self.check_marks()
        wait_until(lambda: not self.job_processes(), "the last processes to go")
        self.verify()

    def test_all_workers_are_killed_again_and_again(self):
        random = chance("all workers killed")
        rounds, number = (50, 400) if LONG else (8, 60)
        self.enqueue_all(self.short_jobs(number, random, 1000))
        for _ in range(rounds):
            workers = self.start_workers(2, "--count", "2")
            pause(random.uniform(0, 0.3))
            for worker in workers:
                worker.kill()
        self.drain("--count", "4")
        self.assertEqual(set(self.states().values()), {"completed"})
        self.check_the_end(number)

    def test_workers_and_jobs_are_killed_at_random(self):
        random = chance("random kills")
        kills, number = (100, 500) if LONG else (12, 60)
        self.enqueue_all(self.short_jobs(number, random, 4))
        workers = self.start_workers(3)
        killed = {"worker": 0, "job": 0}
        while sum(killed.values()) < kills:
            pause(random.uniform(0, 0.1))
            victims = self.job_processes()
            if victims and random.random() < 0.5:
                try:
                    os.kill(random.choice(victims), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed["job"] += 1
            else:
                worker = workers.pop(random.randrange(len(workers)))
                worker.kill()
                killed["worker"] += 1
                workers.append(self.start_worker())
            if not self.unfinished():
                break
        wait_until(lambda: not self.unfinished(), "every job to be over")
        self.q("worker", "stop")
        self.assertEqual([worker.wait() for worker in workers], [0, 0, 0])
        print(f"figure queuectl.killed_workers {killed['worker']}")
        print(f"figure queuectl.killed_processes {killed['job']}")
        print(f"figure queuectl.runs_of_{number}_jobs {len(self.marks_of('start'))}")
        self.check_the_end(number)


class StalledWorker(MarkedTest):
    def test_a_worker_that_stands_still_for_longer_than_its_lease_loses_its_job(self):
        # The machine may stand still for a while, too, without anybody losing a lease.
        lease = {"QUEUECTL_LEASE": "8s"}
        self.q("enqueue", self.marked("a", f"test $QUEUECTL_ATTEMPT -gt 1 || sleep {FOREVER}"),
               "--id", "a")
        (first,) = self.start_workers(1, env=lease)
        self.wait_for_marks("start", "a")
        first.signal(signal.SIGSTOP)
        watch = Stopwatch()
        (second,) = self.start_workers(1)
        self.wait_for_marks("start", "a", 2)
        print(f"figure queuectl.stalled_takeover_s {watch.shown()}")
        self.assertFalse(alive(int(self.marks_of("start", "a")[0][3])))
        self.q("wait", "a")
        second.signal(signal.SIGTERM)
        self.assertEqual(second.wait(), 0)
        before = self.job("a")
        # What the first has to say of its run is refused; it goes on with the next job.
        first.signal(signal.SIGCONT)
        self.q("enqueue", "true", "--id", "next")
        self.q("wait", "next")
        self.assertEqual(self.job("a"), before)
        self.assertEqual((before["state"], before["attempts"]), ("completed", 2))
        self.assertEqual([run["outcome"] for run in before["runs"]], ["lapsed", "acked"])
        self.assertEqual(len(self.marks_of("end", "a")), 1)
        self.check_marks()
        first.signal(signal.SIGTERM)
        self.assertEqual(first.wait(), 0)

    def test_a_worker_that_stands_still_for_a_while_keeps_its_job(self):
        go = os.path.join(self.home, "go")
        self.q("enqueue", self.marked("a", f"until test -e {go}; do sleep 0.05; done"), "--id", "a")
        (first,) = self.start_workers(1)
        self.wait_for_marks("start", "a")
        first.signal(signal.SIGSTOP)
        self.start_workers(1)
        # Meanwhile the other looks around again and again.
        self.enqueue_all({"id": f"b{i}", "command": "sleep 0.2"} for i in range(10))
        self.q("wait", *(f"b{i}" for i in range(10)))
        with open(go, "w", encoding="utf-8"):
            pass
        self.wait_for_marks("end", "a")
        self.q("enqueue", "true", "--id", "c")
        self.q("wait", "c")
        self.assertEqual(self.job("a")["state"], "processing")
        first.signal(signal.SIGCONT)
        self.q("wait", "a")
        self.assertEqual(self.job("a")["attempts"], 1)
        self.assertEqual(len(self.marks_of("start", "a")), 1)

    def test_a_job_that_takes_longer_than_the_lease_runs_once(self):
        self.start_workers(2, env={"QUEUECTL_LEASE": "8s"})
        self.q("enqueue", self.marked("a", f"until test -e {self.home}/go; do sleep 0.05; done"),
               "--id", "a")
        self.wait_for_marks("start", "a")
        wait_past(9)
        with open(os.path.join(self.home, "go"), "w", encoding="utf-8"):
            pass
        self.q("wait", "a")
        self.assertEqual((self.job("a")["attempts"], len(self.marks_of("start", "a"))), (1, 1))
        self.check_marks()


class OtherStores(MarkedTest):
    def until_told(self, name):
        return self.marked(name, f"until test -e {self.home}/go; do sleep 0.05; done")

    def tell(self):
        with open(os.path.join(self.home, "go"), "w", encoding="utf-8"):
            pass

    def test_a_copy_of_a_running_store_recovers_and_leaves_the_original_alone(self):
        self.q("enqueue", self.until_told("a"), "--id", "a")
        self.q("enqueue", "exit 1", "--id", "failed", "--backoff-base", "1000", "--priority", "0")
        self.q("enqueue", "true", "--id", "scheduled", "--delay", "1h")
        self.start_workers(1)
        self.wait_for_marks("start", "a")
        self.wait_for_state("failed", "failed")
        pid = int(self.marks_of("start", "a")[0][3])
        before = {name: self.job(name) for name in ("failed", "scheduled")}
        copy = os.path.join(self.home, "copy")
        shutil.copytree(self.db, copy)
        here = {"QUEUECTL_DB": copy}

        def job_there(name):
            return json.loads(self.q("show", name, "--json", env=here))[0]

        self.assertEqual(job_there("a")["state"], "processing")
        self.q("edit", "a", "--command", "true", env=here, code=4)
        there = self.start_worker(env=here)
        self.wait_for_marks("start", "a", 2)
        self.assertTrue(alive(pid), "a worker of the copy killed a process of the original")
        self.assertEqual(self.job("a")["attempts"], 1)
        self.tell()
        self.q("wait", "a")
        self.q("wait", "a", env=here)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))
        self.assertEqual((job_there("a")["state"], job_there("a")["attempts"]), ("completed", 2))
        for name, job in before.items():
            self.assertEqual(job_there(name), job)
        self.q("worker", "stop", env=here)
        self.assertEqual(there.wait(), 0)
        self.assertEqual(len(self.live_workers()), 1)

    def run_beside(self, victim_of):
        """A job runs in this store while `victim_of` does things to another store."""
        self.q("enqueue", self.until_told("a"), "--id", "a")
        self.start_workers(1)
        self.wait_for_marks("start", "a")
        victim_of({"QUEUECTL_DB": os.path.join(self.home, "other")})
        self.assertTrue(alive(int(self.marks_of("start", "a")[0][3])),
                        "a worker of another store killed a process of this one")
        self.tell()
        self.q("wait", "a")
        self.assertEqual(self.job("a")["attempts"], 1)

    def test_a_time_limit_in_another_store_kills_nothing_here(self):
        def other(here):
            self.q("enqueue", "sleep 1000", "--id", "a", "--timeout", "0.2", "--max-retries", "1",
                   env=here)
            self.q("worker", "start", "--drain", env=here)

        self.run_beside(other)

    def test_recovery_in_another_store_kills_nothing_here(self):
        def other(here):
            self.q("enqueue", f"echo there >> {self.home}/there; "
                   "test $QUEUECTL_ATTEMPT -gt 1 || sleep 1000", "--id", "a", env=here)
            worker = self.start_worker(env=here)
            wait_until(lambda: lines_of(f"{self.home}/there"), "the job there")
            worker.kill()
            self.q("worker", "start", "--drain", env=here)

        self.run_beside(other)


if __name__ == "__main__":
    main()
