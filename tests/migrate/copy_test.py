"""Carrying out what was found: never a part of a file under its name."""
import hashlib
import os
import random
import signal
import stat
import struct
import threading

import reports
from copying import CopyTest
from harness import LONG, NOBODY, SAME, Strace, chance, figure, main, pause, seeds
from trees import ROOT, YEAR_2020_NS, Pair, content_of, plain, put, set_time, walk

# What a copy does to the trees and the ledger, and how often at most: where it can be cut off.
CALLS = {"copy_file_range": 20, "linkat": 10, "renameat2": 10, "utimensat": 20, "flistxattr": 30,
         "fdatasync": 6, "syncfs": 3, "pwrite64": 12, "writev": 6, "mkdirat": 2, "unlinkat": 3}


def acl(user, permissions):
    """An access control list with a line for one more user, as the kernel stores it."""
    nobody = 0xFFFFFFFF
    lines = ((1, 6, nobody), (2, permissions, user), (4, 4, nobody), (16, 7, nobody),
             (32, 4, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *line) for line in lines)


class Watcher(threading.Thread):
    """Reads the names on DST again and again, and notes whatever should not be there."""

    def __init__(self, dst, allowed, always):
        super().__init__()
        self.dst, self.allowed, self.always = dst, allowed, always
        self.wrong, self.reads, self.stop = [], 0, threading.Event()

    def run(self):
        while not self.stop.is_set():
            for name, allowed in self.allowed.items():
                try:
                    found = hashlib.sha256(content_of(os.path.join(self.dst, name))).digest()
                except FileNotFoundError:
                    if name in self.always:
                        self.wrong.append((name, "is gone"))
                    continue
                self.reads += 1
                if found not in allowed:
                    self.wrong.append((name, "holds something else"))
            self.stop.wait(0.001)

    def end(self):
        self.stop.set()
        self.join()


class Killed(CopyTest):
    """A9."""

    def make(self, random_one, files=40, size=300_000):
        """DST has old versions of some; returns what names may hold, and who is always there."""
        allowed, always = {}, set()
        for i in range(files):
            name = b"d%d/f%d" % (i % 5, i)
            new = random_one.randbytes(random_one.randrange(1, size))
            put(os.path.join(self.src, name), new, 0o644, YEAR_2020_NS + i)
            allowed[name] = {hashlib.sha256(new).digest()}
            if i % 2:
                old = random_one.randbytes(random_one.randrange(1, size))
                put(os.path.join(self.dst, name), old, 0o600, YEAR_2020_NS - i)
                allowed[name].add(hashlib.sha256(old).digest())
                always.add(name)
        os.link(self.src + b"/d0/f0", self.src + b"/hard")
        put(self.dst + b"/d1/extra/file", b"extra")
        return allowed, always

    def watch(self, random_one):
        watcher = Watcher(self.dst, *self.make(random_one))
        watcher.start()
        self.addCleanup(watcher.end)
        return watcher

    def check_end(self, watcher):
        self.run_all("--delete")
        watcher.end()
        self.assertEqual(watcher.wrong, [])
        self.check_equal()
        self.verify()
        figure("watched_reads", watcher.reads)

    def test_defect_1f1_no_name_ever_holds_a_part_of_a_file(self):
        one = chance("Killed")
        watcher = self.watch(one)
        kills, history = 0, []
        for _ in range(100 if LONG else 10):
            call = one.choice(list(CALLS))
            number = one.randint(1, CALLS[call])
            trace = Strace(self, "-e", f"trace={call}", "-e",
                           f"inject={call}:signal=KILL:when={number}")
            done = self.run_m("run", self.src, self.dst, "--delete", before=trace.words)
            history.append((call, number, done.returncode))
            if done.returncode == SAME:
                # Done before its time: once more, from the start.
                self.assertEqual(reports.rsync_difference(self.src, self.dst), b"", history)
                history = []
                watcher.end()
                self.assertEqual(watcher.wrong, [])
                for path in (self.src, self.dst, self.state):
                    self.remove(path)
                watcher = self.watch(one)
            else:
                kills += 1
                self.assertIn(done.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL), done.stderr)
        figure("kills_of_copy", kills)
        self.check_end(watcher)

    def test_at_random_moments(self):
        one = chance("Moments")
        watcher = self.watch(one)
        for _ in range(40 if LONG else 6):
            process = self.start("run", self.src, self.dst, "--delete", "--bwlimit", "8M")
            pause(one.uniform(0, 0.25))
            process.kill()
            process.communicate()
        self.check_end(watcher)

    def test_defect_1f2_what_was_in_progress_is_taken_up_again(self):
        self.make(random.Random(2), files=10)
        trace = Strace(self, "-e", "trace=renameat,renameat2,rename", "-e",
                       "inject=renameat,renameat2,rename:signal=KILL:when=3")
        done = self.run_m("run", self.src, self.dst, before=trace.words)
        self.assertIn(done.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL), done.stderr)
        self.m("copy", "--delete")
        self.check_equal()
        self.assertLessEqual({one["copy"] for one in self.objects()}, {"successful", None})


    def test_a_clash_is_settled_whenever_it_is_killed(self):
        """What was in the way is gone by then, and what took its place is not yet in the ledger."""
        for number in range(1, 30):
            for path in (self.src, self.dst, self.state):
                self.remove(path)
            put(self.src + b"/folder/file", b"x", mtime_ns=YEAR_2020_NS)
            put(self.src + b"/file", b"y", mtime_ns=YEAR_2020_NS)
            os.symlink(b"target", self.src + b"/link")
            put(self.dst + b"/folder", b"in the way")
            put(self.dst + b"/file/in/the/way", b"x")
            put(self.dst + b"/link/too", b"x")
            self.compare()
            trace = Strace(self, "-e", "trace=pwrite64,fdatasync", "-e",
                           f"inject=pwrite64,fdatasync:signal=KILL:when={number}")
            done = self.run_m("copy", "--delete", "--threads", "1", before=trace.words)
            with self.subTest(number=number):
                self.m("copy", "--delete")
                self.check_equal()
                self.verify()
            if done.returncode == SAME:
                break
        self.assertGreater(number, 1, "it was never killed")


