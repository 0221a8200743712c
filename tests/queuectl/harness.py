"""What the tests of the real queuectl share: a store of their own, the program, its workers.

Every test works on the program as a user does: command lines, exit codes, files, signals. Each has a
home folder of its own; nothing it starts outlives it.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from waiting import LONG, PATIENCE, Stopwatch, chance, wait_past, wait_until  # noqa: F401

QUEUECTL = os.environ["QUEUECTL"]


def lines_of(path):
    """The lines of a file that jobs append to; none if it is not there yet."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def alive(pid):
    """Whether a process lives; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


class Worker:
    """A `queuectl worker start` in the background, in a session of its own."""

    def __init__(self, case, arguments, env=None):
        self.log = os.path.join(case.home, f"worker-{len(case.workers)}.log")
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                [QUEUECTL, "worker", "start", *arguments], env={**case.env, **(env or {})},
                cwd=case.home,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        self.pid = self.process.pid

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait(self, patience=PATIENCE):
        return self.process.wait(patience)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


class QueuectlTest(unittest.TestCase):
    """A test with a home folder and a store of its own, on disk or, by default, in memory."""

    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="queuectl-", dir=self.place)
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.db = os.path.join(self.home, "db")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "QUEUECTL_DB": self.db,
                    "LANG": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.workers = []
        self.addCleanup(self.end_workers)

    def end_workers(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()
        self.kill_stragglers()

    def kill_stragglers(self):
        for pid in self.job_processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def job_processes(self):
        """The processes whose environment says that they are of this test's jobs."""
        mark = f"HOME={self.home}\0".encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    environment = file.read()
            except OSError:
                continue
            if mark in environment and b"QUEUECTL_TOKEN=" in environment and alive(int(name)):
                found.append(int(name))
        return found

    def run_q(self, *arguments, stdin="", env=None, cwd=None, timeout=PATIENCE):
        """Runs queuectl to its end; output as bytes decoded with replacement."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        return subprocess.run([QUEUECTL, *arguments], input=stdin, env={**self.env, **(env or {})},
                              cwd=cwd or self.home, capture_output=True, timeout=timeout,
                              check=False)

    def q(self, *arguments, code=0, **options):
        """The same, checks the exit code, and returns standard output as text."""
        done = self.run_q(*arguments, **options)
        self.assertEqual(done.returncode, code,
                         f"queuectl {arguments}\n{done.stdout.decode(errors='replace')}"
                         f"{done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")

    def fails(self, code, *arguments, **options):
        """Checks the exit code and that there is a message; returns the message."""
        done = self.run_q(*arguments, **options)
        message = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, code, f"queuectl {arguments}\n{message}")
        self.assertTrue(message.startswith("queuectl: "), message)
        return message

    def jobs(self, *arguments):
        return json.loads(self.q("list", "--json", *arguments))

    def job(self, name, *arguments):
        return json.loads(self.q("show", name, "--json", *arguments))[0]

    def states(self):
        return {job["id"]: job["state"] for job in self.jobs()}

    def start_worker(self, *arguments, env=None):
        worker = Worker(self, arguments, env)
        self.workers.append(worker)
        return worker

    def live_workers(self):
        return [one for one in json.loads(self.q("worker", "list", "--json")) if one["alive"]]

    def start_workers(self, number, *arguments, env=None):
        """Starts them, and returns when all of them are registered."""
        started = [self.start_worker(*arguments, env=env) for _ in range(number)]
        wanted = {worker.pid for worker in started}
        wait_until(lambda: wanted <= {one["pid"] for one in self.live_workers()}, "the workers")
        return started

    def drain(self, *arguments, code=0):
        return self.q("worker", "start", "--drain", *arguments, code=code)

    def wait_for_state(self, name, state):
        return wait_until(lambda: self.job(name)["state"] == state, f"{name} to be {state}")

    def enqueue_all(self, jobs):
        """Many jobs, as JSON objects, by one command."""
        self.q("enqueue", "-", stdin="".join(json.dumps(job) + "\n" for job in jobs))

    def verify(self):
        """Checks the store, by a version of the program that can."""
        if "verify" in self.q("--help"):
            # Valgrind does not let a program start itself again.
            self.q("verify", *(["--here"] if "UNDER_VALGRIND" in os.environ else []))


class ToldTest(QueuectlTest):
    """Jobs that say when they begin, and end when they are told to."""

    def setUp(self):
        super().setUp()
        self.began = os.path.join(self.home, "began")

    def until_told(self, word="go"):
        """A shell command; `word` is what it waits for."""
        return (f"echo $QUEUECTL_JOB_ID $$ >> {self.began}; "
                f"until test -e {self.home}/{word}; do sleep 0.05; done")

    def tell(self, word="go"):
        with open(os.path.join(self.home, word), "w", encoding="utf-8"):
            pass

    def begun(self):
        return [line.split()[0] for line in lines_of(self.began)]

    def wait_for_begun(self, *names):
        wait_until(lambda: set(names) <= set(self.begun()), f"{names} to begin")

    def in_background(self, *arguments, env=None, **options):
        """A queuectl that the test talks to while it runs."""
        process = subprocess.Popen([QUEUECTL, *arguments], env={**self.env, **(env or {})},
                                   cwd=self.home, **{"stdin": subprocess.DEVNULL,
                                                     "stdout": subprocess.PIPE,
                                                     "stderr": subprocess.PIPE, **options})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


def main():
    unittest.main(verbosity=2)
