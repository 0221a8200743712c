"""What an earlier forwarding tracker got wrong, each as a test of the real program that it fails:
the table in docs/design/tracker.md."""
import json
import re
import socket
import struct
import threading

from harness import RetrackerTest, main
from tracker import Tracker, UdpPeer, Upstream, compact, peers_of, wait_until

HASH = b"hashhashhashhashhash"
FAR = ("203.0.113.9", 99)


def hash_number(number):
    return struct.pack(">I16x", number)


def peer_id(number):
    return b"-XX0001-" + b"%012d" % number


class Lessons(RetrackerTest):
    def start(self, *upstreams, **settings):
        self.write("forwarders", "".join(f"- {upstream.uri}\n" for upstream in upstreams))
        options = [word for name, value in settings.items()
                   for word in ("--set", f"{name}={value}")]
        return Tracker(self, "-f", self.path("forwarders"), *options)

    def stats(self, tracker):
        return json.loads(tracker.get("/stats?format=json"))

    def jobs(self, tracker):
        return self.stats(tracker)["jobs"]

    def test_01_a_bad_tenth_of_the_list_stops_nothing(self):
        good = [Upstream(self) for _ in range(18)]
        bad = [Upstream(self) for _ in range(2)]
        for upstream in bad:
            upstream.gate.clear()
        # As few workers as it had, and no bad one lets go of those that it holds.
        tracker = self.start(*good, *bad, first_reply_wait_ms=0, forward_timeout=600,
                             forwarder_workers=10, max_forwarder_workers=10)
        for i in range(20):
            tracker.announce(hash_number(i), peer_id(1), 7001)
        wait_until(lambda: all(len(upstream.told) == 20 for upstream in good), "the good ones")
        self.assertTrue(all(upstream.told for upstream in bad))

    def test_02_a_first_answer_that_is_empty_asks_to_come_back_soon(self):
        upstream = Upstream(self)
        upstream.gate.clear()
        tracker = self.start(upstream, first_reply_wait_ms=50)
        found = tracker.announce(HASH, peer_id(1), 7001)
        self.assertEqual(found[b"peers"], b"")
        self.assertLessEqual(found[b"interval"], 60)
        self.assertLessEqual(found[b"min interval"], 60)
        upstream.gate.set()
        wait_until(lambda: self.jobs(tracker)["succeeded"] == 1, "the upstream's answer")
        found = tracker.announce(HASH, peer_id(1), 7001)
        self.assertEqual(peers_of(found[b"peers"]), {FAR})
        self.assertEqual(found[b"interval"], 1800)

    def test_03_who_says_not_before_is_not_asked_before(self):
        for minutes in (1, b"9", 15):
            with self.subTest(minutes):
                upstream = Upstream(self, {b"failure reason": b"busy", b"retry in": minutes})
                tracker = self.start(upstream, first_reply_wait_ms=0)
                tracker.announce(HASH, peer_id(1), 7001)
                wait_until(lambda: self.stats(tracker)["queue"]["running"] == 0 and upstream.told,
                           "the refusal")
                for i in range(20):
                    tracker.announce(HASH, peer_id(i % 3), 7001 + i % 3)
                tracker.announce(hash_number(1), peer_id(1), 7001)
                wait_until(lambda: len(upstream.told) >= 2, "another torrent")
                self.assertEqual([told["info_hash"] for told in upstream.told],
                                 [HASH, hash_number(1)])
                tracker.kill()

    def test_04_completed_and_stopped_arrive_and_a_stopped_peer_is_not_announced_again(self):
        upstream = Upstream(self)
        tracker = self.start(upstream, first_reply_wait_ms=0)
        for number, event in enumerate(("started", "completed", "stopped"), 1):
            tracker.announce(HASH, peer_id(1), 7001, event=event)
            wait_until(lambda n=number: self.jobs(tracker)["succeeded"] == n, event)
        self.assertEqual(upstream.events(), [b"started", b"completed", b"stopped"])

        upstream.answer = {b"failure reason": b"busy", b"retry in": 1}
        tracker.announce(HASH, peer_id(2), 7002)
        wait_until(lambda: self.stats(tracker)["queue"]["scheduled"] == 1, "the refusal")
        tracker.announce(HASH, peer_id(2), 7002, event="stopped")
        self.assertEqual(self.stats(tracker)["queue"]["scheduled"], 0)
        self.assertEqual(self.jobs(tracker)["cancelled"], 1)
        self.assertEqual(tracker.stop(), 0)
        self.assertEqual(len(upstream.told), 4)

    def test_05_the_second_peer_of_a_torrent_is_announced_too(self):
        upstream = Upstream(self)
        tracker = self.start(upstream, first_reply_wait_ms=0)
        for number in (1, 2, 3):
            tracker.announce(HASH, peer_id(number), 7000 + number)
        wait_until(lambda: len(upstream.told) == 3, "all three")
        self.assertEqual({told["peer_id"] for told in upstream.told}, set(map(peer_id, (1, 2, 3))))

    def test_06_one_refusal_or_one_outage_disables_nothing(self):
        upstream = Upstream(self)
        upstream.status = 404
        tracker = self.start(upstream, first_reply_wait_ms=0)
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.jobs(tracker)["failed"] == 1, "the 404")
        upstream.status = 200
        tracker.announce(hash_number(1), peer_id(1), 7001)
        wait_until(lambda: self.jobs(tracker)["succeeded"] == 1, "another torrent")
        tracker.kill()

        port = upstream.pause()  # Nobody listens there for a while.
        tracker = self.start(upstream, first_reply_wait_ms=0)
        tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: self.stats(tracker)["forwarders"][0]["unreachable"], "the refusal")
        upstream.resume(port)
        tracker.announce(hash_number(2), peer_id(1), 7001)
        wait_until(lambda: self.jobs(tracker)["succeeded"] >= 1, "the upstream that is back")

    def test_07_peers_that_are_known_survive_a_failed_announce(self):
        upstream = Upstream(self)
        tracker = self.start(upstream, first_reply_wait_ms=10000)
        self.assertEqual(peers_of(tracker.announce(HASH, peer_id(1), 7001)[b"peers"]), {FAR})
        upstream.answer = {b"failure reason": b"out of order"}
        tracker.announce(HASH, peer_id(1), 7001, event="completed", left=0)
        wait_until(lambda: self.jobs(tracker)["failed"] == 1, "the failure")
        found = tracker.announce(HASH, peer_id(2), 7002)
        self.assertEqual(peers_of(found[b"peers"]), {FAR, ("127.0.0.1", 7001)})

    def test_08_a_full_queue_refuses_no_neighbour(self):
        upstream = Upstream(self)
        upstream.gate.clear()
        full = {"forwarder_queue_size": 1, "first_reply_wait_ms": 0, "forwarder_workers": 1,
                "max_forwarder_workers": 1}
        tracker = self.start(upstream, **full)
        for i in range(30):
            found = tracker.announce(hash_number(i), peer_id(1), 7001)
            self.assertNotIn(b"failure reason", found)
        self.assertGreater(sum(self.jobs(tracker)["dropped"].values()), 0)
        tracker.kill()

        tracker = self.start(upstream, refuse_when_full="true", retry_period=300, **full)
        answers = [tracker.announce(hash_number(i), peer_id(1), 7001) for i in range(30)]
        refused = [answer for answer in answers if b"failure reason" in answer]
        self.assertTrue(refused)
        for answer in refused:
            self.assertEqual((answer[b"retry in"] * 60, answer[b"interval"]), (300, 300))

    def test_09_peers_behind_one_address_are_counted_each(self):
        tracker = Tracker(self)
        peer = UdpPeer(tracker.udp)
        self.addCleanup(peer.close)
        for i in range(500):
            peer.announce(HASH, peer_id(i), 1000 + i, left=i % 2)
        self.assertEqual(peer.scrape(HASH), (250, 0, 250))
        self.assertEqual(tracker.scrape(HASH)[b"incomplete"], 250)

    def test_10_a_stop_takes_its_jobs_along(self):
        upstream = Upstream(self)
        upstream.gate.clear()
        tracker = self.start(upstream, first_reply_wait_ms=0, forwarder_workers=1,
                             max_forwarder_workers=1)
        for i in range(40):
            tracker.announce(hash_number(i), peer_id(1), 7001)
        wait_until(lambda: len(upstream.told) == 1, "the one in flight")
        for i in range(1, 40):
            tracker.announce(hash_number(i), peer_id(1), 7001, event="stopped")
        upstream.gate.set()
        wait_until(lambda: self.jobs(tracker)["pending"] == 0, "the queue to be empty")
        jobs = self.jobs(tracker)
        self.assertEqual((jobs["succeeded"], jobs["cancelled"]), (1, 39))
        self.assertEqual(len(upstream.told), 1)

    def test_11_announces_are_not_logged_and_what_is_shown_is_of_now(self):
        self.write("settings", "listen: 127.0.0.1:0\nudp_listen: 127.0.0.1:0\n")
        tracker = Tracker(self, "-c", self.path("settings"), "--set", "prometheus_enabled=true")
        for i in range(200):
            tracker.announce(HASH, peer_id(i), 2000 + i)
            if i % 50 == 0:
                shown = re.search(rb"(?m)^retracker_peers(?:\{[^}]*\})? (\d+)$",
                                  tracker.get("/metrics"))
                self.assertEqual(int(shown[1]), i + 1)
        self.assertLess(len(tracker.said().splitlines()), 20)

    def test_12_packets_do_not_mix_and_ids_belong_to_an_address(self):
        tracker = Tracker(self, "--set", "threads=4")
        problems = []

        def client(number):
            """Many packets at once, so that every thread of the server has some to mix up."""
            peer = UdpPeer(tracker.udp)
            try:
                for i in range(100):
                    own = [hash_number(number << 16 | i << 8 | n) for n in range(32)]
                    peer.announce_all(own, peer_id(number), 5000 + number)
                    if peer.scrape_all(own) != [(0, 0, 1)] * len(own):
                        problems.append((number, i))
            except (AssertionError, TimeoutError) as error:
                problems.append((number, error))
            finally:
                peer.close()

        threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

        ours, theirs = UdpPeer(tracker.udp), UdpPeer(tracker.udp)
        self.addCleanup(ours.close)
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(stranger.close)
        self.addCleanup(theirs.close)
        stranger.bind(("127.0.0.2", 0))
        stranger.connect(("127.0.0.1", tracker.udp))
        stranger.send(struct.pack(">QII20s", ours.id, 2, 9, HASH))
        ours.scrape(HASH)  # A loopback socket keeps the order: whatever was to come is there.
        stranger.setblocking(False)
        with self.assertRaises(BlockingIOError):
            stranger.recv(100)

    def test_13_every_byte_and_every_wish_reaches_the_upstream(self):
        upstream = Upstream(self, {b"interval": 1800, b"peers": compact(FAR)})
        tracker = self.start(upstream, first_reply_wait_ms=0)
        rows = [bytes((start + i) % 256 for i in range(20)) for start in range(0, 256, 20)]
        for row in rows:
            tracker.announce(row, row[::-1], 7001, event="started", numwant=13, key="0000abcd")
        wait_until(lambda: len(upstream.told) == len(rows), "all to arrive")
        for told in upstream.told:
            self.assertIn(told["info_hash"], rows)
            self.assertEqual(told["peer_id"], told["info_hash"][::-1])
            self.assertEqual((told["event"], told["compact"]), (b"started", b"1"))
            self.assertEqual(int(told["key"], 16), 0xabcd)
            self.assertGreaterEqual(int(told["numwant"]), 13)


if __name__ == "__main__":
    main()
