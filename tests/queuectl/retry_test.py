"""Failures: retries, backoff, the dead-letter queue, time limits, signals."""
import os
import signal
from datetime import datetime

from harness import QueuectlTest, alive, lines_of, main, wait_until
from waiting import now_ms


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Retry(QueuectlTest):
    def test_a_failing_job_runs_three_times_with_growing_waits_and_is_dead(self):
        self.q("enqueue", "exit 1", "--id", "a")
        self.drain()
        job = self.job("a")
        self.assertEqual((job["state"], job["attempts"], job["exit_code"], job["last_error"]),
                         ("dead", 3, 1, "exit code 1"))
        runs = job["runs"]
        self.assertEqual([run["attempt"] for run in runs], [1, 2, 3])
        gaps = [seconds(after["started_at"]) - seconds(before["ended_at"])
                for before, after in zip(runs, runs[1:])]
        # Never early; how late is a matter of the machine, and printed.
        self.assertGreaterEqual(gaps[0], 2.0)
        self.assertGreaterEqual(gaps[1], 4.0)
        print(f"figure queuectl.backoff_late_s {max(gaps[0] - 2, gaps[1] - 4):.3f}")

    def test_a_job_in_backoff_is_failed(self):
        self.q("enqueue", "exit 3", "--id", "a", "--backoff-base", "100")
        worker = self.start_worker()
        self.wait_for_state("a", "failed")
        job = self.jobs("--state", "failed")[0]
        self.assertEqual((job["exit_code"], job["attempts"]), (3, 1))
        self.assertGreater(seconds(job["run_at"]) - seconds(job["updated_at"]), 90)
        self.q("retry", "a")
        wait_until(lambda: self.job("a")["attempts"] == 2, "the second run")
        worker.kill()

    def test_the_waits_are_powers_of_the_base(self):
        """By the times that are planned: an operator brings the attempts forward."""
        self.q("enqueue", "exit 1", "--id", "a", "--backoff-base", "16", "--max-retries", "3")
        self.start_worker()
        for attempt in (1, 2):
            wait_until(lambda: self.job("a")["attempts"] == attempt
                       and self.job("a")["state"] == "failed", f"attempt {attempt} to fail")
            job = self.job("a")
            wait = seconds(job["run_at"]) - seconds(job["runs"][-1]["ended_at"])
            self.assertAlmostEqual(wait, 16 ** attempt, delta=0.002)
            self.q("retry", "a")
        self.wait_for_state("a", "dead")

    def test_the_dead_letter_queue(self):
        self.q("enqueue", "echo no >&2; exit 7", "--id", "a", "--max-retries", "1")
        self.q("enqueue", "true", "--id", "b")
        self.drain()
        self.assertIn("exit code 7", self.q("dlq", "list"))
        self.assertEqual(self.jobs("--state", "dead")[0]["exit_code"], 7)
        self.assertIn("exit code 7", self.q("dlq", "show", "a"))
        self.fails(3, "dlq", "retry", "nobody")
        self.fails(4, "dlq", "retry", "b")
        self.fails(4, "dlq", "show", "b")
        self.q("dlq", "retry", "a")
        job = self.job("a")
        self.assertEqual((job["state"], job["attempts"]), ("pending", 0))
        self.drain()
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("dead", 1))
        self.q("dlq", "retry", "--all")
        self.assertEqual(self.q("dlq", "list"), "")
        done = self.run_q("dlq", "retry", "--all")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"empty", done.stderr)
        self.drain()
        self.q("dlq", "purge")
        self.fails(3, "show", "a")

    def test_a_command_that_does_not_exist(self):
        if "UNDER_VALGRIND" in os.environ:
            self.skipTest("valgrind gives a new process a copy of our memory, to write errors to")
        self.q("enqueue", "no-such-program --x", "--id", "text", "--backoff-base", "0")
        self.q("enqueue", "--id", "argv", "--backoff-base", "0", "--", "no-such-program", "--x")
        self.q("enqueue", "true", "--id", "cwd", "--backoff-base", "0", "--cwd", "/no/such/place")
        self.drain()
        for name in ("text", "argv"):
            job = self.job(name)
            self.assertEqual((job["state"], job["attempts"], job["exit_code"]), ("dead", 3, 127))
            self.assertIn("not found", self.q("logs", name))
        self.assertIn("/no/such/place", self.job("cwd")["last_error"])

    def test_a_job_killed_by_a_signal(self):
        self.q("enqueue", "kill -USR1 $$", "--id", "a", "--max-retries", "1")
        self.drain()
        job = self.job("a")
        self.assertEqual(job["exit_code"], 128 + signal.SIGUSR1)
        self.assertIn("SIGUSR1", job["last_error"])

    def test_a_job_over_its_time_is_ended_with_all_of_its_processes(self):
        pids = os.path.join(self.home, "pids")
        self.q("enqueue", f"trap '' TERM; sleep 100 & echo $$ $! > {pids}; sleep 100", "--id", "a",
               "--timeout", "1", "--kill-after", "0.5", "--max-retries", "1")
        job = self.run_until_it_wrote("a", pids)
        self.assertEqual(job["state"], "dead")
        self.assertIn("timed out", job["last_error"])
        self.assertGreaterEqual(job["duration"], 1.5)
        for pid in lines_of(pids)[0].split():
            self.assertFalse(alive(int(pid)))
        self.assertEqual(self.job_processes(), [])

    def run_until_it_wrote(self, name, file):
        """Runs a job with a short time limit. It begins by writing a file: on a machine that stalls
        its time may be over before, and it runs again."""
        def wrote():
            self.drain()
            if not lines_of(file):
                self.q("retry", name)
            return lines_of(file)

        wait_until(wrote, f"{name} to begin within its time limit")
        return self.job(name)

    def test_a_job_that_obeys_sigterm_is_not_killed(self):
        ready = os.path.join(self.home, "ready")
        self.q("enqueue", f"trap 'echo bye; exit 5' TERM; echo > {ready}; "
               "while :; do sleep 0.05; done", "--id", "a", "--timeout", "0.5", "--kill-after",
               "1h", "--max-retries", "1")
        self.assertEqual(self.run_until_it_wrote("a", ready)["exit_code"], 5)
        self.assertTrue(self.q("logs", "a").endswith("bye\n"))

    def test_exit_codes_decide_about_retries(self):
        self.q("enqueue", "exit 9", "--id", "a", "--no-retry-on", "9,10")
        self.q("enqueue", "exit 9", "--id", "b", "--retry-on", "75")
        self.q("enqueue", "exit 75", "--id", "c", "--retry-on", "75", "--backoff-base", "0")
        self.drain()
        self.assertEqual([self.job(name)["attempts"] for name in "abc"], [1, 1, 3])
        self.assertEqual(set(self.states().values()), {"dead"})

    def test_what_a_job_leaves_in_its_group_is_ended_with_it(self):
        pids = os.path.join(self.home, "pids")
        self.q("enqueue", f"sleep 1000 & echo $! > {pids}", "--id", "a")
        self.drain()
        self.assertEqual(self.job("a")["state"], "completed")
        wait_until(lambda: not alive(int(lines_of(pids)[0])), "the sleep to go")

    def test_a_follow_up_is_run_once_the_job_is_over(self):
        out = os.path.join(self.home, "out")
        tell = f'echo "$QUEUECTL_DONE_ID $QUEUECTL_DONE_STATE $QUEUECTL_DONE_EXIT_CODE" >> {out}'
        self.q("enqueue", "true", "--id", "good", "--on-done", tell)
        self.q("enqueue", "exit 4", "--id", "bad", "--backoff-base", "0", "--on-done", tell)
        self.drain()
        self.assertEqual(sorted(lines_of(out)), ["bad dead 4", "good completed 0"])

    def test_a_scheduled_job_waits_for_its_time(self):
        self.q("enqueue", "true", "--id", "c", "--delay", "3600")
        self.q("enqueue", "true", "--id", "d", "--at", "+1h")
        self.assertEqual(set(self.states().values()), {"scheduled"})
        self.q("cancel", "c", "d")
        begin = now_ms() / 1000
        self.q("enqueue", "date +%s.%N", "--id", "a", "--delay", "2")
        self.q("enqueue", "date +%s.%N", "--id", "b", "--at", "+2s")
        self.drain("--count", "2")
        late = []
        for name in "ab":
            started = float(self.q("logs", name))
            self.assertGreaterEqual(started, begin + 2)
            late.append(started - begin - 2)
        print(f"figure queuectl.due_late_s {max(late):.3f}")


if __name__ == "__main__":
    main()
