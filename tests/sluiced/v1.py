"""What the tests of the native API share: its verbs, its refusals, and a store that is sound."""
import os
from urllib.parse import quote, urlencode

import openapi
from harness import SluicedTest, wait_until

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
LANES = ("waiting", "held", "scheduled", "ready", "leased", "done", "dead", "cancelled")
WEEK_MS = 7 * 24 * 3600 * 1000
SPAN_MS_MAX = 3660 * 24 * 3600 * 1000


def read_doc(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def table_rows(text, first):
    """The cells of the rows of the table whose head begins with `first`."""
    rows = text[text.index(f"| {first} |"):].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


# Of each code: its status and what to do about it, as operators read it.
CODES = {row[0].strip("`"): (int(row[2]), row[4])
         for row in table_rows(read_doc("operations/errors.md"), "Code")[2:]}


class Api(openapi.Client):
    """The verbs. Each returns what it answers, and raises if that is a failure."""

    def ok(self, method, path, body=None, key=None):
        answer = self.call(method, path, body, key)
        if answer.status >= 300:
            raise AssertionError(f"{method} {path} {str(body)[:200]}: {answer.status} "
                                 f"{answer.body}")
        return answer.body

    def enqueue(self, queue, id=None, *, key=None, **members):
        if id is not None:
            members["id"] = id
        return self.ok("POST", path_of(queue) + "/jobs", members, key)["id"]

    def enqueue_many(self, queue, jobs, key=None):
        return self.ok("POST", path_of(queue) + "/jobs", {"jobs": jobs}, key)["results"]

    def fill(self, queue, number, **members):
        """Enqueues jobs of the ids "0", "1"..."""
        results = self.enqueue_many(queue, [{"id": str(one), **members} for one in range(number)])
        if results != [{"id": str(one)} for one in range(number)]:
            raise AssertionError(f"enqueue answered {results[:10]}")

    def claim(self, *queues, key=None, **members):
        return self.ok("POST", "/v1/claim", {"queues": queues, **members}, key)["leases"]

    def claim_one(self, queue, **members):
        """The lease of the next job, that must be there."""
        leases = self.claim(queue, **members)
        if len(leases) != 1:
            raise AssertionError(f"claim answered {leases}")
        return leases[0]

    def claim_ids(self, *queues, max=1000, **members):
        return [lease["id"] for lease in self.claim(*queues, max=max, **members)]

    def settle(self, verb, lease, key=None, **members):
        return self.ok("POST", f"/v1/{verb}", {**held(lease), **members}, key)

    def settle_many(self, verb, items, key=None):
        return self.ok("POST", f"/v1/{verb}", {"items": items}, key)["results"]

    def ack(self, lease, **members):
        return self.settle("ack", lease, **members)

    def fail(self, lease, **members):
        return self.settle("fail", lease, **members)

    def release(self, lease, **members):
        return self.settle("release", lease, **members)

    def extend(self, lease, **members):
        return self.settle("extend", lease, **members)["deadline_at"]

    def change(self, verb, queue, id, key=None):
        """cancel, hold, unhold, break-lease, requeue."""
        return self.ok("POST", f"{path_of(queue, id)}/{verb}", key=key)

    def edit(self, queue, id, **members):
        return self.ok("PATCH", path_of(queue, id), members)

    def job(self, queue, id):
        return self.ok("GET", path_of(queue, id))

    def lane(self, queue, id):
        """Where the job is; "gone" if it is nowhere."""
        answer = self.call("GET", path_of(queue, id))
        return "gone" if answer.status == 404 else answer.body["lane"]

    def page(self, path, **query):
        return self.ok("GET", f"{path}?{urlencode(query)}" if query else path)

    def pages(self, path, **query):
        """Everything of a listing, page after page."""
        name, found = path.rsplit("/", 1)[1], []
        while True:
            page = self.page(path, **query)
            found += page[name]
            if "next" not in page:
                return found
            query["after"] = page["next"]

    def job_ids(self, queue, **query):
        return [job["id"] for job in self.pages(path_of(queue) + "/jobs", **query)]

    def configure(self, queue, **members):
        return self.ok("PUT", path_of(queue), members)["config"]

    def limit_group(self, queue, group, limit):
        self.ok("PUT", f"{path_of(queue)}/groups/{quote(group, safe='')}", {"limit": limit})

    def counts(self, queue):
        """Of the lanes that have jobs."""
        counts = self.ok("GET", path_of(queue))["counts"]
        return {lane: count for lane, count in counts.items() if count}


def path_of(queue, id=None):
    path = "/v1/queues/" + quote(queue, safe="")
    return path if id is None else f"{path}/jobs/{quote(id, safe='')}"


def below(queue, *parts):
    """The path of what belongs to a queue."""
    return "/".join((path_of(queue), *(quote(part, safe="") for part in parts)))


def held(lease, **members):
    return {"queue": lease["queue"], "token": lease["token"], **members}


class V1Test(SluicedTest):
    """Tests that share a service, which must be sound at the end; each has a queue of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.service:
            cls.addClassCleanup(cls.check_store)

    @classmethod
    def check_store(cls, service=None):
        client = Api(service or cls.service)
        report = client.ok("GET", "/v1/verify")
        client.close()
        if not report["clean"]:
            raise AssertionError(f"the store is not sound: {report}")

    def setUp(self):
        super().setUp()
        self.queue = self.named("queue")

    def new_client(self):
        client = Api(self.service)
        self.addCleanup(client.close)
        return client

    def refused(self, code, method, path, body=None, key=None, client=None):
        """Checks that a call fails with this code, and returns the message."""
        answer = (client or self.client).call(method, path, body, key)
        shown = f"{method} {path[:200]} {str(body)[:300]}: {answer.status} {str(answer.body)[:500]}"
        self.assertGreaterEqual(answer.status, 400, shown)
        self.assertIsInstance(answer.body, dict, shown)
        error = answer.body["error"]
        self.assertEqual((error["code"], answer.status, error["advice"]), (code, *CODES[code]),
                         shown)
        return error["message"]

    def refused_settle(self, code, verb, lease, **members):
        return self.refused(code, "POST", f"/v1/{verb}", {**held(lease), **members})

    def leased(self, number=None, queue=None, **members):
        """Enqueues and claims: one lease, or a list of so many."""
        queue = queue or self.queue
        self.client.enqueue_many(queue, [members] * (number or 1))
        leases = self.client.claim(queue, max=number or 1)
        self.assertEqual(len(leases), number or 1)
        return leases if number else leases[0]

    def wait_for_lane(self, queue, id, lane):
        wait_until(lambda: self.client.lane(queue, id) == lane, f"{id} to be {lane}")

