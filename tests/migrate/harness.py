"""What the tests of the real sluice-migrate share: trees and a ledger of their own, the program.

Every test works on the program as a user does: command lines, exit codes, files, signals. Each has
a home folder of its own; nothing it starts outlives it. Paths of trees are bytes, as names are.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import reference
import reports
from trees import ROOT

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from waiting import LONG, PATIENCE, Stopwatch, chance, pause, wait_until  # noqa: F401

MIGRATE = os.environ["SLUICE_MIGRATE"]
SAME, DIFFERENT, FAILED, INTERRUPTED = 0, 1, 2, 3
INVALID, NOT_FOUND, CONFLICT, STORE = 2, 3, 4, 5
VERDICTS = ("same", "attributes", "content", "missing", "extra", "clash", "newer", "unknown",
            "excluded")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def seeds(default, long):
    """The seeds of a test with many of them; SLUICE_SEED is the only one if it is set."""
    if "SLUICE_SEED" in os.environ:
        return [int(os.environ["SLUICE_SEED"])]
    return range(1, (long if LONG else default) + 1)


def figure(name, value):
    print(f"figure migrate.{name} {value}", flush=True)


class MigrateTest(unittest.TestCase):
    """A test with a home folder, SRC, DST and a ledger of its own."""

    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="migrate-", dir=self.place)
        os.chmod(self.home, 0o755)
        self.addCleanup(self.remove, self.home)
        self.src, self.dst = (os.path.join(self.home, name).encode() for name in ("src", "dst"))
        self.state = os.path.join(self.home, "state")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    @staticmethod
    def remove(path):
        if not ROOT:
            subprocess.run(["chmod", "-R", "u+rwx", path], check=False, capture_output=True)
        # rmtree does not go deeper than the longest path.
        subprocess.run(["rm", "-rf", path], check=False, capture_output=True)

    def make_roots(self):
        os.mkdir(self.src)
        os.mkdir(self.dst)

    def clone(self):
        """Makes DST an exact copy of SRC."""
        shutil.rmtree(self.dst, ignore_errors=True)
        subprocess.run(["cp", "-a", self.src, self.dst], check=True)

    def argv(self, arguments, state=None):
        """The command line; the ledger is that of the test unless told otherwise."""
        words = [MIGRATE, *arguments]
        if state is not False:
            words += ["--state", state or self.state]
        return words

    def run_m(self, *arguments, state=None, env=None, cwd=None, before=(), timeout=PATIENCE):
        """Runs it to its end. `before`: words in front of the program, such as strace's."""
        return subprocess.run([*before, *self.argv(arguments, state)], stdin=subprocess.DEVNULL,
                              env={**self.env, **(env or {})}, cwd=cwd or self.home,
                              capture_output=True, timeout=timeout, check=False)

    def m(self, *arguments, code=0, **options):
        """The same, checks the exit code (or that it is one of several); returns its output."""
        done = self.run_m(*arguments, **options)
        self.check_code(done, code)
        return done.stdout

    def check_code(self, done, code):
        allowed = code if isinstance(code, tuple) else (code,)
        self.assertIn(done.returncode, allowed,
                      f"{done.args}\n{done.stdout[-2000:]!r}\n"
                      f"{done.stderr[-3000:].decode(errors='replace')}")

    def fails(self, code, *arguments, **options):
        """Checks the exit code and that there is a message; returns the message."""
        done = self.run_m(*arguments, **options)
        self.check_code(done, code)
        message = done.stderr.decode(errors="replace")
        self.assertRegex(message, r"(?m)^sluice-migrate: .")
        return message

    def compare(self, *options, code=(SAME, DIFFERENT), src=None, dst=None, **others):
        """Compares to the end; returns the numbers of the summary by their names."""
        done = self.run_m("compare", src or self.src, dst or self.dst, *options, **others)
        self.check_code(done, code)
        return self.summary(done.stdout)

    def summary(self, output):
        """The lines `NAME  N` of a summary."""
        found = {}
        for line in output.decode().splitlines():
            match = re.fullmatch(r"\s*(\S.*?)\s+([\d,]+)( .*)?", line)
            if match:
                found[match[1]] = int(match[2].replace(",", ""))
        return found

    def counts(self, numbers):
        """Of a summary, the verdicts that are not 0."""
        return {name: numbers[name] for name in VERDICTS if numbers.get(name)}

    def report(self, *options, **others):
        return self.m("report", *options, **others)

    def lines(self, *options, **others):
        return reports.itemized(self.report("--format", "itemize", *options, **others))

    def objects(self, *options, **others):
        return reports.json_lines(self.report("--format", "json", *options, **others))

    def by_path(self, *options, **others):
        found = self.objects(*options, **others)
        paths = {reports.path_of(one): one for one in found}
        self.assertEqual(len(paths), len(found), "a path is in the report twice")
        return paths

    def json(self, *arguments, code=0, **options):
        return json.loads(self.m(*arguments, "--json", code=code, **options))

    def verify(self, *options, **others):
        """Lets the ledger prove itself, by a version of the program that can."""
        if self.knows("verify"):
            self.m("verify", *options, **others)

    def knows(self, command):
        """Whether the program has this command; only with SLUICE_PARTIAL it need not."""
        return not os.environ.get("SLUICE_PARTIAL") or (
            self.run_m(command, "--help", state=False).returncode == 0)

    def check_report(self, rules=None):
        """The report is, line for line, what comparing the trees by hand gives."""
        expected = reference.Comparison(self.src, self.dst, rules)
        self.assertEqual(self.lines(), expected.lines())
        return expected

    def start(self, *arguments, before=(), **options):
        """The program in the background, in a session of its own."""
        process = subprocess.Popen(
            [*before, *self.argv(arguments, options.pop("state", None))], cwd=self.home,
            env={**self.env, **options.pop("env", {})}, start_new_session=True,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               **options})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # Also what a strace holds.
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


