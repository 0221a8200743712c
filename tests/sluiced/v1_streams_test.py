"""Streams of events under load: writers, kills, crowds, and clients that do not read."""
import threading
import unittest

from harness import CUT, LONG, PATIENCE, OwnServiceTest, in_threads, main, wait_until
from programs import UnixService
from streams import GAP, Stream, pages, place
from v1 import V1Test, below
from waiting import pause
from watch import SANITIZED, memory_kib

STREAMS_MAX = 1000
# What a hundred streams that nobody reads may cost. They would need 60 MiB if all were kept.
STUCK_KIB_MAX = 40 * 1024


class Follower(threading.Thread):
    """Reads a stream, or pages, to the end of the test, and comes back whenever it is cut off."""

    def __init__(self, case, queue, by_pages=False):
        super().__init__(daemon=True)
        self.case, self.queue, self.by_pages = case, queue, by_pages
        self.events, self.raised, self.begun = [], [], 0
        self.enough = threading.Event()
        case.addCleanup(self.end)
        self.start()

    def cursor(self):
        return self.events[-1]["cursor"] if self.events else ""

    def run(self):
        while not self.enough.is_set():
            try:
                self.case.service.up.wait(PATIENCE)
                self.begun += 1
                self.read_pages() if self.by_pages else self.read_stream()
            except CUT:
                pass
            except BaseException as error:
                self.raised.append(error)
                return

    def read_stream(self):
        stream = Stream(self.case, self.queue, last=self.cursor() or None)
        while not self.enough.is_set():
            event = stream.next()
            if event is None:
                return
            if event == GAP:
                raise AssertionError(f"a gap after {len(self.events)} events")
            if isinstance(event, dict):
                self.events.append(event)

    def read_pages(self):
        client = self.case.new_client()
        while not self.enough.is_set():
            found = pages(client, self.queue, self.cursor(), limit=37)
            self.events += found
            if not found:
                pause(0.01)

    def wait_for(self, number, begun=1):
        """Until it has so many events. A stream has begun so often then; a poller may not have
        noticed that it was cut off."""
        often = lambda: self.by_pages or self.begun >= begun
        wait_until(lambda: self.raised or (len(self.events) >= number and often()),
                   f"{number} events, and {begun} beginnings")
        if self.raised:
            raise self.raised[0]
        return self.events

    def end(self):
        self.enough.set()


class StreamsTest(V1Test):
    def check_story(self, events):
        """Every event once, in order, and each job goes on from where it was."""
        self.assertEqual(events, sorted(events, key=place))
        self.assertEqual(len(set(map(place, events))), len(events))
        lanes = {}
        for event in events:
            self.assertEqual(event.get("from"), lanes.get(event["id"]), event)
            lanes[event["id"]] = event["to"]
        found = list(lanes.values())
        kept = {lane: found.count(lane) for lane in set(found) - {"done"}}
        self.assertEqual(kept, self.client.counts(self.queue))

    def work(self, client, index, number):
        """Three jobs that come and go, of which one is given back."""
        name = f"{index}-{number}"
        client.enqueue_many(self.queue, [{"id": f"{name}-{one}"} for one in range(2)])
        client.enqueue(self.queue, f"{name}-2")
        leases = client.claim(self.queue, max=3)
        for lease, verb in zip(leases, ("ack", "ack", "release")):
            client.settle(verb, lease)
        return name


class Load(StreamsTest):
    def test_a_stream_and_a_poller_see_the_same(self):
        self.client.configure(self.queue)
        followers = [Follower(self, self.queue), Follower(self, self.queue, by_pages=True)]

        def write(index):
            client = self.new_client()
            for number in range(25):
                self.work(client, index, number)

        in_threads(8, write)
        events = pages(self.client, self.queue)
        self.assertGreater(len(events), 8 * 25 * 6)
        for follower in followers:
            self.assertEqual(follower.wait_for(len(events)), events)
        self.check_story(events)


