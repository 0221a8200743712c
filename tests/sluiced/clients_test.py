"""Many clients at once, among them a model of the one that the original service has."""
import json
import threading
from collections import Counter
from random import Random
from urllib.parse import quote

from harness import LONG, SluicedTest, Stopwatch, chance, in_threads, main


class CircuitOpen(Exception):
    pass


class Breaker:
    """Opens after three failures in a row, of whatever kind; one for all connections."""

    def __init__(self, failures_max=3, open_s=5):
        self.failures_max, self.open_s = failures_max, open_s
        self.lock = threading.Lock()
        self.state, self.failures, self.opened = "closed", 0, None
        self.failed_ever, self.opened_ever = 0, 0

    def enter(self):
        with self.lock:
            if self.state == "open":
                if not self.opened.reached(self.open_s):
                    raise CircuitOpen
                self.state = "half open"

    def succeeded(self):
        with self.lock:
            if self.state != "open":
                self.state, self.failures = "closed", 0

    def failed(self):
        with self.lock:
            self.failures += 1
            self.failed_ever += 1
            if self.state != "closed" or self.failures >= self.failures_max:
                self.opened_ever += self.state != "open"
                self.state, self.opened = "open", Stopwatch()


class OriginalClient:
    """One connection as the original client uses it; the breaker belongs to the whole process."""

    def __init__(self, client, breaker, name):
        self.client, self.breaker, self.name = client, breaker, name
        self.pops = 0

    def request(self, method, path, body=None):
        self.breaker.enter()
        try:
            reply = self.client.call(method, path, body)
            if not 200 <= reply.status < 300:
                raise AssertionError(f"{method} {path}: {reply.status} {reply.body[:300]!r}")
            answer = json.loads(reply.body)
        except Exception:
            self.breaker.failed()
            raise
        self.breaker.succeeded()
        return answer

    def push(self, team, name, crawl, timeout):
        return self.request("POST", "/queue/push", {
            "teamId": team, "timeout": timeout, "crawlId": crawl,
            "job": {"id": name, "data": {"name": name}, "priority": 10, "listenable": False,
                    "listenChannelId": None}})["success"]

    def pop_next_job(self, team, accepts):
        """Refused jobs are released, and their crawls left out for the rest of this call."""
        self.pops += 1
        worker, blocked = f"{self.name}-{self.pops}", []
        while True:
            claim = self.request("POST", f"/queue/pop/{quote(team, safe='')}",
                                 {"workerId": worker, "blockedCrawlIds": blocked})
            crawl = claim and claim["job"].get("crawlId")
            if not crawl or accepts(crawl):
                return claim
            self.request("POST", "/queue/release", {"jobId": claim["job"]["id"]})
            blocked.append(crawl)

    def complete(self, claim):
        return self.request("POST", "/queue/complete", {"queueKey": claim["queueKey"]})["success"]

    def active(self, team):
        return self.request("GET", f"/active/jobs/{quote(team, safe='')}")["jobIds"]

    def crawl_active(self, crawl):
        return self.request("GET", f"/active/crawl/jobs/{quote(crawl, safe='')}")["jobIds"]

    def mark(self, team, job):
        name = job["id"]
        self.request("POST", "/active/push", {"teamId": team, "jobId": name, "timeout": 60_000})
        if "crawlId" in job:
            self.request("POST", "/active/crawl/push",
                         {"crawlId": job["crawlId"], "jobId": name, "timeout": 60_000})

    def unmark(self, team, job):
        name = job["id"]
        self.request("DELETE", "/active/remove", {"teamId": team, "jobId": name})
        if "crawlId" in job:
            self.request("DELETE", "/active/crawl/remove",
                         {"crawlId": job["crawlId"], "jobId": name})


class Original(SluicedTest):
    def test_the_model_of_the_breaker_opens(self):
        breaker = Breaker(open_s=60)
        client = OriginalClient(self.client, breaker, "x")
        for turn in range(3):
            self.assertEqual(breaker.opened_ever, 0, turn)
            with self.assertRaises(AssertionError):
                client.request("POST", "/queue/pop/x", {})
        with self.assertRaises(CircuitOpen):
            client.request("GET", "/health")

    def test_eight_workers_do_every_job_once_and_the_breaker_stays_closed(self):
        random = chance("original clients")
        threads, number, crawls = 8, 1000 if LONG else 50, [f"{self.crawl} {n}" for n in range(4)]
        seeds = [random.randrange(10**9) for _ in range(threads)]
        breaker, refused = Breaker(), Counter()

        def work(index):
            dice = Random(seeds[index])
            client = OriginalClient(self.new_client(), breaker, f"w{index}")
            pushed, done = [], []

            def accepts(crawl):
                """One job of a crawl at a time, as far as markers tell; and moods."""
                if client.crawl_active(crawl) or dice.random() < 0.1:
                    refused[crawl] += 1
                    return False
                return True

            def finish_one():
                if len(client.active(self.team)) >= threads:
                    return False
                claim = client.pop_next_job(self.team, accepts)
                if not claim:
                    return False
                job = claim["job"]
                if not client.complete(claim):
                    raise AssertionError(f"{job['id']} was lost by its holder")
                client.mark(self.team, job)
                done.append(job["id"])
                client.unmark(self.team, job)
                return True

            for turn in range(number):
                name = f"{index}-{turn}"
                crawl = dice.choice([None, *crawls])
                client.push(self.team, name, crawl, dice.choice([None, 0, 600_000]))
                pushed.append(name)
                finish_one()
            path = f"/queue/count/team/{quote(self.team)}"
            while client.request("GET", path)["count"]:
                finish_one()
            return pushed, done

        answers = in_threads(threads, work)
        pushed = Counter(name for some, _ in answers for name in some)
        done = Counter(name for _, some in answers for name in some)
        self.assertEqual(done, pushed)
        self.assertEqual((breaker.failed_ever, breaker.opened_ever), (0, 0))
        self.assertGreater(sum(refused.values()), 0)
        self.assertEqual(self.client.ids(self.team), [])
        self.assertEqual([self.client.crawl_count(crawl) for crawl in crawls], [0] * 4)
        self.assertEqual(self.client.active(self.team), (0, []))
        print(f"figure sluiced.refusals {sum(refused.values())}")


class Poppers(SluicedTest):
    def test_sixteen_poppers_get_every_job_once(self):
        number, threads = 100_000 if LONG else 10_000, 16
        watch = Stopwatch()
        self.push_many(self.team, (f"j{index}" for index in range(number)), threads=8,
                       crawl=self.crawl)
        print(f"figure sluiced.pushes_per_s {watch.rate(number)}")
        watch = Stopwatch()
        self.assertEqual(self.client.count(self.team), number)

        def work(index):
            client, got = self.new_client(), []
            while claim := client.pop(self.team, worker=f"w{index}"):
                got.append(claim["job"]["id"])
                if not client.complete(claim):
                    raise AssertionError(f"{got[-1]} was lost by its holder")
            return got

        got = Counter(name for some in in_threads(threads, work) for name in some)
        print(f"figure sluiced.pops_and_completes_per_s {watch.rate(number)}")
        self.assertEqual(len(got), number)
        self.assertEqual(set(got.values()), {1})
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl)),
                         (0, 0))


if __name__ == "__main__":
    main()
