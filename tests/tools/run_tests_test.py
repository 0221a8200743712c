#!/usr/bin/env python3
"""How ./test tells a test that fails: what is repeated, what is forgiven, what is not run."""
import contextlib
import io
import sys
import tempfile
import types
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
import results  # noqa: E402
import run_ctest  # noqa: E402

FAILS_ONCE = 'test -e {name} || {{ touch {name}; echo seen in vain; exit 1; }}'


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        self.listed = self.tree / "flaky.txt"
        kept = results.FLAKY_LIST
        self.addCleanup(setattr, results, "FLAKY_LIST", kept)
        results.FLAKY_LIST = self.listed

    def run_tests(self, scripts, minutes=None, forgive=True):
        """Runs {name: (labels, shell script)}: the results, the exit code, and what was printed."""
        lines = []
        for name, (labels, script) in scripts.items():
            lines += [f"add_test({name} sh -c [=[{script.format(name=name)}]=])",
                      f'set_tests_properties({name} PROPERTIES LABELS "{labels}" '
                      f'WORKING_DIRECTORY "{self.tree}")']
        (self.tree / "CTestTestfile.cmake").write_text("\n".join(lines))
        options = types.SimpleNamespace(names=[], fast=False, long=False,
                                        deadline=run_ctest.Deadline(minutes))
        found = results.Results(forgive)
        suite = run_ctest.Suite("release", options)
        suite.tree = self.tree
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            suite.run(found, False)
            code = found.report()
        return found, code, printed.getvalue()

    def failed(self, *arguments, **options):
        """The names of the tests that failed."""
        found, code, _ = self.run_tests(*arguments, **options)
        self.assertEqual(code, 1)
        return [name for name, _ in found.failed]

    def test_what_fails_stays_failed_and_is_told_by_how_often(self):
        _, code, printed = self.run_tests({"always": ("timed", "exit 1"), "fine": ("", "true"),
                                           "once": ("", FAILS_ONCE)})
        self.assertEqual(code, 1)
        self.assertIn("always: alone it failed 3 of 3 times", printed)
        self.assertIn("once: alone it failed 0 of 3 times", printed)
        self.assertTrue(printed.endswith("\n1 passed, 2 failed\n"), printed)

    def test_a_timed_one_is_forgiven_and_told_with_its_output(self):
        _, code, printed = self.run_tests({"once": ("timed", FAILS_ONCE)})
        self.assertEqual(code, 0)
        self.assertIn("seen in vain", printed)
        self.assertRegex(printed, r"\nflaky: once: alone it failed 0 of 3 times\..*\n"
                                  r"once \d{4}-\d\d-\d\d REASON\n\n1 passed, 0 failed\n$")

    def test_none_is_forgiven_a_second_time(self):
        self.listed.write_text("# Why.\nonce 2000-01-01 a reason\n")
        self.assertEqual(self.failed({"once": ("timed", FAILS_ONCE)}), ["once"])

    def test_one_is_forgiven_in_a_run(self):
        self.assertEqual(len(self.failed({"a": ("timed", FAILS_ONCE), "b": ("timed", FAILS_ONCE)})), 1)

    def test_none_is_forgiven_in_a_long_run(self):
        self.assertEqual(self.failed({"once": ("timed", FAILS_ONCE)}, forgive=False), ["once"])

    def test_what_is_rare_by_nature_is_never_forgiven(self):
        for word in ("src/kv/a.cc:7: check failed: x", "==1==ERROR: AddressSanitizer: y", "runtime error: z",
                     "WARNING: ThreadSanitizer: data race", "died with <Signals.SIGSEGV: 11>"):
            script = FAILS_ONCE.replace("seen in vain", f"'{word}'")
            self.assertEqual(self.failed({"once": ("timed", script)}), ["once"], word)
            (self.tree / "once").unlink()
        for labels in ("timed;threads", "timed;chance"):
            self.assertEqual(self.failed({"once": (labels, FAILS_ONCE)}), ["once"], labels)
            (self.tree / "once").unlink()
        killed = FAILS_ONCE.replace("exit 1", "kill -SEGV $$")
        self.assertEqual(self.failed({"once": ("timed", killed)}), ["once"])

    def test_what_has_no_time_left_is_listed_and_the_run_has_failed(self):
        found, code, printed = self.run_tests({"fine": ("", "true"), "slow": ("", "exec sleep 600"),
                                               "slower": ("", "exec sleep 600"),
                                               "late": ("", "true")}, minutes=0.05)
        self.assertEqual(code, 1)
        self.assertEqual(found.failed, [])
        self.assertEqual(found.passed + len(found.not_run), 4)
        self.assertRegex(printed, r"(?s)== not run\n.*slow \(release\).*slower \(release\)")


if __name__ == "__main__":
    unittest.main()
