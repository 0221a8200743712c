"""Batches of the native API: jobs that belong together, how they end, and what follows."""
from base64 import b64encode

from harness import OwnServiceTest, in_threads, main, wait_until
from v1 import V1Test, below, held, path_of

TEMPLATE_BYTES_MAX = 16_000


class BatchTest(V1Test):
    def path(self, id="b", *verb):
        return below(self.queue, "batches", id, *verb)

    def open(self, id="b", key=None, **callbacks):
        return self.client.ok("POST", below(self.queue, "batches"), {"id": id, **callbacks},
                              key)["id"]

    def open_with_both(self, id="b"):
        """Whatever follows is in a queue of its own: the ids are those of the callbacks."""
        return self.open(id, on_success={"queue": self.named("next"), "id": "success"},
                         on_end={"queue": self.named("next"), "id": "end"})

    def callbacks(self):
        """Those that were enqueued."""
        answer = self.client.call("GET", path_of(self.named("next")) + "/jobs")
        return [job["id"] for job in answer.body["jobs"]] if answer.status == 200 else []

    def add(self, number=1, id="b"):
        self.client.enqueue_many(self.queue, [{"batch": id}] * number)

    def verb(self, verb, id="b", key=None):
        return self.client.ok("POST", self.path(id, verb), key=key)

    def look(self, *names, id="b"):
        """The members of these names, or all."""
        batch = self.client.ok("GET", self.path(id))
        return tuple(batch.get(name) for name in names) if names else batch

    def ack_all(self):
        while leases := self.client.claim(self.queue, max=1000):
            self.client.settle_many("ack", list(map(held, leases)))


