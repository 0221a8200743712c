"""The weaknesses W1 to W24 that the spec of this service names, one test for each.

Those that are about speed are in speed_test.py.
"""
import socket
import subprocess
from urllib.parse import quote

from harness import (LONG, PATIENCE, SLUICED, Client, OwnServiceTest, SluicedTest, in_step,
                     in_threads, main, wait_past, wait_until)
from v1 import Api, held, path_of


class Limits(OwnServiceTest):
    def test_w1_limits_are_limits(self):
        """A list holds as many ids as its limit says, and counts are right however long it is."""
        number = 100_050 if LONG else 10_050
        self.push_many(self.team, (f"j{index:06}" for index in range(number)), crawl=self.crawl)
        client = self.client
        for query, size in (("", 10_000), ("?limit=0", 0), ("?limit=1", 1), ("?limit=9999", 9999),
                            ("?limit=10001", 10_001), (f"?limit={number}", min(number, 100_000)),
                            ("?limit=4294967295", min(number, 100_000))):
            self.assertEqual(len(set(client.ids(self.team, query))), size, query)
        self.assertEqual(client.reconcile(self.team, self.crawl), [0] * 4)
        self.assertEqual((client.count(self.team), client.crawl_count(self.crawl)), (number,) * 2)
        for team in range(120):
            client.push(f"t{team:03}", "j")
        for limit in (0, 1, 50, 119, 120):
            self.assertEqual(len(client.get(f"/sample/teams?after=t&limit={limit}")["ids"]),
                             limit)

    def test_w2_a_crawl_is_finished_when_its_last_job_is(self):
        """The count of a large crawl falls one by one and is 0 after its last job, not before."""
        number, teams = 600, (self.team, self.named("other team"))
        for index in range(number):
            self.client.push(teams[index % 2], f"j{index}", "x" * 300, crawl=self.crawl)
        for left in range(number, 0, -1):
            self.assertEqual(self.client.crawl_count(self.crawl), left)
            if left % 50 == 0:
                self.assertEqual(self.client.reconcile(teams[0], self.crawl), [0] * 4)
            self.assertTrue(self.client.complete(self.client.pop(teams[left % 2])))
        self.assertEqual(self.client.crawl_count(self.crawl), 0)


