"""Requests beyond the limits, and bytes that are none: refused, and nobody else notices."""
import json

from harness import PATIENCE, chance, main, wait_until
from raw import Raw, chunked, head, push, request
from routes import PUSH, WITH_BODY, WITH_ID, changed
from watch import SANITIZED, WatchedTest, memory_kib

TARGET_BYTES_MAX = 8 * 1024
HEADERS_MAX = 100
HEAD_BYTES_MAX = 16 * 1024
BODY_BYTES_MAX = 2 * 1024 * 1024
DEPTH_MAX = 64
HEALTH = b"GET /health HTTP/1.1"
RELEASE = b'{"jobId":"j"}'
# Of the service, for what takes a fraction of a second if it takes time in proportion.
CPU_S_MAX = 10
# What the allocator may hold for others once that of the first few is used again.
KEPT_KIB_MAX = 16 * 1024


class AbuseTest(WatchedTest):
    def ask(self, text, piece=None):
        """The answer to one request, and whether the connection is good for another."""
        raw = Raw(self)
        raw.send(text, piece)
        answer = raw.answer()
        self.assertIsNotNone(answer, text[:200])
        kept = answer.headers["connection"] == "keep-alive"
        if kept:
            raw.send(head(HEALTH))
            self.assertEqual(raw.answer().status, 200)
        raw.close()
        return answer.status, kept


class Heads(AbuseTest):
    def test_the_longest_target(self):
        for size, expected in ((TARGET_BYTES_MAX, (200, True)),
                               (TARGET_BYTES_MAX + 1, (414, False)),
                               (HEAD_BYTES_MAX - 50, (414, False))):
            target = b"/health?".ljust(size, b"x")
            self.assertEqual(self.ask(head(b"GET " + target + b" HTTP/1.1")), expected, size)
        path = b"/".ljust(TARGET_BYTES_MAX, b"x")
        self.assertEqual(self.ask(head(b"GET " + path + b" HTTP/1.1")), (404, True))

    def test_the_most_headers(self):
        for number, expected in ((HEADERS_MAX, (200, True)), (HEADERS_MAX + 1, (431, False)),
                                 (2000, (431, False))):
            lines = [b"X: y"] * (number - 1)  # With the Host.
            self.assertEqual(self.ask(head(HEALTH, *lines)), expected, number)

    def test_the_largest_head(self):
        for size, expected in ((HEAD_BYTES_MAX - 1, (200, True)), (HEAD_BYTES_MAX, (200, True)),
                               (HEAD_BYTES_MAX + 1, (431, False)), (1 << 20, (431, False))):
            text = head(HEALTH, b"X: ".ljust(size - len(head(HEALTH)) - 2, b"y"))
            self.assertEqual(len(text), size)
            for piece in (None, 1000):
                self.assertEqual(self.ask(text, piece), expected, size)

    def test_a_head_without_end_is_not_waited_for(self):
        for text in (b"x" * HEAD_BYTES_MAX, HEALTH + b"\r\n" + b"X: y\r\n" * 3000,
                     b"GET /" + b"x" * HEAD_BYTES_MAX, b"\r" * HEAD_BYTES_MAX):
            self.assertEqual(self.ask(text), (431, False))


class Bodies(AbuseTest):
    def test_the_largest_body_of_a_known_length(self):
        for size, expected in ((BODY_BYTES_MAX, (200, True)), (BODY_BYTES_MAX + 1, (413, False))):
            body = RELEASE.ljust(size)
            self.assertEqual(self.ask(request("POST", "/queue/release", body)), expected)
            self.assertEqual(self.ask(request("POST", "/queue/release", body), 100_000), expected)

    def test_the_largest_body_in_chunks(self):
        for size, expected in ((BODY_BYTES_MAX, (200, True)), (BODY_BYTES_MAX + 1, (413, False))):
            body = RELEASE.ljust(size)
            for step in (size, 65_536, 1000):
                chunks = [body[at:at + step] for at in range(0, size, step)]
                self.assertEqual(self.ask(chunked("/queue/release", *chunks)), expected, step)

    def test_the_smallest_chunks(self):
        body = RELEASE.ljust(200_000)
        text = chunked("/queue/release", *(body[at:at + 1] for at in range(len(body))))
        begin = self.service.cpu_seconds()
        self.assertEqual(self.ask(text), (200, True))
        self.assertLess(self.service.cpu_seconds() - begin, CPU_S_MAX)

    def test_a_refused_body_is_not_kept(self):
        def refuse(number):
            for _ in range(number):
                self.ask(request("POST", "/queue/release", RELEASE.ljust(BODY_BYTES_MAX + 1)))
            return memory_kib(self.service)

        # Ten show what the service takes for such requests; fifty more, what it keeps of each.
        before = refuse(10)
        grown = refuse(50) - before
        print(f"figure sluiced.refused_bodies_kib {grown}")
        if not SANITIZED:
            self.assertLess(grown, KEPT_KIB_MAX)


