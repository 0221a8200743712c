# SPDX-License-Identifier: MIT
"""The page of statistics in a real browser: each forwarder with its state, why, and when it is
tried next; and the same numbers as in JSON, text and metrics.

With PICTURES=FOLDER it leaves a picture of each page there.
"""
import os
import re
import shutil
import signal
import socket

from harness import RetrackerTest, main
from node import Script, need
from prometheus import Metrics
from tracker import Tracker, UdpPeer, Upstream, wait_until

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "browser.js")
HASH = bytes(range(20))
# A browser must not take what others say for anything but text.
FAREWELL = "go away <img src=http://192.0.2.1/x onerror=alert(1)>"
NAME, STATE, SENT, OK, REFUSED, FAILED, NOW, _, WHY, NEXT = range(10)


def setUpModule():
    if not shutil.which("chromium"):
        raise AssertionError("missing: chromium. Run tools/install --test")
    need("playwright-core")


def peer_id(number):
    return b"-qB4520-%012d" % number


def row_of(one):
    """What the page has to show of a forwarder in the JSON, but for times."""
    return [one["name"], one["state"], *(str(count) for count in (
        one["sent"], one["ok"], one["refused"] + one["busy"], one["unreachable"],
        one["in_flight"])), one["reason"]]


def lines_of(stats):
    asked, queue, jobs = stats["requests"], stats["queue"], stats["jobs"]
    return [
        f"Torrents {stats['torrents']} · peers {stats['peers']} · seeders {stats['seeders']}",
        f"Announces {asked['announces_http']} over HTTP, {asked['announces_udp']} over UDP"
        f" · refused {asked['refused']}",
        f"Queue {queue['depth']} of {queue['capacity']} · in flight {queue['running']}"
        f" · scheduled {queue['scheduled']} · succeeded {jobs['succeeded']}"
        f" · failed {jobs['failed']}"]


def steady(row):
    return row[:NOW + 1] + [row[WHY]]


