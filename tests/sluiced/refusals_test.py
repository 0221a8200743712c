"""What the compatible routes refuse, with which status, and that a refusal changes nothing."""
import base64
import http.client
import json
import socket
from urllib.parse import quote

from harness import JSON, PATIENCE, SluicedTest, main, raw_json
from routes import PUSH, ROUTES, WITH_BODY, WITH_ID, changed, without

BODY_BYTES_MAX = 2 * 1024 * 1024
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NOT_INTEGERS = ("1.5", "1.0", "1e2", "1e21", "-1e-3", '"1"', "true", "[]", "{}")
NOT_STRINGS = ("1", "1.5", "true", "[]", "{}", '["x"]')


def filled(size):
    """A push whose body has exactly `size` bytes, and the text that its data is."""
    empty = json.dumps(changed(PUSH, "job.data", ""))
    text = "x" * (size - len(empty))
    body = empty.replace('"data": ""', f'"data": "{text}"').encode()
    assert len(body) == size
    return body, text


class RefusalTest(SluicedTest):
    def refused(self, status, method, path, body=None, headers=None):
        """Checks that the answer is a short text, and returns the reply."""
        reply = self.client.call(method, path, body, headers)
        shown = f"{method} {path} {(body if isinstance(body, bytes) else str(body))!r:.300}"
        self.assertEqual(reply.status, status, f"{shown}: {reply.body[:300]!r}")
        if status not in (404, 405) or reply.body:
            self.assertEqual(reply.media_type(), "text/plain", shown)
            self.assertTrue(reply.body.decode("utf-8"), shown)
        return reply

    def setUp(self):
        super().setUp()
        self.push = changed(PUSH, "teamId", self.team)
        self.pop_path = f"/queue/pop/{quote(self.team)}"

    def check_that_nothing_came(self):
        self.assertEqual((self.client.count(self.team), self.client.ids(self.team)), (0, []))


class Paths(RefusalTest):
    def test_no_such_path(self):
        for path in ("/queue", "/queue/", "/queue/push/", "/queue/push/x", "/queue/pop",
                     "/queue/pop/", "/queue/pop/a/b", "/queue/pop/a/", "/queue//push",
                     "/queue/count/team/", "/queue/count/team", "/queue/count/crawl/",
                     "/queue/count/x/y", "/queue/jobs/team/", "/queue/jobs/x", "/active/count/",
                     "/active/jobs/", "/active/jobs/a/b", "/active/crawl/jobs/", "/Queue/push",
                     "/HEALTH", "/health/", "/healthy", "/reconcile/team/queue/", "/sample",
                     "/reconcile/team/x/y", "/reconcile/crawl/active/", "/sample/teams/",
                     "/sample/x", "/cleanup/", "/cleanup/everything", "/x", "/%68ealth/x"):
            for method in ("GET", "POST", "DELETE"):
                self.refused(404, method, path)

    def test_an_empty_segment_matches_nothing(self):
        for route in WITH_ID:
            self.refused(404, route.method, route.of(""), route.body)
            self.refused(404, route.method, route.of("") + "?limit=1", route.body)

    def test_wrong_method(self):
        for route in ROUTES:
            for method in METHODS:
                if method != route.method:
                    reply = self.refused(405, method, route.of("x"))
                    allowed = [word.strip() for word in reply.headers.get("allow", "").split(",")]
                    self.assertEqual(allowed, [route.method], f"{method} {route.path}")

    def test_wrong_method_with_a_body(self):
        for route in ROUTES:
            method = "POST" if route.method == "GET" else "PUT"
            self.refused(405, method, route.of("x"), self.push)
        self.check_that_nothing_came()

    def test_ids_that_are_not_utf_8_or_badly_escaped(self):
        for text in ("%FF", "a%C3", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%", "a%", "%4", "%zz",
                     "%4g", "a%%20", "%+1"):
            for route in WITH_ID:
                self.refused(400, route.method, route.of(text), route.body)

    def test_ids_that_are_too_long(self):
        for text in ("x" * 257, "%2F" * 257, quote("\U0001f600" * 64 + "x"), quote("\u00fc" * 129)):
            for route in WITH_ID:
                self.refused(422, route.method, route.of(text), route.body)


