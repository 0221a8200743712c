"""Schedules, copies, health, figures, completion, the manual; and the defects of the seed."""
import json
import os
import re
import shutil
import subprocess
import time

from harness import LONG, QUEUECTL, ToldTest, lines_of, main, wait_until


def installed(name):
    return shutil.which(name) is not None


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
        self.q("enqueue", "true", "--id", "a", "--ttl", "1s")
        self.carry_over()
        time.sleep(1)  # What is not to be seen cannot be waited for.
        self.in_copy("worker", "start", "--drain", "--quiet")
        self.assertEqual(json.loads(self.in_copy("show", "a", "--json"))[0]["state"], "dead")

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
            codes.append(self.run_q("verify", timeout=20).returncode)
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
            time.sleep(0.05)
        output, errors = watch.communicate()
        self.assertEqual((watch.returncode, errors), (0, b""))
        events = [json.loads(line) for line in output.splitlines()]
        self.assertEqual(len(events), 3)
        self.assertNotIn("before", [one["id"] for one in events])
        self.assertEqual({one["to"] for one in events}, {"pending"})


class Completion(ToldTest):
    def setUp(self):
        super().setUp()
        bin_folder = os.path.join(self.home, "bin")
        os.mkdir(bin_folder)
        os.symlink(os.path.abspath(QUEUECTL), os.path.join(bin_folder, "queuectl"))
        self.env["PATH"] = f"{bin_folder}:{self.env['PATH']}"

    def check_syntax(self, shell, *options):
        if not installed(shell):
            self.skipTest(f"{shell} is not installed")
        done = subprocess.run([shell, *options], input=self.q("completion", shell).encode(),
                              capture_output=True, env=self.env, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_the_script_for_bash_is_one(self):
        self.check_syntax("bash", "-n")

    def test_the_script_for_zsh_is_one(self):
        self.check_syntax("zsh", "-n")

    def test_the_script_for_fish_is_one(self):
        self.check_syntax("fish", "--no-execute")

    def test_another_shell_is_refused(self):
        self.fails(2, "completion")
        self.assertIn("bash", self.fails(2, "completion", "bahs"))

    def complete(self, *words):
        """What bash offers for the last word."""
        script = ('source <(queuectl completion bash); COMP_WORDS=("$@"); '
                  'COMP_CWORD=$(($# - 1)); _queuectl; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", "queuectl", *words],
                              capture_output=True, env=self.env, cwd=self.home, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), words)
        return [word for word in done.stdout.decode().splitlines() if word]

    def test_real_words(self):
        if not installed("bash"):
            self.skipTest("bash is not installed")
        self.q("enqueue", "true", "--id", "build-1")
        self.q("enqueue", "true", "--id", "build-2", "--queue", "nightly")
        self.q("enqueue", "true", "--id", "deploy")
        self.assertEqual(self.complete("enq"), ["enqueue"])
        self.assertEqual(self.complete("sta"), ["status"])
        self.assertTrue({"enqueue", "worker", "dlq", "help", "ls"} <= set(self.complete("")))
        self.assertEqual(sorted(self.complete("worker", "")), ["list", "scale", "start", "stop"])
        self.assertEqual(self.complete("worker", "sto"), ["stop"])
        self.assertEqual(self.complete("worker", "start", "--dr"), ["--drain"])
        self.assertEqual(self.complete("enqueue", "true", "--max"), ["--max-retries"])
        self.assertEqual(self.complete("add", "true", "--max"), ["--max-retries"])
        self.assertEqual(self.complete("list", "--state", "comp"), ["completed"])
        self.assertEqual(self.complete("list", "--state", "p"), ["processing", "pending"])
        self.assertEqual(self.complete("show", "b"), ["build-1"])
        self.assertEqual(sorted(self.complete("cancel", "")), ["build-1", "deploy"])
        self.assertEqual(self.complete("list", "--queue", "n"), ["nightly"])
        self.assertEqual(self.complete("config", "set", "max"), ["max-retries"])
        self.assertEqual(self.complete("enqueue", "--cwd", "bi"), ["bin"])
        self.assertEqual(self.complete("nonsense", ""), [])

    def test_the_jobs_of_the_store_and_queue_in_question(self):
        other = os.path.join(self.home, "other")
        self.q("--db", other, "enqueue", "true", "--id", "elsewhere")
        self.q("enqueue", "true", "--id", "here", "--queue", "nightly")
        self.assertEqual(self.complete("show", "--db", other, "els"), ["elsewhere"])
        self.assertEqual(self.complete("show", "--queue", "nightly", "h"), ["here"])

    def test_options_before_the_command(self):
        self.assertEqual(self.complete("--db", "bin", "enq"), ["enqueue"])
        self.assertEqual(self.complete("--qu"), ["--quiet"])


