"""examples/reconcile on real processes: every verdict, platforms that fail and heal, kills, Ctrl-C.

The platforms are those that the example brings along, in this process: a test sees each call.
"""
import contextlib
import fcntl
import itertools
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLE = os.path.join(ROOT, "examples", "reconcile")
sys.path[:0] = [EXAMPLE, os.path.join(ROOT, "tests", "support")]

import platforms  # noqa: E402
from waiting import LONG, PATIENCE, Stopwatch, pause, wait_until  # noqa: E402

RECONCILE = os.environ["RECONCILE"]
RETRIES = 3


def reports_of(platform, count):
    numbers = range(platforms.PLATFORMS.index(platform), 10**6, len(platforms.PLATFORMS))
    return [platforms.report(number) for number in numbers[:count]]


def expected(report):
    """The verdict on a report, how often the platform is asked, and by how much it is off."""
    place = report["platform"], report["post"]
    fate, truth = platforms.fate(*place), platforms.truth(*place)
    if fate == "gone":
        return "UNVERIFIABLE", RETRIES + 1, None
    looks = platforms.LATE_LOOKS + 1 if fate == "late" else 1
    off = {name: report[name] - truth[name] for name in truth}
    return ("DISCREPANCY", looks, off) if any(off.values()) else ("MATCHED", looks, None)


