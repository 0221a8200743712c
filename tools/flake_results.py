"""What a hunt has found so far: the file it is kept in, and the table that is printed."""
import fcntl
import json
import shlex
from collections import defaultdict
from pathlib import Path

from flake_runs import Outcome
from flake_tests import WrongUse

PASSING_ROWS = 30
FAILURES_SHOWN = 3  # Of each test and way; the logs of all are kept.


class Record:
    """A file with a line for what was asked for and one for each run that ended, so that a hunt
    that was stopped, or killed, goes on with --resume."""

    def __init__(self, path, plan, outcomes):
        self.path, self.plan, self.outcomes = path, plan, outcomes

    @classmethod
    def begin(cls, folder, plan):
        """A new hunt: the logs of the one before would be taken for its own."""
        for log in folder.glob("*.log"):
            log.unlink()
        record = cls(folder / "state.jsonl", plan, [])
        record.path.write_text(json.dumps(plan) + "\n")
        return record

    @classmethod
    def resume(cls, folder):
        path = folder / "state.jsonl"
        if not path.exists():
            raise WrongUse(f"nothing to resume: there is no {path}")
        lines = path.read_text().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        path.write_text("".join(whole))  # A kill may have cut off the last one.
        outcomes = [Outcome(**json.loads(line)) for line in whole[1:]]
        return cls(path, json.loads(whole[0]), outcomes)

    def add(self, outcome):
        self.outcomes.append(outcome)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(outcome.line()) + "\n")

    def jobs(self, way, tests, chance):
        """(test, round) of all that is still to be run in this way: in the order of ctest one at
        a time, at random side by side. What must be alone comes last."""
        done = {(one.test, one.round) for one in self.outcomes if one.way == way.name}
        unfit = {one.test for one in self.outcomes
                 if one.way == way.name and one.result == "unfit"}
        jobs = []
        for number in range(1, self.plan["rounds"] + 1):
            ordered = list(tests)
            if way.at_once > 1:
                chance.shuffle(ordered)
            jobs += [(test, number) for test in ordered
                     if (test.name, number) not in done and test.name not in unfit]
        return sorted(jobs, key=lambda job: job[0].alone and way.at_once > 1)

    def failures(self):
        return [one for one in self.outcomes if one.result == "failed"]


def table(record):
    """The lines of the table: a row for each test, those that failed most first."""
    ways = [way for way in record.plan["ways"] if any(one.way == way for one in record.outcomes)]
    rows = defaultdict(lambda: defaultdict(list))
    for one in record.outcomes:
        rows[one.test][one.way].append(one)
    failed = {test: sum(one.result == "failed" for runs in row.values() for one in runs)
              for test, row in rows.items()}
    names = sorted(rows, key=lambda test: (-failed[test], test))
    shown = [name for name in names if failed[name]]
    passing = names[len(shown):]
    lines = ["   " + "".join(f"{way:<13}" for way in ways) + "test"]
    for name in shown + passing[:PASSING_ROWS]:
        lines.append("   " + "".join(f"{cell(rows[name][way]):<13}" for way in ways) + name)
    if passing[PASSING_ROWS:]:
        lines.append(f"   and {len(passing) - PASSING_ROWS} more tests without a failure: "
                     f"{record.path}")
    for name in shown:
        lines += [line for way in ways for line in explained(record, name, rows[name][way])]
    return lines + remarks(record)


def cell(runs):
    """ "3 of 20": failures of runs."""
    ran = [one for one in runs if one.result != "unfit"]
    if not ran:
        return "cannot" if runs else "-"
    skipped = " skip" if all(one.result == "skipped" for one in ran) else ""
    return f"{sum(one.result == 'failed' for one in ran)} of {len(ran)}{skipped}"


def explained(record, name, runs):
    """What failed in one way, where its output is, and how to run it again."""
    failures = [one for one in runs if one.result == "failed"]
    if not failures:
        return
    yield f"\n   {name}, {failures[0].way}: {len(failures)} of {len(runs)}"
    for one in failures[:FAILURES_SHOWN]:
        seeds = f", SLUICE_SEED={' or '.join(one.seeds)}" if one.seeds else ""
        yield f"      round {one.round}: {one.why}{seeds}; {one.log}"
    if failures[FAILURES_SHOWN:]:
        yield f"      and {len(failures) - FAILURES_SHOWN} more logs beside these"
    again = " ".join(["tools/flake", *record.plan["where"], "--rounds",
                      str(record.plan["rounds"]), "--ways", failures[0].way])
    seed = next((f"SLUICE_SEED={one.seeds[-1]} " for one in failures if one.seeds), "")
    yield f"      again: {seed}{again} {shlex.quote(name)}"


def remarks(record):
    """What is no failure but is said: what could not be run, was skipped, left processes or was
    never frozen."""
    found = {}
    for one in record.outcomes:
        if one.result == "unfit":
            found[f"   {one.test} cannot be run in the way {one.way}: {one.why}"] = True
        elif one.result == "skipped":
            found[f"   {one.test} skipped itself: {one.why}"] = True
        if one.left:
            names = ", ".join(sorted(set(one.left)))
            found[f"   {one.test} left behind, and flake ended: {names}"] = True
    frozen = [one for one in record.outcomes if one.way == "stalls"]
    if unhurt := sum(not one.stalls for one in frozen):
        found[f"   stalls: {unhurt} of {len(frozen)} runs were over before the first one"] = True
    return ["", *sorted(found)] if found else []


def last_line(record):
    tests = len({one.test for one in record.outcomes})
    counts = [(sum(one.result == kind for one in record.outcomes), kind)
              for kind in ("failed", "skipped")]
    return (f"{sum(one.result != 'unfit' for one in record.outcomes)} runs of {tests} tests, "
            + ", ".join(f"{count} {kind}" for count, kind in counts if count or kind == "failed"))


def folder_of(tree, root):
    """Where a hunt in this build keeps its state and logs."""
    return root / "build/flake" if tree.is_relative_to(root) else Path(tree, "flake")


def taken(folder):
    """An open file that keeps other hunts out of the folder for as long as it is open."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = open(folder / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise WrongUse(f"another tools/flake is at work in {folder}: wait for its end") from None
    return lock
