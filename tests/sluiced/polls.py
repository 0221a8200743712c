"""Claims of the native API that wait, each on a connection of its own.

The service has one thread for connections, so it has read everything that was sent to it before the
request that it answers: no test has to guess whether a claim waits already.
"""
import json
import select

from harness import JSON, PATIENCE, Reply
from openapi import DOCUMENT
from v1 import V1Test

CLAIM = DOCUMENT.find("POST", "/v1/claim")


class Poll:
    """A claim that was sent."""

    def __init__(self, service, body, key=None):
        self.connection = service.connection()
        self.connection.request("GET", "/health")
        self.connection.getresponse().read()
        headers = JSON if key is None else {**JSON, "Idempotency-Key": key}
        self.connection.request("POST", "/v1/claim", json.dumps(body).encode(), headers)

    def is_answered(self):
        return bool(select.select([self.connection.sock], [], [], 0)[0])

    def answer(self):
        """Its status and its body, as soon as they are there."""
        if not select.select([self.connection.sock], [], [], PATIENCE)[0]:
            raise AssertionError(f"the claim was not answered within {PATIENCE} s")
        response = self.connection.getresponse()
        reply = Reply(response.status, response.headers, response.read())
        return reply.status, CLAIM.check_reply(reply)

    def leases(self):
        status, body = self.answer()
        if status != 200:
            raise AssertionError(f"the claim was answered {status} {body}")
        return body["leases"]

    def ids(self):
        return [lease["id"] for lease in self.leases()]

    def leave(self):
        self.connection.close()


class PollTest(V1Test):
    options = ("--threads", "1")

    def poll(self, *queues, wait_ms=300_000, key=None, **members):
        """A claim that waits when this returns, unless it could be answered."""
        body = {"queues": queues or [self.queue], "wait_ms": wait_ms, **members}
        poll = Poll(self.service, body, key)
        self.addCleanup(poll.leave)
        self.client.wire.call("GET", "/health")
        return poll
