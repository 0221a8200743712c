"""The queues of the native API: settings, limits, counts, pause, removal."""
import json

from harness import OwnServiceTest, in_threads, main, wait_until
from raw import Raw, request
from v1 import LANES, WEEK_MS, V1Test, held, path_of

DEFAULTS = {"priority": 5, "lease_ms": 60_000, "lapses_max": 5, "done_retention_ms": 0,
            "dead_retention_ms": None, "active_max": None, "group_max": None, "backlog_max": None,
            "rate": None, "labels": [{"name": "high", "priority": 0},
                                     {"name": "normal", "priority": 5},
                                     {"name": "low", "priority": 10}],
            "shards": 1, "fair": False, "events": True,
            "retry": {"attempts_max": 3, "base_ms": 2000, "factor": 2.0, "cap_ms": 300_000,
                      "jitter": 0.0}}
OTHERS = {"priority": -3, "lease_ms": WEEK_MS, "lapses_max": 1, "done_retention_ms": 1000,
          "dead_retention_ms": 0, "active_max": 0, "group_max": 4, "backlog_max": 2**63 - 1,
          "rate": {"jobs": 7, "per_ms": 60_000, "burst": 3},
          "labels": [{"name": "urgent", "priority": -2**31}],
          "shards": 256, "fair": True, "events": False,
          "retry": {"attempts_max": 1, "base_ms": 0, "factor": 1.5, "cap_ms": 1, "jitter": 1.0}}


class Settings(V1Test):
    def test_a_new_queue_has_the_defaults(self):
        self.refused("not_found", "GET", path_of(self.queue))
        queue = self.client.ok("PUT", path_of(self.queue), {})
        self.assertEqual(queue["config"], DEFAULTS)
        self.assertEqual((queue["name"], queue["paused"], queue["counts"]),
                         (self.queue, False, dict.fromkeys(LANES, 0)))
        self.assertEqual(self.client.ok("GET", path_of(self.queue)), queue)
        other = self.named("other")
        self.client.enqueue(other)
        self.assertEqual(self.client.ok("GET", path_of(other))["config"], DEFAULTS)

    def test_what_is_not_named_stays(self):
        expected = dict(DEFAULTS)
        for name, value in OTHERS.items():
            expected[name] = value
            self.assertEqual(self.client.configure(self.queue, **{name: value}), expected, name)
        self.assertEqual(self.client.configure(self.queue), OTHERS)
        for name, value in DEFAULTS["retry"].items():
            expected["retry"] = {**expected["retry"], name: value}
            self.assertEqual(self.client.configure(self.queue, retry={name: value}), expected, name)

    def test_null_takes_limits_away_and_leaves_the_rest(self):
        limits = {"active_max", "group_max", "backlog_max", "dead_retention_ms", "rate"}
        self.client.configure(self.queue, **OTHERS)
        for name in OTHERS:
            config = self.client.configure(self.queue, **{name: None})
            self.assertEqual(config[name], None if name in limits else OTHERS[name], name)
        config = self.client.configure(self.queue, retry=dict.fromkeys(OTHERS["retry"]))
        self.assertEqual(config["retry"], OTHERS["retry"])

    def test_a_refused_change_changes_nothing(self):
        self.client.configure(self.queue, lease_ms=1000)
        for body in ({"priority": 1, "lease_ms": 0}, {"priority": 1, "shards": 257},
                     {"priority": 1, "retry": {"factor": 0.5}}, {"priority": 1, "retry": []},
                     {"priority": 1, "active_max": 10_001}):
            self.refused("invalid_argument", "PUT", path_of(self.queue), body)
        self.assertEqual(self.client.configure(self.queue), {**DEFAULTS, "lease_ms": 1000})
        self.refused("invalid_argument", "PUT", path_of(self.named("other")), {"lease_ms": 0})
        self.refused("not_found", "GET", path_of(self.named("other")))

    def test_changes_at_the_same_time_do_not_undo_each_other(self):
        members = ("priority", "lease_ms", "lapses_max", "backlog_max")
        connections = [Raw(self) for _ in members]
        # All of them are sent before any answer is read, so that they meet.
        for connection, name in zip(connections, members):
            connection.send(b"".join(request("PUT", path_of(self.queue), {name: value})
                                     for value in range(1, 501)))
        for connection, name in zip(connections, members):
            answers = [json.loads(connection.answer().body)["config"][name] for _ in range(500)]
            self.assertEqual(answers, list(range(1, 501)), name)

    def test_the_shape_changes_only_without_unfinished_jobs(self):
        lease = self.leased()
        for change in ({"shards": 2}, {"fair": True}):
            self.refused("conflict", "PUT", path_of(self.queue), change)
        self.client.configure(self.queue, shards=1, fair=False, priority=1)
        self.client.ack(lease)
        config = self.client.configure(self.queue, shards=2, fair=True)
        self.assertEqual((config["shards"], config["fair"], config["priority"]), (2, True, 1))
        self.client.fill(self.queue, 50)
        ids = []
        while leases := self.client.claim(self.queue, max=7):
            ids += [one["id"] for one in leases]
        self.assertEqual(sorted(map(int, ids)), list(range(50)))

    def test_settings_take_effect(self):
        self.client.configure(self.queue, priority=3, lease_ms=5000, done_retention_ms=60_000,
                              retry={"attempts_max": 1})
        self.client.fill(self.queue, 2)
        lease = self.client.claim_one(self.queue)
        job = self.client.job(self.queue, "0")
        self.assertEqual((lease["priority"], job["deadline_at"] - job["claimed_at"]), (3, 5000))
        self.client.ack(lease)
        self.client.fail(self.client.claim_one(self.queue))
        self.assertEqual(self.client.counts(self.queue), {"done": 1, "dead": 1})


