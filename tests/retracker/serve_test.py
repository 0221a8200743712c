"""The tracker at work: neighbours, other trackers, reload, snapshot, statistics."""
import base64
import glob
import json
import signal
import socket
import struct
import threading
import unittest
import urllib.error

from harness import PATIENCE, RetrackerTest
from tracker import (Tracker, UdpPeer, Upstream, compact, encode, file_size, peers_of,
                     wait_until)

HASH = bytes(range(0, 200, 10))
ODD = bytes([0x20, 0x2B, 0x25, 0x26, 0x3D, 0x00, 0xFF, 0x0A, 0x0D, 0x7F] * 2)


def peer_id(number):
    return b"-xx0001-%012d" % number


class Neighbours(RetrackerTest):
    def test_they_find_each_other_over_both_protocols(self):
        tracker = Tracker(self)
        self.assertEqual(tracker.announce(HASH, peer_id(1), 7001)[b"peers"], b"")
        udp = UdpPeer(tracker.udp)
        self.addCleanup(udp.close)
        interval, leechers, seeders, peers = udp.announce(HASH, peer_id(2), 7002)
        self.assertEqual((interval, leechers, seeders, peers), (1800, 2, 0, {("127.0.0.1", 7001)}))
        found = tracker.announce(HASH, peer_id(3), 7003, left=0, event="completed")
        self.assertEqual(peers_of(found[b"peers"]), {("127.0.0.1", 7001), ("127.0.0.1", 7002)})
        self.assertEqual((found[b"complete"], found[b"incomplete"], found[b"downloaded"]), (1, 2, 1))
        self.assertEqual(udp.scrape(HASH), (1, 1, 2))
        self.assertEqual(tracker.scrape(HASH),
                         {b"complete": 1, b"downloaded": 1, b"incomplete": 2})
        tracker.announce(HASH, peer_id(1), 7001, event="stopped")
        self.assertEqual(udp.announce(HASH, peer_id(2), 7002)[3], {("127.0.0.1", 7003)})
        self.assertEqual(tracker.stop(), 0, tracker.said())

    def test_dictionaries_for_those_who_want_them(self):
        tracker = Tracker(self)
        tracker.announce(HASH, peer_id(1), 7001)
        found = tracker.announce(HASH, peer_id(2), 7002, compact=0)
        self.assertEqual(found[b"peers"],
                         [{b"ip": b"127.0.0.1", b"peer id": peer_id(1), b"port": 7001}])

    def test_they_find_each_other_over_ipv6(self):
        tracker = Tracker(self, host="[::1]")
        local = socket.inet_pton(socket.AF_INET6, "::1")
        self.assertEqual(tracker.announce(HASH, peer_id(1), 7001)[b"external ip"], local)
        found = tracker.announce(HASH, peer_id(2), 7002)
        self.assertEqual(found[b"peers6"], local + struct.pack(">H", 7001))
        self.assertEqual(found[b"peers"], b"", "some clients cannot do without")
        udp = UdpPeer(tracker.udp, host="::1")
        self.addCleanup(udp.close)
        answer = udp.ask(struct.pack(">QII20s20sQQQIIIiH", udp.id, 1, 9, HASH, peer_id(3), 0, 1, 0,
                                     2, 0, 0, -1, 7003))
        self.assertEqual(struct.unpack(">IIIII", answer[:20]), (1, 9, 1800, 3, 0))
        self.assertEqual({answer[20:38], answer[38:]},
                         {local + struct.pack(">H", port) for port in (7001, 7002)})

    def test_what_is_not_listed_is_not_served(self):
        listed = self.write("allowed", "# ours\n" + HASH.hex() + "\n")
        tracker = Tracker(self, "--set", f"hash_allow_file={listed}")
        self.assertIn(b"peers", tracker.announce(HASH, peer_id(1), 7001))
        self.assertIn(b"not served", tracker.announce(ODD, peer_id(1), 7001)[b"failure reason"])
        self.write("allowed", ODD.hex() + "\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: b"peers" in tracker.announce(ODD, peer_id(1), 7001), "the new list")
        self.assertIn(b"not served", tracker.announce(HASH, peer_id(1), 7001)[b"failure reason"])


class Forwarding(RetrackerTest):
    def start(self, *upstreams, arguments=()):
        self.write("forwarders", "".join(f"- {upstream.uri}\n" for upstream in upstreams))
        return Tracker(self, "-f", self.path("forwarders"), *arguments)

    def test_the_first_reply_has_what_an_upstream_knows(self):
        upstream = Upstream(self)
        tracker = self.start(upstream, arguments=("--set", "first_reply_wait_ms=10000"))
        found = tracker.announce(HASH, peer_id(1), 7001)
        self.assertEqual(peers_of(found[b"peers"]), {("203.0.113.9", 99)})
        self.assertEqual(found[b"interval"], 1800)
        udp = UdpPeer(tracker.udp)
        self.addCleanup(udp.close)
        self.assertEqual(udp.announce(ODD, peer_id(1), 7001)[3], {("203.0.113.9", 99)})

    def test_the_first_reply_waits_for_nobody_who_has_answered(self):
        held, order = threading.Event(), []
        self.addCleanup(held.set)

        def knows_nobody(handler):
            if "info_hash=" + "%00" * 20 in handler.path:
                held.wait(PATIENCE)
            body = encode({b"interval": 1800, b"peers": b""})
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        slow = Upstream(self, knows_nobody)
        refuses = Upstream(self, {b"failure reason": b"no"})
        nobody = Upstream(self)
        nobody.pause()
        tracker = self.start(slow, refuses, nobody,
                             arguments=("--set", "first_reply_wait_ms=10000"))
        udp = UdpPeer(tracker.udp)
        self.addCleanup(udp.close)

        def first():
            self.assertEqual(tracker.announce(bytes(20), peer_id(1), 7001)[b"peers"], b"")
            order.append("first")
        thread = threading.Thread(target=first)
        thread.start()
        wait_until(lambda: slow.told, "the first to wait")
        # Were these to wait for their time, that of the first would be over before.
        self.assertEqual(tracker.announce(HASH, peer_id(1), 7001)[b"peers"], b"")
        order.append("second")
        self.assertEqual(udp.announce(ODD, peer_id(1), 7001)[3], set())
        order.append("third")
        held.set()
        thread.join(PATIENCE)
        self.assertEqual(order, ["second", "third", "first"])

    def test_a_dead_upstream_holds_up_neither_the_client_nor_the_others(self):
        hanging, healthy = Upstream(self), Upstream(self)
        hanging.gate.clear()
        tracker = self.start(hanging, healthy, arguments=("--set", "first_reply_wait_ms=50"))
        for i in range(30):
            tracker.announce(bytes([i]) * 20, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 30, "the healthy one")
        found = tracker.announce(bytes([29]) * 20, peer_id(2), 7002)
        self.assertIn(("203.0.113.9", 99), peers_of(found[b"peers"]))

    def test_as_many_are_in_flight_as_may_be(self):
        upstream = Upstream(self)
        tracker = self.start(upstream, arguments=("--set", "first_reply_wait_ms=0", "--set",
                                                  "in_flight_per_upstream=40"))
        tracker.announce(HASH, peer_id(1), 7001)
        # An upstream that has not answered yet gets few at once.
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 1, "the first answer")
        upstream.gate.clear()
        for i in range(40):
            tracker.announce(bytes([i]) * 20, peer_id(1), 7001)
        wait_until(lambda: len(upstream.told) == 41, "forty to be in flight")

    def test_every_byte_arrives(self):
        upstream = Upstream(self)
        tracker = self.start(upstream)
        every = [bytes((start + i) % 256 for i in range(20)) for start in range(0, 256, 20)]
        for info_hash in every + [ODD]:
            tracker.announce(info_hash, info_hash[::-1], 7001, left=5, key="0000abcd",
                             event="started", numwant=13)
        wait_until(lambda: len(upstream.told) == len(every) + 1, "all to arrive")
        self.assertEqual({told["info_hash"] for told in upstream.told}, {*every, ODD})
        for told in upstream.told:
            self.assertEqual(told["peer_id"], told["info_hash"][::-1])
            self.assertEqual((told["port"], told["left"], told["event"], told["compact"]),
                             (b"7001", b"5", b"started", b"1"))
            self.assertEqual(told["key"].lower().zfill(8), b"0000abcd")

    def test_completed_and_stopped_are_told_and_the_end_too(self):
        upstream = Upstream(self)
        tracker = self.start(upstream)
        tracker.announce(HASH, peer_id(1), 7001, event="started")
        wait_until(lambda: len(upstream.told) == 1, "the first")
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 1, "its answer")
        tracker.announce(HASH, peer_id(1), 7001, left=0, event="completed")
        wait_until(lambda: b"completed" in upstream.events(), "the second")
        tracker.announce(HASH, peer_id(2), 7002, event="started")
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 3, "the other peer")
        tracker.announce(HASH, peer_id(1), 7001, event="stopped")
        wait_until(lambda: upstream.events().count(b"stopped") == 1, "the first to stop")
        self.assertEqual(tracker.stop(), 0)
        self.assertEqual(upstream.events().count(b"stopped"), 2)
        self.assertEqual(upstream.told[-1]["peer_id"], peer_id(2))

    def test_a_forwarder_is_told_from_the_address_that_its_entry_names(self):
        upstream = Upstream(self)
        self.write("forwarders", f"- {{name: a, uri: '{upstream.uri}', bind: 127.0.0.7}}\n"
                                 f"- {{name: b, uri: '{upstream.uri}'}}\n")
        tracker = Tracker(self, "-f", self.path("forwarders"))
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 2, "both")
        self.assertEqual(sorted(upstream.clients), ["127.0.0.1", "127.0.0.7"])
        self.write("forwarders", f"- {{name: a, uri: '{upstream.uri}', bind: 127.0.0.8}}\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.stats(tracker)["forwarders"]) == 1, "the reload")
        tracker.announce(ODD, peer_id(1), 7001)
        wait_until(lambda: "127.0.0.8" in upstream.clients, "the other address")

    def test_what_an_upstream_calls_itself_is_told_to_it_again(self):
        upstream = Upstream(self, {b"interval": 1800, b"peers": b"", b"tracker id": b"a b&c\xff"})
        tracker = self.start(upstream)
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 1, "the first answer")
        tracker.announce(HASH, peer_id(1), 7001, left=0, event="completed")
        wait_until(lambda: len(upstream.told) == 2, "the second")
        self.assertEqual([told.get("trackerid") for told in upstream.told], [None, b"a b&c\xff"])

    def test_never_disables_and_a_reload_enables(self):
        upstream = Upstream(self, {b"failure reason": b"go away", b"retry in": b"never"})
        tracker = self.start(upstream)
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["forwarders"][0]["state"] == "disabled", "disabling")
        self.assertEqual(self.stats(tracker)["forwarders"][0]["reason"], "go away")
        self.assertIn(b"go away", tracker.get("/stats"))
        upstream.answer = {b"interval": 1800, b"peers": b""}
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.stats(tracker)["forwarders"][0]["ok"] == 1, "enabling")
        self.assertEqual(self.stats(tracker)["forwarders"][0]["state"], "ok")

    def test_a_reload_adds_and_removes_and_a_wrong_file_changes_nothing(self):
        first, second = Upstream(self), Upstream(self)
        tracker = self.start(first)
        self.write("forwarders", f"- {second.uri}\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.stats(tracker)["forwarders"][0]["uri"] == second.uri, "the reload")
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: len(second.told) == 1, "the second")
        self.assertEqual(first.told, [])
        self.write("forwarders", "- nonsense\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "stay as they were" in tracker.said(), "the complaint")
        self.assertEqual(self.stats(tracker)["forwarders"][0]["uri"], second.uri)

    def test_a_forwarder_that_is_removed_is_told_that_its_peers_have_stopped(self):
        stays, goes = Upstream(self), Upstream(self)
        tracker = self.start(stays, goes)
        for number in range(10):
            tracker.announce(HASH, peer_id(number), 7000 + number)
        tracker.announce(ODD, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 22, "both to know them")
        goes.gate.clear()
        self.write("forwarders", f"- {stays.uri}\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: b"stopped" in goes.events(), "the first farewell")
        shown = {one["uri"]: one for one in self.stats(tracker)["forwarders"]}
        self.assertEqual((shown[goes.uri]["state"], shown[goes.uri]["reason"]),
                         ("leaving", "removed"))
        self.assertIn(b"leaving", tracker.get("/stats"))
        # A peer that stays is told on to the one that stays.
        tracker.announce(HASH, peer_id(1), 7001, event="completed", left=0)
        goes.gate.set()
        wait_until(lambda: len(self.stats(tracker)["forwarders"]) == 1, "its end")
        self.assertEqual(goes.events()[11:], [b"stopped"] * 11)
        self.assertEqual({(told["info_hash"], told["peer_id"]) for told in goes.told[11:]},
                         {(HASH, peer_id(number)) for number in range(10)} | {(ODD, peer_id(1))})
        wait_until(lambda: b"completed" in stays.events(), "the one that stays")
        self.assertNotIn(b"stopped", stays.events())

        self.write("forwarders", "[]\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.stats(tracker)["forwarders"] == [], "the end of the last")
        self.assertEqual(stays.events().count(b"stopped"), 11)

    def test_another_uri_under_the_same_name_is_another_forwarder(self):
        old, new = Upstream(self), Upstream(self)
        self.write("forwarders", f"- {{name: a, uri: '{old.uri}'}}\n")
        tracker = Tracker(self, "-f", self.path("forwarders"), "--set", "prometheus_enabled=true")
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 1, "the old one")
        old.gate.clear()
        self.write("forwarders", f"- {{name: a, uri: '{new.uri}'}}\n")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: b"stopped" in old.events(), "its farewell")
        self.assertEqual({one["name"]: (one["uri"], one["state"])
                          for one in self.stats(tracker)["forwarders"]},
                         {"a": (new.uri, "ok"), "a (leaving)": (old.uri, "leaving")})
        lines = tracker.get("/metrics").decode().splitlines()
        names = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
        self.assertEqual(len(set(names)), len(names), "each is told apart")
        old.gate.set()
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: new.events() == [b"started"], "the new one")
        wait_until(lambda: len(self.stats(tracker)["forwarders"]) == 1, "the end of the old one")
        self.assertEqual(old.events(), [b"started", b"stopped"])
        self.check_books(self.stats(tracker))

    def test_figures_for_prometheus(self):
        upstream = Upstream(self)
        tracker = self.start(upstream, arguments=("--set", "prometheus_enabled=true"))
        for i in range(50):
            tracker.announce(bytes([i]) * 20, peer_id(i), 7001)
        udp = UdpPeer(tracker.udp)
        self.addCleanup(udp.close)
        udp.announce(bytes(20), peer_id(0), 7001)
        wait_until(lambda: len(upstream.told) == 50, "all to arrive")
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 50, "all to be counted")
        metrics = tracker.get("/metrics").decode()
        self.assertIn('retracker_jobs_total{end="succeeded"} 50', metrics)
        self.assertRegex(metrics, r'forwarder_status\{name="127.0.0.1:\d+",status="ok"\} 50\n')
        for name, count in (('announce_seconds_count{protocol="http"}', 50),
                            ('announce_seconds_bucket{protocol="http",le="+Inf"}', 50),
                            ('announce_seconds_count{protocol="udp"}', 1)):
            wait_until(lambda: f"\nretracker_{name} {count}\n" in tracker.get("/metrics").decode(),
                       name)
        self.assertRegex(metrics,
                         r'retracker_forwarder_response_seconds_count\{name="[^"]+"\} 50\n')
        for name in ("requests", "queue_depth", "queue_capacity", "queue_fill_pct",
                     "queue_dropped_full", "queue_rate_limited", "queue_throttled_forwarders",
                     "forwarder_workers"):
            self.assertRegex(metrics, rf"(?m)^{name} \d+$")


