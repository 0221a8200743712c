# SPDX-License-Identifier: MIT
"""Weeks of an operator's life in seconds: peers come, complete, leave and vanish, forwarders fail,
heal, go and come back, and nothing piles up.
"""
import os
import random
import signal

from harness import LONG, RETRACKER, RetrackerTest, Stopwatch, main
from tracker import (Tracker, UdpPeer, UdpUpstream, Upstream, compact, garbage, reset,
                     wait_until)

SEED = int(os.environ.get("SLUICE_SEED", 20260316))
ROUNDS = 8
SECONDS = 12 * 60 if LONG else 0  # And as many rounds as that takes.
ANNOUNCES = 100  # A forwarder is told of no more in a second.
COMPLETED, STARTED, STOPPED = 1, 2, 3
AT_ONCE = 2  # Announces, and so connections, to one forwarder.
GROWTH_KIB = 3 * 1024

with open(RETRACKER, "rb") as _file:
    _program = _file.read()
    SANITIZED = b"__asan_" in _program or b"__tsan_" in _program  # Memory is mostly theirs.


def known_to(upstream):
    """The peers that an upstream still has, by what it was told."""
    peers = set()
    for told in list(upstream.told):
        one = (told["info_hash"], told["peer_id"])
        if told.get("event") == b"stopped":
            peers.discard(one)
        else:
            peers.add(one)
    return peers


class Soak(RetrackerTest):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        answer = {b"interval": 60, b"peers": compact(("203.0.113.9", 99))}
        self.upstreams = {"steady": Upstream(self, answer), "udp": UdpUpstream(self),
                          "flaky": Upstream(self, answer), "guest": Upstream(self, answer)}
        self.moods = [answer, reset, garbage, {b"failure reason": b"no"}]
        self.list_forwarders(guest=True)
        self.tracker = Tracker(self, "-f", self.path("forwarders"), *(
            part for setting in (
                "age=0.1", "first_reply_wait_ms=20", "snapshot_interval=1",
                f"snapshot_file={self.path('peers')}", f"in_flight_per_upstream={AT_ONCE}",
                # A healthy one is never given up, however slow the machine; no one rests.
                "forward_timeout=600", "forwarder_fail_threshold=0",
                "forwarder_retry_attempts=2", "forwarder_retry_base_ms=10")
            for part in ("--set", setting)))

    def list_forwarders(self, guest):
        self.write("forwarders", "".join(f"- {{name: {name}, uri: '{upstream.uri}'}}\n"
                                         for name, upstream in self.upstreams.items()
                                         if guest or name != "guest"))

    def books(self):
        stats = self.stats(self.tracker)
        self.check_books(stats)
        return stats

    def reload(self, guest):
        self.list_forwarders(guest)
        self.tracker.process.send_signal(signal.SIGHUP)

    def announce(self, udp, torrent, number, event):
        info_hash, peer, port = bytes([torrent]) * 20, b"-xx0001-%012d" % number, 7000 + number
        left = 0 if event == COMPLETED else 1
        if self.chance.random() < 0.3:
            self.tracker.announce(info_hash, peer, port, left=left,
                                  event=("", "completed", "started", "stopped")[event])
        else:
            udp.announce(info_hash, peer, port, event=event, left=left)

    def churn(self, udp, vanish):
        """In the end all leave, or are not heard from any more."""
        here = set()
        for i in range(ANNOUNCES):
            one = (self.chance.randrange(40), self.chance.randrange(20))
            event = self.chance.choice((0, 0, COMPLETED, STARTED, STARTED, STOPPED))
            self.announce(udp, *one, event)
            here.add(one)
            if event == STOPPED:
                here.remove(one)
            if i == ANNOUNCES // 3:
                self.reload(guest=self.chance.random() < 0.5)
            if i % 20 == 0:
                self.books()
        for one in sorted(here) if not vanish else ():
            self.announce(udp, *one, STOPPED)

    def settle(self):
        """All have left, and everybody has heard of it."""
        def quiet():
            stats = self.books()
            return (stats["peers"] == 0 and stats["jobs"]["pending"] == 0 and
                    all(one["state"] == "ok" for one in stats["forwarders"]))
        wait_until(quiet, "all to have left")
        for name in ("steady", "udp", "guest"):
            self.assertEqual(known_to(self.upstreams[name]), set(), name)

    def descriptors(self):
        """What is open: how many sockets, and what else."""
        folder = f"/proc/{self.tracker.process.pid}/fd"
        names = []
        for name in os.listdir(folder):
            try:
                names.append(os.readlink(os.path.join(folder, name)))
            except FileNotFoundError:
                pass  # It is closed by now.
        others = sorted(name for name in names if not name.startswith("socket:"))
        return len(names) - len(others), others

    def check_descriptors(self, sockets, others):
        """Connections to forwarders are kept, a few for each; nothing else is."""
        def is_well():
            now = self.descriptors()
            return now[0] <= sockets + 3 * AT_ONCE and now[1] == others
        try:
            wait_until(is_well, "descriptors")
        except AssertionError:
            self.fail(f"{sockets}, {others} have become {self.descriptors()}")

    def memory_kib(self):
        with open(f"/proc/{self.tracker.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    def rounds(self):
        watch, count = Stopwatch(), 0
        while count < ROUNDS or not watch.reached(SECONDS):
            yield count
            count += 1

    def test_nothing_piles_up(self):
        print(f"SLUICE_SEED={SEED}")
        # Its threads may open theirs after it said that it listens.
        sockets, others, memory = self.descriptors()[0], None, []
        flaky, port = self.upstreams["flaky"], None
        for count in self.rounds():
            if port:
                flaky.resume(port)
            flaky.answer = self.moods[count % len(self.moods)]
            port = flaky.pause() if count % 5 == 4 else None
            udp = UdpPeer(self.tracker.udp)
            try:
                self.churn(udp, vanish=count % ROUNDS == 1)
            finally:
                udp.close()
            self.reload(guest=count % 2 == 0)
            self.settle()
            memory.append(self.memory_kib())
            others = others or self.descriptors()[1]
            self.check_descriptors(sockets, others)
        if port:
            flaky.resume(port)
        stats = self.books()
        print(f"figure retracker.soak_announces {ANNOUNCES * len(memory)}")
        print(f"figure retracker.soak_jobs {stats['jobs']['created']}")
        print(f"figure retracker.soak_memory_kib {memory[0]}..{memory[-1]}")
        for one in stats["forwarders"]:
            if one["name"] == "steady":
                self.assertEqual(one["ok"], len(self.upstreams["steady"].told))
        self.assertGreater(stats["jobs"]["failed"], 0)
        # What it keeps for the next ones it has after a few rounds.
        if not SANITIZED:
            self.assertLess(memory[-1], memory[len(memory) // 3] + GROWTH_KIB, memory)
        self.assertEqual(self.tracker.stop(), 0, self.tracker.said())


if __name__ == "__main__":
    main()
