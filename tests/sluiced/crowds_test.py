"""Many connections that do little or nothing: they cost little, or are shut; others are served."""
import errno
import resource
import selectors
import time
import unittest
from urllib.parse import quote

from harness import LONG, PATIENCE, Service, in_threads, main, wait_until
from raw import Raw, chunked, head, push, request
from watch import SANITIZED, WatchedTest, descriptors, memory_kib, percentile, timed
from prometheus import Metrics

HEALTH = head(b"GET /health HTTP/1.1")
IDLE_KIB_MAX = 16
SLOW_SECONDS = 10
IDLE = 2000 if LONG else 500


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


class Slow(CrowdTest):
    # How far a request has come when it begins to trickle.
    BEGINNINGS = (b"", b"GET /health HTTP/1.1\r\nHost: x\r\nX: ", HEALTH + b"GET /",
                  head(b"POST /queue/release HTTP/1.1", b"Content-Length: 1000"),
                  head(b"POST /queue/release HTTP/1.1", b"Transfer-Encoding: chunked") + b"400\r\n")

    def test_connections_that_trickle_are_closed_and_others_are_served(self):
        begin = time.monotonic()
        raws = [Raw(self) for _ in range(60 * len(self.BEGINNINGS))]
        waiting = selectors.DefaultSelector()
        for index, raw in enumerate(raws):
            raw.send(self.BEGINNINGS[index % len(self.BEGINNINGS)])
            raw.socket.setblocking(False)
            waiting.register(raw.socket, selectors.EVENT_READ, index)
        closed, times, next_byte = {}, [], begin
        while len(closed) < len(raws):
            times.append(timed(self.check_health))
            for key, _ in waiting.select(0.02):
                if self.is_over(key.fileobj):
                    closed[key.data] = time.monotonic() - begin
                    waiting.unregister(key.fileobj)
            self.assertLess(time.monotonic() - begin, PATIENCE)
            if time.monotonic() > next_byte:
                next_byte += 0.5
                for index, raw in enumerate(raws):
                    # Those that have sent nothing go on like that.
                    if index not in closed and index % len(self.BEGINNINGS):
                        self.trickle(raw)
        print(f"figure sluiced.slow_closed_s {min(closed.values()):.1f} {max(closed.values()):.1f}")
        print(f"figure sluiced.health_ms_max_beside_slow {max(times) * 1000:.1f}")
        self.assertGreater(min(closed.values()), SLOW_SECONDS - 1)
        self.assertLess(max(closed.values()), SLOW_SECONDS + 4)
        self.assertLess(max(times), 2)
        self.assertEqual(self.metric("sluiced_connections_too_slow_total"), len(raws))

    def is_over(self, socket):
        try:
            return not socket.recv(1000)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    def trickle(self, raw):
        try:
            raw.socket.send(b"x")
        except OSError as error:
            self.assertIn(error.errno, (errno.EPIPE, errno.ECONNRESET))

    @unittest.skipUnless(LONG, "takes a minute: SLUICE_LONG=1")
    def test_connections_that_rest_for_a_minute_are_closed(self):
        begin = time.monotonic()
        for raw in self.crowd(50, HEALTH):
            self.assertIsNone(raw.answer())
        self.assertTrue(55 < time.monotonic() - begin < 65)
        self.client.close()  # The same has happened to it.
        self.assertEqual(self.metric("sluiced_connections_too_slow_total"), 0)


