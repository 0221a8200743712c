"""The jobs of the native API: how they are enqueued, shown, explained and changed."""
from harness import OwnServiceTest, Stopwatch, main, wait_past, wait_until
from v1 import SPAN_MS_MAX, V1Test, path_of, read_doc, table_rows
from waiting import is_since, now_ms


class Enqueue(V1Test):
    def test_a_job_is_stored_with_its_defaults(self):
        before = now_ms()
        answer = self.client.call("POST", path_of(self.queue) + "/jobs", {})
        self.assertEqual(answer.status, 201)
        job = self.client.job(self.queue, answer.body["id"])
        self.assertTrue(is_since(before, job.pop("enqueued_at")))
        self.assertEqual(job, {**answer.body, "queue": self.queue, "lane": "ready", "priority": 5,
                               "attempts": 0, "lapses": 0, "payload_bytes": 0,
                               "payload_base64": ""})

    def test_a_job_keeps_everything_that_it_was_enqueued_with(self):
        self.client.enqueue(self.queue, "j", group="g", payload={"a": 1}, priority=-7,
                            delay_ms=60_000, ttl_ms=3_600_000, retry={"attempts_max": 9,
                                                                      "base_ms": 10, "jitter": 0.5})
        job = self.client.job(self.queue, "j")
        enqueued = job["enqueued_at"]
        self.assertEqual(job, {
            "queue": self.queue, "id": "j", "group": "g", "lane": "scheduled", "priority": -7,
            "attempts": 0, "lapses": 0, "enqueued_at": enqueued, "due_at": enqueued + 60_000,
            "expires_at": enqueued + 3_600_000, "payload_bytes": 8, "payload": {"a": 1},
            "retry": {"attempts_max": 9, "base_ms": 10, "factor": 2.0, "cap_ms": 300_000,
                      "jitter": 0.5}})

    def test_null_is_the_same_as_nothing(self):
        plain = self.client.enqueue(self.queue)
        nulls = self.client.enqueue(self.queue, **dict.fromkeys(
            ("id", "group", "payload_base64", "priority", "label", "delay_ms", "due_at", "ttl_ms",
             "hold", "batch", "retry", "unique", "after")))
        jobs = [self.client.job(self.queue, one) for one in (plain, nulls)]
        self.assertEqual(*({**job, "id": "", "enqueued_at": 0} for job in jobs))

    def test_ids_that_are_made_sort_as_they_were_enqueued(self):
        ids = [self.client.enqueue(self.queue) for _ in range(20)]
        ids += [one["id"] for one in self.client.enqueue_many(self.queue, [{}] * 20)]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual({len(one) for one in ids}, {26})

    def test_an_id_is_taken_once(self):
        for _ in range(3):
            self.client.enqueue(self.queue, "j")
            for _ in range(2):
                self.refused("already_exists", "POST", path_of(self.queue) + "/jobs", {"id": "j"})
            self.client.ack(self.client.claim_one(self.queue))
        self.client.enqueue(self.named("other"), "j")

    def test_labels_are_names_of_priorities(self):
        for label, priority in (("low", 10), ("high", 0), ("normal", 5)):
            self.client.enqueue(self.queue, label, label=label)
            self.assertEqual(self.client.job(self.queue, label)["priority"], priority)
        self.assertEqual(self.client.claim_ids(self.queue), ["high", "normal", "low"])
        for body in ({"label": "urgent"}, {"label": "high", "priority": 0}):
            self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs", body)

    def test_a_job_may_be_due_later(self):
        now = int(now_ms())
        path = path_of(self.queue) + "/jobs"
        for id, members, lane in (("a", {"delay_ms": 60_000}, "scheduled"),
                                  ("b", {"due_at": now + 60_000}, "scheduled"),
                                  ("c", {"due_at": now - 60_000}, "ready"),
                                  ("d", {"due_at": 0}, "ready"), ("e", {"delay_ms": 0}, "ready"),
                                  ("f", {"delay_ms": SPAN_MS_MAX}, "scheduled"),
                                  ("g", {"due_at": now + SPAN_MS_MAX - 60_000}, "scheduled"),
                                  ("h", {"due_at": now + 60_000, "delay_ms": 0}, "scheduled")):
            self.client.enqueue(self.queue, id, **members)
            self.assertEqual(self.client.lane(self.queue, id), lane, id)
        self.assertEqual(self.client.job(self.queue, "b")["due_at"], now + 60_000)
        for body in ({"delay_ms": 1, "due_at": now}, {"due_at": now + SPAN_MS_MAX + 60_000}):
            self.refused("invalid_argument", "POST", path, body)

    def test_a_delayed_job_is_ready_when_it_is_due_and_not_before(self):
        watch = Stopwatch()
        for id, delay_ms in (("j", 400), ("late", 3_600_000)):
            self.client.enqueue(self.queue, id, delay_ms=delay_ms)
        # The claims begin before the job is due; none of them may get it until then.
        leases = wait_until(lambda: self.client.claim(self.queue, max=10), "the job to be due")
        self.assertTrue(watch.reached(0.39))
        self.assertEqual([lease["id"] for lease in leases], ["j"])
        job = self.client.job(self.queue, "j")
        self.assertGreaterEqual(job["claimed_at"], job["enqueued_at"] + 400)

    def test_a_job_that_nobody_claims_in_its_time_is_dead(self):
        self.client.enqueue(self.queue, "j", ttl_ms=20)
        self.client.enqueue(self.queue, "k", ttl_ms=60_000)
        wait_past(0.03)
        self.assertEqual(self.client.claim_ids(self.queue), ["k"])
        self.wait_for_lane(self.queue, "j", "dead")
        self.assertEqual(self.client.job(self.queue, "j")["reason"], "expired")

    def test_a_job_may_start_on_hold(self):
        self.client.enqueue(self.queue, "j", hold=True)
        self.assertEqual(self.client.claim(self.queue), [])
        self.client.change("unhold", self.queue, "j")
        self.assertEqual(self.client.claim_ids(self.queue), ["j"])

    def test_the_policy_of_a_job_is_its_own(self):
        self.client.configure(self.queue, retry={"attempts_max": 50, "base_ms": 60_000})
        self.client.enqueue(self.queue, "j", retry={"attempts_max": 1})
        self.client.fail(self.client.claim_one(self.queue))
        self.assertEqual(self.client.lane(self.queue, "j"), "dead")

    def test_a_refused_job_makes_no_queue(self):
        self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs", {"label": "x"})
        self.refused("not_found", "GET", path_of(self.queue))
        self.refused("not_found", "GET", path_of(self.queue) + "/jobs")


