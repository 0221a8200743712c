"""The Debian package, as the tests build and unpack it."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for folder in ("sluiced", "support"):
    sys.path.append(os.path.join(ROOT, "tests", folder))

from harness import PATIENCE, SLUICED

BIN = os.path.dirname(os.path.abspath(SLUICED))
PROGRAMS = ("queuectl", "retracker", "sluice-migrate", "sluiced")
SOME_DATE = 1700000000


def output(*command, **options):
    """What a command that must succeed prints."""
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout.decode()}"
                             f"{done.stderr.decode()}")
    return done.stdout.decode()


def commit_date():
    """Nothing if this is no clone, or one that git does not trust."""
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True,
                          check=False)
    return int(done.stdout) if done.returncode == 0 else None


def build(folder, **env):
    """Its path. Not compressed: that takes the most of the time and is dpkg-deb's own business."""
    if commit_date() is None:
        env.setdefault("SOURCE_DATE_EPOCH", str(SOME_DATE))
    return output(os.path.join(ROOT, "packaging/build.sh"), BIN, folder,
                  env={**os.environ, "DPKG_DEB_COMPRESSOR_TYPE": "none", **env}).strip()


class Package:
    """Built and unpacked once for all tests of a program."""

    made = None

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-package-")
        self.deb = build(self.folder.name)
        self.root = os.path.join(self.folder.name, "root")
        output("dpkg-deb", "--raw-extract", self.deb, self.root)

    @classmethod
    def get(cls):
        cls.made = cls.made or cls()
        return cls.made

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()
