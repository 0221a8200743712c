# SPDX-License-Identifier: MIT
"""BitTorrent clients as Debian has them, each with one torrent.

They run on the loopback address alone and know no peer but by their tracker: torrents are private,
and whatever else a client could find peers by is off.
"""
import base64
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from harness import PATIENCE, free_port
from tracker import encode, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # Debian's own, which its libtorrent belongs to.
PIECE_BYTES = 1 << 15


def missing():
    """The packages of Debian that are not there."""
    packages = [package for package, program in [
        ("aria2", "aria2c"), ("opentracker", "opentracker"),
        ("transmission-daemon", "transmission-daemon")] if not shutil.which(program)]
    found = subprocess.run([PYTHON, "-c", "import libtorrent"], capture_output=True, check=False)
    return packages + (["python3-libtorrent"] if found.returncode else [])


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Content:
    """A file that is to be shared, and torrents of it."""

    def __init__(self, case, name):
        self.case = case
        self.home = case.path(name)
        self.data = random.randbytes(300_000)
        self.torrents = 0
        with open(os.path.join(self.folder("origin"), "content"), "wb") as file:
            file.write(self.data)
        pieces = [self.data[start:start + PIECE_BYTES]
                  for start in range(0, len(self.data), PIECE_BYTES)]
        self.info = {b"length": len(self.data), b"name": b"content", b"piece length": PIECE_BYTES,
                     b"pieces": b"".join(hashlib.sha1(piece).digest() for piece in pieces),
                     b"private": 1}
        self.info_hash = hashlib.sha1(encode(self.info)).digest()

    def folder(self, name):
        path = os.path.join(self.home, name)
        os.makedirs(path, exist_ok=True)
        return path

    def torrent(self, tracker):
        """A torrent file that names this tracker. The hash is always the same."""
        self.torrents += 1
        path = os.path.join(self.home, f"{self.torrents}.torrent")
        with open(path, "wb") as file:
            file.write(encode({b"announce": tracker.encode(), b"info": self.info}))
        return path


class Program:
    """A child that is killed when the test ends, if it has not ended by then."""

    def __init__(self, case, name, command, stdin=subprocess.DEVNULL):
        self.name = name
        self.log = case.path(name + ".log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=case.env, cwd=case.home, stdin=stdin,
                                            stdout=log, stderr=subprocess.STDOUT)
        case.addCleanup(self.kill)

    def kill(self):
        if self.running():
            self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()

    def running(self):
        return self.process.poll() is None

    def said(self):
        return read(self.log).decode(errors="replace")

    def wait_until(self, condition, what):
        try:
            wait_until(condition, f"{self.name} {what}")
        except AssertionError as error:
            raise AssertionError(f"{error}. It said:\n{self.said()}") from None

    def wait_while_running(self, condition, what):
        self.wait_until(lambda: condition() or not self.running(), what)
        if not condition():
            raise AssertionError(f"{self.name} ended. It said:\n{self.said()}")

    def wait_for_end(self):
        self.wait_until(lambda: not self.running(), "to end")
        if self.process.returncode:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}. It said:\n"
                                 + self.said())


class Client(Program):
    """Seeds the content as it is, or downloads it into a folder of its own."""

    kind = ""
    stdin = subprocess.DEVNULL
    count = 0

    def __init__(self, content, tracker, seeds=False):
        Client.count += 1
        self.content = content
        self.seeds = seeds
        self.home = content.folder(f"{self.kind}-{Client.count}")
        self.folder = content.folder("origin") if seeds else self.home
        self.torrent = content.torrent(tracker)
        super().__init__(content.case, os.path.basename(self.home), self.command(), self.stdin)

    def downloaded(self):
        """What it has got, when it has got everything."""
        self.wait_for_all()
        return read(os.path.join(self.folder, "content"))


class Aria(Client):
    """aria2. A downloader ends when it has got everything."""

    kind = "aria2"

    def command(self):
        port = free_port(self.content.case)
        # aria2 asks UDP trackers only by the socket of its DHT, which knows nobody to begin with.
        return ["aria2c", "--no-conf", "--interface=127.0.0.1", "--disable-ipv6=true",
                f"--listen-port={port}", "--enable-dht=true", f"--dht-listen-port={port}",
                f"--dht-file-path={os.path.join(self.home, 'dht')}", "--enable-dht6=false",
                "--bt-enable-lpd=false", "--enable-peer-exchange=false", "--file-allocation=none",
                "--check-integrity=true", "--seed-ratio=0.0", "--summary-interval=0",
                f"--seed-time={1000 if self.seeds else 0}", f"--stop-with-process={os.getpid()}",
                f"--dir={self.folder}", self.torrent]

    def wait_for_all(self):
        self.wait_for_end()

    def leave(self):
        if self.running():
            self.process.send_signal(signal.SIGINT)


class Libtorrent(Client):
    """libtorrent, by its Python binding."""

    kind = "libtorrent"
    stdin = subprocess.PIPE

    def command(self):
        return [PYTHON, os.path.join(HERE, "libtorrent_client.py"), self.torrent, self.folder,
                *(["seed"] if self.seeds else [])]

    def events(self):
        """Of its announces so far."""
        return [line.split()[1] for line in self.said().splitlines()
                if line.startswith("announce ")]

    def wait_for_all(self):
        self.wait_while_running(lambda: "finished" in self.said().splitlines(), "to finish")

    def leave(self):
        self.process.stdin.close()


class Transmission(Client):
    """Transmission's daemon. It dials no peer on 127.x, so it can only seed."""

    kind = "transmission"

    def __init__(self, content, tracker, seeds=True):
        self.port = free_port(content.case)
        self.session = ""
        super().__init__(content, tracker, seeds)
        self.wait_while_running(self.answers, "to answer")
        self.ask("torrent-add", metainfo=base64.b64encode(read(self.torrent)).decode())

    def command(self):
        return ["transmission-daemon", "--foreground", "--config-dir", self.home, "--no-dht",
                "--no-lpd", "--no-utp", "--no-portmap", "--no-auth", "--bind-address-ipv4",
                "127.0.0.1", "--rpc-bind-address", "127.0.0.1", "--port", str(self.port),
                "--peerport", str(free_port(self.content.case)), "--download-dir", self.folder]

    def kill(self):
        super().kill()
        # It takes no folder but this one for it, and removes it only if it ends in peace.
        left = f"/tmp/tr_session_id_{self.session}"
        if self.session and os.path.exists(left):
            os.remove(left)

    def answers(self):
        try:
            return self.ask("session-get")["result"] == "success"
        except OSError:
            return False

    def ask(self, method, **arguments):
        body = json.dumps({"method": method, "arguments": arguments}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/transmission/rpc", body,
                                         {"X-Transmission-Session-Id": self.session})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 409:  # It says which session it wants to hear.
                    raise
                self.session = error.headers["X-Transmission-Session-Id"]
        return self.ask(method, **arguments)

    def leave(self):
        """It ends without a word to HTTP trackers, so it stops the torrent and stays."""
        self.ask("torrent-stop")
