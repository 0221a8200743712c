"""All processes of one test as one thing: listed, frozen, thawed and ended together.

A group holds the processes that one run of a test starts, also those that lead sessions of their
own or have lost their parents. With control groups the kernel keeps that list. Without them it is
found in /proc, by a variable of the environment and by parenthood, and SIGSTOP freezes: a process
that loses its parent and empties its environment between two looks is then not known, and a
parent can notice that its child was stopped.
"""
import os
import signal
import time
from pathlib import Path

NAME = "sluice-flake"
KINDS = ("v2", "v1", "signals")
END_WITHIN_S = 10.0
SWITCHES = {"v2": ("cgroup.freeze", "1", "0"), "v1": ("freezer.state", "FROZEN", "THAWED")}


class Cgroup:
    """A control group of version 2, or of the freezer of version 1, and all below it."""

    environment = {}

    def __init__(self, folder, kind):
        self.folder = folder
        self.switch, self.on, self.off = SWITCHES[kind]
        folder.mkdir(exist_ok=True)

    def folders(self):
        """From below upwards: a test may make groups of its own, as a tools/flake under test."""
        return [Path(folder) for folder, _, _ in os.walk(self.folder, topdown=False)]

    def enter(self):
        """Called in the new process, before it becomes the test."""
        write(self.folder / "cgroup.procs", "0")

    def members(self):
        return [int(pid) for folder in self.folders()
                for pid in read(folder / "cgroup.procs").split() if pid != "0"]

    def freeze(self):
        write(self.folder / self.switch, self.on)

    def thaw(self):
        write(self.folder / self.switch, self.off)

    def end(self):
        """Kills whatever is left in the group and removes it."""
        end_members(self)
        for folder in self.folders():
            remove(folder)

    def kill(self, members):
        for pid in members:
            send(pid, signal.SIGKILL)
        for folder in self.folders():  # What version 1 has frozen does not even die.
            write(folder / self.switch, self.off)


class Marked:
    """The processes that have a certain variable in their environment, with all their children."""

    def __init__(self, name):
        self.name = name
        self.environment = {name: "1"}
        self.known = set()  # (pid, start time)
        self.stopped = set()

    def enter(self):
        pass

    def look(self):
        """{(pid, start time): state} of those that live."""
        table = {pid: (parent, start, state) for pid, state, parent, start in processes()}
        mark = f"\0{self.name}=1\0".encode()
        found = {pid for pid, (_, start, _) in table.items()
                 if (pid, start) in self.known or mark in b"\0" + environment_of(pid)}
        more = found
        while more:
            more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
            found |= more
        self.known = {(pid, table[pid][1]) for pid in found}
        return {(pid, table[pid][1]): table[pid][2] for pid in found if table[pid][2] not in "ZX"}

    def members(self):
        return [pid for pid, _ in self.look()]

    def freeze(self):
        """Looks again until there is nothing new: a process may have had a child meanwhile."""
        for _ in range(20):
            new = {one for one, state in self.look().items() if state not in "Tt"} - self.stopped
            if not new:
                return
            for pid, _ in new:
                send(pid, signal.SIGSTOP)
            self.stopped |= new

    def thaw(self):
        """Continues what freeze() has stopped, but not what the test itself has stopped."""
        if self.stopped:
            for pid, _ in self.stopped & set(self.look()):
                send(pid, signal.SIGCONT)
            self.stopped = set()

    def end(self):
        end_members(self)

    def kill(self, members):
        for pid in members:
            send(pid, signal.SIGKILL)


class Freezer:
    """Makes the groups. `kind` is one of KINDS, or "auto" for the first of them that works here;
    raises OSError if the kind does not work."""

    def __init__(self, kind="auto"):
        self.made = 0
        self.parent = None
        sweep()
        for self.kind in KINDS if kind == "auto" else (kind,):
            if self.kind == "signals" or self.prepare():
                return
        raise OSError(f"no freezer of control groups {kind} that this user may write to")

    def prepare(self):
        try:
            folder = own_cgroup(self.kind) / f"{NAME}-{os.getpid()}"
            self.parent = Cgroup(folder, self.kind)
            return self.try_group()
        except OSError:
            self.close()
            return False

    def try_group(self):
        """Whether a process may enter a group and be frozen, which the modes of files do not
        tell."""
        group = self.group()
        child = os.fork()
        if child == 0:
            try:
                group.enter()
                os._exit(0)
            except OSError:
                os._exit(1)
        entered = os.waitpid(child, 0)[1] == 0
        group.freeze()
        group.thaw()
        group.end()
        if not entered:
            self.close()
        return entered

    def group(self):
        """A new group for one run."""
        self.made += 1
        if self.kind == "signals":
            return Marked(f"SLUICE_FLAKE_{os.getpid()}_{self.made}")
        return Cgroup(self.parent.folder / str(self.made), self.kind)

    def close(self):
        """Ends whatever is still in a control group of this freezer."""
        if self.parent:
            self.parent.end()
            self.parent = None


def sweep():
    """Ends what flakes that were themselves killed have left, perhaps frozen."""
    for kind in SWITCHES:
        try:
            for left in own_cgroup(kind).glob(f"{NAME}-*"):
                if not lives(left.name.rpartition("-")[2]):
                    Cgroup(left, kind).end()
        except OSError:
            pass  # No such control groups, or another user's.


def own_cgroup(kind):
    """The folder of the control group in which this process is; OSError if there is none."""
    def fits(controllers):
        return controllers == "" if kind == "v2" else "freezer" in controllers.split(",")

    mounts = [line.split() for line in read("/proc/self/mounts").splitlines()]
    roots = [words[1] for words in mounts if words[2] == "cgroup2" and kind == "v2"
             or words[2] == "cgroup" and kind == "v1" and fits(words[3])]
    paths = [path for _, controllers, path in
             (line.split(":", 2) for line in read("/proc/self/cgroup").splitlines())
             if fits(controllers)]
    if not roots or not paths:
        raise OSError(f"no control groups {kind}")
    return Path(roots[0] + paths[0].rstrip("/"))


def end_members(group):
    """Kills until none is left: who is killed may have had a child meanwhile."""
    end = time.monotonic() + END_WITHIN_S
    while members := group.members():
        if time.monotonic() > end:
            raise OSError(f"processes that cannot be killed: {members}")
        group.kill(members)
        time.sleep(0.002)


def remove(folder):
    """Again for a while: what was killed is in its group until it is gone altogether."""
    end = time.monotonic() + END_WITHIN_S
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.002)


def processes():
    """(pid, state, parent, start time) of every process."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (text := read(f"/proc/{name}/stat")):
            words = text.rpartition(")")[2].split()
            yield int(name), words[0], int(words[1]), words[19]


def lives(pid):
    """Whether there is such a process, and not just its exit code for a parent to ask for."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


def environment_of(pid):
    try:
        return Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return b""


def name_of(pid):
    return read(f"/proc/{pid}/comm").strip()


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def read(path):
    """What the file of the kernel says; nothing if it is gone."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def write(path, text):
    """Not by open(), which would try to make a file that is missing."""
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
