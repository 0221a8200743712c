"""What changes to the tokens do to a service that runs, to one that starts, and to copies of its
store; and when other machines are served."""
import os
import unittest

from harness import SLUICED, OwnServiceTest, Service, main, wait_until
from programs import ProgramTest, run
from raw import Raw, head
from tls import OPENSSL, TlsService
from tokens import Bearer, add, reload, revoke, token

PATH = "/v1/queues"


class LifeTest(OwnServiceTest):
    def status(self, secret=None, service=None):
        """Of a request with this token."""
        client = Bearer(service or self.service, secret)
        self.addCleanup(client.close)
        return client.call("GET", PATH).status

    def statuses(self, *secrets, service=None):
        return [self.status(secret, service) for secret in secrets]

    def add(self, name, *arguments, **limits):
        return add(self.service.data, name, *arguments, **limits)

    def revoke(self, name):
        revoke(self.service.data, name)

    def off(self):
        self.assertEqual(token(self.service.data, "off"), (0, "", ""))


class Changes(LifeTest):
    def test_a_service_without_tokens_answers_everybody(self):
        self.assertEqual(self.statuses(None, "", "x", "slu_" + "0" * 64), [200] * 4)
        reload(self.service)
        self.assertEqual(self.status(), 200)

    def test_sighup_makes_every_change_count_at_once(self):
        first = self.add("first")
        reload(self.service)
        self.assertEqual(self.statuses(None, "x", first), [401, 401, 200])
        second = self.add("second", "work", ("a/",))
        reload(self.service)
        self.assertEqual(self.statuses(first, second), [200, 200])
        self.revoke("first")
        reload(self.service)
        self.assertEqual(self.statuses(None, first, second), [401, 401, 200])
        self.revoke("second")
        reload(self.service)
        self.assertEqual(self.statuses(None, first, second), [401, 401, 401])
        self.off()
        reload(self.service)
        self.assertEqual(self.statuses(None, first, second), [200, 200, 200])

    def test_every_change_counts_soon_without_it(self):
        first = self.add("first")
        wait_until(lambda: self.status() == 401, "a token to be needed")
        self.assertEqual(self.status(first), 200)
        self.revoke("first")
        second = self.add("second")
        wait_until(lambda: self.status(second) == 200, "another token to be known")
        self.assertEqual(self.status(first), 401)
        self.off()
        wait_until(lambda: self.status() == 200, "no token to be needed")

    def test_a_name_that_is_used_again_has_another_token(self):
        old = self.add("t")
        self.revoke("t")
        new = self.add("t")
        reload(self.service)
        self.assertEqual(self.statuses(old, new), [401, 200])

    def test_what_was_forgotten_does_not_come_back(self):
        old = self.add("t")
        self.off()
        new = self.add("t")
        reload(self.service)
        self.assertEqual(self.statuses(None, old, new), [401, 401, 200])

    def test_connections_that_are_open_see_changes_too(self):
        secret = self.add("t")
        reload(self.service)
        client = Bearer(self.service, secret)
        self.addCleanup(client.close)
        self.assertEqual(client.call("GET", PATH).status, 200)
        connection = client.connection
        self.revoke("t")
        reload(self.service)
        self.assertEqual(client.call("GET", PATH).status, 401)
        self.assertIs(client.connection, connection)

    def test_what_a_token_may_is_that_of_its_last_making(self):
        self.add("t", "admin")
        self.revoke("t")
        secret = self.add("t", "work", ("a/",))
        reload(self.service)
        client = Bearer(self.service, secret)
        self.addCleanup(client.close)
        self.assertEqual(client.call("PUT", PATH + "/a%2Fq", {}).status, 403)
        self.assertEqual(client.call("GET", PATH + "/b").status, 404)


