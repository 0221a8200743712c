"""Queues of others: a token that is bound to some queues neither sees nor touches any other one, by
whichever way it is named."""
import itertools
import json
from urllib.parse import quote

from harness import main
from tokens import TokenTest
from v1 import held, path_of

SETTLES = ("ack", "fail", "release", "extend")


class ForeignTest(TokenTest):
    def setUp(self):
        super().setUp()
        self.mine, self.theirs = self.own + "q", self.named("others") + "/q"
        self.bound = self.holder("enqueue,work")

    def leased(self, queue, number=1):
        """Leases of new jobs, that were claimed by somebody who may."""
        self.client.enqueue_many(queue, [{}] * number)
        return self.client.claim(queue, max=number, lease_ms=3_600_000)

    def look(self, queue):
        """Everything about the jobs of a queue; nothing if there is none."""
        if self.client.call("GET", path_of(queue)).status == 404:
            return None
        return [self.client.job(queue, id) for id in self.client.job_ids(queue)]

    def check_unknown(self, reply, queue=None):
        """It is answered as if there were no such queue."""
        self.check_failure(reply, 404, "not_found")
        self.assertIn(queue or self.theirs, json.loads(reply.body)["error"]["message"])


class Leases(ForeignTest):
    def test_a_claim_of_own_and_foreign_queues_gets_nothing_at_once(self):
        for queue in (self.mine, self.theirs):
            self.client.enqueue(queue, "j")
        nowhere = self.theirs + "/nowhere"
        for queues, wait in itertools.product(
                ([self.mine, self.theirs], [self.theirs, self.mine], [self.theirs],
                 [self.mine] * 5 + [self.theirs]), (0, 300_000)):
            body = {"queues": queues, "max": 10, "wait_ms": wait}
            first = self.bound.ask("POST", "/v1/claim", body)
            self.check_unknown(first)
            text = json.dumps(body).replace(self.theirs, nowhere).encode()
            second = self.bound.ask("POST", "/v1/claim", text)
            self.assertEqual((second.status, second.body.replace(nowhere.encode(),
                                                                 self.theirs.encode())),
                             (first.status, first.body))
        for queue in (self.mine, self.theirs):
            self.assertEqual(self.client.counts(queue), {"ready": 1})
        self.assertEqual(self.bound.claim_ids(self.mine), ["j"])

    def test_a_claim_of_several_own_queues(self):
        holder = self.holder("work", (self.mine, self.theirs))
        for queue in (self.mine, self.theirs):
            self.client.enqueue(queue, queue)
        self.assertEqual(sorted(holder.claim_ids(self.mine, self.theirs)),
                         sorted((self.mine, self.theirs)))

    def test_a_batch_with_a_foreign_item_changes_nothing(self):
        for verb in SETTLES:
            *own, foreign = self.leased(self.mine, 2) + self.leased(self.theirs)
            before = self.look(self.mine), self.look(self.theirs)
            for items in ([*own, foreign], [foreign, *own], [own[0], foreign, own[1]], [foreign]):
                body = {"items": [held(lease) for lease in items]}
                self.check_unknown(self.bound.ask("POST", f"/v1/{verb}", body))
            self.assertEqual((self.look(self.mine), self.look(self.theirs)), before, verb)
            results = self.bound.settle_many(verb, [held(lease) for lease in own])
            self.assertFalse(any("error" in result for result in results), results)

    def test_the_lease_of_a_foreign_job_is_worth_nothing_in_an_own_queue(self):
        self.leased(self.mine)
        lease, = self.leased(self.theirs)
        before = self.look(self.mine), self.look(self.theirs)
        for verb in SETTLES:
            reply = self.bound.ask("POST", f"/v1/{verb}", {**held(lease), "queue": self.mine})
            self.check_failure(reply, 409, "lease_lost")
            results = self.bound.settle_many(verb, [{**held(lease), "queue": self.mine}])
            self.assertEqual([one["error"]["code"] for one in results], ["lease_lost"])
        self.assertEqual((self.look(self.mine), self.look(self.theirs)), before)
        self.client.ack(lease)

    def test_the_key_of_a_foreign_pop_is_worth_nothing(self):
        self.client.wire.push(self.mine, "j")
        self.client.wire.push(self.theirs, "j")
        own, foreign = (self.client.wire.pop(team) for team in (self.mine, self.theirs))
        for _ in range(2):
            reply = self.bound.ask("POST", "/queue/complete", {"queueKey": foreign["queueKey"]})
            self.check_failure(reply, 404, "not_found", "/queue/complete")
        self.assertEqual(self.client.wire.count(self.theirs), 1)
        self.assertTrue(self.bound.wire.complete(own))
        self.assertTrue(self.client.wire.complete(foreign))


