"""X-Request-Id: every answer of the native API names its request, and so does the log."""
import re

from harness import SLUICED, OwnServiceTest, Service, in_threads, main, wait_until
from openapi import DOCUMENT
from programs import run
from raw import Raw, head
from routes import ROUTES
from streams import Stream
from v1 import V1Test, below, path_of

PATTERN = r"\A[!-~]{1,128}\Z"
VISIBLE = "".join(map(chr, range(0x21, 0x7f)))


class IdsTest(V1Test):
    def reply(self, method, path, body=None, id=None, client=None, **headers):
        """Also checks that it has an id, and one."""
        if id is not None:
            headers["X-Request-Id"] = id
        reply = (client or self.client).wire.call(method, path, body, headers)
        found = reply.headers.get_all("x-request-id", [])
        self.assertEqual(len(found), 1, (method, path, reply))
        self.assertRegex(found[0], PATTERN)
        return reply

    def id_of(self, *arguments, **options):
        return self.reply(*arguments, **options).headers["x-request-id"]


class Ids(IdsTest):
    def test_that_of_the_request_comes_back(self):
        for id in ("a", "7", VISIBLE, "x" * 128, "a,b;c=d", '"', "%20", "0" * 127 + "~"):
            self.assertEqual(self.id_of("GET", "/v1/queues", id=id), id)
        for id in (" a", "a ", "\ta\t"):
            self.assertEqual(self.id_of("GET", "/v1/queues", id=id), "a")

    def test_the_name_of_the_header_is_that_in_any_case(self):
        for name in ("x-request-id", "X-REQUEST-ID"):
            self.assertEqual(self.id_of("GET", "/v1/queues", **{name: "mine"}), "mine")

    def test_what_is_no_id_is_replaced(self):
        for id in ("", " ", "x" * 129, "a b", "a\tb", "\u00fc", "a\x80", "\xff" * 10):
            found = self.id_of("GET", "/v1/queues", id=id)
            self.assertNotIn(found, (id, id.strip()))

    def test_new_ones_are_like_no_other(self):
        def ask(index):
            client = self.new_client()
            return [self.id_of("GET", path_of("none"), client=client) for _ in range(250)]

        ids = sum(in_threads(8, ask), [])
        other = Service()
        self.addCleanup(other.end)
        for _ in range(3):
            other.start()
            client = type(self.client)(other)
            ids += [self.id_of("GET", "/v1/queues", client=client) for _ in range(20)]
            client.close()
            other.stop()
        self.assertEqual(len(set(ids)), 8 * 250 + 60)

    def test_every_operation_has_them(self):
        for number, operation in enumerate(DOCUMENT.operations()):
            for body in (b"{}", b"{"):
                self.assertEqual(self.id_of(operation.method, operation.sample_path(), body,
                                            id=f"op-{number}"), f"op-{number}", operation)

    def test_every_refusal_has_them(self):
        self.client.configure(self.queue, backlog_max=0)
        self.client.configure(self.named("other"))
        self.client.enqueue(self.named("other"), "j")
        for status, method, path, body in (
                (400, "PUT", path_of(self.queue), {"lease_ms": 0}),
                (400, "PUT", path_of(self.queue), b"{"), (400, "GET", "/v1/queues/%FF", None),
                (400, "GET", "/v1/queues?limit=%FF", None), (404, "GET", "/v1/nothing", None),
                (404, "GET", "/v1/", None), (404, "GET", path_of("none"), None),
                (405, "PATCH", "/v1/queues", None), (405, "HEAD", "/v1/queues", None),
                (409, "POST", path_of(self.named("other")) + "/jobs", {"id": "j"}),
                (429, "POST", path_of(self.queue) + "/jobs", {})):
            reply = self.reply(method, path, body, id="mine")
            self.assertEqual((reply.status, reply.headers["x-request-id"]), (status, "mine"), path)
            self.assertNotEqual(self.id_of(method, path, body), "mine")

    def test_answers_that_come_later_have_that_of_their_request(self):
        raw = Raw(self)
        for number in range(50):
            raw.send(head(b"GET /v1/queues HTTP/1.1", b"X-Request-Id: %d" % number))
        self.assertEqual([raw.answer().headers["x-request-id"] for _ in range(50)],
                         [str(number) for number in range(50)])
        body = b'{"queues": ["%s"], "wait_ms": 100000}' % self.queue.encode()
        raw.send(head(b"POST /v1/claim HTTP/1.1", b"X-Request-Id: poll",
                      b"Content-Length: %d" % len(body)) + body)
        self.client.enqueue(self.queue, "j")
        reply = raw.answer()
        self.assertEqual((reply.headers["x-request-id"], b'"j"' in reply.body), ("poll", True))

    def test_a_stream_has_one_in_its_head(self):
        self.client.configure(self.queue)
        raw = Raw(self)
        raw.send(head(b"GET %s HTTP/1.1" % below(self.queue, "events").encode(),
                      b"Accept: text/event-stream", b"X-Request-Id: mine"))
        while b"retry" not in raw.buffer:
            self.assertTrue(raw.fill())
        self.assertEqual(raw.buffer.count(b"X-Request-Id: mine\r\n"), 1)
        for id in (Stream(self, self.queue).read_head().headers["x-request-id"] for _ in range(2)):
            self.assertRegex(id, PATTERN)

    def test_the_other_routes_have_none(self):
        for method, path, body in (*((one.method, one.of("x"), one.body) for one in ROUTES),
                                   ("GET", "/metrics", None), ("GET", "/nothing", None),
                                   ("GET", "/", None)):
            for headers in ({}, {"X-Request-Id": "mine"}):
                reply = self.client.wire.call(method, path, body, {
                    "content-type": "application/json", **headers})
                self.assertIs(reply.headers["x-request-id"], None, path)


