"""Every operation of the service with every kind of token: who is let in, and what is told to those
who are not."""
import itertools
from typing import NamedTuple
from urllib.parse import quote

from access_rules import ALL, LOOK, NAMED, OPEN, RULE_OF, RULES, Bound, operations
from harness import main
from routes import ROUTES, changed
from tokens import TokenTest, add, reload, revoke
from v1 import held, path_of

SCOPES = ("enqueue", "work", "admin", "enqueue,work")
HOUR_MS = 3_600_000
CODES = {401: "permission_denied", 403: "permission_denied", 404: "not_found"}
# A job of every lane that an operation may need, and what it is enqueued with; the first three are
# claimed, the fourth is popped.
JOBS = {"leased": {"priority": -4}, "dead": {"priority": -3}, "done": {"priority": -2},
        "popped": {"priority": -1}, "held": {"hold": True}, "ready": {"group": "g", "payload": 7}}
# The job that is in the right lane; "ready" where nothing stands here.
LANE_OF = {"unhold": "held", "break-lease": "leased", "requeue": "dead"}
BODIES = {
    "PUT /v1/queues/{queue}": {"priority": 5},
    "PUT /v1/queues/{queue}/groups/{group}": {"limit": 3},
    "POST /v1/queues/{queue}/jobs": {"id": "new"},
    "PATCH /v1/queues/{queue}/jobs/{id}": {"priority": 3, "payload": 8},
    "POST /v1/queues/{queue}/purge": {"lane": "dead"},
    "PUT /v1/queues/{queue}/schedules/{schedule}": {"cron": "@yearly"},
    "POST /v1/queues/{queue}/batches": {"id": "new"},
}
MAKES = ("POST /v1/queues/{queue}/jobs", "POST /v1/queues/{queue}/batches")
COMPATIBLE = {f"{route.method} {route.path}": route for route in ROUTES}


class Target(NamedTuple):
    """A queue with jobs, and what is needed to name each of them."""
    queue: str
    lease: dict
    queue_key: str

    @property
    def empty(self):
        """A queue that has none, to be removed."""
        return self.queue + ".empty"

    def request(self, operation):
        """An operation on it, that would succeed for whoever may do it."""
        method, path = operation.split(" ")
        if operation in COMPATIBLE:
            return (method, *self.compatible(COMPATIBLE[operation]))
        queue = self.empty if operation == "DELETE /v1/queues/{queue}" else self.queue
        last = path.rsplit("/", 1)[1]
        job = "done" if method == "DELETE" else LANE_OF.get(last, "ready")
        body = BODIES.get(operation)
        if last == "claim":
            body = {"queues": [queue], "lease_ms": HOUR_MS}
        elif last in ("ack", "fail", "release", "extend"):
            body = held(self.lease)
        for name, value in (("queue", queue), ("id", job), ("group", "g"), ("schedule", "s"),
                            ("batch", "b")):
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return method, path, body

    def compatible(self, route):
        body = route.body
        for name, value in (("teamId", self.queue), ("crawlId", "crawl of " + self.queue),
                            ("jobId", "popped"), ("queueKey", self.queue_key)):
            if body and name in body:
                body = changed(body, name, value)
        name = "crawl of " + self.queue if "crawl" in route.path else self.queue
        return route.of(quote(name, safe="")), body


