"""TLS: which versions are spoken, which files are taken, and how certificates are changed."""
import os
import shutil
import signal
import socket
import ssl
import unittest
import warnings

from harness import PATIENCE, OwnServiceTest, Stopwatch, main, wait_until
from programs import ProgramTest
from tls import OPENSSL, TlsService, make_certificate, trusting
from tokens import reload


HANDSHAKE_S = 10


def peer_of(connection):
    return connection.sock.getpeercert(binary_form=True)


@unittest.skipUnless(OPENSSL, "there is no openssl to make certificates with")
class TlsTest(OwnServiceTest):
    def setUp(self):
        self.service = TlsService()
        self.addCleanup(self.service.end)
        self.service.start()
        self.client = self.new_client()
        self.team, self.crawl = self.named("team"), self.named("crawl")

    def connect(self, context=None):
        connection = self.service.connection(context)
        self.addCleanup(connection.close)
        connection.connect()
        return connection

    def is_healthy(self, connection):
        connection.request("GET", "/health")
        response = connection.getresponse()
        return response.status == 200 and b'"ok"' in response.read()


class Versions(TlsTest):
    def test_the_routes_are_served_as_without_it(self):
        text = "x" * 1_000_000
        self.client.push(self.team, "j", text)
        claim = self.client.pop(self.team)
        self.assertTrue(claim["job"]["data"] == text, "another text came back")
        self.assertTrue(self.client.complete(claim))

    def test_versions_that_are_spoken(self):
        for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"),
                              (ssl.TLSVersion.TLSv1_3, "TLSv1.3"), (None, "TLSv1.3")):
            connection = self.connect(trusting(self.service.certificate, version))
            self.assertEqual(connection.sock.version(), name)
            self.assertTrue(self.is_healthy(connection))

    def test_versions_that_are_too_old(self):
        warnings.simplefilter("ignore", DeprecationWarning)  # Which is just the point.
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = trusting(self.service.certificate)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = version
            # Else this side would be the one that refuses.
            with self.assertRaisesRegex(ssl.SSLError, "(?i)alert.protocol.version"):
                self.connect(context)
        self.assertTrue(self.is_healthy(self.connect()))

    def test_plain_http_is_not_answered(self):
        for text in (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n", b"\0" * 1000,
                     b"\x16\x03\x01\xff\xff" + b"\0" * 1000):
            with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
                raw.sendall(text)
                raw.shutdown(socket.SHUT_WR)
                answer = b""
                try:
                    while more := raw.recv(1000):
                        answer += more
                except ConnectionResetError:
                    pass
                self.assertNotIn(b"HTTP/1.1 200", answer)
        self.assertTrue(self.is_healthy(self.connect()))

    def test_a_stop_lets_requests_have_their_answers(self):
        idle, busy = self.connect(), self.connect()
        self.assertTrue(self.is_healthy(idle))
        body = b'{"jobId":"j"}'
        busy.putrequest("POST", "/queue/release")
        busy.putheader("Content-Type", "application/json")
        busy.putheader("Content-Length", str(len(body)))
        busy.endheaders(body[:5])
        for _ in range(20):
            self.client.get("/health")
        self.service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: idle.sock.recv(1) == b"", "the idle connection to be closed")
        busy.send(body[5:])
        self.assertEqual(busy.getresponse().status, 200)
        self.assertEqual(self.service.wait(), 0)

    def test_a_handshake_that_does_not_come_holds_nobody_up(self):
        rounds = []
        # A machine that stalls may let all of them be closed before anybody else could ask.
        wait_until(lambda: rounds.append(self.be_silent_to_the_end()) or any(rounds),
                   "others to be served beside silent ones")

    def be_silent_to_the_end(self):
        """Until all are closed. Returns how often others were served before the first was."""
        watch, served, closed = Stopwatch(), 0, []
        silent = [socket.create_connection(("127.0.0.1", self.service.port), PATIENCE)
                  for _ in range(50)]
        for raw in silent:
            self.addCleanup(raw.close)
        for raw in silent[::2]:
            raw.sendall(b"\x16\x03\x01\x02\x00\x01")
        for raw in silent:
            raw.setblocking(False)

        def all_are_closed():
            nonlocal served
            self.assertTrue(self.is_healthy(self.connect()))
            closed.extend([raw for raw in silent if raw not in closed and self.is_closed(raw)])
            self.assertTrue(not closed or watch.reached(HANDSHAKE_S - 1))
            served += not closed
            return len(closed) == len(silent)

        wait_until(all_are_closed, "all to be closed", pause=0.05)
        print(f"figure sluiced.silent_handshake_s {watch.shown(digits=1)}")
        return served

    def is_closed(self, raw):
        try:
            return raw.recv(100) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True


