"""The programs as an operator runs them: with any options, environment and files, and how they end.
"""
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest
from typing import NamedTuple

from harness import PATIENCE, SLUICED, Service

QUEUECTL = (os.environ.get("QUEUECTL")
            or os.path.join(os.path.dirname(os.path.abspath(SLUICED)), "queuectl"))
# What somebody is who may do nothing here.
NOBODY = 65534


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(program, *arguments, env=None, cwd=None, user=None):
    """Waits until it has ended. It sees no variable of ours but what `env` adds."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("PATH", "LANG") or name.endswith("SAN_OPTIONS")}
    done = subprocess.run([program, *arguments], env={**kept, **(env or {})}, cwd=cwd, user=user,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def variable(name):
    """The name of a setting as the environment has it."""
    return "SLUICED_" + name.upper().replace("-", "_")


class SettledService(Service):
    """A service that is given nothing but its options: the rest comes from elsewhere."""

    def command(self, same_port):
        return [SLUICED, *self.options]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class UnixService(Service):
    """A service on a socket file in its folder."""

    greeting = rb"listening on unix:/.*()\n"

    def __init__(self, *options):
        super().__init__(*options)
        self.path = os.path.join(self.home, "socket")

    def command(self, same_port):
        return [SLUICED, "--listen", "unix:" + self.path, "--data", self.data, *self.options]

    def connection(self):
        return UnixConnection(self.path)


class ProgramTest(unittest.TestCase):
    """Tests of programs that end by themselves; each has a folder of its own."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="sluiced-", dir=Service.place)
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.data = self.path("data")

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def sluiced(self, *arguments, env=None, **options):
        return run(SLUICED, *arguments, env={"HOME": self.home, **(env or {})}, cwd=self.home,
                   **options)

    def refused(self, code, *arguments, **options):
        """Checks that it starts nothing and makes nothing, and returns the one line it says."""
        before = sorted(os.listdir(self.home))
        ended = self.sluiced(*arguments, **options)
        self.assertEqual((ended.code, ended.out), (code, ""), (arguments, ended))
        self.assertRegex(ended.err, r"\Asluiced: [^\n]+\n\Z", arguments)
        self.assertEqual(sorted(os.listdir(self.home)), before, arguments)
        return ended.err[len("sluiced: "):-1]

    def started(self, service):
        """Starts a service that ends with the test."""
        self.addCleanup(service.end)
        service.start()
        return service


def queuectl(data, *arguments):
    """What it prints, as a value."""
    ended = run(QUEUECTL, "--db", data, *arguments, "--json", env={"HOME": data})
    if ended.code != 0:
        raise AssertionError(f"queuectl {arguments}: {ended}")
    return json.loads(ended.out) if ended.out else None