class Kills(StreamsTest, OwnServiceTest):
    def test_nothing_is_missed_and_nothing_comes_twice(self):
        self.client.configure(self.queue)
        followers = [Follower(self, self.queue), Follower(self, self.queue, by_pages=True)]
        enough = threading.Event()

        def write(index):
            client, done = self.new_client(), []
            for number in range(150):  # No more events than are kept.
                if enough.is_set():
                    break
                self.service.up.wait(PATIENCE)
                try:
                    done.append(self.work(client, index, number))
                except CUT:
                    pass
            return done

        def kill():
            try:
                for number in range(1, 5):
                    for follower in followers:
                        follower.wait_for(200 * number, begun=number)
                    self.service.kill()
                    self.service.start()
            finally:
                enough.set()

        answered = in_threads(5, lambda index: write(index) if index < 4 else kill())[:4]
        events = pages(self.client, self.queue)
        for follower in followers:
            self.assertEqual(follower.wait_for(len(events), begun=5), events)
        self.check_story(events)
        enqueued = {event["id"] for event in events if "from" not in event}
        for name in sum(answered, []):
            self.assertLessEqual({f"{name}-{one}" for one in range(3)}, enqueued)
        self.check_store(self.service)


class Crowd(StreamsTest, OwnServiceTest):
    # Longer than anybody here waits: who needs it has failed.
    options = ("--drain-time", "1h")

    def setUp(self):
        super().setUp()
        self.client.configure(self.queue)
        self.streams = [Stream(self, self.queue) for _ in range(STREAMS_MAX)]
        for stream in self.streams:
            stream.greet()

    def one_more(self):
        """A stream, if there is a place for it."""
        stream = Stream(self, self.queue)
        reply = stream.read_head()
        if reply.status == 200:
            return stream
        self.assertEqual((reply.status, reply.headers["retry-after"], reply.media_type()),
                         (503, "1", "application/json"))
        stream.close()
        return None

    def test_a_thousand_follow_and_no_more(self):
        self.assertIs(self.one_more(), None)
        self.assertEqual(self.client.ok("GET", below(self.queue, "events"))["events"], [])
        self.client.enqueue(self.queue, "j")
        for stream in self.streams:
            self.assertEqual([event["id"] for event in stream.take(1)], ["j"])
        self.assertIs(self.one_more(), None)
        self.assertEqual(self.service.stop(), 0)
        for stream in self.streams:
            self.assertIs(stream.next(), None)

    def test_who_has_left_makes_room(self):
        for stream in self.streams[:10]:
            stream.close()

        def again():
            # What is sent to those who have left comes back.
            self.client.enqueue(self.queue)
            return self.one_more()

        wait_until(again, "a place to be free")
        self.assertEqual(self.service.stop(), 0)

    @unittest.skipUnless(LONG, "takes a while: SLUICE_LONG=1")
    def test_who_has_left_makes_room_also_when_nothing_happens(self):
        for stream in self.streams:
            stream.close()
        for _ in range(STREAMS_MAX):
            wait_until(self.one_more, "a place to be free")
        self.assertIs(self.one_more(), None)


class Stuck(StreamsTest):
    """Clients that have asked for a stream and do not read it."""

    @classmethod
    def setUpClass(cls):
        # Of what is sent over a socket file the system keeps 200 KiB, and not several MiB.
        cls.service = UnixService("--drain-time", "100ms")
        cls.addClassCleanup(cls.service.end)
        cls.service.start()

    def test_they_cost_little_and_hold_up_nobody(self):
        _, alone = self.grown_by_jobs(self.named("control"))
        self.client.configure(self.queue)
        stuck = [Stream(self, self.queue) for _ in range(100)]
        events, beside = self.grown_by_jobs(self.queue)
        print(f"figure sluiced.stuck_streams_kib {beside - alone}")
        if not SANITIZED:
            self.assertLess(beside - alone, STUCK_KIB_MAX)
        self.assertEqual(stuck[0].take(1500), events)
        self.check_store()
        self.assertEqual(self.service.stop(), 0)

    def grown_by_jobs(self, queue):
        """The events of many jobs, which somebody follows, and what they cost in memory."""
        self.client.configure(queue)
        healthy = Follower(self, queue)
        before = memory_kib(self.service)
        # A stream would need 600 KiB if all of it were kept for it.
        self.client.enqueue_many(queue, [{"id": f"{number:0>256}"} for number in range(1500)])
        events = pages(self.client, queue)
        self.assertEqual(healthy.wait_for(1500), events)
        return events, memory_kib(self.service) - before


if __name__ == "__main__":
    main()