class Idle(CrowdTest):
    def times(self, number=400):
        """How long pushes, pops and completions take each, in milliseconds."""
        times = []
        for index in range(number):
            times.append(timed(lambda: self.client.push(self.team, f"j{index}")))
            times.append(timed(lambda: self.client.complete(self.client.pop(self.team))))
        return [seconds * 1000 for seconds in times]

    def test_idle_connections_cost_little_memory_and_nobody_any_time(self):
        self.times(100)
        alone = percentile(self.times(), 0.99)
        before = memory_kib(self.service)
        self.crowd(IDLE, HEALTH)
        each = (memory_kib(self.service) - before) / IDLE
        beside = percentile(self.times(), 0.99)
        print(f"figure sluiced.idle_connections {IDLE}")
        print(f"figure sluiced.idle_connection_kib {each:.1f}")
        print(f"figure sluiced.p99_ms_alone {alone:.2f}")
        print(f"figure sluiced.p99_ms_beside_idle {beside:.2f}")
        self.assertLess(beside, 10 * alone + 50)
        if not SANITIZED:
            self.assertLessEqual(each, IDLE_KIB_MAX)

    def test_an_idle_connection_keeps_nothing_of_its_largest_request(self):
        number, body = 50, b'{"jobId":"j"}'.ljust(1_000_000)
        texts = request("POST", "/queue/release", body), chunked("/queue/release", body)
        for raw in self.crowd(10, texts[0]):
            raw.close()
        wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be gone")
        before = memory_kib(self.service)
        for text in texts:
            raws = self.crowd(number, text)
            grown = memory_kib(self.service) - before
            print(f"figure sluiced.large_requests_kept_kib {grown}")
            if not SANITIZED:
                # A large request or two may be left in memory that is used again.
                self.assertLess(grown, number * IDLE_KIB_MAX + 8 * 1024)
            for raw in raws:
                raw.close()

    def test_connections_that_come_and_go_leave_nothing_behind(self):
        number, rounds = 200, 5
        accepted = self.metric("sluiced_connections_total")
        grown = []
        for _ in range(rounds):
            # All of them answered before the first one goes: as many at once in every round.
            for raw in self.crowd(number, HEALTH):
                raw.close()
            wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be gone")
            grown.append(memory_kib(self.service))
        print(f"figure sluiced.kept_kib_after_rounds {[kib - grown[0] for kib in grown]}")
        self.assertEqual(self.metric("sluiced_connections_total") - accepted, number * rounds)
        if not SANITIZED:
            # What the first round left is used again by the others.
            self.assertLess(grown[-1] - grown[0], number * (rounds - 1))

    def test_connections_that_leave_without_an_answer_leave_nothing_behind(self):
        number = 1000
        accepted = self.metric("sluiced_connections_total")
        for raw in [Raw(self) for _ in range(number)]:
            raw.send(HEALTH)
            raw.close()
        wait_until(lambda: self.metric("sluiced_connections_total") - accepted == number,
                   "all to be accepted")
        wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be gone")


class Limited(CrowdTest):
    options = (*CrowdTest.options, "--max-connections", "20")

    def test_connections_beyond_the_limit_are_closed_until_others_end(self):
        raws = self.crowd(19, HEALTH)  # And the client that asks how many there are.
        for _ in range(3):
            beyond = Raw(self)
            beyond.send(HEALTH)
            self.assertIsNone(beyond.answer())
        for raw in raws:
            raw.send(HEALTH)
            self.assertEqual(raw.answer().status, 200)
        self.assertEqual(self.metric("sluiced_connections_refused_total"), 3)
        raws.pop().close()
        wait_until(lambda: self.metric("sluiced_connections") == 19, "one to be gone")
        again = Raw(self)
        again.send(HEALTH)
        self.assertEqual(again.answer().status, 200)


class OutOfDescriptors(CrowdTest):
    def test_connections_wait_while_there_are_no_descriptors(self):
        self.check_health()
        most = descriptors(self.service) + 10
        resource.prlimit(self.service.process.pid, resource.RLIMIT_NOFILE, (most, most))
        raws = [Raw(self) for _ in range(30)]
        for raw in raws:
            raw.send(HEALTH)
        wait_until(lambda: descriptors(self.service) == most, "the descriptors to be used up")
        spent = self.service.cpu_seconds()
        for _ in range(50):
            self.check_health()
        # Those that wait are served as soon as others leave, in the order in which they came.
        for raw in raws:
            self.assertEqual(raw.answer().status, 200)
            raw.close()
        self.assertLess(self.service.cpu_seconds() - spent, 5)
        self.check_health()


class SlowReaders(CrowdTest):
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

    def test_readers_that_do_not_read_hold_nobody_up(self):
        alone = [timed(lambda: self.client.count(self.team)) for _ in range(200)]
        raws = self.slow_readers(10)
        beside = [timed(lambda: self.client.count(self.team)) for _ in range(200)]
        beside += [timed(lambda: self.client.push("other", f"j{number}")) for number in range(200)]
        print(f"figure sluiced.p99_ms_beside_slow_readers {percentile(beside, 0.99) * 1000:.2f}")
        self.assertLess(percentile(beside, 0.99), 10 * percentile(alone, 0.99) + 0.1)
        # They get all of it as soon as they want it.
        for raw in (raws[0], raws[-1]):
            names = raw.answer().body.decode().split(self.NAME)
            self.assertEqual(sorted(int(name.partition('"')[0]) for name in names[1:]),
                             list(range(self.JOBS)))
        # Those that leave in the middle leave nothing behind.
        for raw in raws:
            raw.close()
        wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be gone")

    @unittest.skipUnless(LONG, "takes half a minute: SLUICE_LONG=1")
    def test_readers_that_never_read_are_closed(self):
        raws = self.slow_readers(5)
        wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be closed")
        self.assertEqual(self.metric("sluiced_connections_too_slow_total"), len(raws))


if __name__ == "__main__":
    main()
