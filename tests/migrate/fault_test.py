"""Directories that cannot be read, or change while they are: unknown, tried again, healed."""
import os
import re
import signal
import subprocess
import threading

import reference
from harness import (CONFLICT, DIFFERENT, FAILED, LONG, NOBODY, SAME, MigrateTest, Paused,
                     Stopwatch, Strace, chance, figure, main, wait_until)
from trees import ROOT, YEAR_2020_NS, Pair, plain, put, set_time

AS_NOBODY = NOBODY if ROOT else ()


class FaultTest(MigrateTest):
    def setUp(self):
        super().setUp()
        plain(self.src, folders=3, depth=2)
        self.clone()
        put(self.src + b"/d0/d1/new", b"new")
        put(self.dst + b"/d1/extra/deep", b"extra")
        put(self.dst + b"/d0/d0/f0", b"other")

    def give_to_nobody(self):
        if ROOT:
            subprocess.run(["chown", "-R", "nobody:nogroup", self.home], check=True)

    def failing(self, path, what, name="strace"):
        """A strace under which reading the directory `path` goes wrong."""
        return Strace(self, "-P", path, "-e", "trace=getdents64", "-e", f"inject=getdents64:{what}",
                      name=name)

    def check_unknown(self, path):
        """All of the report is right but for `path`, of which nothing is said but that."""
        def elsewhere(line):
            return not (line[1].split(b" (")[0].rstrip(b"/") + b"/").startswith(path + b"/")

        expected = reference.Comparison(self.src, self.dst).lines()
        lines = self.lines()
        self.assertEqual(list(filter(elsewhere, lines)), list(filter(elsewhere, expected)))
        (unknown,) = [line for line in lines if line[0].startswith("?")]
        self.assertTrue(unknown[1].startswith(path), unknown)
        self.assertEqual([one for one in lines if one[0].startswith("*") and path in one[1]], [])


class Unreadable(FaultTest):
    """A11."""

    def test_an_error_is_tried_again_as_often_as_told_and_then_failed(self):
        for side in (self.src, self.dst):
            for error in ("EIO", "ETIMEDOUT"):
                with self.subTest(side=side, error=error):
                    self.remove(self.state)
                    trace = self.failing(side + b"/d1", f"error={error}")
                    self.m("compare", self.src, self.dst, "--retries", "2", code=FAILED,
                           before=trace.words)
                    self.assertEqual(len(trace.calls(b"getdents64")), 3)
                    self.check_unknown(b"d1")
                    text = self.m("why", b"d1").decode()
                    self.assertIn(error, text)
                    self.assertRegex(text, "3")  # attempts
                    self.assertTrue(self.json("ls", "--status", "failed", "-R"))
                    self.verify()
                    # And it stays so.
                    self.m("compare", self.src, self.dst, code=FAILED)
                    self.check_unknown(b"d1")

    def test_one_that_may_not_be_read_is_not_tried_again(self):
        self.give_to_nobody()
        os.chmod(self.src + b"/d1", 0)
        trace = Strace(self, "-e", "trace=openat,open,openat2", name="state-trace")
        open(trace.path, "wb").close()
        os.chmod(trace.path, 0o666)
        self.m("compare", self.src, self.dst, code=FAILED, before=[*AS_NOBODY, *trace.words])
        self.assertEqual(len([line for line in trace.lines() if b'"d1"' in line
                              and b"EACCES" in line]), 1)
        os.chmod(self.src + b"/d1", 0o755)
        self.check_unknown(b"d1")
        self.assertIn(b"EACCES", self.m("why", b"d1"))

    def test_the_root_that_may_not_be_read_is_no_empty_root(self):
        self.give_to_nobody()
        for side in (self.src, self.dst):
            self.remove(self.state)
            os.chmod(side, 0)
            done = self.run_m("run", self.src, self.dst, "--delete", before=AS_NOBODY)
            self.assertGreater(done.returncode, 0)
            os.chmod(side, 0o755)
            self.assertTrue(os.path.exists(self.dst + b"/d1/extra/deep"))
            self.assertFalse(os.path.exists(self.dst + b"/d0/d1/new"))