class Queue(SluicedTest):
    def test_w3_cleaning_markers_ends_while_many_are_live(self):
        """A cleanup of markers ends however many live ones there are, and leaves them alone."""
        def mark(index):
            client = self.new_client()
            for number in range(index, 300, 4):
                client.mark(self.team, f"live{number}")
                client.mark_crawl(self.crawl, f"live{number}")
                client.mark(self.team, f"expired{number}", 1)

        in_threads(4, mark)
        for _ in range(2):
            self.client.post("/cleanup/expired-active-jobs")
        wait_until(lambda: self.client.active(self.team)[0] == 300, "the others to go")
        self.assertEqual(len(self.client.crawl_active(self.crawl)), 300)

    def test_w5_what_is_held_or_blocked_hides_nothing(self):
        """However many held and blocked jobs come first, a pop finds the job behind them."""
        self.push_many(self.team, (f"blocked{number}" for number in range(1000)), data="x" * 300,
                       crawl=self.crawl)
        self.push_many(self.team, (f"held{number}" for number in range(500)), data="x" * 300)
        while self.client.pop(self.team, [self.crawl]):
            pass
        self.client.push(self.team, "behind", priority=1)
        self.assertEqual(self.client.pop_id(self.team, [self.crawl]), "behind")

    def test_w6_negative_priorities_come_before_positive_ones(self):
        """Every priority of 32 bits is delivered, listed and counted, the lowest first."""
        priorities = [0, -1, 1, -16_777_216, -16_777_217, 2**31 - 1, -2**31]
        for priority in priorities:
            self.client.push(self.team, str(priority), priority=priority)
        expected = [str(priority) for priority in sorted(priorities)]
        self.assertEqual(self.client.ids(self.team), expected)
        self.assertEqual(self.client.count(self.team), len(priorities))
        self.assertEqual(self.pop_all(self.team), expected)

    def test_w7_jobs_come_in_the_order_of_arrival(self):
        """Jobs that arrive within one millisecond are delivered in the order of their arrival."""
        names = [f"{'z' * (number % 3)}{999 - number}" for number in range(300)]
        for name in names:
            self.client.push(self.team, name)
        self.assertEqual(self.pop_all(self.team), names)

    def test_w8_of_racing_completions_one_counts(self):
        """Of completions of one claim at once exactly one is told true, and counts fall by one."""
        rounds, number = (300, 8) if LONG else (30, 6)
        self.push_many(self.team, (f"j{index}" for index in range(rounds)), crawl=self.crawl)
        claims = [self.client.pop(self.team) for _ in range(rounds)]

        def complete(_, step):
            client, answers = self.new_client(), []
            for claim in claims:
                step()
                answers.append(client.complete(claim))
            return answers

        for answers in zip(*in_step(number, complete)):
            self.assertEqual(sum(answers), 1)
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl)),
                         (0, 0))

    def test_w9_reconciling_never_spoils_a_count(self):
        """Counts stay exact when they are reconciled amid pushes, expiry and cleanup."""
        def work(index):
            client = self.new_client()
            corrections = []
            for number in range(100):
                client.push(self.team, f"{index}-{number}", crawl=self.crawl)
                client.mark(self.team, f"{index}-{number}", 600_000 if number % 2 else 1)
                if number % 10 == index:
                    corrections += client.reconcile(self.team, self.crawl)
                    client.post("/cleanup/expired-active-jobs")
            return corrections

        self.assertEqual({one for some in in_threads(4, work) for one in some}, {0})
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl)),
                         (400, 400))
        wait_until(lambda: self.client.active(self.team)[0] == 200, "the markers to expire")
        self.client.post("/cleanup/expired-active-jobs")
        self.assertEqual(self.client.reconcile(self.team), [0, 0])
        self.assertEqual(self.client.active(self.team)[0], 200)

    def test_w10_nothing_is_counted_twice(self):
        """Pushing a job or a marker again, even at the same moment, leaves every count at one."""
        def push(_):
            client = self.new_client()
            for _ in range(10):
                client.push(self.team, "j", crawl=self.crawl)
                client.mark(self.team, "j")
                client.mark_crawl(self.crawl, "j")

        in_threads(6, push)
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl)),
                         (1, 1))
        self.assertEqual(self.client.active(self.team), (1, ["j"]))
        self.assertEqual(self.client.crawl_active(self.crawl), ["j"])
        self.assertTrue(self.client.complete(self.client.pop(self.team)))
        self.assertIsNone(self.client.pop(self.team))
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl)),
                         (0, 0))

    def test_w12_a_negative_timeout_is_no_immortality(self):
        """A job whose time was over when it came is accepted, not delivered and not counted."""
        for timeout in (-1, -60_000, -2**63):
            self.client.push(self.team, f"j{timeout}", timeout=timeout)
        self.assertEqual((self.client.count(self.team), self.client.ids(self.team)), (0, []))
        self.assertIsNone(self.client.pop(self.team))

    def test_w14_a_job_that_is_held_for_a_moment_hides_no_other(self):
        """While one worker looks at a job and refuses it, others are given the jobs behind it."""
        for name in ("first", "second"):
            self.client.push(self.team, name, crawl=f"{self.crawl} {name}")
        self.assertEqual(self.client.pop_id(self.team), "first")
        self.assertEqual(self.new_client().pop_id(self.team), "second")
        self.client.release("first")
        self.assertEqual(self.new_client().pop_id(self.team), "first")

    def test_w20_large_jobs_are_accepted_and_mistakes_are_not_the_services(self):
        """A body may use all of the limit, and a client's mistake is no error of the server."""
        for size in (99_000, 100_000, 100_001, 1_000_000, 2_090_000):
            self.client.push(self.team, "large", "x" * size)
            claim = self.client.pop(self.team)
            self.assertEqual(len(claim["job"]["data"]), size)
            self.assertTrue(self.client.complete(claim))
        for key in ("!", "AAAA", ""):
            self.assertEqual(self.client.call("POST", "/queue/complete", {"queueKey": key}).status,
                             400)
        reply = self.client.call("POST", "/queue/release", b" " * 2_097_153)
        self.assertEqual(reply.status, 413)

    def test_w21_health_answers_at_once(self):
        """Health is told at any time, also while the store is busy."""
        looks, pushed, busy = 200, [], True

        def watch():
            """As often as that, while the others push: they go on until it has been told."""
            nonlocal busy
            try:
                client = self.new_client()
                wait_until(lambda: pushed, "the first push")
                for _ in range(looks):
                    self.assertEqual(client.get("/health"), {"status": "ok", "fdbConnected": True})
            finally:
                busy = False

        def push(index):
            client, number = self.new_client(), 0
            while busy:
                client.push(self.team, f"{index}-{number}", "x" * 1000)
                pushed.append(number)
                number += 1

        in_threads(5, lambda index: push(index) if index else watch())
        print(f"figure sluiced.pushes_beside_{looks}_looks {len(pushed)}")

    def test_w22_harmless_races_are_no_errors(self):
        """Requests that meet on one job or one marker are all answered with success."""
        def race(index, step):
            client = self.new_client()
            for turn in range(100 if LONG else 15):
                for verb in (lambda: client.mark(self.team, "j"),
                             lambda: client.mark_crawl(self.crawl, "j"),
                             lambda: client.delete("/active/remove",
                                                   {"teamId": self.team, "jobId": "j"}),
                             lambda: client.delete("/active/crawl/remove",
                                                   {"crawlId": self.crawl, "jobId": "j"}),
                             lambda: client.push(self.team, "j", {"turn": turn, "of": index}),
                             lambda: client.pop(self.team), lambda: client.release("j"),
                             lambda: self.client_completes(client),
                             lambda: client.post("/cleanup/expired-jobs"),
                             lambda: client.post("/cleanup/orphaned-claims"),
                             lambda: client.reconcile(self.team, self.crawl)):
                    step()
                    verb()

        in_step(6, race)
        self.assertEqual(self.client.active(self.team), (0, []))

    def client_completes(self, client):
        claim = client.pop(self.team)
        if claim:
            client.complete(claim)