class Queries(RefusalTest):
    def test_limits_that_are_no_numbers(self):
        for path in (f"/queue/jobs/team/{quote(self.team)}", "/sample/teams", "/sample/crawls"):
            for text in ("-1", "abc", "1.5", "1e3", "4294967296", "99999999999999999999", "",
                         "0x10", "1%20", "%2B", "null"):
                self.refused(400, "GET", f"{path}?limit={text}")


class Json(RefusalTest):
    def test_bodies_that_are_not_json(self):
        good = json.dumps(self.push).encode()
        for body in (b"", b" ", b"{", b"not json", good[:-1], good + b"x", good + good,
                     good.replace(b"null", b"nul"), good.replace(b"null", b"NaN"),
                     good.replace(b"null", b"01"), good.replace(b"null", b"1."),
                     good.replace(b"null", b".5"), good.replace(b"null", b"+1"),
                     good.replace(b"null", b"'x'"), good.replace(b"null", b"[1,]"),
                     good.replace(b"null", b'{"a":1,}'), good.replace(b"null", b'"\\x"'),
                     good.replace(b"null", b'"tab\t"'), good.replace(b"null", b'"\xff"'),
                     good.replace(b"null", b'"\xc3"'), good.replace(b"null", b'"\xed\xa0\x80"'),
                     good.replace(b"null", b"/* */ 1"), good.replace(b"null", b"\0"),
                     good.decode().encode("utf-16")):
            self.refused(400, "POST", "/queue/push", body)
        self.check_that_nothing_came()

    def test_every_route_with_a_body_wants_json(self):
        for route in WITH_BODY:
            for body in (None, b"", b"{", b"nothing"):
                self.refused(400, route.method, route.of("x"), body)

    def test_nesting_beyond_the_limit(self):
        # The body and its job are the two outermost levels of 64.
        for levels in (63, 64, 1000, 100_000):
            for open_, close in (("[", "]"), ('{"a":', "}")):
                text = open_ * levels + "1" + close * levels
                self.refused(400, "POST", "/queue/push",
                             raw_json(changed(self.push, "job.data", "@"), text))
                if levels > 63:
                    self.refused(400, "POST", "/queue/push",
                                 raw_json({**self.push, "unknown": "@"}, text))
        self.check_that_nothing_came()

    def test_names_repeated_in_data(self):
        for text in ('{"a":1,"a":1}', '{"a":1,"b":2,"a":3}', '[[{"b":{"a":1,"a":2}}]]',
                     '{"a":1,"\\u0061":2}', '{"":1,"":1}'):
            self.refused(400, "POST", "/queue/push",
                         raw_json(changed(self.push, "job.data", "@"), text))
        self.check_that_nothing_came()


