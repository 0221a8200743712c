"""Claims of the native API that wait: who is answered, when, and with which jobs."""
from harness import LONG, OwnServiceTest, Stopwatch, in_threads, main, wait_past, wait_until
from polls import PollTest
from v1 import V1Test, held, path_of


class Waiting(PollTest):
    def test_a_job_that_is_there_is_given_at_once(self):
        self.client.fill(self.queue, 3)
        self.assertEqual(self.poll(max=2).ids(), ["0", "1"])

    def test_a_claim_waits_for_a_job(self):
        poll = self.poll(max=5, worker="w", lease_ms=7000)
        self.assertFalse(poll.is_answered())
        self.client.enqueue(self.queue, "j", payload=[1])
        lease = poll.leases()[0]
        job = self.client.job(self.queue, "j")
        self.assertEqual((lease["id"], lease["payload"], job["worker"]), ("j", [1], "w"))
        self.assertEqual(job["deadline_at"] - job["claimed_at"], 7000)
        self.client.ack(lease)

    def test_it_waits_as_long_as_it_said(self):
        for wait_ms in (1, 150, 1100):
            watch = Stopwatch()
            self.assertEqual(self.poll(wait_ms=wait_ms).leases(), [])
            self.assertTrue(watch.reached((wait_ms - 10) / 1000), wait_ms)

    def test_it_waits_no_longer_because_of_those_before_it(self):
        first = self.poll()
        watch = Stopwatch()
        short = self.poll(wait_ms=100)
        self.assertEqual(short.leases(), [])
        self.assertTrue(watch.reached(0.09))
        self.assertFalse(first.is_answered())

    def test_what_is_wrong_with_it_is_said_at_once(self):
        first = self.poll()
        status, body = self.poll(lease_ms=0).answer()
        self.assertEqual((status, body["error"]["code"]), (400, "invalid_argument"))
        self.assertFalse(first.is_answered())

    def test_whatever_makes_a_job_claimable_wakes_it(self):
        queue = self.queue
        for name, before, wake in (
                ("enqueue of many", dict, lambda: self.client.enqueue_many(queue, [{}, {}])),
                ("release", self.leased, self.client.release),
                ("fail", self.leased, lambda lease: self.client.fail(lease, delay_ms=0)),
                ("ack with a child", self.leased,
                 lambda lease: self.client.ack(lease, children=[{}])),
                ("break-lease", self.leased,
                 lambda lease: self.client.change("break-lease", queue, lease["id"])),
                ("unhold", lambda: self.client.enqueue(queue, hold=True),
                 lambda id: self.client.change("unhold", queue, id)),
                ("edit", lambda: self.client.enqueue(queue, delay_ms=60_000),
                 lambda id: self.client.edit(queue, id, due_at=0)),
                ("requeue", self.dead, lambda id: self.client.change("requeue", queue, id)),
                ("resume", self.paused, lambda: self.client.ok("POST", path_of(queue) + "/resume")),
                ("active_max", self.full, lambda: self.client.configure(queue, active_max=None)),
                ("group_max", self.full_group, lambda: self.client.configure(queue, group_max=2)),
                ("limit of the group", self.full_group,
                 lambda: self.client.limit_group(queue, "g", 2)),
                ("end of another of the group", self.full_group,
                 lambda: self.client.change("cancel", queue, "first"))):
            with self.subTest(name):
                made = before()
                poll = self.poll(max=10)
                self.assertFalse(poll.is_answered())
                wake(made) if made else wake()
                # A claim that is not woken gets nothing in five minutes.
                self.assertTrue(poll.leases())
                self.clear()

    def clear(self):
        self.client.configure(self.queue, active_max=None, group_max=None)
        self.client.limit_group(self.queue, "g", None)
        for lane in ("leased", "ready", "scheduled"):
            for id in self.client.job_ids(self.queue, lane=lane):
                self.client.change("cancel", self.queue, id)

    def dead(self):
        lease = self.leased()
        self.client.fail(lease, dead=True)
        return lease["id"]

    def paused(self):
        self.client.enqueue(self.queue)
        self.client.ok("POST", path_of(self.queue) + "/pause")

    def full(self):
        self.client.configure(self.queue, active_max=1)
        self.leased()
        self.client.enqueue(self.queue)

    def full_group(self):
        self.client.configure(self.queue, group_max=1)
        self.client.enqueue(self.queue, "first", group="g")
        self.client.claim_one(self.queue)
        self.client.enqueue(self.queue, group="g")

    def test_time_wakes_it(self):
        self.client.enqueue(self.queue, "due", delay_ms=200)
        self.assertEqual(self.poll().ids(), ["due"])
        self.client.enqueue(self.queue, "lapses", priority=0)
        self.client.claim_one(self.queue, lease_ms=200)
        self.assertEqual(self.poll().ids(), ["lapses"])

    def test_it_waits_for_any_of_its_queues(self):
        queues = [f"{self.queue} {number}" for number in range(3)]
        for queue in queues:
            poll = self.poll(*queues)
            self.client.enqueue(self.named("another"))
            self.assertFalse(poll.is_answered())
            self.client.enqueue(queue, "j")
            self.assertEqual(poll.ids(), ["j"])

    def test_it_passes_over_groups(self):
        picky, other = self.poll(skip_groups=["g"]), self.poll()
        self.client.enqueue(self.queue, "of g", group="g")
        self.assertEqual(other.ids(), ["of g"])
        self.client.enqueue(self.queue, "of h", group="h")
        self.assertEqual(picky.ids(), ["of h"])

    def test_the_same_key_waits_for_the_same_leases(self):
        polls = [self.poll(key="k") for _ in range(3)]
        self.client.fill(self.queue, 3)
        first, *others = [poll.leases() for poll in polls]
        self.assertEqual(others, [first] * 2)
        self.assertEqual(self.client.claim(self.queue, key="k"), first)
        self.assertEqual(self.client.counts(self.queue), {"leased": 1, "ready": 2})


