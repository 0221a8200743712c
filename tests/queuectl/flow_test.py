"""Jobs that wait for others, arrays, slots, queues, and waiting for all of it."""
import json
import os

from harness import PATIENCE, ToldTest, lines_of, main, wait_until


class Dependencies(ToldTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.home, "out")

    def add(self, name, *options):
        self.q("enqueue", f"echo start {name} >> {self.out}; echo end {name} >> {self.out}",
               "--id", name, *options)

    def check_order(self, *pairs):
        """The first of each pair had ended before the second began."""
        lines = lines_of(self.out)
        for before, after in pairs:
            self.assertLess(lines.index(f"end {before}"), lines.index(f"start {after}"), lines)

    def test_a_chain_of_three(self):
        self.add("a")
        self.add("b", "--after", "a")
        self.add("c", "--after", "b")
        self.assertEqual(self.states(), {"a": "pending", "b": "waiting", "c": "waiting"})
        self.drain("--count", "3")
        self.assertEqual(set(self.states().values()), {"completed"})
        self.check_order("ab", "bc")

    def test_a_diamond(self):
        self.add("a")
        self.add("b", "--after", "a")
        self.add("c", "--after", "a")
        self.add("d", "--after", "b,c")
        self.drain("--count", "4")
        self.assertEqual(set(self.states().values()), {"completed"})
        self.check_order("ab", "ac", "bd", "cd")
        self.assertEqual(len(lines_of(self.out)), 8)

    def test_what_waits_for_a_failed_job_is_cancelled(self):
        self.q("enqueue", "exit 1", "--id", "a", "--max-retries", "2", "--backoff-base", "0")
        self.add("child", "--after", "a")
        self.add("grandchild", "--after", "child")
        self.add("anyway", "--after-any", "a")
        self.add("even-so", "--after-any", "grandchild")
        self.drain()
        self.assertEqual(self.states(), {"a": "dead", "child": "cancelled",
                                         "grandchild": "cancelled", "anyway": "completed",
                                         "even-so": "completed"})
        self.assertEqual(self.job("child")["attempts"], 0)

    def test_what_waits_for_a_cancelled_job_is_cancelled(self):
        self.add("a")
        self.add("child", "--after", "a")
        self.q("cancel", "a")
        self.assertEqual(self.states(), {"a": "cancelled", "child": "cancelled"})
        self.assertEqual(self.job("child")["last_error"], "a, which it waited for, did not succeed")
        self.assertIn("did not succeed", self.q("show", "child"))

    def test_a_job_after_one_that_is_over(self):
        self.add("good")
        self.q("enqueue", "exit 1", "--id", "bad", "--max-retries", "1")
        self.drain()
        self.add("a", "--after", "good")
        self.add("b", "--after-any", "bad")
        self.fails(4, "enqueue", "true", "--id", "c", "--after", "bad")
        self.drain()
        self.assertEqual((self.job("a")["state"], self.job("b")["state"]),
                         ("completed", "completed"))
        self.fails(3, "show", "c")

    def test_an_unknown_job_cannot_be_waited_for(self):
        self.fails(3, "enqueue", "true", "--id", "a", "--after", "nobody")
        self.fails(3, "enqueue", "true", "--id", "a", "--after-any", "nobody")
        self.add("b")
        self.fails(3, "enqueue", "true", "--id", "a", "--after", "b,nobody")
        self.assertEqual(self.states(), {"b": "pending"})

    def test_jobs_of_one_input_wait_for_each_other(self):
        self.enqueue_all([{"id": "a", "command": f"echo a >> {self.out}"},
                          {"id": "b", "command": f"echo b >> {self.out}", "after": ["a"]}])
        self.drain("--count", "2")
        self.assertEqual(lines_of(self.out), ["a", "b"])

    def test_a_held_job_waits_for_the_others_still_when_it_is_unheld(self):
        self.add("a", "--hold")
        self.add("b", "--after", "a", "--hold")
        self.q("unhold", "b")
        self.assertEqual(self.states(), {"a": "held", "b": "waiting"})
        self.q("unhold", "a")
        self.drain("--count", "2")
        self.check_order("ab")

    def test_show_says_what_a_job_waits_for(self):
        self.add("a", "--hold")
        self.add("b", "--after", "a")
        self.assertIn("after         a", self.q("show", "b"))
        self.assertIn("Why it is not running", self.q("show", "b"))
        self.assertIn("held", self.q("show", "a"))