class Page(RetrackerTest):
    def setUp(self):
        super().setUp()
        self.env["TMPDIR"] = self.home
        self.fine = Upstream(self)
        self.never = Upstream(self, {b"failure reason": FAREWELL.encode(), b"retry in": b"never"})
        self.busy = Upstream(self)
        self.busy.status = 429
        # Nobody else gets the port, and nobody listens.
        nobody = socket.socket()
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))
        uris = {"fine": self.fine.uri, "never": self.never.uri, "busy": self.busy.uri,
                "a-name-that-is-rather-long.tracker.example.org:6969":
                f"http://127.0.0.1:{nobody.getsockname()[1]}/announce"}
        file = self.write("forwarders", "".join(f"- {{name: '{name}', uri: '{uri}'}}\n"
                                                for name, uri in uris.items()))
        self.tracker = Tracker(self, "-f", file, *(
            word for setting in ("prometheus_enabled=true", "first_reply_wait_ms=0",
                                 "forwarder_fail_threshold=1", "forwarder_suspend_seconds=3000")
            for word in ("--set", setting)))
        self.tracker.announce(HASH, peer_id(1), 7001)
        wait_until(lambda: [one["state"] for one in self.stats(self.tracker)["forwarders"]] ==
                   ["ok", "disabled", "suspended", "open"], "each to be in its state")
        self.browser = Script(self, SCRIPT, shutil.which("chromium"))

    def open(self, width, scheme):
        self.browser.ask(do="open", url=f"http://127.0.0.1:{self.tracker.http}/stats",
                         width=width, scheme=scheme)

    def picture(self, name):
        if folder := os.environ.get("PICTURES"):
            self.browser.ask(do="picture", file=os.path.join(folder, name + ".png"))

    def read(self):
        return self.browser.ask(do="read")

    def agreed(self):
        """Statistics and page of one moment: it comes, since the page keeps itself fresh."""
        both = []

        def agree():
            both[:] = [self.stats(self.tracker), self.read()]
            stats, page = both
            return ([row_of(one) for one in stats["forwarders"]] == list(map(steady, page["rows"]))
                    and lines_of(stats) == page["lines"])
        try:
            wait_until(agree, "page and JSON to agree", pause=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}: {both}") from None
        return both

    def check_calm(self, page):
        """Nobody asked but the tracker, and no complaints."""
        for url in page["asked"]:
            self.assertRegex(url, rf"^(http://127\.0\.0\.1:{self.tracker.http}/|data:,)")
        self.assertEqual((page["console"], page["note"], page["loads"]), ([], "", 1))

    def test_it_shows_state_reason_and_next_try_and_keeps_itself_fresh(self):
        self.open(1200, "light")
        stats, page = self.agreed()
        fine, never, busy, dead = page["rows"]
        self.assertEqual((fine[STATE], fine[OK], fine[WHY], fine[NEXT]), ("ok", "1", "", ""))
        self.assertEqual((never[STATE], never[REFUSED], never[WHY], never[NEXT]),
                         ("disabled", "1", FAREWELL, "after a reload"))
        self.assertEqual((busy[STATE], busy[REFUSED], busy[WHY]),
                         ("suspended", "1", "busy: status 429"))
        self.assertRegex(busy[NEXT], r"^in (50|[1-4]\d) min$")
        self.assertEqual((dead[STATE], dead[OK]), ("open", "0"))
        self.assertIn("refused", dead[WHY].lower())
        # Not while it is being tried.
        wait_until(lambda: re.match(r"in \d+ (s|min)$", self.read()["rows"][3][NEXT]),
                   "the next try of the dead one")
        self.assertGreaterEqual(int(dead[FAILED]), 1)
        self.assertEqual(page["hashes"], [[HASH.hex(), "0", "1", "0", "1"]])
        self.assertEqual(page["clients"], [["qBittorrent 4.5.2", "1"]])
        self.check_calm(page)
        self.picture("wide-light")

        # From now on it is the page that has to notice.
        self.never.answer = self.fine.answer
        self.tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.stats(self.tracker)["forwarders"][1]["ok"] == 1, "the reload")
        udp = UdpPeer(self.tracker.udp)
        self.addCleanup(udp.close)
        udp.announce(HASH, peer_id(2), 7002, left=0)
        wait_until(lambda: [one["ok"] for one in self.stats(self.tracker)["forwarders"]][:2] ==
                   [2, 2], "both to know both peers")
        stats, page = self.agreed()
        self.assertEqual(page["rows"][1][STATE], "ok")
        self.assertEqual(page["lines"][0], "Torrents 1 · peers 2 · seeders 1")
        self.check_calm(page)

        self.tracker.kill()
        wait_until(lambda: self.read()["note"].startswith("It does not answer"), "the note")
        self.assertEqual(len(self.read()["rows"]), 4)

    def test_it_fits_a_telephone_in_the_dark(self):
        self.open(400, "dark")
        _, page = self.agreed()
        self.check_calm(page)
        self.picture("narrow-dark")
        self.assertLessEqual(page["pageWidth"], 400)
        self.assertEqual(page["outside"], [])
        for row in page["rows"]:
            for text in (row[NAME], row[STATE], row[WHY]):
                self.assertIn(text, page["visible"])
        self.assertIn("after a reload", page["visible"])
        self.assertLess(sum(self.color(page["background"])), 3 * 64, page["background"])
        for color in page["colors"]:
            self.assertGreater(max(self.color(color)), 180, page["colors"])
        self.open(400, "light")
        self.assertGreater(sum(self.color(self.agreed()[1]["background"])), 3 * 192)
        self.picture("narrow-light")

    @staticmethod
    def color(text):
        return [int(part) for part in re.findall(r"\d+", text)[:3]]

    def test_text_and_metrics_have_the_same_numbers(self):
        self.open(1200, "dark")

        def same():
            """Whether nothing has happened meanwhile, with all that was shown."""
            before, page = self.agreed()
            text = self.tracker.get("/stats").decode()
            metrics = Metrics(self.tracker.get("/metrics").decode())
            after = self.stats(self.tracker)
            if list(map(row_of, before["forwarders"])) != list(map(row_of, after["forwarders"])):
                return None
            return page, text, metrics
        page, text, metrics = wait_until(same, "a quiet moment")
        self.picture("wide-dark")
        lines = text[text.index("FORWARDER"):].splitlines()[1:]
        for row, line in zip(page["rows"], lines):
            name = row[NAME]
            told = re.match(r"(\S+) +(\S+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +\d+ +?(.*)", line)
            self.assertEqual(list(told.groups()[:NOW + 1]), row[:NOW + 1])
            self.assertIn(row[WHY], told[8])
            if row[STATE] != "open":  # That one is tried now and then, and says nothing meanwhile.
                self.assertEqual("(next try in " in told[8], row[NEXT].startswith("in "), line)
            self.assertEqual(metrics.get("retracker_forwarder_state", name=name, state=row[STATE]),
                             1)
            self.assertEqual(metrics.get("retracker_forwarder_sent_total", name=name),
                             int(row[SENT]))
            self.assertEqual(metrics.get("retracker_forwarder_in_flight", name=name),
                             int(row[NOW]))
            ended = {status: metrics.get("forwarder_status", name=name, status=status)
                     for status in ("ok", "refused", "busy", "unreachable")}
            self.assertEqual((ended["ok"], ended["refused"] + ended["busy"], ended["unreachable"]),
                             (int(row[OK]), int(row[REFUSED]), int(row[FAILED])))
        wait_until(lambda: re.search(r" open .* \(next try in \d+ s\)",
                                     self.tracker.get("/stats").decode()), "its next try as text")
        self.assertIn("torrents 1   peers 1   seeders 0", text)
        self.assertEqual(metrics.get("retracker_torrents"), 1)
        self.assertEqual(metrics.get("retracker_peers"), 1)


if __name__ == "__main__":
    main()
