# SPDX-License-Identifier: MIT
"""What upstreams and clients say, word by word, and what follows from it on the real program."""
import base64
import json
import struct
import unittest
import urllib.parse

from harness import LONG, RetrackerTest, Stopwatch, main
from tracker import Tracker, UdpPeer, UdpUpstream, Upstream, decode, peers_of, wait_until

HASH = b"h" * 20
MINUTE = 60_000  # Milliseconds.


def peer_id(number):
    return b"-xx0001-%012d" % number


def hash_number(number):
    return struct.pack(">I16x", number)


class Rules(RetrackerTest):
    def start(self, *uris, **settings):
        self.write("forwarders", "".join(f"- {uri}\n" for uri in uris))
        options = [word for name, value in {"first_reply_wait_ms": 0, **settings}.items()
                   for word in ("--set", f"{name}={value}")]
        return Tracker(self, "-f", self.path("forwarders"), *options)

    def test_what_follows_from_each_retry_in(self):
        # What is said, and how many minutes the job waits: None ends it.
        for said, minutes in ((None, None), (0, None), (-1, None), (1, 1), (9, 9), (10, None),
                              (b"0", None), (b"9", 9), (b"10", None), (b"x", None),
                              (b"Never", None)):
            with self.subTest(said=said):
                refusal = {b"failure reason": b"no"}
                if said is not None:
                    refusal[b"retry in"] = said
                upstream = Upstream(self, refusal)
                tracker = self.start(upstream.uri)
                tracker.announce(HASH, peer_id(1), 7001)
                wait_until(lambda: self.stats(tracker)["forwarders"][0]["refused"] == 1, "a no")
                stats = self.stats(tracker)
                self.check_books(stats)
                self.assertEqual(stats["forwarders"][0]["state"], "ok")
                self.assertEqual(stats["jobs"]["failed"], 0 if minutes else 1)
                self.assertEqual(stats["queue"]["scheduled"], 1 if minutes else 0)
                for job in stats["queue"]["next"]:
                    self.assertEqual(job["info_hash"], HASH.hex())
                    self.assertLessEqual(job["in_ms"], minutes * MINUTE)
                    self.assertGreater(job["in_ms"], (minutes - 1) * MINUTE)
                tracker.kill()
                upstream.pause()

    @unittest.skipUnless(LONG, "takes a minute: SLUICE_LONG=1")
    def test_a_retry_comes_when_its_time_is_over_and_once(self):
        watches, in_time = [], []

        def answer(handler):
            if watches:
                in_time.append(watches[0].reached(60))
                print(f"figure retry_after_s {watches[0].shown()}")
            # The time is taken before the tracker hears of it.
            watches.append(Stopwatch())
            body = (b"d14:failure reason5:later8:retry ini1ee" if len(watches) == 1 else
                    b"d8:intervali1800e5:peers0:e")
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        tracker = self.start(Upstream(self, answer).uri)
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["queue"]["scheduled"] == 1, "the refusal")

        def comes():
            for number in (1, 2):
                tracker.announce(HASH, peer_id(number), 7000 + number)
            return len(watches) > 1
        wait_until(comes, "the retry", pause=0.1)
        self.assertTrue(in_time[0])
        wait_until(lambda: self.stats(tracker)["jobs"]["succeeded"] >= 1, "its answer")
        stats = self.stats(tracker)
        self.check_books(stats)
        self.assertEqual(stats["forwarders"][0]["refused"], 1)

    def test_a_full_queue_hides_no_neighbour(self):
        upstream = Upstream(self)
        upstream.gate.clear()
        tracker = self.start(upstream.uri, forwarder_queue_size=1, forwarder_workers=1,
                             max_forwarder_workers=1, forward_timeout=600)
        tracker.announce(hash_number(0), peer_id(1), 7001)
        wait_until(lambda: upstream.told, "one to be in flight")
        for number in range(1, 5):
            tracker.announce(hash_number(number), peer_id(1), 7001)
        self.assertEqual(self.stats(tracker)["queue"]["fill_pct"], 100)
        udp = UdpPeer(tracker.udp)
        self.addCleanup(udp.close)
        for number in range(5, 10):
            tracker.announce(hash_number(number), peer_id(1), 7001)
            found = tracker.announce(hash_number(number), peer_id(2), 7002)
            self.assertEqual(peers_of(found[b"peers"]), {("127.0.0.1", 7001)})
            self.assertEqual(udp.announce(hash_number(number), peer_id(3), 7003)[3],
                             {("127.0.0.1", 7001), ("127.0.0.1", 7002)})
        self.assertEqual(self.stats(tracker)["queue"]["fill_pct"], 100)

    def test_names_that_nobody_knows_disable_nothing(self):
        good = UdpUpstream(self)
        tracker = self.start("http://nobody.invalid/announce", "udp://nobody.invalid:1/announce",
                             good.uri, forwarder_retry_attempts=1, forwarder_fail_threshold=1)
        tracker.announce(HASH, peer_id(1), 7001)

        def failed():
            return [one for one in self.stats(tracker)["forwarders"] if one["unreachable"]]
        wait_until(lambda: len(failed()) == 2, "both to fail")
        for one in failed():
            self.assertEqual(one["state"], "open", "it is tried again later")
            self.assertIn("nobody.invalid", one["reason"] + one["uri"])
        wait_until(lambda: len(good.told) == 1, "the one that is there")

    def test_packets_of_any_length_are_passed_over(self):
        tracker = Tracker(self)
        peer = UdpPeer(tracker.udp)
        self.addCleanup(peer.close)
        whole = struct.pack(">QII20s20sQQQIIIiH", peer.id, 1, 6, HASH, peer_id(1), 0, 1, 0, 0, 0, 0,
                            -1, 7001)
        self.assertEqual(len(whole), 98)
        for size in range(98):
            peer.socket.send(whole[:size])
            peer.socket.send(struct.pack(">QII", 0x41727101980, 0, size)[:min(size, 15)])
        # A socket keeps the order: whatever was to come for those comes before.
        self.assertEqual(peer.ask(whole)[:8], struct.pack(">II", 1, 6))
        self.assertEqual(peer.scrape(HASH), (0, 0, 1))
        self.assertEqual(self.stats(tracker)["requests"]["announces_udp"], 1)

    def test_trackers_are_also_asked_as_php(self):
        tracker = Tracker(self)
        query = urllib.parse.urlencode({"info_hash": HASH, "peer_id": peer_id(1), "port": 7001},
                                       quote_via=urllib.parse.quote)
        self.assertEqual(decode(tracker.get("/announce.php?" + query))[0][b"incomplete"], 1)
        self.assertEqual(decode(tracker.get("/deep/announce?" + query))[0][b"incomplete"], 1)
        scraped = decode(tracker.get("/scrape.php?" + query))[0][b"files"]
        self.assertEqual(scraped[HASH][b"incomplete"], 1)

    def test_a_program_whose_id_does_not_tell_is_called_as_it_calls_itself(self):
        tracker = Tracker(self)
        targets = ["/announce?" + urllib.parse.urlencode(
            {"info_hash": HASH, "peer_id": b"odd-%016d" % number, "port": 7001 + number, "left": 1})
            for number in range(4)]
        for target, agent in zip(targets, ("Odd/1.2 libtorrent/2.0", "Odd/1.2", "")):
            tracker.get(target, {"User-Agent": agent})
        with self.assertRaises(OSError):  # That is no header of HTTP.
            tracker.get(targets[3], {"User-Agent": "\x01"})
        clients = json.loads(tracker.get("/stats?format=json"))["clients"]
        self.assertEqual(clients, [{"name": "Odd 1.2", "peers": 2},
                                   {"name": "unknown", "peers": 1}])

    def test_the_settings_are_shown_without_passwords(self):
        tracker = Tracker(self, "--set", "age=7", "--set", "trusted_proxies=10.0.0.1,10.0.0.2",
                          "--set", "x_real_ip=true", env={"RETRACKER_STATS_PASSWORD": "s3cret"})
        login = {"Authorization": "Basic " + base64.b64encode(b":s3cret").decode()}
        answer = tracker.get("/stats?format=json", login)
        self.assertNotIn(b"s3cret", answer)
        config = json.loads(answer)["config"]
        self.assertEqual((config["age"], config["stats_password"], config["x_real_ip"],
                          config["trusted_proxies"], config["forwarder_queue_size"]),
                         (7, "***", True, ["10.0.0.1", "10.0.0.2"], 10000))


if __name__ == "__main__":
    main()