class Json(AbuseTest):
    def push_text(self, text):
        return self.client.call("POST", "/queue/push", text).status

    def with_data(self, data):
        body = json.dumps(changed(PUSH, "teamId", self.team)).encode()
        return body.replace(b'"data": null', b'"data": ' + data)

    def test_nesting_ends_at_the_limit(self):
        for levels, status, whole in ((DEPTH_MAX, 200, 422), (DEPTH_MAX + 1, 400, 400),
                                      (100_000, 400, 400), (200_000, 400, 400)):
            for one, other in ((b"[", b"]"), (b'{"a":', b"}")):
                # The body and its job are the first two levels.
                data = one * (levels - 2) + b"0" + other * (levels - 2)
                begin = self.service.cpu_seconds()
                self.assertEqual(self.push_text(self.with_data(data)), status, levels)
                text = one * levels + b"0" + other * levels
                self.assertEqual(self.push_text(text), whole, levels)
                self.assertEqual(self.push_text(one * levels), 400, levels)
                self.assertLess(self.service.cpu_seconds() - begin, CPU_S_MAX)
        self.assertEqual(self.client.ids(self.team), ["j"])

    def test_what_is_no_json(self):
        for data in (b'"\xff"', b'"\xc3"', b'"\xc0\xaf"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"',
                     b'"\xf8\x88\x80\x80\x80"', rb'"\ud800"', rb'"\udc00"', rb'"\udc00\ud800"',
                     rb'"\ud800\u0041"', rb'"\ud800', rb'"\u12"', rb'"\u{41}"', rb'"\x41"', b"NaN",
                     b"Infinity", b"-Infinity", b"nan", b"1e", b"0x1", b"01", b"-", b"[1,]", b"[,]",
                     b"[1 2]", b'{"a":1,}', b'{"a"}', b"{a:1}", b"{'a':1}", b'{"a":1 "b":2}',
                     b'"a\nb"', b'"a\x00b"', b'"a\x1fb"', b"\x0b1", b"\xc2\xa01", b"undefined",
                     b"True", b"1//x", b"\xef\xbb\xbf1", b""):
            self.assertEqual(self.push_text(self.with_data(data)), 400, data)
        good = self.with_data(b"null")
        for text in (b"\xef\xbb\xbf" + good, good + b"\0", b"\0" + good, good + b"}", good[:-1],
                     good.decode().encode("utf-16"), good.decode().encode("utf-16-be"),
                     good.decode().encode("utf-32"), good.replace(b'"job"', b'"job\xff"'),
                     good.replace(b'"j"', rb'"\ud800"'), good.replace(b'"j"', b'"\xff"')):
            self.assertEqual(self.push_text(text), 400, text)
        self.assertEqual(self.client.ids(self.team), [])

    def test_much_of_something_small(self):
        """Large bodies of tiny parts take no time out of proportion."""
        many = BODY_BYTES_MAX // 8
        for data in (b"[" + b"0," * many + b"0]", b'{"":0}'.ljust(BODY_BYTES_MAX // 2),
                     b"{" + b",".join(b'"%x":0' % at for at in range(many // 2)) + b"}",
                     b'"' + rb"\u0000" * (many // 2) + b'"', b"1" * many, b"1." + b"0" * many,
                     b"1e" + b"9" * many, b"[" + b'"",' * (many // 2) + b'""]'):
            begin = self.service.cpu_seconds()
            self.assertIn(self.push_text(self.with_data(data)), (200, 400), data[:20])
            self.assertLess(self.service.cpu_seconds() - begin, CPU_S_MAX, data[:20])


class Injection(AbuseTest):
    NAMES = ("j\r\nX-Injected: 1", "j\nX-Injected: 1", "j\rX-Injected: 1", "\r\n\r\nX-Injected: 1",
             "j\0X-Injected: 1", "X-Injected: 1", "\u2028X-Injected", "\u560d\u560aX-Injected: 1")

    def check(self, text):
        """Raw refuses answers whose headers are not plain."""
        raw = Raw(self)
        raw.send(text)
        raw.finish()
        answers = raw.answers()
        self.assertEqual(len(answers), 1, text)
        shown = " ".join(f"{name}: {value}" for name, value in answers[0].headers.items())
        self.assertNotIn("njected", shown)
        return answers[0].status

    def test_names_never_show_up_in_a_head(self):
        for name in self.NAMES:
            self.assertEqual(self.check(push(self.team, name)), 200)
            self.assertEqual(self.client.ids(self.team), [name])
            claim = self.client.pop(self.team)
            self.assertEqual(claim["job"]["id"], name)
            self.assertTrue(self.client.complete(claim))
            for route in WITH_BODY:
                for field, value in route.body.items():
                    if isinstance(value, str):
                        self.check(request(route.method, route.of("t"),
                                           changed(route.body, field, name)))

    def test_addresses_never_show_up_in_a_head(self):
        for text in ("%0d%0aX-Injected:%201", "%0aX-Injected:1", "%00X-Injected", "X-Injected",
                     "%E5%98%8D%E5%98%8AX-Injected:1", "%ff%0d%0aX-Injected:1"):
            for route in WITH_ID:
                self.check(request(route.method, route.of(text), route.body))
            for path in (f"/{text}", f"/health/{text}", f"/health?{text}", f"/queue/push?a={text}",
                         f"/sample/teams?after={text}", f"/sample/teams?limit={text}"):
                for method in ("GET", "POST", "PUT", "HTTP/1.1"):
                    self.check(request(method, path))

    def test_headers_are_not_echoed(self):
        for line in (b"X-Injected: 1", b"Origin: X-Injected", b"Host2: X-Injected",
                     b"Accept: X-Injected", b"Content-Type: X-Injected", b"Referer: X-Injected",
                     b"Cookie: X-Injected", b"Range: bytes=0-1", b"Upgrade: X-Injected"):
            for first in (HEALTH, b"GET /nowhere HTTP/1.1", b"POST /queue/push HTTP/1.1"):
                self.check(head(first, line))


class Garbage(AbuseTest):
    def test_random_bytes_do_no_harm(self):
        random = chance("garbage")
        good = [push(self.team, "j"), head(HEALTH), chunked("/queue/release", RELEASE)]
        before = 0
        for number in range(300):
            if number == 100:  # By then the service has what it takes for such requests.
                before = memory_kib(self.service)
            raw = Raw(self)
            raw.send(self.garbage(random, good, number), random.choice((None, 1000, 37)))
            raw.finish()
            for answer in raw.answers():
                self.assertNotEqual(answer.status, 500)
            raw.close()
            if number % 20 == 0:
                self.check_health()
        grown = memory_kib(self.service) - before
        print(f"figure sluiced.garbage_kib {grown}")
        if not SANITIZED:
            self.assertLess(grown, KEPT_KIB_MAX)

    def garbage(self, random, good, number):
        """Bytes without any sense, or requests with a few wrong bytes."""
        if number % 2:
            return random.randbytes(random.randrange(1, 30_000))
        text = bytearray(b"".join(random.choice(good) for _ in range(5)))
        for _ in range(random.randrange(1, 10)):
            at = random.randrange(len(text))
            text[at:at + random.randrange(3)] = random.randbytes(random.randrange(3))
        return bytes(text)

    def test_clients_that_leave_at_any_moment_leave_nothing_behind(self):
        text = push(self.team, "j") + chunked("/queue/release", RELEASE) + head(HEALTH)
        for end in range(0, len(text), 3):
            raw = Raw(self)
            raw.send(text[:end])
            raw.close()
        wait_until(lambda: self.client.count(self.team) == 1, "the push to be done", PATIENCE)
        self.check_health()


if __name__ == "__main__":
    main()
