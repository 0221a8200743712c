"""Runs tests in one way: starts them, freezes them, ends them, and says how each ended."""
import math
import os
import random
import re
import select
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass

from flake_freezer import end_members, name_of

LOOK_EVERY_S = 10.0
GRACE_S = 0.5  # For what a test has started to end after it.


@dataclass
class Outcome:
    """How one run ended. `left`: the names of the processes that outlived the test."""
    test: str
    way: str
    round: int
    result: str  # "passed", "failed", "skipped", "unfit"
    why: str = ""
    seconds: float = 0.0
    log: str = ""
    seeds: tuple = ()
    left: tuple = ()
    stalls: int = 0  # How often it was frozen.

    def line(self):
        return asdict(self)


class Pace:
    """When a run is frozen and thawed, and for how long it has run in between. Times are handed
    in."""

    def __init__(self, now, slices=None):
        self.slices = slices
        self.frozen = False
        self.stalls = 0
        self.ran_s = 0.0
        self.since = now
        self.turn_at = now + next(slices) if slices else math.inf

    def turn(self, now):
        """Freezes what runs, thaws what is frozen."""
        self.ran_s = self.ran(now)
        self.frozen = not self.frozen
        self.stalls += self.frozen
        self.since = now
        self.turn_at = now + next(self.slices)

    def ran(self, now):
        return self.ran_s + (0.0 if self.frozen else now - self.since)

    def next_look(self, now, limit_s):
        """When there is something to do: a turn, or the end of the time."""
        return self.turn_at if self.frozen else min(self.turn_at, now + limit_s - self.ran(now))


class Run:
    """One run of a test, from its start to its outcome."""

    def __init__(self, test, number, way, group, folder, seed):
        self.test, self.number, self.way, self.group = test, number, way, group
        self.folder = folder
        self.limit_s = test.limit_s * way.times
        chance = random.Random(f"{seed} {way.name} {number} {test.name}")
        folder.mkdir(parents=True)
        self.timed_out = False
        self.over_at = None
        self.start_error = ""
        self.process = self.descriptor = None
        words = [*way.words(chance, folder), *test.command]
        environment = {**os.environ, **test.environment, **group.environment,
                       **way.environment(folder)}
        with open(folder / "output", "wb") as output:
            try:
                self.process = subprocess.Popen(
                    words, cwd=test.folder, env=environment, stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, start_new_session=True, preexec_fn=self.enter)
                self.descriptor = os.pidfd_open(self.process.pid)
            except (OSError, subprocess.SubprocessError, IndexError) as error:
                self.start_error = f"did not start: {error}"
        self.pace = Pace(time.monotonic(), way.slices(chance))

    def enter(self):
        self.group.enter()
        self.way.enter()

    def next_look(self, now):
        if self.over_at is not None or not self.process:
            return now + 0.005
        return self.pace.next_look(now, self.limit_s)

    def step(self, now):
        """Does what is due. True when the run is over and nothing of it lives."""
        if not self.process:
            return True
        if self.over_at is None:
            self.go_on(now)
        if self.over_at is None:
            return False
        return self.timed_out or now - self.over_at >= GRACE_S or not self.stragglers()

    def go_on(self, now):
        if self.process.poll() is not None:
            self.group.thaw()
            self.over_at = now
        elif now >= self.pace.turn_at:
            self.pace.turn(now)
            (self.group.freeze if self.pace.frozen else self.group.thaw)()
        elif self.pace.ran(now) >= self.limit_s:
            self.timed_out = True
            end_members(self.group)
            self.process.wait()
            self.over_at = now

    def stragglers(self):
        return [pid for pid in self.group.members() if name_of(pid) not in ("strace", "")]

    def end(self):
        """Ends everything of the run and leaves nothing of it."""
        self.group.end()
        if self.process:
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def finish(self, logs, seed):
        """The outcome, at the end of the run. A failure's output is kept in the folder `logs`."""
        left = () if self.timed_out or not self.process else tuple(
            name_of(pid) for pid in self.stragglers())
        output = (self.folder / "output").read_text(errors="replace")
        result, why = self.judge(output)
        outcome = Outcome(self.test.name, self.way.name, self.number, result, why, left=left,
                          stalls=self.pace.stalls,
                          seconds=round(self.pace.ran(self.over_at or self.pace.since), 3))
        if result == "failed":
            name = re.sub(r"[^\w.-]", "_", self.test.name)
            log = logs / f"{name}.{self.way.name}.{self.number}.log"
            log.write_text(f"{output.rstrip()}\n\ntools/flake: {why} after {outcome.seconds} s, "
                           f"--ways {self.way.name} --seed {seed}\n")
            outcome.log = str(log)
            # Those of a program's earlier tests, too: only the last few can be of the failure.
            outcome.seeds = tuple(dict.fromkeys(re.findall(r"SLUICE_SEED=(\d+)", output)))[-3:]
        self.end()
        return outcome

    def judge(self, output):
        if unfit := self.way.unfit(self.folder):
            return "unfit", unfit
        if self.start_error:
            return "failed", self.start_error
        if self.timed_out:
            return "failed", f"time limit of {self.limit_s:g} s"
        return self.test.verdict(self.process.returncode, output)