class Arrays(ToldTest):
    def test_at_most_three_at_once(self):
        running = os.path.join(self.home, "running")
        counts = os.path.join(self.home, "counts")
        os.mkdir(running)
        self.start_workers(1, "--count", "8")
        ids = self.q("enqueue", f"touch {running}/$QUEUECTL_INDEX; "
                     f"ls {running} | wc -l >> {counts}; {self.until_told()}; "
                     f"rm {running}/$QUEUECTL_INDEX", "--array", "1-20%3", "--id", "a").split()
        self.assertEqual(ids, [f"a.{i}" for i in range(1, 21)])
        wait_until(lambda: len(self.begun()) == 3, "three to begin")
        # There are free slots: others run.
        self.q("enqueue", "true", "--id", "other")
        self.q("wait", "other")
        self.assertEqual(len(self.begun()), 3)
        self.tell()
        self.q("wait", *ids)
        self.assertEqual(sorted(self.begun()), sorted(ids))
        self.assertLessEqual(max(int(count) for count in lines_of(counts)), 3)
        self.assertEqual(os.listdir(running), [])

    def test_each_has_its_index(self):
        self.q("enqueue", "echo $QUEUECTL_INDEX $QUEUECTL_JOB_ID", "--array", "7-9", "--id", "x")
        self.q("enqueue", "echo ${QUEUECTL_INDEX-none}", "--id", "y")
        self.drain("--count", "3")
        for i in (7, 8, 9):
            self.assertEqual(self.q("logs", f"x.{i}"), f"{i} x.{i}\n")
            self.assertEqual(self.job(f"x.{i}")["index"], i)
        self.assertEqual(self.q("logs", "y"), "none\n")


class Slots(ToldTest):
    def setUp(self):
        super().setUp()
        self.marks = os.path.join(self.home, "marks")

    def marked(self, body):
        return (f"echo start $QUEUECTL_JOB_ID >> {self.marks}; {body}; "
                f"echo end $QUEUECTL_JOB_ID >> {self.marks}")

    def check_that_it_ran_alone(self, name):
        lines = lines_of(self.marks)
        at = lines.index(f"start {name}")
        self.assertEqual(lines[at + 1], f"end {name}", lines)
        begun = [line.split()[1] for line in lines[:at] if line.startswith("start")]
        self.assertTrue(all(f"end {other}" in lines[:at] for other in begun), lines)

    def claims_of(self, name):
        number = 3 * len(self.jobs())  # Enqueued, claimed, completed.
        events = [json.loads(line) for line in self.q(
            "watch", "--json", "--from-start", "-n", str(number)).splitlines()]
        return sum(one["id"] == name and one["to"] == "processing" for one in events)

    def test_a_job_of_two_slots_runs_alone_on_a_worker_of_two(self):
        self.enqueue_all(
            [{"id": f"small{i}", "command": self.marked("sleep 0.1")} for i in range(4)]
            + [{"id": "big", "command": self.marked("sleep 0.2"), "slots": 2}]
            + [{"id": f"late{i}", "command": self.marked("sleep 0.1")} for i in range(4)])
        self.drain("--count", "2")
        self.assertEqual(len(lines_of(self.marks)), 18)
        self.check_that_it_ran_alone("big")

    def test_while_it_waits_it_is_claimed_once(self):
        # Longer than a worker keeps a job of one slot that it cannot run.
        self.q("enqueue", self.marked("sleep 1.2"), "--id", "small")
        self.q("enqueue", self.marked("true"), "--id", "big", "--slots", "2", "--priority", "10")
        self.drain("--count", "2")
        self.check_that_it_ran_alone("big")
        self.assertEqual(self.claims_of("big"), 1)
        self.assertEqual(self.job("big")["attempts"], 1)

    def check_that_it_does_not_run(self, *words):
        """A job that a worker has claimed, and cannot run yet, is taken from it."""
        self.q("enqueue", self.until_told(), "--id", "small")
        self.q("enqueue", self.marked("true"), "--id", "big", "--slots", "2")
        self.start_workers(1, "--count", "2")
        self.wait_for_begun("small")
        self.wait_for_state("big", "processing")
        self.q(*words)
        self.tell()
        self.q("wait", "small")
        # Whatever was begun meanwhile is finished first.
        self.q("worker", "stop")
        self.assertEqual(lines_of(self.marks), [])

    def test_it_can_be_cancelled_while_it_waits(self):
        self.check_that_it_does_not_run("cancel", "big")
        self.assertEqual(self.job("big")["state"], "cancelled")

    def test_it_does_not_begin_in_a_queue_that_is_paused(self):
        self.check_that_it_does_not_run("pause")
        self.assertEqual((self.job("big")["state"], self.job("big")["attempts"]), ("pending", 0))

    def test_more_slots_than_the_worker_has_are_all_it_has(self):
        self.q("enqueue", self.marked("sleep 0.1"), "--id", "big", "--slots", "64")
        self.q("enqueue", self.marked("true"), "--id", "small")
        self.drain("--count", "2")
        self.check_that_it_ran_alone("big")


