"""What jobs write: logs, bytes, JSON, and readers that are gone."""
import json
import os
import pty
import re
import subprocess

from harness import LONG, PATIENCE, QUEUECTL, Stopwatch, main, wait_until
from terminal import OutputTest


def sanitized():
    with open(QUEUECTL, "rb") as file:
        program = file.read()
    return b"__asan_" in program or b"__tsan_" in program


class Huge(OutputTest):
    def memory_of(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) * 1024

    def test_output_without_end_is_cut_in_the_middle(self):
        """Defect 7 of the seed: output was kept in memory."""
        size = 5_000_000_000 if LONG else 40_000_000
        limit = 1 << 20
        (worker,) = self.start_workers(1, env={"QUEUECTL_OUTPUT_LIMIT": "1M"})
        self.q("enqueue", f"echo the first line; yes 0123456789 | head -c {size}; echo; "
               "echo the last line", "--id", "a", "--max-retries", "1")
        self.q("wait", "a", timeout=5 * PATIENCE)
        job = self.job("a")
        self.assertEqual((job["state"], job["exit_code"]), ("completed", 0))
        self.assertEqual(job["output_bytes"], size + len("the first line\n\nthe last line\n"))
        info = os.stat(self.log_of())
        self.assertLessEqual(info.st_blocks * 512, limit + (1 << 16))
        print(f"figure queuectl.output_mb_per_s {size / 1e6 / job['duration']:.0f}")
        memory = self.memory_of(worker.pid)
        print(f"figure queuectl.worker_memory_mib {memory / (1 << 20):.1f}")
        if not sanitized():
            self.assertLess(memory, 20 << 20)
        done = self.run_q("logs", "a")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b"the first line\n0123456789\n"))
        self.assertTrue(done.stdout.endswith(b"\nthe last line\n"))
        self.assertLessEqual(len(done.stdout), limit + (1 << 16))
        self.assertGreaterEqual(len(done.stdout), limit - (1 << 16))
        self.assertNotIn(b"\0", done.stdout)
        self.assertIn(b"left out", done.stderr)
        self.assertEqual(self.q("logs", "a", "-n", "1"), "the last line\n")

    def test_a_job_that_writes_without_end_is_ended_by_its_time_limit(self):
        """Defect 7 of the seed: only the shell was killed, not what it had started."""
        (worker,) = self.start_workers(1, env={"QUEUECTL_OUTPUT_LIMIT": "1M"})
        self.q("enqueue", "(while :; do echo more and more; sleep 0.001; done) & "
               "while :; do sleep 0.01; done", "--id", "a", "--timeout", "0.5s",
               "--kill-after", "0.5s", "--max-retries", "1")
        self.fails(1, "wait", "a")
        self.assertIn("timed out", self.job("a")["last_error"])
        self.assertEqual(self.job_processes(), [])
        self.assertIsNone(worker.process.poll())


class Bytes(OutputTest):
    def test_odd_bytes_do_not_break_json(self):
        """In the command, its words, its environment, its label, its output and its errors."""
        odd = b"\xff\xfe\x80 \x01\x1b[31m\x7f \xc3\x28 \xed\xa0\x80 \xf0\x9f\x98\x80 \"\\\n\t"
        self.q("enqueue", "--id", "words", "--label", odd, "--", "printf", "%s", odd)
        self.q("enqueue", b"printf '%s' '" + odd + b"'", "--id", "text", "--env", b"ODD=" + odd)
        self.q("enqueue", "--id", "missing", "--max-retries", "1", "--", b"./no-\xff-\x1b[31m")
        self.q("enqueue", "head -c 100000 /dev/urandom", "--id", "random")
        self.assertEqual(len(self.jobs()), 4)
        self.drain()
        for words in (["list", "--json"], ["show", "words", "text", "missing", "--json"],
                      ["dlq", "list", "--json"], ["status", "--json"]):
            with self.subTest(words=words):
                done = self.run_q(*words)
                self.assertEqual(done.returncode, 0)
                json.loads(done.stdout.decode("utf-8"))
        self.assertEqual(self.run_q("logs", "words").stdout, odd)
        self.assertEqual(self.run_q("logs", "text").stdout, odd)
        self.assertEqual(len(self.run_q("logs", "random").stdout), 100_000)
        for line in self.run_q("export", "--all").stdout.decode("utf-8").splitlines():
            json.loads(line)

    def test_odd_bytes_are_not_sent_to_a_terminal(self):
        odd = b"\x1b]0;title\x07\x1b[2J\x01"
        self.q("enqueue", "--id", "a", "--label", odd, "--max-retries", "1", "--",
               b"./no-" + odd)
        self.drain()
        for words in (["list"], ["show", "a"], ["dlq", "list"], ["top", "--once"]):
            with self.subTest(words=words):
                shown = self.run_q(*words, "--color", "always").stdout
                self.assertNotIn(b"\x1b]0;", shown)
                self.assertNotIn(b"\x1b[2J", shown)
                self.assertNotIn(b"\x01", shown)


