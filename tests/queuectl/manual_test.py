"""Completion, the manual page, and what the original promised."""
import json
import os
import re
import shutil
import subprocess

from harness import QUEUECTL, Stopwatch, ToldTest, lines_of, main, wait_until
from shells import bash_offers, fish_offers, zsh_line


def installed(name):
    return shutil.which(name) is not None


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
        return bash_offers("queuectl", *words, env=self.env, cwd=self.home)

    def fish(self, *words):
        return fish_offers("queuectl", *words, env=self.env, cwd=self.home)

    def zsh(self, *words, **options):
        return zsh_line("queuectl", *words, env=self.env, cwd=self.home, **options)

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
        self.assertEqual(self.complete("completion", "b"), ["bash"])
        self.assertEqual(self.complete("nonsense", ""), [])

    def test_fish_offers_them_too(self):
        if not installed("fish"):
            self.skipTest("fish is not installed")
        self.q("enqueue", "true", "--id", "build-1")
        self.assertEqual(self.fish("enq"), ["enqueue"])
        self.assertEqual(self.fish("worker", "st"), ["start", "stop"])
        self.assertEqual(self.fish("worker", "stop", "st"), [])
        self.assertEqual(self.fish("worker", "start", "--dr"), ["--drain"])
        self.assertEqual(self.fish("add", "--max-r"), ["--max-retries"])
        self.assertEqual(self.fish("--db", self.db, "list", "--state", "comp"), ["completed"])
        self.assertEqual(self.fish("show", "b"), ["build-1"])

    def test_zsh_offers_them_too(self):
        if not installed("zsh"):
            self.skipTest("zsh is not installed")
        self.q("enqueue", "true", "--id", "build-1")
        self.assertEqual(self.zsh("worker", "sta"), "queuectl worker start ")
        self.assertEqual(self.zsh("worker", "sta", installed=True), "queuectl worker start ")
        self.assertEqual(self.zsh("show", "b"), "queuectl show build-1 ")

    def test_names_are_not_run(self):
        trap = os.path.join(self.home, "sprung")
        name = f"x$(touch {trap})`touch {trap}`;'"
        self.q("enqueue", "true", "--id", name)
        os.mkdir(os.path.join(self.home, "x$(touch sprung)"))
        quoted = {"bash": lambda: self.complete("show", "x"),
                  "zsh": lambda: [self.zsh("show", "x")[len("queuectl show "):].rstrip()]}
        for shell, offered in quoted.items():
            if installed(shell):
                done = subprocess.run([shell, "-c", f"printf %s {offered()[0]}"],
                                      capture_output=True, check=True, cwd=self.home)
                self.assertEqual(done.stdout.decode(), name)
        if installed("fish"):
            self.assertEqual(self.fish("show", "x"), [name])
        self.assertEqual(self.complete("enqueue", "--cwd", "x"), [r"x\$\(touch\ sprung\)"])
        self.assertFalse(os.path.exists(trap))

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

    def test_no_word_is_no_command(self):
        self.assertIn('there is no command ""', self.fails(2, ""))
        self.assertIn('there is no command ""', self.fails(2, "", "list"))

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
        watch = Stopwatch()
        (worker,) = self.start_workers(1)
        wait_until(lambda: "last" in lines_of(out), "the last of the new ones")
        print(f"figure queuectl.claim_before_20000_ms {watch.shown(0.051, 2)}")
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
