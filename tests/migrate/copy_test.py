"""Carrying out what was found: never a part of a file under its name, never more than planned."""
import hashlib
import os
import random
import signal
import stat
import struct
import subprocess
import threading
import time

import reports
from harness import (FAILED, LONG, NOBODY, SAME, MigrateTest, Strace, chance, figure, main, seeds)
from trees import ROOT, YEAR_2020_NS, Pair, content_of, plain, put, set_time, snapshot, walk

# What a copy does to the trees and the ledger, and how often at most: where it can be cut off.
CALLS = {"copy_file_range": 20, "linkat": 10, "renameat2": 10, "utimensat": 20, "flistxattr": 30,
         "fdatasync": 6, "syncfs": 3, "pwrite64": 12, "writev": 6, "mkdirat": 2, "unlinkat": 3}


def acl(user, permissions):
    """An access control list with a line for one more user, as the kernel stores it."""
    nobody = 0xFFFFFFFF
    lines = ((1, 6, nobody), (2, permissions, user), (4, 4, nobody), (16, 7, nobody),
             (32, 4, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *line) for line in lines)


class CopyTest(MigrateTest):
    def run_all(self, *options, code=SAME, **others):
        return self.m("run", self.src, self.dst, *options, code=code, **others)

    def check_equal(self):
        """Both trees are the same, in our eyes and in those of rsync."""
        self.assertEqual(snapshot(self.dst), snapshot(self.src))
        self.assertEqual(reports.rsync_difference(self.src, self.dst), b"")


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
            time.sleep(one.uniform(0, 0.25))  # A moment, not a condition.
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


class Deletion(CopyTest):
    def setUp(self):
        super().setUp()
        plain(self.src, folders=2, depth=1)
        self.clone()
        for i in range(10):
            put(self.dst + b"/extra%d" % i, b"x")

    def extras(self):
        return [name for name in os.listdir(self.dst) if name.startswith(b"extra")]

    def test_not_more_than_allowed(self):
        self.run_all("--delete", "--max-delete", "3", code=FAILED)
        self.assertGreaterEqual(len(self.extras()), 7)
        left = len(self.extras())
        self.m("copy", "--delete", "--max-delete", "0", code=FAILED)
        self.assertEqual(len(self.extras()), left)
        self.m("copy", "--delete")
        self.assertEqual(self.extras(), [])
        self.check_equal()

    def test_what_is_inside_an_extra_folder_counts(self):
        for i in range(20):
            put(self.dst + b"/extra-folder/%d" % i, b"x")
        self.run_all("--delete", "--max-delete", "15", code=FAILED)
        self.assertGreaterEqual(len(walk(self.dst)), 17 + 10 + 21 - 15 - 4)
        gone = 31 - sum(path.startswith(b"extra") for path in walk(self.dst))
        self.assertLessEqual(gone, 15)

    def unknown(self, *options, before=()):
        """d0 cannot be listed; what is on DST below it is nobody's business."""
        put(self.dst + b"/d0/extra/deep", b"keep")
        put(self.dst + b"/d0/extra file", b"keep")
        if ROOT:
            for path in (self.dst, self.src, os.fsencode(self.home)):
                subprocess.run(["chown", "-R", "nobody:nogroup", path], check=True)
        done = self.run_m("run", self.src, self.dst, "--delete", *options, before=before)
        self.check_code(done, FAILED)
        self.assertEqual(content_of(self.dst + b"/d0/extra/deep"), b"keep")
        self.assertEqual(content_of(self.dst + b"/d0/extra file"), b"keep")
        self.assertTrue(os.path.exists(self.dst + b"/d0/f0"))
        self.assertEqual(self.by_path()[b"d0"]["verdict"], "unknown")

    def test_nothing_is_deleted_below_a_folder_of_src_that_may_not_be_read(self):
        os.chmod(self.src + b"/d0", 0)
        self.unknown(before=NOBODY if ROOT else ())

    def test_nothing_is_deleted_below_a_folder_of_dst_that_may_not_be_read(self):
        put(self.dst + b"/d0/extra file", b"keep")
        os.chmod(self.dst + b"/d0", 0)
        if ROOT:
            subprocess.run(["chown", "-R", "nobody:nogroup", self.dst, self.src, self.home],
                           check=True)
        self.run_all("--delete", code=FAILED, before=NOBODY if ROOT else ())
        os.chmod(self.dst + b"/d0", 0o755)
        self.assertEqual(content_of(self.dst + b"/d0/extra file"), b"keep")

    def test_nothing_is_deleted_below_a_folder_that_a_bad_disk_hides(self):
        for error in ("EIO", "ETIMEDOUT", "ESTALE"):
            with self.subTest(error=error):
                self.remove(self.state)
                trace = Strace(self, "-P", self.src + b"/d0", "-e", "trace=getdents64", "-e",
                               f"inject=getdents64:error={error}")
                self.unknown(before=trace.words)

    def test_a_link_is_not_followed(self):
        outside = os.path.join(self.home, "outside").encode()
        put(outside + b"/precious", b"keep")
        os.symlink(outside, self.dst + b"/extra-link")
        os.mkdir(self.dst + b"/extra-folder")
        os.symlink(outside, self.dst + b"/extra-folder/link")
        self.run_all("--delete")
        self.assertEqual(content_of(outside + b"/precious"), b"keep")
        self.assertEqual(self.extras(), [])


