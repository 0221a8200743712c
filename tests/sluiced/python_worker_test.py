"""The worker of the Python client: outcomes, leases, drains, a service that is killed."""
import collections
import threading

from harness import PATIENCE, OwnServiceTest, chance, main, wait_past, wait_until
from python_client import LOSE_ANSWER, Thread, WorkerTest, sluice
from waiting import now_ms, pause

HOUR = 3600


class Outcomes(WorkerTest):
    def outcome(self, body, **members):
        """What is stored about a job whose handler is `body`."""
        id = self.sluice.enqueue(self.queue, **members)
        self.work(body)
        return self.told(id)

    def test_what_is_returned_is_the_result(self):
        self.keep()
        for value, result in ((None, None), ("text", "text"), (7, "7"), ({"a": ["\u00fc"]},
                              '{"a":["\u00fc"]}'), (sluice.Done("r"), "r")):
            expected = {"lane": "done", "attempts": 1, **({"result": result} if result else {})}
            self.assertEqual(self.outcome(lambda job: value), expected)

    def test_children_come_with_the_ack(self):
        self.keep()
        other, seen = self.named("other"), []

        def handler(job):
            seen.append(job.payload)
            if job.payload == "parent":
                return sluice.Done("r", [{"payload": "child"}, {"queue": other, "delay": HOUR}])

        self.assertEqual(self.outcome(handler, payload="parent")["result"], "r")
        self.assertEqual((seen, self.client.counts(other)), (["parent", "child"], {"scheduled": 1}))

    def test_what_is_raised_fails_the_attempt(self):
        def raiser(error):
            def handler(job):
                raise error
            return handler

        for error, lane, text in (
                (ValueError("bad \ud800"), "scheduled", "ValueError: bad \\ud800"),
                (KeyError("k"), "scheduled", "KeyError: 'k'"),
                (SystemExit(1), "scheduled", "SystemExit: 1"),
                (ValueError("x" * 9_000), "scheduled", ("ValueError: " + "x" * 9_000)[:4096]),
                (sluice.Retry(HOUR, "later"), "scheduled", "later"),
                (sluice.Dead("never"), "dead", "never")):
            told = self.outcome(raiser(error))
            self.assertEqual((told["lane"], told["error"], told["attempts"]), (lane, text, 1))
        id = self.sluice.enqueue(self.queue)
        self.work(raiser(sluice.Release(HOUR)))
        self.assertEqual(self.told(id), {"lane": "scheduled", "attempts": 0})

    def test_a_retry_comes_when_it_was_asked_for(self):
        self.keep()
        id = self.sluice.enqueue(self.queue, retry={"base": HOUR})

        def handler(job):
            if job.attempt < 3:
                raise sluice.Retry(0)

        self.work(handler)
        self.assertEqual(self.told(id)["lane"], "done")
        self.assertEqual(self.told(id)["attempts"], 3)

    def test_outcomes_that_are_refused_fail_the_attempt(self):
        self.sluice.enqueue(self.queue, id="taken", hold=True)

        def bad_delay(job):
            raise sluice.Retry("soon")

        for body, text in ((lambda job: "x" * 64_001, "invalid_argument"),
                           (lambda job: object(), "TypeError"),
                           (lambda job: "\ud800", "surrogates not allowed"),
                           (lambda job: sluice.Done(children=[{"id": "taken"}]), "already_exists"),
                           (lambda job: sluice.Done(children=[{"dealy": 1}]), "dealy"),
                           (bad_delay, "type")):
            told = self.outcome(body, retry={"attempts_max": 1})
            self.assertEqual((told["lane"], told["attempts"]), ("dead", 1))
            self.assertIn(text, told["error"])

    def test_a_claim_that_is_refused_ends_the_worker(self):
        with self.assertRaises(sluice.Error) as caught:
            sluice.Worker(self.sluice, [""], print).run()
        self.assertEqual(caught.exception.code, "invalid_argument")


