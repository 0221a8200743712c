"""What the service measures of itself is well-formed, and is what happened."""
import math
import socket
import unittest

from harness import PATIENCE, OwnServiceTest, in_threads, main, wait_until
import prometheus
from prometheus import Metrics


class Reader(unittest.TestCase):
    """The reader of these tests is as strict as it claims."""

    def test_what_it_takes(self):
        metrics = Metrics("# HELP a A \\\\ help.\n# TYPE a gauge\n"
                          'a -1.5e-3\na{b="\\"\\n\\\\,}"} 2\n'
                          "# HELP h H.\n# TYPE h histogram\n"
                          'h_bucket{le="0.1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n')
        self.assertEqual(metrics.get("a"), -0.0015)
        self.assertEqual(metrics.get("a", b='"\n\\,}'), 2)
        self.assertEqual(metrics.by("h_bucket", "le"), {("0.1",): 1, ("+Inf",): 2})

    def test_what_it_refuses(self):
        head = "# HELP a A.\n# TYPE a counter\n"
        histogram = "# HELP h H.\n# TYPE h histogram\n"
        for text in ("a 1\n", head + "a 1", head + "a  1\n", head + "a x\n", head + "a -1\n",
                     head + "a NaN\n", head + "b 1\n", head + "a 1\na 1\n", head + "a{} 1\n",
                     head + 'a{b="1",b="2"} 1\n', head + 'a{b="\\x"} 1\n', head + 'a{b=1} 1\n',
                     head + 'a{b="1",} 1\n', head + "a 1\n\n", head + "a 1\n" + head,
                     "# TYPE a counter\na 1\n", "# HELP a A.\na 1\n", "# TYPE a thing\n",
                     head + "a 1\n# HELP b B.\n# TYPE b gauge\nb 1\na{c=\"1\"} 1\n",
                     histogram + 'h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n',
                     histogram + 'h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n',
                     histogram + 'h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
                     histogram + 'h_bucket{le="+Inf"} 1\nh_count 1\n'):
            with self.assertRaises(prometheus.Malformed, msg=text):
                Metrics(text)


class MetricsTest(OwnServiceTest):
    def scrape(self, client=None):
        reply = (client or self.client).call("GET", "/metrics")
        self.assertEqual((reply.status, reply.media_type()), (200, "text/plain"))
        self.assertIn("version=0.0.4", reply.headers["content-type"])
        return Metrics(reply.body.decode())

    def jobs(self, team):
        """The lanes of a team's queue that are not empty."""
        return {lane: value for (queue, lane), value
                in self.scrape().by("sluiced_jobs", "queue", "lane").items()
                if queue == team and value}