class Manual(ToldTest):
    def test_the_manual_page_has_no_mistakes(self):
        if not installed("groff"):
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=self.q("man").encode(),
                              capture_output=True, env=self.env, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        # Bold and the like are letters struck over.
        text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())
        for word in ("enqueue", "worker start", "--max-retries", "keep-logs", "EXIT STATUS"):
            self.assertIn(word, text)

    def test_man_shows_it(self):
        if not installed("man") or not installed("groff"):
            self.skipTest("man is not installed")
        page = os.path.join(self.home, "queuectl.1")
        with open(page, "w", encoding="utf-8") as file:
            file.write(self.q("man"))
        done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True,
                              env={**self.env, "MANPAGER": "cat", "MANWIDTH": "80"}, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"queuectl", done.stdout)

    def test_the_version(self):
        self.assertRegex(self.q("--version"), r"^queuectl \d+\.\d+\.\d+\n$")
        self.assertRegex(self.q("-q", "--version"), r"^queuectl \d+\.\d+\.\d+\n$")

    def test_the_version_is_an_option_of_every_command(self):
        self.assertEqual(self.q("list", "--version"), self.q("--version"))

    def test_every_command_explains_itself(self):
        commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ",
                              self.q("--help").partition("Commands:")[2], re.MULTILINE)
        self.assertGreater(len(commands), 40)
        for command in commands:
            with self.subTest(command=command):
                text = self.q(*command.split(), "--help")
                self.assertIn(f"Usage: queuectl {command}", text)
                self.assertEqual(self.q("help", *command.split()), text)

    def test_groups_of_commands_explain_themselves(self):
        for group in ("worker", "dlq", "config", "schedule"):
            with self.subTest(group=group):
                self.assertIn(f"{group} list", self.q(group, "--help"))


class Seed(ToldTest):
    """Defects of the program that this one replaces. Those of signals, kills and stops, of time
    limits and of output are tested beside what they belong to."""

    def test_an_error_in_the_worker_leaves_no_job_behind(self):
        """Defect 6: an error in the worker set `failed`, which nothing ever picked up."""
        logs = os.path.join(self.db, "logs")
        self.q("enqueue", "true", "--id", "before")
        self.drain()
        shutil.rmtree(logs)
        with open(logs, "w", encoding="utf-8"):
            pass
        self.q("enqueue", "echo there", "--id", "a")
        (worker,) = self.start_workers(1)
        wait_until(lambda: "could not" in worker.said(), "the worker to fail")
        job = self.job("a")
        self.assertNotIn(job["state"], ("dead", "completed", "cancelled"))
        self.assertEqual(job["exit_code"], None)
        os.remove(logs)
        wait_until(lambda: self.job("a")["state"] == "completed"
                   or worker.process.poll() is not None, "the job, or the end of the worker")
        self.assertIsNone(worker.process.poll(), worker.said())
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))
        self.assertEqual(self.q("logs", "a"), "there\n")

    def test_jobs_overtake_a_long_queue(self):
        """Defect 9: each claim sorted the whole backlog."""
        number = 20_000
        self.enqueue_all({"command": "false", "id": f"old-{i}"} for i in range(number))
        out = os.path.join(self.home, "out")
        self.enqueue_all({"command": f"echo $QUEUECTL_JOB_ID >> {out}", "id": f"new-{i}",
                          "priority": -1} for i in range(50))
        self.q("enqueue", f"{QUEUECTL} --db {self.db} pause; echo last >> {out}", "--id", "pause",
               "--priority", "-1")
        begin = time.monotonic()
        (worker,) = self.start_workers(1)
        wait_until(lambda: "last" in lines_of(out), "the last of the new ones")
        print(f"figure queuectl.claim_before_20000_ms {(time.monotonic() - begin) / 51 * 1000:.2f}")
        self.assertEqual(lines_of(out), [f"new-{i}" for i in range(50)] + ["last"])
        self.q("worker", "stop")
        self.assertEqual(worker.wait(), 0)
        self.assertEqual(len(self.jobs("--state", "completed")), 51)

    def active(self):
        return json.loads(self.q("status", "--json"))["active_workers"]

    def test_status_says_that_no_worker_runs(self):
        """Defect 3: it only assumed that workers run."""
        self.q("enqueue", "true")
        status = json.loads(self.q("status", "--json"))
        self.assertEqual((status["active_workers"], status["pending"]), (0, 1))
        (worker,) = self.start_workers(1)
        self.assertEqual(self.active(), 1, (worker.process.poll(), worker.said()))
        worker.kill()
        # A process that it had just begun to start may hold its lock for a moment longer.
        wait_until(lambda: self.active() == 0, "the status to tell")


if __name__ == "__main__":
    main()
