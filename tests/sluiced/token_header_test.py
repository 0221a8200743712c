"""Where a token is read: in the Authorization field, and nowhere else. Whatever is not a token that
is good is answered alike."""
import base64
import hashlib

from harness import main
from raw import Raw, head, request
from tokens import TokenTest

# One of each API: they tell failures in different ways.
PATHS = ("/v1/queues", "/sample/teams")
# Words that stand in the place of the token.
GARBAGE = ("x", "slu_", "slu_" + "0" * 64, "null", "undefined", "*", "../../etc/passwd", "'--",
           "%00", "x" * 8192, "=" * 100, "a b", "\xff\xfe", "\u00fc" * 64)


class HeaderTest(TokenTest):
    def answer(self, *lines, path="/v1/queues"):
        """To a GET with these lines, each as it is."""
        raw = Raw(self)
        raw.send(head(f"GET {path} HTTP/1.1".encode(), b"Connection: close",
                      *(line if isinstance(line, bytes) else line.encode("latin-1")
                        for line in lines)))
        reply = raw.answer()
        raw.close()
        return reply

    def check_let_in(self, *lines):
        for path in PATHS:
            self.assertEqual(self.answer(*lines, path=path).status, 200, (lines, path))

    def check_shut_out(self, *lines):
        """Like everybody who has no token."""
        for path in PATHS:
            reply, plain = self.answer(*lines, path=path), self.answer(path=path)
            self.assertEqual(reply.status, 401, (lines, path))
            self.check_failure(reply, 401, "permission_denied", path)
            self.assertEqual(reply.headers["www-authenticate"], "Bearer")
            for one in (reply, plain):
                del one.headers["date"], one.headers["x-request-id"]
            self.assertEqual((reply.headers.items(), reply.body),
                             (plain.headers.items(), plain.body), (lines, path))


class Spelling(HeaderTest):
    def test_the_scheme_and_the_field_in_any_case(self):
        for name in ("Authorization", "authorization", "AUTHORIZATION", "aUTHORIZATIOn"):
            for scheme in ("Bearer", "bearer", "BEARER", "bEaReR"):
                self.check_let_in(f"{name}: {scheme} {self.admin}")

    def test_space_around_the_value_does_not_belong_to_it(self):
        for line in (f"Authorization:Bearer {self.admin}", f"Authorization: \t Bearer {self.admin}",
                     f"Authorization: Bearer {self.admin} \t"):
            self.check_let_in(line)

    def test_words_that_are_no_token(self):
        for word in GARBAGE:
            self.check_shut_out(f"Authorization: Bearer {word}")
            self.check_shut_out(f"Authorization: {word}")

    def test_values_that_are_malformed(self):
        token = self.admin
        basic = base64.b64encode(f"admin:{token}".encode()).decode()
        for value in ("", "Bearer", "Bearer ", "Bearer  x", f"Bearer  {token}", f"Bearer\t{token}",
                      f"Bearer{token}", token, f"Bearer: {token}", f"Bearer={token}",
                      f'Bearer "{token}"', f"Bearer <{token}>", f"Bearer {token},",
                      f"Bearer {token}, Bearer {token}", f"Bearer {token} {token}",
                      f"Bearer Bearer {token}", f"x Bearer {token}", f"Bear {token}",
                      f"Bearers {token}", f"Basic {token}", f"Basic {basic}", f"Token {token}",
                      f"Digest {token}", f"Bearer {basic}", f"Bearer admin:{token}"):
            self.check_shut_out(f"Authorization: {value}")

    def test_a_token_that_is_almost_right(self):
        token = self.admin
        almost = {token[:-1], token[1:], token + "0", "0" + token, token + token, token[::-1],
                  token.upper(), token.title(), token.removeprefix("slu_"),
                  token[:4] + token[4:].upper(), token[:35] + token[36:], "SLU" + token[3:],
                  token[:4] + token[4:].encode().hex(), token + "%20", token[:36], token[:36] * 2,
                  token[:20] + " " + token[20:]}
        for at in range(len(token)):
            almost.add(token[:at] + ("0" if token[at] == "1" else "1") + token[at + 1:])
        almost.discard(token)
        for word in almost:
            self.check_shut_out(f"Authorization: Bearer {word}")
        self.check_let_in(f"Authorization: Bearer {token}")

    def test_what_is_stored_lets_nobody_in(self):
        digest = hashlib.sha256(self.admin.encode())
        for word in (digest.hexdigest(), "slu_" + digest.hexdigest(),
                     base64.b64encode(digest.digest()).decode()):
            self.check_shut_out(f"Authorization: Bearer {word}")

    def test_two_fields_are_as_bad_as_none(self):
        good, bad = f"Authorization: Bearer {self.admin}", "Authorization: Bearer x"
        for lines in ((good, bad), (bad, good), (good, good), (good, "authorization:"),
                      (good, "Authorization: Basic eDp4")):
            for path in PATHS:
                self.assertIn(self.answer(*lines, path=path).status, (400, 401), (lines, path))

    def test_control_characters_are_no_part_of_a_request(self):
        for sign in (b"\0", b"\x01", b"\x1b", b"\x7f"):
            for line in (b"Authorization: Bearer " + sign,
                         b"Authorization: Bearer " + self.admin.encode() + sign):
                self.assertEqual(self.answer(line).status, 400, line)


