"""Events of the native API: what happened to jobs, page by page and as a stream."""
import unittest

from harness import LONG, OwnServiceTest, main, wait_until
from raw import Raw, head
from streams import COMMENT, GAP, Stream, move, pages, place
from v1 import V1Test, below, path_of

BAD_CURSORS = ("x", "1", "Now", "now ", "0" * 32, "0" * 32 + ".", "0" * 31 + ".1", "0" * 33 + ".1",
               "g" * 32 + ".1", "0" * 32 + ".x", "0" * 32 + ".-1", "0" * 32 + ".1x",
               "0" * 32 + ".18446744073709551616", "0" * 32 + ",1", "\u00fc" * 16 + ".1")


class EventsTest(V1Test):
    def path(self):
        return below(self.queue, "events")

    def moves(self):
        return list(map(move, pages(self.client, self.queue)))

    def remove_queue(self):
        """It has no jobs any more, and then it is gone."""
        for id in self.client.job_ids(self.queue):
            self.client.change("cancel", self.queue, id)
        self.client.ok("DELETE", path_of(self.queue))


class Pages(EventsTest):
    def test_every_move_of_a_job(self):
        client, queue = self.client, self.queue
        client.enqueue(queue, "j")
        client.release(client.claim_one(queue))
        client.fail(client.claim_one(queue), delay_ms=3_600_000)
        for _ in range(2):
            client.change("hold", queue, "j")
            client.change("unhold", queue, "j")
        client.change("cancel", queue, "j")
        client.enqueue(queue, "j")
        client.claim_one(queue)
        client.change("break-lease", queue, "j")
        client.fail(client.claim_one(queue), dead=True)
        client.change("requeue", queue, "j")
        client.ack(client.claim_one(queue))
        self.assertEqual(self.moves(), [
            ("j", None, "ready", 0), ("j", "ready", "leased", 1), ("j", "leased", "ready", 0),
            ("j", "ready", "leased", 1), ("j", "leased", "scheduled", 1),
            *[("j", "scheduled", "held", 1), ("j", "held", "scheduled", 1)] * 2,
            ("j", "scheduled", "cancelled", 1), ("j", None, "ready", 0),
            ("j", "ready", "leased", 1), ("j", "leased", "ready", 1), ("j", "ready", "leased", 2),
            ("j", "leased", "dead", 2), ("j", "dead", "ready", 0), ("j", "ready", "leased", 1),
            ("j", "leased", "done", 1)])
        self.assertEqual(client.lane(queue, "j"), "gone")

    def test_what_follows_from_other_jobs(self):
        client, queue = self.client, self.queue
        client.enqueue_many(queue, [{"id": "a"}, {"id": "b", "after": [{"id": "a"}]},
                                    {"id": "c", "delay_ms": 1, "priority": 9}])
        client.ack(client.claim_one(queue), children=[{"id": "d", "hold": True}])
        client.change("cancel", queue, "d")
        wait_until(lambda: client.lane(queue, "c") == "ready", "c to be due")
        moves = self.moves()
        self.assertEqual(moves[:3], [("a", None, "ready", 0), ("b", None, "waiting", 0),
                                     ("c", None, "scheduled", 0)])
        self.assertEqual(sorted(moves[3:], key=str), sorted([
            ("a", "ready", "leased", 1), ("a", "leased", "done", 1), ("b", "waiting", "ready", 0),
            ("c", "scheduled", "ready", 0), ("d", None, "held", 0), ("d", "held", "cancelled", 0)],
            key=str))

    def test_pages_follow_each_other(self):
        self.client.fill(self.queue, 50)
        for one in range(20):
            self.client.enqueue(self.queue, f"x{one}")
        events = pages(self.client, self.queue)
        self.assertEqual([one["id"] for one in events],
                         [str(one) for one in range(50)] + [f"x{one}" for one in range(20)])
        self.assertEqual(events, sorted(events, key=place))
        self.assertEqual(len(set(map(place, events))), 70)
        for limit in (1, 7, 69, 70, 71):
            self.assertEqual(pages(self.client, self.queue, limit=limit), events, limit)
        for number in (0, 1, 48, 49, 50, 69):
            self.assertEqual(pages(self.client, self.queue, events[number]["cursor"], 7),
                             events[number + 1:], number)
        self.assertEqual(len(self.client.page(self.path())["events"]), 70)
        for limit in ("0", "1001", "x", "-1", "1.5"):
            self.refused("invalid_argument", "GET", f"{self.path()}?limit={limit}")

    def test_where_there_is_nothing(self):
        self.refused("not_found", "GET", self.path())
        self.refused("not_found", "GET", self.path() + "?after=now")
        self.client.configure(self.queue)
        nothing = {"events": [], "next": "", "gap": False}
        for query in ("", "?after=", "?after=now"):
            self.assertEqual(self.client.ok("GET", self.path() + query), nothing)
        self.client.fill(self.queue, 3)
        events = pages(self.client, self.queue)
        for after in ("now", events[-1]["cursor"]):
            self.assertEqual(self.client.page(self.path(), after=after),
                             {"events": [], "next": events[-1]["cursor"], "gap": False})
        self.client.enqueue(self.queue, "new")
        page = self.client.page(self.path(), after=events[-1]["cursor"])
        self.assertEqual([one["id"] for one in page["events"]], ["new"])

    def test_what_is_no_cursor(self):
        self.client.enqueue(self.queue)
        for cursor in BAD_CURSORS:
            with self.assertRaisesRegex(AssertionError, "400.*invalid_argument"):
                self.client.page(self.path(), after=cursor)
        # A page asks for no more than its address says.
        reply = self.client.wire.call("GET", self.path(), headers={"Last-Event-ID": "x"})
        self.assertEqual((reply.status, reply.media_type()), (200, "application/json"))

    def test_a_queue_may_do_without(self):
        self.client.fill(self.queue, 2)
        self.client.configure(self.queue, events=False)
        self.client.claim_one(self.queue)
        self.client.configure(self.queue, events=True)
        self.client.enqueue(self.queue, "new")
        self.assertEqual([one[0] for one in self.moves()], ["0", "1", "new"])

    def test_over_many_shards_they_come_in_order(self):
        self.client.configure(self.queue, shards=16)
        for number in range(100):
            self.client.enqueue(self.queue, str(number))
        self.client.claim(self.queue, max=50)
        events = pages(self.client, self.queue, limit=9)
        self.assertEqual([one["id"] for one in events[:100]], [str(one) for one in range(100)])
        self.assertEqual(events, sorted(events, key=place))
        self.assertEqual(len(set(map(place, events))), 150)

    def test_those_that_are_gone_leave_a_gap(self):
        self.client.enqueue(self.queue, "first")
        first = pages(self.client, self.queue)[0]["cursor"]
        for number in (10_000, 2_000):
            self.client.enqueue_many(self.queue, [{}] * number)

        def gap():
            """Some calls take away what is too much, others do not."""
            self.client.enqueue(self.queue)
            page = self.client.page(self.path(), after=first, limit=1)
            return page["gap"] and page

        page = wait_until(gap, "the first events to be gone")
        oldest = self.client.page(self.path(), limit=1)
        self.assertEqual((oldest["events"], oldest["gap"]), (page["events"], False))
        # From the first one after the gap on there is none.
        rest = pages(self.client, self.queue, page["next"])
        self.assertGreaterEqual(len(rest), 9_999)
        self.assertEqual(rest, sorted(rest, key=place))
        stream = Stream(self, self.queue, after=first)
        self.assertEqual(stream.next(), GAP)
        self.assertEqual(stream.take(301), page["events"] + rest[:300])