class Limits(V1Test):
    def claim_all(self, **members):
        """What the limits let through."""
        return self.client.claim(self.queue, max=1000, **members)

    def test_the_active_jobs_of_a_queue(self):
        self.client.configure(self.queue, active_max=3)
        self.client.fill(self.queue, 10)
        leases = self.claim_all()
        self.assertEqual(([one["id"] for one in leases], self.claim_all()), (["0", "1", "2"], []))
        for verb, lease in zip(("ack", "release", "fail"), leases):
            self.client.settle(verb, lease)
            self.assertEqual(len(self.claim_all()), 1, verb)
        self.client.configure(self.queue, active_max=1)
        self.client.change("cancel", self.queue, self.client.job_ids(self.queue, lane="leased")[0])
        self.assertEqual(self.claim_all(), [])
        self.client.configure(self.queue, active_max=4)
        self.assertEqual(len(self.claim_all()), 2)
        self.client.configure(self.queue, active_max=0)
        self.assertEqual(self.claim_all(), [])
        self.client.configure(self.queue, active_max=None)
        self.assertEqual(len(self.claim_all()), 10 - 1 - 1 - 1 - 4)

    def test_the_active_jobs_of_each_group(self):
        self.client.configure(self.queue, group_max=2)
        self.client.enqueue_many(self.queue, [{"group": "ab"[number % 2]} for number in range(10)]
                                 + [{}] * 4)
        leases = self.claim_all()
        groups = [lease.get("group") for lease in leases]
        self.assertEqual([groups.count(name) for name in ("a", "b", None)], [2, 2, 4])
        self.assertEqual(self.claim_all(), [])
        self.client.ack(next(lease for lease in leases if lease.get("group") == "a"))
        self.assertEqual([lease["group"] for lease in self.claim_all()], ["a"])
        self.client.configure(self.queue, group_max=3)
        more = []
        wait_until(lambda: more.extend(self.claim_all()) or len(more) == 2, "the raised limit")
        self.assertEqual(sorted(lease["group"] for lease in more), ["a", "b"])
        self.client.configure(self.queue, group_max=0)
        self.assertEqual(self.claim_all(), [])

    def test_the_limit_of_one_group(self):
        self.client.configure(self.queue, group_max=1)
        self.client.limit_group(self.queue, "a", 3)
        self.client.limit_group(self.queue, "c", 0)
        self.client.enqueue_many(self.queue, [{"group": "abc"[number % 3]} for number in range(15)])
        groups = [lease["group"] for lease in self.claim_all()]
        self.assertEqual(sorted(groups), ["a", "a", "a", "b"])
        self.client.limit_group(self.queue, "c", 2)
        self.assertEqual([lease["group"] for lease in self.claim_all()], ["c", "c"])
        self.client.limit_group(self.queue, "a", None)
        self.client.limit_group(self.queue, "b", 2)
        self.assertEqual([lease["group"] for lease in self.claim_all()], ["b"])
        self.client.ok("PUT", path_of(self.queue) + "/groups/b", {})
        group = self.client.pages(path_of(self.queue) + "/groups")[1]
        self.assertEqual((group["name"], "limit" in group), ("b", False))

    def test_workers_at_once_never_pass_the_limits(self):
        self.client.configure(self.queue, active_max=5, group_max=2)
        self.client.enqueue_many(self.queue, [{"group": f"g{number % 4}"} for number in range(400)])
        seen = []

        def work(index):
            client = self.new_client()
            if index == 0:
                while self.client.counts(self.queue):
                    jobs = self.client.page(path_of(self.queue) + "/jobs", lane="leased")["jobs"]
                    groups = [job["group"] for job in jobs]
                    seen.append((len(groups), max(map(groups.count, groups), default=0)))
                return
            while client.counts(self.queue):
                leases = client.claim(self.queue, max=index)
                client.settle_many("ack", [held(lease) for lease in leases]) if leases else None

        in_threads(5, work)
        self.assertLessEqual(max(total for total, _ in seen), 5)
        self.assertLessEqual(max(most for _, most in seen), 2)

    def test_the_backlog(self):
        path = path_of(self.queue) + "/jobs"
        self.client.configure(self.queue, backlog_max=3)
        self.client.enqueue(self.queue, "ready")
        self.client.enqueue(self.queue, "held", hold=True)
        self.client.enqueue(self.queue, "scheduled", delay_ms=60_000)
        message = self.refused("limit_exceeded", "POST", path, {})
        self.assertIn("wait until some are done", message)
        self.refused("already_exists", "POST", path, {"id": "held"})
        results = self.client.enqueue_many(self.queue, [{}, {}])
        self.assertEqual([one["error"]["code"] for one in results], ["limit_exceeded"] * 2)
        lease = self.client.claim_one(self.queue)  # What is leased is no backlog.
        results = self.client.enqueue_many(self.queue, [{"id": "new"}, {}])
        self.assertEqual([one.get("id") or one["error"]["code"] for one in results],
                         ["new", "limit_exceeded"])
        self.client.release(lease)  # What was there may always come back.
        self.assertEqual(self.client.counts(self.queue), {"ready": 2, "held": 1, "scheduled": 1})
        lease = self.client.claim_one(self.queue)
        self.refused_settle("limit_exceeded", "ack", lease, children=[{}])
        self.client.configure(self.queue, backlog_max=None)
        self.client.ack(lease, children=[{}])

    def test_enqueues_at_once_never_pass_the_backlog(self):
        self.client.configure(self.queue, backlog_max=50)

        def push(index):
            client = self.new_client()
            answers = [client.call("POST", path_of(self.queue) + "/jobs", {}) for _ in range(30)]
            return sum(answer.status == 201 for answer in answers)

        self.assertEqual(sum(in_threads(4, push)), 50)
        self.assertEqual(self.client.counts(self.queue), {"ready": 50})


