# SPDX-License-Identifier: MIT
"""Many names: how much memory and disk they take, and who is woken. Never how long it takes."""
import os

from harness import DIFFERENT, LONG, SAME, MigrateTest, Strace, figure, main

MIB = 1 << 20


class ScaleTest(MigrateTest):
    def worlds(self, shape):
        return (f"sim:seed=7,{shape},world=src",
                f"sim:seed=7,{shape},world=dst,presence=0.99,differ=0.01")

    def measured(self, *arguments, code):
        """Runs it; returns the most memory that it had at once, pages of the ledger included."""
        with open(os.devnull, "wb") as nowhere:
            process = self.start(*arguments, "--progress", "never", stdout=nowhere)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, code, process.stderr.read())
        return usage.ru_maxrss * 1024

    def ledger_bytes(self):
        return sum(os.stat(os.path.join(place, name)).st_blocks * 512
                   for place, _, names in os.walk(self.state) for name in names)

    def entries(self):
        sides = self.json("status")
        return sides["src"]["entries"] + sides["dst"]["entries"]

    def check(self, name, shape, threads, memory, most):
        """Within the memory that it is told to use, and 10 %; the ledger within 64 bytes a name."""
        self.remove(self.state)
        used = self.measured("compare", *self.worlds(shape), "--threads", threads,
                             *(["--memory", f"{memory}M"] if memory else []), code=DIFFERENT)
        entries = self.entries()
        figure(f"{name}_{threads}_threads_mib", used // MIB)
        figure(f"{name}_{threads}_threads_ledger_bytes_a_name", self.ledger_bytes() // entries)
        self.assertLessEqual(used, most * MIB)
        self.assertLessEqual(self.ledger_bytes(), 64 * entries + MIB)


class Memory(ScaleTest):
    """A18, A19, A21."""

    def test_of_many_files_in_many_folders(self):
        """999,989 names on the source; or 757,888, and three quarters of the memory."""
        shape = "depth=4,folders=10,files=89" if LONG else "depth=3,folders=20,files=89"
        for threads in ("1", "2"):
            with self.subTest(threads=threads):
                self.check("many", shape, threads, None, 64 if LONG else 48)

    def test_of_one_folder_with_many_names(self):
        names = 1_000_000 if LONG else 150_000
        for threads in ("1", "2"):
            with self.subTest(threads=threads):
                self.check("wide", f"depth=0,files={names}", threads, None, 64)

    def test_is_what_it_is_told_to_use(self):
        """More names than fit: what does not is in the ledger."""
        shape = "depth=5,folders=10,files=89" if LONG else "depth=0,files=300000"
        for memory in (32, 64):
            with self.subTest(memory=memory):
                self.check("told", shape, "2", memory, memory * 1.1)

    def test_a_size_that_is_none_or_too_small_is_refused(self):
        for size in ("much", "15M", "-1"):
            self.assertIn("memory", self.fails(2, "compare", *self.worlds("depth=1"), "--memory",
                                               size))
        self.m("compare", *self.worlds("depth=1"), "--memory", "16M", code=DIFFERENT)


class Idle(ScaleTest):
    """A20: as the kernel sees it."""

    def test_only_the_delays_of_the_tree_end_by_the_clock(self):
        shape = "depth=3,folders=5,files=3"
        trace = Strace(self, "-e", "trace=futex,futex_waitv,nanosleep,clock_nanosleep,poll,ppoll,"
                                   "select,pselect6,epoll_wait,epoll_pwait,epoll_pwait2")
        self.m("compare", f"sim:seed=3,{shape}", f"sim:seed=3,{shape},latency=10ms", "--threads",
               "64", "--progress", "never", code=SAME, before=trace.words)
        ended = [line for line in trace.lines()
                 if b"ETIMEDOUT" in line or b"Timeout" in line or b"nanosleep(" in line]
        self.assertEqual(len(ended), 1 + 5 + 25 + 125)  # A folder each.
        # And of trees that answer at once, none.
        trace = Strace(self, "-e", "trace=futex,futex_waitv,nanosleep,clock_nanosleep,poll,ppoll,"
                                   "select,pselect6,epoll_wait,epoll_pwait,epoll_pwait2", name="2")
        self.m("compare", f"sim:seed=3,{shape}", f"sim:seed=3,{shape}", "--threads", "8", "--again",
               "--progress", "never", code=SAME, before=trace.words)
        self.assertTrue(trace.calls(b"futex"))
        self.assertEqual([line for line in trace.lines() if b"ETIMEDOUT" in line
                          or b"Timeout" in line or b"nanosleep(" in line], [])


if __name__ == "__main__":
    main()