class Many(V1Test):
    def test_each_has_its_result_in_its_place(self):
        self.client.enqueue(self.queue, "taken")
        results = self.client.enqueue_many(self.queue, [
            {"id": "a", "payload": 1}, {"id": "taken"}, {"id": "b", "priority": 0}, {"id": "a"},
            {"label": "urgent"}, {"batch": "none"}, {"id": "c", "delay_ms": 60_000}])
        self.assertEqual([one.get("id") or one["error"]["code"] for one in results],
                         ["a", "already_exists", "b", "already_exists", "invalid_argument",
                          "not_found", "c"])
        self.assertEqual(self.client.claim_ids(self.queue), ["b", "taken", "a"])
        self.assertEqual(self.client.counts(self.queue), {"leased": 3, "scheduled": 1})

    def test_one_that_cannot_be_read_refuses_them_all(self):
        path = path_of(self.queue) + "/jobs"
        for bad in ({"priority": 1.5}, {"id": ""}, {"payload_base64": "x"}, []):
            message = self.refused("invalid_argument", "POST", path, {"jobs": [{}, bad]})
            self.assertTrue(message.startswith(("jobs[1]", "payload_base64")), message)
        self.refused("not_found", "GET", path_of(self.queue))

    def test_members_beside_jobs_are_passed_over(self):
        answer = self.client.ok("POST", path_of(self.queue) + "/jobs",
                                {"jobs": [{"id": "a"}], "id": "b", "priority": "x"})
        self.assertEqual(answer, {"results": [{"id": "a"}]})

    def test_their_order_is_that_of_the_call_also_over_several_transactions(self):
        self.client.fill(self.queue, 2500)
        ids = self.client.claim_ids(self.queue) + self.client.claim_ids(self.queue)
        self.assertEqual(ids, [str(number) for number in range(2000)])

    def test_large_ones_are_split_by_their_bytes(self):
        results = self.client.enqueue_many(self.queue, [{"payload": "x" * 300_000}] * 6)
        self.assertEqual(len({one["id"] for one in results}), 6)
        self.assertEqual(self.client.counts(self.queue), {"ready": 6})


