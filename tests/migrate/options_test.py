"""Roots, options, exclusion, and what contradicts itself."""
import os

import reference
from harness import CONFLICT, DIFFERENT, INVALID, NOT_FOUND, SAME, MigrateTest, chance, figure, main
from trees import YEAR_2020_NS, Pair, plain, put, set_time, snapshot


class Roots(MigrateTest):
    def test_a_source_that_is_not_there_is_no_empty_one(self):
        plain(self.dst)
        before = snapshot(self.dst)
        message = self.fails(NOT_FOUND, "compare", self.src, self.dst)
        self.assertIn("src", message)
        self.fails(NOT_FOUND, "run", self.src, self.dst, "--delete")
        self.assertEqual(snapshot(self.dst), before)

    def test_a_destination_that_is_not_there_is_an_empty_one(self):
        plain(self.src)
        self.compare(code=DIFFERENT)
        self.assertEqual({one["verdict"] for path, one in self.by_path().items() if path},
                         {"missing"})
        self.assertFalse(os.path.exists(self.dst))
        self.m("run", self.src, self.dst)
        self.assertEqual(snapshot(self.dst), snapshot(self.src))

    def test_a_file_is_no_root(self):
        self.make_roots()
        put(self.src + b"/f")
        for words in ((self.src + b"/f", self.dst), (self.dst, self.src + b"/f")):
            self.assertIn("/f", self.fails((INVALID, NOT_FOUND), "compare", *words))

    def test_one_tree_inside_the_other_is_refused(self):
        plain(self.src)
        inside = self.src + b"/d0"
        os.symlink(inside, self.dst)
        before = snapshot(self.src)
        for one, other in ((self.src, inside), (inside, self.src), (self.src, self.dst),
                           (self.src, self.src), (self.src, self.src + b"/d0/..")):
            with self.subTest(one=one, other=other):
                message = self.fails(INVALID, "compare", one, other)
                self.assertRegex(message, "inside|same|itself")
                self.fails(INVALID, "run", one, other, "--delete")
        self.assertEqual(snapshot(self.src), before)

    def test_a_ledger_inside_a_tree_is_not_compared(self):
        for side in (self.src, self.dst):
            self.remove(self.src)
            self.remove(self.dst)
            plain(self.src, depth=1)
            self.clone()
            state = os.path.join(side, b"d0", b"ledger")
            done = self.run_m("compare", self.src, self.dst, state=state)
            if done.returncode == INVALID:
                self.assertIn(b"ledger", done.stderr)
                self.assertFalse(os.path.exists(state))
                continue
            self.check_code(done, (SAME, DIFFERENT))
            self.assertEqual([path for path in self.by_path("--all", state=state)
                              if b"ledger" in path], [])


class OtherOptions(MigrateTest):
    """A10."""

    CHANGES = (["--checksum"], ["--size-only"], ["--mtime-window", "1s"], ["--no-owner"],
               ["--no-mode"], ["--newer", "keep"], ["--exclude", "x*"], ["--one-file-system"])

    def setUp(self):
        super().setUp()
        Pair(chance("OtherOptions"), self.src, self.dst, 60)

    def test_a_resume_with_another_option_is_refused_and_names_it(self):
        self.compare()
        before = self.report()
        for options in self.CHANGES:
            with self.subTest(options=options):
                message = self.fails(INVALID, "compare", self.src, self.dst, *options)
                self.assertIn(options[0].lstrip("-"), message)
        message = self.fails(INVALID, "run", self.src, self.dst, "--checksum", "--no-mode")
        self.assertIn("checksum", message)
        self.assertIn("no-mode", message)
        self.assertEqual(self.report(), before)

    def test_a_resume_without_an_option_of_the_first_run_is_refused(self):
        for options in self.CHANGES:
            with self.subTest(options=options):
                self.remove(self.state)
                self.compare(*options)
                self.assertIn(options[0].lstrip("-"),
                              self.fails(INVALID, "compare", self.src, self.dst))
                self.compare(*options)

    def test_a_resume_with_other_roots_is_refused_and_names_them(self):
        self.compare()
        other = os.path.join(self.home, "other").encode()
        os.mkdir(other)
        for roots in ((other, self.dst), (self.src, other), (self.dst, self.src)):
            with self.subTest(roots=roots):
                message = self.fails(INVALID, "compare", *roots)
                self.assertIn(roots[0 if roots[0] != self.src else 1].decode(), message)

    def test_the_same_roots_by_other_words_are_the_same(self):
        self.compare()
        before = self.report()
        self.compare(src=self.src + b"/", dst=b"./dst")
        self.compare(src=b"src", dst=self.src + b"/../dst")
        self.assertEqual(self.report(), before)

    def test_how_fast_it_goes_may_change(self):
        first = self.compare("--threads", "2", "--retries", "1")
        self.assertEqual(self.compare("--threads", "1", "--retries", "5", "--quiet",
                                      "--progress", "never") or first, first)


