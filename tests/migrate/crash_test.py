"""Runs that are cut off: killed, out of room, on a bad disk. The report stays the same."""
import ctypes
import os
import re
import shutil
import signal
import subprocess

from harness import (CONFLICT, DIFFERENT, LONG, NOT_FOUND, STORE, MigrateTest, Paused,
                     Stopwatch, Strace, chance, figure, main)
from trees import Pair, plain, put

COMMITS = "fdatasync,fsync,msync"


class CrashTest(MigrateTest):
    entries = 5000 if LONG else 1500

    def setUp(self):
        super().setUp()
        self.chance = chance(self.id())
        Pair(self.chance, self.src, self.dst, self.entries)
        self.clean = os.path.join(self.home, "clean")
        self.watch = Stopwatch()
        self.summary_of_clean = self.m("compare", self.src, self.dst, code=DIFFERENT,
                                       state=self.clean)
        self.watch.stop()
        self.report_of_clean = self.everything(self.clean)

    def everything(self, state=None):
        return [self.report("--format", name, "--all", state=state)
                for name in ("itemize", "json", "csv")]

    def resume(self, *options, **others):
        """To the end; all that it says is what a run that nobody disturbed says."""
        output = self.m("compare", self.src, self.dst, *options, code=DIFFERENT, **others)
        self.assertEqual(output, self.summary_of_clean)
        self.assertEqual(self.everything(), self.report_of_clean)
        self.verify()

    def listings(self, trace):
        """How often a directory of the trees was read."""
        return len([line for line in trace.calls(b"getdents64")
                    if b"<" + self.src in line or b"<" + self.dst in line])

    def killed_at(self, calls, number, *options):
        """A run that is killed as it enters one of `calls` for the n-th time; whether it was."""
        trace = Strace(self, "-e", f"trace={calls}",
                       "-e", f"inject={calls}:signal=KILL:when={number}")
        done = self.run_m("compare", self.src, self.dst, *options, before=trace.words)
        self.assertIn(done.returncode, (DIFFERENT, -signal.SIGKILL, 128 + signal.SIGKILL),
                      done.stderr)
        return done.returncode != DIFFERENT


class Killed(CrashTest):
    """A6."""

    def test_at_random_moments(self):
        kills = 0
        for _ in range(100 if LONG else 10):
            self.remove(self.state)
            for _ in range(self.chance.randrange(1, 4)):
                process = self.start("compare", self.src, self.dst)
                self.watch.pause_within(self.chance, 1.1)
                process.kill()
                process.communicate()
                kills += process.returncode == -signal.SIGKILL
            self.resume()
        figure("kills_of_compare", kills)

    def test_at_every_commit(self):
        # strace counts the calls of each thread: so the first one makes the ledger beforehand.
        self.assertTrue(self.killed_at("getdents64", 1))
        begun = os.path.join(self.home, "begun")
        os.rename(self.state, begun)
        number, last = 0, 0
        while True:
            # Every one at first, and of many, some.
            number += 1 if LONG or number < 8 else number // 3
            self.remove(self.state)
            shutil.copytree(begun, self.state)
            if not self.killed_at(COMMITS, number, "--threads", "1"):
                break
            last = number
            self.resume()
        self.assertGreater(last, 1, "it never commits")
        figure("commits_killed_at", last)

    def listed(self, trace):
        """The directories that were read, and those of them that were since the last commit."""
        everything, since = set(), set()
        for line in trace.lines():
            found = re.match(rb"getdents64\(\d+<([^>]*)>", line)
            if found and found[1].startswith((self.src, self.dst)):
                everything.add(found[1])
                since.add(found[1])
            elif re.match(rb"(fdatasync|fsync|msync)\(.*= 0$", line):
                since = set()
        return everything, since

    def test_not_more_is_listed_again_than_one_commit_holds(self):
        """With one thread nothing is listed while a commit is under way."""
        calls = COMMITS + ",getdents64"
        redone = []
        for number in range(3, 100 if LONG else 12):
            self.remove(self.state)
            first = Strace(self, "-e", f"trace={calls}",
                           "-e", f"inject={COMMITS}:signal=KILL:when={number}", name="first")
            done = self.run_m("compare", self.src, self.dst, "--threads", "1", before=first.words)
            if done.returncode == DIFFERENT:
                break
            before, lost = self.listed(first)
            second = Strace(self, "-e", f"trace={calls}", name="second")
            self.resume("--threads", "1", before=second.words)
            again = self.listed(second)[0] & before
            self.assertLessEqual(again, lost, f"killed at commit {number}")
            redone.append(len(again))
        self.assertTrue(any(redone), "no kill cost anything")
        figure("directories_listed_again_after_a_kill", max(redone))

    def test_at_writes_of_the_ledger(self):
        for _ in range(40 if LONG else 5):
            self.remove(self.state)
            self.killed_at("pwrite64,pwritev,pwritev2,ftruncate", self.chance.randrange(1, 60))
            self.resume()

    def test_a_run_that_is_killed_again_and_again_comes_to_its_end(self):
        runs = 1
        while self.killed_at(COMMITS, 8, "--threads", "1"):
            runs += 1
            self.assertLess(runs, 1000, "it makes no progress")
        self.assertEqual(self.everything(), self.report_of_clean)
        figure("runs_killed_at_the_eighth_commit", runs)