class Lanes(V1Test):
    """The table of docs/design/queue.md, as far as the API reaches."""

    VERBS = {"cancel": ("POST", "/cancel", None), "requeue": ("POST", "/requeue", None),
             "edit (priority)": ("PATCH", "", {"priority": 7}),
             "edit (due)": ("PATCH", "", {"due_at": int(now_ms()) + 3_600_000}),
             "edit (payload)": ("PATCH", "", {"payload": "new"}), "hold": ("POST", "/hold", None),
             "unhold": ("POST", "/unhold", None), "break_lease": ("POST", "/break-lease", None),
             "remove": ("DELETE", "", None)}

    def job_in(self, lane, id):
        """Makes a job that is in this lane, the only ready or leased one of its queue."""
        members = {"held": {"hold": True}, "scheduled": {"delay_ms": 60_000}}.get(lane, {})
        self.client.enqueue(self.queue, id, **members)
        if lane in ("leased", "done", "dead"):
            lease = self.client.claim_one(self.queue)
            if lane == "done":
                self.client.ack(lease)
            if lane == "dead":
                self.client.fail(lease, dead=True)
        if lane == "cancelled":
            self.client.change("cancel", self.queue, id)
        self.assertEqual(self.client.lane(self.queue, id), lane)

    def test_every_verb_in_every_lane(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        head, _, *rows = table_rows(read_doc("design/queue.md"), "verb")
        table = {row[0]: dict(zip(head[1:], row[1:])) for row in rows}
        for verb, (method, path, body) in self.VERBS.items():
            for lane, expected in table[verb].items():
                if lane == "waiting":
                    continue  # The API has no way there.
                id = f"{verb} {lane}"
                with self.subTest(id):
                    if lane != "absent":
                        self.job_in(lane, id)
                    path_of_job = path_of(self.queue, id) + path
                    if expected in ("not_found", "conflict"):
                        self.refused(expected, method, path_of_job, body)
                        expected = {"absent": "gone"}.get(lane, lane)
                    else:
                        self.assertEqual(self.client.ok(method, path_of_job, body), {})
                    self.assertEqual(self.client.lane(self.queue, id), expected)
                    for lease in self.client.claim(self.queue, max=10):
                        self.client.ack(lease)  # So that it is nobody's next job.

    def test_verbs_need_a_queue(self):
        for method, path, body in (*self.VERBS.values(), ("GET", "", None),
                                   ("GET", "/explain", None)):
            self.refused("not_found", method, path_of(self.queue, "j") + path, body)

    def test_what_is_not_kept_is_gone(self):
        for verb in ("cancel", "ack"):
            self.client.enqueue(self.queue, verb)
            if verb == "cancel":
                self.client.change(verb, self.queue, verb)
            else:
                self.client.ack(self.client.claim_one(self.queue))
            self.refused("not_found", "GET", path_of(self.queue, verb))
        self.assertEqual(self.client.counts(self.queue), {})

    def test_retention_ends(self):
        self.client.configure(self.queue, done_retention_ms=50, dead_retention_ms=50)
        self.client.fill(self.queue, 2)
        self.client.ack(self.client.claim_one(self.queue), result="r")
        self.client.fail(self.client.claim_one(self.queue), dead=True)
        wait_until(lambda: not self.client.counts(self.queue), "the finished jobs to go")

    def test_a_requeued_job_starts_anew(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.client.enqueue(self.queue, "j", ttl_ms=60_000)
        lease = self.client.claim_one(self.queue, worker="w")
        self.client.extend(lease, progress="half")
        self.client.fail(lease, error="bad", dead=True)
        dead = self.client.job(self.queue, "j")
        self.assertEqual((dead["reason"], dead["error"], dead["progress"], dead["worker"],
                          dead["attempts"]), ("refused", "bad", "half", "w", 1))
        self.client.change("requeue", self.queue, "j")
        job = self.client.job(self.queue, "j")
        self.assertEqual((job["lane"], job["attempts"], len(job["history"])), ("ready", 0, 1))
        self.assertFalse({"reason", "error", "progress", "expires_at", "finished_at"} & job.keys())


class Edit(V1Test):
    def test_a_new_priority_takes_a_job_to_its_end(self):
        for id, priority in (("a", 1), ("b", 2), ("c", 2), ("d", 3)):
            self.client.enqueue(self.queue, id, priority=priority)
        self.client.edit(self.queue, "d", priority=2)
        self.client.edit(self.queue, "a", priority=2)
        self.client.edit(self.queue, "b", priority=2)
        self.assertEqual(self.client.claim_ids(self.queue), ["c", "d", "a", "b"])

    def test_a_new_payload_keeps_the_place(self):
        self.client.fill(self.queue, 3, payload="old")
        for payload in ({"new": [1]}, None, "x" * 10_000, 1):
            self.client.edit(self.queue, "1", payload=payload)
            self.assertEqual(self.client.job(self.queue, "1")["payload"], payload)
        leases = self.client.claim(self.queue, max=3)
        self.assertEqual([(one["id"], one["payload"]) for one in leases],
                         [("0", "old"), ("1", 1), ("2", "old")])

    def test_a_due_time_schedules_and_readies(self):
        self.client.enqueue(self.queue, "j")
        due = int(now_ms()) + 3_600_000
        self.client.edit(self.queue, "j", due_at=due)
        self.assertEqual(self.client.job(self.queue, "j")["due_at"], due)
        self.assertEqual(self.client.claim(self.queue), [])
        self.client.edit(self.queue, "j", due_at=0, priority=1, payload=2)
        lease = wait_until(lambda: self.client.claim(self.queue), "the job to be ready")[0]
        self.assertEqual((lease["priority"], lease["payload"]), (1, 2))

    def test_something_must_be_edited(self):
        self.client.enqueue(self.queue, "j")
        for body in ({}, {"priority": None, "due_at": None}, {"group": "g"}):
            self.refused("invalid_argument", "PATCH", path_of(self.queue, "j"), body)
        late = int(now_ms()) + SPAN_MS_MAX + 60_000
        self.refused("invalid_argument", "PATCH", path_of(self.queue, "j"), {"due_at": late})


class Explain(V1Test):
    def reasons(self, id):
        return "; ".join(self.client.ok("GET", path_of(self.queue, id) + "/explain")["reasons"])

    def test_every_lane_has_its_reason(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000, active_max=1)
        self.client.limit_group(self.queue, "g", 0)
        for id, members, reason in (
                ("free", {}, "nothing holds it back"), ("held", {"hold": True}, "unhold it"),
                ("late", {"delay_ms": 60_000}, "it is due at"),
                ("blocked", {"group": "g"}, "its limit allows")):
            self.client.enqueue(self.queue, id, **members)
            self.assertIn(reason, self.reasons(id))
        lease = self.client.claim_one(self.queue, worker="somebody")
        self.assertIn('worker "somebody" has it until', self.reasons("free"))
        self.assertIn("the queue runs 1 of the 1 jobs", self.reasons("blocked"))
        self.client.fail(lease, error="broken", dead=True)
        self.assertIn("a worker gave it up for good (last error: broken)", self.reasons("free"))
        self.client.ok("POST", path_of(self.queue) + "/pause")
        self.assertIn("the queue is paused", self.reasons("blocked"))
        self.client.change("cancel", self.queue, "held")
        self.assertIn("it was cancelled at", self.reasons("held"))


class Restart(OwnServiceTest, V1Test):
    def test_jobs_and_keys_outlive_the_service(self):
        self.client.enqueue(self.queue, "j", key="k", payload={"a": 1}, group="g")
        before = self.client.job(self.queue, "j")
        self.service.kill()
        self.service.start()
        self.assertEqual(self.client.job(self.queue, "j"), before)
        self.assertEqual(self.client.enqueue(self.queue, "j", key="k", payload={"a": 1}, group="g"),
                         "j")
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})
        self.check_store(self.service)


if __name__ == "__main__":
    main()
