"""Workers that end when nothing is left, and many of them on one queue: every job exactly once."""
import os
import subprocess

from harness import LONG, QUEUECTL, ToldTest, lines_of, main, wait_until


class Drain(ToldTest):
    def test_with_nothing_to_do_it_ends_at_once(self):
        self.drain()
        self.drain("--count", "4")

    def test_it_waits_for_a_retry_in_backoff(self):
        self.q("enqueue", "test $QUEUECTL_ATTEMPT -gt 1", "--id", "a", "--backoff-base", "1")
        self.drain()
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 2))

    def test_it_waits_for_a_job_whose_time_has_not_come(self):
        self.q("enqueue", "true", "--id", "a", "--delay", "0.7s")
        self.drain()
        self.assertEqual(self.job("a")["state"], "completed")

    def test_it_waits_for_the_jobs_of_other_workers(self):
        self.q("enqueue", self.until_told(), "--id", "long")
        (other,) = self.start_workers(1)
        self.wait_for_begun("long")
        (drain,) = self.start_workers(1, "--drain")
        # The other is busy: each of these is run by the one that drains, and found it there.
        for i in range(3):
            self.q("enqueue", "echo $PPID", "--id", f"j{i}")
            self.q("wait", f"j{i}")
            self.assertEqual(self.q("logs", f"j{i}"), f"{drain.pid}\n")
        self.assertIsNone(drain.process.poll())
        self.tell()
        self.assertEqual(drain.wait(), 0)
        self.assertEqual(self.job("long")["state"], "completed")
        self.assertIsNone(other.process.poll())

    def test_it_takes_over_the_job_of_a_worker_that_is_killed(self):
        self.q("enqueue", f"test $QUEUECTL_ATTEMPT -gt 1 || {{ {self.until_told()}; }}",
               "--id", "a")
        (other,) = self.start_workers(1)
        self.wait_for_begun("a")
        (drain,) = self.start_workers(1, "--drain")
        other.kill()
        self.assertEqual(drain.wait(), 0)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 2))

    def test_held_jobs_do_not_keep_it(self):
        self.q("enqueue", "true", "--id", "a", "--hold")
        self.q("enqueue", "true", "--id", "b")
        self.q("enqueue", "true", "--id", "c", "--after", "a")
        self.drain()
        self.assertEqual(self.states(), {"a": "held", "b": "completed", "c": "waiting"})
        self.q("unhold", "a")
        self.drain()
        self.assertEqual(set(self.states().values()), {"completed"})

    def test_a_paused_queue_does_not_keep_it(self):
        self.q("enqueue", "true", "--id", "a")
        self.q("enqueue", "true", "--id", "later", "--delay", "1h")
        self.q("enqueue", "true", "--id", "b", "--queue", "other")
        self.q("pause")
        self.drain("--queue", "default", "--queue", "other")
        self.assertEqual(self.states(), {"a": "pending", "later": "scheduled"})
        self.assertEqual(self.job("b", "--queue", "other")["state"], "completed")

    def test_it_waits_for_what_still_runs_in_a_paused_queue(self):
        self.q("enqueue", self.until_told(), "--id", "a")
        (drain,) = self.start_workers(1, "--drain")
        self.wait_for_begun("a")
        self.q("pause")
        self.assertIsNone(drain.process.poll())
        self.tell()
        self.assertEqual(drain.wait(), 0)
        self.assertEqual(self.job("a")["state"], "completed")

    def test_it_runs_what_jobs_enqueue(self):
        again = f"{QUEUECTL} --db {self.db} enqueue"
        self.q("enqueue", f"{again} '{again} true --id c' --id b", "--id", "a")
        self.drain("--count", "2")
        self.assertEqual(self.states(), {name: "completed" for name in "abc"})

    def test_jobs_enqueue_into_the_store_that_they_are_of(self):
        self.q("enqueue", f"{QUEUECTL} enqueue true --id b", "--id", "a")
        self.drain()
        self.assertEqual(self.states(), {"a": "completed", "b": "completed"})

    def test_it_ends_with_0_though_jobs_are_dead(self):
        self.q("enqueue", "exit 1", "--id", "a", "--max-retries", "1")
        self.drain()
        self.assertEqual(self.job("a")["state"], "dead")

    def test_only_the_queues_that_it_serves_count(self):
        for name in ("x", "y", "z"):
            self.q("enqueue", "true", "--id", "a", "--queue", name)
        self.drain("--queue", "x", "--queue", "y")
        self.assertEqual([self.job("a", "--queue", name)["state"] for name in ("x", "y", "z")],
                         ["completed", "completed", "pending"])


class ExactlyOnce(ToldTest):
    """Many jobs, many workers, many shells."""

    def test_many_jobs_and_four_workers(self):
        number = 2000 if LONG else 300
        out = os.path.join(self.home, "out")
        self.enqueue_all({"id": f"job-{i}", "command": f"echo $QUEUECTL_JOB_ID >> {out}"}
                         for i in range(number))
        workers = [self.start_worker("--drain", "--quiet") for _ in range(4)]
        self.assertEqual([worker.wait() for worker in workers], [0] * 4)
        self.assertEqual([worker.said() for worker in workers], [""] * 4)
        lines = lines_of(out)
        self.assertEqual(len(lines), number)
        self.assertEqual(set(lines), {f"job-{i}" for i in range(number)})
        jobs = self.jobs()
        self.assertEqual({(job["state"], job["attempts"]) for job in jobs}, {("completed", 1)})
        self.assertEqual(len(jobs), number)
        self.verify()

    def test_many_shells_enqueue_while_four_workers_run(self):
        shells, each = (50, 100) if LONG else (10, 20)
        out = os.path.join(self.home, "out")
        workers = self.start_workers(4, "--quiet")
        script = ('i=0; while test $i -lt "$2"; do "$3" enqueue "echo \\$QUEUECTL_JOB_ID >> $4" '
                  '--id "$1-$i" || exit; i=$((i + 1)); done')
        running = [subprocess.Popen(
            ["sh", "-c", script, "sh", f"shell{i}", str(each), QUEUECTL, out], env=self.env,
            cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE) for i in range(shells)]
        told = []
        for shell in running:
            output, errors = shell.communicate()
            self.assertEqual((shell.returncode, errors), (0, b""))
            told += output.decode().split()
        wanted = {f"shell{i}-{j}" for i in range(shells) for j in range(each)}
        self.assertEqual(set(told), wanted)
        self.assertEqual(len(told), len(wanted))
        self.q("wait", "--all")
        self.assertEqual({job["id"] for job in self.jobs("--state", "completed")}, wanted)
        self.assertEqual(sorted(lines_of(out)), sorted(wanted))
        self.q("worker", "stop")
        self.assertEqual([worker.wait() for worker in workers], [0] * 4)
        self.assertEqual([worker.said() for worker in workers], [""] * 4)
        wait_until(lambda: not self.live_workers(), "the workers to be gone")


if __name__ == "__main__":
    main()
