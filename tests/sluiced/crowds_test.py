"""Many connections that do little or nothing: they cost little, or are shut; others are served."""
import contextlib
import errno
import resource
import selectors
import unittest

from crowd import HEALTH, CrowdTest, SlowReadersTest
from harness import LONG, Stopwatch, in_threads, main, wait_until
from raw import Raw, chunked, head, request
from watch import SANITIZED, descriptors, memory_kib

IDLE_KIB_MAX = 16
SLOW_SECONDS = 10
IDLE = 2000 if LONG else 500
# What a connection may leave behind when it is gone.
LEFT_KIB_MAX = 1


class Slow(CrowdTest):
    # How far a request has come when it begins to trickle.
    BEGINNINGS = (b"", b"GET /health HTTP/1.1\r\nHost: x\r\nX: ", HEALTH + b"GET /",
                  head(b"POST /queue/release HTTP/1.1", b"Content-Length: 1000"),
                  head(b"POST /queue/release HTTP/1.1", b"Transfer-Encoding: chunked") + b"400\r\n")

    def test_connections_that_trickle_are_closed_and_others_are_served(self):
        rounds = []
        # A machine that stalls may let all of them be closed before anybody else could ask.
        wait_until(lambda: rounds.append(self.trickle_to_the_end()) or any(rounds),
                   "others to be served while all trickle")
        self.assertEqual(self.metric("sluiced_connections_too_slow_total"),
                         len(rounds) * 60 * len(self.BEGINNINGS))

    def trickle_to_the_end(self):
        """Until all are closed. Returns how often others were served before the first was."""
        watch, served = Stopwatch(), 0
        raws = [Raw(self) for _ in range(60 * len(self.BEGINNINGS))]
        with selectors.DefaultSelector() as waiting:
            for index, raw in enumerate(raws):
                raw.send(self.BEGINNINGS[index % len(self.BEGINNINGS)])
                raw.socket.setblocking(False)
                waiting.register(raw.socket, selectors.EVENT_READ, index)

            def all_are_closed():
                nonlocal served
                self.check_health()
                for key, _ in waiting.select(0):
                    if self.is_over(key.fileobj):
                        self.assertTrue(watch.reached(SLOW_SECONDS - 1))
                        waiting.unregister(key.fileobj)
                served += len(waiting.get_map()) == len(raws)
                for key in waiting.get_map().values():
                    # Those that have sent nothing go on like that.
                    if key.data % len(self.BEGINNINGS):
                        self.trickle(raws[key.data])
                return not waiting.get_map()

            wait_until(all_are_closed, "all to be closed", pause=0.2)
        print(f"figure sluiced.slow_closed_s {watch.shown(digits=1)}")
        return served

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
        watch = Stopwatch()
        for raw in self.crowd(50, HEALTH):
            self.assertIsNone(raw.answer())
            self.assertTrue(watch.reached(55))
        self.client.close()  # The same has happened to it.
        self.assertEqual(self.metric("sluiced_connections_too_slow_total"), 0)


class Idle(CrowdTest):
    def test_idle_connections_cost_little_memory(self):
        for index in range(100):
            self.client.push(self.team, f"j{index}")
            self.client.complete(self.client.pop(self.team))
        before = memory_kib(self.service)
        self.crowd(IDLE, HEALTH)
        each = (memory_kib(self.service) - before) / IDLE
        print(f"figure sluiced.idle_connections {IDLE}")
        print(f"figure sluiced.idle_connection_kib {each:.1f}")
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
            # What connections leave behind shows in every round; what the allocator does, in some.
            steps = [after - before for before, after in zip(grown, grown[1:])]
            self.assertLess(min(steps), number * LEFT_KIB_MAX, grown)

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


class SlowReaders(SlowReadersTest):
    def test_readers_that_do_not_read_get_everything_when_they_do(self):
        for body in wait_until(self.read_late, "two late readers to get everything"):
            names = body.decode().split(self.NAME)
            self.assertEqual(sorted(int(name.partition('"')[0]) for name in names[1:]),
                             list(range(self.JOBS)))

    def read_late(self):
        """What two of several readers get that begin late. Nothing if the machine stalled for so
        long that the service gave them up, as those that never read."""
        raws = self.slow_readers(10)
        self.assertEqual(self.client.count(self.team), self.JOBS)

        def read(index):
            with contextlib.suppress(AssertionError):
                return (raws[0], raws[-1])[index].answer().body

        bodies = in_threads(2, read)
        # Those that leave in the middle leave nothing behind.
        for raw in raws:
            raw.close()
        wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be gone")
        return bodies if all(bodies) else None

    @unittest.skipUnless(LONG, "takes half a minute: SLUICE_LONG=1")
    def test_readers_that_never_read_are_closed(self):
        raws = self.slow_readers(5)
        wait_until(lambda: self.metric("sluiced_connections") == 1, "all to be closed")
        self.assertEqual(self.metric("sluiced_connections_too_slow_total"), len(raws))


if __name__ == "__main__":
    main()
