"""How the tests of programs wait and read the clock, and the chance that they take.

No other file of the tests reads the clock or sleeps: tools/tidy sees to that. A frozen, starved or
slow machine must not fail a test, so a test may know that at least so much time has gone by, or
that a moment lies between two others; never that something was quick. The few tests whose point is
how quick something is use timed.py.
"""
import os
import random
import time
from datetime import datetime, timezone

LONG = bool(os.environ.get("SLUICE_LONG"))
# Sanitizers and a loaded machine are slow; a test never waits for a time, only for a condition.
PATIENCE = int(os.environ.get("SLUICE_PATIENCE", 600 if LONG else 120))
# Coarse clocks of the kernel are some milliseconds behind.
COARSE_MS = 50


def wait_until(condition, what, patience=PATIENCE, pause=0.01):
    """Returns what `condition` answers as soon as that is true. It is asked once more after the
    patience is over: the machine may have stood still since the last time."""
    end = time.monotonic() + patience
    while True:
        over = time.monotonic() > end
        answer = condition()
        if answer:
            return answer
        if over:
            raise AssertionError(f"waited {patience} s in vain for: {what}")
        time.sleep(pause)


def wait_past(seconds):
    """Returns when the clock is `seconds` further: for what must not happen until then."""
    moment = time.time() + seconds
    wait_until(lambda: time.time() > moment, f"{seconds} s to pass")


def pause(seconds):
    """Lets a moment go by before something is killed or asked again. What a test needs to have
    happened by then is waited for with wait_until()."""
    time.sleep(seconds)


def now_ms():
    """The date, in milliseconds since 1970: for times that are given to a program."""
    return time.time() * 1000


def utc_now():
    return datetime.now(timezone.utc)


def is_since(before_ms, at_ms):
    """Whether a time that a program tells lies between `before_ms`, of now_ms(), and now."""
    return before_ms - COARSE_MS <= at_ms <= now_ms() + COARSE_MS


class Stopwatch:
    """Counts from when it was made, `begin` of the monotonic clock. It tells that a time has been
    reached, and what to print; it gives no number to hold against an upper limit."""

    def __init__(self):
        self.begin = time.monotonic()
        self.end = None

    def stop(self):
        self.end = time.monotonic()

    def _so_far(self):
        return (self.end or time.monotonic()) - self.begin

    def reached(self, seconds):
        return self._so_far() >= seconds

    def shown(self, unit_s=1, digits=3):
        """The time so far in units of so many seconds, for a figure."""
        return f"{self._so_far() / unit_s:.{digits}f}"

    def rate(self, number):
        """How many of `number` things there were in a second, for a figure."""
        return f"{number / self._so_far():.0f}"

    def pause_within(self, random, times=1):
        """Lets a random part of the time go by that was measured, or of so many times that."""
        pause(random.uniform(0, times * self._so_far()))


def processor_seconds(pid):
    """The time that the threads of a process have spent on a processor so far. It may be held
    against a limit: it stands still while the process does."""
    # The number of another process's clock is made of its pid: clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


def chance(name):
    """Random numbers that can be had again: SLUICE_SEED is what the test has printed."""
    seed = os.environ.get("SLUICE_SEED") or str(random.SystemRandom().randrange(10**9))
    print(f"{name}: SLUICE_SEED={seed}", flush=True)
    return random.Random(seed)
