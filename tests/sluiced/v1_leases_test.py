"""The leases of the native API: who gets which job, and what workers may say of it, until when."""
from harness import chance, in_threads, main, wait_past, wait_until
from waiting import is_since, now_ms
from v1 import V1Test, held


class Order(V1Test):
    def test_priority_comes_before_arrival(self):
        random = chance("v1.order")
        jobs = [(random.randint(-3, 3), number) for number in range(200)]
        for priority, number in jobs:
            self.client.enqueue(self.queue, str(number), priority=priority)
        expected = [str(number) for _, number in sorted(jobs)]
        some = [self.client.claim_one(self.queue)["id"] for _ in range(50)]
        self.assertEqual(some + self.client.claim_ids(self.queue), expected)

    def test_lower_numbers_come_first_on_both_sides_of_zero(self):
        priorities = [2**31 - 1, 1, 0, -1, -16_777_217, 16_777_216, -2**31, 255, -256]
        for priority in priorities:
            self.client.enqueue(self.queue, priority=priority)
        leases = self.client.claim(self.queue, max=100)
        self.assertEqual([lease["priority"] for lease in leases], sorted(priorities))

    def test_over_several_queues_as_over_one(self):
        random = chance("v1.queues")
        queues = [f"{self.queue} {number}" for number in range(5)]
        jobs = [(random.randint(0, 2), number) for number in range(100)]
        for priority, number in jobs:
            self.client.enqueue(random.choice(queues), str(number), priority=priority)
        self.assertEqual(self.client.claim_ids(*queues, self.named("unknown")),
                         [str(number) for _, number in sorted(jobs)])

    def test_jobs_of_skipped_groups_are_passed_over(self):
        self.client.enqueue_many(self.queue, [
            {"id": "a1", "group": "a"}, {"id": "b1", "group": "b"}, {"id": "none"},
            {"id": "a2", "group": "a"}, {"id": "b2", "group": "b"}])
        claim_ids = self.client.claim_ids
        self.assertEqual(claim_ids(self.queue, max=1, skip_groups=["a"]), ["b1"])
        self.assertEqual(claim_ids(self.queue, skip_groups=["a", "b", "unknown"]), ["none"])
        self.assertEqual(claim_ids(self.queue, skip_groups=["b", "b"]), ["a1", "a2"])
        self.assertEqual(claim_ids(self.queue), ["b2"])

    def test_groups_of_a_fair_queue_take_turns(self):
        self.client.configure(self.queue, fair=True)
        for group in "aab" "aacb":
            self.client.enqueue(self.queue, group=group)
        groups = [lease["group"] for lease in self.client.claim(self.queue, max=7)]
        self.assertEqual((sorted(groups[:3]), sorted(groups)), (["a", "b", "c"], list("aaaabbc")))


class Claims(V1Test):
    def test_a_lease_tells_about_its_job(self):
        self.client.configure(self.queue, lease_ms=50_000)
        self.client.enqueue(self.queue, "j", group="g", priority=3, payload=[1])
        before = now_ms()
        lease = self.client.claim_one(self.queue, worker="w")
        job = self.client.job(self.queue, "j")
        self.assertEqual((job["lane"], job["worker"], job["attempts"], job["deadline_at"]),
                         ("leased", "w", 1, lease["deadline_at"]))
        self.assertEqual(lease["deadline_at"] - job["claimed_at"], 50_000)
        self.assertTrue(is_since(before, job["claimed_at"]))
        del lease["token"], lease["deadline_at"]
        self.assertEqual(lease, {"queue": self.queue, "id": "j", "group": "g", "attempt": 1,
                                 "priority": 3, "payload": [1]})

    def test_a_claim_may_say_how_long(self):
        self.client.fill(self.queue, 2)
        for lease_ms, expected in ((None, 60_000), (7000, 7000)):
            lease = self.client.claim_one(self.queue, lease_ms=lease_ms)
            job = self.client.job(self.queue, lease["id"])
            self.assertEqual(lease["deadline_at"] - job["claimed_at"], expected)

    def test_a_claim_gets_what_there_is(self):
        self.client.fill(self.queue, 3)
        self.assertEqual(len(self.client.claim(self.queue)), 1)
        self.assertEqual(len(self.client.claim(self.queue, max=1000)), 2)
        self.assertEqual(self.client.claim(self.queue, max=1000), [])
        self.assertEqual(self.client.claim(self.named("unknown")), [])

    def test_each_job_is_given_once(self):
        self.client.fill(self.queue, 600)

        def work(index):
            client, ids = self.new_client(), []
            while leases := client.claim(self.queue, max=1 + index % 4):
                ids += [lease["id"] for lease in leases]
            return ids

        ids = sorted(id for some in in_threads(6, work) for id in some)
        self.assertEqual(ids, sorted(str(number) for number in range(600)))