class Drains(WorkerTest):
    def test_it_ends_when_nothing_is_ready(self):
        self.sluice.enqueue_many(self.queue, [{"payload": number % 3} for number in range(60)])
        self.sluice.enqueue(self.queue, 0, delay=HOUR)
        seen = []

        def handler(job):
            seen.append(job.id)
            for _ in range(job.payload):
                self.sluice.enqueue(self.queue, job.payload - 1)

        self.work(handler, slots=4)
        # 20 leaves; 20 with a child; 20 with two of which each has one.
        self.assertEqual((len(seen), len(set(seen))), (20 + 40 + 100, 160))
        self.assertEqual(self.client.counts(self.queue), {"scheduled": 1})

    def test_what_runs_may_enqueue_more(self):
        proxy, far = self.behind_proxy()
        claims = lambda: sum(asked.path == "/v1/claim" for asked in proxy.asked)
        seen = []

        def handler(job):
            seen.append(job.payload)
            if job.payload == "parent":
                wait_until(lambda: claims() >= 2, "a claim that finds nothing")
                wait_past(0.1)
                self.sluice.enqueue(self.queue, "child")

        self.sluice.enqueue(self.queue, "parent")
        sluice.Worker(far, self.queue, handler, slots=2).run(drain=True)
        self.assertEqual(seen, ["parent", "child"])
        # One for each job, and one whenever a job has ended: it does not ask again and again.
        self.assertLessEqual(claims(), 6)

    def test_as_many_run_at_once_as_there_are_slots(self):
        self.sluice.enqueue_many(self.queue, [{}] * 12)
        barrier = threading.Barrier(4)
        self.work(lambda job: barrier.wait(PATIENCE), slots=4)
        self.assertEqual(self.client.counts(self.queue), {})

    def test_queues_groups_and_names(self):
        other = self.named("other")
        self.sluice.enqueue_many(self.queue, [{"group": "g"}, {"group": "h"}])
        self.sluice.enqueue(other)
        seen = []

        def handler(job):
            seen.append((job.queue, job.group, self.sluice.job(job.queue, job.id)["worker"]))

        sluice.Worker(self.sluice, [self.queue, other], handler, name="me",
                      skip_groups=["g"]).run(drain=True)
        self.assertEqual(sorted(seen), [(other, None, "me"), (self.queue, "h", "me")])

    def test_stop_lets_what_runs_end(self):
        begun, go = threading.Event(), threading.Event()
        self.sluice.enqueue_many(self.queue, [{}] * 2)
        worker = self.worker(lambda job: begun.set() or go.wait(PATIENCE) and None)
        run = self.start(worker)
        begun.wait(PATIENCE)
        with self.assertLogs("sluice", "INFO") as logs:
            worker.stop()
            wait_until(lambda: logs.output, "it to hear that")
        go.set()
        run.join()
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_a_second_stop_gives_back_what_runs(self):
        proxy, far = self.behind_proxy()
        begun, go, threads, lost = threading.Barrier(4), threading.Event(), [], []

        def handler(job):
            threads.append(threading.current_thread())
            begun.wait(PATIENCE)
            go.wait()
            lost.append(job.lost.is_set())
            return "nobody hears this"

        self.addCleanup(go.set)
        self.sluice.enqueue_many(self.queue, [{}] * 3)
        worker = sluice.Worker(far, self.queue, handler, slots=3)
        run = self.start(worker)
        begun.wait(PATIENCE)
        worker.stop()
        worker.stop()
        run.join()
        self.assertEqual({(job["lane"], job["attempts"]) for job in self.sluice.jobs(self.queue)},
                         {("ready", 0)})
        go.set()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(lost, [True] * 3)
        self.assertEqual([asked.path for asked in proxy.asked], ["/v1/claim"] + ["/v1/release"] * 3)
        self.work(lambda job: None)
        self.assertEqual(self.client.counts(self.queue), {})

    def test_jobs_that_come_while_it_stops_are_not_kept(self):
        for _ in range(30):
            worker = self.worker(lambda job: None, slots=4)
            run = Thread(worker.run)
            enqueue = Thread(lambda: self.sluice.enqueue_many(self.queue, [{}] * 8))
            worker.stop()
            run.join()
            enqueue.join()
            self.check_that_nothing_is_kept()

    def test_a_claim_whose_answer_is_lost_by_stopping_is_given_back(self):
        proxy, far = self.behind_proxy()
        self.sluice.enqueue_many(self.queue, [{}] * 3)
        worker = sluice.Worker(far, self.queue, lambda job: None, slots=3)

        def stop():
            worker.stop()
            wait_until(lambda: logs.output, "it to hear that")
            return LOSE_ANSWER

        proxy.expect(stop)
        with self.assertLogs("sluice", "INFO") as logs:
            worker.run()
        self.assertEqual({(job["lane"], job["attempts"]) for job in self.sluice.jobs(self.queue)},
                         {("ready", 0)})


