"""The payloads of jobs in the native API: any JSON, digit for digit, and any bytes."""
import base64
import json

from harness import main, raw_json
from v1 import V1Test, path_of

PAYLOAD_BYTES_MAX = 2 << 20
# As Python reads it; numbers must come back digit for digit.
PAYLOADS = ("null", "true", "false", "0", "-0", '""', "[]", "{}", "1e300", "12345678901234567890",
            "-9223372036854775809", "0.1", "1E-7", "1e-999", "123456789012345678901234567890.5",
            '"\\u0000 \\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \\ud83d\\ude00"', '"gr\u00fcn"',
            '{"z":1,"a":{"z":[1,2.50,{"z":null}],"":"no name"},"\u00e9":[[],[[]]]}',
            '{"payload":{"payload":1e2,"jobs":[{"id":1}]},"items":[]}', '{ "a" : [ 1 ,\t2 ] }',
            "[" * 63 + "]" * 63)


def exact(text):
    """JSON as a value in which numbers keep the form in which they are written."""
    return json.loads(text, parse_int=str, parse_float=str)


class Payloads(V1Test):
    def test_json_comes_back_as_it_was_sent(self):
        for index, text in enumerate(PAYLOADS):
            with self.subTest(text):
                id = f"j{index}"
                self.client.ok("POST", path_of(self.queue) + "/jobs",
                               raw_json({"id": id, "payload": "@"}, text))
                self.check(id, text)

    def test_numbers_beyond_any_double_come_back_as_they_were_sent(self):
        for index, text in enumerate(("1e999", "[-1e400]", "1" * 400 + ".5")):
            with self.subTest(text[:20]):
                self.client.ok("POST", path_of(self.queue) + "/jobs",
                               raw_json({"id": f"j{index}", "payload": "@"}, text))
                self.check(f"j{index}", text)

    def check(self, id, text):
        """Who looks and who claims get the same text."""
        self.client.job(self.queue, id)
        looked = self.client.wire.call("GET", path_of(self.queue, id))
        claimed = self.client.wire.call("POST", "/v1/claim", {"queues": [self.queue]})
        for shown in (exact(looked.body), exact(claimed.body)["leases"][0]):
            self.assertEqual(shown["id"], id)
            self.assertEqual(shown.get("payload", "nothing"), exact(text))

    def test_bytes_come_back_as_they_were_sent(self):
        for data in (b"", b"\xff", b"\0", b"no json", b"{", b"'x'", bytes(range(256)), b"01",
                     b"[1,]", "gr\u00fcn".encode("latin-1"), b'{"a":1,"a":2}'):
            text = base64.b64encode(data).decode()
            id = self.client.enqueue(self.queue, payload_base64=text)
            job, lease = self.client.job(self.queue, id), self.client.claim_one(self.queue)
            for shown in (job, lease):
                self.assertEqual((lease["id"], shown["payload_base64"]), (id, text))
                self.assertNotIn("payload", shown)
            self.assertEqual(job["payload_bytes"], len(data))

    def test_bytes_that_are_json_come_back_as_json(self):
        for text in ("1", ' {"a": [1]} ', "null", '"x"'):
            id = self.client.enqueue(self.queue,
                                     payload_base64=base64.b64encode(text.encode()).decode())
            job = self.client.job(self.queue, id)
            self.assertEqual((job["payload"], job["payload_bytes"]), (json.loads(text), len(text)))

    def test_no_payload_is_no_bytes_and_null_is_null(self):
        nothing = self.client.job(self.queue, self.client.enqueue(self.queue))
        null = self.client.job(self.queue, self.client.enqueue(self.queue, payload=None))
        self.assertEqual((nothing["payload_base64"], nothing["payload_bytes"]), ("", 0))
        self.assertEqual((null["payload"], null["payload_bytes"]), (None, 4))

    def test_what_is_not_base64_is_refused(self):
        for text in ("x", "AA", "AA=", "A===", "AA==\n", " AA==", "AAAA=", "====", "A-A_", "AB=="):
            self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs",
                         {"payload_base64": text})

    def test_payloads_that_are_no_json_are_refused(self):
        for text in ("", "nul", "01", "1.", "'x'", "[1,]", '{"a":1,"a":2}', '"\\x"', "NaN",
                     "[" * 64 + "]" * 64):
            self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs",
                         raw_json({"payload": "@"}, text))


class LargePayloads(V1Test):
    options = ("--max-body", "8M")

    def test_the_largest_payload(self):
        path = path_of(self.queue) + "/jobs"
        text = "x" * (PAYLOAD_BYTES_MAX - 2)
        data = base64.b64encode(bytes(PAYLOAD_BYTES_MAX)).decode()
        for id, member, value in (("a", "payload", text), ("b", "payload_base64", data)):
            self.client.enqueue(self.queue, id, **{member: value})
            job = self.client.job(self.queue, id)
            self.assertEqual(job["payload_bytes"], PAYLOAD_BYTES_MAX)
            self.assertTrue(job[member] == value, "another payload came back")
        data = base64.b64encode(bytes(PAYLOAD_BYTES_MAX + 1)).decode()
        for body in ({"payload": text + "x"}, {"payload_base64": data}):
            self.refused("invalid_argument", "POST", path, body)
        self.client.edit(self.queue, "a", payload=text)
        self.refused("invalid_argument", "PATCH", path_of(self.queue, "a"), {"payload": text + "x"})


if __name__ == "__main__":
    main()