class Tokens(V1Test):
    VERBS = ("ack", "fail", "release", "extend")

    def check_that_it_is_over(self, lease):
        for verb in self.VERBS:
            self.refused_settle("lease_lost", verb, lease)
            results = self.client.settle_many(verb, [held(lease)] * 2)
            self.assertEqual([one["error"]["code"] for one in results], ["lease_lost"] * 2)

    def test_a_lease_ends_once(self):
        self.client.configure(self.queue, done_retention_ms=60_000)
        for verb, members, lane in (("ack", {}, "done"), ("fail", {}, "scheduled"),
                                    ("fail", {"dead": True}, "dead"), ("release", {}, "ready"),
                                    ("release", {"delay_ms": 60_000}, "scheduled")):
            lease = self.leased()
            self.assertEqual(self.client.settle(verb, lease, **members), {})
            self.check_that_it_is_over(lease)
            self.assertEqual(self.client.lane(self.queue, lease["id"]), lane)
            for id in self.client.job_ids(self.queue, lane="ready"):
                self.client.change("cancel", self.queue, id)

    def test_a_lease_ends_at_its_deadline(self):
        self.client.enqueue(self.queue, "j")
        first = self.client.claim_one(self.queue, lease_ms=30)
        wait_past(0.04)
        self.check_that_it_is_over(first)
        second = wait_until(lambda: self.client.claim(self.queue), "the lease to lapse")[0]
        self.check_that_it_is_over(first)
        self.assertEqual((second["id"], second["attempt"]), ("j", 2))
        self.client.ack(second)

    def test_an_operator_ends_a_lease(self):
        for verb in ("cancel", "break-lease"):
            lease = self.leased()
            self.client.change(verb, self.queue, lease["id"])
            self.check_that_it_is_over(lease)
        self.assertEqual(self.client.claim_one(self.queue)["attempt"], 2)

    def test_tokens_of_a_job_increase(self):
        self.client.configure(self.queue, retry={"base_ms": 0})
        tokens = []
        for _ in range(3):
            self.client.enqueue(self.queue, "j")
            for verb in ("release", "fail", "ack"):
                lease = wait_until(lambda: self.client.claim(self.queue), "the job")[0]
                tokens.append(lease["token"])
                self.client.settle(verb, lease)
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_a_token_of_another_queue_or_of_nobody_is_over(self):
        lease = self.leased()
        self.client.configure(self.named("other"))
        for queue in (self.named("other"), self.named("unknown")):
            self.check_that_it_is_over({**lease, "queue": queue})
        self.check_that_it_is_over({**lease, "token": "f" * 48})
        self.check_that_it_is_over({**lease, "token": lease["token"][:-1] + "2"})
        self.client.ack({**lease, "token": lease["token"].upper()})

    def test_tokens_that_are_none_are_refused(self):
        self.client.configure(self.queue)
        for token in ("", "x", "0" * 47, "0" * 49, "g" * 48, "0x" + "0" * 46, "-" + "0" * 47):
            for verb in self.VERBS:
                self.refused_settle("invalid_argument", verb,
                                    {"queue": self.queue, "token": token})


