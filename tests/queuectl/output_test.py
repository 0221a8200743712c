"""What jobs write and what people see: logs, JSON, terminals, and disks that are full."""
import ctypes
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

from harness import LONG, PATIENCE, QUEUECTL, ToldTest, main, wait_until

ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>78])")


def sanitized():
    with open(QUEUECTL, "rb") as file:
        program = file.read()
    return b"__asan_" in program or b"__tsan_" in program


def width_of(line):
    """The columns that a line takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Terminal:
    """A queuectl on a terminal of its own, as in a window."""

    def __init__(self, case, arguments, columns=80, rows=24, env=None):
        self.master, self.slave = pty.openpty()
        case.addCleanup(os.close, self.master)
        case.addCleanup(os.close, self.slave)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.process = subprocess.Popen(
            ["setsid", "--ctty", QUEUECTL, *arguments], cwd=case.home,
            env={**case.env, "TERM": "xterm-256color", **(env or {})},
            stdin=self.slave, stdout=self.slave, stderr=self.slave)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)

    def read(self):
        """What has come until now."""
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        return self.text

    def wait_for(self, word):
        wait_until(lambda: word in self.read(), f"{word!r} on the terminal")

    def type(self, keys):
        os.write(self.master, keys)

    def wait(self):
        """Its exit code; all that it wrote is in `text`."""
        wait_until(lambda: self.read() is None or self.process.poll() is not None, "its end")
        self.read()
        return self.process.returncode

    def lines(self):
        """What is to be seen, without colours and the like."""
        return ESCAPE.sub("", self.text).replace("\r\n", "\n").split("\n")


class OutputTest(ToldTest):
    def log_of(self, number=0):
        files = sorted(os.path.join(place, name) for place, _, names
                       in os.walk(os.path.join(self.db, "logs")) for name in names)
        return files[number]

    def on_terminal(self, *arguments, code=0, **options):
        """Runs it to its end on a terminal."""
        terminal = Terminal(self, arguments, **options)
        self.assertEqual(terminal.wait(), code, terminal.text)
        return terminal


class Huge(OutputTest):
    def memory_of(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) * 1024

    def test_output_without_end_is_cut_in_the_middle(self):
        """Defect 7 of the seed: output was kept in memory."""
        size = 5_000_000_000 if LONG else 40_000_000
        limit = 1 << 20
        (worker,) = self.start_workers(1, env={"QUEUECTL_OUTPUT_LIMIT": "1M"})
        self.q("enqueue", f"echo the first line; yes 0123456789 | head -c {size}; echo; "
               "echo the last line", "--id", "a", "--max-retries", "1")
        self.q("wait", "a", timeout=600)
        job = self.job("a")
        self.assertEqual((job["state"], job["exit_code"]), ("completed", 0))
        self.assertEqual(job["output_bytes"], size + len("the first line\n\nthe last line\n"))
        info = os.stat(self.log_of())
        self.assertLessEqual(info.st_blocks * 512, limit + (1 << 16))
        print(f"figure queuectl.output_mb_per_s {size / 1e6 / job['duration']:.0f}")
        memory = self.memory_of(worker.pid)
        print(f"figure queuectl.worker_memory_mib {memory / (1 << 20):.1f}")
        if not sanitized():
            self.assertLess(memory, 20 << 20)
        done = self.run_q("logs", "a")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b"the first line\n0123456789\n"))
        self.assertTrue(done.stdout.endswith(b"\nthe last line\n"))
        self.assertLessEqual(len(done.stdout), limit + (1 << 16))
        self.assertGreaterEqual(len(done.stdout), limit - (1 << 16))
        self.assertNotIn(b"\0", done.stdout)
        self.assertIn(b"left out", done.stderr)
        self.assertEqual(self.q("logs", "a", "-n", "1"), "the last line\n")

    def test_a_job_that_writes_without_end_is_ended_by_its_time_limit(self):
        """Defect 7 of the seed: only the shell was killed, not what it had started."""
        (worker,) = self.start_workers(1, env={"QUEUECTL_OUTPUT_LIMIT": "1M"})
        self.q("enqueue", "(while :; do echo more and more; sleep 0.001; done) & "
               "while :; do sleep 0.01; done", "--id", "a", "--timeout", "0.5s",
               "--kill-after", "0.5s", "--max-retries", "1")
        self.fails(1, "wait", "a")
        self.assertIn("timed out", self.job("a")["last_error"])
        self.assertEqual(self.job_processes(), [])
        self.assertIsNone(worker.process.poll())


class Bytes(OutputTest):
    def test_odd_bytes_do_not_break_json(self):
        """In the command, its words, its environment, its label, its output and its errors."""
        odd = b"\xff\xfe\x80 \x01\x1b[31m\x7f \xc3\x28 \xed\xa0\x80 \xf0\x9f\x98\x80 \"\\\n\t"
        self.q("enqueue", "--id", "words", "--label", odd, "--", "printf", "%s", odd)
        self.q("enqueue", b"printf '%s' '" + odd + b"'", "--id", "text", "--env", b"ODD=" + odd)
        self.q("enqueue", "--id", "missing", "--max-retries", "1", "--", b"./no-\xff-\x1b[31m")
        self.q("enqueue", "head -c 100000 /dev/urandom", "--id", "random")
        self.assertEqual(len(self.jobs()), 4)
        self.drain()
        for words in (["list", "--json"], ["show", "words", "text", "missing", "--json"],
                      ["dlq", "list", "--json"], ["status", "--json"]):
            with self.subTest(words=words):
                done = self.run_q(*words)
                self.assertEqual(done.returncode, 0)
                json.loads(done.stdout.decode("utf-8"))
        self.assertEqual(self.run_q("logs", "words").stdout, odd)
        self.assertEqual(self.run_q("logs", "text").stdout, odd)
        self.assertEqual(len(self.run_q("logs", "random").stdout), 100_000)
        for line in self.run_q("export", "--all").stdout.decode("utf-8").splitlines():
            json.loads(line)

    def test_odd_bytes_are_not_sent_to_a_terminal(self):
        odd = b"\x1b]0;title\x07\x1b[2J\x01"
        self.q("enqueue", "--id", "a", "--label", odd, "--max-retries", "1", "--",
               b"./no-" + odd)
        self.drain()
        for words in (["list"], ["show", "a"], ["dlq", "list"], ["top", "--once"]):
            with self.subTest(words=words):
                shown = self.run_q(*words, "--color", "always").stdout
                self.assertNotIn(b"\x1b]0;", shown)
                self.assertNotIn(b"\x1b[2J", shown)
                self.assertNotIn(b"\x01", shown)


class Json(OutputTest):
    def check_list(self, number):
        done = self.run_q("list", "--json", "-v")
        self.assertEqual(done.returncode, 0)
        jobs = json.loads(done.stdout)
        self.assertIsInstance(jobs, list)
        self.assertEqual(len({job["id"] for job in jobs}), number)

    def test_no_jobs(self):
        self.check_list(0)
        for words in (["status"], ["worker", "list"], ["dlq", "list"], ["schedule", "list"],
                      ["config", "list"], ["metrics"], ["verify"], ["doctor"]):
            with self.subTest(words=words):
                json.loads(self.q(*words, "--json", "-v"))

    def test_one_job(self):
        self.q("enqueue", "true")
        self.check_list(1)

    def test_many_jobs(self):
        number = 100_000 if LONG else 2_000
        self.enqueue_all({"command": "true", "id": f"job-{i}", "priority": i % 5}
                         for i in range(number))
        begin = time.monotonic()
        self.check_list(number)
        print(f"figure queuectl.list_json_us_per_job "
              f"{(time.monotonic() - begin) / number * 1e6:.1f}")

    def test_what_is_enqueued_is_told_as_json(self):
        self.assertEqual(json.loads(self.q("enqueue", "true", "--id", "a", "--json")), ["a"])
        self.assertEqual(json.loads(self.q("enqueue", "-", "--json", stdin='{"command":"true"}\n'
                                           '{"command":"true","id":"c"}\n'))[1], "c")


class Looks(OutputTest):
    COMMANDS = (["list"], ["status"], ["worker", "list"], ["config", "list"], ["dlq", "list"],
                ["schedule", "list"], ["top", "--once"], ["show", "dead"], ["doctor"])

    def fill(self):
        """One of everything, with names and commands that are too long and too wide."""
        self.q("enqueue", "exit 1; " + "x" * 200, "--id", "dead", "--max-retries", "1")
        self.q("enqueue", "echo " + "日本語" * 40, "--id", "a-job-with-a-long-name-" + "n" * 60)
        self.drain()
        self.q("enqueue", "true " + "é" * 100, "--id", "日本" * 30)
        self.q("enqueue", "true", "--id", "later", "--delay", "1h", "--queue", "q" * 70)
        self.q("enqueue", self.until_told(), "--id", "runs", "--priority", "-1")
        self.q("schedule", "add", "a-schedule-with-a-long-name", "make " + "z" * 100,
               "--cron", "0,5,10,15,20,25,30,35,40,45,50,55 1,2,3,4,5,6 1-7 * 1-5")
        self.q("schedule", "add", "b", "true", "--cron", "@daily")
        self.start_workers(1, "--queue", "default", "--queue", "q" * 70)
        self.wait_for_begun("runs")

    def test_pipes_get_no_escape_codes_and_terminals_get_colour_unless_told_otherwise(self):
        self.fill()
        for words in self.COMMANDS:
            with self.subTest(words=words):
                done = self.run_q(*words, env={"TERM": "xterm-256color"})
                self.assertEqual(done.returncode, 0)
                self.assertNotIn(b"\x1b", done.stdout + done.stderr)
                shown = self.on_terminal(*words, env={"NO_COLOR": "1"})
                self.assertNotIn("\x1b", shown.text)
                shown = self.on_terminal(*words, env={"TERM": "dumb"})
                self.assertNotIn("\x1b", shown.text)
                shown = self.on_terminal(*words, "--color", "never")
                self.assertNotIn("\x1b", shown.text)
        self.assertIn("\x1b[", self.on_terminal("list").text)
        self.assertIn("\x1b[", self.on_terminal("status").text)
        self.assertIn(b"\x1b[", self.run_q("list", "--color", "always").stdout)
        self.assertIn("\x1b[", self.on_terminal("list", "--color", "always",
                                                env={"NO_COLOR": "1"}).text)

    def test_no_line_is_wider_than_a_narrow_terminal(self):
        self.fill()
        for columns in (60, 100):
            for words in self.COMMANDS[:7]:
                with self.subTest(words=words, columns=columns):
                    shown = self.on_terminal(*words, columns=columns)
                    self.assertGreater(len(shown.lines()), 1)
                    widest = max(shown.lines(), key=width_of)
                    self.assertLessEqual(width_of(widest), columns, widest)

    def test_a_long_list_on_a_terminal_is_cut_and_says_so(self):
        self.enqueue_all({"command": "true"} for _ in range(150))
        shown = self.on_terminal("list", rows=30)
        self.assertLess(len(shown.lines()), 110)
        self.assertIn("--limit 0", shown.text)
        self.assertGreater(len(self.on_terminal("list", "--limit", "0").lines()), 150)
        self.assertEqual(len(self.q("list").splitlines()), 151)


class Progress(OutputTest):
    def test_enqueue_of_many(self):
        path = os.path.join(self.home, "jobs")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"command":"true"}\n' * 5000)
        shown = self.on_terminal("enqueue", "--file", path)
        self.assertIn("enqueue [", shown.text)
        self.assertIn("5,000/5,000 100%", shown.text)
        done = self.run_q("enqueue", "--file", path)
        self.assertNotIn(b"[", done.stdout + done.stderr)
        self.assertNotIn(b"\r", done.stdout + done.stderr)
        shown = self.on_terminal("enqueue", "--file", path, "--quiet")
        self.assertEqual(shown.text, "")

    def test_wait(self):
        self.enqueue_all({"command": "true", "id": f"j{i}"} for i in range(3))
        self.start_workers(1)
        shown = self.on_terminal("wait", "j0", "j1", "j2")
        self.assertIn("wait [", shown.text)
        self.assertIn("3/3 100%", shown.text)
        done = self.run_q("wait", "j0", "j1", "j2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_wait_for_a_queue(self):
        self.enqueue_all({"command": self.until_told()} for i in range(3))
        self.start_workers(1)
        shown = Terminal(self, ["wait", "--all"])
        shown.wait_for("0/3 0%")
        self.tell()
        self.assertEqual(shown.wait(), 0)
        self.assertIn("3/3 100%", shown.text)

    def test_drain(self):
        self.enqueue_all({"command": "true", "id": f"j{i}"} for i in range(20))
        shown = self.on_terminal("worker", "start", "--drain")
        self.assertIn("drain [", shown.text)
        self.assertIn("20/20 100%", shown.text)
        self.enqueue_all({"command": "true", "id": f"k{i}"} for i in range(20))
        done = self.run_q("worker", "start", "--drain")
        self.assertNotIn(b"[", done.stdout + done.stderr)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"completed"), 20)


class Logs(OutputTest):
    def follow(self, *arguments):
        follower = self.in_background("logs", "-f", *arguments)
        os.set_blocking(follower.stdout.fileno(), False)
        follower.text = ""

        def seen():
            follower.text += (follower.stdout.read() or b"").decode()
            return follower.text
        follower.seen = seen
        return follower

    def wait_for_text(self, follower, text):
        wait_until(lambda: follower.seen() == text, f"{text!r}, not {follower.text!r}")

    def test_they_can_be_followed_while_the_job_runs(self):
        self.q("enqueue", f"echo one; {self.until_told()}; echo two; {self.until_told('stop')}; "
               "echo three; exit 7", "--id", "a", "--max-retries", "1")
        early = self.follow("a")  # Before the job has begun.
        self.start_workers(1)
        self.wait_for_text(early, "one\n")
        late = self.follow("a")
        self.wait_for_text(late, "one\n")
        self.tell()
        self.wait_for_text(early, "one\ntwo\n")
        self.wait_for_text(late, "one\ntwo\n")
        self.assertEqual((early.poll(), late.poll()), (None, None))
        self.tell("stop")
        self.assertEqual((early.wait(), late.wait()), (7, 7))
        self.wait_for_text(early, "one\ntwo\nthree\n")
        self.wait_for_text(late, "one\ntwo\nthree\n")
        done = self.run_q("logs", "-f", "a")  # After its end.
        self.assertEqual((done.returncode, done.stdout), (7, b"one\ntwo\nthree\n"))

    def test_a_job_that_completes_ends_it_with_0(self):
        self.q("enqueue", "echo one; echo two >&2", "--id", "a")
        follower = self.follow("a")
        self.start_workers(1)
        self.assertEqual(follower.wait(), 0)
        self.wait_for_text(follower, "one\ntwo\n")

    def test_all_runs_are_followed(self):
        self.q("enqueue", "echo run $QUEUECTL_ATTEMPT; test $QUEUECTL_ATTEMPT = 2", "--id", "a",
               "--backoff-base", "1")
        follower = self.follow("a")
        self.start_workers(1)
        self.assertEqual(follower.wait(), 0)
        self.wait_for_text(follower, "run 1\nrun 2\n")

    def test_a_job_that_is_cancelled_ends_it(self):
        self.q("enqueue", "true", "--id", "a", "--hold")
        follower = self.follow("a")
        self.q("cancel", "a")
        self.assertEqual(follower.wait(), 1)

    def test_the_last_lines_and_another_run(self):
        self.q("enqueue", "seq 5; echo run $QUEUECTL_ATTEMPT; exit 1", "--id", "a",
               "--max-retries", "2", "--backoff-base", "0")
        self.q("enqueue", "printf 'a\\nb\\nc'", "--id", "open")
        self.q("enqueue", "true", "--id", "silent")
        self.drain()
        whole = "1\n2\n3\n4\n5\nrun 2\n"
        self.assertEqual(self.q("logs", "a"), whole)
        self.assertEqual(self.q("logs", "a", "--attempt", "1"), whole.replace("run 2", "run 1"))
        self.assertEqual(self.q("logs", "a", "-n", "2"), "5\nrun 2\n")
        self.assertEqual(self.q("logs", "a", "-n", "2", "--attempt", "1"), "5\nrun 1\n")
        self.assertEqual(self.q("logs", "a", "-n", "100"), whole)
        self.assertEqual(self.q("logs", "a", "-n", "0"), "")
        self.assertEqual(self.q("logs", "open", "-n", "2"), "b\nc")
        self.assertEqual(self.q("logs", "silent"), "")
        self.assertEqual(self.q("logs", "open", "a", "-n", "1"), "crun 2\n")
        self.assertIn("show", self.fails(3, "logs", "a", "--attempt", "3"))
        self.fails(2, "logs", "a", "-n", "x")

    def test_a_job_that_has_not_run_says_so(self):
        self.q("enqueue", "true", "--id", "a")
        done = self.run_q("logs", "a")
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertIn(b"has not run yet", done.stderr)


class Top(OutputTest):
    def start_top(self, rows=24):
        self.q("enqueue", self.until_told(), "--id", "running-job")
        self.q("enqueue", "true", "--id", "dead-job", "--hold")
        self.start_workers(1)
        self.wait_for_begun("running-job")
        top = Terminal(self, ["top", "--interval", "0.1s"], rows=rows)
        top.wait_for("running-job")
        return top

    def check_that_the_terminal_is_as_before(self, top):
        self.assertEqual(termios.tcgetattr(top.slave), top.before)
        self.assertEqual(top.text.count("\x1b[?1049h"), 1)
        self.assertEqual(top.text.count("\x1b[?1049l"), 1)
        self.assertLess(top.text.rindex("\x1b[?25l"), top.text.rindex("\x1b[?25h"))
        self.assertEqual(top.text[top.text.index("\x1b[?1049l") + len("\x1b[?1049l"):], "")

    def test_it_draws_and_q_ends_it(self):
        top = self.start_top()
        self.assertIn("1 worker", top.text)
        self.assertIn("default", top.text)
        # It echoes nothing, and other keys do nothing.
        self.assertNotEqual(termios.tcgetattr(top.slave), top.before)
        top.type(b"x")
        self.q("enqueue", "true", "--id", "newcomer")
        top.wait_for("newcomer")
        top.type(b"q")
        self.assertEqual(top.wait(), 0)
        self.check_that_the_terminal_is_as_before(top)

    def test_ctrl_c_ends_it(self):
        top = self.start_top()
        top.type(b"\x03")
        self.assertEqual(top.wait(), 130)
        self.check_that_the_terminal_is_as_before(top)

    def test_sigterm_ends_it(self):
        top = self.start_top()
        top.process.send_signal(signal.SIGTERM)
        self.assertEqual(top.wait(), 143)
        self.check_that_the_terminal_is_as_before(top)

    def test_it_follows_the_size_of_the_window(self):
        top = self.start_top()
        fcntl.ioctl(top.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        before = len(top.read())
        wait_until(lambda: top.read().count("\x1b[H", before) >= 3, "it to draw again")
        # The first picture after that may have been begun before.
        pictures = top.text[before:].split("\x1b[H")[2:]
        lines = ESCAPE.sub("", "\n".join(pictures)).replace("\r", "").split("\n")
        widest = max(lines, key=width_of)
        self.assertLessEqual(width_of(widest), 40, widest)
        top.type(b"q")
        self.assertEqual(top.wait(), 0)

    def test_in_a_pipe_it_prints_once(self):
        self.q("enqueue", "true", "--id", "a")
        self.assertIn("pending", self.q("top"))


class Unheard(OutputTest):
    """Nobody reads what a worker says: no reason to leave its jobs."""

    def check_that_it_goes_on(self, stderr, deafen=lambda: None):
        self.q("enqueue", self.until_told(), "--id", "a")
        self.q("enqueue", "echo there", "--id", "b")
        worker = self.in_background("worker", "start", stdout=subprocess.DEVNULL, stderr=stderr)
        self.wait_for_begun("a")
        deafen()
        self.tell()
        wait_until(lambda: self.job("b")["state"] == "completed" or worker.poll() is not None,
                   "both jobs, or the end of the worker")
        self.assertIsNone(worker.poll())
        self.assertEqual([self.job(name)["attempts"] for name in "ab"], [1, 1])

    def test_a_log_on_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            self.q("enqueue", "true", "--id", "a")
            worker = self.in_background("worker", "start", "--drain", stderr=full)
            self.assertEqual(worker.wait(), 0)
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))

    def test_a_pipe_whose_reader_is_gone(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, writing)
        self.check_that_it_goes_on(writing, lambda: os.close(reading))

    def test_a_terminal_that_is_closed(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, slave)
        self.check_that_it_goes_on(slave, lambda: os.close(master))


class Disk(OutputTest):
    """A disk of its own, in a mount namespace of this process, so that nothing is left behind."""

    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.home, "disk")
        os.mkdir(self.disk)
        self.db = self.env["QUEUECTL_DB"] = os.path.join(self.disk, "db")
        new_namespace = 0x00020000
        if ctypes.CDLL(None).unshare(new_namespace) != 0:
            self.skipTest("cannot mount a disk (needs root)")
        for words in (["--make-rprivate", "/"],
                      ["-t", "tmpfs", "-o", "size=8m", "sluice-test", self.disk]):
            if subprocess.run(["mount", *words], check=False, capture_output=True).returncode != 0:
                self.skipTest("cannot mount a disk (needs root)")
        self.addCleanup(self.unmount)

    def unmount(self):
        self.end_workers()
        subprocess.run(["umount", "--lazy", self.disk], check=True)

    def test_a_full_disk_is_5_and_loses_nothing(self):
        filler = os.path.join(self.disk, "filler")
        with open(filler, "wb") as file:
            file.write(b"x" * (4 << 20))
        told = []
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = "".join(json.dumps({"id": f"{len(told)}-{i}", "command": "true " + "x" * 4000})
                           + "\n" for i in range(20))
            done = self.run_q("enqueue", "-", "--print-id", stdin=text)
            if done.returncode != 0:
                break
            told += done.stdout.decode().split()
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr.decode(), "^queuectl: .*(full|room|space)")
        self.assertGreater(len(told), 100)
        # What was refused is not there, what was acknowledged is; also in the eyes of a check.
        self.assertEqual({job["id"] for job in self.jobs()}, set(told))
        self.verify()
        self.fails(5, "enqueue", "-", stdin=text)
        os.remove(filler)
        self.q("enqueue", "echo there is room", "--id", "again")
        self.drain("--count", "4", "--quiet")
        jobs = self.jobs()
        self.assertEqual({job["id"] for job in jobs}, {*told, "again"})
        self.assertEqual({(job["state"], job["attempts"]) for job in jobs}, {("completed", 1)})
        self.assertEqual(self.q("logs", "again"), "there is room\n")
        self.verify()

    def fill(self):
        filler = os.path.join(self.disk, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                return filler

    def test_a_worker_that_cannot_start_on_a_full_disk_says_so(self):
        self.q("enqueue", "true", "--id", "a")
        filler = self.fill()
        self.fails(5, "worker", "start", "--drain")
        os.remove(filler)
        self.drain()
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))

    def test_a_disk_that_gets_full_under_a_worker_costs_no_job(self):
        self.q("enqueue", self.until_told(), "--id", "first")
        self.enqueue_all({"id": f"j{i}", "command": "echo hi"} for i in range(20))
        (worker,) = self.start_workers(1)
        self.wait_for_begun("first")
        filler = self.fill()
        self.tell()
        wait_until(lambda: worker.process.poll() is not None or "could not" in worker.said()
                   or not self.jobs("--state", "pending"), "it to meet the full disk")
        self.assertIn(worker.process.poll(), (None, 5), worker.said())
        os.remove(filler)
        self.drain("--quiet")
        jobs = self.jobs()
        self.assertEqual(len(jobs), 21)
        self.assertEqual({job["state"] for job in jobs}, {"completed"})
        for i in range(20):
            self.assertEqual(self.q("logs", f"j{i}"), "hi\n")
        self.verify()

    def test_a_read_only_disk_is_5(self):
        self.q("enqueue", "true", "--id", "a")
        subprocess.run(["mount", "-o", "remount,ro", self.disk], check=True)
        for words in (["enqueue", "true"], ["worker", "start", "--drain"], ["cancel", "a"]):
            with self.subTest(words=words):
                self.fails(5, *words)
        self.fails(5, "--db", os.path.join(self.disk, "other"), "enqueue", "true")
        subprocess.run(["mount", "-o", "remount,rw", self.disk], check=True)
        self.assertEqual(self.states(), {"a": "pending"})
        self.drain()
        self.assertEqual(self.states(), {"a": "completed"})


if __name__ == "__main__":
    main()