class Fields(RefusalTest):
    def test_bodies_that_are_no_objects(self):
        for route in WITH_BODY:
            for body in (b"null", b"true", b"1", b'"x"', b"[]", b'["t","j",1]', b"[{}]"):
                self.refused(422, route.method, route.of("x"), body)

    def test_missing_fields(self):
        for path in ("teamId", "job", "job.id", "job.data", "job.priority", "job.listenable"):
            self.refused(422, "POST", "/queue/push", without(self.push, path))
        for route in WITH_BODY:
            for name in route.body:
                self.refused(422, route.method, route.of("x"), without(route.body, name))
            self.refused(422, route.method, route.of("x"), {})
        # What clients sent that expected a pop to remove the job.
        self.refused(422, "POST", self.pop_path, {"blockedCrawlIds": []})
        self.check_that_nothing_came()

    def test_repeated_fields(self):
        for path in ("teamId", "job", "timeout", "crawlId"):
            body = {"timeout": 1, "crawlId": "c", **self.push}
            twice = json.dumps(body)[:-1] + f', "{path}": {json.dumps(body[path])}}}'
            self.refused(400, "POST", "/queue/push", twice.encode())
        job = {**self.push["job"], "listenChannelId": "c"}
        for name, value in job.items():
            twice = json.dumps(job)[:-1] + f', "{name}": {json.dumps(value)}}}'
            body = raw_json(changed(self.push, "job", "@"), twice)
            self.refused(400, "POST", "/queue/push", body)
        for route in WITH_BODY:
            for name, value in route.body.items():
                twice = json.dumps(route.body)[:-1] + f', "{name}": {json.dumps(value)}}}'
                self.refused(400, route.method, route.of("x"), twice.encode())
        self.check_that_nothing_came()

    def test_fields_of_the_wrong_type(self):
        for path, texts in (
                ("teamId", (*NOT_STRINGS, "null")), ("job.id", (*NOT_STRINGS, "null")),
                ("job", ("null", "1", '"x"', "[]", '["j", null, 0, false]')),
                ("job.priority", (*NOT_INTEGERS, "null", "2147483648", "-2147483649",
                                  "9223372036854775808")),
                ("job.listenable", ("null", "0", "1", '"true"', "[]", "{}")),
                ("job.listenChannelId", NOT_STRINGS), ("crawlId", NOT_STRINGS),
                ("timeout", (*NOT_INTEGERS, "9223372036854775808", "-9223372036854775809",
                             "123456789012345678901234567890"))):
            for text in texts:
                with self.subTest(path=path, text=text):
                    self.refused(422, "POST", "/queue/push",
                                 raw_json(changed(self.push, path, "@"), text))
        self.check_that_nothing_came()

    def test_fields_of_a_pop_of_the_wrong_type(self):
        self.client.push(self.team, "j")
        for text in (*NOT_STRINGS, "null"):
            self.refused(422, "POST", self.pop_path, raw_json({"workerId": "@"}, text))
        for text in ("null", '"x"', "1", "{}", "[1]", "[null]", '["x", []]'):
            self.refused(422, "POST", self.pop_path,
                         raw_json({"workerId": "w", "blockedCrawlIds": "@"}, text))
        self.assertEqual(self.client.pop_id(self.team), "j")

    def test_other_fields_of_the_wrong_type(self):
        for route in WITH_BODY:
            for name in route.body.keys() & {"queueKey", "jobId", "teamId", "crawlId", "timeout"}:
                texts = NOT_STRINGS
                if name == "timeout":
                    texts = (*NOT_INTEGERS, "9223372036854775808", "-9223372036854775809")
                if route.path != "/queue/push":
                    for text in (*texts, "null"):
                        self.refused(422, route.method, route.path,
                                     raw_json(changed(route.body, name, "@"), text))

    def test_ids_that_are_empty_or_too_long(self):
        for name in ("", "x" * 257, "\U0001f600" * 64 + "x", "\u00fc" * 129):
            for path in ("teamId", "job.id", "job.listenChannelId", "crawlId"):
                self.refused(422, "POST", "/queue/push", changed(self.push, path, name))
            for route in WITH_BODY:
                for field in route.body.keys() & {"jobId", "teamId", "crawlId", "workerId"}:
                    self.refused(422, route.method, route.of("x"), changed(route.body, field, name))
            self.refused(422, "POST", self.pop_path, {"workerId": "w", "blockedCrawlIds": [name]})
        self.check_that_nothing_came()


