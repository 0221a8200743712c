# SPDX-License-Identifier: MIT
"""Scripts of node with packages of npm. They are told what to do, and tell what happens, by lines
of JSON.
"""
import json
import os
import shutil
import subprocess
import threading
import unittest

from waiting import PATIENCE, wait_until

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODULES = os.path.join(ROOT, "build", "node", "node_modules")


def need(package):
    """Skips the test if it cannot be had. node itself is Debian's, and has to be there."""
    if not shutil.which("node"):
        raise AssertionError("missing: nodejs. Run tools/install --test")
    if not os.path.isdir(os.path.join(MODULES, package)):
        raise unittest.SkipTest(f"no {package} from npm: see build/npm.log")


class Script:
    """Runs until the test ends. What it said so far is in `said`, one dictionary a line."""

    def __init__(self, case, path, *arguments):
        self.said = []
        self.errors = case.path(os.path.basename(path) + ".log")
        with open(self.errors, "wb") as log:
            self.process = subprocess.Popen(
                ["node", path, *arguments], env={**case.env, "NODE_PATH": MODULES}, cwd=case.home,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        case.addCleanup(self.close)

    def read(self):
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def close(self):
        """It ends with its input."""
        try:
            self.process.stdin.close()
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()

    def tell(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def wait_for(self, what, after=0, **wanted):
        """The first thing said, from number `after` on, that has all of this in it."""
        def found():
            for one in self.said[after:]:
                if wanted.items() <= one.items():
                    return one
            if self.process.poll() is not None:
                raise AssertionError(f"the script ended: {self.complaints()}")
            return None
        try:
            return wait_until(found, what)
        except AssertionError as error:
            raise AssertionError(f"{error}. It said: {self.said} {self.complaints()}") from None

    def ask(self, **what):
        """Tells it, and returns its answer."""
        after = len(self.said)
        self.tell(**what)
        return self.wait_for(f"the answer to {what}", after, to=what["do"])

    def complaints(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()