class State(RetrackerTest):
    def test_peers_outlive_a_restart(self):
        file = self.path("peers")
        tracker = Tracker(self, "--set", f"snapshot_file={file}")
        tracker.announce(HASH, peer_id(1), 7001)
        self.assertEqual(tracker.stop(), 0)
        self.assertGreater(file_size(file), 0)
        tracker = Tracker(self, "--set", f"snapshot_file={file}")
        found = tracker.announce(HASH, peer_id(2), 7002)
        self.assertEqual(peers_of(found[b"peers"]), {("127.0.0.1", 7001)})

    def test_a_damaged_snapshot_is_put_aside(self):
        file = self.path("peers")
        tracker = Tracker(self, "--set", f"snapshot_file={file}")
        tracker.announce(HASH, peer_id(1), 7001)
        self.assertEqual(tracker.stop(), 0)
        with open(file, "r+b") as damaged:
            damaged.seek(30)
            damaged.write(b"?")
        with open(file, "rb") as damaged:
            bytes_before = damaged.read()
        tracker = Tracker(self, "--set", f"snapshot_file={file}")
        self.assertEqual(tracker.announce(HASH, peer_id(2), 7002)[b"peers"], b"")
        self.assertIn("the snapshot is not used", tracker.said())
        self.assertEqual(tracker.stop(), 0)
        aside = glob.glob(glob.escape(file) + ".bad-*")
        self.assertEqual(len(aside), 1)
        with open(aside[0], "rb") as kept:
            self.assertEqual(kept.read(), bytes_before)
        tracker = Tracker(self, "--set", f"snapshot_file={file}")
        self.assertEqual(peers_of(tracker.announce(HASH, peer_id(3), 7003)[b"peers"]),
                         {("127.0.0.1", 7002)}, "the new snapshot is used")

    def test_a_file_that_is_no_snapshot_is_never_written_to(self):
        for text in ("forwarders: []\n", ""):
            file = self.write("notes", text)
            tracker = Tracker(self, "--set", f"snapshot_file={file}",
                              "--set", "snapshot_interval=1")
            tracker.announce(HASH, peer_id(2), 7002)
            self.assertIn("is no snapshot of a tracker", tracker.said())
            self.assertIn("no snapshot will be written in this run", tracker.said())
            self.assertEqual(tracker.stop(), 0)
            with open(file, encoding="utf-8") as notes:
                self.assertEqual(notes.read(), text)

    def test_what_has_become_another_file_meanwhile_is_not_overwritten(self):
        file = self.path("peers")
        tracker = Tracker(self, "--set", f"snapshot_file={file}")
        self.write("peers", "my notes")
        self.assertEqual(tracker.stop(), 0)
        with open(file, encoding="utf-8") as notes:
            self.assertEqual(notes.read(), "my notes")


