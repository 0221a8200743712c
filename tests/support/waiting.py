"""How the tests of programs wait, and the chance that they take."""
import os
import random
import time

LONG = bool(os.environ.get("SLUICE_LONG"))
# Sanitizers and a loaded machine are slow; a test never waits for a time, only for a condition.
PATIENCE = int(os.environ.get("SLUICE_PATIENCE", 600 if LONG else 120))


def wait_until(condition, what, patience=PATIENCE, pause=0.01):
    """Returns what `condition` answers as soon as that is true."""
    end = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s in vain for: {what}")
        time.sleep(pause)


def wait_past(seconds):
    """Returns when the clock is `seconds` further: for what must not happen until then."""
    moment = time.time() + seconds
    wait_until(lambda: time.time() > moment, f"{seconds} s to pass")


def chance(name):
    """Random numbers that can be had again: SLUICE_SEED is what the test has printed."""
    seed = os.environ.get("SLUICE_SEED") or str(random.SystemRandom().randrange(10**9))
    print(f"{name}: SLUICE_SEED={seed}", flush=True)
    return random.Random(seed)
