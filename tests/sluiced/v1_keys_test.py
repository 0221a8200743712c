"""The Idempotency-Key of the native API: the same call with the same key happens once."""
from harness import OwnServiceTest, in_threads, main
from v1 import V1Test, held, path_of


class Jobs(V1Test):
    """The same call with the same key happens once."""

    def test_one_job(self):
        for members in ({}, {"id": "j", "payload": [1], "delay_ms": 5, "retry": {}}):
            ids = [self.client.enqueue(self.queue, key=f"k{len(members)}", **members)
                   for _ in range(3)]
            self.assertEqual(len(set(ids)), 1)
        self.assertEqual(len(self.client.job_ids(self.queue)), 2)

    def test_many_jobs(self):
        for number in (3, 1000, 2500):
            jobs = [{"id": "taken"}, *[{}] * (number - 1)]
            first, again = (self.client.enqueue_many(self.queue, jobs, key=f"k{number}")
                            for _ in range(2))
            self.assertEqual(first, again)
            self.assertEqual("error" in first[0], number > 3)
        self.assertEqual(self.client.counts(self.queue), {"ready": 3 + 999 + 2499})

    def test_at_once_from_many_connections(self):
        ids = in_threads(8, lambda index: self.new_client().enqueue(self.queue, key="k"))
        self.assertEqual(len(set(ids)), 1)
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_the_key_of_another_call_is_refused(self):
        path = path_of(self.queue) + "/jobs"
        self.client.enqueue(self.queue, "j", key="k", payload=1)
        for body in ({}, {"id": "j"}, {"id": "j", "payload": 2}, {"id": "i", "payload": 1},
                     {"id": "j", "payload": 1, "priority": 5}):
            self.refused("invalid_argument", "POST", path, body, key="k")
        self.refused("invalid_argument", "POST", path_of(self.queue, "j") + "/cancel", key="k")
        self.refused("invalid_argument", "POST", "/v1/claim", {"queues": [self.queue]}, key="k")
        self.assertEqual(self.client.enqueue(self.queue, "j", key="k", payload=1), "j")
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_each_queue_has_its_own_keys(self):
        other = self.named("other")
        self.client.enqueue(self.queue, "j", key="k")
        self.client.enqueue(other, "i", key="k")
        self.assertEqual((self.client.job_ids(self.queue), self.client.job_ids(other)),
                         (["j"], ["i"]))

    def test_a_refused_call_may_be_made_again(self):
        path = path_of(self.queue) + "/jobs"
        self.client.configure(self.queue, backlog_max=0)
        self.refused("limit_exceeded", "POST", path, {}, key="k")
        self.client.configure(self.queue, backlog_max=None)
        ids = {self.client.enqueue(self.queue, key="k") for _ in range(2)}
        self.assertEqual(len(ids), 1)

    def test_a_key_has_up_to_256_bytes(self):
        path = path_of(self.queue) + "/jobs"
        for key in ("x" * 256, "/", " a  b ", "k"):
            self.assertEqual(len({self.client.enqueue(self.queue, key=key) for _ in range(2)}), 1)
        for key in ("x" * 257, "\xff"):
            self.refused("invalid_argument", "POST", path, {}, key=key)
        self.assertEqual(len({self.client.enqueue(self.queue, key="") for _ in range(2)}), 2)

    def test_every_verb_on_a_job(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.client.enqueue(self.queue, "j")
        path = path_of(self.queue, "j")
        for number, (method, more, body, lane) in enumerate((
                ("POST", "/hold", None, "held"), ("POST", "/unhold", None, "ready"),
                ("PATCH", "", {"priority": 9}, "ready"), ("POST", "/cancel", None, "cancelled"),
                ("POST", "/requeue", None, "ready"), ("POST", "/break-lease", None, "ready"),
                ("POST", "/cancel", None, "cancelled"), ("DELETE", "", None, "gone"))):
            if more == "/break-lease":
                self.client.claim_one(self.queue)
            for _ in range(3):
                self.assertEqual(self.client.ok(method, path + more, body, key=f"k{number}"), {})
                self.assertEqual(self.client.lane(self.queue, "j"), lane)
            if more:
                self.refused("conflict", method, path + more, body)
        self.refused("not_found", "GET", path)


class Claims(V1Test):
    def test_the_same_leases_come_again(self):
        self.client.fill(self.queue, 10)
        first = self.client.claim(self.queue, max=3, key="k", worker="w")
        for worker in ("w", "another"):
            self.assertEqual(self.client.claim(self.queue, max=3, key="k", worker=worker), first)
        self.assertEqual(self.client.counts(self.queue), {"leased": 3, "ready": 7})

    def test_only_those_that_are_still_held_come_again(self):
        self.client.fill(self.queue, 10)
        leases = self.client.claim(self.queue, max=4, key="k")
        self.client.ack(leases[0])
        self.client.change("cancel", self.queue, "1")
        deadline = self.client.extend(leases[2], lease_ms=500_000)
        again = self.client.claim(self.queue, max=4, key="k")
        self.assertEqual([one["id"] for one in again], ["2", "3"])
        self.assertEqual(again[0]["deadline_at"], deadline)
        self.assertEqual(self.client.counts(self.queue), {"leased": 2, "ready": 6})

    def test_a_claim_that_got_nothing_may_be_made_again(self):
        self.assertEqual(self.client.claim(self.queue, key="k"), [])
        self.client.enqueue(self.queue, "j")
        for _ in range(2):
            self.assertEqual(self.client.claim_ids(self.queue, max=1, key="k"), ["j"])

    def test_the_key_of_another_claim_is_refused(self):
        self.client.fill(self.queue, 10)
        self.client.claim(self.queue, key="k")
        for members in ({"max": 2}, {"lease_ms": 1000}, {"skip_groups": ["g"]},
                        {"queues": [self.queue, "other"]}, {"wait_ms": 50, "max": 2}):
            self.refused("invalid_argument", "POST", "/v1/claim",
                         {"queues": [self.queue], **members}, key="k")
        self.assertEqual(self.client.counts(self.queue), {"leased": 1, "ready": 9})


class Workers(V1Test):
    def test_one_item(self):
        for verb, members, other, counts in (
                ("ack", {"children": [{}]}, {"result": "x"}, {"ready": 1}),
                ("fail", {"delay_ms": 60_000}, {"error": "x"}, {"scheduled": 1}),
                ("release", {}, {"delay_ms": 1}, {"ready": 1}),
                ("extend", {"lease_ms": 99_999}, {"progress": "x"}, {"leased": 1})):
            with self.subTest(verb):
                queue = f"{self.queue} {verb}"
                lease = self.leased(queue=queue)
                answers = [self.client.settle(verb, lease, key="k", **members) for _ in range(3)]
                self.assertEqual(answers, answers[:1] * 3)
                self.assertEqual(self.client.counts(queue), counts)
                for body in (held(lease, **members, **other), held(self.leased(queue=queue))):
                    self.refused("invalid_argument", "POST", f"/v1/{verb}", body, key="k")

    def test_each_of_many_items(self):
        for verb in ("ack", "fail", "release", "extend"):
            with self.subTest(verb):
                queue = f"{self.queue} {verb}"
                leases = self.leased(4, queue=queue)
                self.client.change("cancel", queue, leases[1]["id"])
                items = [held(lease) for lease in leases]
                first = self.client.settle_many(verb, items, key="k")
                counts = self.client.counts(queue)
                self.assertEqual([one.get("error", {}).get("code") for one in first],
                                 [None, "lease_lost", None, None])
                self.assertEqual(self.client.settle_many(verb, items, key="k"), first)
                self.assertEqual(self.client.counts(queue), counts)
                # Nothing of it is remembered under the key itself, or done again without one.
                if verb != "extend":
                    again = self.client.settle_many(verb, items)
                    self.assertEqual({one["error"]["code"] for one in again}, {"lease_lost"})

    def test_an_item_under_the_key_of_another_is_refused(self):
        one, other = self.leased(2)
        self.client.settle_many("release", [held(one)], key="k")
        results = self.client.settle_many("release", [held(other), held(other)], key="k")
        self.assertEqual([result.get("error", {}).get("code") for result in results],
                         ["invalid_argument", None])

    def test_a_lost_lease_is_not_remembered(self):
        lease = self.leased()
        self.client.release(lease)
        self.refused("lease_lost", "POST", "/v1/ack", held(lease), key="k")
        self.client.ack(self.client.claim_one(self.queue), key="k")


class Restart(OwnServiceTest, V1Test):
    def test_what_was_answered_before_a_kill_is_answered_after_it(self):
        self.client.fill(self.queue, 3)
        leases = self.client.claim(self.queue, max=3, key="claim")
        self.client.ack(leases[0], key="ack")
        self.client.change("cancel", self.queue, "2", key="cancel")
        self.service.kill()
        self.service.start()
        self.assertEqual(self.client.claim(self.queue, max=3, key="claim"), leases[1:2])
        self.assertEqual(self.client.ack(leases[0], key="ack"), {})
        self.client.change("cancel", self.queue, "2", key="cancel")
        self.assertEqual(self.client.counts(self.queue), {"leased": 1})
        self.check_store(self.service)


if __name__ == "__main__":
    main()
