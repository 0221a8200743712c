"""The service is killed or stopped under load: what it has answered holds."""
import itertools
import json
import signal
import socket
import statistics
import threading
from urllib.parse import quote

from harness import (CUT, LONG, PATIENCE, OwnServiceTest, Stopwatch, chance, in_threads, main,
                     wait_until)
from waiting import pause


class Ledger:
    """What the clients know for sure, and what was cut off and may be either way."""

    def __init__(self):
        self.lock = threading.Lock()
        self.pushed, self.perhaps_pushed = set(), set()
        self.completed, self.perhaps_completed = {}, set()
        self.mistakes = []
        self.ticks = itertools.count()

    def tick(self):
        """A number that is larger than all that were told before."""
        with self.lock:
            return next(self.ticks)

    def note_delivery(self, job, asked):
        """`asked` is the tick when the pop was sent; what was completed before must not come."""
        name = job["id"]
        with self.lock:
            if name not in self.pushed and name not in self.perhaps_pushed:
                self.mistakes.append(f"{name} was never pushed")
            if self.completed.get(name, asked) < asked:
                self.mistakes.append(f"{name} came after it was completed")
            if job["data"] != {"of": name}:
                self.mistakes.append(f"{name} came with {job['data']}")

    def note_completion(self, name):
        with self.lock:
            if name in self.completed:
                self.mistakes.append(f"{name} was completed twice")
            self.completed[name] = next(self.ticks)

    def backlog(self):
        return len(self.pushed) - len(self.completed) - len(self.perhaps_completed)

    def lost(self):
        return self.pushed - set(self.completed) - self.perhaps_completed


class Load:
    """Threads that push, pop and complete through every kill, until they are told to end."""

    def __init__(self, case, pushers, workers):
        self.case, self.pushers = case, pushers
        self.ledger = Ledger()
        self.pushing, self.working = True, True
        self.error = None
        self.thread = threading.Thread(target=self.run, args=(pushers + workers,))
        self.thread.start()

    def run(self, number):
        try:
            in_threads(number, self.guarded)
        except BaseException as error:
            self.error = error

    def guarded(self, index):
        try:
            if index < self.pushers:
                self.push(index)
            else:
                self.work()
        except BaseException:
            self.pushing = self.working = False
            raise

    def connected(self, call):
        """Tries again while nobody listens: nothing was sent then."""
        while True:
            self.case.service.up.wait(1)
            try:
                return call()
            except ConnectionRefusedError:
                if not self.working:
                    raise

    def push(self, index):
        client, ledger, number = self.case.new_client(), self.ledger, 0
        while self.pushing:
            if ledger.backlog() > 300:
                pause(0.001)
                continue
            name = f"{index}-{number}"
            number += 1
            with ledger.lock:
                ledger.perhaps_pushed.add(name)
            try:
                self.connected(lambda: client.push(self.case.team, name, {"of": name}, number % 3,
                                                   crawl=self.case.crawl if number % 2 else None))
            except CUT:
                continue
            with ledger.lock:
                ledger.perhaps_pushed.remove(name)
                ledger.pushed.add(name)

    def work(self):
        client, ledger = self.case.new_client(), self.ledger
        while self.working:
            asked = ledger.tick()
            try:
                claim = self.connected(lambda: client.pop(self.case.team))
            except CUT:
                continue
            if claim is None:
                pause(0.001)
                continue
            name = claim["job"]["id"]
            ledger.note_delivery(claim["job"], asked)
            try:
                if self.connected(lambda: client.complete(claim)):
                    ledger.note_completion(name)
            except CUT:
                with ledger.lock:
                    ledger.perhaps_completed.add(name)

    def end(self):
        self.pushing = self.working = False
        self.thread.join()

    def check(self):
        if self.error:
            raise self.error


