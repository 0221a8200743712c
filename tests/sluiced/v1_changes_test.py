"""What changes queues and jobs through the native API besides the common verbs: labels, rates,
purges, requeues that keep the attempts, edits to bytes."""
from base64 import b64encode

from harness import main
from v1 import SPAN_MS_MAX, V1Test, held, path_of

HOUR = 3_600_000


class Jobs(V1Test):
    def test_a_requeue_may_keep_the_attempts(self):
        self.client.enqueue(self.queue, "j")
        path = path_of(self.queue, "j") + "/requeue"
        for attempts, body in ((0, None), (0, {}), (0, {"keep_attempts": False}),
                               (0, {"keep_attempts": None}), (1, {"keep_attempts": True}),
                               (2, {"keep_attempts": True, "other": 1}), (0, {})):
            self.client.fail(self.client.claim_one(self.queue), dead=True)
            self.assertEqual(self.client.ok("POST", path, body), {})
            job = self.client.job(self.queue, "j")
            self.assertEqual((job["lane"], job["attempts"]), ("ready", attempts), body)
        self.client.fail(self.client.claim_one(self.queue), dead=True)
        for keep in (0, 1, "true", [], {}):
            self.refused("invalid_argument", "POST", path, {"keep_attempts": keep})
        for _ in range(2):
            self.assertEqual(self.client.ok("POST", path, {"keep_attempts": True}, "k"), {})
        self.refused("invalid_argument", "POST", path, {}, "k")

    def test_an_edit_takes_any_bytes(self):
        self.client.enqueue(self.queue, "j", payload=1)
        for data in (b"", b"\0\xff", b"x" * 100_000):
            text = b64encode(data).decode()
            self.client.edit(self.queue, "j", payload_base64=text)
            job = self.client.job(self.queue, "j")
            self.assertEqual((job["payload_base64"], job["payload_bytes"]), (text, len(data)))
        self.client.edit(self.queue, "j", payload_base64=b64encode(b"[1]").decode())
        self.assertEqual(self.client.job(self.queue, "j")["payload"], [1])
        self.client.edit(self.queue, "j", payload=None, payload_base64=None)
        self.assertIs(self.client.job(self.queue, "j")["payload"], None)
        for text in ("x", "xx", "eA", "eA=", "e A==", "====", 5, [], True):
            self.refused("invalid_argument", "PATCH", path_of(self.queue, "j"),
                         {"payload_base64": text})
        for body in ({}, {"payload_base64": None}):
            self.refused("invalid_argument", "PATCH", path_of(self.queue, "j"), body)