class Crew:
    """Runs tests in one way, as many side by side as that says. `stopped` has a descriptor that
    is readable after a signal, and says whether there was one."""

    def __init__(self, way, freezer, folder, seed, stopped):
        self.way, self.freezer, self.folder, self.seed = way, freezer, folder, seed
        self.stopped = stopped
        self.running = []
        self.unfit = {}  # test: why
        self.poller = select.poll()
        self.poller.register(stopped.descriptor, select.POLLIN)

    def run(self, jobs, report, tick):
        """Runs the `jobs`, pairs of a test and the number of its round, in their order; each
        outcome is handed to `report` at once, the names of what runs to `tick` in between."""
        waiting = list(reversed(jobs))
        self.way.begin()
        try:
            while (waiting or self.running) and not self.stopped.by:
                self.start_some(waiting, report)
                self.wait()
                self.look(report)
                tick([run.test.name for run in self.running])
        finally:
            for run in self.running:
                run.end()
            self.way.end()

    def start_some(self, waiting, report):
        while waiting and len(self.running) < self.way.at_once:
            test, number = waiting[-1]
            if self.running and (test.alone or self.running[0].test.alone):
                return
            waiting.pop()
            if why := self.unfit.get(test.name):
                report(Outcome(test.name, self.way.name, number, "unfit", why))
            else:
                self.start(test, number)

    def start(self, test, number):
        group = self.freezer.group()
        folder = self.folder / "tmp" / str(self.freezer.made)
        run = Run(test, number, self.way, group, folder, self.seed)
        self.running.append(run)
        if run.process:
            self.poller.register(run.descriptor, select.POLLIN)

    def wait(self):
        """Until a test ends, something is due or a signal comes."""
        now = time.monotonic()
        if self.running:
            due = min(run.next_look(now) for run in self.running)
            self.poller.poll(max(0, math.ceil(min(due - now, LOOK_EVERY_S) * 1000)))

    def look(self, report):
        for run in list(self.running):
            over = run.over_at
            if run.step(time.monotonic()):
                self.forget(run)
                report(self.outcome(run))
            elif over is None and run.over_at is not None:
                self.forget_descriptor(run)

    def outcome(self, run):
        outcome = run.finish(self.folder, self.seed)
        if outcome.result == "unfit":
            self.unfit[run.test.name] = outcome.why
        return outcome

    def forget(self, run):
        self.forget_descriptor(run)
        self.running.remove(run)

    def forget_descriptor(self, run):
        """A descriptor of what has ended stays readable: it would end every wait."""
        if run.descriptor is not None:
            self.poller.unregister(run.descriptor)
            os.close(run.descriptor)
            run.descriptor = None
