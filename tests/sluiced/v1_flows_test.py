"""Unique keys and dependencies through the native API."""
from harness import in_threads, main, wait_until
from v1 import SPAN_MS_MAX, V1Test, path_of

UNFINISHED = ["waiting", "held", "scheduled", "ready", "leased"]
HOUR = 3_600_000


class FlowsTest(V1Test):
    def jobs(self, queue=None):
        return path_of(queue or self.queue) + "/jobs"

    def ack_next(self, *queue, **members):
        self.client.ack(self.client.claim_one(*queue or [self.queue]), **members)

    def lanes(self, *ids):
        return [self.client.lane(self.queue, id) for id in ids]


class Unique(FlowsTest):
    def taken(self, key="k", **unique):
        return self.refused("already_exists", "POST", self.jobs(), {"unique": {"key": key,
                                                                               **unique}})

    def test_a_second_one_is_refused_until_the_first_is_finished(self):
        for end in ("ack", "cancel", "dead"):
            self.client.enqueue(self.queue, end, unique={"key": "k"})
            self.assertEqual(self.client.job(self.queue, end)["unique"], "k")
            self.assertIn(f'"{end}"', self.taken())
            lease = self.client.claim_one(self.queue)
            self.taken(policy="reject")
            if end == "cancel":
                self.client.change("cancel", self.queue, end)
            else:
                self.client.settle("ack" if end == "ack" else "fail", lease,
                                   **({"dead": True} if end == "dead" else {}))
        self.client.enqueue(self.queue, unique={"key": "k"})
        self.assertNotIn("unique", self.client.job(self.queue, "dead"))

    def test_every_lane_that_is_not_finished_holds_the_key(self):
        self.client.enqueue(self.queue, "parent", hold=True)
        for lane, members in (("held", {"hold": True}), ("scheduled", {"delay_ms": HOUR}),
                              ("ready", {}), ("waiting", {"after": [{"id": "parent"}]})):
            self.client.enqueue(self.queue, lane, unique={"key": lane}, **members)
            self.assertEqual(self.client.lane(self.queue, lane), lane)
            self.taken(lane)

    def test_keep_answers_the_other(self):
        unique = {"key": "k", "policy": "keep"}
        self.client.enqueue(self.queue, "first", unique=unique)
        for id in (None, "second"):
            self.assertEqual(self.client.enqueue(self.queue, id, unique=unique), "first")
        self.client.claim_one(self.queue)
        results = self.client.enqueue_many(self.queue, [{"id": "x", "unique": unique}, {"id": "y"}])
        self.assertEqual(results, [{"id": "first"}, {"id": "y"}])
        self.assertEqual(self.client.job_ids(self.queue), ["first", "y"])

    def test_replace_cancels_what_has_not_begun(self):
        self.client.configure(self.queue, done_retention_ms=HOUR, backlog_max=1)
        unique = {"key": "k", "policy": "replace"}
        before = None
        for number, members in enumerate(({}, {"hold": True}, {"delay_ms": HOUR}, {})):
            id = self.client.enqueue(self.queue, str(number), unique=unique, **members)
            if before:
                self.assertEqual(self.client.lane(self.queue, before), "cancelled")
            before = id
        self.client.claim_one(self.queue)
        self.taken(policy="replace")
        self.assertEqual(self.client.counts(self.queue), {"cancelled": 3, "leased": 1})

    def test_lanes(self):
        begun = {"key": "k", "lanes": ["waiting", "held", "scheduled", "ready"]}
        self.client.enqueue(self.queue, "a", unique=begun)
        self.taken(lanes=begun["lanes"])
        self.client.claim_one(self.queue)
        self.client.enqueue(self.queue, "b", unique=begun)
        self.taken(lanes=begun["lanes"])
        self.client.configure(self.queue, done_retention_ms=HOUR)
        self.client.enqueue(self.queue, "c", priority=-1, unique={"key": "d", "lanes": ["done"]})
        self.client.enqueue(self.queue, "d", hold=True, unique={"key": "d", "lanes": ["done"]})
        self.ack_next()
        self.taken("d", lanes=["done"])
        self.client.ok("DELETE", path_of(self.queue, "c"))
        self.client.enqueue(self.queue, unique={"key": "d", "lanes": ["ready", "ready"]})

    def test_a_window_holds_the_key_however_the_job_ended(self):
        self.client.enqueue(self.queue, unique={"key": "k", "window_ms": SPAN_MS_MAX})
        self.ack_next()
        for policy in ("reject", "replace"):
            self.taken(policy=policy)
        short = {"key": "short", "lanes": [], "window_ms": 300}

        def enqueue():
            answer = self.client.call("POST", self.jobs(), {"unique": short})
            self.assertIn(answer.status, (201, 409))
            return answer.status == 201 and answer.body["id"]

        times = []
        for _ in range(2):
            id = wait_until(enqueue, "the window to be over")
            times.append(self.client.job(self.queue, id)["enqueued_at"])
            self.ack_next()
        self.assertGreaterEqual(times[1], times[0] + 300)

    def test_a_key_belongs_to_its_queue_and_is_no_id(self):
        for queue in (self.queue, self.named("other")):
            self.client.enqueue(queue, "j", unique={"key": "k"})
        self.client.enqueue(self.queue, "k", unique={"key": "j"})
        self.client.enqueue(self.queue, unique={"key": "K"})

    def test_within_one_call_the_first_has_it(self):
        results = self.client.enqueue_many(self.queue, [
            {"id": str(number), "unique": {"key": "k", "policy": policy}}
            for number, policy in enumerate(("reject", "reject", "keep", "replace"))])
        self.assertEqual([one.get("id") or one["error"]["code"] for one in results],
                         ["0", "already_exists", "0", "already_exists"])

    def test_at_once_from_many_connections_one_gets_it(self):
        answers = in_threads(8, lambda index: self.new_client().call(
            "POST", self.jobs(), {"unique": {"key": "k"}}).status)
        self.assertEqual(sorted(answers), [201] + [409] * 7)

    def test_an_ack_hands_the_key_to_a_child(self):
        self.client.enqueue(self.queue, "a", unique={"key": "k"})
        self.ack_next(children=[{"id": "b", "unique": {"key": "k"}}])
        self.assertEqual(self.client.job(self.queue, "b")["unique"], "k")

    def test_a_requeue_needs_the_key(self):
        self.client.enqueue(self.queue, "a", unique={"key": "k"})
        self.client.fail(self.client.claim_one(self.queue), dead=True)
        self.client.enqueue(self.queue, "b", unique={"key": "k"})
        self.refused("already_exists", "POST", path_of(self.queue, "a") + "/requeue")
        self.ack_next()
        self.client.change("requeue", self.queue, "a")
        self.taken()

    def test_it_belongs_to_the_call_that_an_idempotency_key_names(self):
        body = {"unique": {"key": "k"}}
        first = self.client.ok("POST", self.jobs(), body, "once")
        self.assertEqual(self.client.ok("POST", self.jobs(), body, "once"), first)
        self.ack_next()
        self.assertEqual(self.client.ok("POST", self.jobs(), body, "once"), first)
        for unique in (None, {"key": "l"}, {"key": "k", "policy": "keep"},
                       {"key": "k", "window_ms": 1}, {"key": "k", "lanes": ["ready"]}):
            self.refused("invalid_argument", "POST", self.jobs(), {"unique": unique}, "once")
        self.assertEqual(self.client.counts(self.queue), {})

    def test_what_it_may_be(self):
        for number, unique in enumerate((
                {"key": "x" * 256}, {"key": "\u00fc" * 128}, {"key": "a", "lanes": None},
                {"key": "b", "lanes": UNFINISHED + ["done", "dead", "cancelled"]},
                {"key": "c", "window_ms": None, "policy": None}, {"key": "d", "window_ms": 0},
                {"key": "e", "lanes": [], "window_ms": 1}, {"key": " ", "other": 1})):
            id = self.client.enqueue(self.queue, str(number), unique=unique)
            self.assertEqual(self.client.job(self.queue, id).get("unique"),
                             None if unique.get("lanes") == [] else unique["key"])
        for unique in ({}, {"key": None}, {"key": ""}, {"key": 5}, {"key": "x" * 257},
                       {"key": "\u00fc" * 128 + "x"}, {"key": "k", "lanes": []}, 5, "k", [], True,
                       {"key": "k", "lanes": [], "window_ms": 0}, {"key": "k", "lanes": "ready"},
                       {"key": "k", "lanes": ["Ready"]}, {"key": "k", "lanes": ["none"]},
                       {"key": "k", "lanes": [5]}, {"key": "k", "lanes": [None]},
                       {"key": "k", "lanes": {}}, {"key": "k", "window_ms": -1},
                       {"key": "k", "window_ms": SPAN_MS_MAX + 1}, {"key": "k", "window_ms": "1"},
                       {"key": "k", "window_ms": 1.5}, {"key": "k", "policy": ""},
                       {"key": "k", "policy": "Keep"}, {"key": "k", "policy": 1}):
            self.refused("invalid_argument", "POST", self.jobs(), {"unique": unique})


