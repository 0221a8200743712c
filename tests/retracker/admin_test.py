# SPDX-License-Identifier: MIT
"""An administrator disables forwarders and enables them, if he is one."""
import base64
import json
import signal
import urllib.error

from harness import RetrackerTest, main
from tracker import Tracker, Upstream, wait_until

HASH, OTHER = b"h" * 20, b"o" * 20


def peer_id(number):
    return b"-xx0001-%012d" % number


class Admin(RetrackerTest):
    def start(self, *upstreams, arguments=()):
        self.write("forwarders", "".join(f"- {upstream.uri}\n" for upstream in upstreams))
        return Tracker(self, "-f", self.path("forwarders"), *arguments)

    def administer(self, tracker, what, headers=None, method="POST"):
        return json.loads(tracker.get("/admin/forwarders/" + what, headers, method))

    def refused_admin(self, tracker, what, **more):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.administer(tracker, what, **more)
        with caught.exception as refusal:
            body = refusal.read()
            error = json.loads(body)["error"] if body.startswith(b"{") else body
            return refusal.code, error, refusal.headers

    def test_never_disables_and_an_administrator_enables(self):
        upstream = Upstream(self, {b"failure reason": b"go away", b"retry in": b"never"})
        tracker = self.start(upstream)
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["forwarders"][0]["state"] == "disabled", "disabling")
        upstream.answer = {b"interval": 1800, b"peers": b""}
        name = self.stats(tracker)["forwarders"][0]["name"]
        answer = self.administer(tracker, f"{name}/enable")
        self.assertEqual((answer["name"], answer["uri"], answer["state"], answer["reason"]),
                         (name, upstream.uri, "ok", ""))
        wait_until(lambda: self.stats(tracker)["forwarders"][0]["ok"] == 1, "the next announce")

    def test_an_administrator_disables_and_enables(self):
        held, other = Upstream(self), Upstream(self)
        self.write("forwarders", f"- {{name: 'a/b c', uri: '{held.uri}'}}\n- {other.uri}\n")
        tracker = Tracker(self, "-f", self.path("forwarders"), "--set", "in_flight_per_upstream=2",
                          "--set", "first_reply_wait_ms=0")
        held.gate.clear()
        for i in range(10):
            tracker.announce(bytes([i]) * 20, peer_id(1), 7001)
        wait_until(lambda: len(held.told) == 2 and len(other.told) == 10, "some to be in flight")
        shown = self.administer(tracker, "a%2Fb%20c/disable")
        self.assertEqual((shown["name"], shown["state"], shown["reason"]),
                         ("a/b c", "disabled", "disabled by an administrator"))
        self.assertEqual((shown["in_flight"], shown["given_up"]), (0, 2))
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 10, "the other")
        stats = self.stats(tracker)
        self.check_books(stats)
        self.assertEqual((stats["jobs"]["cancelled"], stats["jobs"]["pending"]), (10, 0))
        self.assertIn(b"disabled by an administrator", tracker.get("/stats"))
        held.gate.set()
        wait_until(lambda: "a/b c was disabled by an administrator" in tracker.said(), "the log")

        # A reload is no reason to ask it again; what is on the list besides is.
        third = Upstream(self)
        self.write("forwarders", f"- {{name: 'a/b c', uri: '{held.uri}'}}\n- {third.uri}\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: third.uri in {one["uri"] for one in self.stats(tracker)["forwarders"]},
                   "the reload")
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: len(third.told) == 1, "the one that is new")
        self.assertEqual(self.stats(tracker)["forwarders"][0]["state"], "disabled")
        self.assertEqual(len(held.told), 2)
        self.assertEqual(self.administer(tracker, "a%2Fb%20c/enable")["state"], "ok")
        tracker.announce(OTHER, peer_id(1), 7001)
        wait_until(lambda: OTHER in {told["info_hash"] for told in held.told}, "it to hear again")
        self.check_books(self.stats(tracker))

    def test_who_may_administer_and_what(self):
        tracker = self.start(Upstream(self))
        name = self.stats(tracker)["forwarders"][0]["name"]
        code, error, _ = self.refused_admin(tracker, "nobody/disable")
        self.assertEqual((code, error["code"]), (404, "not_found"))
        self.assertIn("nobody", error["message"])
        self.assertEqual(self.refused_admin(tracker, name + "/remove")[0], 404)
        code, error, headers = self.refused_admin(tracker, name + "/disable", method="GET")
        self.assertEqual((code, headers["Allow"]), (405, "POST"))
        for header in ("X-Real-IP", "X-Forwarded-For", "Origin"):
            code, error, _ = self.refused_admin(tracker, name + "/disable",
                                                headers={header: "127.0.0.1"})
            self.assertEqual((code, error["code"]), (403, "permission_denied"), header)
        self.assertEqual(self.stats(tracker)["forwarders"][0]["state"], "ok")

    def test_who_is_trusted_with_addresses_may_not_administer(self):
        tracker = self.start(Upstream(self), arguments=("--set", "x_real_ip=true"))
        name = self.stats(tracker)["forwarders"][0]["name"]
        self.assertEqual(self.refused_admin(tracker, name + "/disable",
                                            headers={"X-Real-IP": "127.0.0.1"})[0], 403)

    def test_with_a_password_who_has_it_may_administer(self):
        self.env["RETRACKER_STATS_PASSWORD"] = "s3cret"
        tracker = self.start(Upstream(self))
        login = {"Authorization": "Basic " + base64.b64encode(b"me:s3cret").decode()}
        name = json.loads(tracker.get("/stats?format=json", login))["forwarders"][0]["name"]
        wrong = {"Authorization": "Basic " + base64.b64encode(b"me:s3cre").decode()}
        for headers in ({}, wrong):
            code, _, headers = self.refused_admin(tracker, name + "/disable", headers=headers)
            self.assertEqual(code, 401)
            self.assertRegex(headers["WWW-Authenticate"], "^Basic realm=")
        shown = self.administer(tracker, name + "/disable", {**login, "X-Real-IP": "192.0.2.1"})
        self.assertEqual(shown["state"], "disabled")


if __name__ == "__main__":
    main()