class Pause(V1Test):
    def test_a_paused_queue_hands_out_nothing_and_everything_else_goes_on(self):
        self.client.fill(self.queue, 2)
        lease = self.client.claim_one(self.queue)
        for _ in range(2):
            self.assertEqual(self.client.ok("POST", path_of(self.queue) + "/pause"), {})
        self.assertTrue(self.client.ok("GET", path_of(self.queue))["paused"])
        self.client.enqueue(self.queue, "new")
        self.assertEqual(self.client.claim(self.queue, wait_ms=50), [])
        other = self.named("other")
        self.client.enqueue(other, "of the other")
        self.assertEqual(self.client.claim_ids(self.queue, other), ["of the other"])
        self.client.ack(lease)
        self.client.configure(self.queue, priority=1)
        for _ in range(2):
            self.assertEqual(self.client.ok("POST", path_of(self.queue) + "/resume"), {})
        self.assertFalse(self.client.ok("GET", path_of(self.queue))["paused"])
        self.assertEqual(self.client.claim_ids(self.queue), ["1", "new"])

    def test_what_does_not_exist_cannot_be_paused(self):
        for verb in ("pause", "resume"):
            self.refused("not_found", "POST", f"{path_of(self.queue)}/{verb}")


class Removal(V1Test):
    def test_a_queue_with_jobs_stays(self):
        path = path_of(self.queue)
        self.client.configure(self.queue, done_retention_ms=60_000)
        self.client.enqueue(self.queue, "j", hold=True)
        self.refused("conflict", "DELETE", path)
        self.client.change("unhold", self.queue, "j")
        self.refused("conflict", "DELETE", path)
        lease = self.client.claim_one(self.queue)
        self.refused("conflict", "DELETE", path)
        self.client.ack(lease)
        self.refused("conflict", "DELETE", path)
        self.client.ok("DELETE", path_of(self.queue, "j"))
        self.assertEqual(self.client.ok("DELETE", path), {})
        self.refused("not_found", "DELETE", path)
        self.refused("not_found", "GET", path)

    def test_nothing_of_it_comes_back(self):
        self.client.configure(self.queue, active_max=0, priority=1)
        self.client.limit_group(self.queue, "g", 0)
        self.client.ok("POST", path_of(self.queue) + "/pause")
        self.client.enqueue(self.queue, "j", key="k")
        self.client.change("cancel", self.queue, "j")
        self.client.ok("DELETE", path_of(self.queue))
        self.client.enqueue(self.queue, "another", key="k", group="g")
        queue = self.client.ok("GET", path_of(self.queue))
        self.assertEqual((queue["config"], queue["paused"]), (DEFAULTS, False))
        self.assertEqual(self.client.claim_ids(self.queue), ["another"])