class Places(HeaderTest):
    def test_other_fields_are_not_read(self):
        bearer = f"Bearer {self.admin}"
        for name in ("Proxy-Authorization", "X-Authorization", "X-Forwarded-Authorization",
                     "WWW-Authenticate", "X-Api-Key", "X-Auth-Token", "Token", "Authentication",
                     "X-Original-Authorization"):
            self.check_shut_out(f"{name}: {bearer}")
            self.check_shut_out(f"{name}: {self.admin}")

    def test_cookies_are_not_read(self):
        for name in ("token", "access_token", "Authorization", "Bearer", "session"):
            self.check_shut_out(f"Cookie: {name}={self.admin}")
            self.check_shut_out(f"Cookie: {name}=Bearer%20{self.admin}")

    def test_the_address_is_not_read(self):
        for name in ("token", "access_token", "authorization", "Authorization", "bearer", "key"):
            for value in (self.admin, f"Bearer%20{self.admin}", f"Bearer+{self.admin}"):
                for path in PATHS:
                    reply = self.answer(path=f"{path}?{name}={value}")
                    self.check_failure(reply, 401, "permission_denied", path)
                    self.assertEqual(reply.body, self.answer(path=path).body)

    def test_the_body_is_not_read(self):
        anybody = self.holder_of(None)
        for name in ("token", "access_token", "authorization", "Authorization"):
            reply = anybody.ask("POST", "/v1/claim", {"queues": ["q"], name: self.admin})
            self.check_failure(reply, 401, "permission_denied")
            reply = anybody.ask("POST", "/queue/pop/q", {"workerId": "w", name: self.admin})
            self.check_failure(reply, 401, "permission_denied", "/queue/pop")

    def test_what_follows_the_body_is_not_read(self):
        raw = Raw(self)
        raw.send(head(b"POST /v1/claim HTTP/1.1", b"Transfer-Encoding: chunked")
                 + b"2\r\n{}\r\n0\r\nAuthorization: Bearer %s\r\n\r\n" % self.admin.encode())
        self.assertIn(raw.answer().status, (400, 401))

    def test_a_token_counts_for_its_request_alone(self):
        good = head(b"GET /v1/queues HTTP/1.1", b"Authorization: Bearer " + self.admin.encode())
        bad = head(b"GET /v1/queues HTTP/1.1", b"Authorization: Bearer x")
        raw = Raw(self)
        raw.send(b"".join((good, request("GET", "/v1/queues"), good, bad,
                           request("GET", "/sample/teams"), good)))
        self.assertEqual([raw.answer().status for _ in range(6)], [200, 401, 200, 401, 401, 200])

    def test_the_body_of_a_request_that_is_refused_is_no_request(self):
        good = head(b"GET /v1/queues HTTP/1.1", b"Authorization: Bearer " + self.admin.encode())
        raw = Raw(self)
        raw.send(request("POST", "/v1/claim", good) + request("GET", "/health"))
        replies = [raw.answer() for _ in range(2)]
        self.assertEqual([reply.status for reply in replies], [401, 200])
        self.assertIn(b"status", replies[1].body)


if __name__ == "__main__":
    main()
