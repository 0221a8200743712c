"""The Python client: every call, and every way to the service."""
import base64
import datetime
import os
import unittest

from harness import in_step, in_threads, main, wait_until
from programs import UnixService
from python_client import PythonTest, Thread, refusal, sluice
from tls_test import OPENSSL, TlsService, make_certificate
from waiting import now_ms, utc_now

HOUR = datetime.timedelta(hours=1)


class Jobs(PythonTest):
    def test_a_job_has_what_it_was_given(self):
        due = utc_now().replace(microsecond=0) + HOUR
        due_at = int(due.timestamp()) * 1000
        for members, told in (
                ({"id": "a b/c?%2F\u00fc"}, {"id": "a b/c?%2F\u00fc", "lane": "ready"}),
                ({"group": "g", "priority": -7}, {"group": "g", "priority": -7}),
                ({"label": "high"}, {"priority": 0}),
                ({"delay": 3600.5}, {"lane": "scheduled"}),
                ({"delay": HOUR}, {"lane": "scheduled"}),
                ({"due": due}, {"due_at": due_at}),
                ({"due": due.timestamp()}, {"due_at": due_at}),
                ({"hold": True}, {"lane": "held"}),
                ({"retry": {"attempts_max": 9, "base": 1.5, "cap": HOUR, "factor": 3, "jitter": 0}},
                 {"retry": {"attempts_max": 9, "base_ms": 1500, "cap_ms": 3_600_000, "factor": 3,
                            "jitter": 0}})):
            job = self.sluice.job(self.queue, self.sluice.enqueue(self.queue, **members))
            self.assertEqual({name: job.get(name) for name in told}, told, members)
            if "delay" in members:
                after = job["due_at"] - job["enqueued_at"]
                self.assertEqual(after, 3_600_500 if members["delay"] == 3600.5 else 3_600_000)
        job = self.sluice.job(self.queue, self.sluice.enqueue(self.queue, ttl=HOUR))
        self.assertEqual(job["expires_at"] - job["enqueued_at"], 3_600_000)

    def test_names_that_do_not_exist_are_noticed(self):
        self.sluice.enqueue(self.queue, id="j")
        for slip in (lambda: self.sluice.enqueue(self.queue, dealy=5),
                     lambda: self.sluice.enqueue(self.queue, retry={"attempts": 5}),
                     lambda: self.sluice.enqueue_many(self.queue, [{"queue": "other"}]),
                     lambda: self.sluice.edit(self.queue, "j", due_at=5),
                     lambda: self.sluice.configure(self.queue, lease_ms=5)):
            with self.assertRaises(TypeError):
                slip()
        self.assertEqual(self.client.job_ids(self.queue), ["j"])

    def test_payloads_come_as_they_went(self):
        for payload in (None, True, 0, -1.5, "", "\u00fc\U0001f600\n", [], {"a": [1, {"b": None}]},
                        b"\xff\x00", b"no JSON", bytearray(b"\xfe"), b""):
            id = self.sluice.enqueue(self.queue, payload)
            job, = self.sluice.claim(self.queue)
            for found in (job.payload, self.sluice.job(self.queue, id)["payload"]):
                self.assertEqual((found, type(found) is bytes), (
                    payload, isinstance(payload, (bytes, bytearray))), payload)
            self.sluice.ack(job)
        with self.assertRaises(ValueError):
            self.sluice.enqueue(self.queue, float("nan"))

    def test_any_number_of_jobs_goes_in_batches(self):
        proxy, client = self.behind_proxy()
        for number, sizes in ((0, []), (1, [1]), (10_000, [10_000]), (10_001, [10_000, 1])):
            proxy.expect()
            ids = client.enqueue_many(self.queue, ({"payload": one} for one in range(number)))
            self.assertEqual([len(asked.body["jobs"]) for asked in proxy.asked], sizes)
            self.assertEqual(len(set(ids)), number)
        last = self.sluice.job(self.queue, ids[-1])
        self.assertEqual(last["payload"], 10_000)

    def test_large_jobs_go_in_more_batches(self):
        proxy, client = self.behind_proxy()
        # The members and what is between them take less than 100 bytes.
        large = "x" * (sluice.values.BATCH_BYTES_MAX // 2 - 100)
        for payloads, sizes in (([large] * 5, [2, 2, 1]), ([large * 3, "", ""], [1, 2]),
                                (["", large * 3], [1, 1])):
            proxy.expect()
            ids = client.enqueue_many(self.queue, [{"payload": one} for one in payloads])
            self.assertEqual([len(asked.body["jobs"]) for asked in proxy.asked], sizes)
            self.assertEqual([self.sluice.job(self.queue, id)["payload"] == one
                              for id, one in zip(ids, payloads)], [True] * len(payloads))

    def test_some_of_many_are_refused(self):
        self.sluice.enqueue(self.queue, id="taken")
        with self.assertRaises(sluice.SomeFailed) as caught:
            self.sluice.enqueue_many(self.queue, [{"id": "a"}, {"id": "taken"}, {"id": "b"}])
        first, refused, last = caught.exception.results
        self.assertEqual((first, last, caught.exception.code), ("a", "b", "already_exists"))
        self.assertIsInstance(refused, sluice.AlreadyExists)
        self.assertEqual(len(self.client.job_ids(self.queue)), 3)

    def test_the_service_fails_between_batches(self):
        proxy, client = self.behind_proxy()
        jobs = [{"id": str(number)} for number in range(25_000)]
        proxy.expect(None, refusal(507, "storage_full"))
        with self.assertRaises(sluice.SomeFailed) as caught:
            client.enqueue_many(self.queue, jobs)
        results = caught.exception.results
        self.assertEqual(results[:10_000], [job["id"] for job in jobs[:10_000]])
        self.assertEqual({one.code for one in results[10_000:]}, {"storage_full"})
        self.assertEqual((len(results), len(proxy.asked)), (20_000, 2))
        proxy.expect(refusal(507, "storage_full"))
        with self.assertRaises(sluice.Error) as caught:
            client.enqueue_many(self.queue, jobs)
        self.assertEqual((type(caught.exception), caught.exception.status), (sluice.Error, 507))

    def test_verbs_on_a_job(self):
        lane = lambda: self.client.lane(self.queue, "j")
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.sluice.enqueue(self.queue, id="j")
        for verb, expected in (("hold", "held"), ("unhold", "ready"), ("cancel", "cancelled"),
                               ("requeue", "ready")):
            self.assertIsNone(getattr(self.sluice, verb)(self.queue, "j"))
            self.assertEqual(lane(), expected)
        self.sluice.claim(self.queue)
        self.assertIn("attempt 1", self.sluice.explain(self.queue, "j")["reasons"][0])
        self.sluice.break_lease(self.queue, "j")
        due = int(now_ms() / 1000) + 3600
        self.sluice.edit(self.queue, "j", priority=3, due=due, payload=None)
        job = self.sluice.job(self.queue, "j")
        self.assertEqual((job["priority"], job["due_at"], job["payload"], job["lane"]),
                         (3, due * 1000, None, "scheduled"))
        with self.assertRaises(TypeError):
            self.sluice.edit(self.queue, "j", payload=b"bytes")
        self.sluice.cancel(self.queue, "j")
        self.sluice.remove(self.queue, "j")
        self.assertEqual(lane(), "gone")

    def test_listings_go_from_page_to_page(self):
        ids = self.sluice.enqueue_many(self.queue, [
            {"group": f"g{number % 2}", "hold": number == 5} for number in range(2_001)])
        self.assertEqual([job["id"] for job in self.sluice.jobs(self.queue)], ids)
        self.assertEqual([job["id"] for job in self.sluice.jobs(self.queue, lane="held")], ids[5:6])
        self.assertEqual([job["id"] for job in self.sluice.jobs(self.queue, group="g1")], ids[1::2])
        self.assertEqual([group["name"] for group in self.sluice.groups(self.queue)], ["g0", "g1"])
        self.assertIn(self.queue, [queue["name"] for queue in self.sluice.queues()])


class Leases(PythonTest):
    def test_a_claim_says_what_it_wants(self):
        other = self.named("other")
        self.sluice.enqueue_many(self.queue, [{"id": "a"}, {"id": "b", "group": "g"}, {"id": "c"}])
        self.sluice.enqueue(other, id="d", priority=0)
        jobs = self.sluice.claim([self.queue, other], max=3, lease=HOUR, worker="w",
                                 skip_groups=["g"])
        self.assertEqual([job.id for job in jobs], ["d", "a", "c"])
        self.assertEqual((jobs[0].queue, jobs[0].attempt, jobs[0].priority, jobs[0].group),
                         (other, 1, 0, None))
        self.assertFalse(jobs[0].lost.is_set())
        stored = self.sluice.job(other, "d")
        self.assertEqual((stored["worker"], stored["deadline_at"]), ("w", jobs[0].deadline_at))
        self.assertEqual(stored["deadline_at"] - stored["claimed_at"], 3_600_000)
        self.assertEqual([job.group for job in self.sluice.claim(self.queue)], ["g"])
        self.assertEqual(self.sluice.claim(self.queue), [])

    def test_a_claim_waits(self):
        def run(index, step):
            step()
            if index:
                return self.sluice.enqueue(self.queue, id="j")
            return [job.id for job in self.sluice.claim(self.queue, wait=300)]

        self.assertEqual(in_step(2, run), [["j"], "j"])
        self.assertEqual(self.sluice.claim(self.queue, wait=0.05), [])

    def test_what_workers_say(self):
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        a, b, c, d = self.claimed("a", "b", "c", "d")
        self.sluice.ack(a, "done", [{"id": "child", "payload": b"\xff"},
                                    {"queue": self.named("other"), "delay": HOUR}])
        self.assertEqual(self.sluice.job(self.queue, "a")["result"], "done")
        self.assertEqual(self.sluice.job(self.queue, "child")["payload"], b"\xff")
        self.assertEqual(self.client.counts(self.named("other")), {"scheduled": 1})
        self.sluice.fail(b, "broken", delay=HOUR)
        job = self.sluice.job(self.queue, "b")
        self.assertEqual((job["error"], job["lane"]), ("broken", "scheduled"))
        self.sluice.fail(c, dead=True)
        self.assertEqual(self.client.lane(self.queue, "c"), "dead")
        before = d.deadline_at
        self.sluice.extend(d, HOUR, progress="half")
        job = self.sluice.job(self.queue, "d")
        self.assertEqual((job["progress"], job["deadline_at"]), ("half", d.deadline_at))
        self.assertGreater(d.deadline_at, before)
        self.sluice.release(d, delay=HOUR)
        job = self.sluice.job(self.queue, "d")
        self.assertEqual((job["attempts"], job["lane"]), (0, "scheduled"))

    def test_a_lease_is_extended_by_what_it_was_claimed_for(self):
        self.sluice.enqueue(self.queue, id="j")
        job, = self.sluice.claim(self.queue, lease=HOUR)
        before = job.deadline_at
        self.sluice.extend(job, progress="half")
        # That of the queue would be a minute.
        self.assertGreaterEqual(job.deadline_at, before)

    def claimed(self, *ids):
        self.sluice.enqueue_many(self.queue, [{"id": id} for id in ids])
        return self.sluice.claim(self.queue, max=len(ids))


class Queues(PythonTest):
    def test_settings(self):
        config = self.sluice.configure(self.queue, lease=1.5, done_retention=HOUR, active_max=7,
                                       dead_retention=HOUR, retry={"base": 0.25})["config"]
        self.assertEqual((config["lease_ms"], config["done_retention_ms"], config["active_max"],
                          config["dead_retention_ms"], config["retry"]["base_ms"]),
                         (1500, 3_600_000, 7, 3_600_000, 250))
        config = self.sluice.configure(self.queue, active_max=None, dead_retention=None)["config"]
        self.assertEqual((config["active_max"], config["dead_retention_ms"]), (None, None))
        self.assertEqual(self.sluice.queue(self.queue)["config"], config)

    def test_pause_and_limits(self):
        self.sluice.enqueue_many(self.queue, [{"group": "g"}] * 3)
        self.sluice.pause(self.queue)
        self.assertTrue(self.sluice.queue(self.queue)["paused"])
        self.sluice.resume(self.queue)
        self.assertFalse(self.sluice.queue(self.queue)["paused"])
        self.sluice.limit_group(self.queue, "g", 1)
        self.assertEqual(len(self.sluice.claim(self.queue, max=3)), 1)
        self.sluice.limit_group(self.queue, "g", None)
        wait_until(lambda: len(self.sluice.claim(self.queue)) == 1, "the group to be let in")

    def test_a_queue_is_removed(self):
        self.sluice.configure(self.queue)
        self.sluice.remove_queue(self.queue)
        with self.assertRaises(sluice.NotFound):
            self.sluice.queue(self.queue)

    def test_the_store_is_sound(self):
        self.sluice.enqueue(self.queue)
        report = self.sluice.verify()
        self.assertTrue(report["clean"] and report["jobs"] >= 1, report)

    def test_any_call(self):
        path = f"/v1/queues/{self.queue.replace(' ', '%20')}/jobs"
        id = self.sluice.call("POST", path, {"payload": 1})["id"]
        page = self.sluice.call("GET", path, query={"limit": 1, "lane": None, "group": ""})
        self.assertEqual([job["id"] for job in page["jobs"]], [id])
        self.assertIn("# TYPE ", self.sluice.call("GET", "/metrics"))


class Ways(PythonTest):
    def test_a_connection_serves_many_calls(self):
        proxy, client = self.behind_proxy()
        for _ in range(20):
            client.enqueue(self.queue)
        self.assertEqual((len(proxy.asked), proxy.connections), (20, 1))

    def test_a_token_is_sent_with_every_call(self):
        proxy, client = self.behind_proxy(token="secret")
        client.enqueue(self.queue)
        list(client.jobs(self.queue))
        self.assertEqual([asked.token for asked in proxy.asked], ["Bearer secret"] * 2)
        self.connect(proxy.url).enqueue(self.queue)
        self.assertEqual(proxy.asked[-1].token, None)

    def test_16_threads_share_a_client(self):
        def run(index):
            ids = [self.sluice.enqueue(self.queue, [index, number]) for number in range(25)]
            got = []
            while len(got) < 25:
                for job in self.sluice.claim(self.queue, wait=300):
                    self.sluice.ack(job)
                    got.append((job.id, tuple(job.payload)))
            return ids, got

        answers = in_threads(16, run)
        sent = {id: (index, number) for index, (ids, _) in enumerate(answers)
                for number, id in enumerate(ids)}
        self.assertEqual(len(sent), 400)
        self.assertEqual(sorted(pair for _, got in answers for pair in got), sorted(sent.items()))
        self.assertEqual(self.client.counts(self.queue), {})

    def test_a_process_that_was_forked_has_connections_of_its_own(self):
        proxy, client = self.behind_proxy()
        client.enqueue(self.queue)
        child = os.fork()
        if child == 0:
            try:
                client.enqueue(self.queue, id="of the child")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        client.enqueue(self.queue)
        self.assertEqual((proxy.connections, len(self.client.job_ids(self.queue))), (2, 3))

    def test_a_closed_client_ends_its_calls(self):
        proxy, client = self.behind_proxy()
        claim = Thread(lambda: client.claim(self.queue, wait=300))
        wait_until(lambda: proxy.asked, "the claim to be sent")
        client.close()
        with self.assertRaises(sluice.Unknown):
            claim.join()
        with self.assertRaises(sluice.Unavailable):
            client.enqueue(self.queue)


class Unix(PythonTest):
    @classmethod
    def setUpClass(cls):
        cls.service = UnixService()
        cls.addClassCleanup(cls.service.end)
        cls.service.start()

    def test_a_socket_file(self):
        client = self.connect("unix:" + self.service.path)
        id = client.enqueue(self.queue, "x")
        self.assertEqual([job.id for job in client.claim(self.queue)], [id])


@unittest.skipUnless(OPENSSL, "there is no openssl to make certificates with")
class Tls(PythonTest):
    @classmethod
    def setUpClass(cls):
        cls.service = TlsService()
        cls.addClassCleanup(cls.service.end)
        cls.service.start()

    def test_a_certificate_that_is_trusted(self):
        url = f"https://127.0.0.1:{self.service.port}"
        client = self.connect(url, ca_file=self.service.certificate)
        payload = base64.b64encode(os.urandom(500_000)).decode()
        id = client.enqueue(self.queue, payload)
        self.assertTrue(client.job(self.queue, id)["payload"] == payload)
        client.close()

    def test_a_certificate_that_is_not(self):
        url = f"https://127.0.0.1:{self.service.port}"
        other, _ = make_certificate(self.service.home, "other")
        for ca_file in (None, other):
            with self.assertRaisesRegex(sluice.Unavailable, "(?i)certificate verify failed"):
                self.connect(url, ca_file=ca_file, retries=0).enqueue(self.queue)


if __name__ == "__main__":
    main()