class Plan(CopyTest):
    def test_a_dry_run_changes_nothing_and_prints_the_plan(self):
        Pair(chance("Dry"), self.src, self.dst, 200)
        before = snapshot(self.src), snapshot(self.dst)
        output = self.run_all("--delete", "--dry-run", code=(0, 1))
        self.assertEqual((snapshot(self.src), snapshot(self.dst)), before)
        self.assertEqual(reports.itemized(output)[:len(self.lines())], self.lines())
        output = self.m("copy", "--dry-run", code=(0, 1))
        self.assertNotIn(b"*deleting   n", output)
        self.assertEqual((snapshot(self.src), snapshot(self.dst)), before)

    def drift(self, change, *paths):
        """After `change`, `paths` are left alone and said to have failed; others are copied."""
        plain(self.src, folders=2, depth=1)
        self.clone()
        for i in range(5):
            put(self.src + b"/d0/new%d" % i, b"new", mtime_ns=YEAR_2020_NS)
            put(self.src + b"/d1/f%d" % i, b"changed content", mtime_ns=YEAR_2020_NS + i)
        self.compare()
        change()
        before = snapshot(self.dst)
        self.m("copy", "--delete", code=FAILED)
        after = snapshot(self.dst)
        found = self.by_path()
        for path in paths:
            self.assertEqual(after.get(path), before.get(path))
            self.assertEqual(found[path]["copy"], "failed")
            self.assertRegex(found[path]["error"], "chang|drift|differ|appear")
        for path in (b"d0/new3", b"d1/f3"):
            self.assertEqual(after[path], snapshot(self.src)[path])
        self.run_all("--delete", "--again")
        self.check_equal()

    def test_a_source_that_changed_since_is_refused(self):
        def change():
            put(self.src + b"/d0/new0", b"newer than the plan")
            os.unlink(self.src + b"/d0/new1")
            os.mkdir(self.src + b"/d0/new1")
            set_time(self.src + b"/d1/f0", 5)
        self.drift(change, b"d0/new0", b"d0/new1", b"d1/f0")

    def test_a_destination_that_changed_since_is_refused(self):
        def change():
            put(self.dst + b"/d0/new0", b"somebody was here")
            put(self.dst + b"/d1/f0", b"and here")
            os.unlink(self.dst + b"/d1/f1")
            os.mkdir(self.dst + b"/d1/f1")
        self.drift(change, b"d0/new0", b"d1/f0", b"d1/f1")

    def test_an_extra_that_changed_since_is_not_deleted(self):
        plain(self.src, folders=1, depth=1)
        self.clone()
        put(self.dst + b"/extra", b"old")
        put(self.dst + b"/extra2", b"old")
        self.compare()
        put(self.dst + b"/extra", b"somebody needs it now")
        self.m("copy", "--delete", code=FAILED)
        self.assertEqual(content_of(self.dst + b"/extra"), b"somebody needs it now")
        self.assertFalse(os.path.exists(self.dst + b"/extra2"))

    def test_what_is_excluded_is_neither_copied_nor_deleted(self):
        plain(self.src, folders=3, depth=1)
        self.clone()
        for i in range(3):
            put(self.src + b"/d%d/new" % i, b"new")
            put(self.src + b"/d%d/new.tmp" % i, b"new")
            put(self.dst + b"/d%d/extra/deep" % i, b"extra")
            put(self.dst + b"/d%d/extra.tmp" % i, b"extra")
        self.compare("--exclude", "*.tmp", code=1)
        self.m("exclude", b"d0", b"d1/extra")
        self.m("copy", "--delete")
        there = set(walk(self.dst))
        self.assertEqual({path for path in there if path.endswith(b".tmp")},
                         {b"d%d/extra.tmp" % i for i in range(3)})
        self.assertIn(b"d0/extra/deep", there)
        self.assertIn(b"d1/extra/deep", there)
        self.assertNotIn(b"d2/extra", there)
        self.assertNotIn(b"d0/new", there)
        self.assertIn(b"d1/new", there)
        self.m("include", b"d0")
        self.m("copy", "--delete")
        there = set(walk(self.dst))
        self.assertIn(b"d0/new", there)
        self.assertNotIn(b"d0/extra", there)
        self.assertIn(b"d1/extra/deep", there)

    def test_a_newer_file_is_kept_if_told_so(self):
        self.make_roots()
        for name, off in ((b"newer", 10**9), (b"older", -10**9)):
            put(self.src + b"/" + name, b"from src", mtime_ns=YEAR_2020_NS)
            put(self.dst + b"/" + name, b"dst", mtime_ns=YEAR_2020_NS + off)
        self.run_all("--newer", "keep")
        self.assertEqual(content_of(self.dst + b"/newer"), b"dst")
        self.assertEqual(content_of(self.dst + b"/older"), b"from src")

    def test_owners_and_modes_that_do_not_count_are_not_set(self):
        put(self.src + b"/f", b"new content", 0o600, YEAR_2020_NS)
        put(self.dst + b"/f", b"old", 0o644, YEAR_2020_NS)
        if ROOT:
            os.chown(self.src + b"/f", 1, 2)
        self.run_all("--no-owner", "--no-mode")
        info = os.stat(self.dst + b"/f")
        self.assertEqual((stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid),
                         (0o644, os.getuid(), os.getgid()))
        self.assertEqual(content_of(self.dst + b"/f"), b"new content")

    def test_a_limit_of_bandwidth_is_kept(self):
        put(self.src + b"/f", b"x" * (3 << 20))
        os.mkdir(self.dst)
        begin = time.monotonic()
        self.run_all("--bwlimit", "2M")
        # A second's worth may come at once. Slower is no fault.
        self.assertGreater(time.monotonic() - begin, 0.4)
        self.check_equal()