class Lines(PollTest):
    def test_those_who_came_first_are_served_first(self):
        polls = [self.poll(worker=f"w{number}") for number in range(30)]
        for number in range(30):
            self.client.enqueue(self.queue, str(number))
            self.assertEqual(polls[number].ids(), [str(number)])
            self.assertFalse(any(poll.is_answered() for poll in polls[number + 1:]))

    def test_one_may_want_more_than_another(self):
        many, one, last = self.poll(max=3), self.poll(max=1), self.poll(max=1000)
        self.client.fill(self.queue, 6)
        self.assertEqual((many.ids(), one.ids(), last.ids()), (["0", "1", "2"], ["3"], ["4", "5"]))

    def test_200_claims_on_one_queue_get_each_job_once(self):
        polls = [self.poll() for _ in range(200)]
        in_threads(4, lambda index: [self.new_client().enqueue(self.queue, f"{index}-{number}")
                                     for number in range(50)])
        ids = [id for poll in polls for id in poll.ids()]
        self.assertEqual(sorted(ids), sorted(f"{index}-{number}" for index in range(4)
                                             for number in range(50)))
        self.assertEqual(self.client.counts(self.queue), {"leased": 200})


class Workers(V1Test):
    def test_workers_that_poll_again_and_again_get_each_job_once(self):
        number, got = 2000 if LONG else 300, []

        def run(index):
            client = self.new_client()
            if index == 0:
                for id in range(number):
                    client.enqueue(self.queue, str(id), group=f"g{id % 5}")
                return
            while len(got) < number:
                leases = client.claim(self.queue, wait_ms=300, max=index)
                got.extend(lease["id"] for lease in leases)
                if leases:
                    client.settle_many("ack", [held(lease) for lease in leases])

        self.client.configure(self.queue, group_max=2)
        in_threads(7, run)
        self.assertEqual(sorted(got, key=int), [str(id) for id in range(number)])


