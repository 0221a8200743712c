"""tools/flake, on small tests that are flaky on purpose.

Nothing here depends on the pace of the machine: what fails "now and then" counts its runs, and what
fails when it is frozen compares a clock that ticks outside of it with the time that the kernel
says it ran or waited for a core.
"""
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tests/support"), str(ROOT / "tools")]
import flake_tests  # noqa: E402
from flake_freezer import Freezer, own_cgroup  # noqa: E402
from flake_runs import Pace  # noqa: E402
from flake_tests import Test, WrongUse  # noqa: E402
from waiting import wait_until  # noqa: E402

TICK_S = 0.02

# Counts its runs in a file, also those side by side, and fails in every third.
EVERY_THIRD = """
import fcntl, sys
with open("runs", "a+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write("x")
    file.flush()
    runs = file.tell()
print("SLUICE_SEED=%d" % (1000 + runs))
sys.exit(runs % 3 == 0)
"""

# Runs for 0.6 s, twice as long as it is let run at a time. What the clock outside has ticked beyond
# the time that it ran, it was frozen.
WINDOW = f"""
import sys
def ticks():
    return int(open("ticks").read())
def ran():
    return sum(map(int, open("/proc/self/schedstat").read().split()[:2])) / 1e9
ticked, start = ticks(), ran()
while ran() - start < 0.6:
    if (ticks() - ticked) * {TICK_S} - (ran() - start) > 0.3:
        sys.exit("frozen")
"""

# Writes down how many cores it may use and how many busy loops flake has at work.
NEIGHBOURS = """
import os
from pathlib import Path
loops = 0
for path in Path("/proc").glob("[0-9]*"):
    try:
        parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        loops += parent == os.getppid() and b"while True" in (path / "cmdline").read_bytes()
    except OSError:
        pass
with open("neighbours", "a") as file:
    print(len(os.sched_getaffinity(0)), loops, file=file)
"""

# An orphan in a session of its own; what it is told is found in /proc.
LEAVES = "setsid sleep {long} </dev/null >/dev/null 2>&1 &"

# Waits for a file, with a child that does the same.
WAITS = """
echo x >> waits.runs
[ -e go ] && exit 0
sleep {long} &
wait
"""


class Clock(threading.Thread):
    """Writes to a file how often it has ticked: never more often than the time allows."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.over = path, threading.Event()
        self.write(0)

    def write(self, ticks):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(str(ticks))
        fresh.replace(self.path)

    def run(self):
        ticks = 0
        while not self.over.wait(TICK_S):
            ticks += 1
            self.write(ticks)

    def end(self):
        self.over.set()
        self.join()


class Tree:
    """A folder that ctest takes for a build with tests."""

    def __init__(self, case):
        self.folder = Path(tempfile.mkdtemp(prefix="flake-test-"))
        case.addCleanup(shutil.rmtree, self.folder)
        self.long = f"100000.{secrets.randbelow(10**15)}"  # An argument like no other.

    def add(self, name, script, language="sh", **properties):
        path = self.folder / f"{name}.script"
        path.write_text(script.replace("{long}", self.long))
        program = sys.executable if language == "python" else "/bin/sh"
        said = "".join(f' {key} "{value}"' for key, value in {"TIMEOUT": 300, **properties}.items())
        with open(self.folder / "CTestTestfile.cmake", "a", encoding="utf-8") as file:
            file.write(f'add_test({name} "{program}" "{path}")\n'
                       f"set_tests_properties({name} PROPERTIES{said})\n")

    def start(self, *words):
        command = [sys.executable, ROOT / "tools/flake", "--tree", self.folder, *words]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def hunt(self, *words):
        """The exit code and what was printed."""
        process = self.start(*words)
        output = process.communicate()[0]
        return process.returncode, output

    def lives(self):
        """Whether a process of these tests lives, wherever it belongs."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if self.long.encode() in path.read_bytes():
                    return True
            except OSError:
                pass
        return False


def kinds_here():
    """The freezers that work on this machine."""
    found = ["signals"]
    for kind in ("v2", "v1"):
        try:
            Freezer(kind).close()
            found.append(kind)
        except OSError:
            pass
    return found