class Extend(V1Test):
    def test_the_deadline_moves(self):
        self.client.configure(self.queue, lease_ms=600_000)
        lease = self.leased()
        for lease_ms in (None, 3_600_000, None, 60_000):
            before = now_ms()
            deadline = self.client.extend(lease, lease_ms=lease_ms)
            self.assertTrue(is_since(before, deadline - (lease_ms or 600_000)))
            self.assertEqual(self.client.job(self.queue, lease["id"])["deadline_at"], deadline)
        self.client.ack(lease)

    def test_an_extended_lease_outlives_its_first_deadline(self):
        def extended():
            """A lease that was extended before it was over, as it is unless the machine stalls."""
            lease = self.client.claim_one(self.queue, lease_ms=1000, wait_ms=100_000)
            answer = self.client.call("POST", "/v1/extend", held(lease, lease_ms=3_600_000))
            self.assertIn(answer.status, (200, 409))
            return answer.status == 200 and lease

        self.client.configure(self.queue, lapses_max=1000, retry={"attempts_max": 1000})
        self.client.enqueue(self.queue, "j")
        lease = wait_until(extended, "a lease to be extended in time")
        wait_past(1.1)
        self.assertEqual(self.client.claim(self.queue), [])
        self.assertEqual(self.client.lane(self.queue, "j"), "leased")
        self.client.ack(lease)

    def test_progress_is_shown_and_stays(self):
        lease = self.leased()
        for progress, shown in (("half", "half"), (None, "half"), ("x" * 5000, "x" * 4096),
                                ("\u00fc" * 3000, "\u00fc" * 2048), ("\u6f22" * 2000,
                                                                     "\u6f22" * 1365), ("", None)):
            self.client.extend(lease, progress=progress)
            self.assertEqual(self.client.job(self.queue, lease["id"]).get("progress"), shown)


class Fail(V1Test):
    def test_a_job_is_tried_as_often_as_its_policy_says(self):
        self.client.configure(self.queue, retry={"attempts_max": 3, "base_ms": 0})
        self.client.enqueue(self.queue, "j")
        for attempt in (1, 2, 3):
            lease = wait_until(lambda: self.client.claim(self.queue, worker="w"), "the retry")[0]
            self.assertEqual(lease["attempt"], attempt)
            self.client.fail(lease, error=f"error {attempt}")
            job = self.client.job(self.queue, "j")
            self.assertEqual((job["attempts"], job["error"]), (attempt, f"error {attempt}"))
        self.assertEqual((job["lane"], job["reason"]), ("dead", "attempts"))
        self.assertEqual([(one["number"], one["outcome"], one["error"], one["worker"])
                          for one in job["history"]],
                         [(number, "failed", f"error {number}", "w") for number in (1, 2, 3)])

    def test_it_waits_in_between_as_its_policy_says(self):
        self.client.configure(self.queue, retry={"attempts_max": 9, "base_ms": 10_000, "factor": 3,
                                                 "cap_ms": 50_000})
        self.client.enqueue(self.queue, "j")
        for expected in (10_000, 30_000, 50_000, 50_000):
            lease = wait_until(lambda: self.client.claim(self.queue), "the job")[0]
            self.client.fail(lease)
            job = self.client.job(self.queue, "j")
            self.assertEqual(job["due_at"] - job["history"][-1]["ended_at"], expected)
            self.client.edit(self.queue, "j", due_at=0)

    def test_the_worker_may_say_how_long(self):
        for delay_ms, lane in ((3_600_000, "scheduled"), (0, None)):
            lease = self.leased()
            self.client.fail(lease, delay_ms=delay_ms)
            job = self.client.job(self.queue, lease["id"])
            self.assertEqual(job["due_at"] - job["history"][-1]["ended_at"], delay_ms)
            if lane:
                self.assertEqual(job["lane"], lane)
        again = wait_until(lambda: self.client.claim(self.queue), "the job without a delay")[0]
        self.assertEqual((again["id"], again["attempt"]), (lease["id"], 2))

    def test_a_worker_may_give_up_for_good(self):
        lease = self.leased()
        self.client.fail(lease, dead=True, delay_ms=5, error="\u00fc" * 3000)
        job = self.client.job(self.queue, lease["id"])
        self.assertEqual((job["lane"], job["reason"], job["error"]),
                         ("dead", "refused", "\u00fc" * 2048))

    def test_a_job_whose_leases_lapse_is_dead_in_the_end(self):
        self.client.configure(self.queue, lapses_max=2, lease_ms=10, retry={"attempts_max": 9})
        self.client.enqueue(self.queue, "j")
        for _ in range(2):
            wait_until(lambda: self.client.claim(self.queue), "the job")
        self.wait_for_lane(self.queue, "j", "dead")
        job = self.client.job(self.queue, "j")
        self.assertEqual((job["reason"], job["lapses"]), ("poison", 2))
        self.assertEqual([one["outcome"] for one in job["history"]], ["lapsed", "lapsed"])

    def test_the_history_keeps_the_last_20_attempts(self):
        self.client.configure(self.queue, retry={"attempts_max": 100, "base_ms": 0})
        self.client.enqueue(self.queue, "j")
        for _ in range(25):
            self.client.fail(wait_until(lambda: self.client.claim(self.queue), "the job")[0])
        history = self.client.job(self.queue, "j")["history"]
        self.assertEqual([one["number"] for one in history], list(range(6, 26)))