class Life(BatchTest):
    def test_from_the_beginning_to_the_end(self):
        self.assertEqual(self.open_with_both(), "b")
        batch = self.look()
        created = batch["created_at"]
        expected = {"queue": self.queue, "id": "b", "created_at": created, "sealed": False,
                    "cancelled": False, "succeeded": False, "total": 0, "pending": 0, "done": 0,
                    "dead": 0, "dropped": 0}
        self.assertEqual(batch, expected)
        self.add(3)
        leases = self.client.claim(self.queue, max=2)
        self.assertEqual({lease["batch"] for lease in leases}, {"b"})
        self.client.ack(leases[0])
        self.assertEqual(self.look(), {**expected, "total": 3, "pending": 2, "done": 1})
        self.assertEqual(self.verb("seal"), {})
        self.assertEqual(self.look("sealed", "pending", "ended_at"), (True, 2, None))
        self.client.ack(leases[1])
        self.assertEqual(self.callbacks(), [])
        self.client.ack(self.client.claim_one(self.queue))
        # They are there as soon as the ack is answered: it is one transaction.
        self.assertEqual(sorted(self.callbacks()), ["end", "success"])
        batch = self.look()
        self.assertGreaterEqual(batch.pop("ended_at"), created)
        self.assertEqual(batch, {**expected, "sealed": True, "succeeded": True, "total": 3,
                                 "done": 3, "success_id": "success", "end_id": "end"})

    def test_ids_are_made_if_none_is_given(self):
        ids = [self.client.ok("POST", below(self.queue, "batches"), body)["id"]
               for body in ({}, {"id": None}, {"on_success": None, "on_end": None})]
        self.assertEqual((ids, {len(id) for id in ids}), (sorted(set(ids)), {26}))

    def test_it_does_not_end_until_it_is_sealed(self):
        self.open_with_both()
        self.add(2)
        self.ack_all()
        self.assertEqual((self.look("pending", "ended_at"), self.callbacks()), ((0, None), []))
        self.add(1)
        self.verb("seal")
        self.assertEqual(self.callbacks(), [])
        self.ack_all()
        self.assertEqual((self.look("total", "done"), len(self.callbacks())), ((3, 3), 2))

    def test_an_empty_one_ends_with_its_seal(self):
        self.open_with_both()
        self.verb("seal")
        self.assertEqual((self.look("succeeded", "total"), len(self.callbacks())), ((True, 0), 2))
        self.verb("seal")
        self.assertEqual(len(self.callbacks()), 2)

    def test_without_callbacks_nothing_follows(self):
        self.open()
        self.add()
        self.verb("seal")
        self.ack_all()
        self.assertEqual(self.look("succeeded", "success_id", "end_id"), (True, None, None))
        self.assertEqual(self.client.counts(self.queue), {})

    def test_one_that_failed_leaves_the_end_only(self):
        for lane in ("dead", "cancelled"):
            with self.subTest(lane):
                self.client.configure(self.named("next"))
                id = self.open(lane, on_success={}, on_end={"queue": self.named("next"),
                                                            "id": lane})
                self.add(2, id)
                self.verb("seal", id)
                lease = self.client.claim_one(self.queue)
                if lane == "dead":
                    self.client.fail(lease, dead=True)
                else:
                    self.client.change("cancel", self.queue, lease["id"])
                self.assertEqual(self.look("pending", "ended_at", id=id), (1, None))
                self.ack_all()
                self.assertEqual(self.look("succeeded", "done", "dead", "dropped", "success_id",
                                           "end_id", id=id),
                                 (False, 1, lane == "dead", lane == "cancelled", None, lane))
        self.assertEqual(sorted(self.callbacks()), ["cancelled", "dead"])

    def test_a_job_that_is_requeued_in_time_may_still_make_it_succeed(self):
        self.open_with_both()
        self.add(2)
        self.verb("seal")
        lease = self.client.claim_one(self.queue)
        self.client.fail(lease, dead=True)
        self.client.change("requeue", self.queue, lease["id"])
        self.assertEqual(self.look("pending", "dead"), (2, 0))
        self.ack_all()
        self.assertEqual((self.look("succeeded"), len(self.callbacks())), ((True,), 2))

    def test_what_is_requeued_after_the_end_changes_nothing(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.open_with_both()
        self.add()
        self.verb("seal")
        lease = self.client.claim_one(self.queue)
        self.client.fail(lease, dead=True)
        batch = self.look()
        self.client.change("requeue", self.queue, lease["id"])
        self.ack_all()
        self.assertEqual((self.look(), self.callbacks()), (batch, ["end"]))

    def test_who_may_add_to_a_sealed_one(self):
        jobs = path_of(self.queue) + "/jobs"
        self.open_with_both()
        self.add(2)
        self.client.enqueue(self.queue, "stranger", priority=9)
        self.verb("seal")
        self.refused("conflict", "POST", jobs, {"batch": "b"})
        first, second, stranger = self.client.claim(self.queue, max=3)
        self.refused_settle("conflict", "ack", stranger, children=[{"batch": "b"}])
        self.client.ack(first, children=[{"batch": "b"}] * 2)
        self.assertEqual(self.look("total", "pending"), (4, 3))
        self.client.ack(second)
        self.ack_all()
        self.assertEqual((self.look("done", "succeeded"), len(self.callbacks())), ((4, True), 2))
        self.refused("conflict", "POST", jobs, {"batch": "b"})
        self.client.ack(stranger)

    def test_a_batch_is_of_one_queue(self):
        other = self.named("other")
        self.open()
        self.client.enqueue(other)
        for queue, id in ((other, "b"), (self.queue, "none")):
            self.refused("not_found", "POST", path_of(queue) + "/jobs", {"batch": id})
            self.refused("not_found", "GET", below(queue, "batches", id))
        results = self.client.enqueue_many(self.queue, [{"batch": "none"}, {"batch": "b"}])
        self.assertEqual((results[0]["error"]["code"], self.look("total")), ("not_found", (1,)))

    def test_many_workers_end_it_once(self):
        self.open_with_both()
        self.add(400)
        self.verb("seal")

        def work(_):
            client, done = self.new_client(), 0
            while leases := client.claim(self.queue, max=3):
                for lease in leases:
                    client.ack(lease)
                    done += 1
            return done

        self.assertEqual(sum(in_threads(8, work)), 400)
        self.assertEqual((self.look("done", "succeeded"), sorted(self.callbacks())),
                         ((400, True), ["end", "success"]))


class Callbacks(BatchTest):
    def finish(self, id):
        self.add(1, id)
        self.verb("seal", id)
        self.client.ack(self.client.claim_one(self.queue))

    def test_everything_of_the_job_is_kept_and_used(self):
        other = self.named("other")
        self.client.configure(other, labels=[{"name": "soon", "priority": 3}])
        retry = {"attempts_max": 9, "base_ms": 1, "factor": 1.5, "cap_ms": 7, "jitter": 0.5}
        self.open(on_success={"queue": other, "id": "j", "group": "g", "label": "soon",
                              "delay_ms": 60_000, "ttl_ms": 3_600_000, "retry": retry,
                              "payload": [1, None]},
                  on_end={"priority": -5, "hold": True, "payload_base64": "/w=="})
        self.finish("b")
        job = self.client.job(other, "j")
        enqueued = job["enqueued_at"]
        self.assertEqual(enqueued, *self.look("ended_at"))
        self.assertEqual(job, {
            "queue": other, "id": "j", "group": "g", "lane": "scheduled", "priority": 3,
            "attempts": 0, "lapses": 0, "enqueued_at": enqueued, "due_at": enqueued + 60_000,
            "expires_at": enqueued + 3_600_000, "retry": retry, "payload": [1, None],
            "payload_bytes": len("[1, null]")})
        job = self.client.job(self.queue, *self.look("end_id"))
        self.assertEqual((job["priority"], job["lane"], job["payload_base64"], "batch" in job),
                         (-5, "held", "/w==", False))

    def test_one_that_is_refused_is_told(self):
        self.client.configure(self.queue, labels=[{"name": "mine", "priority": 1}])
        self.client.enqueue(self.named("next"), "success")
        self.open_with_both()
        self.open("label", on_end={"label": "mine"})
        self.finish("b")
        self.assertEqual((self.look("succeeded", "success_id", "end_id"), self.callbacks()),
                         ((True, None, "end"), ["success", "end"]))
        self.assertIn('"success"', *self.look("error"))
        self.client.configure(self.queue, labels=[])
        self.finish("label")
        self.assertEqual(self.look("end_id", id="label"), (None,))
        self.assertIn('"mine"', *self.look("error", id="label"))

    def test_the_backlog_does_not_hold_them_back(self):
        self.client.configure(self.named("next"), backlog_max=0)
        self.open_with_both()
        self.finish("b")
        self.assertEqual(len(self.callbacks()), 2)
        self.refused("limit_exceeded", "POST", path_of(self.named("next")) + "/jobs", {})

    def test_what_a_callback_may_not_be(self):
        most = TEMPLATE_BYTES_MAX
        for job in (5, True, "x", [], {"unique": {"key": "k"}}, {"after": [{"id": "i"}]},
                    {"batch": "b"}, {"due_at": 0}, {"queue": ""}, {"queue": "q" * 257},
                    {"queue": 5}, {"id": "i" * 257}, {"group": ""}, {"delay_ms": -1},
                    {"label": "low", "priority": 1}, {"priority": 2**31}, {"payload_base64": "x"},
                    {"retry": {"attempts_max": 0}}, {"hold": 1}, {"payload": "x" * (most - 1)},
                    {"payload_base64": b64encode(b"x" * (most + 1)).decode()}):
            for name in ("on_success", "on_end"):
                self.refused("invalid_argument", "POST", below(self.queue, "batches"), {name: job})
        self.refused("not_found", "GET", path_of(self.queue))

    def test_the_largest_payloads(self):
        most = TEMPLATE_BYTES_MAX
        self.open(on_success={"payload": "x" * (most - 2)},
                  on_end={"payload_base64": b64encode(b"\xff" * most).decode()})
        self.finish("b")
        for id in self.look("success_id", "end_id"):
            self.assertEqual(self.client.job(self.queue, id)["payload_bytes"], most)


class Calls(BatchTest):
    def test_names_and_pages(self):
        names = ["a/b", "%2F", " ", "\U0001f600", "..", "?", "x" * 256, "\u00fc" * 128, "seal"]
        for name in names:
            self.open(name)
            self.assertEqual(self.look("id", id=name), (name,))
            self.verb("seal", name)
        path = below(self.queue, "batches")
        names.sort(key=lambda name: name.encode())
        for limit in (1, 4, 9, 10, 1000):
            self.assertEqual([one["id"] for one in self.client.pages(path, limit=limit)], names)
        page = self.client.page(path, after="..", limit=1)
        self.assertEqual((page["batches"], page["next"]), ([self.look(id="?")], "?"))
        for limit in ("0", "1001", "x"):
            self.refused("invalid_argument", "GET", f"{path}?limit={limit}")
        for name in ("x" * 257, "\u00fc" * 128 + "x"):
            self.refused("invalid_argument", "POST", path, {"id": name})
            for method, *verb in (("GET",), ("POST", "seal"), ("POST", "cancel")):
                self.refused("invalid_argument", method, self.path(name, *verb))
        for name in ("", 5, True, []):
            self.refused("invalid_argument", "POST", path, {"id": name})

    def test_an_id_is_taken_as_long_as_the_batch_is_kept(self):
        self.open("b")
        self.refused("already_exists", "POST", below(self.queue, "batches"), {"id": "b"})
        self.verb("seal")
        self.refused("already_exists", "POST", below(self.queue, "batches"), {"id": "b"})

    def test_what_does_not_exist(self):
        for queue in (self.queue, self.named("other")):
            for method, *verb in (("GET",), ("POST", "seal"), ("POST", "cancel")):
                self.refused("not_found", method, below(queue, "batches", "b", *verb))
            if queue == self.queue:
                self.refused("not_found", "GET", below(queue, "batches"))
                self.client.configure(self.named("other"))

    def test_keys_make_calls_happen_once(self):
        first = self.client.ok("POST", below(self.queue, "batches"), {"on_end": {}}, "k1")
        for _ in range(2):
            self.assertEqual(self.client.ok("POST", below(self.queue, "batches"), {"on_end": {}},
                                            "k1"), first)
            self.assertEqual(self.open("b", key="k2"), "b")
        for body in ({}, {"on_success": {}}, {"on_end": {"payload": 1}}):
            self.refused("invalid_argument", "POST", below(self.queue, "batches"), body, "k1")
        for _ in range(2):
            self.assertEqual(self.verb("seal", first["id"], "k3"), {})
        self.refused("invalid_argument", "POST", self.path("b", "seal"), key="k3")
        self.refused("conflict", "POST", self.path(first["id"], "cancel"), key="k4")
        for _ in range(2):
            self.assertEqual(self.verb("cancel", "b", "k4"), {})
        self.assertEqual(len(self.client.pages(below(self.queue, "batches"))), 2)
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_keys_that_come_at_once(self):
        ids = in_threads(8, lambda index: self.new_client().ok(
            "POST", below(self.queue, "batches"), {}, "k")["id"])
        self.assertEqual((len(set(ids)), len(self.client.pages(below(self.queue, "batches")))),
                         (1, 1))


class Cancelling(BatchTest):
    def test_every_lane_is_left(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.open_with_both()
        self.client.enqueue_many(self.queue, [{"id": "done", "batch": "b", "priority": 0},
                                              {"id": "leased", "batch": "b", "priority": 1}])
        self.client.ack(self.client.claim_one(self.queue))
        lease = self.client.claim_one(self.queue)
        self.client.enqueue_many(self.queue, [
            {"id": "held", "batch": "b", "hold": True}, {"id": "ready", "batch": "b"},
            {"id": "scheduled", "batch": "b", "delay_ms": 60_000},
            {"id": "waiting", "batch": "b", "after": [{"id": "held"}]}, {"id": "stranger"}])
        self.assertEqual(self.verb("cancel"), {})
        self.assertEqual(self.look("sealed", "cancelled"), (True, True))
        self.assertEqual(self.client.claim_ids(self.queue), ["stranger"])
        wait_until(lambda: self.look("ended_at") != (None,), "the batch to end")
        self.assertEqual(self.look("succeeded", "total", "pending", "done", "dropped", "success_id",
                                   "end_id"), (False, 6, 0, 1, 5, None, "end"))
        for id in ("held", "ready", "scheduled", "waiting", "leased"):
            self.assertEqual(self.client.lane(self.queue, id), "cancelled", id)
        self.assertEqual((self.client.lane(self.queue, "done"), self.callbacks()),
                         ("done", ["end"]))
        self.refused_settle("lease_lost", "ack", lease)

    def test_calls_on_a_cancelled_one(self):
        self.open()
        self.add(1)
        for _ in range(2):
            self.verb("cancel")
        self.refused("conflict", "POST", path_of(self.queue) + "/jobs", {"batch": "b"})
        self.verb("seal")
        wait_until(lambda: self.look("ended_at") != (None,), "the batch to end")
        self.refused("conflict", "POST", self.path("b", "cancel"))
        self.verb("seal")


class Large(BatchTest, OwnServiceTest):
    """Ten thousand jobs, more than one transaction takes."""

    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: self.check_store(self.service))

    def fill(self):
        self.open_with_both()
        self.add(10_000)
        self.client.enqueue(self.queue, "stranger", priority=9)
        self.client.settle_many("ack", [held(one) for one in self.client.claim(self.queue, max=7)])
        return self.client.claim(self.queue, max=1000, lease_ms=600_000)

    def check_end(self, leases):
        wait_until(lambda: self.look("ended_at") != (None,), "the batch to end")
        self.assertEqual(self.look("total", "pending", "done", "dropped", "dead"),
                         (10_000, 0, 7, 9_993, 0))
        self.assertEqual(self.callbacks(), ["end"])
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})
        results = self.client.settle_many("ack", list(map(held, leases)))
        self.assertEqual({one["error"]["code"] for one in results}, {"lease_lost"})

    def test_it_is_cancelled_by_and_by_and_nobody_gets_a_job_of_it(self):
        leases = self.fill()
        self.verb("cancel")
        self.assertEqual(self.client.claim_ids(self.queue), ["stranger"])
        self.client.change("break-lease", self.queue, "stranger")
        self.check_end(leases)

    def test_it_goes_on_after_a_kill(self):
        leases = self.fill()
        self.verb("cancel")
        for _ in range(3):
            self.service.kill()
            self.service.start()
        self.check_end(leases)


if __name__ == "__main__":
    main()