class Json(OutputTest):
    def check_list(self, number):
        done = self.run_q("list", "--json", "-v")
        self.assertEqual(done.returncode, 0)
        jobs = json.loads(done.stdout)
        self.assertIsInstance(jobs, list)
        self.assertEqual(len({job["id"] for job in jobs}), number)

    def test_no_jobs(self):
        self.check_list(0)
        for words in (["status"], ["worker", "list"], ["dlq", "list"], ["schedule", "list"],
                      ["config", "list"], ["metrics"], ["verify"], ["doctor"]):
            with self.subTest(words=words):
                json.loads(self.q(*words, "--json", "-v"))

    def test_one_job(self):
        self.q("enqueue", "true")
        self.check_list(1)

    def test_many_jobs(self):
        number = 100_000 if LONG else 2_000
        self.enqueue_all({"command": "true", "id": f"job-{i}", "priority": i % 5}
                         for i in range(number))
        watch = Stopwatch()
        self.check_list(number)
        print(f"figure queuectl.list_json_us_per_job "
              f"{watch.shown(number / 1e6, 1)}")

    def test_what_is_enqueued_is_told_as_json(self):
        self.assertEqual(json.loads(self.q("enqueue", "true", "--id", "a", "--json")), ["a"])
        self.assertEqual(json.loads(self.q("enqueue", "-", "--json", stdin='{"command":"true"}\n'
                                           '{"command":"true","id":"c"}\n'))[1], "c")


