#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stand-ins for the platforms that affiliates post on, and reports about posts there.

  platforms.py reports N > FILE           N reports, one JSON object a line, always the same
  platforms.py serve [--port N]           answers until Ctrl-C; prints its address
  platforms.py serve [--port N] COMMAND   answers while COMMAND runs; where that has the word
                                          URL, the address is put

  GET /PLATFORM/posts/POST   the true figures; 404 if the post is not there (yet)
  PUT /PLATFORM/mode         how the platform answers from now on. The body is one of
                             ok, slow [SECONDS], 429 [SECONDS], 500, missing
"""
import argparse
import hashlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

PLATFORMS = ("vidtube", "chirper", "pictogram", "clipclap")
MODES = ("ok", "slow", "429", "500", "missing")
LATE_LOOKS = 2  # So often a late post is looked for in vain.


def dice(*names):
    """Numbers that depend on nothing but the names."""
    return hashlib.sha256("/".join(names).encode()).digest()


def fate(platform, post):
    """there, late (not at the first looks) or gone (never)."""
    number = dice("fate", platform, post)[0]
    return "gone" if number < 8 else "late" if number < 24 else "there"


def truth(platform, post):
    """What the platform knows about a post that is there."""
    number = dice("truth", platform, post)
    views = 1000 + int.from_bytes(number[:2], "big")
    clicks = views * number[2] // 2560
    return {"views": views, "clicks": clicks, "conversions": clicks * number[3] // 2560}


def report(index):
    """One in eight affiliates exaggerates; one in four of these without shame."""
    platform, post = PLATFORMS[index % len(PLATFORMS)], f"p{index}"
    claimed = truth(platform, post)
    number = dice("claim", str(index))
    if number[0] < 32:
        claimed["clicks"] = claimed["views"] // 2 if number[0] < 8 else claimed["clicks"] + 10
        claimed["conversions"] += number[1] % 5
        claimed["views"] += number[2] % 3
    return {"id": f"r{index}", "affiliate": f"a{index % 97}", "platform": platform, "post": post,
            **claimed}


class Call(NamedTuple):
    platform: str
    post: str
    status: int
    came: float  # By time.monotonic().
    answered: float


class Server(ThreadingHTTPServer):
    """Every platform at once. `asked` holds all posts in the order of the questions."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.modes = {}
        self.looks = Counter()
        self.asked = []
        self.calls = []  # Those that were answered.

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Says nothing if whoever asked is gone: killed, or tired of waiting."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def set_mode(self, platform, text):
        """False if there is no such mode."""
        mode, _, seconds = text.strip().partition(" ")
        if mode not in MODES or not (seconds or "1").isdigit():
            return False
        with self.lock:
            self.modes[platform] = (mode, int(seconds) if seconds else None)
        return True

    def answer(self, platform, post):
        """Status, headers, body."""
        with self.lock:
            mode, seconds = self.modes.get(platform, ("ok", None))
        if mode == "slow":
            time.sleep(10 if seconds is None else seconds)
        if mode == "429":
            return 429, {"Retry-After": str(2 if seconds is None else seconds)}, {"error": "later"}
        if mode == "500":
            return 500, {}, {"error": "out of order"}
        with self.lock:
            self.looks[platform, post] += 1
            hidden = fate(platform, post) == "gone" or (
                fate(platform, post) == "late" and self.looks[platform, post] <= LATE_LOOKS)
        if mode == "missing" or hidden:
            return 404, {}, {"error": "no such post"}
        return 200, {}, truth(platform, post)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        came = time.monotonic()
        parts = self.path.split("/")
        if len(parts) != 4 or parts[1] not in PLATFORMS or parts[2] != "posts":
            return self.send(404, {}, {"error": "ask for /PLATFORM/posts/POST"})
        with self.server.lock:
            self.server.asked.append(parts[3])
        status, headers, body = self.server.answer(*parts[1::2])
        with self.server.lock:
            self.server.calls.append(Call(*parts[1::2], status, came, time.monotonic()))
        return self.send(status, headers, body)

    def do_PUT(self):
        mode = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode(errors="replace")
        parts = self.path.split("/")
        if len(parts) != 3 or parts[1] not in PLATFORMS or parts[2] != "mode":
            self.send(404, {}, {"error": "PUT /PLATFORM/mode with one of " + ", ".join(PLATFORMS)})
        elif self.server.set_mode(parts[1], mode):
            self.send(200, {}, {"mode": mode.strip()})
        else:
            self.send(400, {}, {"error": "the mode is one of " + ", ".join(MODES)})

    def send(self, status, headers, body):
        body = json.dumps(body).encode() + b"\n"
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """The command that runs meanwhile has the screen to itself."""


def serve(port, command):
    with Server(port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"platforms: {', '.join(PLATFORMS)} at {server.address}\n"
              f"platforms: curl -X PUT -d 500 {server.address}/vidtube/mode   breaks one; "
              "-d ok heals it", file=sys.stderr, flush=True)
        # Ctrl-C is meant for the command too, which may need answers a little longer.
        signal.signal(signal.SIGINT, lambda *_: None)
        if not command:
            signal.pause()
            return 0
        words = [server.address if word == "URL" else word for word in command]
        child = subprocess.Popen(words)
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        code = child.wait()
        return code if code >= 0 else 128 - code


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("reports").add_argument("count", type=int)
    server = commands.add_parser("serve")
    server.add_argument("--port", type=int, default=0)
    server.add_argument("run", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.command == "serve":
        return serve(options.port, options.run)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for index in range(options.count):
        print(json.dumps(report(index)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
