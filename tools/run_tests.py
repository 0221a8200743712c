#!/usr/bin/env python3
"""Builds and runs the test stages for ./test, which documents the options.

A stage is one way to look at the tree: the checker, the tests in one kind of build, the fuzzers,
the mutants. A stage that cannot be built counts as one failed test, and the others still run.
"""
import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import figures
import reach
from build_ahead import BuildAhead
from results import Results, say
from run_ctest import CORES, ROOT, WITH_TESTS, Deadline, Suite, captured, run

TERMINAL = sys.stdout.isatty()


def selected(name, names):
    return not names or any(part in name for part in names)


def build(stage, results, options, targets=()):
    """True if build/STAGE is up to date now (or just `targets` of it). Compiler errors have then
    been shown."""
    tree = ROOT / "build" / stage
    start = time.monotonic()
    configured = run([ROOT / "tools/configure", stage, *(WITH_TESTS if stage == "release" else [])])
    targets = [*targets, "all", "bench/all"] if options.long and stage == "release" else targets
    # -k 0: one run shows every error. In a pipe only errors are worth the room.
    command = ["ninja", "-C", tree, "-k", "0", *targets]
    done = configured
    if configured.returncode == 0:
        try:
            left = options.deadline.left()
            done = (run(command, timeout=left) if TERMINAL else
                    captured(command + ["--quiet"], timeout=left))
        except subprocess.TimeoutExpired:
            results.not_run.append(f"{stage}: the build was not over")
            return False
    if done.returncode != 0:
        say((done.stdout or "").rstrip() + "\n   does not build")
        results.failed.append((f"{stage} build", f"./test --build {stage}"))
        return False
    say(f"   built in {time.monotonic() - start:.0f} s")
    options.costs.compiled(tree, targets)
    return True


def tidy(results, options):
    for name, arguments in (("tidy", []), ("tidy-self-test", ["--self-test"])):
        if selected(name, options.names):
            done = captured([ROOT / "tools/tidy", *arguments])
            results.record("tidy", name, done.returncode == 0, done.stdout)


def ctest(stage, results, options):
    """All tests of a build; of a sanitized one only what --since reaches."""
    names = reach.reached(options.since) if options.since and stage in ("asan", "tsan") else None
    if names is None:
        if build(stage, results, options):
            with options.ahead.of(stage):
                Suite(stage, options).run(results, TERMINAL)
        return
    left_out = sorted(set(reach.SEES) - names)
    results.left_out.append(f"{stage}: {' '.join(left_out)}")
    tree = ROOT / "build" / stage
    if not names or not build(stage, results, options, ["build.ninja"]):
        return
    known = captured(["ninja", "-C", tree, "-t", "targets", "all"]).stdout
    targets = reach.targets_of(names, re.findall(r"^([\w.-]+): phony$", known, re.M))
    if targets and build(stage, results, options, targets):
        Suite(stage, options, reach.tests_of(names)).run(results, TERMINAL)


def fuzz(results, options):
    """Each fuzzer replays its seeds, and then looks for more for a moment."""
    names = sorted(file.stem for file in (ROOT / "fuzz").glob("*_fuzz.cc"))
    if not build("asan", results, options, targets=names):
        return
    tree = ROOT / "build/asan"

    def run_one(name):
        # libFuzzer keeps what it discovers in the first directory; the checked-in ones stay as is.
        found = tree / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        # Without seeds in fuzz/corpus this fails: libFuzzer wants every directory to exist.
        seeds = ROOT / "fuzz/corpus" / name.removesuffix("_fuzz")
        command = [tree / "bin" / name, "-timeout=20", f"-artifact_prefix={tree}/{name}-"]
        replayed = captured([*command, "-runs=0", seeds])
        if replayed.returncode != 0:
            return replayed
        seconds = 120 if options.long else 2
        return captured([*command, f"-max_total_time={seconds}", found, seeds])

    chosen = [name for name in names if selected(name, options.names)]
    with ThreadPoolExecutor(CORES) as pool:
        for name, done in zip(chosen, pool.map(run_one, chosen)):
            results.record("fuzz", name, done.returncode == 0, done.stdout[-8000:])


def mutants(results, options):
    script = ROOT / "tests/mutants.py"
    if selected("mutants-self-test", options.names):
        done = captured([sys.executable, script, "--self-test"])
        results.record("mutant", "mutants-self-test", done.returncode == 0, done.stdout)
    needed = captured([sys.executable, script, "--programs", *options.names])
    programs = needed.stdout.split()
    if needed.returncode != 0:
        say(needed.stdout.rstrip())
        results.failed.append(("mutants", "./test --build mutant"))
        return
    if not programs:  # Without a target all would be built.
        return
    if not build("release", results, options, programs):
        return
    failed_before = len(results.failed)
    command = [sys.executable, str(script), str(ROOT / "build/release"), *options.names]
    # Shown as it comes: it runs for minutes.
    with subprocess.Popen(command, cwd=ROOT, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            say(f"   {line.rstrip()}")
            told = re.match(r"(killed|failed) (\S+): ", line)
            if told:
                results.record("mutant", told[2], told[1] == "killed")
    if process.returncode != 0 and len(results.failed) == failed_before:
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
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--minutes", type=float, metavar="N")
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_intermixed_args(arguments)
    if options.build:
        options.stages = [options.build]
    elif options.names or options.fast:
        options.stages = ["release"]
    else:
        everything = options.all or options.long or options.since or options.figures
        options.stages = list(STAGES) if everything else BY_DEFAULT
    options.deadline = Deadline(options.minutes)
    options.costs = figures.Costs()
    # Not where only a part of a tree is wanted, nor where each stage has its own figures.
    whole = not (options.names or options.fast or options.since or options.figures)
    options.ahead = BuildAhead(options.stages if whole else [])
    return options


def main():
    options = parse(sys.argv[1:])
    if options.long:
        os.environ["SLUICE_LONG"] = "1"
    folder = figures.measure_from_nothing() if options.figures else contextlib.nullcontext()
    with folder:
        return run_stages(options)


def run_stages(options):
    results = Results(forgive=not options.long)
    for stage in options.stages:
        if options.deadline.over():
            results.not_run.append(f"{stage}: all of it")
            continue
        say(f"== {stage}")
        start, passed, failed = time.monotonic(), results.passed, len(results.failed)
        options.costs.begin(stage)
        STAGES[stage](results, options)
        say(f"   {results.passed - passed} passed, {len(results.failed) - failed} failed"
            f" in {time.monotonic() - start:.0f} s")
        options.costs.end(results.passed - passed + len(results.failed) - failed)
    if options.figures:
        figures.write(options.costs)
    return results.report()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