class Children(ForeignTest):
    def test_children_in_foreign_queues_undo_the_ack(self):
        lease, other = self.leased(self.mine, 2)
        before = self.look(self.mine)
        for children in ([{"queue": self.theirs}], [{}, {"queue": self.theirs}],
                         [{"queue": self.mine}, {"queue": self.theirs}, {}]):
            reply = self.bound.ask("POST", "/v1/ack", held(lease, children=children))
            self.check_unknown(reply)
            items = [held(other), held(lease, children=children)]
            self.check_unknown(self.bound.ask("POST", "/v1/ack", {"items": items}))
        self.assertEqual((self.look(self.mine), self.look(self.theirs)), (before, None))
        self.bound.ack(lease, children=[{"id": "a"}, {"queue": self.mine + "2", "id": "b"}])
        self.assertEqual((self.client.lane(self.mine, "a"), self.client.lane(self.mine + "2", "b")),
                         ("ready", "ready"))

    def test_children_take_a_token_that_may_enqueue(self):
        worker = self.holder("work")
        lease, other = self.leased(self.mine, 2)
        before = self.look(self.mine)
        for children in ([{}], [{"queue": self.mine + "2"}], [{"queue": self.theirs}]):
            reply = worker.ask("POST", "/v1/ack", held(lease, children=children))
            self.check_failure(reply, 403, "permission_denied")
            items = [held(other), held(lease, children=children)]
            reply = worker.ask("POST", "/v1/ack", {"items": items})
            self.check_failure(reply, 403, "permission_denied")
        self.assertEqual(self.look(self.mine), before)
        worker.ack(lease, children=[])
        worker.ack(other)


class Names(ForeignTest):
    def test_what_a_prefix_covers(self):
        root = self.own + "p"
        holder = self.holder("enqueue", (root + "/é",))
        own = (root + "/é", root + "/éa", root + "/é/b", root + "/é/../../x", root + "/é ")
        foreign = (root, root + "/", root + "/e\u0301", root + "/É", root.upper() + "/é",
                   " " + root + "/é", "/" + root + "/é", root + "//é", root + "/./é",
                   root + "%2Fé", "é", root + "/\u00ea")
        for queue in own:
            self.assertEqual(holder.enqueue(queue, "j"), "j")
        for queue in foreign:
            self.check_unknown(holder.ask("POST", path_of(queue) + "/jobs", {"id": "j"}), queue)
            self.assertIsNone(self.look(queue), queue)
        # Each is a name like any other one: nothing in it leads to another queue.
        self.assertEqual([one["name"] for one in holder.pages("/v1/queues")],
                         sorted(own, key=str.encode))

    def test_a_body_cannot_name_another_queue(self):
        self.client.enqueue(self.theirs, "kept")
        before = self.look(self.theirs)
        for name in ("queue", "queues", "teamId", "team"):
            path = path_of(self.mine) + "/jobs"
            for body in ({name: self.theirs}, {"jobs": [{name: self.theirs}]}):
                self.assertIn(self.bound.ask("POST", path, body).status, (200, 201, 400))
                self.assertIn(self.bound.ask("POST", f"{path}?{name}=x", body).status,
                              (200, 201, 400))
        self.client.enqueue(self.mine, "last", priority=-9)
        claim = self.bound.wire.post(f"/queue/pop/{quote(self.mine, safe='')}",
                                     {"workerId": "w", "teamId": self.theirs})
        self.assertEqual((claim["job"]["teamId"], claim["job"]["id"]), (self.mine, "last"))
        self.assertEqual(self.look(self.theirs), before)

    def test_ids_of_foreign_jobs_are_free(self):
        self.client.enqueue(self.theirs, "j", payload="theirs")
        self.assertEqual(self.bound.enqueue(self.mine, "j", payload="mine"), "j")
        self.bound.change("cancel", self.mine, "j")
        self.assertEqual(self.client.lane(self.theirs, "j"), "ready")


