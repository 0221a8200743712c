"""What the tests of the Python client share: the client, and a proxy that loses what it is told to.
"""
import collections
import contextlib
import http.client
import json
import logging
import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from harness import PATIENCE, wait_until
from v1 import V1Test

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clients/python")
sys.path.insert(0, FOLDER)
import sluice  # noqa: E402

# What fails here is meant to.
logging.getLogger("sluice").addHandler(logging.NullHandler())

# The request never reaches the service; it does, and its answer is never seen.
LOSE_REQUEST, LOSE_ANSWER = "lose request", "lose answer"


class Asked(NamedTuple):
    method: str
    path: str
    key: str | None
    token: str | None
    body: dict | None


def answer(status, body=b"", *headers):
    """As it is sent: JSON, or bytes that are none."""
    kind = b"text/plain" if isinstance(body, bytes) else b"application/json"
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"\r\n".join((b"HTTP/1.1 %d Told" % status, b"Content-Type: " + kind,
                         b"Content-Length: %d" % len(body), *headers, b"", body))


def refusal(status, code, *headers):
    return answer(status, {"error": {"code": code, "message": "m", "advice": "a"}}, *headers)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.proxy.connections += 1

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def serve(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        proxy.asked.append(Asked(self.command, self.path, self.headers["idempotency-key"],
                                 self.headers["authorization"], json.loads(body) if body else None))
        step = proxy.plan.popleft() if proxy.plan else None
        if callable(step):
            step = step()
        if isinstance(step, bytes):
            self.wfile.write(step)
            return
        reply = b"" if step == LOSE_REQUEST else self.pass_on(body)
        if step in (LOSE_REQUEST, LOSE_ANSWER):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(reply)

    def pass_on(self, body):
        port = self.server.proxy.service.port
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as upstream:
            upstream.request(self.command, self.path, body or None, headers)
            response = upstream.getresponse()
            text = response.read()
        kept = [f"{name}: {response.headers[name]}".encode()
                for name in ("content-type", "retry-after") if name in response.headers]
        return b"\r\n".join((b"HTTP/1.1 %d Told" % response.status, *kept,
                             b"Content-Length: %d" % len(text), b"", text))

    def log_message(self, *_):
        pass

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve


class Proxy:
    """Stands before a service. For each call it takes a step from the plan: LOSE_REQUEST,
    LOSE_ANSWER, an answer of its own, or a function that chooses one of these. After the plan, and
    where it says None, calls are just passed on."""

    def __init__(self, case):
        self.service = case.service
        self.plan, self.asked, self.connections = collections.deque(), [], 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.proxy = self
        self.server.daemon_threads = True
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        case.addCleanup(thread.join)
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def expect(self, *steps):
        self.plan.extend(steps)
        self.asked.clear()


class PythonTest(V1Test):
    """Tests with a client of their own, `self.sluice`; `self.client` is that of the harness."""

    def setUp(self):
        super().setUp()
        self.sluice = self.connect()

    def connect(self, url=None, **options):
        """Backs off quickly: these tests lose many answers."""
        url = url or f"http://127.0.0.1:{self.service.port}"
        client = sluice.Client(url, **{"backoff": 0.01, "timeout": PATIENCE, **options})
        self.addCleanup(client.close)
        return client

    def behind_proxy(self, **options):
        proxy = Proxy(self)
        return proxy, self.connect(proxy.url, **options)


class WorkerTest(PythonTest):
    def work(self, handler, **options):
        """Runs until nothing is left."""
        self.worker(handler, **options).run(drain=True)

    def worker(self, handler, **options):
        return sluice.Worker(self.sluice, self.queue, handler, **options)

    def start(self, worker):
        """In a thread, until the test has ended."""
        run = Thread(worker.run)
        self.addCleanup(run.join)
        self.addCleanup(worker.stop)
        return run

    def told(self, id):
        job = self.sluice.job(self.queue, id)
        return {name: job[name] for name in ("lane", "attempts", "error", "result", "reason")
                if name in job}

    def check_that_nothing_is_kept(self):
        """The service may give a job to a claim that has just left, and takes it back at once."""
        wait_until(lambda: "leased" not in self.client.counts(self.queue), "no job to be leased")
        self.assertEqual({job["lapses"] for job in self.sluice.jobs(self.queue)} | {0}, {0})

    def keep(self, **settings):
        self.client.configure(self.queue, done_retention_ms=3_600_000, **settings)


class Thread(threading.Thread):
    """Runs at once; join() raises what its body did, or if it does not end."""

    def __init__(self, body):
        super().__init__(daemon=True)
        self.body, self.error = body, None
        self.start()

    def run(self):
        try:
            self.body()
        except BaseException as error:
            self.error = error

    def join(self, timeout=PATIENCE):
        super().join(timeout)
        if self.is_alive():
            raise AssertionError("it does not end")
        error, self.error = self.error, None
        if error:
            raise error
