"""Workers are stopped, listed and scaled: gently, by force, by signals, from anywhere."""
import json
import os
import signal
import subprocess

from harness import QUEUECTL, QueuectlTest, alive, lines_of, main, wait_until


class StopTest(QueuectlTest):
    """Jobs that end when they are told to, and write down who they are."""

    def setUp(self):
        super().setUp()
        self.go = os.path.join(self.home, "go")
        self.began = os.path.join(self.home, "began")

    def until_told(self):
        return f"echo $QUEUECTL_JOB_ID $$ >> {self.began}; until test -e {self.go}; do sleep 0.05; done"

    def with_child(self, before=""):
        """Never ends by itself; tells its own pid and that of its child."""
        return f"{before} sleep 1000 & echo $QUEUECTL_JOB_ID $$ $! >> {self.began}; wait; wait"

    def tell(self):
        with open(self.go, "w", encoding="utf-8"):
            pass

    def wait_for_jobs(self, number):
        wait_until(lambda: len(lines_of(self.began)) >= number, f"{number} jobs to begin")

    def pids(self):
        return [int(pid) for line in lines_of(self.began) for pid in line.split()[1:]]

    def in_background(self, *arguments):
        process = subprocess.Popen([QUEUECTL, *arguments], env=self.env, cwd=self.home,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def check_that_it_is_put_back(self, name):
        job = self.job(name)
        self.assertEqual((job["state"], job["attempts"]), ("pending", 0))
        for pid in self.pids():
            self.assertFalse(alive(pid), f"{pid} of the job is alive")
        self.assertEqual(self.job_processes(), [])


class Stop(StopTest):
    def test_it_reaches_every_worker_and_lets_jobs_finish(self):
        workers = self.start_workers(3, "--count", "2")
        self.enqueue_all({"id": f"j{i}", "command": self.until_told()} for i in range(6))
        self.wait_for_jobs(6)
        self.q("enqueue", "true", "--id", "later")
        stop = self.in_background("worker", "stop")
        for worker in workers:
            wait_until(lambda w=worker: "finish" in w.said(), "the worker to say that it stops")
        self.assertIsNone(stop.poll())
        self.assertEqual([worker.process.poll() for worker in workers], [None] * 3)
        self.assertEqual(len(self.jobs("--state", "processing")), 6)
        self.tell()
        self.assertEqual(stop.wait(), 0)
        self.assertEqual([worker.wait() for worker in workers], [0, 0, 0])
        self.assertEqual(self.live_workers(), [])
        states = self.states()
        self.assertEqual(states.pop("later"), "pending")
        self.assertEqual(set(states.values()), {"completed"})
        self.assertEqual({job["attempts"] for job in self.jobs("--state", "completed")}, {1})
        # A fresh start works at once: nothing of the stop is left.
        self.start_worker()
        self.q("wait", "later")

    def test_without_workers_it_is_no_error(self):
        self.q("enqueue", "true")
        done = self.run_q("worker", "stop")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"no workers", done.stderr)

    def test_after_its_timeout_it_says_so_and_the_jobs_go_on(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.until_told(), "--id", "a")
        self.wait_for_jobs(1)
        self.fails(124, "worker", "stop", "--quiet", "--timeout", "0.2s")
        self.assertIsNone(worker.process.poll())
        self.assertEqual(self.job("a")["state"], "processing")
        self.tell()
        self.assertEqual(worker.wait(), 0)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))

    def test_by_force_jobs_are_ended_and_put_back(self):
        workers = self.start_workers(2)
        self.q("enqueue", self.with_child(), "--id", "a")
        self.q("enqueue", self.with_child(), "--id", "b")
        self.wait_for_jobs(2)
        self.q("worker", "stop", "--force")
        self.assertEqual([worker.wait() for worker in workers], [0, 0])
        self.check_that_it_is_put_back("a")
        self.check_that_it_is_put_back("b")

    def test_force_after_a_gentle_stop(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.with_child(), "--id", "a")
        self.wait_for_jobs(1)
        self.fails(124, "worker", "stop", "--quiet", "--timeout", "0.2s")
        self.q("worker", "stop", "--force")
        self.assertEqual(worker.wait(), 0)
        self.check_that_it_is_put_back("a")

    def test_a_second_stop_is_as_gentle_as_the_first(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.until_told(), "--id", "a")
        self.wait_for_jobs(1)
        self.fails(124, "worker", "stop", "--quiet", "--timeout", "0.2s")
        self.fails(124, "worker", "stop", "--quiet", "--timeout", "0.2s")
        self.assertEqual(self.job("a")["state"], "processing")
        self.tell()
        self.assertEqual(worker.wait(), 0)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))

    def test_without_waiting_it_returns_while_jobs_run(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.until_told(), "--id", "a")
        self.wait_for_jobs(1)
        self.q("worker", "stop", "--no-wait")
        wait_until(lambda: "finish" in worker.said(), "the worker to hear of it")
        self.assertEqual(self.job("a")["state"], "processing")
        self.tell()
        self.assertEqual(worker.wait(), 0)

    def test_one_worker_by_its_name_and_one_by_its_pid(self):
        workers = {worker.pid: worker for worker in self.start_workers(3)}
        by_name, by_pid, stays = self.live_workers()
        self.q("worker", "stop", by_name["name"])
        self.assertEqual(workers[by_name["pid"]].wait(), 0)
        self.assertEqual(len(self.live_workers()), 2)
        self.q("worker", "stop", str(by_pid["pid"]))
        self.assertEqual(workers[by_pid["pid"]].wait(), 0)
        self.assertEqual([one["name"] for one in self.live_workers()], [stays["name"]])
        self.fails(3, "worker", "stop", "nobody")
        self.fails(3, "worker", "stop", by_name["name"])
        self.assertIsNone(workers[stays["pid"]].process.poll())


