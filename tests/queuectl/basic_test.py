"""Enqueue, run, look: what everybody does on the first day."""
import os
import subprocess

from harness import QUEUECTL, QueuectlTest, lines_of, main, wait_until
from waiting import now_ms, pause


class Basic(QueuectlTest):
    def test_a_job_runs_and_its_output_is_kept(self):
        self.assertEqual(self.q("enqueue", "echo hi; echo there >&2", "--id", "a"), "a\n")
        self.drain()
        job = self.job("a")
        self.assertEqual((job["state"], job["exit_code"], job["attempts"]), ("completed", 0, 1))
        self.assertEqual(self.q("logs", "a"), "hi\nthere\n")

    def test_the_forms_of_the_assignment(self):
        self.q("enqueue", '{"id":"job1","command":"sleep 0.1"}')
        self.q("enqueue", "echo hi", "--id", "a")
        self.q("enqueue", "--id", "argv", "--", "printf", "%s|", "two words", "$HOME")
        pending = self.jobs("--state", "pending")
        self.assertEqual([job["id"] for job in pending], ["job1", "a", "argv"])
        self.drain("--count", "2")
        self.assertEqual(set(self.states().values()), {"completed"})
        self.assertEqual(self.q("logs", "argv"), "two words|$HOME|")
        self.q("dlq", "list")
        self.q("config", "set", "max-retries", "3")

    def test_a_listed_job_has_every_member(self):
        self.q("enqueue", "true", "--id", "a")
        (job,) = self.jobs()
        for name in ("id", "command", "state", "attempts", "max_retries", "priority", "created_at",
                     "updated_at", "run_at", "exit_code", "last_error", "worker"):
            self.assertIn(name, job)
        self.assertRegex(job["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_worker_in_the_foreground_runs_jobs_as_they_come(self):
        worker = self.start_worker("--count", "3")
        for name in "abc":
            self.q("enqueue", f"echo {name}", "--id", name)
        self.q("wait", "a", "b", "c")
        self.assertEqual(set(self.states().values()), {"completed"})
        self.q("worker", "stop")
        self.assertEqual(worker.wait(), 0)

    def test_it_survives_a_restart(self):
        for name in "abc":
            self.q("enqueue", "true", "--id", name)
        self.assertEqual(len(self.jobs()), 3)
        self.drain()
        self.drain()
        self.assertEqual([job["attempts"] for job in self.jobs()], [1, 1, 1])

    def test_jobs_run_in_order_within_a_priority_and_lower_numbers_first(self):
        out = os.path.join(self.home, "order")
        for name in ("a", "b", "c"):
            self.q("enqueue", f"echo {name} >> {out}", "--id", name)
        self.q("enqueue", f"echo first >> {out}", "--priority", "-10")
        self.drain()
        self.assertEqual(lines_of(out), ["first", "a", "b", "c"])

    def test_the_job_sees_where_it_runs_and_what_it_is(self):
        folder = os.path.join(self.home, "some folder")
        os.mkdir(folder)
        self.q("enqueue", 'pwd; echo "$COLOUR $QUEUECTL_JOB_ID $QUEUECTL_ATTEMPT $QUEUECTL_QUEUE '
               '$QUEUECTL_SLOT ${QUEUECTL_WORKER:+worker}"', "--id", "a", cwd=folder,
               env={"COLOUR": "blue"})
        self.drain()
        self.assertEqual(self.q("logs", "a"), f"{folder}\nblue a 1 default 0 worker\n")

    def test_options_of_the_environment(self):
        self.q("enqueue", "echo $A-$B", "--id", "a", "--env", "A=1", env={"A": "x", "B": "y"})
        self.q("enqueue", "echo $A-$B-$HOME", "--id", "b", "--clean-env", "--env", "A=1")
        self.drain()
        self.assertEqual(self.q("logs", "a"), "1-y\n")
        self.assertEqual(self.q("logs", "b"), "1--\n")

    def test_jobs_inherit_no_descriptors_but_the_lock_and_read_nothing(self):
        self.q("enqueue", "ls /proc/self/fd; cat; readlink /proc/self/fd/0", "--id", "a")
        self.drain()
        # 4 is the folder that ls itself reads.
        self.assertEqual(self.q("logs", "a").split(), ["0", "1", "2", "3", "4", "/dev/null"])

    def test_a_job_that_is_enqueued_starts_at_once(self):
        self.start_worker()
        wait_until(lambda: self.q("worker", "list", "--json") != "[]\n", "the worker")
        out = os.path.join(self.home, "started")
        late = []
        for i in range(20):
            pause(0.02)
            begin = now_ms()
            self.q("enqueue", f"date +%s.%N >> {out}", "--id", f"j{i}")
            wait_until(lambda: len(lines_of(out)) > i, "the job")
            late.append(float(lines_of(out)[i]) * 1000 - begin)
        print(f"figure queuectl.enqueue_to_start_ms_median {sorted(late)[10]:.1f}")

    def test_a_version_and_help(self):
        self.assertRegex(self.q("--version"), r"^queuectl \d+\.\d+\.\d+\n$")
        self.assertIn("worker start", self.q("--help"))
        self.assertIn("--max-retries", self.q("enqueue", "--help"))
        self.assertIn("--drain", self.q("help", "worker", "start"))

    def test_a_reader_that_goes_away_is_no_error(self):
        for i in range(50):
            self.q("enqueue", "true", "--id", f"job-{i}")
        done = subprocess.run(["sh", "-c", f"{QUEUECTL} list | head -1"], env=self.env,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    main()