class Huge(MigrateTest):
    """A directory that does not fit in memory writes before it is done."""

    def test_what_was_written_ahead_belongs_to_a_directory_whenever_it_is_killed(self):
        self.make_roots()
        os.mkdir(self.src + b"/huge")
        here = os.open(self.src + b"/huge", os.O_RDONLY)
        for i in range(100_000):
            os.close(os.open(b"a name of some length, number %d" % i, os.O_CREAT, 0o644,
                             dir_fd=here))
        os.close(here)
        # Alone, it lists the folder before the commit that makes it known.
        for number in range(2, 40):
            self.remove(self.state)
            trace = Strace(self, "-e", f"trace={COMMITS}",
                           "-e", f"inject={COMMITS}:signal=KILL:when={number}")
            done = self.run_m("compare", self.src, self.dst, "--threads", "1", before=trace.words)
            with self.subTest(number=number):
                self.m("verify", code=(0, NOT_FOUND))
            if done.returncode == DIFFERENT:
                break
            if LONG or number == 4:
                self.compare(code=DIFFERENT)
                self.verify()
        self.assertGreater(number, 4, "it wrote nothing ahead")


class Finished(CrashTest):
    entries = 300

    def test_a_run_that_is_finished_is_not_done_again(self):
        self.resume()
        trace = Strace(self, "-e", "trace=getdents64,openat")
        self.resume(before=trace.words)
        self.assertEqual(self.listings(trace), 0)

    def test_again_lists_everything_again(self):
        self.resume()
        trace = Strace(self, "-e", "trace=getdents64,openat")
        self.resume("--again", before=trace.words)
        self.assertGreater(self.listings(trace), 10)
        put(self.dst + b"/a new file")
        self.m("compare", self.src, self.dst, "--again", code=DIFFERENT)
        self.check_report()
        self.verify()


