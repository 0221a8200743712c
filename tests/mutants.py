#!/usr/bin/env python3
"""Do the tests bite? Each mutant of tests/mutants/ROOM.toml, a deliberate bug, is built into copies
of the release build's programs, and its test must then fail.

  tests/mutants.py BUILD_DIR [NAME...]     all mutants, or those whose name contains a NAME
  tests/mutants.py --programs [NAME...]    the programs that these need, one per line
  tests/mutants.py --self-test             a small tree with a mutant of every fate

Each test first has to pass without a mutant. A line tells of each mutant that it was "killed" by
its test, or that this "failed": the exit code is then 1.
"""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "tests/mutants"
sys.path.append(str(RECORDS))
sys.dont_write_bytecode = True
from build_tree import BuildTree, Wrong  # noqa: E402
from processes import Processes  # noqa: E402
from trial import Mutant, Trials  # noqa: E402

SECONDS_MAX = 300  # For a test.
NEEDED = {"name", "does", "file", "text", "becomes", "test"}


def read_record(record, room):
    name = record.get("name", "one without a name")
    missing, unknown = NEEDED - set(record), set(record) - NEEDED - {"programs"}
    if missing or unknown:
        sys.exit(f"{room}.toml: {name}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    if not name.startswith(f"{room}."):
        sys.exit(f"{room}.toml: {name}: the name must begin with {room}.")
    if not record["text"].strip() or record["text"] == record["becomes"]:
        sys.exit(f"{room}.toml: {name}: changes nothing")
    # One test program is most often all that it takes.
    return Mutant(**{"programs": [record["test"].split()[0]], **record})


def read_mutants(folder):
    mutants = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            records = tomllib.loads(path.read_text())["mutant"]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            sys.exit(f"{path}: {error}")
        for record in records:
            mutant = read_record(record, path.stem)
            if mutant.name in mutants:
                sys.exit(f"{path}: {mutant.name} stands there twice")
            mutants[mutant.name] = mutant
    return list(mutants.values())


def verdict(trials, mutant, problem):
    """Whether the mutant was killed, and a line about it."""
    try:
        if problem is not None:
            raise Wrong(f"{mutant.test} does not pass without it: {problem}")
        noticed = trials.judge(mutant)
    except Wrong as wrong:
        return False, f"failed {mutant.name}: {wrong}".replace("\n", "\n    ")
    if noticed is None:
        return False, f"failed {mutant.name}: survived {mutant.test}"
    return True, f"killed {mutant.name}: by {mutant.test} ({noticed})"


def judge_all(trials, mutants, tell):
    """Tells a line about each mutant, in their order; how many were not killed."""
    trials.prepare(mutants)
    runs = sorted({(one.test, tuple(one.programs)) for one in mutants})
    failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        try:
            problems = pool.map(trials.baseline, range(len(runs)), *zip(*runs))
            problem_of = dict(zip(runs, problems))
            for killed, line in pool.map(
                    lambda one: verdict(trials, one, problem_of[one.test, tuple(one.programs)]),
                    mutants):
                tell(line)
                failed += not killed
        except BaseException:
            trials.build.processes.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def run_mutants(root, tree, mutants, tell, seconds_max=SECONDS_MAX):
    """The same in a build tree. What that takes lies beside the tree and is gone afterwards: under
    one name, which every run finds the same, as the compiler's cache does."""
    # The lock is that of the folder: it leaves no file, and ends with the process.
    lock = os.open(tree.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"mutants are being run in {tree.parent} already: wait for their end")
    scratch = tree.parent / "mutants"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        build = BuildTree(tree, Processes())
        return judge_all(Trials(root, build, scratch, seconds_max), mutants, tell)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)


def main():
    words = sys.argv[1:]
    if not words or words[0] == "--help":
        sys.exit(__doc__)
    if words[0] == "--self-test":
        sys.exit(subprocess.run([sys.executable, RECORDS / "self_test.py"], check=False).returncode)
    chosen = [one for one in read_mutants(RECORDS)
              if len(words) == 1 or any(part in one.name for part in words[1:])]
    if words[0] == "--programs":
        print("\n".join(sorted({program for one in chosen for program in one.programs})))
        return
    try:
        failed = run_mutants(ROOT, Path(words[0]).resolve(), chosen,
                             lambda line: print(line, flush=True))
    except Wrong as wrong:
        sys.exit(str(wrong))
    print(f"{len(chosen) - failed} killed, {failed} failed")
    sys.exit(1 if failed else 0)


def end(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
