"""Terminals for tests, and what they show."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import unicodedata

from harness import QUEUECTL, ToldTest, wait_until

ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>78])")


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
