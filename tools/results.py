"""What ./test found, and how it is told: counts, failures with the command that repeats each, tests
that failed once and passed three times, what was skipped or not run."""
import datetime
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAKY_LIST = ROOT / "tests/flaky.txt"
# What these words tell of is rare by nature, so it is never put down to a flaky test.
SERIOUS = re.compile(r"Sanitizer\b|runtime error: |: check failed: |\bsignal \d|\bSIG[A-Z]{3,}"
                     r"|died with|core dumped")
RARE = {"threads", "chance"}


def say(text):
    print(text, flush=True)


class Results:
    """`failed` holds (test name, command that runs it again); `skipped` and `not_run` a line each."""

    def __init__(self, forgive=True):
        self.passed = 0
        self.skipped = []
        self.failed = []
        self.figures = []
        self.not_run = []
        self.left_out = []
        self.repeats = {}  # Of an entry in `failed`: how often it failed again, alone.
        self.flaky = None
        self.forgive = forgive

    def record(self, stage, name, passed, output="", again=None):
        if passed:
            self.passed += 1
            return
        self.failed.append((name, again or f"./test --build {stage} {shlex.quote(name)}"))
        if output:
            say(f"--- {name}\n{output.rstrip()}\n---")

    def forgive_once(self, failed, labels, output, reason):
        """A test that holds something to the clock and passed all its repeats may be forgiven: one a
        run, and each name once until it is mended. `failed` is its entry in the list of failures."""
        if not self.forgive or self.flaky or failed[0] in listed():
            return
        if "timed" not in labels or RARE & set(labels):
            return
        if reason != "Failed" or SERIOUS.search(output):
            return
        self.flaky = (failed[0], output, self.repeats[failed])
        self.failed.remove(failed)
        self.passed += 1

    def report(self):
        """Prints all of it. The exit code: 0 if something passed and nothing failed."""
        def block(title, lines):
            if lines:
                say(f"\n== {title}\n" + "\n".join(f"   {line}" for line in lines))

        block("figures", self.figures)
        block("skipped, and why", self.skipped)
        block("not run", self.not_run)
        block("failed, and how to run each again", [
            f"{name}{self.repeats.get((name, again), '')}\n      {again}"
            for name, again in self.failed])
        if self.flaky:
            name, output, repeats = self.flaky
            say(f"\n{output.rstrip()}\n\nflaky: {name}{repeats}. It is forgiven once. Add this line "
                f"to tests/flaky.txt, with the reason, and mend the test within 30 days:\n"
                f"{name} {datetime.date.today()} REASON")
        block("left out: the change does not reach them", self.left_out)
        if not self.passed and not self.failed and not self.skipped and not self.not_run:
            say("No test was run: does the NAME occur in one?")
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        say(f"\n{self.passed} passed, {len(self.failed)} failed{skipped}")
        return 0 if self.passed and not self.failed and not self.not_run else 1


def listed():
    """The names in tests/flaky.txt, of tests that were forgiven before."""
    lines = FLAKY_LIST.read_text().splitlines() if FLAKY_LIST.exists() else []
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}