class Queues(ToldTest):
    def test_a_worker_serves_the_queues_that_it_is_told(self):
        for name in ("x", "y", "z"):
            self.q("enqueue", "echo $QUEUECTL_QUEUE", "--id", "a", "--queue", name)
        self.start_workers(1, "--queue", "x", "--queue", "y")
        self.q("wait", "a", "--queue", "x")
        self.q("wait", "a", "--queue", "y")
        self.assertEqual(self.q("logs", "a", "--queue", "y"), "y\n")
        self.assertEqual(self.job("a", "--queue", "z")["state"], "pending")
        self.assertEqual(self.jobs(), [])
        status = json.loads(self.q("status", "--json"))
        self.assertEqual({one["name"]: (one["pending"], one["completed"])
                          for one in status["queues"] if one["name"] != "default"},
                         {"x": (0, 1), "y": (0, 1), "z": (1, 0)})
        self.assertEqual((status["pending"], status["completed"]), (1, 2))

    def test_a_queue_without_jobs_is_no_error_and_an_unknown_one_is_3(self):
        self.q("enqueue", "true")
        self.assertEqual(self.jobs("--queue", "nowhere"), [])
        self.fails(3, "status", "--queue", "nowhere")

    def test_a_group_can_be_listed(self):
        for i in range(4):
            self.q("enqueue", "true", "--id", f"j{i}", "--group", "g" if i % 2 else "h")
        self.assertEqual([job["id"] for job in self.jobs("--group", "g")], ["j1", "j3"])
        self.assertEqual(self.job("j1")["group"], "g")
        self.drain()
        self.assertEqual(set(self.states().values()), {"completed"})


class Wait(ToldTest):
    def test_0_if_all_completed_and_1_if_one_did_not(self):
        self.q("enqueue", "true", "--id", "good")
        self.q("enqueue", "exit 7", "--id", "bad", "--max-retries", "1")
        self.q("enqueue", "true", "--id", "cancelled")
        self.q("cancel", "cancelled")
        self.start_workers(1)
        self.q("wait", "good")
        self.assertIn("bad is dead", self.fails(1, "wait", "good", "bad"))
        self.assertIn("cancelled", self.fails(1, "wait", "cancelled"))

    def test_124_after_the_timeout(self):
        self.q("enqueue", "true", "--id", "a")
        self.fails(124, "wait", "a", "--timeout", "0.1s")
        self.fails(124, "wait", "--all", "--timeout", "0.1s")
        self.fails(124, "wait", "--queue", "default", "--timeout", "0.1s")
        self.assertEqual(self.states(), {"a": "pending"})

    def test_it_hears_of_the_end_of_a_job_that_runs(self):
        self.q("enqueue", self.until_told(), "--id", "a")
        wait = self.in_background("wait", "a")
        self.start_workers(1)
        self.wait_for_begun("a")
        self.assertIsNone(wait.poll())
        self.tell()
        self.assertEqual(wait.wait(), 0)
        self.assertEqual(self.job("a")["state"], "completed")

    def test_propagate_ends_with_the_code_of_the_job(self):
        self.q("enqueue", "exit 7", "--id", "bad", "--max-retries", "1")
        self.q("enqueue", "true", "--id", "good")
        self.q("enqueue", "kill -KILL $$", "--id", "killed", "--max-retries", "1")
        self.start_workers(1)
        self.q("wait", "bad", "--propagate", code=7)
        self.q("wait", "good", "--propagate")
        self.q("wait", "killed", "--propagate", code=137)
        self.fails(2, "wait", "good", "bad", "--propagate")

    def test_fail_fast_does_not_wait_for_the_others(self):
        self.q("enqueue", "exit 1", "--id", "bad", "--max-retries", "1")
        self.q("enqueue", self.until_told(), "--id", "long")
        self.start_workers(1)
        self.fails(1, "wait", "long", "bad", "--fail-fast")
        self.assertIn(self.job("long")["state"], ("pending", "processing"))
        self.tell()
        self.q("wait", "long", "--fail-fast")

    def test_a_queue_and_all_of_them(self):
        self.q("enqueue", "true", "--id", "a")
        self.q("enqueue", self.until_told(), "--id", "b", "--queue", "x")
        self.q("enqueue", "true", "--id", "held", "--hold")
        self.start_workers(1, "--count", "2", "--queue", "default", "--queue", "x")
        self.q("wait", "--queue", "default")
        self.assertEqual(self.job("a")["state"], "completed")
        self.wait_for_begun("b")
        waits = [self.in_background("wait", "--queue", "x"), self.in_background("wait", "--all")]
        self.fails(124, "wait", "--all", "--timeout", "0.1s")
        self.assertEqual([wait.poll() for wait in waits], [None, None])
        self.tell()
        self.assertEqual([wait.wait() for wait in waits], [0, 0])
        self.fails(3, "wait", "--queue", "nowhere")
        self.fails(2, "wait")

    def test_a_queue_that_is_paused_has_nothing_left_that_could_run(self):
        self.q("enqueue", "true", "--id", "a")
        self.q("pause")
        self.q("wait", "--queue", "default", "--timeout", f"{PATIENCE}s")


if __name__ == "__main__":
    main()
