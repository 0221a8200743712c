"""The compatible routes as a table, for the tests that go through all of them."""
from typing import NamedTuple


class Route(NamedTuple):
    method: str
    path: str
    body: dict | None = None

    def of(self, name):
        """The path with `name`, as it is, in the place of its id."""
        return self.path.replace("{id}", name)


JOB = {"id": "j", "data": None, "priority": 0, "listenable": False}
PUSH = {"teamId": "t", "job": JOB}

ROUTES = (
    Route("GET", "/health"),
    Route("POST", "/queue/push", PUSH),
    Route("POST", "/queue/pop/{id}", {"workerId": "w"}),
    # Well-formed; where it must be a real key, the tests take one of a real claim.
    Route("POST", "/queue/complete", {"queueKey": "bm8="}),
    Route("POST", "/queue/release", {"jobId": "j"}),
    Route("GET", "/queue/count/team/{id}"),
    Route("GET", "/queue/count/crawl/{id}"),
    Route("GET", "/queue/jobs/team/{id}"),
    Route("POST", "/active/push", {"teamId": "t", "jobId": "j", "timeout": 1000}),
    Route("DELETE", "/active/remove", {"teamId": "t", "jobId": "j"}),
    Route("GET", "/active/count/{id}"),
    Route("GET", "/active/jobs/{id}"),
    Route("POST", "/active/crawl/push", {"crawlId": "c", "jobId": "j", "timeout": 1000}),
    Route("DELETE", "/active/crawl/remove", {"crawlId": "c", "jobId": "j"}),
    Route("GET", "/active/crawl/jobs/{id}"),
    Route("POST", "/cleanup/expired-jobs"),
    Route("POST", "/cleanup/expired-active-jobs"),
    Route("POST", "/cleanup/orphaned-claims"),
    Route("POST", "/cleanup/stale-counters"),
    Route("POST", "/reconcile/team/queue/{id}"),
    Route("POST", "/reconcile/team/active/{id}"),
    Route("POST", "/reconcile/crawl/queue/{id}"),
    Route("POST", "/reconcile/crawl/active/{id}"),
    Route("GET", "/sample/teams"),
    Route("GET", "/sample/crawls"),
)
WITH_BODY = tuple(route for route in ROUTES if route.body)
WITHOUT_BODY = tuple(route for route in ROUTES if not route.body)
WITH_ID = tuple(route for route in ROUTES if "{id}" in route.path)


def without(body, path):
    """A copy of `body` that lacks the member at `path`, whose parts are joined by dots."""
    return changed(body, path, None, remove=True)


def changed(body, path, value, remove=False):
    """A copy of `body` with another value at `path`."""
    first, _, rest = path.partition(".")
    copy = dict(body)
    if rest:
        copy[first] = changed(copy[first], rest, value, remove)
    elif remove:
        del copy[first]
    else:
        copy[first] = value
    return copy
