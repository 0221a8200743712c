"""Backups, compacted stores, exports."""
import itertools
import json
import os

from harness import LONG, ToldTest, main, wait_past, wait_until


class Copies(ToldTest):
    def setUp(self):
        super().setUp()
        self.copy = os.path.join(self.home, "copy")

    def in_copy(self, *arguments, **options):
        return self.q("--db", self.copy, *arguments, **options)

    def test_a_backup_while_a_worker_runs(self):
        self.q("enqueue", self.until_told(), "--id", "runs")
        self.enqueue_all({"id": f"j{i}", "command": "true"} for i in range(50))
        self.q("schedule", "add", "nightly", "true", "--cron", "@daily")
        self.start_workers(1)
        self.wait_for_begun("runs")
        self.q("backup", self.copy)
        self.assertEqual(json.loads(self.in_copy("list", "--json")), self.jobs())
        self.assertEqual(len(json.loads(self.in_copy("schedule", "list", "--json"))), 1)
        self.in_copy("verify")
        # The copy is a store of its own: what was running runs again there, and goes on here.
        self.tell()
        self.in_copy("worker", "start", "--drain", "--quiet")
        jobs = json.loads(self.in_copy("list", "--json"))
        self.assertEqual({job["state"] for job in jobs}, {"completed"})
        self.q("wait", "--all")
        self.assertEqual({job["attempts"] for job in self.jobs()}, {1})

    def test_a_backup_goes_into_a_new_or_empty_folder_only(self):
        self.q("enqueue", "true", "--id", "a")
        os.mkdir(self.copy)
        self.q("backup", self.copy)
        self.fails(4, "backup", self.copy)
        self.fails(4, "backup", self.db)
        self.fails(2, "backup")
        self.assertEqual([job["id"] for job in json.loads(self.in_copy("list", "--json"))], ["a"])

    def test_compact_gives_space_back(self):
        number = 20_000 if LONG else 3_000
        self.enqueue_all({"id": f"j{i}", "command": "true " + "x" * 300} for i in range(number))
        self.q("enqueue", "true", "--id", "stays", "--priority", "-5")
        self.q("cancel", "--all", "--state", "pending")
        self.q("retry", "stays")
        self.q("purge")
        file = os.path.join(self.db, "data.mdb")
        before = os.stat(file).st_size
        (worker,) = self.start_workers(1)
        self.assertIn("worker stop", self.fails(5, "compact"))
        self.q("wait", "stays")
        self.q("worker", "stop")
        self.assertEqual(worker.wait(), 0)
        self.q("compact")
        self.assertLess(os.stat(file).st_size, before / 4)
        self.assertEqual(self.states(), {"stays": "completed"})
        self.verify()
        self.q("enqueue", "echo still", "--id", "new")
        self.drain()
        self.assertEqual(self.q("logs", "new"), "still\n")

    def carry_over(self, *arguments, code=0):
        done = self.run_q("export", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stdout.splitlines():
            self.assertIsInstance(json.loads(line), dict)
        self.in_copy("import", "-", stdin=done.stdout, code=code)
        return json.loads(self.in_copy("list", "--json"))

    def test_jobs_go_to_another_store(self):
        self.q("enqueue", 'echo "$A $B $PWD"', "--id", "plain", "--env", "A=1", "--priority", "3",
               "--label", "x", "--group", "g", "--timeout", "90s", "--kill-after", "2s",
               "--max-retries", "9", "--backoff-base", "3", "--slots", "2", "--on-done", "true",
               "--dedup-key", "k", "--retry-on", "75", env={"B": "two\nlines"})
        self.q("enqueue", "--id", "words", "--clean-env", "--", "printf", "%s|", "a b", "$HOME")
        self.q("enqueue", "true", "--id", "held", "--hold")
        self.q("enqueue", "true", "--id", "later", "--delay", "1h")
        self.q("enqueue", "true", "--id", "after", "--after", "plain,held")
        self.q("enqueue", "true", "--id", "after-any", "--after-any", "plain")
        self.q("enqueue", "true", "--id", "plain", "--queue", "other")
        self.q("enqueue", "true", "--id", "gone")
        self.q("cancel", "gone")
        here = {job["id"]: job for job in self.jobs()}
        there = {job["id"]: job for job in self.carry_over()}
        self.assertEqual(set(there), set(here) - {"gone"})
        for name, job in there.items():
            for member in set(job) | set(here[name]):
                if member not in ("created_at", "updated_at") and \
                        (member, job["state"]) not in (("run_at", "pending"), ("run_at", "held"),
                                                       ("run_at", "waiting")):
                    self.assertEqual(job.get(member), here[name].get(member), (name, member))
        self.assertEqual([job["id"] for job in
                          json.loads(self.in_copy("list", "--queue", "other", "--json"))],
                         ["plain"])
        self.fails(4, "--db", self.copy, "enqueue", "true", "--dedup-key", "k")
        self.fails(4, "--db", self.copy, "import", "-", stdin=self.q("export"))
        self.in_copy("import", "-", "--skip-existing", stdin=self.q("export"))
        self.in_copy("cancel", "later")
        self.in_copy("worker", "start", "--drain", "--quiet", "--count", "2")
        self.assertEqual(self.in_copy("logs", "plain"), f"1 two\nlines {self.home}\n")
        self.assertEqual(self.in_copy("logs", "words"), "a b|$HOME|")
        states = {job["id"]: job["state"] for job in
                  json.loads(self.in_copy("list", "--json")) if "label" not in job}
        self.assertEqual(states["after"], "waiting")
        self.assertEqual(states["after-any"], "completed")
        self.in_copy("unhold", "held")
        self.in_copy("worker", "start", "--drain", "--quiet")
        self.assertEqual(json.loads(self.in_copy("show", "after", "--json"))[0]["state"],
                         "completed")

    def test_a_held_job_keeps_what_it_waits_for(self):
        self.q("enqueue", "true", "--id", "a", "--hold")
        self.q("enqueue", "true", "--id", "b", "--hold", "--after", "a")
        self.carry_over()
        self.in_copy("unhold", "b")
        self.assertEqual({job["id"]: job["state"] for job in
                          json.loads(self.in_copy("list", "--json"))},
                         {"a": "held", "b": "waiting"})

    def test_what_waits_for_a_job_that_is_over_goes_too(self):
        self.q("enqueue", "true", "--id", "over")
        self.q("enqueue", "true", "--id", "held", "--hold")
        self.q("enqueue", "true", "--id", "waits", "--after", "over,held")
        self.drain()
        jobs = self.carry_over()
        self.assertEqual({job["id"]: job["state"] for job in jobs},
                         {"held": "held", "waits": "waiting"})
        self.in_copy("unhold", "held")
        self.in_copy("worker", "start", "--drain", "--quiet")
        self.assertEqual({job["state"] for job in json.loads(self.in_copy("list", "--json"))},
                         {"completed"})

    def test_an_array_keeps_its_indices(self):
        self.q("enqueue", "echo $QUEUECTL_INDEX", "--array", "1-3%1", "--id", "a")
        self.carry_over()
        self.in_copy("worker", "start", "--drain", "--quiet")
        self.assertEqual([self.in_copy("logs", f"a.{i}") for i in (1, 2, 3)],
                         ["1\n", "2\n", "3\n"])

    def test_a_time_to_live_is_kept(self):
        tries = itertools.count()

        def carried_over():
            """The id of a job that was copied before its time was over."""
            name = f"a{next(tries)}"
            self.q("enqueue", "true", "--id", name, "--ttl", "1s")
            states = {job["id"]: job["state"] for job in self.carry_over()}
            return states.get(name) == "pending" and name

        name = wait_until(carried_over, "a job to be copied in time")
        wait_past(1.1)  # What is not to be seen cannot be waited for.
        self.in_copy("worker", "start", "--drain", "--quiet")
        self.assertEqual(json.loads(self.in_copy("show", name, "--json"))[0]["state"], "dead")

    def test_odd_bytes_are_kept_or_refused_but_never_changed(self):
        odd = b"\xff\xfe"
        self.q("enqueue", "--id", "words", "--", "printf", "%s", odd)
        self.q("enqueue", "printf '%s' \"$ODD\"", "--id", "env", "--env", b"ODD=" + odd)
        done = self.run_q("export")
        if done.returncode == 0:
            self.in_copy("import", "-", stdin=done.stdout)
            self.in_copy("worker", "start", "--drain", "--quiet")
            for name in ("words", "env"):
                self.assertEqual(self.run_q("--db", self.copy, "logs", name).stdout, odd)

    def test_finished_jobs_go_too_if_asked(self):
        self.q("enqueue", "true", "--id", "a")
        self.drain()
        self.assertEqual(self.q("export"), "")
        self.assertEqual(json.loads(self.q("export", "--all"))["state"], "completed")

    def test_a_file_that_is_no_export(self):
        self.fails(2, "import", "-", stdin="nonsense")
        self.fails(2, "import")
        self.fails(3, "import", os.path.join(self.home, "nowhere"))


if __name__ == "__main__":
    main()
