# SPDX-License-Identifier: MIT
"""The client of the npm package bittorrent-tracker, which WebTorrent has, with the real tracker."""
import os

from harness import RetrackerTest, main
from node import Script, need
from tracker import Tracker, UdpUpstream, Upstream, wait_until

# Every byte is in one of them.
HASHES = [bytes((start + i) % 256 for i in range(20)) for start in range(0, 256, 20)]
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npm_clients.js")


def setUpModule():
    need("bittorrent-tracker")


class Clients(Script):
    """All in one process. A client is called by a name of ours."""

    def __init__(self, case):
        super().__init__(case, SCRIPT)

    def make(self, name, uri, info_hash, peer_id, port):
        self.tell(client=name, call="new", **{"with": {
            "announce": [uri], "infoHash": info_hash.hex(), "peerId": peer_id.hex(), "port": port}})

    def call(self, name, call, **options):
        self.tell(client=name, call=call, **{"with": options})

    def announce(self, name, call, **options):
        """Seeders and leechers as it is told them."""
        after = len(self.said)
        self.call(name, call, **options)
        heard = self.wait_for(f"{name} to {call}", after, client=name, event="update")["heard"]
        return heard["complete"], heard["incomplete"]

    def meets(self, name, port, after):
        self.wait_for(f"{name} to meet {port}", after, client=name, event="peer",
                      heard=f"127.0.0.1:{port}")

    def complaints_heard(self):
        return [one for one in self.said if one["event"] in ("warning", "error")]


class NpmClients(RetrackerTest):
    def setUp(self):
        super().setUp()
        self.clients = Clients(self)

    def test_two_find_each_other_and_count(self):
        tracker = Tracker(self)
        for scheme, info_hash in (("http", HASHES[1]), ("udp", HASHES[2])):
            with self.subTest(scheme):
                self.live(tracker.uri(scheme), info_hash, scheme)
                self.assertEqual(self.stats(tracker)["peers"], 0)
        self.assertEqual(self.clients.complaints_heard(), [])
        asked = self.stats(tracker)["requests"]
        self.assertEqual([asked[f"{what}_{scheme}"] for what in ("announces", "scrapes")
                          for scheme in ("http", "udp")], [6, 6, 1, 1], asked)
        self.assertEqual((asked["refused"], asked["bad_ids"]), (0, 0), asked)

    def live(self, uri, info_hash, scheme):
        clients, seeder, other = self.clients, f"seeder-{scheme}", f"other-{scheme}"
        clients.make(seeder, uri, info_hash, b"-WW0007-seedseedseed", 7001)
        clients.make(other, uri, info_hash, b"-WW0007-otherotherot", 7002)
        self.assertEqual(clients.announce(seeder, "start", left=0), (1, 0))
        after = len(clients.said)
        self.assertEqual(clients.announce(other, "start", left=9), (1, 1))
        clients.meets(other, 7001, after)
        after = len(clients.said)
        self.assertEqual(clients.announce(other, "complete", left=0, downloaded=9), (2, 0))
        self.assertEqual(clients.announce(seeder, "update", left=0, uploaded=9), (2, 0))
        # Seeders have nothing to say to each other.
        self.assertEqual([one for one in clients.said[after:] if one["event"] == "peer"], [])

        clients.call(seeder, "scrape")
        counts = clients.wait_for("the scrape", client=seeder, event="scrape")["heard"]
        self.assertEqual({name: counts[name] for name in
                          ("infoHash", "complete", "incomplete", "downloaded")},
                         {"infoHash": info_hash.hex(), "complete": 2, "incomplete": 0,
                          "downloaded": 1})
        for name in (other, seeder):
            clients.announce(name, "stop", left=0)

    def test_every_byte_of_hash_and_peer_id_and_every_event_arrives(self):
        upstreams = [Upstream(self, {b"interval": 1800, b"peers": b""}), UdpUpstream(self)]
        file = self.write("forwarders", "".join(f"- {upstream.uri}\n" for upstream in upstreams))
        tracker = Tracker(self, "-f", file, "--set", "first_reply_wait_ms=0")
        wanted = {(info_hash, self.peer_id(info_hash, scheme), b"%d" % port)
                  for info_hash in HASHES for scheme, port in (("http", 7001), ("udp", 7002))}
        for call, event, left in (("start", b"started", 5), ("complete", b"completed", 0),
                                  ("stop", b"stopped", 0)):
            for scheme, port in (("http", 7001), ("udp", 7002)):
                for info_hash in HASHES:
                    name = f"{scheme}-{info_hash.hex()}"
                    if call == "start":
                        self.clients.make(name, tracker.uri(scheme), info_hash,
                                          self.peer_id(info_hash, scheme), port)
                    self.clients.announce(name, call, left=left)
            for upstream in upstreams:
                wait_until(lambda: self.told(upstream, event) == wanted, f"all that {call}")
        self.assertEqual(self.clients.complaints_heard(), [])

    @staticmethod
    def peer_id(info_hash, scheme):
        return info_hash[::-1] if scheme == "http" else bytes(255 - byte for byte in info_hash)

    @staticmethod
    def told(upstream, event):
        return {(told["info_hash"], told["peer_id"], told["port"])
                for told in list(upstream.told) if told.get("event") == event}


if __name__ == "__main__":
    main()