class Tokens(IdsTest, OwnServiceTest):
    def test_who_is_kept_out_gets_one_too(self):
        made = run(SLUICED, "token", "add", "reader", "--may", "work", "--queues", "a", "--data",
                   self.service.data)
        self.assertEqual(made.code, 0, made)
        path = path_of("b")
        wait_until(lambda: self.reply("GET", path).status == 401, "the token to be asked for")
        token = {"Authorization": "Bearer " + made.out.strip()}
        for status, method, target, headers in ((401, "GET", path, {}), (404, "GET", path, token),
                                                (403, "PUT", path_of("a"), token)):
            reply = self.reply(method, target, b"{}", id="mine", **headers)
            self.assertEqual((reply.status, reply.headers["x-request-id"]), (status, "mine"))


class Log(IdsTest, OwnServiceTest):
    options = ("--store-size", "1M")

    def told(self, pattern):
        """The lines of the log that name such a request."""
        return re.findall(rf"^.*\brequest {pattern}:.*$", self.service.said(), re.MULTILINE)

    def test_what_the_service_is_to_blame_for_is_in_the_log(self):
        large = {"payload": "x" * 900_000}
        reply = self.reply("POST", path_of(self.queue) + "/jobs", large, id="full")
        self.assertEqual(reply.status, 507)
        made = self.reply("POST", path_of(self.queue) + "/jobs", large).headers["x-request-id"]
        for id in ("full", made):
            lines = wait_until(lambda id=id: self.told(id), f"{id} in the log")
            self.assertEqual(len(lines), 1)
            self.assertRegex(lines[0], rf" warning POST {path_of(self.queue)}/jobs .*\b507\b")
            self.assertIn("storage_full", lines[0])

    def test_too_many_that_wait_are_in_the_log(self):
        polls = [Raw(self) for _ in range(70)]
        for number, raw in enumerate(polls):
            body = b'{"queues": ["q%d"], "wait_ms": 200000}' % number
            raw.send(head(b"POST /v1/claim HTTP/1.1", b"X-Request-Id: poll-%d" % number,
                          b"Content-Length: %d" % len(body)) + body)
        refused = wait_until(lambda: len(found := self.told(r"poll-\d+")) == 6 and found,
                             "all places to be taken, and six to be in the log")
        for line in refused:
            number = int(re.search(r"poll-(\d+)", line)[1])
            reply = polls[number].answer()
            self.assertEqual((reply.status, reply.headers["x-request-id"]), (503, f"poll-{number}"))
            self.assertRegex(line, r"\b503\b.*unavailable")

    def test_what_the_client_is_to_blame_for_is_not(self):
        for path, body in ((path_of("none") + "/pause", None), ("/v1/claim", b"{"),
                           ("/v1/nothing", None)):
            self.assertLess(self.reply("POST", path, body, id="mine").status, 500)
        self.reply("POST", path_of(self.queue) + "/jobs", {"payload": "x" * 900_000}, id="last")
        wait_until(lambda: self.told("last"), "last in the log")
        self.assertEqual(self.told("mine"), [])


if __name__ == "__main__":
    main()
