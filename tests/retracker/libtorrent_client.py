# SPDX-License-Identifier: MIT
"""One torrent in libtorrent, for as long as standard input is open. Debian's binding belongs to
Debian's own python3, which need not be the one that runs the tests.

  libtorrent_client.py TORRENT FOLDER [seed]

Prints a line for each announce ("announce EVENT") and when all is there ("finished"); what begins
with "#" is for people.
"""
import os
import select
import sys

import libtorrent

EVENTS = ["none", "completed", "started", "stopped"]
SETTINGS = {
    "listen_interfaces": "127.0.0.1:0",
    "enable_dht": False,
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "allow_multiple_connections_per_ip": True,
    "announce_to_all_trackers": True,
    "announce_to_all_tiers": True,
    "alert_mask": libtorrent.alert.category_t.tracker_notification
    | libtorrent.alert.category_t.status_notification
    | libtorrent.alert.category_t.error_notification,
}


class Client:
    def __init__(self, torrent, folder, seeds):
        self.unanswered = 0
        self.stopped = False
        self.session = libtorrent.session(SETTINGS)
        self.news, told = os.pipe()
        self.session.set_alert_fd(told)
        parameters = libtorrent.add_torrent_params()
        parameters.ti = libtorrent.torrent_info(torrent)
        parameters.save_path = folder
        if seeds:
            parameters.flags |= libtorrent.torrent_flags.seed_mode
        self.torrent = self.session.add_torrent(parameters)

    def run(self, until):
        """`until` is asked when all that has happened is known."""
        self.show_all()
        while not until():
            # The alert that wait_for_alert() returns may be moved while the binding looks at it.
            if select.select([self.news], [], [], 0.05)[0]:
                os.read(self.news, 4096)
            self.show_all()

    def show_all(self):
        for alert in self.session.pop_alerts():
            self.show(alert)

    def show(self, alert):
        print("#", alert.message(), flush=True)
        if isinstance(alert, libtorrent.tracker_announce_alert):
            event = EVENTS[int(alert.event)]
            self.unanswered += 1
            self.stopped |= event == "stopped"
            print("announce", event, flush=True)
        elif isinstance(alert, (libtorrent.tracker_reply_alert, libtorrent.tracker_error_alert)):
            self.unanswered -= 1
        elif isinstance(alert, libtorrent.torrent_finished_alert):
            print("finished", flush=True)

    def leave(self):
        """A session that just ends tells its trackers over HTTP only, and a torrent that pauses
        tells none that owes it an answer."""
        self.run(until=lambda: not self.unanswered)
        self.torrent.unset_flags(libtorrent.torrent_flags.auto_managed)
        self.torrent.pause()
        self.run(until=lambda: self.stopped and not self.unanswered)


def main():
    client = Client(sys.argv[1], sys.argv[2], seeds="seed" in sys.argv[3:])
    client.run(until=lambda: select.select([sys.stdin], [], [], 0)[0])
    client.leave()


if __name__ == "__main__":
    main()
