"""Many connections to a service of a test's own, and readers that do not read."""
from urllib.parse import quote

from harness import Service, in_threads, wait_until
from raw import Raw, head, push, request
from watch import WatchedTest
from prometheus import Metrics

HEALTH = head(b"GET /health HTTP/1.1")


class CrowdTest(WatchedTest):
    """Each test has a service to itself."""

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.service = Service(*self.options)
        self.addCleanup(self.service.end)
        self.service.start()
        super().setUp()

    def metric(self, name):
        return Metrics(self.client.call("GET", "/metrics").body.decode()).get(name)

    def crowd(self, number, text=None):
        """Connections that each have had an answer to `text`."""
        raws = [Raw(self) for _ in range(number)]
        for raw in raws if text else ():
            raw.send(text)
            self.assertLess(raw.answer().status, 500)
        wait_until(lambda: self.metric("sluiced_connections") == number + 1, "all to be accepted")
        return raws


class SlowReadersTest(CrowdTest):
    JOBS = 50_000
    NAME = "a name that takes as much room as one can in the list of all jobs, and so does number "

    def setUp(self):
        super().setUp()
        self.path = f"/queue/jobs/team/{quote(self.team)}?limit={self.JOBS}"
        in_threads(10, self.fill)

    def fill(self, index):
        """Pushes a tenth of the jobs, in large groups on one connection."""
        raw = Raw(self)
        for first in range(index, self.JOBS, 10 * 500):
            numbers = range(first, min(first + 10 * 500, self.JOBS), 10)
            raw.send(b"".join(push(self.team, self.NAME + str(number)) for number in numbers))
            for _ in numbers:
                self.assertEqual(raw.answer().status, 200)
        raw.close()

    def slow_readers(self, number):
        """Connections that have begun to get the list, and do not take it."""
        raws = [Raw(self, receive_bytes=4096) for _ in range(number)]
        for raw in raws:
            raw.send(request("GET", self.path))
        for raw in raws:
            while len(raw.buffer) < 1000:
                self.assertTrue(raw.fill())
        return raws