class ReconcileTest(unittest.TestCase):
    """Each test has platforms and a store of its own."""

    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="reconcile-", dir=self.place)
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.server = platforms.Server()
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(self.server.shutdown)
        self.logs = 0

    def words(self, **changes):
        """The options of a run that is quick, and patient with a slow machine."""
        settings = {"url": self.server.address + "/", "missing_retry": "10ms",
                    "missing_retries": RETRIES, "call_time": "60s", "cooldown": "100ms",
                    "rate": 100_000, **changes}
        return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]

    def call(self, *words, stdin="", code=0):
        """Runs it to its end; its output and its messages."""
        done = subprocess.run([RECONCILE, *words], cwd=self.home, input=stdin, text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def submit(self, reports):
        lines = "".join(json.dumps(report) + "\n" for report in reports)
        return self.call("submit", "-", stdin=lines)[0]

    def drain(self, **changes):
        """The summary, as {platform: [matched, discrepancy, unverifiable, missing]}."""
        lines = self.call("run", "--drain", *self.words(**changes))[0].splitlines()
        self.assertEqual(lines[0].split(),
                         ["PLATFORM", "MATCHED", "DISCREPANCY", "UNVERIFIABLE", "MISSING"])
        return {line.split()[0]: [int(word) for word in line.split()[1:]] for line in lines[1:]}

    def start(self, *words, **changes):
        """A run in the background; what it says is in the file `log` of the process."""
        self.logs += 1
        log = os.path.join(self.home, f"log-{self.logs}")
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [RECONCILE, "run", *words, *self.words(**changes)], cwd=self.home,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.log = log
        return process

    def says(self, process):
        with open(process.log, encoding="utf-8") as file:
            return file.read()

    def ends(self, process, code=0):
        self.assertEqual(process.wait(PATIENCE), code, self.says(process))

    def results(self):
        return [json.loads(line) for line in self.call("results")[0].splitlines()]

    def check_results(self, reports, heard=True):
        """Every report is there once, with what it should have come to. Not every answer may have
        been heard: then it took fewer looks until a late post was there."""
        results = self.results()
        self.assertEqual(sorted(result["id"] for result in results),
                         sorted(report["id"] for report in reports))
        for result in results:
            verdict, looks, off = expected(result["report"])
            self.assertEqual((result["verdict"], result.get("difference")), (verdict, off), result)
            fate = platforms.fate(result["platform"], result["report"]["post"])
            fewer = fate == "late" and not heard
            self.assertIn(result["looks"], range(1, looks + 1) if fewer else (looks,), result)
        return results


class Verdicts(ReconcileTest):
    def test_every_report_comes_to_its_verdict(self):
        reports = [platforms.report(number) for number in range(300)]
        self.assertEqual(self.submit(reports), "300 reports submitted, 0 were there already\n")
        summary = self.drain()
        results = self.check_results(reports)
        # All kinds of reports were among them, and what came is what they said.
        kinds = Counter((result["platform"], result["verdict"]) for result in results)
        self.assertEqual(set(verdict for _, verdict in kinds),
                         {"MATCHED", "DISCREPANCY", "UNVERIFIABLE"})
        self.assertEqual({result["id"]: result["report"] for result in results},
                         {report["id"]: report for report in reports})
        columns = ("MATCHED", "DISCREPANCY", "UNVERIFIABLE", "MISSING")
        self.assertEqual(summary, {name: [kinds[name, verdict] for verdict in columns]
                                   for name in platforms.PLATFORMS})
        # Nobody was asked in vain.
        self.assertEqual(Counter((call.platform, call.post) for call in self.server.calls),
                         {(result["platform"], result["report"]["post"]): result["looks"]
                          for result in results})

    def test_what_is_missing_is_said_to_be_and_looked_for_again(self):
        reports = [report for report in reports_of("vidtube", 100)
                   if platforms.fate("vidtube", report["post"]) == "gone"][:1]
        self.submit(reports)
        run = self.start("--drain", missing_retry="1h")
        wait_until(self.results, "a result")
        self.assertEqual([(one["verdict"], one["looks"]) for one in self.results()],
                         [("MISSING", 1)])
        run.send_signal(signal.SIGINT)
        self.ends(run, 130)
        self.assertIn("reconcile: 1 reports are left: run it again\n", self.says(run))
        self.assertIn("vidtube                  0            0             0        1\n",
                      self.says(run))

    def test_the_same_report_is_taken_once(self):
        reports = [platforms.report(number) for number in range(20)]
        self.submit(reports[:10] + reports[:1])
        again = "10 reports submitted, 10 were there already\n"
        self.assertEqual(self.submit(reports), again)
        self.drain()
        results = self.results()
        self.assertEqual(self.submit(reports), "0 reports submitted, 20 were there already\n")
        calls = len(self.server.calls)
        self.drain()
        self.assertEqual((self.results(), len(self.server.calls)), (results, calls))

    def test_those_with_an_extreme_click_through_come_first(self):
        reports = reports_of("vidtube", 100)
        for report in reports:
            report["clicks"] = report["views"] // 5
        reports[-1]["clicks"] += 1
        self.server.set_mode("vidtube", "slow 600")
        self.submit(reports)
        self.start(call_time="500s")
        wait_until(lambda: len(self.server.asked) == 8, "as many calls as one platform gets")
        self.assertIn(reports[-1]["post"], self.server.asked)

    def test_a_platform_is_called_no_more_often_than_it_may_be(self):
        reports, rate = reports_of("vidtube", 6), 10
        self.submit(reports)
        watch = Stopwatch()
        self.drain(rate=rate)
        self.check_results(reports)
        last = max(call.came for call in self.server.calls)
        self.assertGreaterEqual(last - watch.begin, (len(self.server.calls) - 1) / rate)

    def test_two_may_run_at_once(self):
        reports = [platforms.report(number) for number in range(400)]
        self.submit(reports)
        first = self.start("--drain")
        wait_until(lambda: self.server.calls, "calls")
        second = self.start("--drain")
        self.ends(first)
        self.ends(second)
        self.check_results(reports, heard=False)


class FailingPlatforms(ReconcileTest):
    def check_healing(self, mode, state, **changes):
        """A platform fails; the others go on; it heals, and everything comes to its verdict."""
        reports = [platforms.report(number) for number in range(80)]
        others = sum(report["platform"] != "vidtube" for report in reports)
        self.server.set_mode("vidtube", mode)
        self.submit(reports)
        run = self.start("--drain", **changes)

        def settled():
            return sum(result["verdict"] != "MISSING" for result in self.results())

        wait_until(lambda: re.search(rf"^vidtube: {state}$", self.says(run), re.M), state)
        wait_until(lambda: settled() >= others, "the others")
        self.assertEqual(settled(), others)
        self.assertNotRegex(self.says(run), r"(?m)^vidtube: closed$")
        self.server.set_mode("vidtube", "ok")
        self.ends(run)
        self.assertRegex(self.says(run), r"(?m)^vidtube: closed$")
        self.check_results(reports, heard="call_time" not in changes)

    def test_one_that_answers_500(self):
        self.check_healing("500", "open, .*answered 500")

    def test_one_that_is_slow(self):
        self.check_healing("slow 60", "open, .*", call_time="500ms")

    def test_one_that_asks_for_silence(self):
        self.check_healing("429 1", "silent")

    def test_posts_that_come_back(self):
        reports = [report for report in reports_of("chirper", 40)
                   if platforms.fate("chirper", report["post"]) == "there"]
        self.server.set_mode("chirper", "missing")
        self.submit(reports)
        run = self.start("--drain", missing_retries=1000)
        wait_until(lambda: all(one["verdict"] == "MISSING" for one in self.results()) and
                   len(self.results()) == len(reports), "all to be missed")
        self.server.set_mode("chirper", "ok")
        self.ends(run)
        self.assertEqual({one["id"]: one["verdict"] for one in self.results()},
                         {report["id"]: expected(report)[0] for report in reports})
        self.assertNotIn("open", self.says(run))


class Terminal:
    """A run on a terminal of its own."""

    def __init__(self, case, *words):
        self.master, slave = pty.openpty()
        case.addCleanup(os.close, self.master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(["setsid", "--ctty", RECONCILE, "run", *words],
                                        cwd=case.home, stdin=slave, stdout=slave, stderr=slave)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)
        os.close(slave)
        self.text = ""

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.text += os.read(self.master, 65536).decode()
            except OSError:  # Nobody has the other side open any more.
                break
        return self.text

    def type(self, keys):
        os.write(self.master, keys)

    def wait(self):
        wait_until(lambda: self.read() is None or self.process.poll() is not None, "its end")
        return self.process.returncode


class OnATerminal(ReconcileTest):
    def test_a_platform_that_asks_for_silence_gets_it(self):
        seconds = 2
        answer = self.server.answer
        self.server.answer = lambda *call: answer(*call) if self.server.calls else (
            429, {"Retry-After": str(seconds)}, {})
        first, *others = reports_of("vidtube", 10)
        self.submit([first])
        run = Terminal(self, "--drain", *self.words())
        # It has heard of the wish when it has put the report off, or has come back for it.
        wait_until(lambda: "0 ready, 0 in hand, 1 put off" in run.read()
                   or len(self.server.calls) > 1, "the first answer to be heard")
        self.submit(others)
        self.assertEqual(run.wait(), 0, run.text)
        self.check_results([first, *others])
        # Nor were reports taken from the queue to be put back, once the first had been.
        silence = run.text.partition("vidtube: silent")[2].partition("vidtube: closed")[0]
        in_hand = itertools.dropwhile(lambda count: count == "1",
                                      re.findall(r"(\d+) in hand", silence))
        self.assertLessEqual(set(in_hand), {"0"})
        refused, *later = self.server.calls
        self.assertEqual([call for call in later if call.came < refused.answered + seconds], [])

    def test_it_shows_how_far_it_is(self):
        self.submit([platforms.report(number) for number in range(200)])
        run = Terminal(self, "--drain", *self.words())
        self.assertEqual(run.wait(), 0, run.text)
        self.assertRegex(run.text, r"\x1b\[K\d+ ready, \d+ in hand, \d+ put off\r"
                         "PLATFORM           MATCHED  DISCREPANCY  UNVERIFIABLE  MISSING\r\n")

    def test_ctrl_c_lets_calls_finish(self):
        reports = [report for report in reports_of("vidtube", 40)
                   if platforms.fate("vidtube", report["post"]) == "there"]
        self.server.set_mode("vidtube", "slow 1")
        self.submit(reports)
        run = Terminal(self, *self.words())
        wait_until(lambda: self.server.asked, "a call")
        run.type(b"\x03")
        self.assertEqual(run.wait(), 0, run.text)
        # Whoever was asked has answered, and was heard.
        self.assertEqual(len(self.server.asked), len(self.server.calls))
        self.assertEqual(len(self.results()), len(self.server.calls))
        self.server.set_mode("vidtube", "ok")
        self.drain()
        self.check_results(reports)

    def test_another_one_does_not(self):
        self.server.set_mode("vidtube", "slow 600")
        self.submit(reports_of("vidtube", 1))
        run = Terminal(self, *self.words(call_time="500s"))
        wait_until(lambda: self.server.asked, "a call")

        def ends():
            """It is heard as soon as the program is there; what it shows is taken, or it waits."""
            run.type(b"\x03")
            run.read()
            return run.process.poll() is not None

        wait_until(ends, "its end")
        self.assertEqual(run.process.returncode, -signal.SIGINT, run.read())


class Kills(ReconcileTest):
    def test_each_report_is_reconciled_once_whatever_is_killed(self):
        seed = os.environ.get("SLUICE_SEED") or str(random.SystemRandom().randrange(10**9))
        print(f"Kills: SLUICE_SEED={seed}", flush=True)
        chance = random.Random(seed)
        count = 10_000 if LONG else 1_000
        reports = [platforms.report(number) for number in range(count)]
        lines = [json.dumps(report) + "\n" for report in reports]
        kills = 0
        for _ in range(10):
            process = subprocess.Popen([RECONCILE, "submit", "-"], cwd=self.home, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            feeder = threading.Thread(target=self.feed, args=(process.stdin, lines), daemon=True)
            feeder.start()
            pause(chance.random() / 20)  # Any moment will do.
            kills += process.poll() is None
            process.kill()
            process.wait()
            feeder.join()
        self.submit(reports)
        step = count // (1000 if LONG else 60)
        while len(self.server.asked) < count * 0.9:
            run = self.start()
            goal = len(self.server.asked) + chance.randrange(2 * step)
            wait_until(lambda: len(self.server.asked) >= goal, "calls", pause=0.0005)
            pause(chance.random() / 1000)
            kills += run.poll() is None
            run.kill()
            run.wait()
            os.remove(run.log)
        print(f"figure reconcile_kills {kills}", flush=True)
        self.drain()
        self.check_results(reports, heard=False)

    @staticmethod
    def feed(pipe, lines):
        with contextlib.suppress(BrokenPipeError), pipe:
            pipe.writelines(lines)


class Words(ReconcileTest):
    def test_help(self):
        text = self.call("--help")[0]
        for word in ("submit FILE", "run ", "results ", "--data", "--drain", "--missing-retry"):
            self.assertIn(word, text)
        self.assertEqual(self.call()[0], text)
        self.assertEqual(os.listdir(self.home), [])

    def test_what_makes_no_sense_is_refused(self):
        for words, code, message in (
                (["sumbit", "x"], 2, "reconcile --help"), (["submit"], 2, "reconcile --help"),
                (["run", "x"], 2, "reconcile --help"), (["run", "--drian"], 2, '"--drain"'),
                (["submit", "missing.ndjson"], 3, "name a file of reports"),
                (["run", "--url", "x"], 3, "reconcile submit FILE"),
                (["results"], 3, "reconcile submit FILE")):
            self.assertIn(message, self.call(*words, code=code)[1])
        self.submit([platforms.report(0)])
        for words, message in (
                ([], "--url URL"), (["--url", "x", "--rate", "0"], "from 1 to"),
                (["--url", "x", "--missing-retry", "soon"], "soon"),
                (["--url", "x", "--cooldown", "0s"], "cooldown"),
                (["--url", "x", "--call-time", "900d"], "lease")):
            self.assertIn(message, self.call("run", *words, code=2)[1])

    def test_a_wrong_line_is_named_and_nothing_submitted(self):
        good = platforms.report(0)
        for bad, message in (
                ("", "line 2: "), ("{", "line 2: "), ("[]", '"id"'),
                (json.dumps({**good, "id": 7}), '"id" must be there, and a text'),
                (json.dumps({**good, "id": ""}), "an id"),
                (json.dumps({**good, "id": "x" * 257}), "id"),
                (json.dumps({**good, "platform": ""}), "a platform"),
                (json.dumps({**good, "views": "1"}), '"views" must be there, and a whole number'),
                (json.dumps({**good, "clicks": -1}), "below 0"),
                (json.dumps({**good, "affiliate": "x" * 4096}), "4,096 bytes")):
            error = self.call("submit", "-", stdin=json.dumps(good) + "\n" + bad + "\n", code=2)[1]
            self.assertIn(message, error)
            self.assertTrue(error.startswith("reconcile: "), error)
            self.call("results", code=3)

    def test_a_file_of_reports(self):
        with open(os.path.join(self.home, "file"), "w", encoding="utf-8") as file:
            subprocess.run([sys.executable, os.path.join(EXAMPLE, "platforms.py"), "reports", "7"],
                           stdout=file, check=True)
        self.assertEqual(self.call("submit", "file", "--data", "elsewhere")[0],
                         "7 reports submitted, 0 were there already\n")
        self.assertIn("elsewhere", os.listdir(self.home))

    def test_odd_names_do_no_harm(self):
        odd = {**platforms.report(0), "platform": "../\x1b[31m", "post": "a b/c?d#e%\u00e4"}
        self.submit([odd, {**odd, "id": "\u2603 \x1b[0m"}])
        summary, messages = self.call("run", "--drain", *self.words(missing_retries=0))
        self.assertNotIn("\x1b", summary + messages)
        self.assertEqual({one["verdict"] for one in self.results()}, {"UNVERIFIABLE"})
        self.submit([{**odd, "id": str(number)} for number in range(8)])
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            run = self.start(url=f"http://127.0.0.1:{nobody.getsockname()[1]}")
            wait_until(lambda: ": open, " in self.says(run), "the breaker to open")
        self.assertNotIn("\x1b", self.says(run))

    def test_results_that_cannot_be_written(self):
        self.submit([platforms.report(0)])
        self.drain()
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RECONCILE, "results"], cwd=self.home, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 5)
        self.assertIn("is the disk full?", done.stderr)


class Readme(ReconcileTest):
    def test_its_three_lines(self):
        with open(os.path.join(EXAMPLE, "README.md"), encoding="utf-8") as file:
            lines = re.findall(r"^    (\S.*)$", file.read(), re.M)[:3]
        self.assertTrue(lines[-1].startswith("./run reconcile results"), lines)
        # A clone in which ./run has nothing to build.
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(self.home, "examples"))
        with open(os.path.join(self.home, "run"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ntest "$1" = reconcile && shift && exec {RECONCILE} "$@"\n')
        os.chmod(os.path.join(self.home, "run"), 0o755)
        done = subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=self.home, text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1000 reports submitted", done.stdout)
        self.assertIn('"verdict":"DISCREPANCY"', done.stdout)
        self.check_results([platforms.report(number) for number in range(1000)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
