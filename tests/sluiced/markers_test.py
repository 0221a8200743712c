"""Markers of active jobs, and the samples of teams and crawls."""
from harness import OwnServiceTest, SluicedTest, chance, main, wait_until

NAMES = ("a", "aa", "b", "B", "~", " ", "a b", "a/b", "a\0", "a\0b", "\u00e9", "\uffff",
         "\U0001f600", "Z" * 256, "zz", "1", "10", "2", "\x7f", "\u0080")


class Markers(SluicedTest):
    def test_a_marker_that_is_pushed_again_is_counted_once(self):
        for _ in range(3):
            for name in "ab":
                self.client.mark(self.team, name)
                self.client.mark_crawl(self.crawl, name)
        self.assertEqual(self.client.active(self.team), (2, ["a", "b"]))
        self.assertEqual(self.client.crawl_active(self.crawl), ["a", "b"])
        self.client.delete("/active/remove", {"teamId": self.team, "jobId": "a"})
        self.client.delete("/active/crawl/remove", {"crawlId": self.crawl, "jobId": "b"})
        self.assertEqual(self.client.active(self.team), (1, ["b"]))
        self.assertEqual(self.client.crawl_active(self.crawl), ["a"])

    def test_the_last_push_decides_when_it_expires(self):
        for name, first, second in (("longer", 1, 600_000), ("shorter", 600_000, 1),
                                    ("ended", 600_000, 0)):
            for timeout in (first, second):
                self.client.mark(self.team, name, timeout)
                self.client.mark_crawl(self.crawl, name, timeout)
        wait_until(lambda: self.client.active(self.team) == (1, ["longer"]), "the others to expire")
        wait_until(lambda: self.client.crawl_active(self.crawl) == ["longer"], "them here as well")

    def test_an_expired_marker_is_neither_counted_nor_listed(self):
        for timeout in (0, -1, -600_000):
            self.client.mark(self.team, f"j{timeout}", timeout)
            self.client.mark_crawl(self.crawl, f"j{timeout}", timeout)
            self.assertEqual(self.client.active(self.team), (0, []))
            self.assertEqual(self.client.crawl_active(self.crawl), [])

    def test_a_marker_expires_at_its_time(self):
        self.client.mark(self.team, "short", 100)
        self.client.mark(self.team, "long", 600_000)
        wait_until(lambda: self.client.active(self.team) == (1, ["long"]), "the marker to expire")
        self.client.mark(self.team, "short", 600_000)
        self.assertEqual(self.client.active(self.team), (2, ["long", "short"]))

    def test_markers_of_teams_and_crawls_are_separate(self):
        name = self.named("both")
        self.client.mark(name, "of the team")
        self.client.mark_crawl(name, "of the crawl")
        self.assertEqual(self.client.active(name), (1, ["of the team"]))
        self.assertEqual(self.client.crawl_active(name), ["of the crawl"])
        self.client.delete("/active/crawl/remove", {"crawlId": name, "jobId": "of the team"})
        self.assertEqual(self.client.active(name), (1, ["of the team"]))

    def test_markers_and_the_queue_know_nothing_of_each_other(self):
        self.client.push(self.team, "j", crawl=self.crawl)
        self.client.mark(self.team, "j")
        claim = self.client.pop(self.team)
        self.assertEqual((self.client.count(self.team), self.client.active(self.team)[0]), (1, 1))
        self.assertTrue(self.client.complete(claim))
        self.assertEqual((self.client.count(self.team), self.client.active(self.team)[0]), (0, 1))
        self.assertEqual(self.client.crawl_active(self.crawl), [])

    def test_removing_what_is_not_there_is_fine(self):
        for _ in range(2):
            self.assertEqual(self.client.delete(
                "/active/remove", {"teamId": self.team, "jobId": "j"}), {"success": True})
        self.assertEqual(self.client.active(self.team), (0, []))


