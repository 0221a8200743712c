# SPDX-License-Identifier: MIT
"""Runs jobs."""
import contextlib
import itertools
import logging
import math
import os
import signal
import socket
import threading
import time
import traceback
from queue import Empty, SimpleQueue

from sluice.client import new_key, pause_of
from sluice.errors import Error, LeaseLost, Unknown
from sluice.values import encode, seconds_of

ITEMS_MAX = 1_000
ERROR_CHARS_MAX = 4_096
log = logging.getLogger("sluice")


class Done:
    """What a handler returns to enqueue `children` with its ack: see Client.ack()."""

    def __init__(self, result=None, children=()):
        self.result, self.children = result, children


class Retry(Exception):
    """Raised by a handler: the attempt has failed, and the next comes after `delay`, or when the
    policy of the job says."""

    def __init__(self, delay=None, reason="the handler asked for another attempt"):
        super().__init__(reason)
        self.delay = delay


class Dead(Exception):
    """Raised by a handler: no further attempt, for this reason."""


class Release(Exception):
    """Raised by a handler: the job goes back, after `delay`, and the attempt does not count."""

    def __init__(self, delay=None):
        super().__init__(delay)
        self.delay = delay


class Worker:
    """Runs `handler(job)` for the jobs of some queues, in as many threads as it has `slots`.

    What the handler returns is the result of the job: a text, or anything that JSON has. What it
    raises fails the attempt, unless it is Retry, Dead or Release. Leases are extended while it
    runs; if one is lost all the same, because the service could not be reached in time or somebody
    took the job away, `job.lost` is set, and whatever the handler then returns counts for nothing.
    A service that is away is waited for.
    """

    def __init__(self, client, queues, handler, slots=1, lease=60.0, wait=30.0, name=None,
                 skip_groups=()):
        self.client, self.handler, self.slots = client, handler, slots
        self.lease, self.wait = seconds_of(lease), seconds_of(wait)
        self.claims = {"queues": queues, "lease": lease, "skip_groups": skip_groups,
                       "worker": name or f"{socket.gethostname()}:{os.getpid()}"}
        self.words = SimpleQueue()  # What run() waits for.

    def stop(self):
        """Once: takes no more jobs, and ends when those that run have ended. Twice: gives back what
        runs and ends at once; the handlers see it by `job.lost`."""
        self.words.put("stop")

    def run(self, drain=False):
        """Works until stop(), or SIGTERM or SIGINT if this is the main thread; with `drain` also
        until nothing is ready and nothing runs. Raises the Error of a claim that is refused."""
        run, stops, ended = Run(self, drain), 0, False
        try:
            with signals_to(self.stop):
                run.start()
                while stops < 2 and not ended:
                    word = self.words.get()
                    ended = word is run
                    if word == "stop":  # Else it may be an earlier run that has only ended now.
                        stops += 1
                        run.stop()
        finally:
            run.end(ended)
        with contextlib.suppress(Empty):
            while True:
                self.words.get_nowait()
        if run.error:
            raise run.error


