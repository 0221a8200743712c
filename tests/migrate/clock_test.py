# SPDX-License-Identifier: MIT
"""Somebody sets the date while it runs: nothing that it says or keeps depends on it."""
import itertools
import os
import threading

from copying import CopyTest
from harness import DIFFERENT, LONG, Strace, chance, main
from trees import Pair, content_of, put, snapshot

HOUR = 3600
YEAR = 365 * 24 * HOUR
STEPS = (-30 * YEAR, -YEAR, -HOUR, -1, 0, 1, HOUR, YEAR, 30 * YEAR)
COMMITS = "fdatasync,fsync,msync"


class Clock(CopyTest):
    """Every program of the test sees the same clock, which the test moves."""

    def setUp(self):
        super().setUp()
        self.moved = os.path.join(self.home, "moved")
        self.env["MOVED_CLOCK"] = self.moved
        self.env["LD_PRELOAD"] = os.environ["MOVED_CLOCK_LIBRARY"]
        self.chance = chance(self.id())

    def move(self, seconds):
        with open(self.moved + ".new", "w", encoding="utf-8") as file:
            file.write(str(seconds))
        os.rename(self.moved + ".new", self.moved)

    def moving(self, dates):
        """Moves it all the time, to one of `dates` after another, until the test says so."""
        stop = threading.Event()

        def move():
            while not stop.wait(0.001):
                self.move(next(dates))

        mover = threading.Thread(target=move)
        mover.start()

        def end():
            stop.set()
            mover.join()

        self.addCleanup(end)
        return end

    def anywhere(self):
        return iter(lambda: self.chance.choice(STEPS), None)

    @staticmethod
    def backwards():
        """So that whatever is due by the date never is."""
        return itertools.count(0, -HOUR)

    def pair(self, entries):
        Pair(self.chance, self.src, self.dst, entries, hard_links=False)

    def everything(self, state=None):
        return [self.m("compare", self.src, self.dst, code=DIFFERENT, state=state),
                *(self.report("--format", name, "--all", state=state)
                  for name in ("itemize", "json", "csv")),
                self.json("status", "--levels", state=state), self.m("ls", "-R", state=state)]

    def test_the_clock_of_the_test_is_the_one_that_is_seen(self):
        self.make_roots()
        self.move(-10 * YEAR)
        trace = Strace(self, "-e", "trace=openat,open")
        self.m("compare", self.src, self.dst, code=(0, DIFFERENT), before=trace.words)
        self.assertTrue([line for line in trace.lines() if self.moved.encode() in line],
                        "the program does not see the clock of the test")

    def test_a_comparison_that_is_killed_and_resumed_under_other_dates_says_the_same(self):
        self.pair(1500)
        clean = os.path.join(self.home, "clean")
        expected = self.everything(clean)
        for _ in range(30 if LONG else 3):
            self.remove(self.state)
            self.move(self.chance.choice(STEPS))
            trace = Strace(self, "-e", f"trace={COMMITS}",
                           "-e", f"inject={COMMITS}:signal=KILL:when={self.chance.randint(3, 8)}")
            self.run_m("compare", self.src, self.dst, before=trace.words)
            stop = self.moving(self.anywhere())
            self.assertEqual(self.everything(), expected)
            self.verify()
            stop()

    def test_a_copy_keeps_the_times_of_the_source_whatever_the_date(self):
        self.pair(300)
        before = snapshot(self.src)
        put(self.src + b"/large", b"x" * 1_500_000, mtime_ns=1)
        stop = self.moving(self.backwards())
        # The limit is kept by a clock that nobody can set, or it would stall.
        self.run_all("--checksum", "--delete", "--bwlimit", "1M")
        stop()
        self.check_equal()
        self.assertLessEqual(before.keys(), snapshot(self.dst).keys())
        self.assertEqual(len(content_of(self.dst + b"/large")), 1_500_000)

    def test_an_error_is_tried_again_also_when_the_date_was_set_back(self):
        self.pair(100)
        put(self.src + b"/folder/file", b"x")
        clean = os.path.join(self.home, "clean")
        expected = self.everything(clean)
        self.moving(self.backwards())
        trace = Strace(self, "-P", self.src + b"/folder", "-e", "trace=getdents64", "-e",
                       "inject=getdents64:error=EIO:when=1..3")
        self.m("compare", self.src, self.dst, "--threads", "1", code=DIFFERENT, before=trace.words)
        self.assertGreater(len(trace.calls(b"getdents64")), 3)
        self.assertEqual(self.everything(), expected)


if __name__ == "__main__":
    main()
