"""What is planned and deleted, and how a copy is proved: never more than planned."""
import os
import stat
import subprocess

import reports
from copying import CopyTest
from harness import FAILED, NOBODY, SAME, Stopwatch, Strace, chance, main
from trees import ROOT, YEAR_2020_NS, Pair, content_of, plain, put, set_time, snapshot, walk


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
        # Only the directories in which something changed are listed again.
        self.assertRegex(self.m("retry").decode(), "[1-6] director")
        self.run_all("--delete")
        self.check_equal()
        self.verify()

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
        watch = Stopwatch()
        self.run_all("--bwlimit", "2M")
        # A second's worth may come at once. Slower is no fault.
        self.assertTrue(watch.reached(0.4))
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
