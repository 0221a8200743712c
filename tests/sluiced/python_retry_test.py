"""The Python client when calls fail: what it raises, what it repeats, and what happens only once.
"""
from harness import OwnServiceTest, Stopwatch, in_threads, main
from python_client import LOSE_ANSWER, LOSE_REQUEST, Proxy, PythonTest, answer, refusal, sluice

NOW = b"Retry-After: 0"


class Once(PythonTest):
    """Whatever is lost on the way, a call has one effect and the right answer."""

    def setUp(self):
        super().setUp()
        self.proxy, self.far = self.behind_proxy()

    def lossy(self, call, *arguments, **members):
        """What the call answers although a request and two answers are lost."""
        self.proxy.expect(LOSE_ANSWER, LOSE_REQUEST, LOSE_ANSWER)
        answer = call(*arguments, **members)
        self.assertEqual(len(self.proxy.asked), 4, self.proxy.asked)
        self.assertEqual(len({(asked.method, asked.path, asked.key)
                              for asked in self.proxy.asked}), 1, self.proxy.asked)
        return answer

    def test_enqueue(self):
        id = self.lossy(self.far.enqueue, self.queue, [1])
        self.assertEqual(self.client.job_ids(self.queue), [id])
        keys = {self.proxy.asked[0].key}
        self.lossy(self.far.enqueue, self.queue, [1])
        self.assertEqual(len(keys | {self.proxy.asked[0].key}), 2)
        self.assertEqual(self.client.counts(self.queue), {"ready": 2})

    def test_enqueue_of_many(self):
        ids = self.lossy(self.far.enqueue_many, self.queue, [{}] * 2_500)
        self.assertEqual(self.client.job_ids(self.queue), ids)
        self.proxy.expect(LOSE_ANSWER, None, LOSE_REQUEST, LOSE_ANSWER)
        self.assertEqual(len(set(self.far.enqueue_many(self.queue, [{}] * 10_001))), 10_001)
        self.assertEqual(self.client.counts(self.queue), {"ready": 12_501})

    def test_claim(self):
        self.client.fill(self.queue, 5)
        jobs = self.lossy(self.far.claim, self.queue, max=2)
        self.assertEqual([job.id for job in jobs], ["0", "1"])
        self.assertEqual(self.client.counts(self.queue), {"leased": 2, "ready": 3})
        for job in jobs:
            self.sluice.ack(job)

    def test_a_claim_that_waits(self):
        self.client.fill(self.queue, 5)
        self.proxy.expect(LOSE_ANSWER, LOSE_REQUEST)
        jobs = self.far.claim(self.queue, max=2, wait=300)
        self.assertEqual([job.id for job in jobs], ["0", "1"])
        self.assertEqual(self.client.counts(self.queue), {"leased": 2, "ready": 3})
        asked = self.proxy.asked
        self.assertEqual([one.body["wait_ms"] > 0 for one in asked], [True, False, False])
        self.assertEqual(len({one.key for one in asked}), 1)

    def test_a_claim_that_got_nothing_waits_on_under_another_key(self):
        self.proxy.expect(LOSE_REQUEST, None, LOSE_REQUEST, None,
                          lambda: self.sluice.enqueue(self.queue, id="j"))
        self.assertEqual([job.id for job in self.far.claim(self.queue, wait=300)], ["j"])
        asked = self.proxy.asked
        self.assertEqual([one.body["wait_ms"] > 0 for one in asked],
                         [True, False, True, False, True])
        keys = [one.key for one in asked]
        self.assertEqual((keys[0], keys[2], len(set(keys))), (keys[1], keys[3], 3))

    def test_what_workers_say(self):
        for verb, arguments, counts in (
                ("ack", ["r", [{}]], {"ready": 1}), ("fail", ["e", 3600], {"scheduled": 1}),
                ("release", [3600], {"scheduled": 1}), ("extend", [3600], {"leased": 1})):
            with self.subTest(verb):
                queue = f"{self.queue} {verb}"
                self.sluice.enqueue(queue)
                job, = self.sluice.claim(queue)
                self.lossy(getattr(self.far, verb), job, *arguments)
                self.assertEqual(self.client.counts(queue), counts)

    def test_verbs_on_a_job(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.sluice.enqueue(self.queue, id="j")
        for verb, members, lane in (
                ("hold", {}, "held"), ("unhold", {}, "ready"), ("edit", {"priority": 9}, "ready"),
                ("cancel", {}, "cancelled"), ("requeue", {}, "ready"), ("break_lease", {}, "ready"),
                ("cancel", {}, "cancelled"), ("remove", {}, "gone")):
            if verb == "break_lease":
                self.sluice.claim(self.queue)
            self.lossy(getattr(self.far, verb), self.queue, "j", **members)
            self.assertEqual(self.client.lane(self.queue, "j"), lane, verb)

    def test_queues_and_groups(self):
        self.lossy(self.far.configure, self.queue, active_max=3)
        self.lossy(self.far.pause, self.queue)
        self.lossy(self.far.limit_group, self.queue, "g", 2)
        queue = self.lossy(self.far.queue, self.queue)
        self.assertEqual((queue["config"]["active_max"], queue["paused"]), (3, True))
        self.lossy(self.far.resume, self.queue)
        self.assertEqual([group["limit"] for group in self.sluice.groups(self.queue)], [2])

    def test_reads(self):
        id = self.sluice.enqueue(self.queue)
        self.assertEqual(self.lossy(self.far.job, self.queue, id)["id"], id)
        self.lossy(self.far.explain, self.queue, id)
        self.lossy(self.far.verify)
        self.assertEqual(len(self.lossy(list, self.far.jobs(self.queue))), 1)
        self.assertEqual(len(self.lossy(list, self.far.groups(self.queue))), 0)
        self.lossy(list, self.far.queues())
        self.lossy(self.far.call, "GET", "/health")

    def test_a_key_of_the_caller(self):
        ids = {client.enqueue(self.queue, "x", key="k") for client in (self.sluice, self.far)}
        many = [client.enqueue_many(self.queue, [{}] * 3, key="m")
                for client in (self.sluice, self.far)]
        self.assertEqual((len(ids), many[0]), (1, many[1]))
        self.assertEqual(self.client.counts(self.queue), {"ready": 4})

    def test_a_call_of_the_caller(self):
        path = f"/v1/queues/{self.queue.replace(' ', '%20')}/jobs"
        self.lossy(self.far.call, "POST", path, {}, key="k")
        for step, count in ((LOSE_REQUEST, 1), (LOSE_ANSWER, 2)):
            self.proxy.expect(step)
            with self.assertRaises(sluice.Unknown):
                self.far.call("POST", path, {})
            self.assertEqual((len(self.proxy.asked), self.client.counts(self.queue)),
                             (1, {"ready": count}))

    def test_a_queue_is_not_removed_twice(self):
        self.sluice.configure(self.queue)
        self.proxy.expect(LOSE_ANSWER)
        with self.assertRaises(sluice.Unknown):
            self.far.remove_queue(self.queue)
        self.assertEqual(len(self.proxy.asked), 1)


class Refused(PythonTest):
    """Answers after which a call is made again, and those after which it is not."""

    def setUp(self):
        super().setUp()
        self.proxy, self.far = self.behind_proxy(retries=2)

    def tries(self, *steps):
        """The error in the end, if there is one, and how often the call was made."""
        self.proxy.plan.clear()
        self.proxy.expect(*steps)
        try:
            self.far.enqueue(self.queue)
            return None, len(self.proxy.asked)
        except sluice.Error as error:
            return type(error), len(self.proxy.asked)

    def test_how_often(self):
        busy, full = refusal(503, "unavailable", NOW), refusal(429, "limit_exceeded", NOW)
        gateway = answer(502, b"gateway")
        for steps, expected in (
                ([busy], (None, 2)), ([full, busy], (None, 3)), ([gateway] * 2, (None, 3)),
                ([busy] * 3, (sluice.Unavailable, 3)), ([full] * 3, (sluice.TooMany, 3)),
                ([gateway] * 3, (sluice.Unknown, 3)), ([LOSE_REQUEST] * 3, (sluice.Unknown, 3)),
                # It may have happened, whatever the others say.
                ([LOSE_ANSWER, busy, busy], (sluice.Unknown, 3)),
                ([LOSE_ANSWER, busy], (None, 3)),
                # This is the whole truth: with its key a call that had happened would succeed.
                ([LOSE_REQUEST, refusal(507, "storage_full")], (sluice.Error, 2)),
                ([refusal(500, "commit_unknown")], (sluice.Unknown, 1)),
                ([refusal(500, "io_error")], (sluice.Error, 1)),
                ([refusal(504, "deadline_exceeded")], (sluice.Error, 1)),
                ([refusal(409, "conflict")], (sluice.Error, 1)),
                ([answer(500, b"?")], (sluice.Error, 1))):
            self.assertEqual(self.tries(*steps), expected, steps)

    def test_a_claim_is_not_repeated_if_the_service_does_not_know(self):
        self.proxy.expect(refusal(500, "commit_unknown"))
        with self.assertRaises(sluice.Unknown) as caught:
            self.far.claim(self.queue, wait=300)
        self.assertEqual([asked.key for asked in self.proxy.asked], [caught.exception.key])

    def test_a_read_is_never_unknown(self):
        for step in (LOSE_ANSWER, answer(502, b"gateway")):
            self.proxy.expect(*[step] * 3)
            with self.assertRaises(sluice.Unavailable):
                self.far.verify()

    def test_what_is_unknown_can_be_settled(self):
        for step, many in ((LOSE_ANSWER, False), (LOSE_REQUEST, False), (LOSE_ANSWER, True)):
            enqueue = self.far.enqueue_many if many else self.far.enqueue
            jobs = [[{}] * 3] if many else []
            self.proxy.expect(*[step] * 3)
            with self.assertRaises(sluice.Unknown) as caught:
                enqueue(self.queue, *jobs)
            self.assertTrue(caught.exception.key)
            enqueue(self.queue, *jobs, key=caught.exception.key)
        self.assertEqual(self.client.counts(self.queue), {"ready": 5})

    def test_it_waits_as_long_as_it_is_told(self):
        self.client.configure(self.queue, backlog_max=1)
        self.client.enqueue(self.queue, "first")
        self.proxy.expect(None, lambda: self.client.change("cancel", self.queue, "first"))
        watch = Stopwatch()
        self.assertEqual(self.far.enqueue(self.queue, id="second"), "second")
        # The service said: in a second.
        self.assertTrue(watch.reached(1))
        self.assertEqual(len(self.proxy.asked), 2)


class Errors(PythonTest):
    def check(self, kind, code, status, call, *arguments, **members):
        with self.assertRaises(sluice.Error) as caught:
            call(*arguments, **members)
        error = caught.exception
        self.assertEqual((type(error), error.code, error.status), (kind, code, status))
        self.assertTrue(error.message)
        self.assertIn(error.message, str(error))
        return error

    def test_each_code_has_its_class(self):
        self.sluice.enqueue(self.queue, id="j")
        error = self.check(sluice.NotFound, "not_found", 404, self.sluice.job, self.queue, "other")
        self.assertEqual(error.advice, "Check the name, or list what is there.")
        self.check(sluice.AlreadyExists, "already_exists", 409, self.sluice.enqueue, self.queue,
                   id="j")
        self.check(sluice.Error, "conflict", 409, self.sluice.requeue, self.queue, "j")
        self.check(sluice.Error, "invalid_argument", 400, self.sluice.claim, [])
        self.check(sluice.Error, "invalid_argument", 404, self.sluice.call, "GET", "/nowhere")
        job, = self.sluice.claim(self.queue)
        self.sluice.release(job)
        for verb in (self.sluice.ack, self.sluice.fail, self.sluice.release, self.sluice.extend):
            self.check(sluice.LeaseLost, "lease_lost", 409, verb, job)
        self.sluice.configure(self.queue, backlog_max=1)
        error = self.check(sluice.TooMany, "limit_exceeded", 429, self.connect(retries=0).enqueue,
                           self.queue)
        self.assertEqual(error.retry_after, 1)

    def test_a_body_that_is_too_large(self):
        self.check(sluice.Error, "invalid_argument", 413, self.sluice.enqueue, self.queue,
                   "x" * 40_000_000)
        self.assertTrue(self.sluice.enqueue(self.queue))

    def test_answers_that_are_none_of_the_service(self):
        proxy, client = self.behind_proxy(retries=0)
        for told, kind, code, status in (
                (answer(401, b"who?"), sluice.Error, "permission_denied", 401),
                (answer(302, b""), sluice.Error, "invalid_argument", 302),
                (answer(500, b"<html>"), sluice.Error, "io_error", 500),
                (answer(500, {"error": "odd"}), sluice.Error, "io_error", 500),
                (answer(502, b"gateway"), sluice.Unknown, "commit_unknown", 0),
                (answer(503, b"nobody"), sluice.Unknown, "commit_unknown", 0),
                (answer(503, b"later", b"Retry-After: 7"), sluice.Unavailable, "unavailable", 503)):
            proxy.expect(told)
            self.check(kind, code, status, client.enqueue, self.queue)
        self.assertEqual(self.client.ok("GET", "/v1/queues").get(self.queue), None)

    def test_nobody_listens(self):
        url = self.connect_to_nobody()
        self.check(sluice.Unavailable, "unavailable", 0, self.connect(url, retries=1).queue, "q")
        with self.assertRaises(ValueError):
            sluice.Client("127.0.0.1:3100")

    def connect_to_nobody(self):
        proxy = Proxy(self)
        proxy.server.shutdown()
        proxy.server.server_close()
        return proxy.url


class Restarted(OwnServiceTest, PythonTest):
    keeps_port = True

    def test_a_connection_that_was_closed_meanwhile_is_noticed(self):
        self.sluice.configure(self.queue)
        self.service.stop()
        self.service.start(same_port=True)
        # This is never repeated.
        self.sluice.remove_queue(self.queue)

    def test_a_service_that_is_away_for_a_moment_is_waited_for(self):
        self.service.kill()
        client = self.connect(retries=1000)

        def run(index):
            if index:
                return client.enqueue(self.queue, id="j")
            return self.service.start(same_port=True)

        self.assertEqual(in_threads(2, run)[1], "j")


if __name__ == "__main__":
    main()
