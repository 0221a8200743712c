# SPDX-License-Identifier: MIT
"""Jobs and spans as Python has them and as the service has them."""
import base64
import datetime
import json
import math
import threading
import urllib.parse

BATCH_JOBS_MAX = 10_000
# Half of what the service takes unless it is set otherwise.
BATCH_BYTES_MAX = 1 << 20


def seconds_of(span):
    return span.total_seconds() if isinstance(span, datetime.timedelta) else span


SPANS = {"delay", "ttl", "lease", "wait", "base", "cap", "done_retention", "dead_retention"}
RETRY = {"attempts_max", "base", "factor", "cap", "jitter"}
EDITS = {"priority", "due", "payload"}
SETTINGS = {"priority", "lease", "retry", "lapses_max", "done_retention", "dead_retention",
            "active_max", "group_max", "backlog_max", "shards", "fair", "events"}


def checked(members, names):
    """The service passes over names that it does not know: a slip would go unnoticed."""
    if odd := set(members) - names:
        raise TypeError(f"unexpected: {', '.join(sorted(odd))}")
    return members


def translated(members):
    """Members as the service names and counts them."""
    wire = {}
    for name, value in members.items():
        if name in SPANS:
            wire[name + "_ms"] = None if value is None else round(seconds_of(value) * 1000)
        elif name == "due":
            moment = value.timestamp() if isinstance(value, datetime.datetime) else value
            wire["due_at"] = None if value is None else round(moment * 1000)
        elif name == "retry" and value is not None:
            wire[name] = translated(checked(value, RETRY))
        elif name == "payload" and isinstance(value, (bytes, bytearray)):
            if value:
                wire["payload_base64"] = base64.b64encode(value).decode()
        else:
            wire[name] = value
    return wire


def new_job(payload=b"", *, id=None, group=None, priority=None, label=None, delay=None, due=None,
            ttl=None, hold=None, batch=None, retry=None):
    """The members of a job to be enqueued; `retry` has attempts_max, base, factor, cap, jitter."""
    return translated({name: value for name, value in locals().items()
                       if value is not None or name == "payload"})


def new_child(*, queue=None, **members):
    return {**new_job(**members), **({"queue": queue} if queue else {})}


def batches_of(jobs):
    """Lists of jobs as JSON texts, none of them too large for one call."""
    batch, size = [], 0
    for job in jobs:
        text = encode(new_job(**job))
        if batch and (len(batch) == BATCH_JOBS_MAX or size + len(text) > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text) + 1
    if batch:
        yield batch


def path_of(*names):
    return "/v1/queues/" + "/".join(urllib.parse.quote(name, safe="") for name in names)


def with_payload(answer):
    """The same with bytes in the place of their base64."""
    if "payload_base64" in answer:
        answer["payload"] = base64.b64decode(answer.pop("payload_base64"))
    return answer


def encode(body):
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class Job:
    """A job that was claimed. `lost` is set when its lease is known to be over; a Worker sees to
    that. `until` is when that is at the latest, by this machine's monotonic clock."""

    def __init__(self, lease, span, since):
        self.queue, self.id, self.token = lease["queue"], lease["id"], lease["token"]
        self.payload = with_payload(lease)["payload"]
        self.attempt, self.priority = lease["attempt"], lease["priority"]
        self.group, self.batch = lease.get("group"), lease.get("batch")
        self.schedule, self.planned_at = lease.get("schedule"), lease.get("planned_at")
        self.deadline_at = lease["deadline_at"]
        self.lease, self.until = span, math.inf if span is None else since + span
        self.lost = threading.Event()

    def held(self, **members):
        return {"queue": self.queue, "token": self.token, **translated(
            {name: value for name, value in members.items() if value is not None})}
