#!/usr/bin/env python3
"""Builds and runs the test stages for ./test, which documents the options.

A stage is one way to look at the tree: the checker, the tests in one kind of build, the fuzzers,
the mutants. A stage that cannot be built counts as one failed test, and the others still run.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = os.cpu_count() or 2
TERMINAL = sys.stdout.isatty()


class Results:
    """What the stages found; `failed` holds (test name, command that runs it again), `skipped` a
    line each with the reason."""

    def __init__(self):
        self.passed = 0
        self.skipped = []
        self.failed = []
        self.figures = []

    def record(self, stage, name, passed, output=""):
        if passed:
            self.passed += 1
            return
        self.failed.append((name, f"./test --build {stage} {shlex.quote(name)}"))
        if output:
            say(f"--- {name}\n{output.rstrip()}\n---")

    def line(self):
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"{self.passed} passed, {len(self.failed)} failed{skipped}"


def say(text):
    print(text, flush=True)


def run(command, **options):
    """Runs a command of ours to its end; tests get no input, or one waiting for it would hang."""
    command = [str(word) for word in command]
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", check=False, **options)


def captured(command):
    return run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def selected(name, names):
    return not names or any(part in name for part in names)


def build(stage, results, option=None, targets=()):
    """True if build/STAGE is up to date now (or just `targets` of it). Compiler errors have then
    been shown."""
    tree = ROOT / "build" / stage
    start = time.monotonic()
    configured = run([ROOT / "tools/configure", stage] + ([option] if option else []))
    # -k 0: one run shows every error. In a pipe only errors are worth the room.
    command = ["ninja", "-C", tree, "-k", "0", *targets]
    done = configured
    if configured.returncode == 0:
        done = run(command) if TERMINAL else captured(command + ["--quiet"])
    if done.returncode != 0:
        say((done.stdout or "").rstrip() + "\n   does not build")
        results.failed.append((f"{stage} build", f"./test --build {stage}"))
        return False
    say(f"   built in {time.monotonic() - start:.0f} s")
    return True


def tidy(results, options):
    for name, arguments in (("tidy", []), ("tidy-self-test", ["--self-test"])):
        if selected(name, options.names):
            done = captured([ROOT / "tools/tidy", *arguments])
            results.record("tidy", name, done.returncode == 0, done.stdout)


def ctest(stage, results, options):
    if not build(stage, results, "SLUICE_TESTS=ON" if stage == "release" else None):
        return
    tree = ROOT / "build" / stage
    report, log = tree / "junit.xml", tree / "ctest.log"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", tree, f"-j{CORES}", "--no-tests=ignore",
               "--no-label-summary", "--output-junit", report, "--output-log", log,
               "--timeout", "21600" if options.long else "600",
               # The default cuts a passing test's output to 1 kB, and with it its figures.
               "--test-output-size-passed", "9999999", "--test-output-size-failed", "9999999"]
    if options.names:
        command += ["-R", "|".join(re.sub(r"([][().*+?^$|\\])", r"\\\1", n) for n in options.names)]
    if options.fast:
        command += ["-L", "fast"]
    done = run(command + ["--progress"]) if TERMINAL else captured(command)
    if not report.exists():
        results.record(stage, "ctest", False, done.stdout or "ctest wrote no report")
        return
    # Only the summary at the end of the log knows a crash or a time limit: "12 - name (Timeout)".
    reasons = dict(re.findall(r"^\s+\d+ - (.+) \((.+)\)$", log.read_text(errors="replace"), re.M))
    failed_before = len(results.failed)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        read_case(stage, case, reasons, results)
    if done.returncode != 0 and len(results.failed) == failed_before:
        results.record(stage, "ctest", False, done.stdout or "ctest failed without a failed test")


def read_case(stage, case, reasons, results):
    name, status = case.get("name"), case.get("status")
    output = case.findtext("system-out") or ""
    results.figures += [f"{line} ({stage})" for line in output.splitlines()
                        if line.startswith("figure ")]
    skipped = case.find("skipped")
    # A test whose program is missing is "notrun" too, and that is a failure.
    if status == "disabled" or (skipped is not None and "SKIP" in skipped.get("message", "")):
        # As GoogleTest and Python's unittest say why.
        why = re.search(r": Skipped\n(.+)|skipped '(.+)'", output)
        results.skipped.append(f"{name} ({stage}): {why[1] or why[2] if why else 'disabled'}")
        return
    results.record(stage, name, status == "run", f"{output}\n{reasons.get(name, status)}")


def fuzz(results, options):
    names = sorted(file.stem for file in (ROOT / "fuzz").glob("*_fuzz.cc"))
    if not build("asan", results, targets=names):
        return
    tree = ROOT / "build/asan"
    seconds = 120 if options.long else 5

    def run_one(name):
        # libFuzzer keeps what it discovers in the first directory; the checked-in ones stay as is.
        found = tree / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        # Without seeds in fuzz/corpus this fails: libFuzzer wants every directory to exist.
        return captured([tree / "bin" / name, f"-max_total_time={seconds}", "-timeout=20",
                         f"-artifact_prefix={tree}/{name}-", found,
                         ROOT / "fuzz/corpus" / name.removesuffix("_fuzz")])

    chosen = [name for name in names if selected(name, options.names)]
    with ThreadPoolExecutor(CORES) as pool:
        for name, done in zip(chosen, pool.map(run_one, chosen)):
            results.record("fuzz", name, done.returncode == 0, done.stdout[-8000:])


def mutants(results, options):
    script = ROOT / "tests/mutants.py"
    if not script.exists():
        say("   tests/mutants.py does not exist: nothing to run")
        return
    programs = captured([sys.executable, script, "--programs"]).stdout.split()
    if not build("mutant", results, targets=programs):
        return
    command = [sys.executable, str(script), str(ROOT / "build/mutant"), *options.names]
    # Shown as it comes: it runs for minutes.
    with subprocess.Popen(command, cwd=ROOT, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        last = ""
        for line in process.stdout:
            last = line.strip() or last
            say(f"   {line.rstrip()}")
    counts = re.fullmatch(r"(\d+) killed, (\d+) survived", last)
    if not counts:
        say("   tests/mutants.py did not end with its count")
        results.failed.append(("mutants", "./test --build mutant"))
        return
    results.passed += int(counts[1])
    for number in range(int(counts[2])):
        results.failed.append((f"surviving mutant {number + 1}", "./test --build mutant"))
    if process.returncode != 0 and counts[2] == "0":
        say(f"   tests/mutants.py ended with exit code {process.returncode}")
        results.failed.append(("mutants", "./test --build mutant"))


STAGES = {
    "tidy": tidy,
    "release": lambda results, options: ctest("release", results, options),
    "asan": lambda results, options: ctest("asan", results, options),
    "tsan": lambda results, options: ctest("tsan", results, options),
    "fuzz": fuzz,
    "mutant": mutants,
}
# The others take as long again each, mostly to build, and find what is rare.
BY_DEFAULT = ["tidy", "release"]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./test", add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", choices=STAGES)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_intermixed_args(arguments)
    if options.build:
        options.stages = [options.build]
    elif options.names or options.fast:
        options.stages = ["release"]
    else:
        options.stages = list(STAGES) if options.all or options.long else BY_DEFAULT
    return options


def main():
    options = parse(sys.argv[1:])
    if options.long:
        os.environ["SLUICE_LONG"] = "1"
    results = Results()
    for stage in options.stages:
        say(f"== {stage}")
        start, passed, failed = time.monotonic(), results.passed, len(results.failed)
        STAGES[stage](results, options)
        say(f"   {results.passed - passed} passed, {len(results.failed) - failed} failed"
            f" in {time.monotonic() - start:.0f} s")
    if results.figures:
        say("\n== figures\n" + "\n".join(results.figures))
    if results.skipped:
        say("\n== skipped, and why\n" + "\n".join(f"   {line}" for line in results.skipped))
    if results.failed:
        say("\n== failed, and how to run each again")
        for name, again in results.failed:
            say(f"   {name}\n      {again}")
    if not results.passed and not results.failed and not results.skipped:
        say("No test was run: does the NAME occur in one?")
    say("\n" + results.line())
    return 0 if results.passed and not results.failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