class Workers(StopTest):
    def active(self):
        return json.loads(self.q("status", "--json"))["workers"]

    def test_a_worker_stays_in_the_foreground(self):
        (worker,) = self.start_workers(1, "--count", "3")
        self.assertEqual([one["pid"] for one in self.live_workers()], [worker.pid])
        self.q("enqueue", "echo $PPID", "--id", "a")
        self.q("wait", "a")
        self.assertEqual(self.q("logs", "a"), f"{worker.pid}\n")
        self.assertIsNone(worker.process.poll())

    def test_the_list_tells_what_there_is(self):
        self.assertEqual(json.loads(self.q("worker", "list", "--json")), [])
        (worker,) = self.start_workers(1, "--count", "2", "--queue", "x", "--queue", "y")
        (one,) = self.live_workers()
        self.assertEqual((one["pid"], one["slots"], one["queues"], one["alive"]),
                         (worker.pid, 2, ["x", "y"], True))
        self.assertIn(str(worker.pid), self.q("worker", "list"))

    def test_status_counts_the_workers_that_live(self):
        first, second = self.start_workers(2)
        self.assertEqual(len(self.active()), 2)
        first.kill()
        wait_until(lambda: [one["pid"] for one in self.active()] == [second.pid],
                   "the dead one to be gone from the status")
        second.kill()
        self.assertEqual([one for one in self.active() if one.get("alive", True)], [])
        self.assertEqual(self.live_workers(), [])
        self.assertNotIn("2 workers", self.q("status"))

    def test_more_slots(self):
        self.start_workers(1)
        self.enqueue_all({"id": f"j{i}", "command": self.until_told()} for i in range(3))
        self.wait_for_jobs(1)
        self.assertEqual(len(self.jobs("--state", "processing")), 1)
        self.q("worker", "scale", "3")
        self.wait_for_jobs(3)
        wait_until(lambda: self.live_workers()[0]["slots"] == 3, "the list to tell")
        self.tell()
        self.q("wait", "--all")

    def test_fewer_slots_end_no_job(self):
        self.start_workers(1, "--count", "2")
        self.enqueue_all({"id": f"j{i}", "command": self.until_told()} for i in range(4))
        self.wait_for_jobs(2)
        self.q("worker", "scale", "1")
        wait_until(lambda: self.live_workers()[0]["slots"] == 1, "the list to tell")
        self.assertEqual(len(lines_of(self.began)), 2)
        self.tell()
        self.q("wait", "--all")
        self.assertEqual({job["attempts"] for job in self.jobs()}, {1})

    def test_a_scale_that_makes_no_sense(self):
        self.fails(3, "worker", "scale", "2")
        self.start_workers(1)
        for words in ([], ["0"], ["x"], ["-1"], ["100000"]):
            self.fails(2, "worker", "scale", *words)
        self.fails(3, "worker", "scale", "2", "nobody")
        self.assertEqual(self.live_workers()[0]["slots"], 1)


class Signals(StopTest):
    """What Ctrl-C and `kill` do, once, twice and three times."""

    number = signal.SIGINT

    def stop_once(self, worker):
        """Two signals that wait at the same time are one: so wait until it is heard."""
        worker.signal(self.number)
        wait_until(lambda: "Ctrl-C again" in worker.said(), "the worker to hear the first signal")

    def test_one_lets_the_job_finish(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.until_told(), "--id", "a")
        self.q("enqueue", "true", "--id", "b")
        self.wait_for_jobs(1)
        self.stop_once(worker)
        self.assertEqual(self.job("a")["state"], "processing")
        self.tell()
        self.assertEqual(worker.wait(), 0)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))
        self.assertEqual((self.job("b")["state"], self.job("b")["attempts"]), ("pending", 0))

    def test_two_end_the_job_and_put_it_back(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.with_child(), "--id", "a")
        self.wait_for_jobs(1)
        self.stop_once(worker)
        worker.signal(self.number)
        self.assertEqual(worker.wait(), 0)
        self.check_that_it_is_put_back("a")

    def test_three_kill_a_job_that_does_not_listen(self):
        (worker,) = self.start_workers(1)
        self.q("enqueue", self.with_child("trap '' TERM;"), "--id", "a", "--kill-after", "1h")
        self.wait_for_jobs(1)
        self.stop_once(worker)
        worker.signal(self.number)
        wait_until(lambda: "go back to the queue" in worker.said(), "the second to be heard")
        self.assertIsNone(worker.process.poll())
        self.assertTrue(all(alive(pid) for pid in self.pids()))
        worker.signal(self.number)
        self.assertEqual(worker.wait(), 0)
        self.check_that_it_is_put_back("a")

    def test_an_idle_worker_ends_at_once(self):
        (worker,) = self.start_workers(1)
        worker.signal(self.number)
        self.assertEqual(worker.wait(), 0)
        self.assertEqual(self.live_workers(), [])


class SigTerm(Signals):
    number = signal.SIGTERM


if __name__ == "__main__":
    main()
