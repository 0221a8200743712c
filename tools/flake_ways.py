"""The ways in which tools/flake runs a test: what each does to the processes of a test, and to the
machine meanwhile."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from flake_tests import WrongUse

CROWD = 6
RUNS_S = (0.02, 0.3)  # Between two stalls.
STALLS_S = (0.2, 3.0)
STALLED_PATIENCE_S = "600"  # As with SLUICE_LONG; some programs take no more.
BUSY_LOOPS = 3
SYNCS = ("fsync", "fdatasync", "sync_file_range", "msync", "syncfs")
SYNC_US = (10_000, 80_000)
SLOW_SYNCS = 200  # Of each thread: some tests sync thousands of times.
PR_SET_PDEATHSIG = 1


class Way:
    """A way that does nothing to a test but to run it `at_once` times side by side. Its limit of
    time is multiplied by `times`."""

    def __init__(self, name, at_once, times=1):
        self.name, self.at_once, self.times = name, at_once, times

    def begin(self):
        """Called before the first run; raises WrongUse if the way cannot be gone here."""

    def end(self):
        """Called after the last run, however that came."""

    def words(self, chance, folder):
        """What stands before the test's command. `folder` is the run's own."""
        return []

    def environment(self, folder):
        return {}

    def enter(self):
        """Called in the new process, before it becomes the test."""

    def slices(self, chance):
        """For how long the test runs, is frozen, runs, is frozen ...; None: it only runs."""
        return None

    def unfit(self, folder):
        """Why the test cannot be run in this way, as a run has shown; "" if it can."""
        return ""


class Stalls(Way):
    """All processes of a test stand still together, as on a machine whose host is busy."""

    def environment(self, folder):
        # A test's patience goes by the wall clock, which runs on while it is frozen.
        return {"SLUICE_PATIENCE": os.environ.get("SLUICE_PATIENCE", STALLED_PATIENCE_S)}

    def slices(self, chance):
        # The first may be very short, or tests that take milliseconds would never be frozen.
        yield 0.001 * 300 ** chance.random()
        while True:
            yield chance.uniform(*STALLS_S)
            yield chance.uniform(*RUNS_S)


class Starved(Way):
    """One core, which busy loops of the same nice want as well."""

    def begin(self):
        self.core = {max(os.sched_getaffinity(0))}
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                       stdin=subprocess.DEVNULL, preexec_fn=self.enter_loop,
                                       # As a test: the kernel may share time among sessions first.
                                       start_new_session=True) for _ in range(BUSY_LOOPS)]

    def end(self):
        for loop in self.loops:
            loop.kill()
            loop.wait()

    def enter(self):
        os.sched_setaffinity(0, self.core)

    def enter_loop(self):
        self.enter()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class SlowDisk(Way):
    """What makes data durable takes long. strace does it, as what is preloaded does not reach
    programs that are linked statically; what is traced already cannot trace others itself."""

    def begin(self):
        if not shutil.which("strace"):
            raise WrongUse("the way 'disk' needs strace: apt-get install strace")
        done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise WrongUse(f"the way 'disk' needs strace, which may not trace here: {done.stderr}")

    def words(self, chance, folder):
        # -DDD: the test is our child and strace a stranger to it, so that neither waits for the
        # other's children.
        words = ["strace", "-DDD", "-f", "-qqq", "--seccomp-bpf", "-e", "signal=none",
                 "-o", str(folder / "calls"), "-e", f"trace=ptrace,{','.join(SYNCS)}"]
        for call in SYNCS:
            words += ["-e", f"inject={call}:delay_enter={chance.randint(*SYNC_US)}"
                            f":when=1..{SLOW_SYNCS}"]
        return words

    def environment(self, folder):
        place = folder / "t"
        place.mkdir()
        options = os.environ.get("ASAN_OPTIONS", "")
        return {"TMPDIR": str(place),  # Below build/, so on a disk.
                "ASAN_OPTIONS": f"{options}:detect_leaks=0"}  # It looks for leaks by ptrace.

    def unfit(self, folder):
        calls = Path(folder, "calls")
        if calls.exists() and "ptrace(" in calls.read_text(errors="replace"):
            return "it traces by itself"
        return ""


WAYS = {way.name: way for way in (
    Way("calm", 1), Way("crowd", CROWD), Stalls("stalls", CROWD), Starved("starved", 1, times=4),
    SlowDisk("disk", os.cpu_count() or 2, times=4))}
