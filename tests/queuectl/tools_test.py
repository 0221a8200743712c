"""Schedules, health and figures."""
import json
import os
import re

from harness import ToldTest, main, wait_until
from waiting import pause


class Schedules(ToldTest):
    def schedules(self, *arguments):
        return json.loads(self.q("schedule", "list", "--json", *arguments))

    def test_it_is_added_listed_paused_resumed_and_removed(self):
        self.q("schedule", "add", "nightly", "echo $A", "--cron", "0 3 * * *", "--env", "A=1")
        self.q("schedule", "add", "often", "--cron", "*/5 * * * *", "--queue", "x", "--",
               "printf", "%s", "a b")
        nightly, often = sorted(self.schedules(), key=lambda one: one["name"])
        self.assertEqual((nightly["cron"], nightly["command"], nightly["paused"],
                          nightly["fired"]), ("0 3 * * *", "echo $A", False, 0))
        self.assertRegex(nightly["next_at"], r"T03:00:00\.000Z$")
        self.assertEqual(often["queue"], "x")
        self.assertIn("nightly", self.q("schedule", "list"))
        self.assertEqual([one["name"] for one in self.schedules("--queue", "x")], ["often"])
        self.q("schedule", "pause", "nightly")
        self.assertTrue(self.schedules("--queue", "default")[0]["paused"])
        self.q("schedule", "resume", "nightly")
        self.assertFalse(self.schedules("--queue", "default")[0]["paused"])
        # One of the same name takes its place.
        self.q("schedule", "add", "nightly", "true", "--cron", "@weekly")
        (nightly,) = self.schedules("--queue", "default")
        self.assertEqual((nightly["cron"], nightly["command"]), ("@weekly", "true"))
        self.q("schedule", "rm", "nightly")
        self.q("schedule", "rm", "often", "--queue", "x")
        self.assertEqual(self.schedules(), [])

    def test_what_makes_no_sense_is_refused(self):
        for cron in ("", "soon", "60 * * * *", "* * * *", "* * * * * *", "*/0 * * * *",
                     "1-0 * * * *", "@never", "0 0 30 2 *"):
            with self.subTest(cron=cron):
                self.fails(2, "schedule", "add", "a", "true", "--cron", cron)
        self.fails(2, "schedule", "add", "a", "true")
        self.fails(2, "schedule", "add", "a", "--cron", "@daily")
        self.fails(2, "schedule", "add", "a", "true", "--cron", "@daily", "--delay", "1h")
        self.fails(2, "schedule", "add")
        for verb in ("rm", "pause", "resume", "run"):
            self.fails(3, "schedule", verb, "nobody")
            self.fails(2, "schedule", verb)
        self.assertEqual(self.schedules(), [])

    def test_its_job_runs_when_told(self):
        self.q("schedule", "add", "always", 'echo "$A $PWD"', "--cron", "* * * * *", "--env",
               "A=1", "--label", "x", "--max-retries", "7")
        first = self.q("schedule", "run", "always").strip()
        second = self.q("schedule", "run", "always").strip()
        self.assertNotEqual(first, second)
        self.start_workers(1)
        self.q("wait", first, second)
        job = self.job(first)
        self.assertEqual((job["state"], job["schedule"], job["label"], job["max_retries"]),
                         ("completed", "always", "x", 7))
        self.assertEqual(self.q("logs", first), f"1 {self.home}\n")
        self.q("schedule", "rm", "always")
        self.assertEqual(self.job(first)["state"], "completed")

    def test_a_schedule_does_not_keep_a_drain(self):
        self.q("schedule", "add", "yearly", "true", "--cron", "@yearly")
        self.drain()


