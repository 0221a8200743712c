"""The command line: help, mistakes, exit codes, JSON, signals, pipes, terminals."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import unicodedata

from harness import (DIFFERENT, INTERRUPTED, INVALID, MIGRATE, NOT_FOUND, SAME, MigrateTest, Paused,
                     chance, main, wait_until)
from trees import Pair, plain, put, walk

COMMANDS = ("compare", "copy", "run", "report", "status", "ls", "why", "retry", "exclude",
            "include", "verify", "completion", "man")
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>78])")


def width_of(line):
    """The columns that a line takes on a terminal."""
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Terminal:
    """The program on a terminal of its own, as in a window."""

    def __init__(self, case, arguments, columns=60, env=None):
        self.master, self.slave = pty.openpty()
        case.addCleanup(os.close, self.master)
        case.addCleanup(os.close, self.slave)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.text = ""
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *case.argv(arguments)], cwd=case.home,
            env={**case.env, "TERM": "xterm-256color", **(env or {})},
            stdin=self.slave, stdout=self.slave, stderr=self.slave)
        case.addCleanup(self.process.wait)
        case.addCleanup(self.process.kill)

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        return self.text

    def wait(self):
        wait_until(lambda: self.read() is None or self.process.poll() is not None, "its end")
        self.read()
        return self.process.returncode

    def lines(self):
        """What is to be seen, each state of a line that is written over as a line of its own."""
        return re.split(r"[\r\n]+", ESCAPE.sub("", self.text))


class Help(MigrateTest):
    def test_every_command_explains_itself(self):
        text = self.m("--help", state=False).decode()
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assertIn(command, text)
                own = self.m(command, "--help", state=False).decode()
                self.assertRegex(own, rf"(?i)usage: sluice-migrate {command}")
                self.assertLessEqual(max(width_of(line) for line in own.splitlines()), 100)

    def test_every_option_of_the_contract_is_explained(self):
        options = {
            "compare": "size-only checksum mtime-window no-owner no-mode newer exclude "
                       "one-file-system threads memory retries lead max-lead again quiet json "
                       "progress state",
            "copy": "delete max-delete bwlimit dry-run verify no-sync threads memory state",
            "run": "size-only checksum exclude delete max-delete bwlimit dry-run verify memory",
            "report": "format all status state", "status": "json levels", "ls": "status json",
            "why": "json", "retry": "failed all", "verify": "json contents"}
        for command, names in options.items():
            text = self.m(command, "--help", state=False).decode()
            for name in names.split():
                with self.subTest(command=command, name=name):
                    self.assertIn(f"--{name}", text)

    def test_the_version(self):
        self.assertRegex(self.m("--version", state=False).decode(),
                         r"^sluice-migrate \d+\.\d+\.\d+\n$")

    def test_completion_is_what_the_shells_understand(self):
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell=shell):
                script = self.m("completion", shell, state=False)
                self.assertIn(b"compare", script)
                if shutil.which(shell):
                    path = os.path.join(self.home, "script")
                    with open(path, "wb") as file:
                        file.write(script)
                    done = subprocess.run([shell, "-n", path], capture_output=True, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.fails(INVALID, "completion", "tcsh", state=False)

    def test_bash_offers_commands_and_options(self):
        script = self.m("completion", "bash", state=False).decode()
        ask = ('COMP_WORDS=(sluice-migrate {words}); COMP_CWORD={at}; COMP_LINE="sluice-migrate '
               '{line}"; COMP_POINT=${{#COMP_LINE}}; f=$(complete -p sluice-migrate | '
               "sed 's/.*-F \\([^ ]*\\).*/\\1/'); $f sluice-migrate '{last}' ''; "
               'printf "%s\\n" "${{COMPREPLY[@]}}"')
        for words, wanted in ((["comp"], "compare"), (["report", "--form"], "--format")):
            command = ask.format(words=" ".join(words), at=len(words), line=" ".join(words),
                                 last=words[-1])
            done = subprocess.run(["bash", "-c", script + "\n" + command], capture_output=True,
                                  env={**self.env, "PATH": os.path.dirname(MIGRATE) + ":"
                                       + self.env["PATH"]}, check=False)
            self.assertIn(wanted, [line.strip() for line in done.stdout.decode().splitlines()],
                          done.stderr)

    def test_the_manual_page_has_no_mistakes(self):
        page = self.m("man", state=False)
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True,
                              env=self.env, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())
        for word in ("compare", "--max-delete", "EXIT STATUS", "retry", "--one-file-system"):
            self.assertIn(word, text)


class Mistakes(MigrateTest):
    def test_each_is_refused_and_named(self):
        self.make_roots()
        both = self.src, self.dst
        for words, named in (
                (["nonsense"], "nonsense"), ([""], '""'), (["compare"], "SRC"),
                (["compare", self.src], "DST"), (["compare", *both, "third"], "third"),
                (["compare", *both, "--nonsense"], "--nonsense"),
                (["compare", *both, "--threads", "0"], "threads"),
                (["compare", *both, "--threads", "x"], "threads"),
                (["compare", *both, "--retries", "-1"], "retries"),
                (["compare", *both, "--mtime-window", "soon"], "mtime-window"),
                (["compare", *both, "--newer", "maybe"], "maybe"),
                (["compare", *both, "--size-only", "--checksum"], "checksum"),
                (["compare", *both, "--exclude", ""], "exclude"),
                (["compare", *both, "--progress", "x"], "progress"),
                (["compare", *both, "--delete"], "--delete"),
                (["report", "--format", "xml"], "xml"), (["report", "--status", "odd"], "odd"),
                (["compare", "sim:nonsense=1", "sim:seed=1"], "nonsense"),
                (["run", *both, "--bwlimit", "fast"], "bwlimit"),
                (["run", *both, "--max-delete", "x"], "max-delete"),
                (["copy", self.src], "src"), (["why"], "PATH")):
            with self.subTest(words=words):
                self.assertIn(named, self.fails(INVALID, *words))
        self.assertFalse(os.path.exists(self.state), "a mistake made a ledger")

    def test_no_word_at_all(self):
        done = self.run_m(state=False)
        self.assertIn(done.returncode, (0, INVALID))
        self.assertIn(b"compare", done.stdout + done.stderr)

    def test_a_command_without_its_ledger(self):
        self.make_roots()
        self.assertIn("--state", self.fails(INVALID, "compare", self.src, self.dst, state=False))
        for words in (["copy"], ["report"], ["status"], ["ls"], ["why", "x"], ["retry"],
                      ["exclude", "x"], ["include", "x"], ["verify"]):
            with self.subTest(words=words):
                self.assertIn("--state", self.fails(INVALID, *words, state=False))
                self.assertIn(self.state, self.fails(NOT_FOUND, *words))
                self.assertFalse(os.path.exists(self.state), "looking made a ledger")

    def test_a_folder_that_is_no_ledger(self):
        self.make_roots()
        os.mkdir(self.state)
        with open(os.path.join(self.state, "data.mdb"), "wb") as file:
            file.write(b"no ledger" * 1000)
        done = self.run_m("status")
        self.assertGreater(done.returncode, 0)
        self.assertIn(b"sluice-migrate: ", done.stderr)
        done = self.run_m("compare", self.src, self.dst)
        self.assertGreater(done.returncode, 0)

    def test_a_copy_of_a_simulated_tree_is_refused(self):
        self.make_roots()
        self.assertIn("sim", self.fails(INVALID, "run", "sim:seed=1,world=src", self.dst))
        self.assertEqual(os.listdir(self.dst), [])


class Output(MigrateTest):
    def setUp(self):
        super().setUp()
        Pair(chance(self.id()), self.src, self.dst, 300)

    def test_everything_that_says_json_is_json(self):
        summary = self.json("compare", self.src, self.dst, code=DIFFERENT)
        self.assertIsInstance(summary, dict)
        name = b"a file of a name that is no text \xff"
        put(self.src + b"/" + name, b"x")
        self.m("retry", "--all")
        self.compare()
        for words in (["status"], ["status", "--levels"], ["ls"], ["ls", "-R"], ["why", "."],
                      ["why", name], ["verify"]):
            with self.subTest(words=words):
                self.json(*words)
        for one in self.objects("--all"):
            self.assertLessEqual({"path", "kind", "verdict", "differences", "src", "dst", "copy",
                                  "error"}, set(one))
        self.assertEqual([one["path_bytes"] for one in self.objects()
                          if one["path"].startswith("a file of a name")],
                         ["a%20file%20of%20a%20name%20that%20is%20no%20text%20%FF"])

    def test_the_exit_code_is_the_same_when_nothing_is_left_to_do(self):
        first = self.run_m("compare", self.src, self.dst)
        second = self.run_m("compare", self.src, self.dst)
        self.assertEqual((first.returncode, first.stdout), (second.returncode, second.stdout))
        self.assertEqual(first.returncode, DIFFERENT)

    def test_a_report_can_be_asked_for_some_of_it(self):
        self.compare()
        everything = self.objects("--all")
        for name in ("extra", "missing", "content", "clash", "same", "attributes"):
            self.assertEqual(self.objects("--status", name),
                             [one for one in everything if one["verdict"] == name])
        self.assertEqual(self.objects("--status", "extra", "--status", "missing"),
                         [one for one in everything if one["verdict"] in ("extra", "missing")])

    def test_a_reader_that_leaves_early_is_no_fault(self):
        self.compare()
        for words in (["report", "--all"], ["report", "--all", "--format", "json"], ["ls", "-R"]):
            with self.subTest(words=words):
                process = self.start(*words)
                process.stdout.read(1)
                process.stdout.close()
                message = process.stderr.read()
                process.wait()
                self.assertIn(process.returncode, (0, -signal.SIGPIPE, 128 + signal.SIGPIPE))
                self.assertEqual(message, b"")
                process.stdout = None

    def test_a_full_disk_for_the_report_is_told(self):
        self.compare()
        with open("/dev/full", "wb") as full:
            process = self.start("report", "--all", stdout=full)
            _, message = process.communicate()
        self.assertGreater(process.returncode, 0)
        self.assertIn(b"sluice-migrate: ", message)

    def test_progress_is_for_people_who_look(self):
        for words, shown in ((["--progress", "never"], False), (["--progress", "auto"], False),
                             (["--progress", "always"], True), (["--quiet"], False)):
            with self.subTest(words=words):
                self.remove(self.state)
                done = self.run_m("compare", self.src, self.dst, *words)
                self.check_code(done, DIFFERENT)
                self.assertEqual(bool(re.search(rb"\d", done.stderr)), shown, done.stderr)
                self.assertNotIn(b"\x1b", done.stdout)

    def test_nothing_is_wider_than_a_narrow_terminal(self):
        for words, code in ((["compare", self.src, self.dst], DIFFERENT), (["status"], 0),
                            (["status", "--levels"], 0), (["ls"], 0)):
            with self.subTest(words=words):
                terminal = Terminal(self, words)
                self.assertEqual(terminal.wait(), code, terminal.text)
                self.assertTrue(terminal.text)
                widest = max(terminal.lines(), key=width_of)
                self.assertLessEqual(width_of(widest), 60, widest)

    def test_names_do_no_harm_to_a_terminal(self):
        self.remove(self.src)
        put(self.src + b"/\x1b[31mred\x07", b"x")
        terminal = Terminal(self, ["compare", self.src, self.dst, "--progress", "always"])
        terminal.wait()
        for words in (["report"], ["ls"], ["why", b"\x1b[31mred\x07"]):
            terminal = Terminal(self, words, env={"NO_COLOR": "1"})
            self.assertEqual(terminal.wait(), 0)
            self.assertNotIn("\x1b[31m", terminal.text)
            self.assertNotIn("\x07", terminal.text)


class Interrupted(MigrateTest):
    def test_a_compare_that_is_interrupted_can_be_resumed(self):
        Pair(chance("Interrupted"), self.src, self.dst, 1000)
        for number in range(50):  # However few folders the pair has: most come after the stop.
            os.mkdir(self.src + b"/folder%d" % number)
        clean = os.path.join(self.home, "clean")
        summary = self.m("compare", self.src, self.dst, code=DIFFERENT, state=clean)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                self.remove(self.state)
                # At every folder from there: it must not be over before it has heard the signal.
                paused = Paused(self, "getdents64", "30+", "compare", self.src, self.dst,
                                "--threads", "1")
                paused.signal(number)
                _, message = paused.finish()
                os.remove(paused.trace.path)
                self.assertEqual(paused.process.returncode, INTERRUPTED, message)
                self.assertRegex(message.decode(), "again|resume|continue")
                self.verify()
                self.assertEqual(self.m("compare", self.src, self.dst, code=DIFFERENT), summary)
                self.assertEqual(self.report("--all"), self.report("--all", state=clean))

    def test_a_copy_that_is_interrupted_can_be_resumed(self):
        put(self.src + b"/big", b"x" * (40 << 20))
        put(self.src + b"/small", b"x")
        os.mkdir(self.dst)
        process = self.start("run", self.src, self.dst, "--bwlimit", "2M")
        # What is being copied has no name yet.
        wait_until(lambda: bytes_written(process.pid) > 1 << 20, "it to copy")
        process.send_signal(signal.SIGINT)
        _, message = process.communicate()
        self.assertEqual(process.returncode, INTERRUPTED, message)
        self.assertLessEqual(set(walk(self.dst)), {b"", b"small"})
        self.m("run", self.src, self.dst, code=SAME)
        self.assertEqual(os.path.getsize(self.dst + b"/big"), 40 << 20)
        self.assertEqual(set(walk(self.dst)), {b"", b"big", b"small"})

    def test_what_it_says_on_the_way_can_be_read_by_others(self):
        plain(self.src)
        self.clone()
        process = self.start("compare", self.src, self.dst, "--json", "--progress", "always")
        output, _ = process.communicate()
        self.assertEqual(process.returncode, SAME)
        json.loads(output)


def bytes_written(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return int(dict(line.split(": ") for line in file)["wchar"])


if __name__ == "__main__":
    main()
