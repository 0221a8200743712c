"""The tests of one build, run by ctest: for ./test."""
import json
import os
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from results import say

ROOT = Path(__file__).resolve().parent.parent
CORES = os.cpu_count() or 2
WITH_TESTS = ["SLUICE_TESTS=ON", "SLUICE_UNITY=OFF"]  # Of the release build.
TIME_MAX_S, TIME_MAX_LONG_S = 600, 21_600  # Of one test.
REPEATS = 3
REPEATED_MAX = 20  # Tests. If more fail, something else is wrong.


def run(command, **options):
    """Runs a command of ours to its end; tests get no input, or one waiting for it would hang."""
    command = [str(word) for word in command]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", check=False, **options)


def captured(command, **options):
    return run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def escaped(text):
    return re.sub(r"([][().*+?^$|\\])", r"\\\1", text)


class Deadline:
    """When ./test --minutes is over, to the second, as ctest knows it. Without one there is always
    time."""

    def __init__(self, minutes=None):
        self.at = round(time.time() + minutes * 60) if minutes else None

    def over(self):
        return self.at is not None and time.time() > self.at - 0.5

    def left(self):
        return None if self.at is None else max(1, self.at - time.time())

    def for_ctest(self):
        """ctest begins no test after this, and ends at it those that run."""
        return [] if self.at is None else [
            "--stop-time", time.strftime("%H:%M:%S", time.localtime(max(self.at, time.time() + 1)))]


class Suite:
    """The tests of build/STAGE that the options choose."""

    def __init__(self, stage, options, starts=None):
        """`starts`: only tests whose names begin with one of these."""
        self.stage, self.options = stage, options
        self.tree = ROOT / "build" / stage
        self.chosen = []
        wanted = "|".join(escaped(name) for name in options.names)
        if starts is not None:
            wanted = f"^({'|'.join(escaped(start) for start in starts)}).*({wanted})"
        if wanted:
            self.chosen += ["-R", wanted]
        if options.fast:
            self.chosen += ["-L", "fast"]

    def ctest(self, *arguments, **options):
        return captured(["ctest", "--test-dir", self.tree, "--no-tests=ignore", *arguments],
                        **options)

    def labels(self):
        """{name of a test: its labels}."""
        done = run(["ctest", "--test-dir", self.tree, "--show-only=json-v1", *self.chosen],
                   stdout=subprocess.PIPE)
        return {test["name"]: next((prop["value"] for prop in test.get("properties", [])
                                    if prop["name"] == "LABELS"), [])
                for test in json.loads(done.stdout)["tests"]}

    def run(self, results, terminal):
        labels = self.labels()
        report, log = self.tree / "junit.xml", self.tree / "ctest.log"
        report.unlink(missing_ok=True)
        command = ["ctest", "--test-dir", self.tree, f"-j{CORES}", "--no-tests=ignore",
                   "--no-label-summary", "--output-junit", report, "--output-log", log,
                   "--timeout", str(TIME_MAX_LONG_S if self.options.long else TIME_MAX_S),
                   # The default cuts a passing test's output to 1 kB, and with it its figures.
                   "--test-output-size-passed", "9999999", "--test-output-size-failed", "9999999",
                   *self.options.deadline.for_ctest(), *self.chosen]
        done = run(command + ["--progress"]) if terminal else captured(command)
        if not report.exists():
            results.record(self.stage, "ctest", False, done.stdout or "ctest wrote no report")
            return
        first = len(results.failed)
        failures = self.read(report, log, labels, results)
        if done.returncode != 0 and not failures and not self.options.deadline.over():
            results.record(self.stage, "ctest", False,
                           done.stdout or "ctest failed without a failed test")
        self.repeat(failures, labels, first, results)

    def read(self, report, log, labels, results):
        """Records what each test did; {name: (output, reason)} of those that failed."""
        # Only the end of the log knows a crash or a time limit: "12 - name (Timeout)".
        reasons = dict(re.findall(r"^\s+\d+ - (.+) \((.+)\)$", log.read_text(errors="replace"), re.M))
        failures, seen = {}, set()
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name, status = case.get("name"), case.get("status")
            seen.add(name)
            output = case.findtext("system-out") or ""
            results.figures += [f"{line} ({self.stage})" for line in output.splitlines()
                                if line.startswith("figure ")]
            reason = reasons.get(name, status)
            skipped = case.find("skipped")
            # A test whose program is missing is "notrun" too, and that is a failure.
            if status == "disabled" or (skipped is not None and "SKIP" in skipped.get("message", "")):
                # As GoogleTest and Python's unittest say why.
                why = re.search(r": Skipped\n(.+)|skipped '(.+)'", output)
                why = why[1] or why[2] if why else "disabled"
                results.skipped.append(f"{name} ({self.stage}): {why}")
            elif reason == "Timeout" and self.options.deadline.over():
                results.not_run.append(f"{name} ({self.stage}): ended before its end")
            else:
                results.record(self.stage, name, status == "run", f"{output}\n{reason}")
                if status != "run":
                    failures[name] = (output, reason)
        results.not_run += [f"{name} ({self.stage})" for name in sorted(set(labels) - seen)]
        return failures

    def repeat(self, failures, labels, first, results):
        """Runs each failed test alone, to tell one that always fails from one that rarely does.
        `first` is where their entries begin in the list of failures."""
        if len(failures) > REPEATED_MAX:
            say(f"   {len(failures)} tests failed: none is repeated (limit {REPEATED_MAX})")
            return
        for name, (output, reason) in failures.items():
            again = 0
            for _ in range(REPEATS):
                if self.options.deadline.over():
                    return
                done = self.ctest("-R", f"^{escaped(name)}$", "--timeout", str(TIME_MAX_S),
                                  *self.options.deadline.for_ctest())
                again += done.returncode != 0
            failed = next(one for one in results.failed[first:] if one[0] == name)
            results.repeats[failed] = f": alone it failed {again} of {REPEATS} times"
            if again == 0:
                results.forgive_once(failed, labels[name], output, reason)