class Verification(CopyTest):
    def setUp(self):
        super().setUp()
        plain(self.src, folders=2, depth=1, size=5000)
        os.mkdir(self.dst)
        self.run_all("--verify")
        self.check_equal()

    def test_what_was_copied_is_still_the_same(self):
        self.verify("--contents")

    def test_a_byte_that_flipped_is_found(self):
        path = self.dst + b"/d1/f3"
        info = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(1000)
            byte = file.read(1)
            file.seek(1000)
            file.write(bytes([byte[0] ^ 4]))
        set_time(path, info.st_mtime_ns)
        done = self.run_m("verify", "--contents")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"d1/f3", done.stdout + done.stderr)
        self.assertNotIn(b"d1/f2", done.stdout + done.stderr)


class Defects(CopyTest):
    """The defects of the program that this one follows, one test each (1f.1 and 1f.2 are above)."""

    def test_defect_1f3_a_resume_goes_on_where_something_is_pending(self):
        plain(self.src, folders=3, depth=4, files=1)
        self.clone()
        put(self.src + b"/d0/d1/d2/d0/new", b"deep down")
        trace = Strace(self, "-e", "trace=fdatasync,fsync,msync", "-e",
                       "inject=fdatasync,fsync,msync:signal=KILL:when=4")
        self.run_m("compare", self.src, self.dst, "--threads", "1", before=trace.words)
        self.compare(code=1)
        self.check_report()
        self.assertEqual(self.counts(self.compare(code=1))["missing"], 1)

    def test_defect_1f4_an_error_of_the_ledger_is_no_hang(self):
        plain(self.src, depth=2)
        os.mkdir(self.dst)
        for when in ("3", "3+"):
            self.remove(self.state)
            trace = Strace(self, "-e", "trace=fdatasync,fsync,msync", "-e",
                           f"inject=fdatasync,fsync,msync:error=EIO:when={when}")
            done = self.run_m("run", self.src, self.dst, before=trace.words)
            self.assertGreater(done.returncode, 0)
        self.run_all()
        self.check_equal()

    def test_defect_1f5_what_failed_is_told_and_a_link_is_a_link(self):
        """In a folder that may be listed but not entered, names are known and nothing else."""
        put(self.src + b"/d/f", b"x")
        put(self.src + b"/target", b"x")
        os.symlink(b"target", self.src + b"/link")
        os.mkdir(self.dst)
        put(self.dst + b"/d/f", b"old")
        if ROOT:
            subprocess.run(["chown", "-R", "nobody:nogroup", self.src, self.dst, self.home],
                           check=True)
        os.chmod(self.src + b"/d", 0o444)
        self.run_all("--delete", code=FAILED, before=NOBODY if ROOT else ())
        found = self.by_path("--all")
        self.assertTrue(any(found[path]["verdict"] == "unknown" for path in (b"d", b"d/f")
                            if path in found), found)
        self.assertEqual(content_of(self.dst + b"/d/f"), b"old")
        self.assertEqual(os.readlink(self.dst + b"/link"), b"target")
        self.m("compare", self.src, self.dst, code=FAILED, before=NOBODY if ROOT else ())

    def test_defect_1f6_a_new_listing_leaves_no_orphans(self):
        plain(self.src, folders=2, depth=3)
        self.clone()
        self.compare(code=SAME)
        for side in (self.src, self.dst):
            self.remove(side + b"/d0/d0")  # With grandchildren.
            set_time(side + b"/d0", 0)
        self.m("retry", b"d0")
        self.compare(code=SAME)
        self.assertEqual(set(self.by_path("--all")), set(walk(self.src)))
        self.verify()
        levels = self.json("status", "--levels")["levels"]
        fresh = self.state + "2"
        self.m("compare", self.src, self.dst, state=fresh)
        self.assertEqual(levels, self.json("status", "--levels", state=fresh)["levels"])

    def test_defect_1f7_a_tree_with_its_times_kept_is_not_copied_again(self):
        plain(self.src)
        self.clone()
        before = {path: info.st_ino for path, info in walk(self.dst).items()}
        self.run_all()
        self.assertEqual({path: info.st_ino for path, info in walk(self.dst).items()}, before)


if __name__ == "__main__":
    main()