class Leases(WorkerTest):
    def test_an_ack_is_repeated_until_it_is_heard(self):
        proxy, far = self.behind_proxy(retries=1)
        id = self.sluice.enqueue(self.queue)
        self.keep()
        sluice.Worker(far, self.queue, lambda job: proxy.expect(*[LOSE_ANSWER] * 5)).run(drain=True)
        acks = [asked.key for asked in proxy.asked if asked.path == "/v1/ack"]
        self.assertEqual((len(acks), len(set(acks))), (6, 1))
        self.assertEqual(self.told(id), {"lane": "done", "attempts": 1})

    def test_a_job_may_take_longer_than_its_lease(self):
        """Also if its handler tells progress, or its result is not heard at once."""
        self.keep()
        proxy, far = self.behind_proxy()
        runs, lease = [], 10

        def handler(job):
            runs.append(job.id)
            first = job.deadline_at
            far.extend(job, progress="begun")
            wait_until(lambda: now_ms() > first + 200, "the first lease to be over")
            proxy.expect(LOSE_ANSWER)
            return job.id

        ids = self.sluice.enqueue_many(self.queue, [{}] * 2)
        sluice.Worker(far, self.queue, handler, slots=2, lease=lease).run(drain=True)
        self.assertEqual(sorted(runs), sorted(ids))
        for id in ids:
            self.assertEqual(self.told(id), {"lane": "done", "attempts": 1, "result": id})
            self.assertEqual(self.sluice.job(self.queue, id)["lapses"], 0)

    def test_a_handler_sees_that_its_job_was_taken_away(self):
        def handler(job):
            self.sluice.cancel(job.queue, job.id)
            lost.append(job.lost.wait(PATIENCE))
            return "too late"

        lost = []
        self.keep()
        id = self.sluice.enqueue(self.queue)
        self.work(handler, lease=0.6)
        self.assertEqual((lost, self.told(id)["lane"]), ([True], "cancelled"))


class Killed(OwnServiceTest, WorkerTest):
    keeps_port = True

    def test_each_job_is_acked_once(self):
        random, runs = chance("kill -9 under a worker"), collections.Counter()
        self.keep()
        self.sluice.enqueue_many(self.queue, [{"id": str(number)} for number in range(500)])

        def handler(job):
            runs[job.id] += 1
            pause(random.uniform(0, 0.004))
            return f"of {job.id}"

        worker = self.worker(handler, slots=4)
        run = self.start(worker)
        for kill in (True, True, False, True):
            enough = min(sum(runs.values()) + random.randrange(20, 100), 490)
            wait_until(lambda: sum(runs.values()) >= enough or not run.is_alive(), "jobs to run")
            pause(random.uniform(0, 0.01))
            self.service.kill() if kill else self.service.stop()
            self.service.start(same_port=True)
        wait_until(lambda: self.client.counts(self.queue) == {"done": 500} or not run.is_alive(),
                   "the rest to run")
        worker.stop()
        run.join()
        # Not one of them had to run again: claims and acks whose answers were lost came back.
        self.assertEqual(set(runs.values()), {1})
        for id in runs:
            job = self.sluice.job(self.queue, id)
            self.assertEqual((job["lane"], job["result"], [one["outcome"] for one in
                              job["history"]]), ("done", f"of {id}", ["acked"]))
        self.check_store(self.service)

    def test_a_handler_sees_that_the_service_was_away_too_long(self):
        def handler(job):
            if job.attempt == 1:
                self.service.kill()
                lost.append(job.lost.wait(PATIENCE))
                self.service.start(same_port=True)

        lost = []
        self.keep()
        id = self.sluice.enqueue(self.queue)
        worker = self.worker(handler, lease=1, wait=1)
        run = self.start(worker)
        wait_until(lambda: lost and self.service.up.is_set() and self.told(id)["lane"] == "done",
                   "the second attempt")
        worker.stop()
        run.join()
        self.assertEqual(lost, [True])
        self.assertGreaterEqual(self.told(id)["attempts"], 2)

    def test_it_stops_without_the_service(self):
        worker = self.worker(print)
        run = self.start(worker)
        self.service.kill()
        worker.stop()
        run.join()


if __name__ == "__main__":
    main()