class Keys(ForeignTest):
    def test_the_same_key_of_two_tokens_makes_two_jobs(self):
        holders = (self.bound, self.holder("enqueue"), self.client, self.holder("enqueue", ()))
        ids = [holder.enqueue(self.mine, key="k") for holder in holders]
        self.assertEqual(len(set(ids)), len(holders))
        self.assertEqual([holder.enqueue(self.mine, key="k") for holder in holders], ids)
        self.assertEqual(sorted(self.client.job_ids(self.mine)), sorted(ids))

    def test_keys_have_the_limits_that_they_have_without_tokens(self):
        path = path_of(self.mine) + "/jobs"
        self.assertEqual(self.bound.ask("POST", path, {}, key="x" * 256).status, 201)
        for key in ("x" * 257, "\xff"):
            self.check_failure(self.bound.ask("POST", path, {}, key=key), 400, "invalid_argument")

    def test_nobody_gets_the_answer_to_the_claim_of_another(self):
        other = self.holder("work")
        self.client.enqueue_many(self.mine, [{}] * 2)
        lease, = self.bound.claim(self.mine, key="k")
        mine, = other.claim(self.mine, key="k")
        self.assertNotEqual(lease["id"], mine["id"])
        self.assertEqual(self.bound.claim(self.mine, key="k"), [lease])
        self.assertEqual(other.claim(self.mine, key="k"), [mine])


class Listing(TokenTest):
    NAMES = ("a", "a/", "a/1", "a/2", "a/b", "a/b/1", "a/b/2", "a/c", "a0", "ab", "b/1", "b/2", "c",
             "z/1", "é/1", "é/2", "ö")
    BOUND = (("a/",), ("a",), ("a/", "a/b/"), ("a/b/", "a/"), ("a/b", "b/"), ("a/1", "a/2"),
             ("b/", "a/b/", "é"), ("a/b/1",), ("a/b/1", "a/b/1"), ("nowhere/",), ("c", "z", "ö"),
             ("a/b/", "nowhere/", "é/2"), ("",))

    def setUp(self):
        super().setUp()
        for name in self.NAMES:
            self.client.configure(self.own + name)

    def expected(self, prefixes, after=None):
        return sorted((self.own + name for name in self.NAMES
                       if name.startswith(prefixes) and (after is None
                                                         or name.encode() > after.encode())),
                      key=str.encode)

    def names(self, holder, **query):
        """Page by page; every page is as full as it can be."""
        names, limit = [], query.get("limit", 100)
        while True:
            page = holder.page("/v1/queues", **query)
            names += [one["name"] for one in page["queues"]]
            self.assertLessEqual(len(page["queues"]), limit)
            if "next" not in page:
                return names
            self.assertEqual((page["next"], len(page["queues"])), (names[-1], limit))
            query["after"] = page["next"]

    def test_each_sees_its_own_queues_in_pages_of_every_size(self):
        for prefixes in self.BOUND:
            holder = self.holder("work", [self.own + prefix for prefix in prefixes])
            wanted = self.expected(prefixes)
            for limit in (*range(1, len(wanted) + 2), 1000):
                self.assertEqual(self.names(holder, limit=limit), wanted, (prefixes, limit))

    def test_after_may_be_any_name(self):
        for prefixes in (("a/b/", "b/"), ("a",), ("a/1", "é", "c")):
            holder = self.holder("enqueue", [self.own + prefix for prefix in prefixes])
            for after in (*self.NAMES, "A", "a/b/", "a/b/0", "a/b/9", "b", "zz", "\U0010ffff"):
                for limit in (1, 3, 100):
                    self.assertEqual(self.names(holder, limit=limit, after=self.own + after),
                                     self.expected(prefixes, after), (prefixes, after, limit))

    def test_64_prefixes(self):
        holder = self.holder("work", [self.own + f"no{number}" for number in range(62)]
                             + [self.own + "a/b/", self.own + "é/2"])
        self.assertEqual(self.names(holder, limit=2), self.expected(("a/b/", "é/2")))

    def test_whoever_is_bound_to_nothing_sees_all(self):
        holder = self.holder("work", ())
        self.assertEqual([name for name in self.names(holder) if name.startswith(self.own)],
                         self.expected(("",)))


if __name__ == "__main__":
    main()
