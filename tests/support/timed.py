"""The time that something takes, to be held against a limit.

Only files named `*_timed_test.py` may use this, each of which is a programme of its own; each case
says in its docstring, after `Timed: `, why it must hold a limit of time. tools/tidy counts them: a
stalled machine fails them, so there are to be few.
"""
import math
import time


def seconds_of(verb):
    begin = time.monotonic()
    verb()
    return time.monotonic() - begin


def percentile(times, share):
    return sorted(times)[math.ceil(len(times) * share) - 1]
