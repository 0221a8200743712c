"""What the tests of the real retracker share: the program as an operator runs it, with any options,
environment and files, and a home folder of its own for each test.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from ports import free_port  # noqa: E402, F401
from waiting import LONG, PATIENCE, Stopwatch, wait_until  # noqa: E402, F401

RETRACKER = os.environ["RETRACKER"]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def variable(name):
    """The name of a setting as the environment has it."""
    return "RETRACKER_" + name.upper()


class RetrackerTest(unittest.TestCase):
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="retracker-", dir=self.place)
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        # No variable of ours but what it needs to run.
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8"}
        self.env.update({name: value for name, value in os.environ.items()
                         if name.endswith("SAN_OPTIONS")})

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_r(self, *arguments, env=None):
        """Waits until it has ended."""
        done = subprocess.run([RETRACKER, *arguments], env={**self.env, **(env or {})},
                              cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False)
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def printed(self, *arguments, **options):
        """What it prints when it has nothing to complain of."""
        ended = self.run_r(*arguments, **options)
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        return ended.out

    def refused(self, *arguments, code=2, **options):
        """Checks that it does nothing, and returns the one line that it says."""
        before = sorted(os.listdir(self.home))
        ended = self.run_r(*arguments, **options)
        self.assertEqual((ended.code, ended.out), (code, ""), (arguments, ended))
        self.assertRegex(ended.err, r"\Aretracker: [^\n]+\n\Z", arguments)
        self.assertEqual(sorted(os.listdir(self.home)), before, arguments)
        return ended.err[len("retracker: "):-1]

    def warned(self, *arguments, **options):
        """What it prints as JSON, and the lines that it says about it."""
        ended = self.run_r(*arguments, "--json", **options)
        self.assertEqual(ended.code, 0, ended)
        lines = ended.err.splitlines()
        for line in lines:
            self.assertTrue(line.startswith("retracker: "), line)
        return json.loads(ended.out), [line[len("retracker: "):] for line in lines]

    def stats(self, tracker):
        return json.loads(tracker.get("/stats?format=json"))

    def check_books(self, stats):
        """What was begun has ended, in one way, or is under way."""
        jobs, queue = stats["jobs"], stats["queue"]
        ended = (jobs["succeeded"] + jobs["failed"] + jobs["cancelled"] +
                 sum(jobs["dropped"].values()))
        self.assertEqual(jobs["created"], ended + jobs["pending"], stats)
        self.assertEqual(jobs["pending"], queue["queued"] + queue["scheduled"] + queue["running"])
        self.assertEqual(queue["running"], sum(one["in_flight"] for one in stats["forwarders"]))
        for one in stats["forwarders"]:
            self.assertEqual(one["sent"], one["ok"] + one["refused"] + one["busy"] +
                             one["unreachable"] + one["given_up"] + one["in_flight"], one)

    def settings(self, *arguments, **options):
        """Each setting's value and where it is from, by name."""
        return {one["name"]: (one["value"], one["from"])
                for one in json.loads(self.printed("settings", *arguments, "--json", **options))}


def main():
    unittest.main(verbosity=2)
