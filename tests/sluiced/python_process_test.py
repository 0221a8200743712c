"""The worker of the Python client as a process: signals, and the example of the README."""
import os
import signal
import subprocess
import sys

from harness import PATIENCE, main, wait_until
from python_client import FOLDER, Proxy, WorkerTest

PROGRAM = """
import logging, os, sys, sluice
logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")

def handler(job):
    os.write(1, b"begun\\n")  # At once: two threads may say it.
    while not os.path.exists(job.payload) and not job.lost.wait(0.01):
        pass
    return "lost" if job.lost.is_set() else "done"

sluice.Worker(sluice.Client(sys.argv[1]), sys.argv[2], handler, slots=2).run()
print("ended", flush=True)
"""


class Processes(WorkerTest):
    def start_program(self, program, *arguments):
        process = subprocess.Popen([sys.executable, "-u", "-c", program, *arguments],
                                   env={**os.environ, "PYTHONPATH": FOLDER}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_worker(self, url=None):
        url = url or f"http://127.0.0.1:{self.service.port}"
        return self.start_program(PROGRAM, url, self.queue)

    def read_until(self, process, word):
        for line in process.stdout:
            if word in line:
                return
        raise AssertionError(f"it has never said {word!r}")

    def test_the_first_signal_drains(self):
        self.keep()
        go = os.path.join(self.service.home, "go")
        self.sluice.enqueue_many(self.queue, [{"id": str(id), "payload": go} for id in range(3)])
        process = self.start_worker()
        for _ in range(2):
            self.read_until(process, "begun")
        process.send_signal(signal.SIGTERM)
        self.read_until(process, "stopping")
        open(go, "w", encoding="utf-8").close()
        self.read_until(process, "ended")
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(self.client.counts(self.queue), {"done": 2, "ready": 1})
        self.assertEqual(self.told("0")["result"], "done")

    def test_the_second_signal_gives_back(self):
        self.sluice.enqueue(self.queue, "/nowhere", id="j")
        process = self.start_worker()
        self.read_until(process, "begun")
        process.send_signal(signal.SIGINT)
        self.read_until(process, "stopping")
        process.send_signal(signal.SIGINT)
        self.read_until(process, "ended")
        self.assertEqual(process.wait(PATIENCE), 0)
        self.check_that_nothing_is_kept()
        self.assertEqual(self.told("j"), {"lane": "ready", "attempts": 0})

    def test_the_second_signal_waits_for_the_last_claim(self):
        proxy = Proxy(self)
        deadline = lambda: self.sluice.job(self.queue, "j").get("deadline_at")
        # The third claim is made because of the first signal, and gets what the second gives back.
        proxy.expect(None, None, lambda: wait_until(lambda: deadline() != first, "j to be back"))
        self.sluice.enqueue(self.queue, "/nowhere", id="j")
        process = self.start_worker(proxy.url)
        wait_until(lambda: len(proxy.asked) == 2, "a claim that waits")
        first = deadline()
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: len(proxy.asked) == 3, "a claim that does not")
        process.send_signal(signal.SIGTERM)
        self.read_until(process, "ended")
        self.check_that_nothing_is_kept()
        self.assertEqual(self.told("j"), {"lane": "ready", "attempts": 0})

    def test_one_that_waits_for_jobs_ends_at_once(self):
        go = os.path.join(self.service.home, "gone")
        open(go, "w", encoding="utf-8").close()
        self.sluice.enqueue(self.queue, go)
        process = self.start_worker()
        self.read_until(process, "begun")
        wait_until(lambda: self.client.counts(self.queue) == {}, "the job to be done")
        process.send_signal(signal.SIGTERM)
        self.read_until(process, "ended")
        self.assertEqual(process.wait(PATIENCE), 0)
        self.sluice.enqueue(self.queue, go)
        self.check_that_nothing_is_kept()
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_the_example_of_the_readme(self):
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            example = file.read().split("```python\n")[1].split("```")[0]
        url = "http://127.0.0.1:3100"
        self.assertEqual(example.count(url), 1)
        process = self.start_program(example.replace(url, f"http://127.0.0.1:{self.service.port}"))
        said = process.stdout.read()
        self.assertEqual((said, process.wait(PATIENCE)), ("to ann, attempt 1\n", 0))
        self.assertEqual(self.client.counts("mail"), {})


if __name__ == "__main__":
    main()
