"""What the stages of ./test cost, for the table in docs/design/testing.md (--figures)."""
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/design/testing.md"
TABLE = re.compile(r"(<!-- figures -->\n).*?(<!-- /figures -->)", re.S)
HEAD = ("| Stage | Units | Compiling, CPU s | Running, CPU s | Tests | All, s |\n"
        "| --- | --- | --- | --- | --- | --- |\n")


class Costs:
    """Processor time of what has ended since the last look, told apart by stage."""

    def __init__(self):
        self.rows = {}  # stage: [units, compiling, running, tests, seconds]
        self.seen = self.children()

    @staticmethod
    def children():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def begin(self, stage):
        self.row = self.rows.setdefault(stage, [0, 0, 0, 0, time.monotonic()])
        self.seen = self.children()

    def add(self, column):
        now = self.children()
        self.row[column] += now - self.seen
        self.seen = now

    def compiled(self, tree, targets):
        self.add(1)
        done = subprocess.run(["ninja", "-C", tree, "-t", "commands", *targets], check=True,
                              stdout=subprocess.PIPE, text=True)
        self.row[0] += len(re.findall(r" -c \S+$", done.stdout, re.M))

    def end(self, tests):
        self.add(2)
        self.row[3] = tests
        self.row[4] = time.monotonic() - self.row[4]

    def table(self):
        rows = [*self.rows.items(), ("sum", [sum(column) for column in zip(*self.rows.values())])]
        return HEAD + "".join(f"| {stage} | {' | '.join(f'{value:,.0f}' for value in row)} |\n"
                              for stage, row in rows)


def measure_from_nothing():
    """What is compiled must really be: refuses a tree that was built, and gives the compiler cache an
    empty folder, which the caller removes."""
    if any((ROOT / "build").glob("*/build.ninja")):
        raise SystemExit("./test --figures: build/ holds a build. Run it in a fresh clone.")
    folder = tempfile.TemporaryDirectory(prefix="sluice-figures-", dir="/var/tmp")
    os.environ["CCACHE_DIR"] = f"{folder.name}/ccache"
    return folder


def write(costs):
    page = PAGE.read_text()
    PAGE.write_text(TABLE.sub(lambda found: found[1] + costs.table() + found[2], page))
    print(f"\nTable written to {PAGE.relative_to(ROOT)}:\n{costs.table()}", flush=True)