class Release(V1Test):
    def test_the_place_and_the_attempts_stay(self):
        self.client.fill(self.queue, 5)
        leases = self.client.claim(self.queue, max=3)
        for number in (2, 0):
            self.client.release(leases[number])
        job = self.client.job(self.queue, "0")
        self.assertEqual((job["lane"], job["attempts"]), ("ready", 0))
        self.assertFalse({"claimed_at", "deadline_at", "history"} & job.keys())
        again = self.client.claim(self.queue, max=10)
        self.assertEqual([(one["id"], one["attempt"]) for one in again],
                         [("0", 1), ("2", 1), ("3", 1), ("4", 1)])

    def test_it_may_take_its_time(self):
        lease = self.leased()
        before = now_ms()
        self.client.release(lease, delay_ms=3_600_000)
        job = self.client.job(self.queue, lease["id"])
        self.assertEqual((job["lane"], job["attempts"]), ("scheduled", 0))
        self.assertTrue(is_since(before, job["due_at"] - 3_600_000))


class Ack(V1Test):
    def test_the_result_is_kept_with_the_done_job(self):
        self.client.configure(self.queue, done_retention_ms=60_000)
        for result, shown in (("r", "r"), ("x" * 64_000, "x" * 64_000), ("", None), (None, None)):
            lease = self.leased()
            self.client.ack(lease, result=result)
            job = self.client.job(self.queue, lease["id"])
            self.assertEqual((job["lane"], job.get("result")), ("done", shown))
            self.assertEqual([one["outcome"] for one in job["history"]], ["acked"])
        lease = self.leased()
        self.refused_settle("invalid_argument", "ack", lease, result="\u00fc" * 32_001)
        self.client.ack(lease, result="\u00fc" * 32_000)

    def test_children_come_with_the_ack(self):
        other = self.named("other")
        lease = self.leased()
        self.client.ack(lease, children=[
            {"id": "a", "payload": {"x": 1}, "priority": 9}, {"id": "b"}, {"queue": other},
            {"queue": None, "hold": True}, {"delay_ms": 60_000}])
        self.assertEqual(self.client.counts(self.queue), {"ready": 2, "held": 1, "scheduled": 1})
        self.assertEqual(self.client.counts(other), {"ready": 1})
        leases = self.client.claim(self.queue, max=9)
        self.assertEqual([one["id"] for one in leases], ["b", "a"])
        self.assertEqual(leases[1]["payload"], {"x": 1})

    def test_a_refused_child_refuses_the_ack(self):
        full = self.named("full")
        self.client.configure(full, backlog_max=1)
        self.client.enqueue(self.queue, "taken", hold=True)
        lease = self.leased()
        for code, children in (("already_exists", [{"id": "new"}, {"id": "taken"}]),
                               ("already_exists", [{"id": "new"}, {"id": "new"}]),
                               ("already_exists", [{"id": lease["id"]}]),
                               ("limit_exceeded", [{"queue": full}, {"queue": full}]),
                               ("not_found", [{"batch": "none"}]),
                               ("invalid_argument", [{}, {"label": "urgent"}]),
                               ("invalid_argument", [{"queue": "x" * 257}])):
            self.refused_settle(code, "ack", lease, children=children)
            self.assertEqual(self.client.counts(self.queue), {"held": 1, "leased": 1})
            self.assertEqual(self.client.counts(full), {})
        self.client.ack(lease, children=[{"id": "new"}])
        self.assertEqual(self.client.counts(self.queue), {"held": 1, "ready": 1})

    def test_children_of_a_lost_lease_never_come(self):
        lease = self.leased()
        self.client.release(lease)
        self.refused_settle("lease_lost", "ack", lease, children=[{}])
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_nobody_sees_the_parent_gone_and_its_children_missing(self):
        rounds, seen = 200, []

        def work(index):
            client = self.new_client()
            if index:
                while not seen or seen[-1] != {}:
                    counts = client.counts(self.queue)
                    seen.append(counts)
                return
            lease = client.claim_one(self.queue)
            for _ in range(rounds):
                client.ack(lease, children=[{}])
                lease = client.claim_one(self.queue)
            client.ack(lease)

        self.client.enqueue(self.queue)
        in_threads(2, work)
        self.assertEqual({sum(counts.values()) for counts in seen[:-1]} | {1}, {1})