class Healing(FaultTest):
    """A12."""

    def test_an_error_that_heals_in_time_leaves_no_trace(self):
        clean = os.path.join(self.home, "clean")
        output = self.m("compare", self.src, self.dst, code=DIFFERENT, state=clean)
        for side in (self.src, self.dst):
            for times in (1, 3):
                with self.subTest(side=side, times=times):
                    self.remove(self.state)
                    trace = self.failing(side + b"/d0", f"error=EIO:when=1..{times}")
                    self.assertEqual(self.m("compare", self.src, self.dst, "--retries", "3",
                                            "--threads", "1", code=DIFFERENT, before=trace.words),
                                     output)
                    self.assertGreater(len(trace.calls(b"getdents64")), times)
                    for name in ("itemize", "json", "csv"):
                        self.assertEqual(self.report("--format", name, "--all"),
                                         self.report("--format", name, "--all", state=clean))

    def test_attempts_outlive_a_crash(self):
        trace = self.failing(self.src + b"/d0", "error=EIO")
        first = self.start("compare", self.src, self.dst, "--retries", "1000000",
                           before=trace.words)

        def attempts():
            done = self.run_m("why", b"d0", "--json")
            found = re.search(rb'"attempts":\s*(\d+)', done.stdout)
            return int(found[1]) if found else 0

        wait_until(lambda: attempts() >= 2 or first.poll() is not None, "two attempts")
        self.assertIsNone(first.poll())
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        before = attempts()
        self.assertGreaterEqual(before, 2)
        trace = self.failing(self.src + b"/d0", "error=EIO")
        self.m("compare", self.src, self.dst, "--retries", str(before + 1), code=FAILED,
               before=trace.words)
        # The budget is that of both runs.
        self.assertLessEqual(len(trace.calls(b"getdents64")), 3)


class Retry(FaultTest):
    """A13."""

    def listed(self, trace):
        return {found[1] for line in trace.calls(b"getdents64")
                for found in [re.search(rb"<([^>]*)>", line)] if found
                and found[1].startswith((self.src, self.dst))}

    def sweep(self, *words):
        """Marks, and compares again; returns the directories that were listed."""
        self.m("retry", *words)
        trace = Strace(self, "-e", "trace=getdents64", name="sweep")
        self.m("compare", self.src, self.dst, code=(SAME, DIFFERENT), before=trace.words)
        fresh = os.path.join(self.home, "fresh")
        self.remove(fresh)
        self.m("compare", self.src, self.dst, code=(SAME, DIFFERENT), state=fresh)
        for name in ("itemize", "json"):
            self.assertEqual(self.report("--format", name, "--all"),
                             self.report("--format", name, "--all", state=fresh))
        self.assertEqual(self.json("status", "--levels")["levels"],
                         self.json("status", "--levels", state=fresh)["levels"])
        self.verify()
        return self.listed(trace)

    def test_only_what_failed_is_listed_again(self):
        locked = [self.src + b"/d0/d1", self.src + b"/d1", self.dst + b"/d2"]
        self.give_to_nobody()
        for path in locked:
            os.chmod(path, 0)
        self.m("compare", self.src, self.dst, code=FAILED, before=AS_NOBODY)
        for path in locked:
            os.chmod(path, 0o755)
        # Without a word from us it is not tried again.
        self.m("compare", self.src, self.dst, code=FAILED)
        listed = self.sweep()
        self.assertIn(self.src + b"/d1/d2", listed)
        self.assertIn(self.dst + b"/d1/d2", listed)
        # The folders that were locked and all below them, and, for their own attributes, those that
        # they are in; nothing beside them.
        self.assertLessEqual({os.path.relpath(path, self.home.encode()).partition(b"/")[2]
                              .partition(b"/")[0] for path in listed}, {b"", b"d0", b"d1", b"d2"})
        for path in (self.src + b"/d0/d0", self.src + b"/d0/d2", self.src + b"/d2",
                     self.dst + b"/d0/d0"):
            self.assertNotIn(path, listed)
        figure("listed_again_after_a_fix", len(listed))

    def test_a_name_that_could_not_be_read_is_read_again(self):
        """Its directory could be, so that is no failure of its own."""
        self.give_to_nobody()
        os.chmod(self.src + b"/d1/f0", 0)
        self.m("compare", self.src, self.dst, "--checksum", code=FAILED, before=AS_NOBODY)
        self.assertEqual([path for path, one in self.by_path().items()
                          if one["verdict"] == "unknown"], [b"d1/f0"])
        os.chmod(self.src + b"/d1/f0", 0o644)
        self.m("retry")
        trace = Strace(self, "-e", "trace=getdents64", name="sweep")
        self.m("compare", self.src, self.dst, "--checksum", code=DIFFERENT, before=trace.words)
        self.assertEqual(self.listed(trace), {self.src + b"/d1", self.dst + b"/d1"})
        self.check_report(reference.Rules(checksum=True))
        self.verify()

    def test_only_the_subtree_that_is_named_is_listed_again(self):
        self.compare(code=DIFFERENT)
        put(self.src + b"/d1/d1/later", b"x")
        put(self.dst + b"/d1/later/deep", b"x")
        listed = self.sweep(b"d1")
        # And, for its own attributes, what it is in.
        self.assertEqual({path for path in listed if b"/d1" not in path}, {self.src, self.dst})
        self.assertIn(self.src + b"/d1/d0", listed)
        self.check_report()

    def test_what_is_excluded_beside_it_is_to_be_included_first(self):
        """It is listed again with the parent, and may be something else by then."""
        self.compare(code=DIFFERENT)
        self.m("exclude", b"d1/f0")
        os.unlink(self.src + b"/d1/f0")
        self.assertIn("include it first", self.fails(CONFLICT, "retry", b"d1/d0"))
        self.m("retry", b"d0/d0")
        self.compare(code=DIFFERENT)
        self.m("include", b"d1/f0")
        self.sweep(b"d1")
        self.check_report()

    def test_all_of_it_is_listed_again_if_told_so(self):
        self.compare(code=DIFFERENT)
        listed = self.sweep("--all")
        self.assertEqual(len([path for path in listed if path.startswith(self.src)]), 13)

    def test_a_subtree_that_became_something_else(self):
        self.compare(code=DIFFERENT)
        for side in (self.src, self.dst):
            self.remove(side + b"/d1/d0")
            put(side + b"/d1/d0", b"a file now", 0o644, YEAR_2020_NS)
            self.remove(side + b"/d1/d1/f0")
            os.mkdir(side + b"/d1/d1/f0")
            for path in (b"/d1/d1/f0", b"/d1/d1", b"/d1"):
                set_time(side + path, YEAR_2020_NS)
        self.sweep(b"d1")
        self.check_report()