class Polls(LifeTest):
    # What was sent before a request that is answered has been read.
    options = ("--threads", "1")

    def test_a_claim_that_waits_gets_nothing_once_its_token_is_revoked(self):
        admin, secret = Bearer(self.service, self.add("admin")), self.add("t", "work")
        self.addCleanup(admin.close)
        reload(self.service)
        body = b'{"queues":["q"],"wait_ms":1500}'
        raw = Raw(self)
        raw.send(head(b"POST /v1/claim HTTP/1.1", b"Authorization: Bearer " + secret.encode(),
                      b"Content-Length: %d" % len(body)) + body)
        admin.get("/health")
        self.revoke("t")
        reload(self.service)
        self.assertEqual(admin.call("POST", PATH + "/q/jobs", {"id": "j"}).status, 201)
        reply = raw.answer()
        self.assertIn((reply.status, reply.body[:12]),
                      ((200, b'{"leases":[]'), (401, b'{"error":{"c')))
        self.assertEqual(admin.get(PATH + "/q/jobs/j")["lane"], "ready")


class Starts(LifeTest):
    def restart(self):
        """Kills it: what was answered must not be lost."""
        self.service.kill()
        self.service.start()

    def test_tokens_survive_a_kill(self):
        secrets = []
        for number in range(3):
            secrets.append(self.add(f"t{number}"))
            self.restart()
            # From the first request on.
            self.assertEqual(self.statuses(None, *secrets), [401, *[200] * len(secrets)])
        self.revoke("t1")
        self.restart()
        self.assertEqual(self.statuses(None, *secrets), [401, 200, 401, 200])

    def test_nobody_is_let_in_after_the_last_one_and_everybody_after_off(self):
        secret = self.add("t")
        self.revoke("t")
        self.restart()
        self.assertEqual(self.statuses(None, secret), [401, 401])
        self.off()
        self.restart()
        self.assertEqual(self.statuses(None, secret), [200, 200])

    def test_tokens_are_made_before_the_first_start(self):
        service = Service()
        self.addCleanup(service.end)
        secret = add(service.data, "t")
        service.start()
        self.assertEqual(self.statuses(None, secret, service=service), [401, 200])

    def test_a_copy_has_the_tokens_of_its_time(self):
        early, revoked = self.add("early"), self.add("revoked")
        self.revoke("revoked")
        reload(self.service)
        copy = Service()
        self.addCleanup(copy.end)
        ended = run(SLUICED, "backup", copy.data, "--data", self.service.data)
        self.assertEqual(ended.code, 0, ended)
        late = self.add("late")
        self.revoke("early")
        copy.start()
        self.assertEqual(self.statuses(None, early, revoked, late, service=copy),
                         [401, 200, 401, 401])
        reload(self.service)
        self.assertEqual(self.statuses(None, early, revoked, late), [401, 401, 401, 200])


class EverywhereService(TlsService):
    greeting = rb"listening on https://0\.0\.0\.0:(\d+)\n"

    def command(self, same_port):
        return [SLUICED, "--listen", "0.0.0.0:0", "--data", self.data, *self.options]


@unittest.skipUnless(OPENSSL, "there is no openssl to make certificates with")
class Exposure(ProgramTest):
    def setUp(self):
        super().setUp()
        self.service = EverywhereService()
        self.addCleanup(self.service.end)

    def check_refused(self, *command, missing):
        ended = run(*command)
        self.assertEqual((ended.code, ended.out), (2, ""), ended)
        self.assertIn("refusing to serve other machines on 0.0.0.0:0 without " + missing, ended.err)
        self.assertRegex(ended.err, r"\Asluiced: [^\n]+\n\Z")

    def test_other_machines_are_served_with_tls_and_a_token(self):
        secret = add(self.service.data, "t")
        self.service.start()
        for given, status in ((None, 401), ("x", 401), (secret, 200)):
            client = Bearer(self.service, given)
            self.addCleanup(client.close)
            self.assertEqual(client.call("GET", PATH).status, status)
        self.assertEqual(self.service.stop(), 0)

    def test_neither_is_enough_alone(self):
        command = self.service.command(False)
        plain = command[:command.index("--tls-cert")]
        self.check_refused(*plain, missing="TLS")
        self.check_refused(*command, missing="tokens")
        self.assertEqual(os.listdir(self.service.data), [])
        add(self.service.data, "t")
        self.check_refused(*plain, missing="TLS")
        self.assertEqual(token(self.service.data, "off").code, 0)
        self.check_refused(*command, missing="tokens")


if __name__ == "__main__":
    main()
