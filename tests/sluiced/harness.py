"""What the tests of the real sluiced share: a service of their own, connections to it, waiting.

Every test works on the program as its users do: HTTP, signals, exit codes. What it starts does not
outlive it. The log of the service is shown with a test that fails.
"""
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import NamedTuple
from urllib.parse import quote

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from ports import free_port  # noqa: E402
from waiting import (LONG, PATIENCE, Stopwatch, chance, processor_seconds,  # noqa: E402, F401
                     wait_past, wait_until)

SLUICED = os.environ["SLUICED"]
JSON = {"content-type": "application/json"}
# What a call raises when the service goes away in the middle of it.
CUT = (OSError, http.client.HTTPException)
ABSENT = object()


def in_threads(number, body):
    """Runs body(0) .. body(number - 1) at once; what they return, or the first thing they raise."""
    answers, raised = [None] * number, []

    def run(index):
        try:
            answers[index] = body(index)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Those who waited for somebody that failed are not to blame.
    raised.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
    if raised:
        raise raised[0]
    return answers


def in_step(number, body):
    """The same for body(index, step), where step() returns when all of them have called it."""
    barrier = threading.Barrier(number)

    def run(index):
        try:
            return body(index, lambda: barrier.wait(PATIENCE))
        except BaseException:
            barrier.abort()
            raise

    return in_threads(number, run)


def raw_json(body, text):
    """The JSON of `body`, with `text` as it is in the place of the string "@"."""
    return json.dumps(body).replace('"@"', text).encode()


class Service:
    """A sluiced and its folder; it can be stopped, killed, and started again on that folder."""

    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    greeting = rb"listening on http://127\.0\.0\.1:(\d+)\n"

    def __init__(self, *options):
        self.home = tempfile.mkdtemp(prefix="sluiced-", dir=self.place)
        self.data = os.path.join(self.home, "data")
        os.mkdir(self.data)
        self.log = os.path.join(self.home, "log")
        self.options = options
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8"}
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.process = None
        self.port = 0
        self.up = threading.Event()
        self.last_words = ""

    def start(self, same_port=False):
        """Returns when it is listening."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command(same_port), env=self.env, cwd=self.home, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log)
        line = self.first_line()
        found = re.fullmatch(self.greeting, line)
        if not found:
            raise AssertionError(f"sluiced did not say where it listens: {line!r}\n{self.said()}")
        self.port = int(found[1] or 0)
        self.up.set()

    def command(self, same_port):
        listen = f"127.0.0.1:{self.port if same_port else 0}"
        return [SLUICED, "--listen", listen, "--data", self.data, *self.options]

    def connection(self):
        """It connects when it is used."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def shut(self):
        """Whether nobody listens at its port any more."""
        try:
            socket.create_connection(("127.0.0.1", self.port), PATIENCE).close()
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:  # It came while the door was being shut.
            return False
        return False

    def first_line(self):
        line = b""
        output = self.process.stdout.fileno()
        while not line.endswith(b"\n") and select.select([output], [], [], PATIENCE)[0]:
            more = os.read(output, 1000)
            if not more:
                break
            line += more
        return line

    def stop(self):
        """Asks it to end, and returns its exit code when it has."""
        self.up.clear()
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        self.up.clear()
        self.process.kill()
        self.wait()

    def wait(self):
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code

    def end(self):
        """Nothing of it is left but what it said."""
        if self.process and self.process.poll() is None:
            self.kill()
        self.last_words = self.said()
        shutil.rmtree(self.home, ignore_errors=True)

    def said(self):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                return "".join(file.readlines()[-200:])
        except FileNotFoundError:
            return self.last_words

    def cpu_seconds(self):
        """The time that its threads have spent on a processor so far."""
        return processor_seconds(self.process.pid)


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def media_type(self):
        return (self.headers["content-type"] or "").partition(";")[0].strip().lower()


