"""What people do to jobs: cancel, retry, edit, hold, purge."""
import json
import os
from datetime import timedelta

from harness import ToldTest, alive, lines_of, main, wait_until
from waiting import utc_now


class People(ToldTest):
    """Hold, pause, edit, cancel, retry, purge."""

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.home, "out")

    def note(self, name):
        return f"echo {name} >> {self.out}"

    def probe(self, *arguments):
        """Another job comes and goes: whatever could run before has been begun."""
        name = self.q("enqueue", "true", *arguments).strip()
        self.q("wait", name, *arguments)

    def test_held_jobs_stay_until_they_are_unheld(self):
        self.q("enqueue", self.note("a"), "--id", "a", "--hold")
        self.q("enqueue", self.note("b"), "--id", "b", "--delay", "1h")
        self.q("hold", "b")
        self.start_workers(1)
        self.probe()
        self.assertEqual((self.job("a")["state"], self.job("b")["state"]), ("held", "held"))
        self.q("unhold", "a")
        self.q("wait", "a")
        self.assertEqual(lines_of(self.out), ["a"])
        self.q("unhold", "b")
        self.assertEqual(self.job("b")["state"], "scheduled")
        self.fails(4, "hold", "a")

    def test_many_are_held_and_unheld_by_label_and_group(self):
        for name, options in (("a", ["--label", "x"]), ("b", ["--label", "x", "--group", "g"]),
                              ("c", ["--group", "g"])):
            self.q("enqueue", "true", "--id", name, *options)
        self.q("hold", "--all", "--label", "x")
        self.assertEqual(self.states(), {"a": "held", "b": "held", "c": "pending"})
        self.q("unhold", "--all", "--group", "g")
        self.assertEqual(self.states(), {"a": "held", "b": "pending", "c": "pending"})
        self.q("unhold", "--all")
        self.assertEqual(set(self.states().values()), {"pending"})
        self.fails(2, "hold", "a", "--all")
        self.fails(2, "hold", "--all", "--state", "dead")

    def test_a_paused_queue_begins_nothing_and_lets_what_runs_go_on(self):
        self.start_workers(1, "--count", "2", "--queue", "default", "--queue", "other")
        self.q("enqueue", self.until_told(), "--id", "runs")
        self.wait_for_begun("runs")
        self.q("pause")
        self.q("enqueue", self.note("a"), "--id", "a")
        self.probe("--queue", "other")
        self.assertEqual((self.job("a")["state"], lines_of(self.out)), ("pending", []))
        status = json.loads(self.q("status", "--json"))
        self.assertEqual({one["name"]: one["paused"] for one in status["queues"]},
                         {"default": True, "other": False})
        self.assertIn("paused", self.q("status"))
        self.assertIn("paused", self.q("show", "a"))
        self.tell()
        self.q("wait", "runs")
        self.assertEqual(self.job("a")["state"], "pending")
        self.q("resume")
        self.q("wait", "a")

    def test_edit_changes_the_priority(self):
        for name in "abc":
            self.q("enqueue", self.note(name), "--id", name)
        self.q("edit", "c", "--priority", "-1")
        self.q("edit", "a", "--priority", "100")
        self.assertEqual(self.job("c")["priority"], -1)
        self.drain()
        self.assertEqual(lines_of(self.out), ["c", "b", "a"])

    def test_edit_changes_the_time(self):
        self.q("enqueue", self.note("a"), "--id", "a")
        self.q("enqueue", self.note("b"), "--id", "b", "--delay", "1h")
        at = (utc_now() + timedelta(days=365)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.q("edit", "a", "--at", at)
        self.q("edit", "b", "--delay", "0")
        job = self.job("a")
        self.assertEqual((job["state"], job["run_at"]), ("scheduled", at.replace("Z", ".000Z")))
        self.start_workers(1)
        self.q("wait", "b")
        self.q("edit", "a", "--at", "+0s")
        self.q("wait", "a")
        self.assertEqual(lines_of(self.out), ["b", "a"])

    def test_edit_changes_the_command_and_nothing_else(self):
        self.q("enqueue", "--id", "a", "--label", "x", "--priority", "3", "--env", "A=1", "--",
               "false")
        self.q("edit", "a", "--command", "echo $A there")
        self.drain()
        job = self.job("a")
        self.assertEqual((job["state"], job["command"], job["label"], job["priority"]),
                         ("completed", "echo $A there", "x", 3))
        self.assertEqual(self.q("logs", "a"), "1 there\n")
        self.fails(2, "edit", "a")

    def test_a_running_job_cannot_be_edited_or_held(self):
        self.q("enqueue", self.until_told(), "--id", "a")
        self.start_workers(1)
        self.wait_for_begun("a")
        self.fails(4, "edit", "a", "--command", "false")
        self.fails(4, "hold", "a")
        self.tell()
        self.q("wait", "a")

    def test_a_pending_job_is_cancelled(self):
        self.q("enqueue", self.note("a"), "--id", "a")
        self.q("enqueue", self.note("b"), "--id", "b", "--delay", "1h")
        self.q("enqueue", self.note("c"), "--id", "c", "--hold")
        self.q("cancel", "a", "b", "c")
        self.drain()
        self.assertEqual(set(self.states().values()), {"cancelled"})
        self.assertEqual(lines_of(self.out), [])
        self.fails(4, "cancel", "a")

    def check_cancel_of_a_running_job(self, before, *options):
        self.q("enqueue", f"{before} sleep 1000 & echo $QUEUECTL_JOB_ID $$ $! >> {self.began}; "
               "wait; wait", "--id", "a", *options)
        self.start_workers(1)
        self.wait_for_begun("a")
        pids = [int(pid) for pid in lines_of(self.began)[0].split()[1:]]
        self.assertTrue(all(alive(pid) for pid in pids))
        self.q("cancel", "a")
        self.fails(1, "wait", "a")
        wait_until(lambda: not any(alive(pid) for pid in pids), "its processes to die")
        self.assertEqual(self.job_processes(), [])
        self.probe()  # Its slot is free again.
        job = self.job("a")
        self.assertEqual((job["state"], job["attempts"]), ("cancelled", 1))

    def test_a_running_job_is_cancelled_with_its_processes(self):
        self.check_cancel_of_a_running_job("")

    def test_a_running_job_that_ignores_sigterm_is_cancelled(self):
        self.check_cancel_of_a_running_job("trap '' TERM;", "--kill-after", "0.3s")

    def test_a_job_that_is_retried_while_its_cancelled_run_ends_runs_once_at_a_time(self):
        lock = os.path.join(self.home, "lock")
        self.q("enqueue", f"trap '' TERM; exec 9>>{lock}; "
               f"flock -n 9 || echo overlap >> {self.out}; echo $QUEUECTL_JOB_ID >> {self.began}; "
               f"until test -e {self.home}/go; do sleep 0.05; done", "--id", "a",
               "--kill-after", "1h")
        self.start_workers(2)
        self.wait_for_begun("a")
        self.q("cancel", "a")
        self.q("retry", "a")
        wait_until(lambda: len(self.begun()) == 2, "the second run")
        self.tell()
        self.q("wait", "a")
        self.assertEqual(lines_of(self.out), [])
        self.assertEqual(self.job_processes(), [])

    def test_many_are_cancelled_by_label(self):
        for i in range(6):
            self.q("enqueue", "true", "--id", f"j{i}", "--label", "odd" if i % 2 else "even")
        self.assertEqual([job["id"] for job in self.jobs("--label", "odd")], ["j1", "j3", "j5"])
        self.q("cancel", "--all", "--label", "odd")
        self.assertEqual([job["id"] for job in self.jobs("--state", "cancelled")],
                         ["j1", "j3", "j5"])
        self.assertEqual([job["id"] for job in self.jobs("--state", "pending")],
                         ["j0", "j2", "j4"])
        self.q("cancel", "--all", "--state", "pending")
        self.assertEqual(set(self.states().values()), {"cancelled"})
        self.q("cancel", "--all")

    def test_retry_of_dead_and_cancelled_jobs(self):
        good = os.path.join(self.home, "good")
        self.q("enqueue", f"test -e {good}", "--id", "a", "--max-retries", "1")
        self.q("enqueue", "true", "--id", "b")
        self.q("cancel", "b")
        self.drain()
        self.q("retry", "a", "b")
        self.assertEqual({(job["state"], job["attempts"]) for job in self.jobs()},
                         {("pending", 0)})
        self.tell("good")
        self.drain()
        self.assertEqual(set(self.states().values()), {"completed"})
        self.assertEqual(len(self.job("a")["runs"]), 2)
        self.fails(4, "retry", "a")
        self.q("retry", "a", "--force")
        self.drain()
        self.assertEqual(len(self.job("a")["runs"]), 3)

    def test_retry_may_go_on_counting(self):
        self.q("enqueue", "exit 1", "--id", "a", "--max-retries", "1")
        self.drain()
        self.q("retry", "a", "--keep-attempts")
        self.drain()
        job = self.job("a")
        self.assertEqual((job["state"], job["attempts"]), ("dead", 2))
        self.q("retry", "--all", "--state", "dead")
        self.assertEqual(self.states(), {"a": "pending"})

    def logs(self):
        return [name for _, _, names in os.walk(os.path.join(self.db, "logs")) for name in names]

    def test_purge_removes_jobs_and_their_logs(self):
        for i in range(5):
            self.q("enqueue", "echo hi", "--id", f"done{i}")
        self.q("enqueue", "echo no; exit 1", "--id", "dead", "--backoff-base", "0")
        self.q("enqueue", "true", "--id", "cancelled")
        self.q("cancel", "cancelled")
        self.drain()
        self.q("enqueue", "true", "--id", "pending")
        self.assertEqual(len(self.logs()), 8)
        self.q("purge", "--older-than", "1h")
        self.assertEqual(len(self.jobs()), 8)
        self.q("purge")
        self.assertEqual(self.states(), {"dead": "dead", "pending": "pending"})
        self.assertEqual(len(self.logs()), 3)
        self.fails(3, "logs", "done0")
        self.fails(2, "purge", "--state", "pending")
        self.q("purge", "--state", "dead")
        self.assertEqual((self.states(), self.logs()), ({"pending": "pending"}, []))
        self.q("enqueue", "true", "--id", "done0")
        self.verify()


if __name__ == "__main__":
    main()