class Leaving(PollTest):
    def test_one_that_left_gets_no_job(self):
        self.poll().leave()
        wait_past(1.1)
        self.client.enqueue(self.queue)
        self.check_that_it_stays_ready(self.queue)

    def check_that_it_stays_ready(self, queue):
        """A job that was given to nobody is leased for the moment, and is given back: were it to
        wait for the end of its lease, that would be counted."""
        wait_past(0.1)
        wait_until(lambda: self.client.counts(queue) == {"ready": 1}, "the job to be ready")
        (job,) = self.client.pages(path_of(queue) + "/jobs")
        self.assertEqual(job["lapses"], 0)

    def test_the_next_in_line_gets_it(self):
        gone = [self.poll() for _ in range(3)]
        there = self.poll()
        for poll in gone:
            poll.leave()
        wait_past(1.1)
        self.client.enqueue(self.queue, "j")
        self.assertEqual(there.ids(), ["j"])

    def test_a_job_that_comes_right_after_it_left_is_not_lost(self):
        queues = [f"{self.queue} {number}" for number in range(5)]
        polls = [self.poll(queue) for queue in queues]
        for queue, poll in zip(queues, polls):
            poll.leave()
            self.client.enqueue(queue)
        for queue in queues:
            self.check_that_it_stays_ready(queue)

    def test_one_that_is_ended_by_its_key_gets_no_job(self):
        first, other = self.poll(key="k"), self.poll()
        self.assertEqual(self.client.claim(self.queue, key="k"), [])
        self.assertEqual(first.leases(), [])
        self.client.enqueue(self.queue, "a")
        self.assertEqual([lease["id"] for lease in other.leases()], ["a"])

    def test_a_job_that_comes_after_it_was_ended_is_not_held_for_a_moment(self):
        for number in range(30):
            poll = self.poll(key=f"k{number}")
            poll.connection.close()
            self.assertEqual(self.client.claim(self.queue, key=f"k{number}"), [])
            self.client.enqueue(self.queue, str(number))
            self.client.ack(self.client.claim_one(self.queue))


class TooMany(OwnServiceTest, PollTest):
    def test_different_sets_of_queues(self):
        polls = [self.poll(f"q{number}") for number in range(64)]
        self.assertFalse(any(poll.is_answered() for poll in polls))
        message = self.refused("unavailable", "POST", "/v1/claim",
                               {"queues": ["q64"], "wait_ms": 1000})
        self.assertIn("without wait_ms", message)
        self.assertEqual(self.client.claim("q64"), [])
        beside = self.poll("q63")
        self.client.fill("q63", 2)
        self.assertEqual((polls[63].ids(), beside.ids()), (["0"], ["1"]))
        wait_until(lambda: self.client.call("POST", "/v1/claim", {
            "queues": ["q64"], "wait_ms": 1}).status == 200, "room for another")


class Drain(OwnServiceTest, PollTest):
    # Longer than anybody here waits: who needs it has failed.
    options = (*PollTest.options, "--drain-time", "1h")

    def test_whoever_waits_is_answered_when_the_service_ends(self):
        polls = [self.poll(f"q{number % 7}") for number in range(50)]
        self.client.enqueue("q0", "j")
        ids = polls[0].ids()
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual((ids, [poll.leases() for poll in polls[1:]]), (["j"], [[]] * 49))
        self.service.start()
        self.assertEqual(self.client.counts("q0"), {"leased": 1})
        self.check_store(self.service)

    def test_a_kill_in_the_middle_of_waiting_loses_nothing(self):
        for number in range(5):
            self.poll(f"q{number}")
        self.service.kill()
        self.service.start()
        self.client.enqueue("q0", "j")
        self.assertEqual(self.poll("q0").ids(), ["j"])
        self.check_store(self.service)


if __name__ == "__main__":
    main()