class Queues(V1Test):
    def test_labels_of_a_queue(self):
        labels = [{"name": "x" * 256, "priority": 2**31 - 1}, {"name": " ", "priority": -2**31}]
        labels += [{"name": str(number), "priority": number} for number in range(30)]
        self.assertEqual(self.client.configure(self.queue, labels=labels)["labels"], labels)
        for one in labels:
            id = self.client.enqueue(self.queue, label=one["name"])
            self.assertEqual(self.client.job(self.queue, id)["priority"], one["priority"])
        self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs", {"label": "low"})
        for wrong in (labels + [{"name": "one more", "priority": 0}], labels[:1] * 2, {}, "x", 5,
                      [5], [{}], [{"name": "x"}], [{"priority": 1}], [{"name": "", "priority": 1}],
                      [{"name": "x" * 257, "priority": 1}], [{"name": 5, "priority": 1}],
                      [{"name": "x", "priority": 2**31}], [{"name": "x", "priority": 1.5}],
                      [{"name": "x", "priority": None}]):
            self.refused("invalid_argument", "PUT", path_of(self.queue), {"labels": wrong})
        self.assertEqual(self.client.configure(self.queue)["labels"], labels)
        self.assertEqual(self.client.configure(self.queue, labels=[])["labels"], [])
        self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs", {"label": "0"})

    def test_a_rate_lets_so_many_through(self):
        self.client.fill(self.queue, 100)
        self.client.configure(self.queue, rate={"jobs": 1, "per_ms": SPAN_MS_MAX, "burst": 3})
        self.assertEqual(len(self.client.claim(self.queue, max=2)), 2)
        for number in (1, 0, 0):
            self.assertEqual(len(self.client.claim(self.queue, max=10)), number)
        reasons = self.client.ok("GET", path_of(self.queue, "50") + "/explain")["reasons"]
        self.assertIn("rate", " ".join(reasons))
        self.client.configure(self.queue, rate=None)
        self.assertEqual(len(self.client.claim(self.queue, max=10)), 10)

    def test_a_rate_serves_who_waits(self):
        self.client.fill(self.queue, 3)
        self.client.configure(self.queue, rate={"jobs": 1, "per_ms": 200})
        times = []
        for _ in range(3):
            lease = self.client.claim_one(self.queue, max=10, wait_ms=100_000)
            times.append(self.client.job(self.queue, lease["id"])["claimed_at"])
        for one, other in zip(times, times[1:]):
            self.assertGreaterEqual(other - one, 199)

    def test_what_a_rate_may_be(self):
        for rate, shown in (({"jobs": 7}, (7, 1000, 7)),
                            ({"jobs": 1, "per_ms": None, "burst": None}, (1, 1000, 1)),
                            ({"jobs": 10**6, "per_ms": 1, "burst": 1}, (10**6, 1, 1)),
                            ({"jobs": 1, "per_ms": SPAN_MS_MAX, "burst": 2**63 - 1},
                             (1, SPAN_MS_MAX, 2**63 - 1)),
                            ({"jobs": 10**9, "other": 1}, (10**9, 1000, 10**9))):
            self.assertEqual(self.client.configure(self.queue, rate=rate)["rate"],
                             dict(zip(("jobs", "per_ms", "burst"), shown)))
        for rate in ({}, 5, "x", [], True, {"jobs": 0}, {"jobs": -1}, {"jobs": None}, {"jobs": 1.5},
                     {"per_ms": 1}, {"jobs": 1, "per_ms": 0}, {"jobs": 1, "per_ms": -1},
                     {"jobs": 1, "per_ms": SPAN_MS_MAX + 1}, {"jobs": 1, "burst": 0},
                     {"jobs": 10**6 + 1, "per_ms": 1}, {"jobs": 10**9 + 1},
                     {"jobs": 1, "burst": 2**63}):
            self.refused("invalid_argument", "PUT", path_of(self.queue), {"rate": rate})
        self.assertEqual(self.client.configure(self.queue)["rate"]["jobs"], 10**9)

    def test_purge_removes_the_oldest_of_a_lane(self):
        self.client.configure(self.queue, done_retention_ms=HOUR)
        for verb, members in (("ack", {}), ("fail", {"dead": True})):
            for lease in self.leased(7):
                self.client.settle(verb, lease, **members)
        self.client.fill(self.queue, 1200)
        for id in ("0", "1"):
            self.client.change("cancel", self.queue, id)
        path = path_of(self.queue) + "/purge"
        for lane in ("done", "dead"):
            ids = self.client.job_ids(self.queue, lane=lane)
            for limit, removed in ((3, 3), (1, 1), (2**63 - 1, 3), (5, 0)):
                self.assertEqual(self.client.ok("POST", path, {"lane": lane, "limit": limit}),
                                 {"removed": removed})
                ids = ids[removed:]
                self.assertEqual(self.client.job_ids(self.queue, lane=lane), ids)
        self.assertEqual(self.client.ok("POST", path, {"lane": "cancelled"}), {"removed": 2})
        while leases := self.client.claim(self.queue, max=1000):
            self.client.settle_many("ack", list(map(held, leases)))
        self.assertEqual(self.client.ok("POST", path, {"lane": "done", "limit": None}),
                         {"removed": 1198})
        self.assertEqual(self.client.counts(self.queue), {})

    def test_what_is_not_purged(self):
        path = path_of(self.queue) + "/purge"
        self.refused("not_found", "POST", path, {"lane": "done"})
        self.client.enqueue(self.queue)
        for lane in ("waiting", "held", "scheduled", "ready", "leased", "", "Done", None, 5, []):
            self.refused("invalid_argument", "POST", path, {"lane": lane})
        for limit in (0, -1, 1.5, "1", 2**63, []):
            self.refused("invalid_argument", "POST", path, {"lane": "done", "limit": limit})
        self.refused("invalid_argument", "POST", path, {})
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})


if __name__ == "__main__":
    main()