class BadDisk(CrashTest):
    """A8."""

    entries = 1500

    def check_stopped(self, done):
        message = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, STORE, message)
        self.assertRegex(message, r"(?m)^sluice-migrate: .")

    def test_an_error_of_the_disk_stops_it_and_it_can_be_resumed(self):
        writes = "pwrite64,pwritev"
        for calls, error, number in ((COMMITS, "EIO", 1), (COMMITS, "EIO", 3),
                                     (COMMITS, "ENOSPC", 3), (writes, "EIO", 6),
                                     (writes, "ENOSPC", 6)):
            with self.subTest(calls=calls, error=error, number=number):
                self.remove(self.state)
                trace = Strace(self, "-e", f"trace={calls}",
                               "-e", f"inject={calls}:error={error}:when={number}+")
                self.check_stopped(self.run_m("compare", self.src, self.dst, before=trace.words))
                self.resume()

    def mount(self, size):
        """A disk in a mount namespace of this process, so that nothing is left behind."""
        disk = os.path.join(self.home, "disk")
        os.makedirs(disk, exist_ok=True)
        new_namespace = 0x00020000
        if ctypes.CDLL(None).unshare(new_namespace) != 0:
            self.skipTest("cannot mount a disk (needs root)")
        for words in (["--make-rprivate", "/"],
                      ["-t", "tmpfs", "-o", f"size={size}", "test", disk]):
            if subprocess.run(["mount", *words], check=False, capture_output=True).returncode != 0:
                self.skipTest("cannot mount a disk (needs root)")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        self.state = os.path.join(disk, "state")
        return disk

    def test_a_full_disk_stops_it_and_it_can_be_resumed(self):
        used = sum(os.stat(os.path.join(place, name)).st_blocks * 512
                   for place, _, names in os.walk(self.clean) for name in names)
        figure("ledger_bytes_of_1500", used)
        disk = self.mount("64m")
        for room in (0, used // 3, used * 2 // 3):
            with self.subTest(room=room):
                self.remove(self.state)
                filler = os.path.join(disk, "filler")
                with open(filler, "wb") as file:
                    os.posix_fallocate(file.fileno(), 0, (64 << 20) - room // 4096 * 4096)
                done = self.run_m("compare", self.src, self.dst)
                self.check_stopped(done)
                self.assertRegex(done.stderr.decode(), "full|room|space")
                os.remove(filler)
                self.resume()


class TwoRuns(CrashTest):
    """A8: a second run is refused, those who only read are welcome."""

    def test_readers_are_welcome_while_it_runs_and_a_second_run_is_not(self):
        paused = Paused(self, "getdents64", 30, "compare", self.src, self.dst)
        for verb in (["compare", self.src, self.dst], ["run", self.src, self.dst], ["copy"],
                     ["retry", "--all"], ["exclude", "a"]):
            if self.knows(verb[0]):
                with self.subTest(verb=verb):
                    self.assertRegex(self.fails((CONFLICT, STORE), *verb), "run|use|lock|busy")
        for verb in (["status"], ["status", "--json", "--levels"], ["ls"], ["why", "."], ["report"],
                     ["report", "--format", "json", "--all"]):
            with self.subTest(verb=verb):
                self.m(*verb)
        self.verify()
        paused.finish()
        self.assertEqual(paused.process.returncode, DIFFERENT)
        self.resume()


class Damaged(MigrateTest):
    """A7, by commits: never a wrong answer."""

    def test_a_damaged_ledger_says_so_or_tells_the_truth(self):
        random = chance("Damaged")
        plain(self.src, folders=4, depth=2)
        self.clone()
        for i in range(4):
            put(self.src + b"/d%d/new" % i, b"x")
        self.compare(code=DIFFERENT)
        truth = self.report("--format", "json", "--all")
        (data,) = [os.path.join(place, name) for place, _, names in os.walk(self.state)
                   for name in names if name.startswith("data")]
        damaged = os.path.join(self.home, "damaged")
        noticed = 0
        for _ in range(200 if LONG else 15):
            self.remove(damaged)
            shutil.copytree(self.state, damaged)
            path = os.path.join(damaged, os.path.relpath(data, self.state))
            at, bit = random.randrange(os.path.getsize(path)), 1 << random.randrange(8)
            with open(path, "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ bit]))
            with self.subTest(at=at, bit=bit):
                done = self.run_m("verify", state=damaged)
                self.assertGreaterEqual(done.returncode, 0, done.stderr)
                told = self.run_m("report", "--format", "json", "--all", state=damaged)
                if told.returncode == 0 and done.returncode == 0:
                    self.assertEqual(told.stdout, truth)
                noticed += done.returncode != 0 and self.knows("verify")
        figure("damages_noticed", noticed)


if __name__ == "__main__":
    main()