class Cleanup(OwnServiceTest):
    def test_expired_markers_go_and_live_ones_stay(self):
        for number in range(30):
            timeout = 1 if number % 3 else 600_000
            self.client.mark(self.team, f"j{number}", timeout)
            self.client.mark_crawl(self.crawl, f"j{number}", timeout)
        live = sorted(f"j{number}" for number in range(0, 30, 3))
        wait_until(lambda: self.client.active(self.team) == (10, live), "markers to expire")
        wait_until(lambda: self.client.crawl_active(self.crawl) == live, "those of the crawl, too")
        # The service may have been quicker, with some of them or with all.
        self.assertLessEqual(self.client.post("/cleanup/expired-active-jobs")["cleaned"], 40)
        self.assertEqual(self.client.post("/cleanup/expired-active-jobs"), {"cleaned": 0})
        self.assertEqual(self.client.active(self.team), (10, live))
        self.assertEqual(self.client.reconcile(self.team, self.crawl), [0] * 4)

    def test_expired_jobs_go_and_others_stay(self):
        for number in range(30):
            self.client.push(self.team, f"j{number}", timeout=1 if number % 3 else 600_000)
        live = [f"j{number}" for number in range(0, 30, 3)]
        wait_until(lambda: self.client.ids(self.team) == live, "jobs to expire")
        self.assertLessEqual(self.client.post("/cleanup/expired-jobs")["cleaned"], 20)
        self.assertEqual(self.client.post("/cleanup/expired-jobs"), {"cleaned": 0})
        self.assertEqual(self.client.count(self.team), 10)


class Samples(OwnServiceTest):
    def walk(self, what, limit):
        """All ids, by as many requests as it takes."""
        found, after = [], ""
        while True:
            ids = self.client.json("GET", f"/sample/{what}?limit={limit}{after}")["ids"]
            self.assertLessEqual(len(ids), limit)
            if not ids:
                return found
            found += ids
            after = "&after=" + "".join(f"%{byte:02x}" for byte in ids[-1].encode())

    def test_ids_come_in_the_order_of_their_bytes(self):
        shuffled = list(NAMES)
        chance("samples").shuffle(shuffled)
        for name in shuffled:
            self.client.push(name, "j", crawl=name)
        expected = sorted(NAMES, key=str.encode)
        for what in ("teams", "crawls"):
            for limit in (1, 3, len(NAMES), 50):
                self.assertEqual(self.walk(what, limit), expected)

    def test_a_cursor_need_not_exist(self):
        for name in ("b", "d", "f"):
            self.client.push(name, "j")
        for after, expected in (("a", ["b", "d", "f"]), ("b", ["d", "f"]), ("bb", ["d", "f"]),
                                ("e", ["f"]), ("f", []), ("g", [])):
            self.assertEqual(self.client.get(f"/sample/teams?after={after}")["ids"], expected)

    def test_a_sample_has_a_thousand_ids_at_most(self):
        for number in range(1005):
            self.client.push(f"t{number:04}", "j", crawl=f"c{number:04}")
        for what, letter in (("teams", "t"), ("crawls", "c")):
            names = [f"{letter}{number:04}" for number in range(1005)]
            for limit, size in ((999, 999), (1000, 1000), (1001, 1000), (4294967295, 1000)):
                ids = self.client.get(f"/sample/{what}?limit={limit}")["ids"]
                self.assertEqual(ids, names[:size])

    def test_teams_that_had_jobs_are_listed_and_markers_count_for_nothing(self):
        self.client.mark("only markers", "j")
        self.client.mark_crawl("only markers", "j")
        self.client.push("was here", "j")
        self.assertTrue(self.client.complete(self.client.pop("was here")))
        self.client.push("is here", "j")
        self.assertEqual(self.client.get("/sample/teams")["ids"], ["is here", "was here"])
        self.assertEqual(self.client.get("/sample/crawls")["ids"], [])

    def test_a_crawl_is_listed_while_it_has_jobs(self):
        for name in ("a", "b"):
            for team in ("t", "u"):
                self.client.push(team, f"{name} in {team}", crawl=name)
        claims = [self.client.pop(team) for team in ("t", "u")]
        self.assertEqual(self.client.get("/sample/crawls")["ids"], ["a", "b"])
        self.assertTrue(self.client.complete(claims[0]))
        self.client.post("/cleanup/stale-counters")
        self.assertEqual(self.client.get("/sample/crawls")["ids"], ["a", "b"])
        self.assertTrue(self.client.complete(claims[1]))
        self.assertLessEqual(self.client.post("/cleanup/stale-counters")["cleaned"], 1)
        self.assertEqual(self.client.get("/sample/crawls")["ids"], ["b"])
        self.assertEqual(self.client.post("/cleanup/stale-counters"), {"cleaned": 0})
        self.client.push("t", "again", crawl="a")
        self.assertEqual(self.client.get("/sample/crawls")["ids"], ["a", "b"])


if __name__ == "__main__":
    main()
