# SPDX-License-Identifier: MIT
"""Real clients with the real tracker: what they share arrives, and what they announce reaches other
trackers as it was said.
"""
import json
import unittest

from clients import Aria, Content, Libtorrent, Transmission, missing
from harness import RetrackerTest
from opentracker import OpenTracker
from tracker import Tracker, UdpPeer, UdpUpstream, Upstream, wait_until

# Every byte is in one of them.
HASHES = [bytes((start + i) % 256 for i in range(20)) for start in range(0, 256, 20)]
SCHEMES = ("http", "udp")


def setUpModule():
    if packages := missing():
        raise AssertionError(f"missing: {' '.join(packages)}. Run tools/install --test")


def events_of_peers(upstream, info_hash):
    """A list for each peer, in no order of theirs."""
    events = {}
    for told in list(upstream.told):
        if told["info_hash"] == info_hash:
            events.setdefault(told["peer_id"], []).append(told.get("event", b""))
    return sorted(events.values())


class ClientTest(RetrackerTest):
    def start(self, *upstreams, wait_ms=0):
        """A tracker that tells these, and waits for what they know."""
        file = self.write("forwarders", "".join(f"- {uri}\n" for uri in upstreams))
        return Tracker(self, "-f", file, "--set", f"first_reply_wait_ms={wait_ms}")

    def stats(self, tracker):
        return json.loads(tracker.get("/stats?format=json"))

    def all_arrives(self, downloaders):
        for client in downloaders:
            with self.subTest(client=client.name):
                self.assertTrue(client.downloaded() == client.content.data, "other bytes")

    def all_leave(self, clients):
        for client in clients:
            client.leave()


class Transfers(ClientTest):
    def test_clients_find_each_other(self):
        tracker = Tracker(self)
        pairs = [(Aria, "http", Aria, "http"), (Aria, "udp", Aria, "udp"),
                 (Libtorrent, "http", Libtorrent, "http"), (Libtorrent, "udp", Libtorrent, "udp"),
                 (Aria, "udp", Libtorrent, "http"), (Transmission, "http", Aria, "http"),
                 (Transmission, "udp", Libtorrent, "udp")]
        seeders, downloaders = [], []
        for number, (kind, scheme, _, _) in enumerate(pairs):
            content = Content(self, f"content-{number}")
            seeders.append(kind(content, tracker.uri(scheme), seeds=True))
        for seeder, (_, _, kind, scheme) in zip(seeders, pairs):
            content = seeder.content
            seeder.wait_while_running(lambda: tracker.scrape(content.info_hash)[b"complete"] == 1,
                                      "to announce")
            downloaders.append(kind(content, tracker.uri(scheme)))
        self.all_arrives(downloaders)
        for client in downloaders:
            if client.kind == "libtorrent":
                wait_until(lambda: tracker.scrape(client.content.info_hash)[b"downloaded"] == 1,
                           "completed")
        self.all_leave(downloaders + seeders)
        wait_until(lambda: self.stats(tracker)["peers"] == 0, "all to be gone")
        requests = self.stats(tracker)["requests"]
        self.assertEqual((requests["refused"], requests["bad_ids"]), (0, 0), requests)

    def test_clients_with_only_another_tracker_in_common(self):
        ways = [(kind, scheme) for kind in (Aria, Libtorrent) for scheme in SCHEMES]
        contents = [Content(self, f"content-{number}") for number in range(len(ways))]
        other = OpenTracker(self, [content.info_hash for content in contents])
        trackers = {scheme: self.start(other.uri(scheme), wait_ms=10000) for scheme in SCHEMES}
        seeders = [kind(content, other.uri(scheme), seeds=True)
                   for content, (kind, scheme) in zip(contents, ways)]
        downloaders = []
        for seeder, (kind, scheme) in zip(seeders, ways):
            content = seeder.content
            seeder.wait_while_running(lambda: other.seeders(content.info_hash) == 1, "to announce")
            # The way to us is another one than from us.
            to_us = SCHEMES[scheme == "http"]
            downloaders.append(kind(content, trackers[scheme].uri(to_us)))
        self.all_arrives(downloaders)


