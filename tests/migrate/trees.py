"""Folders for the tests of sluice-migrate: made up from a seed, or by hand; all paths are bytes."""
import contextlib
import hashlib
import os
import socket
import stat

ROOT = os.geteuid() == 0
YEAR_2020_NS = 1_577_836_800 * 10**9
MODES_OF_FILES = (0o644, 0o644, 0o600, 0o755, 0o444, 0o4755, 0o2711, 0o666) + ((0,) if ROOT else ())
MODES_OF_FOLDERS = (0o755, 0o755, 0o700, 0o1777, 0o2755) + ((0o555, 0) if ROOT else ())
NAMES = (b"a", b"b.txt", b"c-d", b"c", b"C", b"README", b"x.y.z", b"0", b"-n", b" lead", b"trail ",
         b"two words", b"new\nline", b"tab\t", b"bell\x07", b"back\\slash", b"\\#012", b"*",
         b"[a-z]", b"?", b"quote\"", b"it's", b"%41", b"\xff\xfe", b"caf\xc3\xa9", b"cafe\xcc\x81",
         b"\xc3", b"\xe6\x97\xa5\xe6\x9c\xac", b"\x7f", b"...", b".hidden", b"~", b"#", b"a,b",
         b"$HOME", b"n" * 255, b"c.", b"c!", b"c0", b"\xed\xa0\x80")


def put(path, content=b"", mode=None, mtime_ns=None):
    """Writes a file, and the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    if mode is not None:
        os.chmod(path, mode)
    if mtime_ns is not None:
        set_time(path, mtime_ns)


def set_time(path, mtime_ns):
    os.utime(path, ns=(mtime_ns, mtime_ns), follow_symlinks=False)


def make_socket(path):
    """Its name may be longer than a socket's address."""
    here = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        short = f"/proc/self/fd/{here}/{os.getpid()}.s"
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(short)
        os.rename(short, path)
    finally:
        os.close(here)


class Pair:
    """Two folders, the second a copy of the first that time has changed; the same for each seed."""

    def __init__(self, chance, src, dst, entries=120, hard_links=True):
        self.chance, self.left, self.hard_links = chance, entries, hard_links
        self.last = []  # What is to be set when nothing more is created.
        self.files = {src: [], dst: []}
        self.sides = src, dst
        for side in self.sides:
            os.mkdir(side)
        self.attributes((src, dst))
        self.fill((src, dst), 0)
        # Below a chain, so that paths are long; everything in one folder makes short ones.
        while self.left > 0:
            self.fill((src, dst), 0)
        for path, owner, mode, mtime_ns in reversed(self.last):
            if ROOT:
                os.lchown(path, *owner)
            if not os.path.islink(path):
                os.chmod(path, mode)
            set_time(path, mtime_ns)

    def attributes(self, paths):
        """Of the same thing on both sides (or of one side): mostly the same."""
        chance = self.chance
        folder = os.path.isdir(paths[0]) and not os.path.islink(paths[0])
        choice = MODES_OF_FOLDERS if folder else MODES_OF_FILES
        owner = [chance.choice((0, 0, 0, 1, 2)), chance.choice((0, 0, 0, 1, 3))]
        mode = chance.choice(choice)
        mtime_ns = YEAR_2020_NS + chance.randrange(10**17)
        for path in paths:
            self.last.append((path, tuple(owner), mode, mtime_ns))
            if chance.random() < 0.15:
                mtime_ns += chance.choice((1, -1, 999, 10**9, -10**9, 10**12))
            if chance.random() < 0.1:
                mode = chance.choice(choice)
            if chance.random() < 0.05:
                owner[chance.randrange(2)] = chance.choice((0, 1, 2, 3))

    def name(self, used):
        while True:
            name = self.chance.choice(NAMES) if self.chance.random() < 0.6 else (
                b"n%d" % self.chance.randrange(10**6))
            if name not in used:
                used.add(name)
                return name

    def kind(self, depth):
        kinds = ["file"] * 10 + ["folder"] * (5 if depth < 6 else 1) + ["link"] * 2
        return self.chance.choice(kinds + ["fifo", "socket"] + (["device"] if ROOT else []))

    def fill(self, paths, depth):
        """Makes the entries of a folder that is on both sides, or on one."""
        used = set(os.listdir(paths[0])) | set(os.listdir(paths[-1]))
        for _ in range(self.chance.randrange(1, 9 if len(paths) == 2 else 4)):
            if self.left <= 0:
                return
            name = self.name(used)
            here = [os.path.join(path, name) for path in paths]
            fate = self.chance.random()
            if len(paths) == 2 and fate < 0.1:  # Missing, or extra.
                self.make(self.kind(depth), here[:1] if fate < 0.05 else here[1:], depth)
            elif len(paths) == 2 and fate < 0.16:  # Kinds that clash.
                kinds = self.chance.sample(("file", "folder", "link", "fifo"), 2)
                for kind, path in zip(kinds, here):
                    self.make(kind, [path], depth)
            else:
                self.make(self.kind(depth), here, depth)
        if depth == 0 and self.chance.random() < 0.3:
            self.chain(paths, used)

    def chain(self, paths, used):
        there = set(used)
        name = self.name(used)[:20]
        while name in there:  # The beginning of another's.
            name = self.name(used)[:20]
        for _ in range(self.chance.randrange(10, 40)):
            paths = [os.path.join(path, name) for path in paths]
            self.make("folder", paths, 99)
        self.make("file", [os.path.join(path, b"end") for path in paths], 99)

    def make(self, kind, paths, depth):
        self.left -= 1
        getattr(self, f"make_{kind}")(paths)
        self.attributes(paths)
        if kind == "folder" and depth < 8:
            self.fill(paths, depth + 1)

    def make_folder(self, paths):
        for path in paths:
            os.mkdir(path)

    def make_file(self, paths):
        content = self.chance.randbytes(self.chance.choice((0, 1, 7, 100, 4096, 5000)))
        for path in paths:
            files = self.files[next(side for side in self.sides if path.startswith(side + b"/"))]
            if files and self.hard_links and self.chance.random() < 0.08:
                os.link(self.chance.choice(files), path)
            else:
                put(path, content)
            files.append(path)
            if self.chance.random() < 0.2:
                # Another size, or the same and other bytes: only those who read it will notice.
                content = (content + b"more" if self.chance.random() < 0.5
                           else bytes(byte ^ 1 for byte in content))

    def make_link(self, paths):
        target = self.chance.choice((b"nowhere", b"a", b"..", b"/etc/passwd", b"t" * 200, b"\xff",
                                     b"new\nline"))
        for path in paths:
            os.symlink(target, path)
            if self.chance.random() < 0.2:
                target += b"2"

    def make_fifo(self, paths):
        for path in paths:
            os.mkfifo(path)

    def make_socket(self, paths):
        for path in paths:
            make_socket(path)

    def make_device(self, paths):
        kind = self.chance.choice((stat.S_IFCHR, stat.S_IFBLK))
        minor = self.chance.randrange(9)
        for path in paths:
            os.mknod(path, kind | 0o600, os.makedev(240, minor))
            if self.chance.random() < 0.3:
                minor += 1