class Logs(OutputTest):
    def follow(self, *arguments):
        follower = self.in_background("logs", "-f", *arguments)
        os.set_blocking(follower.stdout.fileno(), False)
        follower.text = ""

        def seen():
            follower.text += (follower.stdout.read() or b"").decode()
            return follower.text
        follower.seen = seen
        return follower

    def wait_for_text(self, follower, text):
        wait_until(lambda: follower.seen() == text, f"{text!r}, not {follower.text!r}")

    def test_they_can_be_followed_while_the_job_runs(self):
        self.q("enqueue", f"echo one; {self.until_told()}; echo two; {self.until_told('stop')}; "
               "echo three; exit 7", "--id", "a", "--max-retries", "1")
        early = self.follow("a")  # Before the job has begun.
        self.start_workers(1)
        self.wait_for_text(early, "one\n")
        late = self.follow("a")
        self.wait_for_text(late, "one\n")
        self.tell()
        self.wait_for_text(early, "one\ntwo\n")
        self.wait_for_text(late, "one\ntwo\n")
        self.assertEqual((early.poll(), late.poll()), (None, None))
        self.tell("stop")
        self.assertEqual((early.wait(), late.wait()), (7, 7))
        self.wait_for_text(early, "one\ntwo\nthree\n")
        self.wait_for_text(late, "one\ntwo\nthree\n")
        done = self.run_q("logs", "-f", "a")  # After its end.
        self.assertEqual((done.returncode, done.stdout), (7, b"one\ntwo\nthree\n"))

    def test_a_job_that_completes_ends_it_with_0(self):
        self.q("enqueue", "echo one; echo two >&2", "--id", "a")
        follower = self.follow("a")
        self.start_workers(1)
        self.assertEqual(follower.wait(), 0)
        self.wait_for_text(follower, "one\ntwo\n")

    def test_all_runs_are_followed(self):
        self.q("enqueue", "echo run $QUEUECTL_ATTEMPT; test $QUEUECTL_ATTEMPT = 2 || "
               f"{{ {self.until_told()}; exit 1; }}", "--id", "a", "--backoff-base", "1")
        follower = self.follow("a")
        self.start_workers(1)
        self.wait_for_text(follower, "run 1\n")
        self.tell()
        self.assertEqual(follower.wait(), 0)
        self.wait_for_text(follower, "run 1\nrun 2\n")

    def test_a_job_that_is_cancelled_ends_it(self):
        self.q("enqueue", "true", "--id", "a", "--hold")
        follower = self.follow("a")
        self.q("cancel", "a")
        self.assertEqual(follower.wait(), 1)

    def test_the_last_lines_and_another_run(self):
        self.q("enqueue", "seq 5; echo run $QUEUECTL_ATTEMPT; exit 1", "--id", "a",
               "--max-retries", "2", "--backoff-base", "0")
        self.q("enqueue", "printf 'a\\nb\\nc'", "--id", "open")
        self.q("enqueue", "true", "--id", "silent")
        self.drain()
        whole = "1\n2\n3\n4\n5\nrun 2\n"
        self.assertEqual(self.q("logs", "a"), whole)
        self.assertEqual(self.q("logs", "a", "--attempt", "1"), whole.replace("run 2", "run 1"))
        self.assertEqual(self.q("logs", "a", "-n", "2"), "5\nrun 2\n")
        self.assertEqual(self.q("logs", "a", "-n", "2", "--attempt", "1"), "5\nrun 1\n")
        self.assertEqual(self.q("logs", "a", "-n", "100"), whole)
        self.assertEqual(self.q("logs", "a", "-n", "0"), "")
        self.assertEqual(self.q("logs", "open", "-n", "2"), "b\nc")
        self.assertEqual(self.q("logs", "silent"), "")
        self.assertEqual(self.q("logs", "open", "a", "-n", "1"), "crun 2\n")
        self.assertIn("show", self.fails(3, "logs", "a", "--attempt", "3"))
        self.fails(2, "logs", "a", "-n", "x")

    def test_a_job_that_has_not_run_says_so(self):
        self.q("enqueue", "true", "--id", "a")
        done = self.run_q("logs", "a")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"has not run yet", done.stderr)


class Unheard(OutputTest):
    """Nobody reads what a worker says: no reason to leave its jobs."""

    def check_that_it_goes_on(self, stderr, deafen=lambda: None):
        self.q("enqueue", self.until_told(), "--id", "a")
        self.q("enqueue", "echo there", "--id", "b")
        worker = self.in_background("worker", "start", stdout=subprocess.DEVNULL, stderr=stderr)
        self.wait_for_begun("a")
        deafen()
        self.tell()
        wait_until(lambda: self.job("b")["state"] == "completed" or worker.poll() is not None,
                   "both jobs, or the end of the worker")
        self.assertIsNone(worker.poll())
        self.assertEqual([self.job(name)["attempts"] for name in "ab"], [1, 1])

    def test_a_log_on_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            self.q("enqueue", "true", "--id", "a")
            worker = self.in_background("worker", "start", "--drain", stderr=full)
            self.assertEqual(worker.wait(), 0)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))

    def test_a_pipe_whose_reader_is_gone(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, writing)
        self.check_that_it_goes_on(writing, lambda: os.close(reading))

    def test_a_terminal_that_is_closed(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, slave)
        self.check_that_it_goes_on(slave, lambda: os.close(master))


if __name__ == "__main__":
    main()