class Reloads(TlsTest):
    def reload(self):
        """Returns what was logged about it."""
        before = self.service.said()
        reload(self.service)  # The tokens come last.
        return self.service.said()[len(before):]

    def test_new_connections_see_the_new_certificate(self):
        first = self.connect()
        self.assertTrue(self.is_healthy(first))
        second = make_certificate(self.service.home, "second")
        self.service.replace(second)
        # Nothing changes before it is told to.
        self.assertEqual(peer_of(self.connect()), peer_of(first))
        self.assertIn(" info ", self.reload())
        with self.assertRaisesRegex(ssl.SSLError, "(?i)certificate.verify.failed"):
            self.connect()
        renewed = self.connect(trusting(second[0]))
        self.assertNotEqual(peer_of(renewed), peer_of(first))
        self.assertTrue(self.is_healthy(renewed))
        self.assertTrue(self.is_healthy(first))

    def test_files_that_make_no_sense_change_nothing(self):
        other = make_certificate(self.service.home, "other")
        broken = os.path.join(self.service.home, "broken")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
        rsa = make_certificate(self.service.home, "rsa", "rsa")
        good = [path + ".good" for path in (self.service.certificate, self.service.key)]
        for path in good:
            shutil.copy(path.removesuffix(".good"), path)
        first = self.connect()
        for files in ((broken, good[1]), (good[0], broken), (good[0], other[1]),
                      (other[0], good[1]), (good[0], rsa[1]), (rsa[0], good[1]),
                      (os.devnull, os.devnull)):
            self.service.replace(files)
            logged = self.reload()
            self.assertIn(" error ", logged)
            self.assertIn(self.service.home, logged)
            self.assertEqual(peer_of(self.connect()), peer_of(first))
        os.remove(self.service.key)
        self.assertIn(" error ", self.reload())
        self.assertTrue(self.is_healthy(self.connect()))
        self.assertTrue(self.is_healthy(first))
        self.service.replace(other)
        self.assertIn(" info ", self.reload())
        self.assertTrue(self.is_healthy(self.connect(trusting(other[0]))))


@unittest.skipUnless(OPENSSL, "there is no openssl to make certificates with")
class Files(ProgramTest):
    def check_refusal(self, certificate, key, *blamed, advice="it must be PEM"):
        ended = self.sluiced("--listen", "127.0.0.1:0", "--data", self.data, "--tls-cert",
                             certificate, "--tls-key", key)
        self.assertEqual((ended.code, ended.out), (2, ""), ended)
        self.assertTrue(any(path in ended.err for path in blamed), ended)
        self.assertIn(advice, ended.err)

    def test_a_key_of_another_certificate_is_refused(self):
        one, other = (make_certificate(self.home, name) for name in ("one", "other"))
        self.check_refusal(one[0], other[1], other[1])
        self.check_refusal(other[0], one[1], one[1])

    def test_a_key_of_another_kind_than_the_certificate_is_refused(self):
        ec, rsa = (make_certificate(self.home, kind, kind) for kind in ("ec", "rsa"))
        for (certificate, _), (_, key) in ((ec, rsa), (rsa, ec)):
            self.check_refusal(certificate, key, key,
                               advice=f"does not belong to the certificate in {certificate}")

    def test_files_that_are_missing_or_hold_something_else_are_refused(self):
        certificate, key = make_certificate(self.home, "one")
        missing, text = self.path("missing"), self.write("text", "text\n")
        for wrong in (missing, text, os.devnull, self.home, key):
            self.check_refusal(wrong, key, wrong)
        for wrong in (missing, text, os.devnull, self.home, certificate):
            self.check_refusal(certificate, wrong, wrong)


if __name__ == "__main__":
    main()