class Mutation(MigrateTest):
    """A15."""

    def test_a_directory_that_changes_while_it_is_read_is_not_a_mixture(self):
        """It stands still in the middle of a long listing, as all names become others."""
        self.make_roots()
        for side in (self.src, self.dst):
            for i in range(3000):
                put(side + b"/big/before-%d" % i)
        paused = Paused(self, "getdents64", 1, "compare", self.src, self.dst,
                        options=["-P", self.src + b"/big"])
        process = paused.process
        for i in range(3000):
            os.unlink(self.src + b"/big/before-%d" % i)
            put(self.src + b"/big/after-%d" % i)
        paused.finish()
        self.assertIn(process.returncode, (DIFFERENT, FAILED))
        found = self.by_path("--all")
        if found[b"big"]["verdict"] == "unknown":
            self.assertEqual(process.returncode, FAILED)
        else:
            names = {path.split(b"-")[0] for path, one in found.items() if one["src"]}
            self.assertEqual(names - {b"", b"big"}, {b"big/after"})
        self.m("compare", self.src, self.dst, "--again", code=DIFFERENT)
        self.check_report()

    def test_a_tree_in_motion_converges_when_it_rests(self):
        random = chance("Motion")
        Pair(random, self.src, self.dst, 1500 if LONG else 600)
        still = self.src + b"/still"
        put(still + b"/a/b", b"x")
        stop = threading.Event()

        def move():
            i = 0
            while not stop.is_set():
                i += 1
                side = self.src if i % 2 else self.dst
                place = side + b"/moving%d" % (i % 7)
                put(place + b"/f%d" % (i % 50), b"x" * (i % 10))
                if i % 11 == 0:
                    self.remove(place)
                if i % 13 == 0:
                    os.rename(side + b"/moving%d" % ((i + 2) % 7), side + b"/was%d" % i) \
                        if os.path.exists(side + b"/moving%d" % ((i + 2) % 7)) else None
                stop.wait(0.0005)

        mover = threading.Thread(target=move)
        mover.start()
        try:
            for _ in range(5):
                self.m("compare", self.src, self.dst, "--again", code=(DIFFERENT, FAILED))
                found = self.by_path("--all")
                self.assertEqual(found[b"still/a/b"]["verdict"], "missing")
                self.verify()
        finally:
            stop.set()
            mover.join()
        self.m("compare", self.src, self.dst, "--again", code=DIFFERENT)
        self.check_report()
        self.verify()


