"""What sluice-migrate is to find out, computed in the plainest way: both trees in memory, one loop.

`lines()` is the itemised report. oracle_test checks it against rsync itself, so that the other
tests may use it where rsync has no such option.
"""
import fnmatch
import os
import stat

from trees import content_of, walk

KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo",
         stat.S_IFSOCK: "socket", stat.S_IFCHR: "char_device", stat.S_IFBLK: "block_device"}
LETTERS = {"file": "f", "folder": "d", "link": "L", "fifo": "S", "socket": "S", "char_device": "D",
           "block_device": "D"}


def kind_of(info):
    return KINDS[stat.S_IFMT(info.st_mode)]


class Rules:
    """The options of `compare`."""

    def __init__(self, checksum=False, window_ns=0, owner=True, mode=True, keep_newer=False,
                 exclude=()):
        self.checksum, self.window_ns, self.owner, self.mode = checksum, window_ns, owner, mode
        self.keep_newer = keep_newer
        self.exclude = exclude

    def excludes(self, path):
        return any(fnmatch.fnmatchcase(path if b"/" in glob else os.path.basename(path), glob)
                   for glob in self.exclude)


class Comparison:
    """Of two folders: `verdicts` has one for every path that the program looks at."""

    def __init__(self, src, dst, rules=None):
        self.src, self.dst, self.rules = src, dst, rules or Rules()
        self.a, self.b = self.kept(walk(src)), self.kept(walk(dst))
        self.verdicts = {}
        self.marks = {}
        for path in sorted(self.a.keys() | self.b.keys()):
            self.look_at(path)

    def kept(self, found):
        """What is not excluded, nor below what is; the excluded itself is marked by None."""
        kept = {}
        for path, info in found.items():
            above = os.path.dirname(path)
            if path and kept.get(above) is None:
                continue
            kept[path] = None if path and self.rules.excludes(path) else info
        return kept

    def look_at(self, path):
        a, b = self.a.get(path), self.b.get(path)
        above = os.path.dirname(path)
        if a is None and path in self.a or b is None and path in self.b:
            self.verdicts[path] = "excluded"
        elif a is None:
            # What is below an extra folder is not looked at, nor in one that is in the way.
            if self.verdicts.get(above) in ("same", "attributes"):
                self.verdicts[path] = "extra"
        elif b is None:
            self.verdicts[path] = "missing"
        elif kind_of(a) != kind_of(b):
            self.verdicts[path] = "clash"
        else:
            self.compare(path, a, b)

    def compare(self, path, a, b):
        rules, kind = self.rules, kind_of(a)
        time = abs(a.st_mtime_ns - b.st_mtime_ns) > rules.window_ns
        size = kind == "file" and a.st_size != b.st_size
        other = False
        if kind == "file" and rules.checksum:
            other = size or (content_of(os.path.join(self.src, path))
                             != content_of(os.path.join(self.dst, path)))
        elif kind == "link":
            other = (os.readlink(os.path.join(self.src, path))
                     != os.readlink(os.path.join(self.dst, path)))
        elif kind.endswith("device"):
            other = a.st_rdev != b.st_rdev
        content = size or other or (kind == "file" and time and not rules.checksum)
        modes = (rules.mode and kind != "link"
                 and stat.S_IMODE(a.st_mode) != stat.S_IMODE(b.st_mode))
        owner, group = rules.owner and a.st_uid != b.st_uid, rules.owner and a.st_gid != b.st_gid
        any_mark = time or modes or owner or group
        self.verdicts[path] = "content" if content else "attributes" if any_mark else "same"
        if content and kind == "file" and rules.keep_newer \
                and b.st_mtime_ns - a.st_mtime_ns > rules.window_ns:
            self.verdicts[path] = "newer"
            content = False  # It stays.
        first = "." if not content else ">" if kind == "file" else "c"
        self.marks[path] = (first + LETTERS[kind] + "c."[not other] + "s."[not size]
                            + "t."[not time] + "p."[not modes] + "o."[not owner]
                            + "g."[not group] + "...")

    def lines(self):
        """The itemised report: (code, path, target of a link)."""
        found = []
        for path, verdict in self.verdicts.items():
            a, b = self.a.get(path), self.b.get(path)
            if verdict in ("extra", "clash"):
                found.append(("*deleting  ", shown(path, b), None))
            if verdict in ("missing", "clash"):
                kind = kind_of(a)
                first = ">" if kind == "file" else "c"
                found.append((first + LETTERS[kind] + "+" * 9, shown(path, a),
                              self.target(path, a)))
            elif verdict in ("attributes", "content", "newer"):
                found.append((self.marks[path], shown(path, a), self.target(path, a)))
        return found

    def target(self, path, info):
        return os.readlink(os.path.join(self.src, path)) if stat.S_ISLNK(info.st_mode) else None

    def count(self):
        names = ("same", "attributes", "content", "missing", "extra", "clash", "newer", "excluded")
        found = list(self.verdicts.values())
        return {name: found.count(name) for name in names}


def shown(path, info):
    return (path or b".") + (b"/" if stat.S_ISDIR(info.st_mode) else b"")
