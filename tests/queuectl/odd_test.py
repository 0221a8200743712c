"""Odd surroundings: a clock that is set back, a store of another version, valgrind."""
import os
import subprocess
import sys

from harness import LONG, QUEUECTL, ToldTest, lines_of, main, wait_until
from waiting import utc_now

HERE = os.path.dirname(os.path.abspath(__file__))


class Clock(ToldTest):
    """Every program of the test sees the same clock, which the test moves."""

    def setUp(self):
        super().setUp()
        self.moved = os.path.join(self.home, "moved")
        self.env["MOVED_CLOCK"] = self.moved
        self.env["LD_PRELOAD"] = os.environ["MOVED_CLOCK_LIBRARY"]

    def move(self, seconds):
        with open(self.moved + ".new", "w", encoding="utf-8") as file:
            file.write(str(seconds))
        os.rename(self.moved + ".new", self.moved)

    def test_the_clock_of_the_test_is_the_one_that_is_seen(self):
        self.move(-3600 * 24 * 365 * 10)
        self.q("enqueue", "true", "--id", "a")
        self.assertEqual(int(self.job("a")["created_at"][:4]), utc_now().year - 10)

    def test_a_clock_that_is_set_back_an_hour_stalls_nothing(self):
        self.start_workers(1)
        self.q("enqueue", "true", "--id", "later", "--delay", "2s")
        self.q("enqueue", "exit 1", "--id", "retried", "--max-retries", "2")
        wait_until(lambda: self.job("retried")["attempts"] >= 1, "the first run")
        self.move(-3600)
        self.q("enqueue", "true", "--id", "new")
        self.q("enqueue", "true", "--id", "new and later", "--delay", "1s")
        for name in ("new", "new and later", "later"):
            self.wait_for_state(name, "completed")
        self.wait_for_state("retried", "dead")
        self.verify()

    def test_a_clock_that_jumps_ahead_loses_no_running_job(self):
        self.start_workers(1)
        self.q("enqueue", f"echo ran >> {self.home}/runs; " + self.until_told(), "--id", "a")
        self.wait_for_begun("a")
        self.move(3600 * 24)
        self.start_workers(1)
        self.q("enqueue", "true", "--id", "b")
        self.wait_for_state("b", "completed")
        self.tell()
        self.wait_for_state("a", "completed")
        self.assertEqual(lines_of(f"{self.home}/runs"), ["ran"])
        self.assertEqual(self.job("a")["attempts"], 1)


class Versions(ToldTest):
    def make_format(self, major, minor):
        subprocess.run([os.environ["STORE_OF_TOMORROW"], self.db, str(major), str(minor)],
                       check=True)

    def contents(self):
        with open(os.path.join(self.db, "data.mdb"), "rb") as file:
            return file.read()

    def test_a_store_of_a_newer_program_is_refused_and_left_as_it_is(self):
        self.q("enqueue", "true", "--id", "a")
        for major, minor in ((1, 99), (2, 0)):
            with self.subTest(major=major, minor=minor):
                self.make_format(major, minor)
                before = self.contents()
                for words in (["enqueue", "true"], ["list"], ["worker", "start", "--drain"],
                              ["cancel", "a"], ["pause"]):
                    told = self.fails(5, *words)
                    self.assertIn(f"format {major}.{minor}", told)
                    self.assertIn("newer program", told)
                self.assertEqual(self.contents(), before)

    def test_a_store_of_an_older_program_is_used_and_marked(self):
        self.q("enqueue", "true", "--id", "a")
        self.make_format(1, 0)
        self.drain()
        self.assertEqual(self.states(), {"a": "completed"})
        self.verify()


class Valgrind(ToldTest):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.home, "queuectl")
        self.findings = os.path.join(self.home, "findings")
        os.mkdir(self.findings)
        with open(self.program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n"
                       "export QUEUECTL_STORE_SIZE=1G  # valgrind has room for no more\n"
                       f"exec valgrind -q --log-file={self.findings}/%p '{QUEUECTL}' \"$@\"\n")
        os.chmod(self.program, 0o700)

    def check_findings(self):
        names = os.listdir(self.findings)
        self.assertTrue(names)
        for name in names:
            with open(os.path.join(self.findings, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), "")

    def test_a_job_from_its_beginning_to_its_end(self):
        for words in (["enqueue", '{"id":"a","command":"echo hi"}'],
                      ["enqueue", "exit 3", "--id", "b", "--max-retries", "1"],
                      ["worker", "start", "--count", "2", "--drain"], ["list"],
                      ["status", "--json"], ["logs", "a"], ["dlq", "retry", "b"]):
            subprocess.run([self.program, *words], env=self.env, check=True, capture_output=True)
        self.check_findings()
        self.assertEqual(self.states(), {"a": "completed", "b": "pending"})

    def test_whole_files_of_tests(self):
        if not LONG:
            self.skipTest("takes minutes: ./test --long")
        for name in ("basic", "drain", "flow", "retry", "change"):
            with self.subTest(name=name):
                done = subprocess.run(
                    [sys.executable, os.path.join(HERE, f"{name}_test.py")], check=False,
                    env={**os.environ, "QUEUECTL": self.program, "SLUICE_LONG": "",
                         "UNDER_VALGRIND": "1"},
                    capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-4000:])
        self.check_findings()


if __name__ == "__main__":
    main()
