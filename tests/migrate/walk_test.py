"""How the trees are walked: what is opened, odd shapes and names, counters."""
import os
import re
import stat
import subprocess
import urllib.parse

import reference
import reports
from harness import DIFFERENT, LONG, SAME, MigrateTest, Strace, chance, main
from trees import NAMES, YEAR_2020_NS, Pair, plain, put, set_time, snapshot, walk


def levels_of(status):
    """{(side, level, status): number} of `status --json --levels`, without the zeros."""
    return {(one["side"], one["level"], name): number for one in status["levels"]
            for name, number in one["traversal"].items() if number}


class WhatIsOpened(MigrateTest):
    """A3."""

    def setUp(self):
        super().setUp()
        plain(self.src, folders=2, depth=2)
        self.clone()
        for side, name in ((self.src, b"only-src"), (self.dst, b"only-dst")):
            for below in (b"", b"/a", b"/a/b", b"/c"):
                put(side + b"/d0/" + name + below + b"/file", b"x")

    def opened(self, *arguments, code):
        trace = Strace(self, "-e", "trace=open,openat,openat2,chdir,fchdir")
        self.m(*arguments, code=code, before=trace.words)
        said = b"\n".join(trace.lines())
        return set(re.findall(rb"= \d+<(/[^>]*)>$", said, re.MULTILINE))

    def test_an_extra_subtree_is_never_opened_and_one_only_on_src_is_listed_in_full(self):
        opened = self.opened("compare", self.src, self.dst, code=DIFFERENT)
        folders = {os.path.join(self.src, path).rstrip(b"/")
                   for path, info in walk(self.src).items() if stat.S_ISDIR(info.st_mode)}
        self.assertLessEqual(folders, opened)
        self.assertIn(self.dst + b"/d0", opened)
        self.assertEqual([path for path in opened if b"only-dst" in path], [])
        self.assertEqual([path for path in opened if path.startswith(self.dst)
                          and b"only-src" in path], [])
        self.check_report()

    def test_files_are_opened_only_to_compare_contents(self):
        opened = self.opened("compare", self.src, self.dst, code=DIFFERENT)
        self.assertEqual([path for path in opened if re.search(rb"/(src|dst)/.*f\d$", path)], [])
        self.remove(self.state)
        opened = self.opened("compare", self.src, self.dst, "--checksum", code=DIFFERENT)
        for side in (self.src, self.dst):
            self.assertIn(side + b"/d0/f0", opened)
        self.assertEqual([path for path in opened if b"only-dst" in path], [])

    def test_an_excluded_subtree_is_never_opened(self):
        opened = self.opened("compare", self.src, self.dst, "--exclude", "d0", "--exclude", "d1/d1",
                             code=SAME)
        self.assertIn(self.src + b"/d1", opened)
        self.assertEqual([path for path in opened if b"/d0" in path or b"d1/d1" in path], [])


class Counters(MigrateTest):
    """A5."""

    def recount(self):
        """What the levels have to say, by the report and the trees."""
        found = {}
        expected = reference.Comparison(self.src, self.dst)

        def one(side, path, status):
            level = path.count(b"/") + 1 if path else 0
            key = side, level, status
            found[key] = found.get(key, 0) + 1

        for path in expected.a:
            one("src", path, "successful")
        for path in expected.b:
            verdict = expected.verdicts.get(path)
            if verdict in ("extra", "clash"):
                one("dst", path, "not_on_src")
            elif verdict:  # What is below an extra folder is not known.
                one("dst", path, "successful")
        return found

    def test_the_levels_are_what_a_recount_gives_and_the_ledger_proves_itself(self):
        random = chance("Counters")
        for _ in range(20 if LONG else 4):
            Pair(random, self.src, self.dst, 200)
            numbers = self.compare()
            expected = self.check_report()
            self.assertEqual(self.counts(numbers),
                             {name: count for name, count in expected.count().items() if count})
            self.verify()
            self.assertEqual(levels_of(self.json("status", "--levels")), self.recount())
            for path in (self.src, self.dst, self.state):
                self.remove(path)

    def test_every_name_of_a_directory_is_listed_once_with_both_sides(self):
        Pair(chance("Listed"), self.src, self.dst, 200)
        self.compare()
        expected = reference.Comparison(self.src, self.dst)
        for folder, info in expected.a.items():
            if not stat.S_ISDIR(info.st_mode):
                continue
            listed = self.json("ls", b"./" + folder)  # A name may begin with "-".
            here = {path: verdict for path, verdict in expected.verdicts.items()
                    if path and os.path.dirname(path) == folder}
            self.assertEqual({os.path.join(folder, os.path.basename(reports.path_of(one))):
                              one["verdict"] for one in listed}, here)


