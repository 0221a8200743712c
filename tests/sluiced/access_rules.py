"""Who may do what, as the guide tells it: a rule for every operation of the service, and what comes
of it for a token."""
from typing import NamedTuple

import openapi
from routes import ROUTES

# What an operation takes: nothing, any token, or one that is good for this.
OPEN, LOOK, ENQUEUE, WORK, ADMIN = "open", "look", "enqueue", "work", "admin"
# Whose queues it is about: those it names, those that are listed to each, those of everybody.
NAMED, LISTED, ALL = "named", "listed", "all"

RULES = {
    (OPEN, ALL): ("GET /health", "GET /v1/openapi.json"),
    (LOOK, LISTED): ("GET /v1/queues",),
    (LOOK, NAMED): (
        "GET /v1/queues/{queue}", "GET /v1/queues/{queue}/groups", "GET /v1/queues/{queue}/jobs",
        "GET /v1/queues/{queue}/jobs/{id}", "GET /v1/queues/{queue}/jobs/{id}/explain",
        "GET /v1/queues/{queue}/schedules", "GET /v1/queues/{queue}/schedules/{schedule}",
        "GET /v1/queues/{queue}/batches", "GET /v1/queues/{queue}/batches/{batch}",
        "GET /v1/queues/{queue}/events",
        "GET /queue/count/team/{id}", "GET /queue/jobs/team/{id}", "GET /active/count/{id}",
        "GET /active/jobs/{id}"),
    (LOOK, ALL): ("GET /queue/count/crawl/{id}", "GET /active/crawl/jobs/{id}",
                  "GET /sample/teams", "GET /sample/crawls"),
    (ENQUEUE, NAMED): (
        "POST /v1/queues/{queue}/jobs", "PATCH /v1/queues/{queue}/jobs/{id}",
        "DELETE /v1/queues/{queue}/jobs/{id}", "POST /v1/queues/{queue}/jobs/{id}/cancel",
        "POST /v1/queues/{queue}/jobs/{id}/hold", "POST /v1/queues/{queue}/jobs/{id}/unhold",
        "POST /v1/queues/{queue}/jobs/{id}/requeue", "POST /v1/queues/{queue}/batches",
        "POST /v1/queues/{queue}/batches/{batch}/seal",
        "POST /v1/queues/{queue}/batches/{batch}/cancel", "POST /queue/push"),
    (WORK, NAMED): (
        "POST /v1/claim", "POST /v1/ack", "POST /v1/fail", "POST /v1/release", "POST /v1/extend",
        "POST /queue/pop/{id}", "POST /queue/complete", "POST /active/push",
        "DELETE /active/remove"),
    (WORK, ALL): ("POST /queue/release", "POST /active/crawl/push", "DELETE /active/crawl/remove"),
    (ADMIN, NAMED): (
        "PUT /v1/queues/{queue}", "DELETE /v1/queues/{queue}", "POST /v1/queues/{queue}/pause",
        "POST /v1/queues/{queue}/resume", "PUT /v1/queues/{queue}/groups/{group}",
        "POST /v1/queues/{queue}/purge", "PUT /v1/queues/{queue}/schedules/{schedule}",
        "DELETE /v1/queues/{queue}/schedules/{schedule}",
        "POST /v1/queues/{queue}/schedules/{schedule}/pause",
        "POST /v1/queues/{queue}/schedules/{schedule}/resume",
        "POST /v1/queues/{queue}/schedules/{schedule}/run",
        "POST /v1/queues/{queue}/jobs/{id}/break-lease", "POST /reconcile/team/queue/{id}",
        "POST /reconcile/team/active/{id}"),
    (ADMIN, ALL): (
        "GET /metrics", "GET /v1/verify", "POST /cleanup/expired-jobs",
        "POST /cleanup/expired-active-jobs", "POST /cleanup/orphaned-claims",
        "POST /cleanup/stale-counters", "POST /reconcile/crawl/queue/{id}",
        "POST /reconcile/crawl/active/{id}"),
}
RULE_OF = {operation: rule for rule, operations in RULES.items() for operation in operations}


def operations():
    """All that the service has, by its own tables."""
    return {"GET /metrics", *(f"{route.method} {route.path}" for route in ROUTES),
            *(str(operation) for operation in openapi.DOCUMENT.operations())}


class Bound(NamedTuple):
    """A token: what it is good for, and what its queues begin with. Nothing: it is not known."""
    may: str = ""
    prefix: str = ""

    def outcome(self, operation, queue):
        """The status of what is refused to it; None if it is let in.

        Whether it is good for such an operation at all is asked before the queue.
        """
        may, of = RULE_OF[operation]
        if may == OPEN:
            return None
        if not self.may:
            return 401
        if may != LOOK and may not in self.may.split(",") and ADMIN not in self.may.split(","):
            return 403
        if self.prefix and of == ALL:
            return 403
        if of == NAMED and not queue.startswith(self.prefix):
            return 404
        return None
