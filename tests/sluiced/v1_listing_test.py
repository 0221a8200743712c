"""The listings of the native API: jobs, queues and groups, page by page, each once."""
from urllib.parse import quote

from harness import OwnServiceTest, main
from v1 import LANES, V1Test, path_of


class Jobs(V1Test):
    def setUp(self):
        super().setUp()
        self.path = path_of(self.queue) + "/jobs"
        self.client.configure(self.queue, done_retention_ms=3_600_000)
        self.client.enqueue_many(self.queue, [
            {"id": f"{number:02}", "group": f"g{number % 3}", "payload": number,
             "hold": number >= 30, "delay_ms": 60_000 * (number // 20 % 2)}
            for number in range(40)])  # 0 to 19 ready, to 29 scheduled, to 39 held.
        leases = self.client.claim(self.queue, max=12, worker="w")
        self.client.settle_many("ack", [{"queue": self.queue, "token": one["token"],
                                         "result": "r"} for one in leases[:3]])
        for lease in leases[3:5]:
            self.client.fail(lease, dead=True, error="e")
        self.client.change("cancel", self.queue, "05")
        self.lanes = {"done": (0, 3), "dead": (3, 5), "cancelled": (5, 6), "leased": (6, 12),
                      "ready": (12, 20), "scheduled": (20, 30), "held": (30, 40), "waiting": (0, 0)}

    def test_all_jobs_in_the_order_of_their_enqueue(self):
        everything = [f"{number:02}" for number in range(40)]
        for limit in (1, 7, 39, 40, 41, 1000):
            self.assertEqual(self.client.job_ids(self.queue, limit=limit), everything, limit)

    def test_by_lane_and_by_group(self):
        for lane, (begin, end) in self.lanes.items():
            ids = [f"{number:02}" for number in range(begin, end)]
            for limit in (1, 3, 1000):
                found = self.client.job_ids(self.queue, lane=lane, limit=limit)
                self.assertEqual(sorted(found), ids, (lane, limit))
                for group in range(3):
                    found = self.client.job_ids(self.queue, lane=lane, group=f"g{group}",
                                                limit=limit)
                    self.assertEqual(sorted(found), [id for id in ids if int(id) % 3 == group])
        self.assertEqual(self.client.job_ids(self.queue, group="g1", limit=2),
                         [f"{number:02}" for number in range(1, 40, 3)])
        self.assertEqual(self.client.job_ids(self.queue, group="unknown"), [])

    def test_a_listing_shows_what_a_look_does_but_for_payloads_and_histories(self):
        for job in self.client.pages(self.path):
            whole = self.client.job(self.queue, job["id"])
            self.assertEqual(whole["payload"], int(job["id"]))
            self.assertEqual("history" in whole, job["lane"] in ("done", "dead", "cancelled"))
            self.assertEqual(job, {name: value for name, value in whole.items()
                                   if name not in ("payload", "history")})

    def test_members_belong_to_lanes(self):
        for job in self.client.pages(self.path):
            lane = job["lane"]
            self.assertEqual({"claimed_at", "deadline_at"} <= job.keys(), lane == "leased", job)
            self.assertEqual("finished_at" in job, lane in ("done", "dead", "cancelled"), job)
            self.assertEqual("reason" in job, lane == "dead", job)
            self.assertEqual(job.get("result"), "r" if lane == "done" else None, job)

    def test_what_comes_between_two_pages_is_not_missed_and_nothing_comes_twice(self):
        page = self.client.page(self.path, limit=20)
        self.client.enqueue(self.queue, "new")
        self.client.change("cancel", self.queue, "25")
        rest = self.client.job_ids(self.queue, after=page["next"], limit=7)
        self.assertEqual(rest, [f"{number:02}" for number in range(20, 40)] + ["new"])

    def test_cursors_of_others_are_refused(self):
        mine = self.client.page(self.path, limit=1)["next"]
        held = self.client.page(self.path, limit=1, lane="held")["next"]
        for query in (f"lane=held&after={mine}", f"after={held}", "after=x", "after=00",
                      f"after={mine}0", f"after={mine.upper()}x"):
            self.refused("invalid_argument", "GET", f"{self.path}?{query}")

    def test_unknown_lanes_and_long_groups_are_refused(self):
        for query in ("lane=x", "lane=Ready", "lane=ready%20", "group=" + "x" * 257):
            self.refused("invalid_argument", "GET", f"{self.path}?{query}")
        self.client.ok("GET", f"{self.path}?lane=&group=&after=")
        self.client.ok("GET", f"{self.path}?group={quote('x' * 256)}")


class Queues(OwnServiceTest, V1Test):
    def names(self, **query):
        return [queue["name"] for queue in self.client.pages("/v1/queues", **query)]

    def test_queues_come_by_name(self):
        self.assertEqual(self.client.page("/v1/queues"), {"queues": []})
        names = [f"q{number}" for number in range(120)]
        names += ["z z", "z+z", "z%z", "z&z", "z/z", "gr\u00fcn", "\U0001f600"]
        names.sort(key=str.encode)
        for name in reversed(names):
            self.client.configure(name)
        for limit in (1, 7, 126, 127, 128, 1000):
            self.assertEqual(self.names(limit=limit), names, limit)
        self.assertEqual(len(self.client.page("/v1/queues")["queues"]), 100)
        for after, rest in (("q5", names[names.index("q5") + 1:]), ("q5x", [
                name for name in names if name.encode() > b"q5x"]), (names[-1], []), ("", names)):
            self.assertEqual(self.names(after=after), rest, after)

    def test_a_queue_is_listed_as_it_is_shown(self):
        self.client.configure("a", active_max=3, fair=True)
        self.client.fill("b", 3)
        self.client.ok("POST", "/v1/queues/b/pause")
        shown = [self.client.ok("GET", f"/v1/queues/{name}") for name in "ab"]
        self.assertEqual(self.client.pages("/v1/queues"), shown)


class Groups(V1Test):
    def names(self, **query):
        return [group["name"] for group in self.client.pages(path_of(self.queue) + "/groups",
                                                             **query)]

    def test_groups_come_by_name(self):
        self.client.enqueue_many(self.queue, [{"group": f"g{number % 120:03}"}
                                              for number in range(200)] + [{}] * 3)
        names = [f"g{number:03}" for number in range(120)]
        for limit in (1, 7, 119, 120, 121, 1000):
            self.assertEqual(self.names(limit=limit), names, limit)
        self.assertEqual(self.names(after="g100"), names[101:])
        self.assertEqual(len(self.client.page(path_of(self.queue) + "/groups")["groups"]), 100)

    def test_groups_of_a_fair_queue_that_has_jobs_without_a_group(self):
        self.client.configure(self.queue, fair=True)
        self.client.enqueue_many(self.queue, [{}, {"group": "a"}, {"group": "b"}, {"group": "c"}])
        for limit in (1, 2, 3, 4):
            self.assertEqual(self.names(limit=limit), ["a", "b", "c"], limit)

    def test_a_group_is_listed_with_its_limit_and_its_counts(self):
        nothing = dict.fromkeys(LANES, 0)
        self.client.limit_group(self.queue_of("limited", "busy"), "limited", 7)
        self.client.claim_ids(self.queue, max=1)
        self.assertEqual(self.client.pages(path_of(self.queue) + "/groups"), [
            {"name": "busy", "counts": {**nothing, "ready": 1}},
            {"name": "limited", "limit": 7, "counts": {**nothing, "leased": 1}}])
        self.client.ack(self.client.claim_one(self.queue))
        self.client.change("cancel", self.queue, self.client.job_ids(self.queue)[0])
        self.assertEqual(self.client.pages(path_of(self.queue) + "/groups"), [
            {"name": "limited", "limit": 7, "counts": nothing}])
        self.client.limit_group(self.queue, "limited", None)
        self.assertEqual(self.names(), [])

    def queue_of(self, *groups):
        self.client.enqueue_many(self.queue, [{"group": group} for group in groups])
        return self.queue

    def test_groups_need_a_queue(self):
        self.refused("not_found", "GET", path_of(self.queue) + "/groups")
        self.refused("not_found", "PUT", path_of(self.queue) + "/groups/g", {"limit": 1})


if __name__ == "__main__":
    main()