class Announces(ClientTest):
    def test_other_trackers_hear_what_clients_tell(self):
        upstreams = [Upstream(self, {b"interval": 1800, b"peers": b""}), UdpUpstream(self)]
        tracker = self.start(*(upstream.uri for upstream in upstreams))

        def heard(client, *peers):
            """Whether each upstream heard just this, in this order, of these peers. aria2 ends when
            it has got everything, and says so only sometimes."""
            unsure = [b"completed"] if client.kind == "aria2" else []
            return all(sorted([event for event in events if event not in unsure] for events in
                              events_of_peers(upstream, client.content.info_hash)) == sorted(peers)
                       for upstream in upstreams)

        seeders = [kind(Content(self, f"{kind.kind}-{scheme}"), tracker.uri(scheme), seeds=True)
                   for kind in (Aria, Libtorrent) for scheme in SCHEMES]
        for client in seeders:
            client.wait_while_running(lambda: heard(client, [b"started"]), "to be heard coming")
        downloaders = [type(seeder)(seeder.content, tracker.uri(scheme))
                       for seeder, scheme in zip(seeders, SCHEMES * 2)]
        self.all_arrives(downloaders)
        # aria2 leaves by itself.
        for client in downloaders:
            last = b"stopped" if client.kind == "aria2" else b"completed"
            client.wait_until(lambda: heard(client, [b"started"], [b"started", last]),
                              "to be heard getting everything")
        self.all_leave(downloaders + seeders)
        for client in downloaders:
            got = [] if client.kind == "aria2" else [b"completed"]
            client.wait_until(lambda: heard(client, [b"started", b"stopped"],
                                            [b"started", *got, b"stopped"]), "to be heard leaving")

    def test_every_byte_of_a_hash_reaches_another_tracker(self):
        other = OpenTracker(self, HASHES)
        for scheme, ports in zip(SCHEMES, [(7001, 7002), (7003, 7004)]):
            self.announce_all(self.start(other.uri(scheme)), *ports)
        for info_hash in HASHES:
            with self.subTest(info_hash=info_hash.hex()):
                other.wait_until(lambda: other.ports(info_hash) == {7001, 7002, 7003, 7004},
                                 "to know all peers")

    def test_everything_that_is_told_reaches_other_trackers(self):
        upstreams = [Upstream(self, {b"interval": 1800, b"peers": b""}), UdpUpstream(self)]
        tracker = self.start(*(upstream.uri for upstream in upstreams))
        wanted = self.announce_all(tracker, 7001, 7002)
        for upstream in upstreams:
            wait_until(lambda: len(upstream.told) == len(wanted), "all to arrive")
            got = [{name: one.get(name) for name in wanted[0]} for one in upstream.told]
            self.assertCountEqual(got, wanted)
        self.assertEqual({one.get("compact") for one in upstreams[0].told}, {b"1"})

    def announce_all(self, tracker, http_port, udp_port):
        """Each hash over each protocol. Returns what is to be told upstream."""
        udp = UdpPeer(tracker.udp)
        self.addCleanup(udp.close)
        wanted = []
        for info_hash in HASHES:
            key = info_hash[:4]
            by_http, by_udp = info_hash[::-1], bytes(255 - byte for byte in info_hash)
            tracker.announce(info_hash, by_http, http_port, left=5, event="started", numwant=13,
                             key=key.hex())
            udp.announce(info_hash, by_udp, udp_port, left=5, event=2, wanted=13,
                         key=int.from_bytes(key, "big"))
            wanted += [{"info_hash": info_hash, "peer_id": peer_id, "port": b"%d" % port,
                        "left": b"5", "event": b"started", "numwant": b"13",
                        "key": key.hex().upper().encode()}
                       for peer_id, port in [(by_http, http_port), (by_udp, udp_port)]]
        return wanted


if __name__ == "__main__":
    unittest.main(verbosity=2)
