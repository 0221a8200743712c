"""Which rooms and programs a change can reach, for ./test --since COMMIT.

A room is reached if a file of it has changed, or of a room that it looks to (SEES in tools/tidy). What
everything rests on reaches everything.
"""
import re
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
tidy = SourceFileLoader("tidy", str(ROOT / "tools/tidy")).load_module()

EVERYTHING = re.compile(r"src/(base|codec|kv)/|include/sluice/(result|clock|random|log|backoff"
                        r"|token_bucket|kv)\.h|cmake/|CMake|tests/(support|kv)/|tools/|run$|test$")
# Programs and the folders of tests that are of no room: what they look to.
SEES = {
    **tidy.SEES,
    "queuectl": ["worker"],
    "sluiced": ["server"],
    "sluice-migrate": ["migrate"],
    "retracker": ["tracker"],
    "examples": ["queue", "runtime", "net"],
}
# Paths of another name than the room or program that they belong to.
BELONGS = [(r"(src|apps|tests)/cli/", "queuectl sluice-migrate retracker sluiced"),
           (r"tests/migrate/", "sluice-migrate"), (r"clients/", "sluiced"),
           (r"tests/reconcile_test.py", "examples"), (r"web/", "sluiced")]
# The tests of a room or program begin with one of these.
TESTS = {"kv": ["kv_"], "queue": ["queue_"], "client": ["client_test"], "queuectl": ["queuectl.", "cli_test"],
         "sluice-migrate": ["migrate."], "retracker": ["retracker.", "retracker_test"],
         "sluiced": ["sluiced."], "examples": ["example.", "reconcile"]}


def sees(one):
    return {one}.union(*(sees(other) for other in SEES.get(one, [])))


def owners(path):
    """The rooms and programs that a changed file belongs to; nothing if no C++ is made of it."""
    for pattern, names in BELONGS:
        if re.match(pattern, path):
            return names.split()
    if path.startswith(("src/", "include/")):
        return [tidy.room_of(path)]
    place = re.match(r"(?:apps|tests)/([^/]+)/|(examples)/", path)
    name = place and (place[1] or place[2])
    return [name] if name in SEES else []


def changed_files(commit):
    def lines(*command):
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"./test: --since {commit}: {done.stderr.strip()}")
        return done.stdout.splitlines()
    return lines("diff", "--name-only", commit) + lines("ls-files", "-o", "--exclude-standard")


def reached(commit):
    """The rooms and programs that the change since a commit reaches; None for all of them."""
    files = changed_files(commit)
    if any(EVERYTHING.match(path) for path in files):
        return None
    touched = {owner for path in files for owner in owners(path)}
    return {one for one in SEES if sees(one) & touched}


def tests_of(names):
    """What the names of their tests begin with."""
    return [start for name in sorted(names) for start in TESTS.get(name, [f"{name}_test"])]


def targets_of(names, targets):
    """Those of the targets of a build that their tests need."""
    starts = tuple(start for start in tests_of(names) if not start.endswith("."))
    starts += ("example_",) if "examples" in names else ()
    return [target for target in targets if target in names or target.startswith(starts)]
