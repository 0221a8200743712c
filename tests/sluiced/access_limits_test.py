"""The limits of tokens: requests in a second, and jobs that wait."""
import json

from harness import Stopwatch, in_step, in_threads, main, wait_past, wait_until
from raw import Raw, head
from routes import JOB
from tokens import TokenTest
from v1 import held, path_of
from prometheus import Metrics

RATE, BACKLOG = 5, 10


class LimitTest(TokenTest):
    def check_limited(self, reply, path="/v1/"):
        """Returns after how many seconds to come back."""
        self.check_failure(reply, 429, "limit_exceeded", path)
        self.assertRegex(reply.headers["retry-after"], r"\A[1-9]\d?\Z")
        return int(reply.headers["retry-after"])

    def limited(self):
        """How often each limit was met so far."""
        reply = self.client.ask("GET", "/metrics")
        self.assertEqual(reply.status, 200)
        return {limit: count for (limit,), count
                in Metrics(reply.body.decode()).by("sluiced_limited_total", "limit").items()}


class Rate(LimitTest):
    def burst(self, client, number, path="/v1/queues"):
        """Requests that are sent at once, and their answers."""
        raw = Raw(self)
        raw.send(head(f"GET {path} HTTP/1.1".encode(),
                      b"Authorization: Bearer " + client.secret.encode()) * number)
        replies = [raw.answer() for _ in range(number)]
        raw.close()
        return replies

    def use_up(self, client, path="/v1/queues"):
        """The first answer that says that there were too many."""
        return wait_until(lambda: next((reply for reply in self.burst(client, 20, path)
                                        if reply.status == 429), None), "a limit to be met")

    def test_so_many_pass_at_once_and_no_more(self):
        for path in ("/v1/queues", "/sample/teams"):
            holder = self.holder("work", (), rate=RATE)
            watch = Stopwatch()
            statuses = [reply.status for reply in self.burst(holder, 50, path)]
            self.assertEqual(statuses[:RATE], [200] * RATE)
            # What passes beyond that has come with time.
            self.assertTrue(watch.reached((statuses.count(200) - RATE) / RATE))
            self.check_limited(self.use_up(holder, path), path)

    def test_whoever_comes_back_in_time_is_let_in(self):
        holder = self.holder("work", rate=1)
        seconds = self.check_limited(self.use_up(holder))
        wait_past(seconds)
        self.assertEqual(holder.ask("GET", "/v1/queues").status, 200)

    def test_it_is_kept_over_time_by_many_connections(self):
        rate = 50
        holder = self.holder("work", rate=rate)
        watch = Stopwatch()

        def ask(index):
            client, passed = self.holder_of(holder.secret), 0
            while not watch.reached(1):
                status = client.ask("GET", "/v1/queues").status
                self.assertIn(status, (200, 429))
                passed += status == 200
            return passed

        passed = sum(in_threads(4, ask))
        self.assertTrue(watch.reached((passed - rate) / rate))

    def test_others_are_not_touched(self):
        first, second, third = (self.holder("work", rate=RATE) for _ in range(3))
        free = self.holder("work")
        for one in (first, second):
            self.use_up(one)
            self.assertEqual([reply.status for reply in self.burst(free, 50)], [200] * 50)
        replies = self.burst(third, RATE)
        self.assertEqual([reply.status for reply in replies], [200] * RATE)

    def test_what_is_refused_counts_and_what_is_open_does_not(self):
        for method, path, status in (("GET", "/v1/verify", 403), ("GET", path_of("others"), 404),
                                     ("POST", "/v1/claim", 400), ("POST", "/queue/pop/x", 404)):
            holder = self.holder("work", rate=1)
            self.assertEqual(holder.ask(method, path, {}).status, status, path)
            wait_until(lambda: holder.ask(method, path, {}).status == 429, f"too many of {path}")
        replies = self.burst(holder, 50, "/health")
        self.assertEqual([reply.status for reply in replies], [200] * 50)

    def test_changes_to_other_tokens_give_nothing_back(self):
        holder = self.holder("work", rate=1)
        watch = Stopwatch()
        passed = 0
        for _ in range(5):
            passed += sum(reply.status == 200 for reply in self.burst(holder, 5))
            self.holder("work")
        self.assertTrue(watch.reached(passed - 1))

    def test_it_is_measured(self):
        holder = self.holder("work", rate=1)
        before = self.limited()
        statuses = [reply.status for reply in self.burst(holder, 30)]
        after = self.limited()
        self.assertEqual(after["rate"] - before["rate"], statuses.count(429))
        self.assertEqual(after["backlog"], before["backlog"])
        self.assertGreater(after["rate"], before["rate"])