class Streams(EventsTest):
    def test_its_head(self):
        self.client.configure(self.queue)
        for version in ("1.1", "1.0"):
            stream = Stream(self, self.queue, version=version)
            reply = stream.read_head()
            self.assertEqual((reply.status, reply.headers["content-type"],
                              reply.headers["cache-control"], reply.headers["content-length"],
                              reply.headers["connection"]),
                             (200, "text/event-stream", "no-store", None, "close"))
            self.assertTrue(reply.headers["x-request-id"])
            self.assertEqual(stream.block(), b"retry: 1000")
            id = self.client.enqueue(self.queue, version)
            while (event := stream.next())["id"] != id:
                pass
            self.assertEqual(move(event), (id, None, "ready", 0))

    def test_where_it_begins(self):
        self.client.fill(self.queue, 250)
        events = pages(self.client, self.queue)
        cursor = events[99]["cursor"]
        streams = [(Stream(self, self.queue, **options).greet(), begin, options)
                   for options, begin in (
                       ({}, 0), ({"after": ""}, 0), ({"after": cursor}, 100),
                       ({"last": cursor}, 100), ({"last": cursor, "after": "now"}, 100),
                       ({"last": cursor, "after": events[5]["cursor"]}, 100),
                       ({"after": "now"}, 250), ({"last": "now"}, 250))]
        self.client.enqueue(self.queue, "new")
        events = pages(self.client, self.queue)
        for stream, begin, options in streams:
            self.assertEqual(stream.take(251 - begin), events[begin:], options)

    def test_it_is_refused_as_a_page_is(self):
        def refusal(**options):
            stream = Stream(self, self.queue, **options)
            reply = stream.read_head()
            return reply.status, reply.media_type()

        self.assertEqual(refusal(), (404, "application/json"))
        self.assertEqual(refusal(after="now"), (404, "application/json"))
        self.client.configure(self.queue)
        for cursor in BAD_CURSORS:
            self.assertEqual(refusal(after=cursor), (400, "application/json"), cursor)
        for cursor in BAD_CURSORS[:-1]:
            if cursor.strip() == cursor:
                self.assertEqual(refusal(last=cursor), (400, "application/json"), cursor)

    def test_who_accepts_what(self):
        self.client.enqueue(self.queue)
        for accepted, media in (
                ("text/event-stream", "text/event-stream"),
                ("application/json, text/event-stream;q=0.5", "text/event-stream"),
                ("application/json", "application/json"), ("*/*", "application/json"),
                ("text/html", "application/json")):
            raw = Raw(self)
            raw.send(head(b"GET %s HTTP/1.1" % self.path().encode(), b"Accept: %s"
                          % accepted.encode()))
            while b"\r\n\r\n" not in raw.buffer:
                self.assertTrue(raw.fill())
            self.assertIn(f"Content-Type: {media}\r\n".encode(), raw.buffer, accepted)

    def test_any_id_goes_through(self):
        ids = ["line\nbreak", "\r\n\r\n", "\n\nid: x", "\u2028", '"', "\\", "\0", "\U0001f600",
               "x" * 256]
        for id in ids:
            self.client.enqueue(self.queue, id)
        events = Stream(self, self.queue).take(len(ids))
        self.assertEqual([event["id"] for event in events], ids)
        self.assertEqual(events, pages(self.client, self.queue))

    def test_it_goes_on_as_things_happen(self):
        self.client.configure(self.queue)
        stream = Stream(self, self.queue).greet()
        for _ in range(3):
            id = self.client.enqueue(self.queue)
            self.assertEqual(move(*stream.take(1)), (id, None, "ready", 0))
            lease = self.client.claim_one(self.queue)
            self.assertEqual(move(*stream.take(1)), (id, "ready", "leased", 1))
            self.client.ack(lease)
            self.assertEqual(move(*stream.take(1)), (id, "leased", "done", 1))

    def test_what_is_sent_behind_the_request_does_no_harm(self):
        self.client.configure(self.queue)
        stream = Stream(self, self.queue)
        stream.raw.send(head(b"GET /health HTTP/1.1") + b"\0" * 100)
        stream.greet()
        self.client.enqueue(self.queue, "j")
        self.assertEqual([event["id"] for event in stream.take(1)], ["j"])

    def test_it_ends_with_its_queue(self):
        self.client.enqueue(self.queue, "j")
        stream = Stream(self, self.queue)
        last = stream.take(1)[0]["cursor"]
        self.remove_queue()
        rest = list(iter(stream.next, None))
        self.assertIn(list(map(move, rest)), ([], [("j", "ready", "cancelled", 0)]))
        self.assertEqual(Stream(self, self.queue, last=last).read_head().status, 404)
        self.client.enqueue(self.queue, "again")
        self.assertEqual([event["id"] for event in Stream(self, self.queue, last=last).take(1)],
                         ["again"])

    @unittest.skipUnless(LONG, "SLUICE_LONG is not set")
    def test_comments_come_while_nothing_happens(self):
        self.client.configure(self.queue)
        stream = Stream(self, self.queue).greet()
        self.assertEqual([stream.next() for _ in range(2)], [COMMENT] * 2)
        self.client.enqueue(self.queue, "j")
        self.assertEqual([event["id"] for event in stream.take(1)], ["j"])


class Ends(EventsTest, OwnServiceTest):
    # Longer than anybody here waits: who needs it has failed.
    options = ("--drain-time", "1h")

    def test_they_end_when_the_service_does(self):
        self.client.fill(self.queue, 10)
        streams = [Stream(self, self.queue) for _ in range(20)]
        for stream in streams:
            self.assertEqual(len(stream.take(10)), 10)
        self.assertEqual(self.service.stop(), 0)
        for stream in streams:
            self.assertIs(stream.next(), None)


if __name__ == "__main__":
    main()
