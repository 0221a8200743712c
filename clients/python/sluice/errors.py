# SPDX-License-Identifier: MIT
"""What a call raises when it fails."""
import json


class Error(Exception):
    """A call that failed. `code` decides what to do, as `advice` tells; `status` is that of HTTP, 0
    if there was no answer. Unless it is Unknown, nothing happened."""

    def __init__(self, code, message, advice="", status=0, retry_after=None, key=None):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.advice, self.status = code, message, advice, status
        self.retry_after, self.key = retry_after, key

    def is_final(self):
        """Whether the same call fails the same way until somebody changes something."""
        return 400 <= self.status < 500 and self.status != 429


class NotFound(Error):
    """There is no such queue, job or batch."""


class AlreadyExists(Error):
    """The id is taken."""


class LeaseLost(Error):
    """The lease is over: somebody else may have the job."""


class TooMany(Error):
    """The backlog is at its limit; try again after `retry_after` seconds."""


class Unavailable(Error):
    """There is nobody who could answer now."""


class Unknown(Error):
    """It may have happened or not. The same call with the same `key` has one effect."""


class SomeFailed(Error):
    """Of many jobs, not all were enqueued. `results` has an id or an Error for each that was sent,
    in order; those after them were not sent."""

    def __init__(self, results):
        first = next(one for one in results if isinstance(one, Error))
        super().__init__(first.code, first.message, first.advice, first.status, key=first.key)
        self.results = results


KINDS = {"not_found": NotFound, "already_exists": AlreadyExists, "lease_lost": LeaseLost,
         "limit_exceeded": TooMany, "unavailable": Unavailable, "commit_unknown": Unknown}
STATUS_CODES = {401: "permission_denied", 403: "permission_denied", 429: "limit_exceeded",
                503: "unavailable"}


def error_of(told, status=0, retry_after=None):
    kind = KINDS.get(told["code"], Error)
    return kind(told["code"], told["message"], told.get("advice", ""), status, retry_after)


def answered_error(status, text, headers, lost):
    """What is no JSON comes from a proxy, or refuses what is no call at all. `lost` is the code for
    a call that a proxy may have passed on or not."""
    after = headers["retry-after"] or ""
    after = float(after) if after.isdigit() else None
    try:
        return error_of(json.loads(text)["error"], status, after)
    except (ValueError, KeyError, TypeError):
        message = text.decode(errors="replace").strip()[:500] or f"status {status}"
        if status in (502, 504) or status == 503 and after is None:
            return error_of({"code": lost, "message": message})
        code = STATUS_CODES.get(status, "invalid_argument" if status < 500 else "io_error")
        return error_of({"code": code, "message": message}, status, after)