class Simulated(MigrateTest):
    """A11, A12, A13, A15, A20 and A21 on trees that are made up, with faults that are too."""

    SHAPE = "depth=4,folders=3-5,files=3-6"

    def setUp(self):
        super().setUp()
        self.seed = chance(self.id()).randrange(10**6)
        self.clean = os.path.join(self.home, "clean")
        self.summary_of_clean = self.sweep(state=self.clean)
        self.report_of_clean = self.report("--format", "json", "--all", state=self.clean)

    def sweep(self, *options, src="", dst="", code=DIFFERENT, **others):
        return self.m("compare", f"sim:seed={self.seed},{self.SHAPE}{src}",
                      f"sim:seed={self.seed},world=dst,presence=0.9,differ=0.1,{self.SHAPE}{dst}",
                      *options, code=code, **others)

    def check_clean(self):
        self.assertEqual(self.report("--format", "json", "--all"), self.report_of_clean)
        self.assertEqual(self.json("status", "--levels")["levels"],
                         self.json("status", "--levels", state=self.clean)["levels"])
        self.verify()

    def unknown(self):
        return {path for path, one in self.by_path().items() if one["verdict"] == "unknown"}

    def check_all_but_the_unknown(self):
        """What is known is what is known without faults."""
        found, clean = self.by_path("--all"), self.by_path("--all", state=self.clean)
        unknown = {path for path, one in found.items() if one["verdict"] == "unknown"}
        for path, one in found.items():
            if path not in unknown:
                self.assertEqual(one["verdict"], clean[path]["verdict"], path)
        for path in clean.keys() - found.keys():
            parts = path.split(b"/")
            above = {b"/".join(parts[:i]) for i in range(1, len(parts))}
            self.assertTrue(above & unknown, path)

    def test_errors_beyond_the_budget_leave_a_hole_and_a_retry_fills_it(self):
        for side in ("src", "dst"):
            with self.subTest(side=side, seed=self.seed):
                self.remove(self.state)
                self.sweep("--retries", "1", code=FAILED, **{side: ",errors=0.1,heal=1000"})
                self.assertTrue(self.unknown())
                self.check_all_but_the_unknown()
                self.verify()
                # Healthy again, but nobody has asked for another try.
                self.sweep(code=FAILED)
                self.m("retry")
                self.assertEqual(self.sweep(), self.summary_of_clean)
                self.check_clean()

    def test_errors_that_heal_leave_only_those_that_never_do(self):
        self.sweep("--retries", "3", src=",errors=0.15,heal=2", dst=",errors=0.15,heal=2",
                   code=(DIFFERENT, FAILED))
        self.check_all_but_the_unknown()
        for path, one in self.by_path().items():
            if one["verdict"] == "unknown":
                self.assertIn("EACCES", one["error"], path)
        self.m("retry", code=(0, 3))
        self.assertEqual(self.sweep(), self.summary_of_clean)
        self.check_clean()

    def test_folders_that_change_are_right_or_unknown_and_the_next_sweep_converges(self):
        self.sweep(src=",mutate=0.2", dst=",mutate=0.2", code=(DIFFERENT, FAILED))
        self.check_all_but_the_unknown()
        self.verify()
        self.assertEqual(self.sweep("--again"), self.summary_of_clean)
        self.check_clean()

    def test_threads_latency_and_pages_change_no_byte(self):
        for options, src, dst in ((["--threads", "8"], ",latency=100us", ""),
                                  (["--threads", "64"], "", ",latency=1ms,page=3"),
                                  (["--lead", "3", "--max-lead", "5"], ",page=2", ""),
                                  (["--lead", "1", "--max-lead", "1", "--threads", "2"], "", "")):
            with self.subTest(options=options, src=src, dst=dst):
                self.remove(self.state)
                self.assertEqual(self.sweep(*options, src=src, dst=dst), self.summary_of_clean)
                self.check_clean()

    def test_killed_while_it_waits_it_resumes_with_the_same_bytes(self):
        process = self.start("compare", f"sim:seed={self.seed},{self.SHAPE},latency=2ms",
                             f"sim:seed={self.seed},world=dst,presence=0.9,differ=0.1,{self.SHAPE}",
                             "--threads", "2")

        def listed():
            done = self.run_m("status", "--json")
            return done.returncode == 0 and re.search(rb'"successful":\s*[1-9]\d\d', done.stdout)

        wait_until(lambda: listed() or process.poll() is not None, "it to list something")
        process.kill()
        process.communicate()
        self.assertEqual(self.sweep(), self.summary_of_clean)
        self.check_clean()

    def test_a_large_one(self):
        shape = "depth=6,folders=5-9,files=10-20" if LONG else "depth=4,folders=6,files=20"
        watch = Stopwatch()
        numbers = self.summary(self.m("compare", f"sim:seed=3,{shape}", f"sim:seed=3,{shape}"))
        watch.stop()
        self.assertEqual(set(self.counts(numbers)), {"same"})
        figure("simulated_nodes_a_side", numbers["same"])
        figure("simulated_nodes_a_second", watch.rate(2 * numbers["same"]))


if __name__ == "__main__":
    main()