class Shapes(MigrateTest):
    def test_two_empty_folders_are_the_same(self):
        self.make_roots()
        set_time(self.src, YEAR_2020_NS)
        set_time(self.dst, YEAR_2020_NS)
        self.compare(code=SAME)
        self.assertEqual(self.report(), b"")
        self.verify()

    def test_a_difference_of_the_roots_alone_is_one(self):
        self.make_roots()
        set_time(self.src, YEAR_2020_NS)
        set_time(self.dst, 0)
        self.compare(code=DIFFERENT)
        self.assertEqual(self.lines(), [(".d..t......", b"./", None)])
        self.m("run", self.src, self.dst)
        self.assertEqual(os.stat(self.dst).st_mtime_ns, YEAR_2020_NS)

    def test_an_empty_folder_and_a_full_one(self):
        plain(self.src)
        os.mkdir(self.dst)
        self.compare(code=DIFFERENT)
        self.check_report()
        self.m("compare", self.dst, self.src, state=self.state + "2", code=DIFFERENT)
        self.assertEqual({code for code, _, _ in self.lines(state=self.state + "2")},
                         {"*deleting  ", ".d..t......"})

    def test_the_same_tree_twice_has_no_difference(self):
        Pair(chance("Twice"), self.src, self.dst, 300)
        self.clone()
        numbers = self.compare(code=SAME)
        self.assertEqual(self.report(), b"")
        self.assertEqual(self.counts(numbers), {"same": len(walk(self.src))})

    def test_nothing_is_changed_in_either_tree(self):
        Pair(chance("Untouched"), self.src, self.dst, 200)
        before = snapshot(self.src), snapshot(self.dst)
        for options in ([], ["--checksum"], ["--size-only"]):
            self.remove(self.state)
            self.compare(*options)
        self.assertEqual((snapshot(self.src), snapshot(self.dst)), before)

    def test_a_huge_directory(self):
        number = 1_000_000 if LONG else 20_000
        self.make_roots()
        for side in (self.src, self.dst):
            here = os.open(side, os.O_RDONLY)
            for i in range(number):
                os.close(os.open(b"name-%d" % (i * 7919 % number), os.O_CREAT, 0o644, dir_fd=here))
                os.utime(b"name-%d" % (i * 7919 % number), ns=(0, 0), dir_fd=here)
            os.close(here)
        os.unlink(self.dst + b"/name-17")
        put(self.dst + b"/name-18", b"x", mtime_ns=0)
        put(self.dst + b"/zzz", mtime_ns=0)
        set_time(self.src, 0)
        set_time(self.dst, 0)
        numbers = self.compare(code=DIFFERENT)
        self.assertEqual(self.counts(numbers),
                         {"same": number - 1, "missing": 1, "content": 1, "extra": 1})
        self.assertEqual(self.lines(), [(">f+++++++++", b"name-17", None),
                                        (">f.s.......", b"name-18", None),
                                        ("*deleting  ", b"zzz", None)])
        self.verify()

    def chain(self, top, name, depth):
        """A chain of folders, by steps: its path is longer than a system call takes."""
        os.makedirs(top)
        here = os.open(top, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir(name, dir_fd=here)
            os.utime(name, ns=(0, 0), dir_fd=here)
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.utime(here, ns=(0, 0))
            os.close(here)
            here = below
        return here

    def deep(self, name, depth):
        for side, content in ((self.src, b"src"), (self.dst, b"dst")):
            here = self.chain(side, name, depth)
            for leaf, text in ((b"a", b""), (b"b", content)):
                file = os.open(leaf, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=here)
                os.write(file, text + b"!" * (side == self.src))
                os.close(file)
                os.utime(leaf, ns=(0, 0), dir_fd=here)
            os.utime(here, ns=(0, 0))
            os.close(here)
        below = b"/".join([name] * depth)
        numbers = self.compare(code=DIFFERENT)
        self.assertEqual(self.counts(numbers), {"same": depth + 1, "content": 2})
        self.assertEqual(self.lines(), [(">f.s.......", below + b"/a", None),
                                        (">f.s.......", below + b"/b", None)])
        self.verify()

    def test_a_chain_beyond_the_longest_path(self):
        self.deep(b"n" * 250, 40)

    def test_a_chain_of_a_thousand_folders(self):
        self.deep(b"d", 1000)

    def test_odd_names_come_out_as_they_are(self):
        self.make_roots()
        names = [*NAMES, b"a -> b", b"%FF", b"\\", b"\\#", b"\r", b"\x01" * 200, b"(reason)"]
        for name in names:
            put(self.src + b"/" + name, name)
        os.symlink(b"a -> b", self.src + b"/l -> l")
        self.compare(code=DIFFERENT)
        wanted = sorted([*names, b"l -> l"])
        found = self.by_path()
        self.assertEqual([path for path in found if path], wanted)
        lines = self.report("--format", "itemize").split(b"\n")
        self.assertEqual([reports.unescape(line[12:]) for line in lines[1:-1]],
                         [b"l -> l -> a -> b" if name == b"l -> l" else name for name in wanted])
        listed = self.json("ls", ".")
        self.assertEqual(sorted(os.path.basename(reports.path_of(one)) for one in listed), wanted)
        for name in wanted:
            with self.subTest(name=name):
                self.assertEqual(reports.path_of(self.json("why", b"./" + name)), name)

    def test_paths_in_a_table_can_be_told_apart(self):
        self.make_roots()
        for name in (b"%FF", b"\xff", b"%25FF"):
            put(self.src + b"/" + name)
        self.compare(code=DIFFERENT)
        rows = self.report("--format", "csv").decode().splitlines()[2:]
        paths = {row.partition(",")[0] for row in rows}
        self.assertEqual(len(paths), 3, rows)
        self.assertEqual({urllib.parse.unquote_to_bytes(path) for path in paths} & {b"\xff"},
                         {b"\xff"})

    def test_the_number_of_threads_changes_no_byte(self):
        Pair(chance("Threads"), self.src, self.dst, 2000 if LONG else 500)
        seen = set()
        for threads in (1, 2, 8):
            state = f"{self.state}-{threads}"
            done = self.run_m("compare", self.src, self.dst, "--threads", str(threads), state=state)
            self.check_code(done, DIFFERENT)
            seen.add((done.stdout, *(self.report("--format", name, "--all", state=state)
                                     for name in ("itemize", "json", "csv"))))
        self.assertEqual(len(seen), 1)

    def test_another_file_system_is_left_out_if_told_so(self):
        plain(self.src)
        self.clone()
        for side in (self.src, self.dst):
            os.mkdir(side + b"/mnt")
            set_time(side + b"/mnt", 0)
            set_time(side, 0)
        mount = ["unshare", "--mount", "sh", "-c",
                 'mount -t tmpfs sluice-test "$1"; echo x > "$1/inside"; shift; exec "$@"', "sh",
                 self.src + b"/mnt"]
        if subprocess.run([*mount, "true"], check=False, capture_output=True).returncode:
            self.skipTest("cannot mount a disk (needs root)")
        self.m("compare", self.src, self.dst, code=DIFFERENT, before=mount)
        self.assertIn(b"mnt/inside", [path for _, path, _ in self.lines()])
        self.remove(self.state)
        self.m("compare", self.src, self.dst, "--one-file-system", code=(SAME, DIFFERENT),
               before=mount)
        self.assertNotIn(b"mnt/inside", [path for _, path, _ in self.lines("--all")])


if __name__ == "__main__":
    main()
