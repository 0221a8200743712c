#!/usr/bin/env python3
"""Do the tests bite? Runs each deliberate bug (`mutant("...")` in src/) against the test that must
notice it, in a build of the `mutant` preset.

  tests/mutants.py BUILD_DIR [NAME...]    all mutants, or those whose name contains a NAME

Each test first has to pass without a mutant. A mutant that its test does not notice has survived:
the exit code is then 1. So it is if the source has a mutant that is missing here.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_MAX_S = 300

# mutant: (test program, filter)
MUTANTS = {
    "kv.no_sync": ("kv_power_cut_test", "PowerCut.whatever_was_acknowledged_survives*"),
    "kv.no_reserve": ("kv_full_map_test", "*FullMap.is_drained_one_by_one*"),
    "kv.no_rollback": ("kv_test", "*a_body_that_fails_leaves_nothing*lmdb*"),
}


def run(build, program, test_filter, mutant=None):
    """Whether the test passed, and why it cannot be told."""
    environment = {**os.environ, "SLUICE_QUICK": "1"}
    environment.pop("SLUICE_LONG", None)
    environment.pop("SLUICE_MUTANT", None)
    if mutant:
        environment["SLUICE_MUTANT"] = mutant
    path = build / "test" / program
    if not path.exists():
        return None, f"{path} does not exist"
    try:
        done = subprocess.run([path, f"--gtest_filter={test_filter}"], env=environment, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIME_MAX_S, check=False)
    except subprocess.TimeoutExpired:
        return False, f"not finished after {TIME_MAX_S} s"
    if not re.search(r"^\[==========\] [1-9]\d* tests? from .* ran\.|^\[ RUN ", done.stdout, re.M):
        return None, f"{program} has no test {test_filter}"
    # What a failing test says first is usually why.
    reason = re.search(r"^.*Failure\n(?:.*\n){0,3}", done.stdout, re.M)
    return done.returncode == 0, " ".join(reason[0].split())[:160] if reason else ""


def judge(build, mutant, baseline):
    """One line about a mutant, and whether it was killed."""
    program, test_filter = MUTANTS[mutant]
    if (program, test_filter) not in baseline:
        baseline[program, test_filter] = run(build, program, test_filter)
    passed, reason = baseline[program, test_filter]
    if not passed:
        return False, f"{mutant}: no verdict, the test does not pass without it ({reason})"
    passed, reason = run(build, program, test_filter, mutant)
    if passed is not False:
        return False, f"{mutant}: survived {program} {test_filter}"
    return True, f"{mutant}: killed by {program} {test_filter} ({reason})"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    chosen = [name for name in MUTANTS if not names or any(part in name for part in names)]
    killed = survived = 0
    baseline = {}
    for mutant in chosen:
        dead, line = judge(build, mutant, baseline)
        print(line, flush=True)
        killed += dead
        survived += not dead
    text = "\n".join(path.read_text() for path in sorted(ROOT.glob("src/**/*.cc")))
    for mutant in sorted(set(re.findall(r'\bmutant\("([\w.]+)"\)', text)) - set(MUTANTS)):
        print(f"{mutant}: no test is named for it in tests/mutants.py")
        survived += 1
    print(f"{killed} killed, {survived} survived")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