class Strace:
    """Words to put before the program, and what it did by then: lines without the pid."""

    def __init__(self, case, *options, name="strace"):
        if shutil.which("strace") is None:
            case.skipTest("needs strace")
        case.env["ASAN_OPTIONS"] = case.env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.path = os.path.join(case.home, name)
        self.words = ["strace", "-f", "-qq", "-y", "-s", "4096", "-o", self.path, *options]

    def lines(self):
        """A call cut in two by another thread's is joined again, where it began."""
        if not os.path.exists(self.path):
            return []
        lines, cut = [], {}
        with open(self.path, "rb") as file:
            for written in file.read().splitlines():
                pid, _, line = written.partition(b" ")
                line = line.strip()
                if line.startswith(b"<... ") and pid in cut:
                    lines[cut.pop(pid)] += line.partition(b" resumed>")[2]
                    continue
                if line.endswith(b" <unfinished ...>"):
                    line = line.removesuffix(b" <unfinished ...>")
                    cut[pid] = len(lines)
                lines.append(line)
        return lines

    def calls(self, name):
        return [line for line in self.lines() if line.startswith(name + b"(")]

    def threads(self, name):
        """Those that made such a call."""
        with open(self.path, "rb") as file:
            made = (line.split(maxsplit=1) for line in file)
            return {pid for pid, call in made if call.startswith(name + b"(")}


class Paused:
    """The program in the background, stopped by strace at the n-th of some system calls; "n+": at
    every one from there."""

    def __init__(self, case, calls, number, *arguments, options=()):
        self.trace = Strace(case, *options, "-e", f"trace={calls}",
                            "-e", f"inject={calls}:signal=STOP:when={number}")
        self.trace.words.remove("-qq")  # Which would keep the stop to itself.
        self.process = case.start(*arguments, before=self.trace.words)
        wait_until(self.stands_still, "it to stand still")

    def stands_still(self):
        if self.process.poll() is not None:
            raise AssertionError(f"it is over: {self.process.communicate()}")
        return any(b"stopped by SIGSTOP" in line for line in self.trace.lines())

    def signal(self, number):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="utf-8") as file:
            for child in file.read().split():
                os.kill(int(child), number)

    def finish(self):
        """Lets it go on, as often as it stops, to its end; returns its two outputs."""
        def over():
            if self.process.poll() is None:
                with contextlib.suppress(OSError):
                    self.signal(signal.SIGCONT)
            return self.process.poll() is not None

        wait_until(over, "its end")
        return self.process.communicate()


def main():
    unittest.main(verbosity=2)
