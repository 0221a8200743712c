"""What the tests of tokens share: the commands that change them, and clients that send them."""
import itertools
import signal

import v1
from harness import JSON, SLUICED, Client, SluicedTest, wait_until
from programs import run

READ_AGAIN = "tokens were read again"
# As one is printed.
SECRET = r"slu_[0-9a-f]{64}"


def token(data, *arguments):
    """How `sluiced token` ended."""
    return run(SLUICED, "token", *arguments, "--data", data)


def options(may, queues=(), **limits):
    """Of `sluiced token add`."""
    words = ["--may", may]
    for prefix in queues:
        words += ["--queues", prefix]
    for name, number in limits.items():
        words += [f"--{name}", str(number)]
    return words


def add(data, name, may="admin", queues=(), **limits):
    """Makes a token, and returns it."""
    ended = token(data, "add", name, *options(may, queues, **limits))
    if (ended.code, ended.err) != (0, ""):
        raise AssertionError(f"token add {name}: {ended}")
    return ended.out.rstrip("\n")


def revoke(data, name):
    ended = token(data, "revoke", name)
    if ended != (0, "", ""):
        raise AssertionError(f"token revoke {name}: {ended}")


def reload(service):
    """Returns when the service knows every change that was made before."""
    def times():
        with open(service.log, encoding="utf-8") as file:
            return file.read().count(READ_AGAIN)

    before = times()
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: times() > before, "the tokens to be read again")


class Bearer(Client):
    """Sends a token with every request; None sends none."""

    def __init__(self, service, secret):
        super().__init__(service)
        self.secret = secret

    def call(self, method, path, body=None, headers=None):
        headers = dict(JSON if headers is None else headers)
        if self.secret is not None:
            headers["Authorization"] = f"Bearer {self.secret}"
        return super().call(method, path, body, headers)


class Holder(v1.Api):
    """The native API for the holder of a token; `wire` has the compatible one."""

    def __init__(self, service, secret):
        super().__init__(service)
        self.secret = secret
        self.wire = Bearer(service, secret)

    def ask(self, method, path, body=None, key=None):
        """The answer as it came, also one that the document of the API does not know."""
        headers = JSON if key is None else {**JSON, "Idempotency-Key": key}
        return self.wire.call(method, path, body, headers)


class TokenTest(SluicedTest):
    """Tests that share a service with tokens; the client of each is an admin's, and each has a
    prefix of its own for its queues."""

    numbers = itertools.count()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = add(cls.service.data, "admin")
        reload(cls.service)
        cls.addClassCleanup(cls.check_store)

    @classmethod
    def check_store(cls):
        ended = run(SLUICED, "verify", "--data", cls.service.data)
        if ended.code != 0:
            raise AssertionError(f"the store is not sound: {ended}")

    def setUp(self):
        super().setUp()
        self.own = self.named("queues") + "/"

    def new_client(self):
        return self.holder_of(self.admin)

    def holder_of(self, secret):
        client = Holder(self.service, secret)
        self.addCleanup(client.close)
        return client

    def holder(self, may, queues=None, **limits):
        """Somebody with a new token for the queues of this test, or for those that are given."""
        secret = add(self.service.data, f"token {next(self.numbers)}", may,
                     (self.own,) if queues is None else queues, **limits)
        reload(self.service)
        return self.holder_of(secret)

    def check_failure(self, reply, status, code, path="/v1/"):
        """Checks a failure as it is told below this path."""
        self.assertEqual(reply.status, status, reply)
        if path.startswith("/v1/"):
            self.assertEqual(reply.media_type(), "application/json", reply)
            error = v1.openapi.strict_json(reply.body)["error"]
            self.assertEqual((error["code"], error["advice"]), (code, v1.CODES[code][1]), reply)
            self.assertTrue(error["message"], reply)
        else:
            self.assertEqual(reply.media_type(), "text/plain", reply)
            self.assertRegex(reply.body.decode(), r"\A[^\n]+\n\Z")