class Exclusion(MigrateTest):
    """A14."""

    def everything(self):
        return (self.report("--format", "json", "--all"), self.report("--format", "itemize"),
                self.json("status", "--levels"), self.m("ls", "-R"), self.m("ls", "-R", "--json"))

    def test_to_exclude_and_take_it_back_is_as_if_nothing_had_been(self):
        plain(self.src, folders=3, depth=3)
        self.clone()
        put(self.src + b"/d0/d1/new", b"new")
        put(self.dst + b"/d0/extra/x", b"extra")
        put(self.dst + b"/d0/f0", b"other")
        self.compare(code=DIFFERENT)
        before = self.everything()
        self.m("exclude", b"d0")
        lines = [path for _, path, _ in self.lines()]
        self.assertEqual([path for path in lines if path.startswith(b"d0/") and path != b"d0/"], [])
        for path in (b"d0", b"d0/d1", b"d0/d1/new"):  # Also what is below.
            self.assertRegex(self.m("why", path).decode(), "exclu")
        self.assertNotRegex(self.m("why", b"d1").decode(), "exclu")
        self.verify()
        self.fails(CONFLICT, "exclude", b"d0/d1")  # It is out already.
        self.m("include", b"d0")
        self.assertEqual(self.everything(), before)
        self.m("exclude", b"d0/d1")
        self.assertRegex(self.m("why", b"d0/d1/new").decode(), "exclu")
        self.assertNotRegex(self.m("why", b"d0/f0").decode(), "exclu")
        self.assertIn(b"d0/f0", [path for _, path, _ in self.lines()])
        self.m("include", b"d0/d1")
        self.assertEqual(self.everything(), before)
        self.verify()

    def test_an_excluded_name_is_neither_descended_nor_compared(self):
        Pair(chance("Excluded"), self.src, self.dst, 300)
        globs = ["c*", "*/a", "n1*", "[a-b].txt"]
        self.compare(*(word for glob in globs for word in ("--exclude", glob)))
        self.check_report(reference.Rules(exclude=[glob.encode() for glob in globs]))

    def test_a_path_that_is_not_known_is_not_found(self):
        plain(self.src)
        self.clone()
        self.compare()
        for verb in ("exclude", "include", "why", "ls", "retry"):
            with self.subTest(verb=verb):
                self.assertIn("nowhere", self.fails(NOT_FOUND, verb, b"d0/nowhere"))


class Conflicts(MigrateTest):
    """A16."""

    TIMES = {"older": -10**9, "equal": 0, "newer": 10**9}

    def make(self):
        self.make_roots()
        for time_name, off in self.TIMES.items():
            for size, text in (("same", b"ab"), ("other", b"abc"), ("content", b"xy")):
                name = f"{time_name}-{size}".encode()
                put(self.src + b"/" + name, b"ab", 0o644, YEAR_2020_NS)
                put(self.dst + b"/" + name, text, 0o644, YEAR_2020_NS + off)
            for kind in ("folder", "link"):
                name = f"{time_name}-{kind}".encode()
                put(self.src + b"/" + name, b"ab", 0o644, YEAR_2020_NS)
                if kind == "folder":
                    os.mkdir(self.dst + b"/" + name)
                else:
                    os.symlink(b"x", self.dst + b"/" + name)
                set_time(self.dst + b"/" + name, YEAR_2020_NS + off)
        set_time(self.src, 0)
        set_time(self.dst, 0)

    def expected(self, name, mode, policy):
        time, other = name.split("-")
        if other in ("folder", "link"):
            return "clash"
        if mode == "--size-only":
            different = other == "other"
        elif mode == "--checksum":
            different = other != "same"
        else:
            different = other == "other" or time != "equal"
        if different:
            return "newer" if policy == "keep" and time == "newer" else "content"
        if time == "equal":
            return "same"
        return ("same", "attributes")

    def test_the_matrix_of_times_sizes_kinds_and_policies(self):
        self.make()
        for mode in (None, "--size-only", "--checksum"):
            for policy in ("overwrite", "keep"):
                self.remove(self.state)
                self.compare(*[mode] * bool(mode), "--newer", policy)
                found = {path.decode(): one["verdict"]
                         for path, one in self.by_path("--all").items() if path}
                self.assertEqual(len(found), 15)
                for name, verdict in found.items():
                    with self.subTest(name=name, mode=mode, policy=policy):
                        expected = self.expected(name, mode, policy)
                        self.assertIn(verdict, expected if isinstance(expected, tuple)
                                      else (expected,))

    def test_an_equal_time_and_an_equal_size_are_never_copied(self):
        self.make()
        self.m("run", self.src, self.dst, "--delete")
        with open(self.dst + b"/equal-content", "rb") as file:
            self.assertEqual(file.read(), b"xy")
        figure("conflicts", 15 * 6)


if __name__ == "__main__":
    main()