class Health(ToldTest):
    def damage(self):
        """Overwrites pages in the middle of the store."""
        self.enqueue_all({"id": f"j{i}", "command": "true " + "x" * 200} for i in range(500))
        file = os.path.join(self.db, "data.mdb")
        pages = os.stat(file).st_size // 4096
        with open(file, "r+b") as data:
            for page in range(4, pages - 1, 2):
                data.seek(page * 4096)
                data.write(b"\xa5" * 4096)

    def test_a_fresh_store_is_well(self):
        self.assertNotIn("BAD", self.q("doctor"))
        self.q("verify")
        self.assertIsInstance(json.loads(self.q("doctor", "--json")), list)

    def test_what_is_odd_is_noted_and_no_failure(self):
        self.q("enqueue", "exit 1", "--max-retries", "1")
        self.drain()
        self.q("enqueue", "true")
        self.q("pause")
        said = self.q("doctor")
        for word in ("dead", "paused", "no worker"):
            self.assertIn(word, said)

    def test_a_store_in_use_can_be_verified(self):
        self.enqueue_all({"command": self.until_told()} for _ in range(3))
        self.start_workers(1)
        wait_until(self.begun, "a job")
        self.q("verify")
        self.assertIn("1 worker running", self.q("doctor"))
        self.tell()

    def test_a_damaged_store_is_found(self):
        self.damage()
        done = self.run_q("verify")
        self.assertEqual(done.returncode, 5, done.stdout)
        self.assertNotEqual(done.stdout + done.stderr, b"")
        done = self.run_q("doctor")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(b"damaged", done.stdout)

    def test_a_single_damaged_page_is_found_and_has_no_other_effect(self):
        """Every command ends by itself, and calls it a matter of storage if it is one to it."""
        self.enqueue_all({"id": f"j{i}", "command": "true " + "x" * 100} for i in range(300))
        file = os.path.join(self.db, "data.mdb")
        with open(file, "rb") as data:
            whole = data.read()
        # Some may be of an older version of the store, and not in use.
        pages = [at for at in range(0, len(whole), 4096) if b"x" * 100 in whole[at:at + 4096]]
        codes = []
        for page in pages[2::len(pages) // 5]:
            with open(file, "wb") as data:
                data.write(whole[:page] + b"\xa5" * 4096 + whole[page + 4096:])
            for words in (["list"], ["status"], ["show", "j7"]):
                with self.subTest(page=page // 4096, words=words):
                    done = self.run_q(*words)
                    self.assertIn(done.returncode, (0, 5), done.stderr)
            codes.append(self.run_q("verify").returncode)
        self.assertIn(5, codes)
        self.assertLessEqual(set(codes), {0, 5})

    def test_verify_of_a_damaged_store_as_json_is_json(self):
        self.damage()
        done = self.run_q("verify", "--json")
        self.assertEqual(done.returncode, 5)
        json.loads(done.stdout)

    def test_settings_that_cannot_be_read_are_found(self):
        self.q("enqueue", "true")
        path = self.q("config", "path").strip()
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("nonsense = 5\n")
        done = self.run_q("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"nonsense", done.stdout)


class Figures(ToldTest):
    def test_metrics(self):
        self.q("enqueue", "true", "--id", "a")
        self.q("enqueue", "exit 1", "--id", "b", "--max-retries", "1")
        self.q("enqueue", "true", "--queue", 'odd "name"')
        self.drain()
        self.start_workers(1, "--count", "2")
        text = self.q("metrics", "--prometheus")
        name = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
        label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
        sample = re.compile(rf"({name})(?:{{({label}(?:,{label})*)}})? (-?[0-9.e+-]+|NaN|[+-]Inf)")
        values, typed, helped = {}, set(), set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                self.assertRegex(line, rf"^# TYPE {name} (gauge|counter|histogram|summary)$")
                self.assertNotIn(line.split()[2], typed)
                typed.add(line.split()[2])
            elif line.startswith("# HELP "):
                helped.add(line.split()[2])
            else:
                match = sample.fullmatch(line)
                self.assertIsNotNone(match, line)
                self.assertIn(match[1], typed)
                self.assertNotIn(match[1] + str(match[2]), values)
                values[match[1] + str(match[2])] = float(match[3])
        self.assertTrue(text.endswith("\n"))
        self.assertEqual(typed, helped)
        self.assertEqual(values['queuectl_jobsqueue="default",state="completed"'], 1)
        self.assertEqual(values['queuectl_jobsqueue="default",state="dead"'], 1)
        self.assertEqual(values['queuectl_jobsqueue="odd \\"name\\"",state="pending"'], 1)
        self.assertEqual(values["queuectl_workersNone"], 1)
        self.assertEqual(values["queuectl_worker_slotsNone"], 2)
        self.assertIn("queuectl_jobs", self.q("metrics"))
        self.assertIsInstance(json.loads(self.q("metrics", "--json")), list)

    def test_watch_tells_what_happens(self):
        self.q("enqueue", "true", "--id", "a")
        self.q("enqueue", "exit 1", "--id", "b", "--max-retries", "1")
        self.drain()
        events = [json.loads(line) for line in
                  self.q("watch", "--json", "--from-start", "-n", "6").splitlines()]
        self.assertEqual([(one["id"], one["from"], one["to"]) for one in events],
                         [("a", None, "pending"), ("b", None, "pending"),
                          ("a", "pending", "processing"), ("a", "processing", "completed"),
                          ("b", "pending", "processing"), ("b", "processing", "dead")])
        self.assertEqual(len(self.q("watch", "--from-start", "-n", "3").splitlines()), 3)

    def test_watch_waits_for_what_is_to_come(self):
        self.q("enqueue", "true", "--id", "before")
        watch = self.in_background("watch", "--json", "-n", "3")
        # It tells nothing before it listens: so enqueue until it does.
        number = 0
        while watch.poll() is None:
            self.q("enqueue", "true", "--id", f"j{number}")
            number += 1
            pause(0.05)
        output, errors = watch.communicate()
        self.assertEqual((watch.returncode, errors), (0, b""))
        events = [json.loads(line) for line in output.splitlines()]
        self.assertEqual(len(events), 3)
        self.assertNotIn("before", [one["id"] for one in events])
        self.assertEqual({one["to"] for one in events}, {"pending"})


if __name__ == "__main__":
    main()
