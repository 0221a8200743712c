"""Where one request ends and the next begins is never in doubt, or nothing is executed."""
from harness import main
from raw import Raw, chunked, head, push, request
from smuggling import BODY, CLEAR, CORPUS, GET, LENGTH, post
from watch import WatchedTest


class Smuggling(WatchedTest):
    def exchange(self, text, piece=None):
        """The answers to `text`, after which nothing more is sent."""
        raw = Raw(self)
        raw.send(text, piece)
        raw.finish()
        answers = raw.answers()
        raw.close()
        return answers

    def check_corpus(self, name, piece=None):
        for number, text in enumerate(CORPUS[name]):
            hidden = f"{name} {number} {text!r}"
            answers = self.exchange(text + push(self.team, hidden[:200]), piece)
            statuses = [answer.status for answer in answers]
            self.assertTrue(all(status >= 400 for status in statuses), (hidden, statuses))
            self.assertLessEqual(len(answers), 2, (hidden, statuses))
            if answers:
                self.assertEqual(answers[-1].headers["connection"], "close", hidden)
        self.assertEqual(self.client.ids(self.team), [])

    def test_what_can_be_read_in_two_ways_is_refused_with_all_that_follows(self):
        for name in CORPUS:
            with self.subTest(name):
                self.check_corpus(name)

    def test_it_makes_no_difference_how_the_bytes_arrive(self):
        for name in CORPUS:
            with self.subTest(name):
                self.check_corpus(name, piece=1 if name != "lengths" else 7)

    def test_what_is_clear_is_answered_and_so_is_what_follows(self):
        for piece in (None, 1):
            for number, text in enumerate(CLEAR):
                name = f"{number} {piece}"
                answers = self.exchange(text + push(self.team, name), piece)
                self.assertEqual([answer.status for answer in answers], [200, 200], text)
                self.assertEqual(self.client.pop_id(self.team), name)

    def test_what_is_in_a_body_is_no_request(self):
        hidden = push(self.team, "hidden")
        length = b"Content-Length: %d" % len(hidden)
        lines = (b"Content-Type: application/json", length)
        for first, status in ((b"GET /health", 200), (b"POST /nowhere", 404),
                              (b"PUT /health", 405), (b"POST /queue/push", 400),
                              (b"POST /queue/push/", 404), (b"DELETE /queue/push", 405),
                              (b"POST /queue/count/team/%ff", 405), (b"GET /metrics", 200)):
            text = head(first + b" HTTP/1.1", *lines) + hidden
            self.assertEqual([answer.status for answer in self.exchange(text + GET + b"\r\n")],
                             [status, 200], first)
        text = chunked("/queue/release", hidden, hidden)
        self.assertEqual([answer.status for answer in self.exchange(text)], [400])
        self.assertEqual(self.client.ids(self.team), [])

    def test_nothing_is_executed_after_the_last_request_of_a_connection(self):
        for text, status in ((GET + b"Connection: close\r\n\r\n", 200),
                             (GET + b"Connection: x, Close\r\n\r\n", 200),
                             (post(LENGTH, b"Connection: close"), 200),
                             (b"GET /health HTTP/1.0\r\n\r\n", 200),
                             (post(b"Content-Length: 2097153"), 413),
                             (post(b"Content-Length: 2097153", b"Expect: 100-continue"), 413)):
            answers = self.exchange(text + push(self.team, "late") * 3)
            self.assertEqual([answer.status for answer in answers], [status], text)
            self.assertEqual(answers[0].headers["connection"], "close")
        self.assertEqual(self.client.ids(self.team), [])

    def test_a_request_whose_end_never_comes_is_not_executed(self):
        whole = push(self.team, "half")
        for text in (whole[:-1], whole[:-len(BODY)], whole[:whole.index(b"\r\n\r\n") + 3],
                     chunked("/queue/push", whole.partition(b"\r\n\r\n")[2])[:-1]):
            self.assertEqual(self.exchange(text), [])
        self.assertEqual(self.client.ids(self.team), [])


class Pipelining(WatchedTest):
    def test_requests_are_executed_and_answered_in_their_order(self):
        """A count after each push says how many pushes came before it."""
        number, count = 150, f"/queue/count/team/{self.team.replace(' ', '%20')}"
        sent, expected = [], []
        for index in range(number):
            one = push(self.team, f"j{index:03}")
            if index % 3 == 0:
                body = one.partition(b"\r\n\r\n")[2]
                one = chunked("/queue/push", body[:10], body[10:])
            sent += [one, request("GET", count), request("GET", f"/nowhere/{index}")]
            expected += [(200, b'{"success":true}'), (200, b'{"count":%d}' % (index + 1)),
                         (404, b"there is no such path\n")]
        for piece in (None, 1000):
            raw = Raw(self)
            raw.send(b"".join(sent), piece)
            raw.finish()
            answers = [(answer.status, answer.body) for answer in raw.answers()]
            if piece:  # The second time every job is there.
                expected = [(status, b'{"count":%d}' % number if b"count" in body else body)
                            for status, body in expected]
            self.assertEqual(answers, expected)
        self.assertEqual(self.client.ids(self.team), [f"j{index:03}" for index in range(number)])

    def test_many_connections_do_so_at_once(self):
        raws = [Raw(self) for _ in range(20)]
        for index, raw in enumerate(raws):
            raw.send(b"".join(push(f"{self.team} {index}", f"j{number}") for number in range(50)))
            raw.finish()
        for index, raw in enumerate(raws):
            self.assertEqual([answer.status for answer in raw.answers()], [200] * 50)
            self.assertEqual(self.pop_all(f"{self.team} {index}"),
                             [f"j{number}" for number in range(50)])

    def test_a_body_is_asked_for_when_its_sender_waits(self):
        raw = Raw(self)
        whole = push(self.team, "j")
        first, _, body = whole.partition(b"\r\n\r\n")
        raw.send(first + b"\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(raw.answer().status, 100)
        raw.send(body)
        self.assertEqual(raw.answer().status, 200)
        self.assertEqual(self.client.ids(self.team), ["j"])


if __name__ == "__main__":
    main()