class Client:
    """One keep-alive connection, made when it is needed, and again after it was cut or the service
    was started again.

    Like the client of the original service it always says that it sends JSON, body or not.
    """

    def __init__(self, service):
        self.service = service
        self.connection, self.process = None, None

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def call(self, method, path, body=None, headers=None):
        """Sends bytes as they are, anything else as JSON. Nothing is sent twice."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if self.process is not self.service.process:
            self.close()
        if self.connection is None:
            self.process = self.service.process
            self.connection = self.service.connection()
        try:
            try:
                self.connection.request(method, path, body, JSON if headers is None else headers)
            except (BrokenPipeError, ConnectionResetError):
                # It may have answered before it had read all of a body that it refuses; not if the
                # service was killed before there was a connection.
                if self.connection.sock is None:
                    raise
            response = self.connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        except BaseException:
            self.close()
            raise

    def json(self, method, path, body=None, **options):
        """The same for what must succeed; returns the answer as a value."""
        reply = self.call(method, path, body)
        if reply.status != 200 or reply.media_type() != "application/json":
            raise AssertionError(f"{method} {path}: {reply.status} {reply.media_type()} "
                                 f"{reply.body[:500]!r}")
        return json.loads(reply.body, **options)

    def get(self, path):
        return self.json("GET", path)

    def post(self, path, body=None):
        return self.json("POST", path, body)

    def delete(self, path, body):
        return self.json("DELETE", path, body)

    def push(self, team, name, data=None, priority=0, *, crawl=ABSENT, timeout=ABSENT):
        body = {"teamId": team, "job": {"id": name, "data": data, "priority": priority,
                                        "listenable": False}}
        body.update({key: value for key, value in (("crawlId", crawl), ("timeout", timeout))
                     if value is not ABSENT})
        answer = self.post("/queue/push", body)
        if answer != {"success": True}:
            raise AssertionError(f"push answered {answer}")

    def pop(self, team, blocked=(), worker="worker"):
        return self.post(f"/queue/pop/{quote(team, safe='')}",
                         {"workerId": worker, "blockedCrawlIds": list(blocked)})

    def pop_id(self, team, blocked=()):
        claim = self.pop(team, blocked)
        return claim and claim["job"]["id"]

    def complete(self, claim):
        return self.post("/queue/complete", {"queueKey": claim["queueKey"]})["success"]

    def release(self, name):
        return self.post("/queue/release", {"jobId": name})["success"]

    def count(self, team):
        return self.get(f"/queue/count/team/{quote(team, safe='')}")["count"]

    def crawl_count(self, crawl):
        return self.get(f"/queue/count/crawl/{quote(crawl, safe='')}")["count"]

    def ids(self, team, query=""):
        return self.get(f"/queue/jobs/team/{quote(team, safe='')}{query}")["jobIds"]

    def mark(self, team, name, timeout=60_000):
        return self.post("/active/push", {"teamId": team, "jobId": name, "timeout": timeout})

    def active(self, team):
        """How many markers the team has, and whose they are."""
        team = quote(team, safe="")
        return (self.get(f"/active/count/{team}")["count"],
                sorted(self.get(f"/active/jobs/{team}")["jobIds"]))

    def mark_crawl(self, crawl, name, timeout=60_000):
        return self.post("/active/crawl/push",
                         {"crawlId": crawl, "jobId": name, "timeout": timeout})

    def crawl_active(self, crawl):
        return sorted(self.get(f"/active/crawl/jobs/{quote(crawl, safe='')}")["jobIds"])

    def reconcile(self, team=None, crawl=None):
        """The corrections of every count that belongs to the team and to the crawl."""
        pairs = [(kind, quote(name, safe="")) for kind, name in (("team", team), ("crawl", crawl))
                 if name is not None]
        return [self.post(f"/reconcile/{kind}/{what}/{name}")["correction"]
                for kind, name in pairs for what in ("queue", "active")]


class SluicedTest(unittest.TestCase):
    """Tests that share a service; each has a team and a crawl that no other test uses."""

    options = ()
    service = None

    @classmethod
    def setUpClass(cls):
        cls.service = Service(*cls.options)
        cls.addClassCleanup(cls.service.end)
        cls.service.start()
        cls.addClassCleanup(cls.end_well)

    @classmethod
    def end_well(cls):
        code = cls.service.stop()
        if code != 0:
            raise AssertionError(f"sluiced ended with {code}\n{cls.service.said()}")

    def setUp(self):
        self.client = self.new_client()
        self.team = self.named("team")
        self.crawl = self.named("crawl")

    def new_client(self):
        client = Client(self.service)
        self.addCleanup(client.close)
        return client

    def named(self, what):
        return f"{what} of {self._testMethodName}"

    def run(self, result=None):
        result = result or self.defaultTestResult()
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if self.service and len(result.failures) + len(result.errors) > before:
            print(f"--- log of sluiced, {self.id()}\n{self.service.said()}---", file=sys.stderr)
        return result

    def push_many(self, team, names, threads=4, **options):
        """Pushes from several connections; the order of arrival is anybody's guess."""
        names = list(names)

        def push(index):
            client = self.new_client()
            for name in names[index::threads]:
                client.push(team, name, **options)

        in_threads(threads, push)

    def pop_all(self, team, blocked=()):
        """The ids in the order in which they come; none of them is completed."""
        return list(iter(lambda: self.client.pop_id(team, blocked), None))


class OwnServiceTest(SluicedTest):
    """Tests of which each has a service to itself, to stop, to kill or to fill."""

    # Whether the service is started again where it was, which nobody else may have got meanwhile.
    keeps_port = False

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.service = Service(*self.options)
        self.addCleanup(self.service.end)
        if self.keeps_port:
            self.service.port = free_port(self)
        self.service.start(same_port=self.keeps_port)
        super().setUp()


def main():
    unittest.main(verbosity=2)