class Keys(RefusalTest):
    def test_keys_that_this_service_did_not_make(self):
        for key in ("", "x", "====", "not base64!", "bm8", "bm8=\n", " bm8=", "bm8=", "AAAA",
                    "\u00fc", base64.b64encode(bytes(range(256))).decode(), "A" * 1_000_000,
                    base64.b64encode(b"\x01\0\0\0\1t" + bytes(12)).decode()):
            with self.subTest(key[:50]):
                self.refused(400, "POST", "/queue/complete", {"queueKey": key})

    def test_a_key_without_its_padding(self):
        # Among three teams whose names differ by one byte in length, one has a key with padding.
        for team in ("a" * 20, "a" * 21, "a" * 22):
            self.client.push(team, "j")
            claim = self.client.pop(team)
            bare = claim["queueKey"].rstrip("=")
            if bare != claim["queueKey"]:
                self.refused(400, "POST", "/queue/complete", {"queueKey": bare})
            self.assertTrue(self.client.complete(claim))

    def test_a_key_that_was_changed_completes_nothing(self):
        self.client.push(self.team, "j")
        claim = self.client.pop(self.team)
        key = base64.b64decode(claim["queueKey"])
        others = [key[:at] + bytes([byte ^ 1 << at % 8]) + key[at + 1:]
                  for at, byte in enumerate(key)]
        others += [key[:at] for at in range(len(key))] + [key + b"\0", b"\0" + key, key + key]
        for other in others:
            reply = self.client.call("POST", "/queue/complete",
                                     {"queueKey": base64.b64encode(other).decode()})
            if reply.status != 400:
                self.assertEqual((reply.status, json.loads(reply.body)), (200, {"success": False}))
        self.assertEqual(self.client.count(self.team), 1)
        self.assertTrue(self.client.complete(claim))


class Sizes(RefusalTest):
    def test_the_largest_body(self):
        body, text = filled(BODY_BYTES_MAX)
        self.client.post("/queue/push", body)
        claim = self.client.pop(PUSH["teamId"])
        self.assertTrue(claim["job"]["data"] == text, "another text came back")
        self.assertTrue(self.client.complete(claim))

    def test_one_byte_more(self):
        body, _ = filled(BODY_BYTES_MAX + 1)
        for route in WITH_BODY:
            self.refused(413, route.method, route.of("x"), body)
        self.assertEqual(self.client.count(PUSH["teamId"]), 0)

    def test_space_counts(self):
        body = json.dumps(self.push).encode()
        self.client.post("/queue/push", body.ljust(BODY_BYTES_MAX))
        self.refused(413, "POST", "/queue/push", body.ljust(BODY_BYTES_MAX + 1))

    def test_a_length_that_is_announced_is_enough(self):
        for length in (BODY_BYTES_MAX + 1, 10**12, 10**18):
            with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
                raw.sendall("POST /queue/push HTTP/1.1\r\nHost: x\r\n"
                            "Content-Type: application/json\r\n"
                            f"Content-Length: {length}\r\n\r\n".encode())
                self.assertEqual(raw.recv(12), b"HTTP/1.1 413")

    def test_chunks_that_are_too_much_together(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        body = json.dumps(self.push).encode().ljust(BODY_BYTES_MAX + 1)
        parts = (body[at:at + 65_536] for at in range(0, len(body), 65_536))
        try:
            connection.request("POST", "/queue/push", parts,
                               {**JSON, "Transfer-Encoding": "chunked"}, encode_chunked=True)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertEqual(connection.getresponse().status, 413)
        self.check_that_nothing_came()


class ContentTypes(RefusalTest):
    def test_other_content_types(self):
        for route in WITH_BODY:
            for headers in ({}, *({"content-type": text} for text in (
                    "", "text/plain", "text/json", "json", "application", "application/",
                    "application/jsonx", "application/xml", "application/json+xml", "*/*",
                    "application/x-www-form-urlencoded", "text/vnd.api+json",
                    "multipart/form-data; boundary=application/json"))):
                self.refused(415, route.method, route.of("x"), route.body, headers)
        self.assertEqual(self.client.count(PUSH["teamId"]), 0)


class Noise(RefusalTest):
    def test_what_is_no_http_does_no_harm(self):
        for text in (b"\0" * 100, b"GET\r\n\r\n", b"GET /health\r\n\r\n",
                     b"GET /health HTTP/9.9\r\n\r\n",
                     b"POST /queue/push HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
                     b"POST /queue/push HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                     b"POST /queue/push HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                     b"Content-Length: 6\r\n\r\n{}", b"G" * 100_000,
                     b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 100_000):
            with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
                try:
                    raw.sendall(text)
                    raw.shutdown(socket.SHUT_WR)
                    answer = raw.recv(12)
                except (BrokenPipeError, ConnectionResetError):
                    answer = b""
                self.assertNotIn(answer[9:12], (b"200", b"500"), text[:50])
            self.client.get("/health")


if __name__ == "__main__":
    main()