class Many(V1Test):
    def test_each_item_is_answered_for_itself(self):
        other = self.named("other")
        for verb, lanes in (("ack", {}), ("fail", {"scheduled": 2}), ("release", {"ready": 2}),
                            ("extend", {"leased": 2})):
            queues = [f"{name} {verb}" for name in (self.queue, other)]
            lost, *leases = [self.leased(queue=queues[number % 2]) for number in range(4)]
            self.client.change("break-lease", queues[0], lost["id"])
            self.client.change("cancel", queues[0], lost["id"])
            results = self.client.settle_many(verb, [held(lost), *map(held, leases),
                                                     held(leases[0], token="0" * 48)])
            codes = [one.get("error", {}).get("code") for one in results]
            self.assertEqual(codes, ["lease_lost", None, None, None, "lease_lost"], verb)
            self.assertEqual(["deadline_at" in one for one in results[1:4]], [verb == "extend"] * 3)
            self.assertEqual(self.client.counts(queues[1]), lanes, verb)

    def test_the_same_lease_twice_counts_once(self):
        for verb in ("ack", "fail", "release"):
            results = self.client.settle_many(verb, [held(self.leased())] * 2)
            self.assertEqual([one.get("error", {}).get("code") for one in results],
                             [None, "lease_lost"], verb)
            for id in self.client.job_ids(self.queue):
                self.client.change("cancel", self.queue, id)

    def test_items_have_their_own_members(self):
        self.client.configure(self.queue, done_retention_ms=60_000)
        leases = self.leased(3)
        results = self.client.settle_many("ack", [
            held(leases[0], result="r", children=[{"id": "child"}]),
            held(leases[1], children=[{"id": "child"}]),
            held(leases[2], children=[{}, {"label": "urgent"}])])
        self.assertEqual([one.get("error", {}).get("code") for one in results],
                         [None, "already_exists", "invalid_argument"])
        self.assertEqual(self.client.job(self.queue, leases[0]["id"])["result"], "r")
        results = self.client.settle_many("fail", [held(leases[1], error="e", delay_ms=60_000),
                                                   held(leases[2], dead=True)])
        self.assertEqual(results, [{}, {}])
        self.assertEqual(self.client.counts(self.queue),
                         {"done": 1, "ready": 1, "scheduled": 1, "dead": 1})

    def test_an_item_that_cannot_be_read_refuses_them_all(self):
        leases = self.leased(2)
        for bad in (1, {}, held(leases[1], token="x"), held(leases[1], queue="")):
            message = self.refused("invalid_argument", "POST", "/v1/ack",
                                   {"items": [held(leases[0]), bad]})
            self.assertTrue(message.startswith(("items[1]", "token")), message)
        self.assertEqual(self.client.counts(self.queue), {"leased": 2})

    def test_a_thousand_at_once(self):
        leases = self.leased(1000)
        self.assertEqual(self.client.settle_many("ack", [
            held(lease, children=[{}]) for lease in leases]), [{}] * 1000)
        self.assertEqual(self.client.counts(self.queue), {"ready": 1000})


if __name__ == "__main__":
    main()
