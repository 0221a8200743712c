"""What people see on a terminal: tables, colours, progress, the live view."""
import fcntl
import os
import signal
import struct
import termios

from harness import main, wait_until
from terminal import ESCAPE, OutputTest, Terminal, width_of


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

    def test_room_that_one_state_leaves_is_for_the_others(self):
        self.enqueue_all({"id": f"job-{i}", "command": "true"} for i in range(30))
        for rows, shown in ((24, 8), (40, 16)):
            with self.subTest(rows=rows):
                text = self.on_terminal("top", "--once", rows=rows).text
                self.assertEqual(text.count("job-"), shown)
                self.assertLess(text.count("\n"), rows)

    def test_in_a_pipe_it_prints_once(self):
        self.q("enqueue", "true", "--id", "a")
        self.assertIn("pending", self.q("top"))


if __name__ == "__main__":
    main()
