"""Runs compilers and tests in sessions of their own, so that all of one can be ended."""
import os
import signal
import subprocess
import threading
from pathlib import Path


class Stopped(Exception):
    """The run of the mutants ends: nothing more is started."""


def family(leader):
    """A process, all that it and these have started, and what else is in their sessions."""
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # It has ended meanwhile.
            continue
        processes.append((int(stat.parent.name), int(fields[1]), int(fields[3])))
    members, before = {leader}, 0
    while len(members) > before:
        before = len(members)
        members |= {pid for pid, parent, session in processes
                    if parent in members or session in members}
    return members


def end(process):
    for pid in family(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


class Processes:
    """What runs at this moment. Every member may be called from any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.stopped = False

    def run(self, command, log, seconds, **options):
        """The exit code, or None if the process had to be ended after so many seconds; what it
        printed. The output goes through a file: a pipe would stay open for as long as anything
        that a test has left behind."""
        with open(log, "wb") as output, self.lock:
            if self.stopped:
                raise Stopped
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True, **options)
            self.running.add(process)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            end(process)
            code = None
        with self.lock:
            self.running.discard(process)
            if self.stopped:
                raise Stopped
        return code, Path(log).read_text(errors="replace")

    def stop(self):
        with self.lock:
            self.stopped = True
            for process in self.running:
                end(process)