class Killed(OwnServiceTest):
    # What was given to somebody who never heard of it must come back soon.
    options = ("--compat-lease", "1s")
    keeps_port = True
    RESTART_CPU_S_MAX = 1

    def test_nothing_that_was_answered_is_lost(self):
        random = chance("kill -9")
        load = Load(self, pushers=3, workers=3)
        self.addCleanup(load.end)
        restarts, ledger = [], load.ledger
        for _ in range(200 if LONG else 5):
            enough = len(ledger.completed) + random.randrange(10, 300)
            wait_until(lambda: len(ledger.completed) >= enough or load.error, "jobs to be done")
            pause(random.uniform(0, 0.02))
            self.service.kill()
            self.service.start(same_port=True)
            restarts.append(self.service.cpu_seconds())
            load.check()
        load.pushing = False
        wait_until(lambda: self.client.count(self.team) == 0 or load.error, "the rest to be done")
        load.end()
        load.check()
        self.assertEqual(ledger.mistakes, [])
        self.assertEqual(ledger.lost(), set())
        self.assertEqual((self.client.ids(self.team), self.client.crawl_count(self.crawl)), ([], 0))
        self.assertEqual(self.client.reconcile(self.team, self.crawl), [0] * 4)
        print(f"figure sluiced.killed_after_jobs {len(ledger.completed)}")
        print(f"figure sluiced.answers_cut_off "
              f"{len(ledger.perhaps_pushed) + len(ledger.perhaps_completed)}")
        print(f"figure sluiced.restart_cpu_s_median {statistics.median(restarts):.3f}")
        print(f"figure sluiced.restart_cpu_s_max {max(restarts):.3f}")
        self.assertLess(statistics.median(restarts), self.RESTART_CPU_S_MAX)


class Reopened(OwnServiceTest):
    def test_everything_is_as_it_was(self):
        client = self.client
        for name, priority in (("c", 1), ("a", 0), ("d", 1), ("b", 0)):
            client.push(self.team, name, {"of": name}, priority, timeout=3_600_000)
        client.push(self.team, "e", priority=2, crawl=self.crawl)
        first, second = client.pop(self.team), client.pop(self.team)
        self.assertTrue(client.complete(first))
        client.mark(self.team, "j", 3_600_000)
        client.mark_crawl(self.crawl, "k", 3_600_000)
        jobs = {}
        for end in (self.service.kill, self.service.stop):
            end()
            self.service.start()
            self.assertEqual(client.ids(self.team), ["b", "c", "d", "e"])
            self.assertEqual((client.count(self.team), client.crawl_count(self.crawl)), (4, 1))
            self.assertEqual(client.active(self.team), (1, ["j"]))
            self.assertEqual(client.crawl_active(self.crawl), ["k"])
            self.assertEqual(client.get("/sample/teams")["ids"], [self.team])
            self.assertEqual(client.get("/sample/crawls")["ids"], [self.crawl])
            self.assertEqual(client.reconcile(self.team, self.crawl), [0] * 4)
            self.assertFalse(client.complete(first))
            claim = client.pop(self.team)
            self.assertEqual(claim["job"]["id"], "c")
            self.assertEqual(jobs.setdefault("c", claim["job"]), claim["job"])
            client.release("c")
        self.assertTrue(client.complete(second))
        self.assertEqual(self.pop_all(self.team), ["c", "d", "e"])


class Stopped(OwnServiceTest):
    # Longer than anybody here waits: who needs it has failed.
    options = ("--drain-time", "1h")

    def test_a_stop_under_load_loses_nothing(self):
        pushed, perhaps = set(), set()

        def push(index):
            client, number = self.new_client(), 0
            while True:
                name = f"{index}-{number}"
                number += 1
                perhaps.add(name)
                try:
                    client.push(self.team, name)
                except CUT:
                    return
                pushed.add(name)

        def run(index):
            if index < 4:
                push(index)
                return None
            wait_until(lambda: len(pushed) > 200, "some pushes")
            try:
                return self.service.stop()
            finally:
                self.service.process.kill()

        self.assertEqual(in_threads(5, run)[4], 0)
        self.service.start()
        found = set(self.client.ids(self.team, "?limit=100000"))
        self.assertEqual(pushed - found, set())
        self.assertEqual(found - perhaps, set())

    def test_a_request_that_has_begun_is_answered(self):
        body = b'{"teamId":"t","job":{"id":"j","data":1,"priority":0,"listenable":true}}'
        head = (b"POST /queue/push HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body))
        with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
            raw.sendall(head + body[:20])
            # It has seen those bytes by the time it has answered what came later.
            for _ in range(20):
                self.client.get("/health")
            self.service.process.send_signal(signal.SIGTERM)
            wait_until(self.service.shut, "it to stop listening")
            raw.sendall(body[20:])
            answer = b""
            while more := raw.recv(1000):
                answer += more
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
        self.assertEqual(json.loads(answer.partition(b"\r\n\r\n")[2]), {"success": True})
        self.assertEqual(self.service.wait(), 0)
        self.service.start()
        self.assertEqual(self.client.count("t"), 1)

    def test_idle_connections_do_not_hold_up_a_stop(self):
        clients = [self.new_client() for _ in range(5)]
        for client in clients:
            client.get(f"/queue/count/team/{quote(self.team)}")
        watch = Stopwatch()
        self.assertEqual(self.service.stop(), 0)
        print(f"figure sluiced.stop_s {watch.shown()}")


if __name__ == "__main__":
    main()