class Leases(SluicedTest):
    options = ("--compat-lease", "1s")

    def pop_again(self):
        return wait_until(lambda: self.client.pop(self.team), "the job to come back")

    def test_w4_a_job_whose_taker_vanished_comes_back(self):
        """A job that was given to nobody's knowledge is delivered again after its lease."""
        self.client.push(self.team, "j", crawl=self.crawl)
        body = b'{"workerId":"w"}'
        with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
            raw.sendall(f"POST /queue/pop/{quote(self.team)} HTTP/1.1\r\nHost: x\r\n"
                        "Content-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            raw.recv(1)
        self.assertEqual(self.pop_again()["job"]["id"], "j")

    def test_w11_claims_are_of_one_team_and_one_holder(self):
        """Only the last taker of a job completes it, and the same id elsewhere is another job."""
        other = self.named("other team")
        for team in (self.team, other):
            self.client.push(team, "j")
        first = self.client.pop(self.team)

        def others_is_completed():
            """Unless the machine stalls for longer than a lease: then it tries again."""
            claim = self.client.pop(other)
            return claim and self.client.complete(claim)

        def last_is_completed():
            second = self.pop_again()
            # The first holder is late with everything it does.
            self.client.release("j")
            self.assertFalse(self.client.complete(first))
            third = self.client.pop(self.team)
            done = [self.client.complete(claim) for claim in (first, second, third) if claim]
            self.assertFalse(done[0])
            self.assertLessEqual(sum(done), 1)
            return sum(done) == 1

        wait_until(others_is_completed, "the job of the other team to be completed")
        wait_until(last_is_completed, "the last taker to complete the job")
        self.client.push(self.team, "j", "again")
        self.assertEqual(self.client.pop(self.team)["job"]["data"], "again")

    def test_w13_nothing_is_left_behind(self):
        """What expired, lapsed or ended hides nothing, and a finished crawl is forgotten."""
        names = [f"j{number:03}" for number in range(150)]
        for name in names:
            self.client.push(self.team, name, crawl=self.crawl)
            self.client.pop(self.team)
        self.assertGreaterEqual(self.client.post("/cleanup/orphaned-claims")["cleaned"], 0)
        self.assertEqual(self.client.ids(self.team), names)
        done = set()

        def all_are_done():
            """One whose holder was held up for longer than its lease comes again."""
            claim = self.client.pop(self.team)
            if claim and self.client.complete(claim):
                self.assertNotIn(claim["job"]["id"], done)
                done.add(claim["job"]["id"])
            return done == set(names)

        wait_until(all_are_done, "all jobs to come back and to be done")
        self.client.post("/cleanup/stale-counters")
        ids = self.client.get(f"/sample/crawls?limit=1000&after={quote(self.crawl[:-1])}")["ids"]
        self.assertNotIn(self.crawl, ids)
        self.client.push(self.team, "short", timeout=1)
        wait_until(lambda: self.client.count(self.team) == 0, "the job to expire")
        self.client.push(self.team, "short")
        self.assertEqual(self.client.pop_id(self.team), "short")

    def test_w24_no_janitor_is_needed(self):
        """Deadlines, leases and markers end by themselves, with no request for a cleanup."""
        self.client.push(self.team, "overdue", timeout=50)
        self.client.push(self.team, "dropped", priority=-1, crawl=self.crawl)
        self.client.mark(self.team, "marker", 50)
        self.client.mark_crawl(self.crawl, "marker", 50)
        self.assertEqual(self.client.pop_id(self.team), "dropped")
        wait_past(0.1)
        self.assertEqual(self.client.active(self.team), (0, []))
        self.assertEqual(self.client.crawl_active(self.crawl), [])
        wait_until(lambda: self.client.count(self.team) == 1, "the deadline to be kept")
        self.assertEqual(self.pop_again()["job"]["id"], "dropped")
        self.assertEqual(self.client.reconcile(self.team, self.crawl), [0] * 4)


class Native(OwnServiceTest):
    """What the compatible routes cannot say is said below /v1, of the same jobs."""

    def setUp(self):
        super().setUp()
        self.api = Api(self.service)
        self.addCleanup(self.api.close)

    def test_w19_many_jobs_go_in_one_request_and_a_claim_waits(self):
        self.client.push(self.team, "first")
        self.api.enqueue_many(self.team, [{"id": f"j{one}", "payload": one} for one in range(999)])
        self.assertEqual(self.client.count(self.team), 1000)
        leases = self.api.claim(self.team, max=1000)
        self.assertEqual(len(leases), 1000)
        self.assertEqual(self.api.settle_many("ack", [held(lease) for lease in leases]),
                         [{}] * 1000)
        self.assertEqual(self.client.count(self.team), 0)

        def claim_or_push(index):
            if index == 0:
                return self.api.claim(self.team, wait_ms=60_000)
            wait_past(0.2)
            client = Client(self.service)
            client.push(self.team, "late")
            return client.close()

        (lease,), _ = in_threads(2, claim_or_push)
        self.assertEqual(lease["id"], "late")

    def test_w23_it_can_be_watched_guarded_and_stopped(self):
        """Metrics, tokens, idempotency, dead jobs, attempts, crawls in detail, a clean end."""
        key = "the same call"
        ids = {self.api.enqueue(self.team, key=key, group=self.crawl, retry={"attempts_max": 2})
               for _ in range(3)}
        self.assertEqual(len(ids), 1)
        for attempt in (1, 2):
            lease = self.api.claim_one(self.team)
            self.assertEqual(lease["attempt"], attempt)
            (group,) = self.api.ok("GET", path_of(self.team) + "/groups")["groups"]
            self.assertEqual((group["name"], group["counts"]["leased"]), (self.crawl, 1))
            self.api.fail(lease, error="no", delay_ms=0)
        self.assertEqual(set(self.api.job_ids(self.team, group=self.crawl)), ids)
        self.assertEqual(set(self.api.job_ids(self.team, lane="dead")), ids)
        metrics = self.client.call("GET", "/metrics").body.decode()
        self.assertRegex(metrics, r'sluiced_jobs\{[^}]*lane="dead"[^}]*\} 1\n')
        made = subprocess.run([SLUICED, "token", "add", "t", "--may", "admin", "--data",
                               self.service.data], capture_output=True, text=True, check=True)
        wait_until(lambda: self.client.call("GET", "/metrics").status == 401, "the token to count")
        bearer = {"authorization": f"Bearer {made.stdout.strip()}"}
        self.assertEqual(self.client.call("GET", "/metrics", headers=bearer).status, 200)
        self.assertEqual(self.service.stop(), 0)


if __name__ == "__main__":
    main()
