# SPDX-License-Identifier: MIT
"""A tracker by others: Debian's opentracker, over HTTP and UDP. It serves only what it is told."""
import os
import urllib.parse
import urllib.request

from clients import Program
from harness import PATIENCE, free_port
from tracker import UdpPeer, decode, peers_of

PROBE = b"has it read the list"
OBSERVER = 7


class OpenTracker(Program):
    def __init__(self, case, hashes):
        # As root it moves into this folder and becomes nobody.
        folder = case.path("opentracker")
        os.mkdir(folder)
        case.write("opentracker/list", "".join(one.hex() + "\n" for one in [*hashes, PROBE]))
        os.chmod(folder, 0o755)
        os.chmod(case.path("opentracker/list"), 0o644)
        self.port = free_port(case)
        config = case.write("opentracker.conf", f"listen.tcp 127.0.0.1:{self.port}\n"
                            f"listen.udp 127.0.0.1:{self.port}\naccess.whitelist list\n"
                            f"tracker.rootdir {folder}\ntracker.user nobody\n")
        super().__init__(case, "opentracker", ["opentracker", "-f", config])
        self.wait_while_running(self.ready, "to read its list")

    def ready(self):
        try:
            return b"peers" in self.look(PROBE)
        except OSError:
            return False

    def uri(self, scheme):
        return f"{scheme}://127.0.0.1:{self.port}/announce"

    def get(self, target):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{target}",
                                    timeout=PATIENCE) as answer:
            return decode(answer.read())[0]

    def look(self, info_hash):
        return self.get("/announce?" + urllib.parse.urlencode(
            {"info_hash": info_hash, "peer_id": b"-ob0001-observer....", "port": OBSERVER,
             "left": 1, "numwant": 100}, quote_via=urllib.parse.quote))

    def ports(self, info_hash):
        """Of all peers that it knows, but for who asks."""
        return {port for _, port in peers_of(self.look(info_hash)[b"peers"])} - {OBSERVER}

    def seeders(self, info_hash):
        peer = UdpPeer(self.port)
        try:
            return peer.scrape(info_hash)[0]
        finally:
            peer.close()