class Fidelity(CopyTest):
    def test_a_random_pair_is_the_same_afterwards(self):
        for seed in seeds(5, 60):
            with self.subTest(seed=seed, rerun=f"SLUICE_SEED={seed}"):
                for path in (self.src, self.dst, self.state):
                    self.remove(path)
                Pair(random.Random(seed), self.src, self.dst, 150, hard_links=False)
                # Which no quick comparison can see.
                for path, info in walk(self.dst).items():
                    twin = os.path.join(self.src, path)
                    if stat.S_ISREG(info.st_mode) and os.path.isfile(twin):
                        if os.lstat(twin).st_mtime_ns == info.st_mtime_ns:
                            set_time(os.path.join(self.dst, path), info.st_mtime_ns + 1)
                self.run_all("--delete")
                self.check_equal()
                self.m("compare", self.src, self.dst, "--again", code=SAME)
                self.assertEqual(self.report(), b"")
                self.verify()

    def test_extras_stay_without_delete_and_do_not_count(self):
        plain(self.src)
        self.clone()
        put(self.dst + b"/d0/extra/file", b"x")
        put(self.src + b"/d1/new", b"new")
        self.run_all()
        self.assertEqual(content_of(self.dst + b"/d0/extra/file"), b"x")
        self.assertEqual(content_of(self.dst + b"/d1/new"), b"new")

    def test_the_files_of_one_folder_are_copied_by_several_threads(self):
        for number in range(8):
            put(self.src + b"/large%d" % number, os.urandom(1 << 20))
        trace = Strace(self, "-e", "trace=linkat")
        # So slow that whoever has nothing to do has the time to notice.
        self.run_all("--threads", "3", "--bwlimit", "8M", before=trace.words)
        self.check_equal()
        self.assertEqual(len(trace.calls(b"linkat")), 8)
        self.assertGreater(len(trace.threads(b"linkat")), 1)

    def test_holes_stay_holes(self):
        self.make_roots()
        with open(self.src + b"/sparse", "wb") as file:
            file.truncate(1 << 30)
            for at in (0, 300 << 20, (1 << 30) - 5):
                file.seek(at)
                file.write(b"data!")
        with open(self.src + b"/only a hole", "wb") as file:
            file.truncate(1 << 30)
        self.run_all()
        for name in (b"/sparse", b"/only a hole"):
            info = os.stat(self.dst + name)
            self.assertEqual(info.st_size, 1 << 30)
            self.assertLess(info.st_blocks * 512, 1 << 20)
        with open(self.dst + b"/sparse", "rb") as file:
            for at in (0, 300 << 20, (1 << 30) - 5):
                file.seek(at)
                self.assertEqual(file.read(5), b"data!")

    def test_names_of_one_file_stay_names_of_one_file(self):
        put(self.src + b"/a/one", b"shared")
        put(self.src + b"/other", b"shared too")
        for name in (b"/a/two", b"/z", b"/0"):
            os.link(self.src + b"/a/one", self.src + name)
        os.mkdir(self.src + b"/b")
        os.link(self.src + b"/other", self.src + b"/b/other")
        os.mkdir(self.dst)
        self.run_all()
        self.check_equal()
        self.assertEqual(os.stat(self.dst + b"/z").st_nlink, 4)

    def test_names_of_one_file_on_dst_only_are_told_apart(self):
        """What one name gets must not come to the other."""
        for side in (self.src, self.dst):
            put(side + b"/a", b"same", 0o644, YEAR_2020_NS)
        put(self.src + b"/b", b"same", 0o600, YEAR_2020_NS + 1)
        put(self.src + b"/c", b"other", 0o600, YEAR_2020_NS)
        os.link(self.dst + b"/a", self.dst + b"/b")
        os.link(self.dst + b"/a", self.dst + b"/c")
        self.run_all()
        self.run_all("--again")
        self.check_equal()

    def test_extended_attributes_and_acls_are_kept(self):
        plain(self.src, folders=1, depth=1, files=2)
        try:
            os.setxattr(self.src + b"/f0", "user.note", b"\x00\xffany bytes")
            os.setxattr(self.src + b"/d0", "user.of a folder", b"x" * 1000)
        except OSError as error:
            self.skipTest(f"no extended attributes here: {error}")
        for path in (b"/f1", b"/d0"):
            os.setxattr(self.src + path, "system.posix_acl_access", acl(1, 4))
        os.setxattr(self.src + b"/d0", "system.posix_acl_default", acl(3, 7))
        for path in (b"/f0", b"/f1", b"/d0", b""):
            set_time(self.src + path, YEAR_2020_NS)
        os.mkdir(self.dst)
        self.run_all()
        self.check_equal()
        self.assertEqual(reports.rsync_difference(self.src, self.dst, "-A", "-X"), b"")

    def test_links_are_copied_as_links(self):
        self.make_roots()
        put(self.src + b"/file", b"x")
        for name, target in ((b"dangling", b"nowhere"), (b"up", b".."), (b"to-file", b"file"),
                             (b"absolute", b"/etc/passwd"), (b"odd", b"\xff\n"), (b"loop", b"loop"),
                             (b"long", b"t" * 4000)):
            os.symlink(target, self.src + b"/" + name)
        os.symlink(b"elsewhere", self.dst + b"/up")
        os.symlink(self.home.encode(), self.dst + b"/file")  # Not to be written through.
        self.run_all()
        self.check_equal()

    def test_a_folder_that_may_not_be_written_gets_its_contents(self):
        put(self.src + b"/locked/below/file", b"x")
        os.chmod(self.src + b"/locked/below", 0o555)
        os.chmod(self.src + b"/locked", 0o500)
        os.mkdir(self.dst)
        if ROOT:
            for path in [b"", *walk(self.src)]:
                os.lchown(os.path.join(self.src, path), 65534, 65534)
            for path in (self.dst, os.fsencode(self.home)):
                os.chown(path, 65534, 65534)
        self.run_all(before=NOBODY if ROOT else ())
        self.check_equal()

    def test_a_chain_beyond_the_longest_path_is_copied_and_deleted(self):
        os.mkdir(self.dst)
        os.makedirs(self.src)
        here = os.open(self.src, os.O_RDONLY)
        for _ in range(30):
            os.mkdir(b"n" * 200, dir_fd=here)
            below = os.open(b"n" * 200, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open(b"end", os.O_CREAT, 0o644, dir_fd=here))
        os.close(here)
        self.run_all()
        self.m("compare", self.src, self.dst, "--again", code=SAME)
        self.remove(self.src)
        os.mkdir(self.src)
        self.run_all("--again", "--delete")
        self.assertEqual(os.listdir(self.dst), [])


if __name__ == "__main__":
    main()