class Counts(V1Test):
    def test_they_are_exact_after_every_step(self):
        steps = (
            (lambda: self.client.fill(self.queue, 6), {"ready": 6}),
            (lambda: self.client.enqueue(self.queue, hold=True), {"ready": 6, "held": 1}),
            (lambda: self.client.enqueue(self.queue, delay_ms=60_000),
             {"ready": 6, "held": 1, "scheduled": 1}),
            (lambda: leases.extend(self.client.claim(self.queue, max=5)),
             {"ready": 1, "held": 1, "scheduled": 1, "leased": 5}),
            (lambda: self.client.ack(leases[0]),
             {"ready": 1, "held": 1, "scheduled": 1, "leased": 4, "done": 1}),
            (lambda: self.client.fail(leases[1]),
             {"ready": 1, "held": 1, "scheduled": 2, "leased": 3, "done": 1}),
            (lambda: self.client.fail(leases[2], dead=True),
             {"ready": 1, "held": 1, "scheduled": 2, "leased": 2, "done": 1, "dead": 1}),
            (lambda: self.client.release(leases[3]),
             {"ready": 2, "held": 1, "scheduled": 2, "leased": 1, "done": 1, "dead": 1}),
            (lambda: self.client.change("cancel", self.queue, "4"),
             {"ready": 2, "held": 1, "scheduled": 2, "done": 1, "dead": 1, "cancelled": 1}),
            (lambda: self.client.change("requeue", self.queue, "2"),
             {"ready": 3, "held": 1, "scheduled": 2, "done": 1, "cancelled": 1}),
            (lambda: self.client.ok("DELETE", path_of(self.queue, "0")),
             {"ready": 3, "held": 1, "scheduled": 2, "cancelled": 1}))
        leases = []
        self.client.configure(self.queue, done_retention_ms=60_000)
        for step, expected in steps:
            step()
            self.assertEqual(self.client.counts(self.queue), expected)
            listed = {lane: len(self.client.job_ids(self.queue, lane=lane)) for lane in LANES}
            self.assertEqual({lane: count for lane, count in listed.items() if count}, expected)


class Verify(OwnServiceTest, V1Test):
    def check_verdict(self, **counts):
        verdict = self.client.ok("GET", "/v1/verify")
        self.assertGreater(verdict.pop("keys"), 0)
        self.assertEqual(verdict, {"clean": True, "batches": 0, "schedules": 0, "breach_count": 0,
                                   "breaches": [], **counts})

    def test_it_counts_what_it_looks_at(self):
        self.check_verdict(queues=0, groups=0, jobs=0)
        self.client.fill("a", 7, group="g")
        self.client.fill("b", 5)
        self.client.claim("a", "b", max=8)
        self.check_verdict(queues=2, groups=1, jobs=12)


if __name__ == "__main__":
    main()
