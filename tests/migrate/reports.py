"""Reads what sluice-migrate and rsync print, so that both can be compared."""
import json
import os
import re
import subprocess
import urllib.parse

ESCAPED = re.compile(rb"\\#([0-3][0-7][0-7])")


def unescape(text):
    """A name as rsync prints it (`\\#012`) in its own bytes."""
    return ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), text)


def itemized(output):
    """The lines of an itemised report: (11 columns, path, target of a link or None)."""
    found = []
    for line in output.split(b"\n")[:-1]:
        code, blank, rest = line[:11].decode(), line[11:12], line[12:]
        if blank != b" " or not rest:
            raise AssertionError(f"no itemised line: {line!r}")
        path, arrow, target = (rest.partition(b" -> ") if code[1:2] == "L" else (rest, b"", b""))
        found.append((code, unescape(path), unescape(target) if arrow else None))
    if not output.endswith(b"\n") and output:
        raise AssertionError(f"the last line has no end: {output[-200:]!r}")
    return found


def rsync_plan(src, dst, *options):
    """What rsync would do, in its own order."""
    done = subprocess.run(
        ["rsync", "-rlptgoDn", "-i", "--delete", "--modify-window=-1", *options,
         src + b"/", dst + b"/"],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, capture_output=True, check=True)
    return itemized(done.stdout)


def rsync_difference(src, dst, *options):
    """The lines of `rsync -ac` on what should be two equal trees; b"" if they are."""
    return subprocess.run(["rsync", "-aHnic", "--delete", "--modify-window=-1", *options,
                           src + b"/", dst + b"/"], env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                          capture_output=True, check=True).stdout


def as_ours(plan, clashes):
    """The fixed mapping from rsync's plan to our report.

    1. rsync lists all that is below an extra folder, we list the folder: what is below goes.
    2. Where kinds clash, rsync says nothing of what is in the way but, of a folder, its contents:
       these go, and `*deleting PATH` of the thing itself comes before its line. `clashes` has these
       paths, as they are shown on the destination.
    3. rsync deletes first and makes folders before files; we sort by path as bytes, so that a-b
       comes between a and a/b; the slash at the end of a folder does not count.
    """
    deleted = {path for code, path, _ in plan if code.startswith("*")}
    in_the_way = {path for path in clashes if path.endswith(b"/")}

    def below(path, folders):
        parts = path.rstrip(b"/").split(b"/")
        return any(b"/".join(parts[:i]) + b"/" in folders for i in range(1, len(parts)))

    kept = [one for one in plan
            if not (one[0].startswith("*") and below(one[1], deleted | in_the_way))]
    kept += [("*deleting  ", path, None) for path in clashes]
    return sorted(kept, key=order)


def order(line):
    """Sorts the lines of a report: what is deleted before what takes its place."""
    code, path, _ = line
    path = path.rstrip(b"/")
    return (b"" if path == b"." else path), not code.startswith("*")


def json_lines(output):
    return [json.loads(line) for line in output.decode().splitlines()]


def path_of(one):
    """The path of an object of the JSON report, in bytes."""
    if "path_bytes" in one:
        return urllib.parse.unquote_to_bytes(one["path_bytes"])
    return b"" if one["path"] == "." else one["path"].encode()
