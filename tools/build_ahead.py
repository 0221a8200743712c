"""Builds the tree of the next stage while tests of this one wait for something: for ./test."""
import os
import shutil
import signal
import subprocess

from run_ctest import ROOT

BUILDS = ("release", "asan", "tsan")
# Of the lowest class of all: whatever a test wants to do comes first.
COMMAND = ["chrt", "--idle", "0", "sh", "-c",
           'tools/configure "$1" && exec ninja -C "build/$1" -k 0 --quiet', "sh"]


class BuildAhead:
    """Only compilers run ahead, never tests; what they did not come to is built in its turn, and
    what is wrong is told then."""

    def __init__(self, stages):
        self.stages = [stage for stage in stages if stage in BUILDS]

    def of(self, stage):
        """For a `with` around the tests of a stage."""
        after = self.stages.index(stage) + 1 if stage in self.stages else len(self.stages)
        return Ahead(self.stages[after] if after < len(self.stages) else None)


class Ahead:
    def __init__(self, stage):
        self.stage = stage
        self.process = None

    def __enter__(self):
        if self.stage and shutil.which("chrt"):
            self.process = subprocess.Popen(
                [*COMMAND, self.stage], cwd=ROOT, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def __exit__(self, *_):
        """ninja removes what its compilers have only half written."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGINT)
            except ProcessLookupError:
                pass
            self.process.wait()