class Figures(MetricsTest):
    def test_a_service_that_has_done_nothing(self):
        metrics = self.scrape()
        self.assertEqual(metrics.by("sluiced_http_requests_total", "route"), {})
        self.assertEqual(metrics.by("sluiced_jobs", "queue"), {})
        self.assertEqual((metrics.get("sluiced_connections"),
                          metrics.get("sluiced_connections_total")), (1, 1))
        self.assertEqual(metrics.get("sluiced_store_map_bytes"), 64 << 30)
        for name, kind in metrics.types.items():
            self.assertTrue(name.startswith("sluiced_"), name)
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertTrue(metrics.helps[name].endswith("."), name)

    def test_requests_by_route_and_kind_of_answer(self):
        client = self.client
        for number in range(5):
            client.push(self.team, f"j{number}")
        for body, times in ((b"{", 2), ({}, 1)):
            for _ in range(times):
                client.call("POST", "/queue/push", body)
        for team in (self.team, "other team", "%", self.team):
            client.call("GET", f"/queue/count/team/{team.replace(' ', '%20')}")
        client.complete(client.pop(self.team))
        for method, path in (("GET", "/nowhere"), ("PUT", "/health"), ("GET", "/queue/push")):
            client.call(method, path)
        client.get("/health")
        self.scrape()
        metrics = self.scrape()
        answers = {("POST", "/queue/push", "2xx"): 5, ("POST", "/queue/push", "4xx"): 3,
                   ("GET", "/queue/count/team/:team", "2xx"): 3,
                   ("GET", "/queue/count/team/:team", "4xx"): 1,
                   ("POST", "/queue/pop/:team", "2xx"): 1, ("POST", "/queue/complete", "2xx"): 1,
                   ("", "", "4xx"): 3, ("GET", "/health", "2xx"): 1,
                   ("GET", "/metrics", "2xx"): 1}
        self.assertEqual(metrics.by("sluiced_http_requests_total", "method", "route", "status"),
                         answers)
        counts = {}
        for (method, route, _), number in answers.items():
            counts[method, route] = counts.get((method, route), 0) + number
        self.assertEqual(metrics.by("sluiced_http_request_seconds_count", "method", "route"),
                         counts)
        for total in metrics.by("sluiced_http_request_seconds_sum", "route").values():
            self.assertTrue(0 <= total < PATIENCE, total)

    def test_jobs_by_queue_and_lane(self):
        for number in range(4):
            self.client.push(self.team, f"j{number}")
        self.client.push("other team", "j")
        self.assertEqual(self.jobs(self.team), {"ready": 4})
        claims = [self.client.pop(self.team) for _ in range(3)]
        self.assertEqual(self.jobs(self.team), {"ready": 1, "leased": 3})
        self.client.complete(claims[0])
        self.client.release("j1")
        self.assertEqual(self.jobs(self.team), {"ready": 2, "leased": 1})
        self.assertEqual(self.jobs("other team"), {"ready": 1})
        self.assertEqual(self.scrape().get("sluiced_queue_paused", queue=self.team), 0)

    def test_names_that_mean_something_to_the_format(self):
        teams = ['quote "', "back\\slash", "line\nfeed", "\\n", 'a",b="c', "}", "\r",
                 "\u00fc\u2028", "\0", "# HELP x y"]
        for team in teams:
            self.client.push(team, "j")
        found = self.scrape().by("sluiced_jobs", "queue", "lane")
        for team in teams:
            self.assertEqual(found[team, "ready"], 1, repr(team))

    def test_connections(self):
        others = [self.new_client() for _ in range(3)]
        for client in others:
            client.get("/health")
        with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
            raw.sendall(b"nonsense\r\n\r\n")
            self.assertTrue(raw.recv(100).startswith(b"HTTP/1.1 400 "))
        others.pop().close()
        metrics = wait_until(lambda: self.scrape_when(sluiced_connections=3), "two to be gone")
        self.assertEqual(metrics.get("sluiced_connections_total"), 5)
        self.assertEqual(metrics.get("sluiced_requests_malformed_total"), 1)
        self.assertEqual(metrics.get("sluiced_connections_refused_total"), 0)
        self.assertEqual(metrics.get("sluiced_connections_too_slow_total"), 0)

    def scrape_when(self, **wanted):
        metrics = self.scrape()
        return metrics if all(metrics.get(name) == value
                              for name, value in wanted.items()) else None

    def test_the_store(self):
        before = self.scrape()
        for number in range(10):
            self.client.push(self.team, f"j{number}", "x" * 1000)
        after = self.scrape()
        grown = {name: after.get(name) - before.get(name) for name in before.types
                 if after.get(name) is not None}
        self.assertGreaterEqual(grown["sluiced_store_commits_total"], 10)
        self.assertGreater(grown["sluiced_store_written_bytes_total"], 10_000)
        self.assertGreater(after.get("sluiced_store_used_bytes"), 0)
        self.assertEqual(grown["sluiced_store_refused_full_total"], 0)

    def test_scrapes_while_it_works_are_consistent(self):
        scraping = True

        def run(index):
            nonlocal scraping
            client = self.new_client()
            if index:
                while scraping:
                    client.push(self.team, f"j{index}")
                    client.pop(self.team)
                return
            try:
                last = {}
                for _ in range(50):
                    metrics = self.scrape(client)
                    for (name, labels), value in metrics.samples.items():
                        if name.endswith(("_total", "_bucket", "_count", "_sum")):
                            self.assertGreaterEqual(value, last.get((name, labels), 0), name)
                            last[name, labels] = value
                    self.assertFalse(any(map(math.isinf, metrics.samples.values())))
            finally:
                scraping = False

        in_threads(4, run)


class Health(MetricsTest):
    def test_it_is_well(self):
        reply = self.client.call("GET", "/health")
        self.assertEqual((reply.status, reply.media_type()), (200, "application/json"))
        self.assertEqual(reply.body, b'{"status":"ok","fdbConnected":true}')


if __name__ == "__main__":
    main()