class After(FlowsTest):
    def enqueue(self, id, *after, policy=None, **members):
        self.client.enqueue(self.queue, id, after=[
            {"id": one, **({"policy": policy} if policy else {})} for one in after], **members)

    def waits(self, id):
        return sorted(self.client.job(self.queue, id)["after"], key=lambda one: one["id"])

    def finish(self, id, how):
        """It is dead or cancelled."""
        if how == "cancelled":
            self.client.change("cancel", self.queue, id)
        else:
            self.client.fail(next(one for one in self.client.claim(self.queue, max=1000)
                                  if one["id"] == id), dead=True)

    def test_it_waits_until_all_are_done(self):
        for id in ("a", "b"):
            self.enqueue(id)
        self.enqueue("c", "a", "b")
        self.assertEqual(self.lanes("c"), ["waiting"])
        self.assertEqual(self.waits("c"), [{"queue": self.queue, "id": id, "policy": "success"}
                                           for id in ("a", "b")])
        reasons = self.client.ok("GET", path_of(self.queue, "c") + "/explain")["reasons"]
        self.assertIn('"a"', " ".join(reasons))
        leases = self.client.claim(self.queue, max=10)
        self.assertEqual([one["id"] for one in leases], ["a", "b"])
        self.client.ack(leases[1])
        self.assertEqual([one["id"] for one in self.waits("c")], ["a"])
        self.client.ack(leases[0])
        self.assertEqual(self.lanes("c"), ["ready"])
        self.assertNotIn("after", self.client.job(self.queue, "c"))
        self.assertNotIn("after", self.client.pages(self.jobs())[0])

    def test_what_a_dead_or_cancelled_one_means(self):
        self.client.configure(self.queue, done_retention_ms=HOUR)
        for how in ("dead", "cancelled"):
            parent = f"{how} parent"
            self.enqueue(parent)
            for policy in ("success", "end", "cancel"):
                self.enqueue(how + policy, parent, policy=policy)
            self.finish(parent, how)
            self.assertEqual(self.lanes(*(how + policy for policy in ("success", "end", "cancel"))),
                             ["waiting", "ready", "cancelled"])
            for policy, lane in (("success", "waiting"), ("end", "ready")):
                self.enqueue(f"later {how}{policy}", parent, policy=policy)
                self.assertEqual(self.lanes(f"later {how}{policy}"), [lane])
            self.refused("conflict", "POST", self.jobs(),
                         {"after": [{"id": parent, "policy": "cancel"}]})
        self.client.change("requeue", self.queue, "dead parent")
        self.client.ok("DELETE", path_of(self.queue, "cancelled parent"))
        job = self.client.job(self.queue, "cancelledsuccess")
        self.assertEqual((job["lane"], job["reason"]), ("dead", "orphaned"))
        for lease in self.client.claim(self.queue, max=1000):
            self.client.ack(lease)
        self.assertEqual(self.lanes("deadsuccess"), ["ready"])

    def test_of_other_queues(self):
        other = self.named("other")
        self.client.enqueue(other, "a")
        self.client.enqueue(self.queue, "b", after=[{"queue": other, "id": "a", "policy": None}])
        self.client.enqueue(self.queue, "a", hold=True)
        self.client.enqueue(self.queue, "c", after=[{"queue": other, "id": "a"},
                                                    {"queue": None, "id": "a", "policy": "end"}])
        self.assertEqual(sorted(map(str, self.waits("c"))), sorted(map(str, [
            {"queue": other, "id": "a", "policy": "success"},
            {"queue": self.queue, "id": "a", "policy": "end"}])))
        self.ack_next(other)
        self.assertEqual(self.lanes("b", "c"), ["ready", "waiting"])

    def test_a_diamond_in_one_call(self):
        results = self.client.enqueue_many(self.queue, [
            {"id": "fetch"}, {"id": "charts", "after": [{"id": "fetch"}]},
            {"id": "tables", "after": [{"id": "fetch"}]},
            {"id": "print", "after": [{"id": "charts"}, {"id": "tables"}]},
            {"id": "x", "after": [{"id": "y"}]}, {"id": "y"}])
        self.assertEqual([one.get("id") or one["error"]["code"] for one in results],
                         ["fetch", "charts", "tables", "print", "not_found", "y"])
        order = []
        while leases := self.client.claim(self.queue, max=10):
            order.append(sorted(one["id"] for one in leases))
            for lease in leases:
                self.client.ack(lease)
        self.assertEqual(order, [["fetch", "y"], ["charts", "tables"], ["print"]])

    def test_children_of_an_ack(self):
        self.enqueue("a")
        self.ack_next(children=[{"id": "b", "after": [{"id": "a"}]},
                                {"id": "c", "after": [{"id": "b"}]}])
        self.assertEqual(self.lanes("b", "c"), ["ready", "waiting"])
        lease = self.client.claim_one(self.queue)
        self.refused_settle("not_found", "ack", lease, children=[{"after": [{"id": "none"}]}])

    def test_what_is_held_and_what_is_delayed_goes_on_later(self):
        self.enqueue("a")
        self.enqueue("held", "a", hold=True)
        self.enqueue("late", "a", delay_ms=HOUR)
        self.assertEqual(self.lanes("held", "late"), ["held", "waiting"])
        self.client.change("unhold", self.queue, "held")
        self.assertEqual(self.lanes("held"), ["waiting"])
        self.ack_next()
        self.assertEqual(self.lanes("held", "late"), ["ready", "scheduled"])

    def test_those_that_are_over(self):
        self.enqueue("gone")
        self.ack_next()
        self.refused("not_found", "POST", self.jobs(), {"after": [{"id": "gone"}]})
        self.client.configure(self.queue, done_retention_ms=HOUR)
        self.enqueue("kept")
        self.ack_next()
        self.enqueue("at once", "kept")
        self.assertEqual(self.lanes("at once"), ["ready"])

    def test_it_belongs_to_the_call_that_an_idempotency_key_names(self):
        self.enqueue("a")
        self.enqueue("b")
        body = {"after": [{"id": "a"}]}
        first = self.client.ok("POST", self.jobs(), body, "once")
        self.assertEqual(self.client.ok("POST", self.jobs(), body, "once"), first)
        for after in (None, [], [{"id": "b"}], [{"id": "a", "policy": "end"}],
                      [{"id": "a"}, {"id": "b"}]):
            self.refused("invalid_argument", "POST", self.jobs(), {"after": after}, "once")
        self.assertEqual(self.client.counts(self.queue), {"ready": 2, "waiting": 1})

    def test_up_to_a_thousand(self):
        self.client.fill(self.queue, 1001, hold=True)
        after = [{"id": str(number)} for number in range(1001)]
        self.refused("invalid_argument", "POST", self.jobs(), {"after": after})
        self.client.enqueue(self.queue, "j", after=after[:1000])
        self.assertEqual(len(self.client.job(self.queue, "j")["after"]), 1000)

    def test_more_than_one_transaction_of_them_is_released(self):
        self.enqueue("a")
        for _ in range(2):
            self.client.enqueue_many(self.queue, [{"after": [{"id": "a"}]}] * 1500)
        self.ack_next()
        wait_until(lambda: self.client.counts(self.queue).get("ready") == 3000, "all to be ready")

    def test_what_it_may_not_be(self):
        self.enqueue("a")
        for after in ("a", 5, {}, [5], ["a"], [None], [{}], [{"id": None}], [{"id": ""}],
                      [{"id": 5}], [{"id": "x" * 257}], [{"id": "a", "queue": ""}],
                      [{"id": "a", "queue": 5}], [{"id": "a", "queue": "q" * 257}],
                      [{"id": "a", "policy": ""}], [{"id": "a", "policy": "done"}],
                      [{"id": "a", "policy": 1}], [{"id": "a"}, {"id": "a", "policy": "end"}],
                      [{"id": "a"}, {"id": "a", "queue": self.queue}]):
            self.refused("invalid_argument", "POST", self.jobs(), {"after": after})
        for body in ({"after": [{"id": "none"}]}, {"id": "b", "after": [{"id": "b"}]},
                     {"after": [{"id": "a", "queue": self.named("other")}]}):
            self.refused("not_found", "POST", self.jobs(), body)
        self.client.enqueue(self.queue, "b", after=None)
        self.client.enqueue(self.queue, "c", after=[])
        self.assertEqual(self.lanes("b", "c"), ["ready", "ready"])


if __name__ == "__main__":
    main()