@contextlib.contextmanager
def signals_to(stop):
    """Calls it for each SIGTERM and SIGINT, if this is the main thread; no other can ask for them.

    Not in a handler: one runs only between two steps of the main thread, and if the signal comes
    just before that goes to sleep, not before it wakes up. Their numbers come at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    near, far = socket.socketpair()
    far.setblocking(False)

    def listen():
        while number := near.recv(1):
            if number[0] in numbers:
                stop()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    awake = signal.set_wakeup_fd(far.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        signal.set_wakeup_fd(awake)
        far.close()
        thread.join()
        near.close()


class Run:
    """One run of a worker: a thread that claims, one that extends, and one for each slot.

    `changed` guards what follows it, and is notified of every change.
    """

    def __init__(self, worker, drain):
        self.worker, self.drain, self.client = worker, drain, worker.client
        self.poll = worker.client.clone()  # Closed to end a claim that waits.
        self.todo = SimpleQueue()
        self.error = None
        self.changed = threading.Condition()
        self.running, self.finished = {}, 0
        self.stopping = self.over = False
        bodies = [self.claim_all, self.extend_all] + [self.work_all] * worker.slots
        # Daemons: a handler that does not end must not keep the process from ending.
        self.threads = [threading.Thread(target=body, daemon=True) for body in bodies]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        with self.changed:
            first, self.stopping = not self.stopping, True
            self.changed.notify_all()
            if first:
                log.info("stopping: %d jobs run", len(self.running))
        self.poll.close()

    def end(self, ended):
        """What still runs is given back; threads of slots end when their handlers do."""
        self.stop()
        with self.changed:
            jobs = list(self.running.values())
            self.running.clear()
            self.over = True
            self.changed.notify_all()
        for job in jobs:
            job.lost.set()
            self.put_back(job)
        for _ in range(self.worker.slots):
            self.todo.put(None)
        # The one that claims may have something to give back, too.
        for thread in self.threads if ended else self.threads[:1]:
            thread.join()

    def put_back(self, job):
        try:
            self.client.release(job)
        except LeaseLost:
            pass
        except Error as error:
            log.warning("%s/%s comes back when its lease ends: %s", job.queue, job.id, error)

    def pause(self, seconds, until=lambda: False):
        """Waits so long, or until something is the case."""
        with self.changed:
            self.changed.wait_for(lambda: self.over or until(), seconds)

    def claim_all(self):
        try:
            while self.claim_some():
                pass
        except Exception as error:
            self.error = error
        self.pause(None, lambda: not self.running)
        self.worker.words.put(self)

    def claim_some(self):
        """Whether to go on."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopping or len(self.running) < self.worker.slots)
            if self.stopping:
                return False
            busy, finished = len(self.running), self.finished
        jobs = self.claim(min(self.worker.slots - busy, ITEMS_MAX))
        with self.changed:
            self.running.update((job.token, job) for job in jobs)
            self.changed.notify_all()
        for job in jobs:
            self.todo.put(job)
        if self.drain and not jobs:
            # What runs may enqueue more.
            self.pause(None, lambda: self.stopping or self.finished != finished or not busy)
        return bool(jobs or busy or not self.drain)

    def claim(self, number):
        key, wait = None, 0 if self.drain else self.worker.wait
        for tries in itertools.count():
            if self.stopping and key is None:
                return []
            client = self.client if self.stopping else self.poll
            try:
                jobs = client.claim(max=number, wait=wait, key=key, **self.worker.claims)
                break
            except Error as error:
                if error.is_final():
                    raise
                if client is self.client:
                    log.warning("what was claimed last is not given back: %s", error)
                    return []
                if isinstance(error, Unknown):
                    # Perhaps it has got jobs: these come with the same key, and without waiting.
                    key, wait = error.key, 0
                if not self.stopping:
                    log.warning("claim: %s", error)
                    self.pause(pause_of(tries), lambda: self.stopping)
        if not self.stopping:
            return jobs
        for job in jobs:
            self.put_back(job)
        return []

    def extend_all(self):
        third, again = self.worker.lease / 3, 0
        while True:
            with self.changed:
                jobs = [job for job in self.running.values() if not job.lost.is_set()]
                due = max(again, min((job.until for job in jobs), default=math.inf) - 2 * third)
                left = due - time.monotonic()
                if self.over:
                    return
                if left > 0:
                    self.changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
            again = time.monotonic() + (0 if self.extend(jobs) else min(third, 1))

    def extend(self, jobs):
        """Whether the service has answered."""
        since, lease = time.monotonic(), self.worker.lease
        try:
            for at in range(0, len(jobs), ITEMS_MAX):
                items = [job.held(lease=lease) for job in jobs[at:at + ITEMS_MAX]]
                answer = self.client.call("POST", "/v1/extend", {"items": items}, timeout=lease / 3)
                for job, one in zip(jobs[at:], answer["results"]):
                    if "error" in one:
                        job.lost.set()
                    else:
                        job.until, job.deadline_at = since + lease, one["deadline_at"]
            return True
        except Exception as error:
            log.warning("extend: %s", error)
            for job in jobs:
                if job.until < time.monotonic():
                    job.lost.set()
            return False

    def work_all(self):
        while job := self.todo.get():
            if self.has(job):
                self.settle(job, *self.outcome_of(job))
            with self.changed:
                self.running.pop(job.token, None)
                self.finished += 1
                self.changed.notify_all()

    def has(self, job):
        with self.changed:
            return job.token in self.running

    def outcome_of(self, job):
        """A verb of the client and what it takes besides the job."""
        try:
            value = self.worker.handler(job)
            done = value if isinstance(value, Done) else Done(value)
            result = done.result
            if result is not None and not isinstance(result, str):
                result = encode(result).decode()
            return "ack", {"result": result, "children": list(done.children)}
        except Release as error:
            return "release", {"delay": error.delay}
        except Retry as error:
            return "fail", {"error": str(error), "delay": error.delay}
        except Dead as error:
            return "fail", {"error": str(error), "dead": True}
        except BaseException as error:
            log.warning("%s/%s has failed", job.queue, job.id, exc_info=True)
            text = "".join(traceback.format_exception_only(error)).strip()[:ERROR_CHARS_MAX]
            return "fail", {"error": text.encode(errors="backslashreplace").decode()}

    def settle(self, job, verb, members):
        """Says what became of the job, until it is heard or the lease is over."""
        key, refused = new_key(), False
        for tries in itertools.count():
            if not self.has(job):
                return
            try:
                getattr(self.client, verb)(job, key=key, **members)
                return
            except Exception as error:
                log.warning("%s of %s/%s: %s", verb, job.queue, job.id, error)
                if isinstance(error, LeaseLost):
                    job.lost.set()
                    return
                if not isinstance(error, Error) or error.is_final():
                    # Its result is too long, a child was refused, or a delay makes no sense.
                    if refused:
                        return
                    refused, verb, members, key = True, "fail", {"error": str(error)}, new_key()
                elif job.until < time.monotonic():
                    return
            self.pause(pause_of(tries))
