# SPDX-License-Identifier: MIT
"""The calls of the HTTP API."""
import itertools
import math
import random
import time
import urllib.parse
import uuid

from sluice.connections import Connections
from sluice.errors import Error, SomeFailed, TooMany, Unavailable, Unknown, error_of
from sluice.values import (EDITS, SETTINGS, Job, batches_of, checked, encode, new_child, new_job,
                           path_of, seconds_of, translated, with_payload)

PAUSE_MAX = 5.0


def new_key():
    return uuid.uuid4().hex


def pause_of(tries, base=0.1):
    """Grows with the tries; drawn, so that many who failed together do not come back together."""
    return min(PAUSE_MAX, base * 2 ** min(tries, 16)) * random.uniform(0.5, 1)


class Client:
    """The calls of one service, at http://..., https://... or unix:/path/to.sock.

    Every member may be called from any thread; connections are kept and shared, one for each call
    that is under way. `timeout` is how long one answer may take. What may be repeated is repeated
    `retries` times, after pauses that grow from `backoff`: see README.md. Every call that changes a
    job takes a `key`: whoever repeats it with that key, in another process too, does it once.
    """

    def __init__(self, url, token=None, timeout=30.0, ca_file=None, *, retries=4, backoff=0.1):
        self.arguments = {"url": url, "token": token, "timeout": timeout, "ca_file": ca_file,
                          "retries": retries, "backoff": backoff}
        self.timeout, self.retries, self.backoff = seconds_of(timeout), retries, backoff
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.connections = Connections(url, ca_file)
        self.closed = self.connections.closed

    def clone(self):
        """Another client of the same service, with connections of its own."""
        return Client(**self.arguments)

    def close(self):
        """Ends all connections. Calls that are under way fail at once, and so do all later ones."""
        self.connections.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Jobs.

    def enqueue(self, queue, payload=b"", *, key=None, **members):
        """The id of the new job. `payload` is any JSON value, or bytes; for `members` see
        new_job()."""
        return self._send("POST", path_of(queue, "jobs"), encode(new_job(payload, **members)),
                          key=key or new_key())["id"]

    def enqueue_many(self, queue, jobs, *, key=None):
        """The ids of any number of jobs, each a dict with the arguments of new_job(). SomeFailed if
        some were refused, or if the service failed after some were stored."""
        key, results = key or new_key(), []
        for number, batch in enumerate(batches_of(jobs)):
            try:
                answers = self._send("POST", path_of(queue, "jobs"),
                                     b'{"jobs":[%s]}' % b",".join(batch), key=f"{key}.{number}")
            except Error as error:
                error.key = error.key and key
                if not results:
                    raise
                raise SomeFailed(results + [error] * len(batch)) from error
            for one in answers["results"]:
                results.append(one["id"] if "id" in one else error_of(one["error"]))
        if any(isinstance(one, Error) for one in results):
            raise SomeFailed(results)
        return results

    def job(self, queue, id):
        return with_payload(self.call("GET", path_of(queue, "jobs", id)))

    def jobs(self, queue, lane=None, group=None):
        """All of them, page by page, without payloads."""
        return self._pages(path_of(queue, "jobs"), lane=lane, group=group)

    def explain(self, queue, id):
        return self.call("GET", path_of(queue, "jobs", id, "explain"))

    def cancel(self, queue, id, *, key=None):
        self._change(queue, id, "cancel", key)

    def requeue(self, queue, id, *, key=None):
        self._change(queue, id, "requeue", key)

    def hold(self, queue, id, *, key=None):
        self._change(queue, id, "hold", key)

    def unhold(self, queue, id, *, key=None):
        self._change(queue, id, "unhold", key)

    def break_lease(self, queue, id, *, key=None):
        self._change(queue, id, "break-lease", key)

    def edit(self, queue, id, *, key=None, **members):
        """Changes `priority`, `due` or `payload`, which must be JSON here."""
        if isinstance(members.get("payload"), (bytes, bytearray)):
            raise TypeError("a payload of bytes cannot be edited")
        self.call("PATCH", path_of(queue, "jobs", id), translated(checked(members, EDITS)),
                  key=key or new_key())

    def remove(self, queue, id, *, key=None):
        self.call("DELETE", path_of(queue, "jobs", id), key=key or new_key())

    # Leases.

    def claim(self, queues, max=1, wait=0, lease=None, worker=None, skip_groups=(), *, key=None):
        """Up to `max` jobs of one queue or several; waits up to `wait` for the first."""
        asked = {"queues": [queues] if isinstance(queues, str) else list(queues), "max": max,
                 "skip_groups": list(skip_groups), "worker": worker, **translated({"lease": lease})}
        wait, lease = seconds_of(wait), seconds_of(lease)
        end = time.monotonic() + wait
        for tries in itertools.count():
            key, since = key or new_key(), time.monotonic()
            left = end - since if end > since else 0

            def send(span):
                return self._send("POST", "/v1/claim", encode({**asked, **translated(
                    {"wait": span})}), key=key, repeat=not span, timeout=self.timeout + span)
            try:
                leases = send(left)["leases"]
                since = time.monotonic() if left else since
            except Unknown as error:
                if error.status or not left or self.closed.is_set():
                    raise
                # With a key whose jobs are given away the service would wait for nothing, and let
                # nobody else of the same queues have any.
                leases = send(0)["leases"]
                if not leases and time.monotonic() < end:
                    key = None
                    self.closed.wait(pause_of(tries, self.backoff))
                    continue
            return [Job(one, lease, since) for one in leases]

    def ack(self, job, result=None, children=(), *, key=None):
        """Says that the job is done. `result` is a text. `children` are jobs as in enqueue_many,
        perhaps with a `queue`, that are enqueued with it or not at all."""
        children = [new_child(**child) for child in children] or None
        self._settle("ack", job, key, result=result, children=children)

    def fail(self, job, error=None, delay=None, dead=None, *, key=None):
        self._settle("fail", job, key, error=error, delay=delay, dead=dead)

    def release(self, job, delay=None, *, key=None):
        self._settle("release", job, key, delay=delay)

    def extend(self, job, lease=None, progress=None):
        """Lets the lease last as long again as it was claimed for, or `lease` from now on."""
        lease, since = job.lease if lease is None else seconds_of(lease), time.monotonic()
        # Once more from now on is no harm, so it needs no key.
        answer = self._send("POST", "/v1/extend", encode(job.held(lease=lease, progress=progress)))
        job.deadline_at = answer["deadline_at"]
        job.until = math.inf if lease is None else since + lease

    # Queues and groups.

    def queues(self):
        return self._pages("/v1/queues")

    def queue(self, queue):
        return self.call("GET", path_of(queue))

    def configure(self, queue, **settings):
        """Changes the settings that are named; a limit of None is none. Spans are `lease`,
        `done_retention`, `dead_retention`, and in `retry` `base` and `cap`."""
        return self._send("PUT", path_of(queue), encode(translated(checked(settings, SETTINGS))))

    def pause(self, queue):
        self._send("POST", path_of(queue, "pause"))

    def resume(self, queue):
        self._send("POST", path_of(queue, "resume"))

    def remove_queue(self, queue):
        """Is not repeated: it has no key, and somebody may have made the queue again."""
        self.call("DELETE", path_of(queue))

    def groups(self, queue):
        return self._pages(path_of(queue, "groups"))

    def limit_group(self, queue, group, limit):
        """None: it has the limit of the queue again."""
        self._send("PUT", path_of(queue, "groups", group), encode({"limit": limit}))

    def verify(self, timeout=3600.0):
        """Proves that the store is sound, which takes as long as reading it."""
        return self._send("GET", "/v1/verify", timeout=seconds_of(timeout))

    # Anything.

    def call(self, method, path, body=None, query=None, *, key=None, timeout=None):
        """Any call of the service: what it answers, as a value if it is JSON, else as a text. It is
        repeated if it is a GET or has a key; else only if nothing can have happened."""
        query = {name: value for name, value in (query or {}).items() if value is not None}
        path += "?" + urllib.parse.urlencode(query) if query else ""
        return self._send(method, path, None if body is None else encode(body), key=key,
                          repeat=bool(key), timeout=timeout)

    def _pages(self, path, **query):
        name = path.rsplit("/", 1)[1]
        while True:
            page = self.call("GET", path, query={"limit": 1000, **query})
            yield from page[name]
            if "next" not in page:
                return
            query["after"] = page["next"]

    def _change(self, queue, id, verb, key):
        self.call("POST", path_of(queue, "jobs", id, verb), key=key or new_key())

    def _settle(self, verb, job, key, **members):
        self.call("POST", "/v1/" + verb, job.held(**members), key=key or new_key())

    def _send(self, method, path, data=None, *, key=None, repeat=True, timeout=None):
        headers = {**self.headers, **({"Idempotency-Key": key} if key else {}),
                   **({"Content-Type": "application/json"} if data is not None else {})}
        lost = None
        for tries in itertools.count():
            pause = pause_of(tries, self.backoff)
            try:
                return self.connections.exchange(method, path, data, headers,
                                                 timeout or self.timeout)
            except Unknown as error:
                error.key, failed = key, error
                # If the service itself does not know, its disk has failed, and until it is started
                # again a repeated call would be refused as if nothing had happened.
                if error.status or not repeat:
                    raise
                lost = error
            except (TooMany, Unavailable) as error:
                failed = lost or error
                pause += error.retry_after or 0
            if tries >= self.retries or self.closed.wait(pause):
                raise failed
