"""Disks and stores that are full or may not be written."""
import ctypes
import json
import os
import subprocess

from harness import PATIENCE, Stopwatch, ToldTest, main, wait_until


class FullStore(ToldTest):
    def test_it_says_how_to_make_it_larger(self):
        small = {"QUEUECTL_STORE_SIZE": "8M"}
        big = "true # " + "x" * 100_000
        self.q("enqueue", "true", "--id", "first", env=small)
        for i in range(100):
            done = self.run_q("enqueue", big, "--id", f"j{i}", env=small)
            if done.returncode != 0:
                break
        self.assertEqual(done.returncode, 5)
        self.assertIn(b"store-size", done.stderr)
        self.assertNotIn(f"j{i}", self.states())
        self.assertIn("store-size", self.run_q("doctor", env=small).stdout.decode())
        self.q("cancel", "first", env=small)  # What drains has room of its own.
        self.q("enqueue", big, "--id", f"j{i}", env={"QUEUECTL_STORE_SIZE": "16M"})
        self.q("enqueue", big, "--id", "larger for all", env=small)
        self.assertEqual(self.job("first")["state"], "cancelled")
        self.assertEqual(len(self.jobs("--state", "pending")), i + 2)
        self.verify()


class Disk(ToldTest):
    """A disk of its own, in a mount namespace of this process, so that nothing is left behind."""

    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.home, "disk")
        os.mkdir(self.disk)
        self.db = self.env["QUEUECTL_DB"] = os.path.join(self.disk, "db")
        new_namespace = 0x00020000
        if ctypes.CDLL(None).unshare(new_namespace) != 0:
            self.skipTest("cannot mount a disk (needs root)")
        for words in (["--make-rprivate", "/"],
                      ["-t", "tmpfs", "-o", "size=8m", "sluice-test", self.disk]):
            if subprocess.run(["mount", *words], check=False, capture_output=True).returncode != 0:
                self.skipTest("cannot mount a disk (needs root)")
        self.addCleanup(self.unmount)

    def unmount(self):
        self.end_workers()
        subprocess.run(["umount", "--lazy", self.disk], check=True)

    def test_a_full_disk_is_5_and_loses_nothing(self):
        filler = os.path.join(self.disk, "filler")
        with open(filler, "wb") as file:
            file.write(b"x" * (4 << 20))
        told = []
        watch = Stopwatch()
        while not watch.reached(PATIENCE):
            text = "".join(json.dumps({"id": f"{len(told)}-{i}", "command": "true " + "x" * 4000})
                           + "\n" for i in range(20))
            done = self.run_q("enqueue", "-", "--print-id", stdin=text)
            if done.returncode != 0:
                break
            told += done.stdout.decode().split()
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr.decode(), "^queuectl: .*(full|room|space)")
        self.assertGreater(len(told), 100)
        # What was refused is not there, what was acknowledged is; also in the eyes of a check.
        self.assertEqual({job["id"] for job in self.jobs()}, set(told))
        self.verify()
        self.fails(5, "enqueue", "-", stdin=text)
        os.remove(filler)
        self.q("enqueue", "echo there is room", "--id", "again")
        self.drain("--count", "4", "--quiet")
        jobs = self.jobs()
        self.assertEqual({job["id"] for job in jobs}, {*told, "again"})
        self.assertEqual({(job["state"], job["attempts"]) for job in jobs}, {("completed", 1)})
        self.assertEqual(self.q("logs", "again"), "there is room\n")
        self.verify()

    def fill(self):
        filler = os.path.join(self.disk, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                return filler

    def test_a_worker_that_cannot_start_on_a_full_disk_says_so(self):
        self.q("enqueue", "true", "--id", "a")
        filler = self.fill()
        self.fails(5, "worker", "start", "--drain")
        os.remove(filler)
        self.drain()
        self.assertEqual((self.job("a")["state"], self.job("a")["attempts"]), ("completed", 1))

    def test_a_disk_that_gets_full_under_a_worker_costs_no_job(self):
        self.q("enqueue", self.until_told(), "--id", "first")
        self.enqueue_all({"id": f"j{i}", "command": "echo hi"} for i in range(20))
        (worker,) = self.start_workers(1)
        self.wait_for_begun("first")
        filler = self.fill()
        self.tell()
        wait_until(lambda: worker.process.poll() is not None or "could not" in worker.said()
                   or not self.jobs("--state", "pending"), "it to meet the full disk")
        self.assertIn(worker.process.poll(), (None, 5), worker.said())
        os.remove(filler)
        self.drain("--quiet")
        jobs = self.jobs()
        self.assertEqual(len(jobs), 21)
        self.assertEqual({job["state"] for job in jobs}, {"completed"})
        for i in range(20):
            self.assertEqual(self.q("logs", f"j{i}"), "hi\n")
        self.verify()

    def test_a_read_only_disk_is_5(self):
        self.q("enqueue", "true", "--id", "a")
        subprocess.run(["mount", "-o", "remount,ro", self.disk], check=True)
        for words in (["enqueue", "true"], ["worker", "start", "--drain"], ["cancel", "a"]):
            with self.subTest(words=words):
                self.fails(5, *words)
        self.fails(5, "--db", os.path.join(self.disk, "other"), "enqueue", "true")
        subprocess.run(["mount", "-o", "remount,rw", self.disk], check=True)
        self.assertEqual(self.states(), {"a": "pending"})
        self.drain()
        self.assertEqual(self.states(), {"a": "completed"})


if __name__ == "__main__":
    main()