def can_trace():
    try:
        return subprocess.run(["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"],
                              capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class Finds(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(self)

    def counted(self, output, name):
        """[(failures, runs)...] of a test, by way."""
        row = next(line for line in output.splitlines() if line.rstrip().endswith(" " + name))
        return [tuple(map(int, pair)) for pair in re.findall(r"(\d+) of (\d+)", row)]

    def test_each_way_finds_what_fails_in_every_third_run(self):
        self.tree.add("thirds", EVERY_THIRD, "python")
        self.tree.add("always", "exit 0")
        ways = ["calm", "crowd", "stalls", "starved"] + ["disk"] * can_trace()
        code, output = self.tree.hunt("--rounds", "3", "--ways", ",".join(ways))
        self.assertEqual(code, 1, output)
        self.assertEqual(self.counted(output, "thirds"), [(1, 3)] * len(ways), output)
        self.assertEqual(self.counted(output, "always"), [(0, 3)] * len(ways), output)
        self.assertIn("SLUICE_SEED=1003 tools/flake", output)
        logs = list((self.tree.folder / "flake").glob("thirds.*.log"))
        self.assertEqual(len(logs), len(ways), output)
        self.assertIn("SLUICE_SEED=1003", "".join(log.read_text() for log in logs))

    def test_a_window_of_time_is_found_by_stalls_and_not_by_calm(self):
        clock = Clock(self.tree.folder / "ticks")
        clock.start()
        self.addCleanup(clock.end)
        self.tree.add("window", WINDOW, "python")
        for kind in ("auto", "signals"):
            with self.subTest(kind):
                code, output = self.tree.hunt("--rounds", "3", "--ways", "calm,stalls",
                                              "--freezer", kind)
                self.assertEqual(code, 1, output)
                calm, stalls = self.counted(output, "window")
                self.assertEqual(calm, (0, 3), output)
                self.assertGreater(stalls[0], 0, output)

    def test_starved_is_one_core_beside_loops_that_end_with_it(self):
        self.tree.add("neighbours", NEIGHBOURS, "python")
        code, output = self.tree.hunt("--ways", "starved,calm")
        self.assertEqual(code, 0, output)
        self.assertEqual((self.tree.folder / "neighbours").read_text(),
                         f"1 3\n{len(os.sched_getaffinity(0))} 0\n")

    def test_what_a_test_leaves_running_is_ended_and_said(self):
        self.tree.add("leaves", LEAVES)
        for kind in kinds_here():
            with self.subTest(kind):
                code, output = self.tree.hunt("--ways", "calm,stalls", "--freezer", kind)
                self.assertEqual(code, 0, output)
                self.assertIn("leaves left behind, and flake ended: sleep", output)
                self.assertFalse(self.tree.lives())

    def test_a_limit_of_time_ends_all_of_a_test(self):
        self.tree.add("waits", WAITS, TIMEOUT=1)
        code, output = self.tree.hunt("--ways", "calm")
        self.assertEqual(code, 1, output)
        self.assertIn("time limit of 1 s", output)
        self.assertFalse(self.tree.lives())

    def test_skipped_is_not_failed_and_a_missing_program_is(self):
        self.tree.add("skips", "echo '[  SKIPPED ]'; exit 1",
                      SKIP_REGULAR_EXPRESSION=r"\\[  SKIPPED \\]")
        code, output = self.tree.hunt("--ways", "calm")
        self.assertEqual(code, 0, output)
        self.assertIn("1 skipped", output)
        with open(self.tree.folder / "CTestTestfile.cmake", "a", encoding="utf-8") as file:
            file.write('add_test(missing "/nonexistent/program")\n')
        code, output = self.tree.hunt("--ways", "calm", "missing")
        self.assertEqual(code, 1, output)
        self.assertIn("did not start", output)

    @unittest.skipUnless(can_trace(), "needs strace")
    def test_what_traces_by_itself_is_not_traced(self):
        self.tree.add("traces", "strace -o /dev/null true")
        code, output = self.tree.hunt("--ways", "calm,disk")
        self.assertEqual(code, 0, output)
        self.assertIn("traces cannot be run in the way disk: it traces by itself", output)


class Ends(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(self)
        self.tree.add("always", "echo x >> always.runs")
        self.tree.add("waits", WAITS)

    def stopped(self, number, *words):
        """The output of a hunt that a signal ends while a test waits."""
        process = self.tree.start(*words)
        try:
            wait_until(self.tree.lives, "the child of the test that waits")
            process.send_signal(number)
            output = process.communicate()[0]
        finally:
            process.kill()
        self.assertEqual(process.returncode, 128 + number, output)
        self.assertFalse(self.tree.lives(), output)
        for kind in ("v1", "v2"):
            try:
                self.assertEqual(list(own_cgroup(kind).glob(f"sluice-flake-{process.pid}")), [])
            except OSError:
                pass
        return output

    def test_ctrl_c_ends_all_and_resume_goes_on(self):
        output = self.stopped(signal.SIGINT, "--ways", "calm")
        self.assertIn("1 runs of 1 tests, 0 failed", output)
        (self.tree.folder / "go").touch()
        code, output = self.tree.hunt("--resume")
        self.assertEqual(code, 0, output)
        self.assertIn("2 runs of 2 tests, 0 failed", output)
        self.assertEqual((self.tree.folder / "always.runs").read_text(), "x\n")
        self.assertEqual((self.tree.folder / "waits.runs").read_text(), "x\nx\n")

    def test_sigterm_ends_all_in_each_way_and_with_each_freezer(self):
        ways = ["crowd", "stalls", "starved"] + ["disk"] * can_trace()
        for kind in kinds_here():
            for way in ways:
                with self.subTest(kind=kind, way=way):
                    self.stopped(signal.SIGTERM, "--ways", way, "--freezer", kind)

    def test_what_a_killed_flake_has_left_is_ended_by_the_next(self):
        if kinds_here() == ["signals"]:
            self.skipTest("needs control groups")
        process = self.tree.start("--ways", "stalls", "waits")
        wait_until(self.tree.lives, "the child of the test that waits")
        process.kill()
        process.communicate()
        self.assertEqual(self.tree.hunt("always")[0], 0)
        self.assertFalse(self.tree.lives())

    def test_wrong_use_is_refused_with_what_is_near(self):
        for words, said in [(("--ways", "crwod"), "did you mean crowd?"),
                            (("alwais",), "did you mean always"),
                            (("--labels", "timed"), "no test has the label 'timed'"),
                            (("--since", "no-such-commit"), "git does not know"),
                            (("--resume",), "nothing to resume"),
                            (("--resume", "always"), "no names"),
                            (("--rounds", "0"), "at least 1")]:
            with self.subTest(words):
                code, output = self.tree.hunt(*words)
                self.assertEqual(code, 2, output)
                self.assertIn(said, output)


class Parts(unittest.TestCase):
    def test_frozen_time_does_not_count(self):
        pace = Pace(100.0, iter([0.2, 3.0, 0.1, 2.0, 0.3]))
        self.assertAlmostEqual(pace.next_look(100.0, 10.0), 100.2)
        pace.turn(100.2)
        self.assertTrue(pace.frozen)
        self.assertEqual(pace.stalls, 1)
        self.assertAlmostEqual(pace.ran(103.0), 0.2)
        self.assertAlmostEqual(pace.next_look(103.0, 0.1), 103.2)
        pace.turn(103.2)
        self.assertAlmostEqual(pace.ran(103.25), 0.25)
        self.assertAlmostEqual(pace.next_look(103.25, 0.3), 103.3)
        pace.turn(103.3)
        self.assertAlmostEqual(pace.ran(105.0), 0.3)

    def test_since_takes_the_tests_whose_sources_changed(self):
        tests = [Test("queue_test.AckTest.acks", ["queue_test"], declared_in="src/queue"),
                 Test("queue_test.Every/FairTest.turns/lmdb", ["queue_test"],
                      declared_in="src/queue"),
                 Test("kv_test.AckTest.other", ["kv_test"], declared_in="src/kv"),
                 Test("sluiced.tls", ["python3", "/root/tests/sluiced/tls_test.py"],
                      declared_in="tests/sluiced"),
                 Test("sluiced.kill", ["python3", "/root/tests/sluiced/kill_test.py"],
                      declared_in="tests/sluiced"),
                 Test("reconcile", ["python3", "/root/tests/reconcile_test.py"],
                      declared_in="tests")]
        texts = {"src/queue/ack_test.cc": "TEST(AckTest, acks) {}",
                 "src/queue/fair/fair_test.cc": "TEST_P(FairTest, turns) {}"}

        def names(*changed):
            read = lambda path: texts.get(path, "")  # noqa: E731
            return [test.name for test in flake_tests.touched(tests, changed, read)]

        self.assertEqual(names("src/queue/ack_test.cc"), ["queue_test.AckTest.acks"])
        self.assertEqual(names("src/queue/fair/fair_test.cc"),
                         ["queue_test.Every/FairTest.turns/lmdb"])
        self.assertEqual(names("tests/sluiced/tls_test.py"), ["sluiced.tls"])
        self.assertEqual(names("tests/sluiced/harness.py"), ["sluiced.tls", "sluiced.kill"])
        self.assertEqual(names("tests/support/waiting.py"),
                         ["sluiced.tls", "sluiced.kill", "reconcile"])
        self.assertEqual(names("src/queue/ack.cc", "docs/x.md", "tests/sluiced/CMakeLists.txt",
                               "src/queue/gone_test.cc"), [])

    def test_names_and_labels_choose(self):
        tests = [Test("a.one", []), Test("b.two", [], labels=("timed",)),
                 Test("c.off", [], disabled=True)]

        def names(*asked):
            return [test.name for test in flake_tests.chosen(tests, *asked)]

        self.assertEqual(names([], []), ["a.one", "b.two"])
        self.assertEqual(names(["one"], ["timed"]), ["a.one", "b.two"])
        self.assertRaises(WrongUse, flake_tests.chosen, tests, ["off"], [])

    def test_a_run_is_judged_as_ctest_judges_it(self):
        for test, code, output, result in [
                (Test("t", []), 0, "", "passed"), (Test("t", []), 3, "", "failed"),
                (Test("t", []), -9, "", "failed"),
                (Test("t", [], opposite=True), 0, "", "failed"),
                (Test("t", [], opposite=True), 1, "", "passed"),
                (Test("t", [], skip_code=77), 77, "", "skipped"),
                (Test("t", [], skip_if=("no luck",)), 1, "no luck", "skipped"),
                (Test("t", [], fail_if=("ERROR",)), 0, "an ERROR", "failed"),
                (Test("t", [], pass_if=("fine",)), 1, "fine", "passed"),
                (Test("t", [], pass_if=("fine",)), 0, "", "failed")]:
            with self.subTest(test=test, code=code):
                self.assertEqual(test.verdict(code, output)[0], result)


if __name__ == "__main__":
    unittest.main(verbosity=2)