class Bodies(RetrackerTest):
    def test_no_request_has_a_body(self):
        tracker = Tracker(self)
        for path in ("/announce", "/stats", "/admin/forwarders/x/disable"):
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
            with socket.create_connection((tracker.host, tracker.http), PATIENCE) as raw:
                raw.sendall(head.encode())  # The body itself is not waited for.
                self.assertIn(b" 413 ", raw.recv(1000).split(b"\r\n")[0])


class Pages(RetrackerTest):
    def test_there_is_a_page_for_browsers_and_text_for_others(self):
        tracker = Tracker(self)
        self.assertIn(b"<table ", tracker.get("/stats", {"Accept": "text/html,*/*"}))
        self.assertIn(b"FORWARDER", tracker.get("/stats"))
        self.assertEqual(tracker.get("/favicon.ico"), b"")
        self.assertEqual(tracker.get("/health"), b"ok\n")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            tracker.get("/nowhere")
        self.assertEqual(caught.exception.code, 404)
        caught.exception.close()

    def test_the_largest_torrents_and_the_clients(self):
        upstream = Upstream(self, {b"interval": 1800,
                                   b"peers": compact(("203.0.113.9", 99), ("203.0.113.8", 9))})
        self.write("forwarders", f"- {upstream.uri}\n")
        tracker = Tracker(self, "-f", self.path("forwarders"))
        for torrent in range(1, 13):
            for peer in range(torrent):
                tracker.announce(bytes([torrent]) * 20, b"-qB4520-%012d" % peer, 7001 + peer,
                                 left=0 if peer == 0 else 1, event="completed" if not peer else "")
        tracker.announce(bytes([12]) * 20, b"A2-1-36-0-0123456789", 8001)
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] == 12 * 13 // 2 + 1, "answers")
        stats = self.stats(tracker)
        self.assertEqual([one["info_hash"] for one in stats["hashes"]],
                         [(bytes([i]) * 20).hex() for i in range(12, 0, -1)])
        self.assertEqual(stats["hashes"][0], {"info_hash": "0c" * 20, "seeders": 1, "leechers": 12,
                                              "downloads": 1, "upstream_peers": 2})
        self.assertEqual(stats["clients"], [{"name": "qBittorrent 4.5.2", "peers": 78},
                                            {"name": "aria2 1.36.0", "peers": 1}])
        few = json.loads(tracker.get("/stats?format=json&limit=1"))
        self.assertEqual((few["hashes"], few["clients"]),
                         (stats["hashes"][:1], stats["clients"][:1]))
        none = json.loads(tracker.get("/stats?limit=0&format=json"))
        self.assertEqual((none["hashes"], none["clients"]), ([], []))
        text = tracker.get("/stats").decode()
        self.assertRegex(text, r"(?m)^(0c){20} +1 +12 +1 +2$")
        self.assertNotIn("02" * 20, text, "the text has ten")
        self.assertRegex(text, r"(?m)^qBittorrent 4\.5\.2 +78$")
        for query in ("limit=10001", "limit=x", "format=xml"):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                tracker.get("/stats?" + query)
            self.assertEqual(caught.exception.code, 400)
            caught.exception.close()

    def test_figures_behind_a_password(self):
        tracker = Tracker(self, "--set", "prometheus_enabled=true",
                          env={"RETRACKER_STATS_PASSWORD": "s3cret", "RETRACKER_STATS_USER": "me"})

        def login(pair):
            return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
        for target in ("/stats", "/stats?format=json", "/", "/metrics"):
            for headers in ({}, login("me:s3cre"), login("you:s3cret"), {"Accept": "text/html"}):
                with self.assertRaises(urllib.error.HTTPError) as caught:
                    tracker.get(target, headers)
                self.assertEqual(caught.exception.code, 401)
                self.assertRegex(caught.exception.headers["WWW-Authenticate"], "^Basic realm=")
                self.assertNotIn(b"torrents", caught.exception.read())
                caught.exception.close()
            self.assertIn(b"peers", tracker.get(target, login("me:s3cret")))
        # Peers need none, nor does who looks whether it lives.
        self.assertIn(b"peers", tracker.announce(HASH, peer_id(1), 7001))
        self.assertIn(b"incomplete", tracker.scrape(HASH))
        self.assertEqual(tracker.get("/health"), b"ok\n")

    def test_an_address_in_use_is_told(self):
        tracker = Tracker(self)
        error = self.refused("-l", f"127.0.0.1:{tracker.http}", code=5)
        self.assertIn("in use", error)
        self.assertIsNone(tracker.process.poll())


if __name__ == "__main__":
    unittest.main(verbosity=2)
