"""Followers of the events of a queue: by pages, and by streams that are read strictly."""
from urllib.parse import quote

from openapi import DOCUMENT, strict_json
from raw import Raw, head, read_head
from v1 import below

GAP, COMMENT = "a gap", "a comment"
EVENT = {"$ref": "#/components/schemas/Event"}


def place(event):
    """What events sort by, as they were committed."""
    text, _, number = event["cursor"].partition(".")
    return text, int(number)


def move(event):
    return event["id"], event.get("from"), event["to"], event["attempt"]


def pages(client, queue, after="", limit=1000):
    """All events that come after the cursor, up to the present end."""
    found = []
    while True:
        page = client.page(below(queue, "events"), after=after, limit=limit)
        if page["gap"]:
            raise AssertionError(f"a gap after {after}")
        if not page["events"]:
            return found
        found += page["events"]
        after = page["next"]


class Stream:
    """A connection that follows; it is closed with the test."""

    def __init__(self, case, queue, after=None, last=None, version="1.1"):
        self.raw = Raw(case)
        query = "" if after is None else "?after=" + quote(after)
        lines = [] if last is None else [b"Last-Event-ID: " + last.encode()]
        self.raw.send(head(f"GET {below(queue, 'events')}{query} HTTP/{version}".encode(),
                           b"Accept: text/event-stream", *lines))
        self.greeted = False

    def read_head(self):
        """The status and the headers, before anything else is read."""
        while b"\r\n\r\n" not in self.raw.buffer:
            if not self.raw.fill():
                raise ConnectionResetError("no answer")
        text, _, self.raw.buffer = self.raw.buffer.partition(b"\r\n\r\n")
        self.greeted = True
        return read_head(text)

    def greet(self):
        reply = self.read_head()
        if (reply.status, reply.media_type()) != (200, "text/event-stream"):
            raise AssertionError(f"no stream: {reply.status} {reply.headers}")
        if self.block() != b"retry: 1000":
            raise AssertionError("it does not begin with when to come back")
        return self

    def block(self):
        """The lines up to an empty one; None at the end of the stream."""
        while b"\n\n" not in self.raw.buffer:
            if not self.raw.fill():
                return None
        text, _, self.raw.buffer = self.raw.buffer.partition(b"\n\n")
        return text

    def next(self):
        """The next event, GAP or COMMENT; None at the end."""
        if not self.greeted:
            self.greet()
        text = self.block()
        if text in (None, b":", b"event: gap\ndata: {}"):
            return {None: None, b":": COMMENT}.get(text, GAP)
        id, data = text.decode().split("\n")
        event = strict_json(data.removeprefix("data: "))
        problems = DOCUMENT.problems(event, EVENT)
        if problems or id != f"id: {event['cursor']}":
            raise AssertionError(f"no event: {text!r} {problems}")
        return event

    def take(self, number):
        """The next so many events; nothing else may come, but comments."""
        found = []
        while len(found) < number:
            event = self.next()
            if not isinstance(event, dict) and event != COMMENT:
                raise AssertionError(f"{event} after {len(found)} of {number} events")
            if event != COMMENT:
                found.append(event)
        return found

    def close(self):
        self.raw.close()
