"""The report against programs that others have written: rsync, rclone and cmp."""
import contextlib
import csv
import io
import os
import random
import shutil
import stat
import subprocess
from urllib.parse import unquote_to_bytes

import reference
import reports
from harness import DIFFERENT, LONG, SAME, MigrateTest, figure, main, seeds
from trees import Pair, content_of, walk


CSV_COLUMNS = ["path", "kind", "verdict", "differences", "src_size", "dst_size", "src_mtime",
               "dst_mtime", "copy", "error"]


class OracleTest(MigrateTest):
    @contextlib.contextmanager
    def pair(self, seed):
        """Two trees of a seed. A failure says how to see it again."""
        with self.subTest(seed=seed, rerun=f"SLUICE_SEED={seed}"):
            top = os.path.join(self.home, "pair").encode()
            self.remove(top)
            self.remove(self.state)
            os.mkdir(top)
            self.src, self.dst = top + b"/src", top + b"/dst"
            Pair(random.Random(seed), self.src, self.dst, 300 if LONG else 150)
            yield


class AgainstRsync(OracleTest):
    """A1."""

    def theirs(self, expected, *options):
        clashes = [reference.shown(path, expected.b[path])
                   for path, verdict in expected.verdicts.items() if verdict == "clash"]
        return reports.as_ours(reports.rsync_plan(self.src, self.dst, *options), clashes)

    def test_the_itemised_report_is_the_plan_of_rsync(self):
        lines = 0
        for seed in seeds(20, 200):
            with self.pair(seed):
                expected = reference.Comparison(self.src, self.dst)
                theirs = self.theirs(expected)
                self.assertEqual(expected.lines(), theirs, "the reference is wrong")
                self.compare(code=DIFFERENT if theirs else SAME)
                self.assertEqual(self.lines(), theirs)
                lines += len(theirs)
        figure("lines_equal_to_rsync", lines)

    def test_with_checksums_it_is_the_plan_of_rsync_with_checksums(self):
        for seed in seeds(5, 50):
            with self.pair(seed):
                expected = reference.Comparison(self.src, self.dst, reference.Rules(checksum=True))
                theirs = self.theirs(expected, "--checksum")
                self.assertEqual(expected.lines(), theirs, "the reference is wrong")
                self.compare("--checksum", code=DIFFERENT if theirs else SAME)
                self.assertEqual(self.lines(), theirs)

    def test_without_owners_and_modes_it_is_the_plan_of_rsync_without(self):
        for seed in seeds(3, 30):
            with self.pair(seed):
                expected = reference.Comparison(self.src, self.dst,
                                                reference.Rules(owner=False, mode=False))
                theirs = self.theirs(expected, "--no-perms", "--no-owner", "--no-group")
                self.assertEqual(expected.lines(), theirs, "the reference is wrong")
                self.compare("--no-owner", "--no-mode", code=DIFFERENT if theirs else SAME)
                self.assertEqual(self.lines(), theirs)

    def test_a_window_of_two_seconds_is_that_of_rsync(self):
        for seed in seeds(3, 30):
            with self.pair(seed):
                rules = reference.Rules(window_ns=2 * 10**9)
                self.compare("--mtime-window", "2s")
                self.check_report(rules)

    def test_block_and_character_devices_of_the_same_numbers_clash(self):
        """rsync takes them for the same."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.make_roots()
        for side, kind in ((self.src, stat.S_IFBLK), (self.dst, stat.S_IFCHR)):
            os.mknod(side + b"/d", kind | 0o600, os.makedev(240, 1))
            for path in (side + b"/d", side):
                os.utime(path, ns=(0, 0))
        self.compare(code=DIFFERENT)
        self.assertEqual(self.lines(), [("*deleting  ", b"d", None), ("cD+++++++++", b"d", None)])

    def test_all_three_formats_tell_of_the_same_paths(self):
        for seed in seeds(3, 20):
            with self.pair(seed):
                self.compare()
                expected = reference.Comparison(self.src, self.dst)
                verdicts = {path: verdict for path, verdict in expected.verdicts.items()
                            if verdict != "same"}
                self.assertEqual({path: one["verdict"] for path, one in self.by_path().items()},
                                 verdicts)
                self.assertEqual(
                    {path: one["verdict"] for path, one in self.by_path("--all").items()},
                    expected.verdicts)
                text = self.report("--format", "csv").decode()
                rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
                self.assertEqual(text.splitlines()[0].split(","), CSV_COLUMNS)
                self.assertEqual([row["verdict"] for row in rows], list(verdicts.values()))
                for row, path in zip(rows, verdicts):
                    self.assertIn(path, (row["path"].encode(), unquote_to_bytes(row["path"])))


class AgainstRclone(OracleTest):
    """A2. rclone knows files only, and cannot show names that are no text."""

    def setUp(self):
        super().setUp()
        if shutil.which("rclone") is None:
            self.skipTest("needs rclone")

    def plain_files(self):
        """Leaves what rclone can see: files, in folders that are the same kind on both sides."""
        for side in (self.src, self.dst):
            for path, info in reversed(walk(side).items()):
                full = os.path.join(side, path)
                odd = any(byte < 32 or byte > 126 or byte in b'"*[]?\\\'' for byte in path)
                if stat.S_ISDIR(info.st_mode):
                    if path and odd:
                        self.remove(full)
                    else:
                        os.chmod(full, 0o755)
                elif odd or not stat.S_ISREG(info.st_mode):
                    os.unlink(full)
                else:
                    os.chmod(full, 0o644)
        for path, verdict in reference.Comparison(self.src, self.dst).verdicts.items():
            if verdict == "clash":
                self.remove(os.path.join(self.dst, path))

    def ours(self):
        """{path: sign} of the files, as `rclone check --combined` prints them."""
        signs = {"same": "=", "attributes": "=", "missing": "+", "extra": "-", "content": "*"}
        found = {}
        for path, one in self.by_path("--all").items():
            if one["kind"] == "file":
                found[path] = signs[one["verdict"]]
            elif one["verdict"] == "extra":  # rclone lists what is below.
                for below, info in walk(os.path.join(self.dst, path)).items():
                    if stat.S_ISREG(info.st_mode):
                        found[os.path.join(path, below)] = "-"
        return found

    def test_with_sizes_only_the_signs_are_those_of_rclone_check(self):
        for seed in seeds(3, 40):
            with self.pair(seed):
                self.plain_files()
                done = subprocess.run(["rclone", "check", "--size-only", "--combined", "-",
                                       "--config", "/dev/null", self.src, self.dst],
                                      capture_output=True, env=self.env, check=False)
                theirs = {line[2:]: line[:1].decode() for line in done.stdout.split(b"\n")[:-1]}
                self.assertTrue(theirs, done.stderr)
                self.compare("--size-only")
                self.assertEqual(self.ours(), theirs)

    def test_with_checksums_a_file_is_different_if_a_byte_is(self):
        for seed in seeds(5, 40):
            with self.pair(seed):
                self.compare("--checksum")
                files = {path: one["verdict"] for path, one in self.by_path("--all").items()
                         if one["kind"] == "file"}
                equal = {path for path, verdict in files.items()
                         if verdict in ("same", "attributes")}
                both = equal | {path for path, verdict in files.items() if verdict == "content"}
                self.assertEqual(equal, {path for path in both
                                         if content_of(os.path.join(self.src, path))
                                         == content_of(os.path.join(self.dst, path))})


if __name__ == "__main__":
    main()