class Matrix(TokenTest):
    options = ("--compat-lease", "1h")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        data = cls.service.data
        cls.holders = {"none": (Bound(), None), "unknown": (Bound(), "slu_" + "0" * 64)}
        for may, prefix in itertools.product(SCOPES, ("", "own/", "others/")):
            name = f"{may} of {prefix or 'all'}"
            cls.holders[name] = Bound(may, prefix), add(data, name, may, prefix and (prefix,))
        for prefix in ("", "own/"):
            name = f"revoked of {prefix or 'all'}"
            cls.holders[name] = Bound(), add(data, name, "admin", prefix and (prefix,))
            revoke(data, name)
        reload(cls.service)

    def make(self, queue):
        """A queue with a job in every lane."""
        self.client.enqueue_many(queue, [{"id": id, **more} for id, more in JOBS.items()])
        self.client.configure(queue, done_retention_ms=HOUR_MS)
        lease, dead, done = self.client.claim(queue, max=3, lease_ms=HOUR_MS)
        self.client.fail(dead, dead=True)
        self.client.ack(done)
        self.client.ok("PUT", path_of(queue) + "/schedules/s", {"cron": "@yearly"})
        self.client.ok("POST", path_of(queue) + "/batches", {"id": "b"})
        key = self.client.wire.pop(queue)["queueKey"]
        target = Target(queue, lease, key)
        self.client.configure(target.empty)
        return target

    def make_missing(self, queue, like):
        """The names of what is not there: they are as good as those of `like`."""
        self.client.wire.push(queue, "popped")
        claim = self.client.wire.pop(queue)
        self.assertTrue(self.client.wire.complete(claim))
        self.client.ok("DELETE", path_of(queue))
        return Target(queue, {**like.lease, "queue": queue}, claim["queueKey"])

    def look(self, target):
        """All that is to be known about a target and its surroundings."""
        wire = self.client.wire
        names = [one["name"] for one in self.client.pages("/v1/queues")]
        return (names, [self.client.ok("GET", path_of(queue))
                        for queue in (target.queue, target.empty)],
                [self.client.job(target.queue, id) for id in self.client.job_ids(target.queue)],
                self.client.pages(path_of(target.queue) + "/groups"),
                self.client.pages(path_of(target.queue) + "/schedules"),
                self.client.pages(path_of(target.queue) + "/batches"),
                wire.ids(target.queue), wire.active(target.queue),
                wire.crawl_active("crawl of " + target.queue))

    def test_there_is_a_rule_for_every_operation(self):
        self.assertEqual(set(RULE_OF), operations())
        self.assertEqual(len(RULE_OF), sum(map(len, RULES.values())))

    def test_whoever_may_is_let_in(self):
        seen, cells = self.make("own/seen"), 0
        for (name, (bound, secret)), operation in itertools.product(self.holders.items(), RULE_OF):
            if bound.outcome(operation, seen.queue) is not None:
                continue
            cells += 1
            # Whoever looks changes nothing for the next one.
            changes = RULE_OF[operation][0] not in (OPEN, LOOK)
            target = self.make(f"own/{cells}") if changes else seen
            reply = self.holder_of(secret).ask(*target.request(operation))
            wanted = 201 if operation in MAKES else 200
            self.assertEqual(reply.status, wanted, (name, operation, reply.body))
        print(f"figure sluiced.access_allowed_cells {cells}")

    def test_whoever_may_not_changes_nothing_and_learns_nothing(self):
        kept = self.make("own/kept")
        missing = self.make_missing("own/none", kept)
        before, cells, wrong = self.look(kept), 0, []
        for (name, (bound, secret)), operation in itertools.product(self.holders.items(), RULE_OF):
            status = bound.outcome(operation, kept.queue)
            if status is None:
                continue
            cells += 1
            try:
                self.check_refusal(secret, operation, status, kept, missing)
            except AssertionError as error:
                wrong.append(f"{name}: {operation}: {error}")
        self.assertEqual(len(wrong), 0, "\n".join(wrong[:20]))
        self.assertEqual(self.look(kept), before)
        print(f"figure sluiced.access_refused_cells {cells}")

    def check_refusal(self, secret, operation, status, kept, missing):
        client = self.holder_of(secret)
        first, second = (client.ask(*target.request(operation)) for target in (kept, missing))
        self.check_failure(first, status, CODES[status], operation.split(" ")[1])
        self.assertEqual(first.headers["www-authenticate"], "Bearer" if status == 401 else None)
        for one in (first, second):
            del one.headers["date"], one.headers["x-request-id"]
        self.assertEqual(first.headers.items(), second.headers.items())
        self.assertEqual(first.body.replace(kept.queue.encode(), missing.queue.encode()),
                         second.body)

    def test_what_is_open_is_open_to_everybody(self):
        for secret in (None, "", "x", self.admin):
            for operation in RULES[OPEN, ALL]:
                reply = self.holder_of(secret).ask(*operation.split(" "))
                self.assertEqual(reply.status, 200, (secret, operation))

    def test_rules_are_told_apart(self):
        # A table without cells of every kind would prove less than it seems to.
        found = {(RULE_OF[operation], bound.prefix, bound.outcome(operation, "own/x"))
                 for bound, _ in self.holders.values() for operation in RULE_OF}
        for rule in RULES:
            outcomes = {outcome for one, _, outcome in found if one == rule}
            wanted = {None} if rule[0] == OPEN else {None, 401}
            wanted |= {404} if rule[1] == NAMED else set()
            wanted |= {403} if rule[0] in SCOPES or (rule[1] == ALL and rule[0] != OPEN) else set()
            self.assertEqual(outcomes, wanted, rule)


if __name__ == "__main__":
    main()
