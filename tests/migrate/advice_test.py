# SPDX-License-Identifier: MIT
"""What goes wrong for people: each message says what to do next, and doing it helps."""
import os
import shutil
import subprocess

from copying import CopyTest
from harness import (DIFFERENT, FAILED, INVALID, MIGRATE, NOBODY, NOT_FOUND, SAME, STORE,
                     MigrateTest, main)
from trees import ROOT, content_of, plain, put

IN_A_MOUNT = ["unshare", "--mount", "sh", "-c"]


class AdviceTest(MigrateTest):
    def setUp(self):
        super().setUp()
        plain(self.src, folders=2, depth=1)
        self.clone()
        put(self.src + b"/d0/new", b"new")

    def says(self, code, advice, *arguments, **options):
        self.assertRegex(self.fails(code, *arguments, **options).replace("\n", " "), advice)

    def mounted(self, script, *words):
        """Words that run `script` in mounts of its own, with `words`, before the program."""
        before = [*IN_A_MOUNT, f'{script}; shift {len(words)}; exec "$@"', "sh", *words]
        if subprocess.run([*before, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("cannot mount a disk (needs root)")
        return before


class Places(AdviceTest):
    def test_a_ledger_inside_a_tree(self):
        for side in (self.src, self.dst):
            for state in (side, side + b"/d0/ledger", side + b"/f0"):
                with self.subTest(state=state):
                    self.says(INVALID, "name a folder outside with --state", "compare", self.src,
                              self.dst, state=state)

    def test_roots_that_are_one_or_in_one_another(self):
        self.says(INVALID, "name two", "compare", self.src, self.src)
        self.says(INVALID, "name a folder outside", "compare", self.src, self.src + b"/d0")
        self.says(INVALID, "name the folder", "compare", self.src + b"/d0", self.src)

    def test_roots_that_are_no_folders_or_not_there(self):
        outside = self.home.encode() + b"/file"
        put(outside, b"x")
        for roots in ((outside, self.dst), (self.src, outside)):
            self.says(INVALID, "give the path of a directory", "compare", *roots)
        self.says(NOT_FOUND, "check the name, and that what it is on is mounted", "compare",
                  self.src + b"-not", self.dst)

    def test_a_state_that_is_a_file_or_somebody_elses_folder(self):
        put(self.home.encode() + b"/file", b"x")
        self.says(STORE, "name another with --state", "compare", self.src, self.dst,
                  state=self.home + "/file")
        put(self.home.encode() + b"/mine/precious", b"x")
        self.says(INVALID, "name a new one with --state", "compare", self.src, self.dst,
                  state=self.home + "/mine")
        self.says(NOT_FOUND, "make one with sluice-migrate compare", "status",
                  state=self.home + "/mine")


class NoRights(AdviceTest):
    """Somebody without rights to the trees or the ledger, which are root's."""

    def setUp(self):
        super().setUp()
        if not ROOT:
            self.skipTest("needs root")
        self.program = os.path.join(self.home, "sluice-migrate")
        shutil.copy(MIGRATE, self.program)
        self.theirs = os.path.join(self.home, "theirs")
        os.mkdir(self.theirs)
        os.chown(self.theirs, 65534, 65534)

    def argv(self, arguments, state=None):
        return [*NOBODY, self.program, *super().argv(arguments, state)[1:]]

    def lock(self, path, mode=0o700):
        os.chmod(path, mode)
        self.addCleanup(os.chmod, path, 0o755)

    def test_to_the_place_of_the_ledger(self):
        self.says(STORE, "Permission denied; name another with --state", "compare", self.src,
                  self.dst)
        os.mkdir(self.state)
        self.says(STORE, "grant this account access, or use another place", "compare", self.src,
                  self.dst)
        self.lock(self.state)
        for state in (self.state, self.state + "/below"):
            self.says(STORE, "grant this account access, or", "compare", self.src, self.dst,
                      state=state)
            self.says(STORE, "grant this account access, or name another folder", "status",
                      state=state)

    def test_to_the_ledger_itself(self):
        subprocess.run([self.program, "compare", self.src, self.dst, "--state", self.state],
                       check=False, capture_output=True)
        subprocess.run(["chmod", "-R", "a+rX", self.state], check=True)
        for words in (["status"], ["report"], ["ls"], ["why", "."], ["verify"]):
            with self.subTest(words=words):
                self.says(STORE, "use the account that made it, or a copy of the folder", *words)
        copy = os.path.join(self.theirs, "copy")
        subprocess.run(["cp", "-r", self.state, copy], check=True)
        subprocess.run(["chown", "-R", "nobody:nogroup", copy], check=True)
        self.m("status", state=copy)
        self.m("verify", state=copy)

    def test_to_a_root_or_what_it_is_in(self):
        state = os.path.join(self.theirs, "state")
        self.lock(self.dst)
        done = self.run_m("run", self.src, self.dst, state=state)
        self.check_code(done, STORE)
        self.assertRegex(done.stderr.decode(), "let this account write there")
        os.mkdir(self.home + "/locked")
        self.lock(self.home + "/locked")
        for roots in ((self.home + "/locked/src", self.dst), (self.src, self.home + "/locked/dst")):
            self.says(STORE, "grant this account access to what it is in", "compare", *roots,
                      state=state + "2")

    def test_to_a_folder_of_a_tree(self):
        state = os.path.join(self.theirs, "state")
        self.lock(self.src + b"/d0")
        done = self.run_m("compare", self.src, self.dst, state=state)
        self.check_code(done, FAILED)
        self.assertRegex(done.stderr.decode(), "`retry` and compare again")
        self.assertIn(b"EACCES", self.report("--status", "unknown", state=state))
        os.chmod(self.src + b"/d0", 0o755)
        self.m("retry", state=state)
        self.m("compare", self.src, self.dst, code=DIFFERENT, state=state)


class ReadOnly(AdviceTest):
    def test_a_ledger_on_a_disk_that_is_read_only(self):
        self.compare()
        before = self.mounted('mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"',
                              self.state)
        self.says(STORE, "or use another place", "compare", self.src, self.dst, before=before)
        self.says(STORE, "or a copy of the folder", "report", before=before)

    def test_a_destination_that_is_read_only(self):
        before = self.mounted('mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"', self.dst)
        done = self.run_m("run", self.src, self.dst, before=before)
        self.check_code(done, FAILED)
        self.assertRegex(done.stderr.decode(), "`why PATH` say what and why")
        self.assertIn(b"EROFS", self.m("why", "d0/new"))
        self.m("copy", code=SAME)
        self.assertEqual(content_of(self.dst + b"/d0/new"), b"new")


class NoRoom(CopyTest):
    def test_for_the_ledger(self):
        plain(self.src)
        os.mkdir(self.dst)
        disk = os.path.join(self.home, "disk")
        os.mkdir(disk)
        self.state = os.path.join(disk, "state")
        for size in ("8k", "64k"):
            with self.subTest(size=size):
                done = self.run_m("compare", self.src, self.dst,
                                  before=[*IN_A_MOUNT, 'mount -t tmpfs -o "size=$1" test "$2" && '
                                          'shift 2 && exec "$@"', "sh", size, disk])
                if b"mount: " in done.stderr or b"unshare: " in done.stderr:
                    self.skipTest("cannot mount a disk (needs root)")
                self.check_code(done, STORE)
                self.assertRegex(done.stderr.decode(), "make some on the disk of --state, and the "
                                                       "same command goes on")

    def test_for_the_copies(self):
        """What fits is copied whole, the rest is said to have failed, and no more than that."""
        for i in range(9):
            put(self.src + b"/f%d" % i, b"x" * 300_000)
        os.mkdir(self.dst)
        script = ('mount -t tmpfs -o size=1m test "$1"; shift; "$@"; code=$?; '
                  'ls -l "$0" >&2; exit $code')
        done = self.run_m("run", self.src, self.dst, before=[*IN_A_MOUNT, script, self.dst,
                                                             self.dst])
        if b"mount: " in done.stderr or b"unshare: " in done.stderr:
            self.skipTest("cannot mount a disk (needs root)")
        self.check_code(done, FAILED)
        self.assertRegex(done.stderr.decode(), "`why PATH` say what and why")
        there = done.stderr.count(b" 300000 ")
        self.assertLess(there, 4)
        self.assertNotIn(b".sluice", done.stderr)
        numbers = self.summary(done.stdout)
        # The root, too.
        self.assertEqual((numbers["done now"], numbers["failed now"]), (there + 1, 9 - there))
        # Which of them found no room is a matter of chance: two are copied at a time.
        reasons = [self.m("why", f"f{i}") for i in range(9)]
        self.assertEqual(sum(b"ENOSPC" in reason for reason in reasons), 9 - there)


if __name__ == "__main__":
    main()
