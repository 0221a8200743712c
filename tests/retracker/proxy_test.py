"""Forwarders that are reached through a proxy, and never past it."""
import json
import ssl
import subprocess

from harness import RetrackerTest, main
from proxies import HttpProxy, Socks5
from tracker import Tracker, Upstream, peers_of, wait_until

HASH = bytes(range(0, 200, 10))
PEER = b"-xx0001-000000000001"
KINDS = (("socks5", Socks5), ("http", HttpProxy))


class Proxies(RetrackerTest):
    def start(self, *entries, wait_ms=0, env=None):
        """The program with forwarders of these keys."""
        self.write("forwarders", json.dumps(entries))
        return Tracker(self, "-f", self.path("forwarders"),
                       "--set", f"first_reply_wait_ms={wait_ms}",
                       "--set", "forwarder_retry_attempts=1", env=env)

    def port_of(self, upstream):
        return upstream.server.server_address[1]

    def test_an_upstream_hears_through_it_alone(self):
        for scheme, kind in KINDS:
            with self.subTest(scheme=scheme):
                upstream = Upstream(self)
                proxy = kind(self)
                tracker = self.start({"uri": upstream.uri, "proxy": f"{scheme}://{proxy.address}"},
                                     wait_ms=10000)
                found = tracker.announce(HASH, PEER, 7001)
                self.assertEqual(peers_of(found[b"peers"]), {("203.0.113.9", 99)})
                tracker.announce(HASH, PEER, 7001, event="completed", left=0)
                wait_until(lambda: b"completed" in upstream.events(), "the second")
                self.assertEqual(upstream.told[0]["info_hash"], HASH)
                self.assertEqual(set(proxy.asked), {("127.0.0.1", self.port_of(upstream))})
                self.assertEqual(len(proxy.asked), 1, "the connection is kept")
                tracker.kill()

    def test_names_are_looked_up_by_the_proxy(self):
        for scheme, kind in KINDS:
            upstream = Upstream(self)
            proxy = kind(self, names={"tracker.invalid": "127.0.0.1"})
            port = self.port_of(upstream)
            tracker = self.start({"uri": f"http://tracker.invalid:{port}/announce",
                                  "proxy": f"{scheme}://{proxy.address}"})
            tracker.announce(HASH, PEER, 7001)
            wait_until(lambda: self.stats(tracker)["forwarders"][0]["ok"] == 1, scheme)
            self.assertEqual(proxy.asked, [("tracker.invalid", port)])
            tracker.kill()

    def test_a_login_is_told_and_a_wrong_one_is_a_reason(self):
        for scheme, kind in KINDS:
            upstream = Upstream(self)
            proxy = kind(self, login=(b"me", b"s3cret:@"))
            for login, good in (("me:s3cret:@@", True), ("me:wrong@", False), ("", False)):
                with self.subTest(scheme=scheme, login=login):
                    told = len(upstream.told)
                    tracker = self.start({"uri": upstream.uri, "name": "up",
                                          "proxy": f"{scheme}://{login}{proxy.address}"})
                    tracker.announce(HASH, PEER, 7001)
                    end = "ok" if good else "unreachable"
                    wait_until(lambda: self.stats(tracker)["forwarders"][0][end] == 1, end)
                    self.assertEqual(len(upstream.told) - told, 1 if good else 0)
                    self.assertNotIn(b"s3cret", tracker.get("/stats?format=json"))
                    tracker.kill()

    def test_a_dead_proxy_is_no_reason_to_go_around_it(self):
        upstream = Upstream(self)
        for proxy in ("socks5://127.0.0.1:1", "http://127.0.0.1:1"):
            tracker = self.start({"uri": upstream.uri, "proxy": proxy})
            tracker.announce(HASH, PEER, 7001)
            wait_until(lambda: self.stats(tracker)["forwarders"][0]["unreachable"] == 1, proxy)
            tracker.kill()
        self.assertEqual(upstream.told, [])

    def test_tls_is_spoken_with_the_upstream_and_not_with_the_proxy(self):
        cert, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=test",
                        "-addext", "subjectAltName=DNS:tracker.invalid", "-keyout", key,
                        "-out", cert], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        for scheme, kind in KINDS:
            upstream = Upstream(self, tls=context)
            proxy = kind(self, names={"tracker.invalid": "127.0.0.1", "other.invalid": "127.0.0.1"})
            port = self.port_of(upstream)
            tracker = self.start(*({"uri": f"https://{host}:{port}/announce", "name": host,
                                    "proxy": f"{scheme}://{proxy.address}"}
                                   for host in ("tracker.invalid", "other.invalid")),
                                 env={"SSL_CERT_FILE": cert})
            tracker.announce(HASH, PEER, 7001)

            def ends(tracker=tracker):
                return {one["name"]: (one["ok"], one["unreachable"])
                        for one in self.stats(tracker)["forwarders"]}
            wanted = {"tracker.invalid": (1, 0), "other.invalid": (0, 1)}
            wait_until(lambda: ends() == wanted, "the certificate to count")
            self.assertEqual(len(upstream.told), 1)
            tracker.kill()

    def test_the_command_line_refuses_what_cannot_be_and_shows_no_password(self):
        path = self.write("forwarders", json.dumps([{"uri": "udp://a:1", "proxy": "socks5://b:1"}]))
        self.assertEqual(self.refused("forwarders", "-f", path),
                         f"{path}:1: proxy: no proxy leads to a tracker over UDP; leave it out, or "
                         "write an http uri")
        self.write("forwarders", '[{"uri": "http://a", "proxy": "socks4://u:pass-1@b:1"}]')
        said = self.refused("forwarders", "-f", path)
        self.assertIn("proxy: it is of no kind that is spoken here: write socks5://", said)
        self.assertNotIn("pass-1", said)
        self.write("forwarders", '[{"uri": "http://a", "proxy": "socks5://u:pass-1@b:1"}]')
        self.assertEqual(json.loads(self.printed("forwarders", "-f", path, "--json")),
                         [{"name": "a:80", "uri": "http://a", "proxy": "socks5://b:1"}])
        self.assertNotIn("pass-1", self.printed("forwarders", "-f", path))


if __name__ == "__main__":
    main()