class Backlog(LimitTest):
    def setUp(self):
        super().setUp()
        self.holder_10 = self.holder("enqueue,work", backlog=BACKLOG)
        self.queue = self.own + "q"

    def enqueue(self, body=None, queue=None, client=None):
        return (client or self.holder_10).ask("POST", path_of(queue or self.queue) + "/jobs",
                                              body or {})

    def push(self, id, queue=None):
        return self.holder_10.ask("POST", "/queue/push", {"teamId": queue or self.queue,
                                                          "job": {**JOB, "id": id}})

    def waiting(self):
        """Over all queues of the test."""
        return sum(one["counts"][lane] for one in self.client.pages("/v1/queues", limit=1000)
                   for lane in ("waiting", "held", "scheduled", "ready")
                   if one["name"].startswith(self.own))

    def check_full(self):
        """Nothing more gets in, by any way."""
        before = self.waiting()
        for reply in (self.enqueue(), self.enqueue({"jobs": [{}]}), self.enqueue({"hold": True}),
                      self.enqueue({"delay_ms": 60_000}), self.enqueue(queue=self.own + "other")):
            self.check_limited(reply)
        self.check_limited(self.push("more"), "/queue/push")
        self.check_limited(self.push("more", self.own + "other"), "/queue/push")
        self.assertEqual(self.waiting(), before)

    def test_one_by_one(self):
        for _ in range(BACKLOG):
            self.assertEqual(self.enqueue().status, 201)
        self.check_full()
        self.assertEqual(self.waiting(), BACKLOG)

    def test_a_batch_at_the_edge_and_one_past_it(self):
        self.check_limited(self.enqueue({"jobs": [{}] * (BACKLOG + 1)}))
        self.assertEqual(self.waiting(), 0)
        self.assertEqual(self.enqueue({"jobs": [{}] * 4}).status, 200)
        self.check_limited(self.enqueue({"jobs": [{}] * (BACKLOG - 3)}))
        self.assertEqual(self.waiting(), 4)
        self.assertEqual(self.enqueue({"jobs": [{}] * (BACKLOG - 4)}).status, 200)
        self.check_full()

    def test_pushes(self):
        for number in range(BACKLOG):
            self.assertEqual(self.push(f"j{number}").status, 200)
        self.check_full()

    def test_children_of_an_ack(self):
        self.client.enqueue(self.queue, "parent")
        lease, = self.client.claim(self.queue, lease_ms=3_600_000)
        self.client.enqueue_many(self.queue, [{}] * (BACKLOG - 2))
        before = self.client.job_ids(self.queue)
        for body in (held(lease, children=[{}] * 3),
                     {"items": [held(lease, children=[{}] * 3)]}):
            self.check_limited(self.holder_10.ask("POST", "/v1/ack", body))
        self.assertEqual((self.client.job_ids(self.queue), self.client.lane(self.queue, "parent")),
                         (before, "leased"))
        self.holder_10.ack(lease, children=[{}] * 2)
        self.check_full()

    def test_it_is_over_all_queues_of_the_token(self):
        for number in range(BACKLOG):
            self.assertEqual(self.enqueue(queue=f"{self.own}{number}").status, 201)
        self.check_full()

    def test_jobs_of_others_in_its_queues_count_and_elsewhere_do_not(self):
        self.client.fill("elsewhere of " + self.own, 3 * BACKLOG)
        self.client.fill(self.queue, BACKLOG - 1)
        self.assertEqual(self.enqueue().status, 201)
        self.check_full()
        # Limits are for those who have them.
        self.assertEqual(self.enqueue(client=self.client).status, 201)
        self.assertEqual(self.enqueue(client=self.holder("enqueue")).status, 201)

    def test_every_job_that_waits_counts_and_none_that_does_not(self):
        self.client.enqueue_many(self.queue, [{"priority": -1}] * 3)
        leases = self.client.claim(self.queue, max=3, lease_ms=3_600_000)
        self.client.fail(leases[0], dead=True)
        self.client.ack(leases[1])
        self.assertEqual(self.enqueue({"jobs": [{"hold": True}] * 4}).status, 200)
        self.assertEqual(self.enqueue({"jobs": [{"delay_ms": 3_600_000}] * 4}).status, 200)
        self.assertEqual(self.enqueue({"jobs": [{}] * 2}).status, 200)
        self.check_full()

    def test_a_token_of_all_queues(self):
        holder = self.holder("enqueue", (), backlog=10**6)
        self.assertEqual(self.enqueue(client=holder).status, 201)
        holder = self.holder("enqueue", (), backlog=1)
        self.check_limited(self.enqueue(queue="elsewhere of " + self.own, client=holder))

    def test_work_makes_room(self):
        self.assertEqual(self.enqueue({"jobs": [{}] * BACKLOG}).status, 200)
        self.check_full()
        for lease in self.holder_10.claim(self.queue, max=3, lease_ms=3_600_000):
            self.holder_10.ack(lease)
        wait_until(lambda: self.enqueue().status == 201, "room to be seen")
        for _ in range(2):
            self.assertEqual(self.enqueue().status, 201)
        self.check_full()
        self.assertEqual(self.waiting(), BACKLOG)

    def test_many_connections_fill_it_to_the_edge(self):
        def fill(index, step):
            client = self.holder_of(self.holder_10.secret)
            step()
            return [self.enqueue(client=client, queue=f"{self.own}{number % 3}").status
                    for number in range(BACKLOG)]

        statuses = sum(in_step(6, fill), [])
        self.assertEqual(statuses.count(201) + statuses.count(429), len(statuses))
        self.assertEqual(self.waiting(), statuses.count(201))
        self.assertLessEqual(self.waiting(), BACKLOG)
        # Some may have been counted twice while that went on, for a second.
        wait_until(lambda: self.enqueue().status == 429 and self.waiting() == BACKLOG,
                   "the last place to be taken")
        self.check_full()

    def test_what_is_on_its_way_counts(self):
        # Batches take a while; what was let in and is not stored yet must not be forgotten when
        # the next one has the jobs counted again, which happens after a second.
        size = 1000
        queues = [f"{self.own}{number}" for number in range(6)]
        holders = [self.holder("enqueue", (queue,), backlog=2 * size) for queue in queues]
        for holder, queue in zip(holders, queues):
            holder.enqueue(queue)
        wait_past(1.1)
        for holder, queue in zip(holders, queues):
            def fill(index, step):
                client = self.holder_of(holder.secret)
                client.ask("GET", "/v1/queues")
                step()
                return self.enqueue({"jobs": [{}] * size}, queue, client).status

            self.assertIn(200, in_step(3, fill))
            self.assertLessEqual(self.client.counts(queue)["ready"], 2 * size)

    def test_what_is_not_enqueued_takes_no_room(self):
        self.assertEqual(self.enqueue({"id": "j"}).status, 201)
        self.assertEqual(self.push("j").status, 200)
        for _ in range(BACKLOG):
            self.assertEqual(self.enqueue({"id": "j"}).status, 409)
            self.assertEqual(self.push("j").status, 200)
        self.assertEqual(self.waiting(), 1)

    def test_a_call_that_is_repeated_has_its_answer_as_soon_as_there_is_room(self):
        path = path_of(self.queue) + "/jobs"
        for number in range(BACKLOG):
            first = self.holder_10.ask("POST", path, {}, key=f"k{number}")
            self.assertEqual(first.status, 201)
        self.assertEqual(self.holder_10.ask("POST", path, {}, key=f"k{BACKLOG - 1}").status, 429)
        self.client.ack(self.client.claim_one(self.queue))

        def repeat():
            again = self.holder_10.ask("POST", path, {}, key=f"k{BACKLOG - 1}")
            return again if again.status != 429 else None

        again = wait_until(repeat, "room")
        self.assertEqual((again.status, again.body), (201, first.body))
        self.assertEqual(self.waiting(), BACKLOG - 1)

    def test_workers_and_many_connections_never_exceed_it(self):
        watch, seen = Stopwatch(), [0]

        def run(index):
            client = self.holder_of(self.holder_10.secret if index > 1 else self.admin)
            while not watch.reached(1.5):
                if index == 0:
                    reply = client.ask("GET", path_of(self.queue))
                    if reply.status == 200:
                        seen.append(json.loads(reply.body)["counts"]["ready"])
                elif index == 1:
                    for lease in client.claim(self.queue, max=4):
                        client.ack(lease)
                else:
                    self.assertIn(self.enqueue(client=client).status, (201, 429))

        in_threads(6, run)
        self.assertLessEqual(max(seen), BACKLOG)

    def test_it_is_measured(self):
        before = self.limited()
        self.assertEqual(self.enqueue({"jobs": [{}] * BACKLOG}).status, 200)
        self.assertEqual(self.limited(), before)
        self.check_full()
        after = self.limited()
        self.assertEqual((after["backlog"] - before["backlog"], after["rate"]),
                         (7, before["rate"]))


if __name__ == "__main__":
    main()