def walk(top):
    """Every path below `top` and its lstat, the folder itself first, as "". Sorted by path."""
    found = {b"": os.lstat(top)}
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        for name in os.listdir(os.path.join(top, folder)):
            path = os.path.join(folder, name)
            found[path] = os.lstat(os.path.join(top, path))
            if stat.S_ISDIR(found[path].st_mode):
                waiting.append(path)
    return dict(sorted(found.items()))


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


def snapshot(top, times=True):
    """All that a copy should keep of a tree, to be compared with `==`."""
    groups = {}
    found = {}
    for path, info in walk(top).items():
        full = os.path.join(top, path)
        facts = [stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid,
                 info.st_rdev, info.st_mtime_ns if times else None]
        if stat.S_ISREG(info.st_mode):
            facts.append(hashlib.sha256(content_of(full)).hexdigest())
            if info.st_nlink > 1:
                facts.append(groups.setdefault(info.st_ino, path))
        if stat.S_ISLNK(info.st_mode):
            facts.append(os.readlink(full))
        else:
            facts.append(attributes_of(full))
        found[path] = tuple(facts)
    return found


def attributes_of(path):
    """The extended ones, ACLs among them."""
    with contextlib.suppress(OSError):
        return tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)))
    return ()


def plain(top, folders=4, files=5, depth=2, size=100):
    """A regular tree with fixed times: folders^depth of them, each with files. Its names."""
    made = [b""]
    level = [b""]
    for _ in range(depth):
        level = [os.path.join(path, b"d%d" % i) for path in level for i in range(folders)]
        made += level
    for path in made:
        os.makedirs(os.path.join(top, path), exist_ok=True)
        for i in range(files):
            put(os.path.join(top, path, b"f%d" % i), (b"%d " % i + path) * (size // 10))
    names = list(walk(top))
    for path in names:
        set_time(os.path.join(top, path), YEAR_2020_NS + len(path) * 10**9)
    return names
