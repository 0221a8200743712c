"""The life of a service among its operators: folders, addresses, signals, checks and copies."""
import json
import os
import signal
import socket
import stat
import threading
import unittest

from harness import (CUT, PATIENCE, SLUICED, Client, OwnServiceTest, Service, in_threads, main,
                     wait_until)
from programs import NOBODY, QUEUECTL, ProgramTest, UnixService, queuectl, run

BODY = b'{"teamId":"t","job":{"id":"j","data":1,"priority":0,"listenable":true}}'
BEGUN = (b"POST /queue/push HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
         b"Content-Length: %d\r\n\r\n" % len(BODY))


def verify(data):
    return run(SLUICED, "verify", "--data", data)


class Folders(ProgramTest):
    def failed(self, codes, *arguments, **options):
        """Checks that it says one line and ends with one of these codes; returns the line."""
        ended = self.sluiced(*arguments, **options)
        self.assertIn(ended.code, codes, ended)
        self.assertRegex(ended.err, r"\Asluiced: [^\n]+\n\Z")
        self.assertEqual(ended.out, "")
        return ended.err

    def test_a_folder_is_made_for_its_owner_alone(self):
        service = Service()
        os.rmdir(service.data)
        self.started(service)
        self.assertEqual(stat.S_IMODE(os.stat(service.data).st_mode), 0o700)
        for name in os.listdir(service.data):
            mode = stat.S_IMODE(os.stat(os.path.join(service.data, name)).st_mode)
            self.assertEqual(mode, 0o600, name)
        self.assertEqual(service.stop(), 0)

    def test_a_folder_whose_parent_is_missing_is_not_made(self):
        data = self.path("missing/data")
        for arguments in (("--listen", "127.0.0.1:0"), ("verify",), ("backup", self.path("copy"))):
            self.assertIn(data, self.failed((3, 5), *arguments, "--data", data))
        self.assertEqual(os.listdir(self.home), [])

    def test_a_folder_that_may_not_be_written(self):
        os.mkdir(self.data)
        os.chmod(self.data, 0o555)
        os.chmod(self.home, 0o755)
        try:
            error = self.failed((1, 5), "--listen", "127.0.0.1:0", "--data", self.data,
                                user=NOBODY if os.geteuid() == 0 else None)
        except PermissionError:
            self.skipTest("the program is where others may not run it")
        self.assertIn(self.data, error)
        self.assertIn("ermission", error)
        self.assertEqual(os.listdir(self.data), [])

    def test_a_file_is_no_folder(self):
        path = self.write("file", "text")
        self.assertIn(path, self.failed((1, 2, 3, 5), "--listen", "127.0.0.1:0", "--data", path))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "text")

    def test_a_store_that_is_not_there_is_neither_sound_nor_copied(self):
        for arguments in (("verify",), ("backup", self.path("copy"))):
            ended = self.sluiced(*arguments, "--data", self.data)
            self.assertEqual(os.listdir(self.home), [], (arguments, ended))
            self.assertNotEqual(ended.code, 0, (arguments, ended))


class Addresses(OwnServiceTest):
    keeps_port = True

    def test_an_address_that_is_in_use(self):
        address = f"127.0.0.1:{self.service.port}"
        ended = run(SLUICED, "--listen", address, "--data", self.service.data)
        self.assertEqual((ended.code, ended.out), (5, ""), ended)
        self.assertIn(f"cannot listen on {address}: it is in use", ended.err)
        self.assertIn("--listen", ended.err)
        self.assertEqual(self.client.get("/health")["status"], "ok")

    def test_the_address_of_one_that_was_killed_is_free(self):
        with socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as raw:
            raw.sendall(BEGUN)
            self.service.kill()
            self.service.start(same_port=True)
        self.assertEqual(self.client.get("/health")["status"], "ok")


class SocketFiles(ProgramTest):
    def test_a_socket_file_is_for_its_owner_alone(self):
        service = self.started(UnixService())
        mode = os.stat(service.path).st_mode
        self.assertTrue(stat.S_ISSOCK(mode))
        self.assertEqual(stat.S_IMODE(mode), 0o600)
        client = Client(service)
        client.push("t", "j")
        self.assertEqual(client.pop_id("t"), "j")
        client.close()
        self.assertEqual(service.stop(), 0)

    def test_what_a_dead_program_left_is_replaced(self):
        service = self.started(UnixService())
        service.kill()
        self.assertTrue(os.path.exists(service.path))
        service.start()
        client = Client(service)
        self.assertEqual(client.get("/health")["status"], "ok")
        client.close()

    def test_what_is_in_use_or_no_socket_is_not_replaced(self):
        service = self.started(UnixService())
        path = self.write("file", "text")
        for taken in (service.path, path):
            ended = self.sluiced("--listen", "unix:" + taken, "--data", self.data)
            self.assertEqual((ended.code, ended.out), (5, ""), ended)
            self.assertIn(f"cannot listen on unix:{taken}: it is in use", ended.err)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "text")
        client = Client(service)
        self.assertEqual(client.get("/health")["status"], "ok")
        client.close()


class Sharing(OwnServiceTest):
    def setUp(self):
        super().setUp()
        second = Service(*self.options)
        self.addCleanup(second.end)
        second.data = self.service.data
        second.start()
        self.services = (self.service, second)

    def client_of(self, index):
        client = Client(self.services[index % 2])
        self.addCleanup(client.close)
        return client

    def test_two_services_hand_out_every_job_of_one_store_once(self):
        def work(index):
            client, done = self.client_of(index), []
            for number in range(100):
                client.push(self.team, f"{index}-{number}", crawl=self.crawl)
            while claim := client.pop(self.team):
                if client.complete(claim):
                    done.append(claim["job"]["id"])
            return done

        done = [name for some in in_threads(4, work) for name in some]
        self.assertEqual(sorted(done), sorted(f"{index}-{number}" for index in range(4)
                                              for number in range(100)))
        for index in range(2):
            client = self.client_of(index)
            self.assertEqual((client.count(self.team), client.crawl_count(self.crawl)), (0, 0))
        self.assertEqual(verify(self.service.data).code, 0)


class SharedLeases(Sharing):
    options = ("--compat-lease", "1s")

    def test_what_one_held_when_it_was_killed_comes_back_through_the_other(self):
        first, second = self.client_of(0), self.client_of(1)
        first.push(self.team, "j")
        self.assertEqual(second.pop_id(self.team), "j")
        self.services[1].kill()
        self.assertEqual(wait_until(lambda: first.pop_id(self.team), "the lease to end"), "j")


class Care(OwnServiceTest):
    def test_a_sound_store_is_clean_while_it_is_used_and_after(self):
        pushing = True

        def push(index):
            client, number = self.new_client(), 0
            while pushing:
                client.push(self.team, f"{index}-{number}", crawl=self.crawl)
                number += 1

        thread = threading.Thread(target=lambda: in_threads(2, push))
        thread.start()
        try:
            for _ in range(5):
                ended = verify(self.service.data)
                self.assertEqual((ended.code, ended.err), (0, ""), ended)
                self.assertRegex(ended.out, r"\Aclean: [01] queues, \d+ jobs, \d+ keys\n\Z")
        finally:
            pushing = False
            thread.join()
        jobs = self.client.count(self.team)
        self.assertIn(f"clean: 1 queues, {jobs} jobs, ", verify(self.service.data).out)
        self.assertEqual(self.service.stop(), 0)
        self.assertIn(f"clean: 1 queues, {jobs} jobs, ", verify(self.service.data).out)

    def copy(self, name):
        return os.path.join(self.service.home, name)

    def backup(self, target):
        return run(SLUICED, "backup", target, "--data", self.service.data)

    def test_a_copy_holds_every_push_that_was_answered_before_it(self):
        pushed, tried, pushing = set(), set(), True

        def push(index):
            client, number = self.new_client(), 0
            while pushing:
                name = f"{index}-{number}"
                tried.add(name)
                client.push(self.team, name, {"of": name}, crawl=self.crawl)
                pushed.add(name)
                number += 1

        thread = threading.Thread(target=lambda: in_threads(3, push))
        thread.start()
        kept = []
        try:
            for number in range(3):
                enough = 200 * (number + 1)
                wait_until(lambda: len(pushed) >= enough, "some pushes")
                before = pushed.copy()
                ended = self.backup(self.copy(f"copy{number}"))
                self.assertEqual(ended.code, 0, ended)
                kept.append((before, tried.copy()))
        finally:
            pushing = False
            thread.join()
        for number, (before, perhaps) in enumerate(kept):
            self.check_copy(self.copy(f"copy{number}"), before, perhaps)

    def check_copy(self, data, before, perhaps):
        """What was pushed before must be in the copy, with all that belongs to it."""
        ended = verify(data)
        self.assertEqual(ended.code, 0, ended)
        service = Service()
        self.addCleanup(service.end)
        service.data = data
        service.start()
        client = Client(service)
        found = set(client.ids(self.team, "?limit=100000"))
        self.assertEqual((before - found, found - perhaps), (set(), set()))
        self.assertEqual((client.count(self.team), client.crawl_count(self.crawl)),
                         (len(found), len(found)))
        self.assertEqual(client.reconcile(self.team, self.crawl), [0] * 4)
        while claim := client.pop(self.team):
            self.assertEqual(claim["job"]["data"], {"of": claim["job"]["id"]})
            self.assertTrue(client.complete(claim))
            found.remove(claim["job"]["id"])
        self.assertEqual(found, set())
        client.close()
        self.assertEqual(service.stop(), 0)

    def test_nothing_is_overwritten_by_a_copy(self):
        self.client.push(self.team, "j")
        empty = self.copy("empty")
        os.mkdir(empty)
        self.assertEqual(self.backup(empty).code, 0)
        full = self.copy("full")
        os.mkdir(full)
        with open(os.path.join(full, "file"), "w", encoding="utf-8"):
            pass
        for target in (empty, full, os.path.join(full, "file"), self.service.data):
            before = os.listdir(target) if os.path.isdir(target) else None
            ended = self.backup(target)
            self.assertEqual((ended.code, ended.out), (4, ""), ended)
            self.assertIn(f"{target} is not an empty directory", ended.err)
            self.assertEqual(os.listdir(target) if before else None, before)
        self.assertEqual(self.client.pop_id(self.team), "j")


class SignalTest(OwnServiceTest):
    # Longer than anybody here waits: who needs it has failed.
    options = ("--drain-time", "1h")

    def begun(self):
        """A connection with a request of which a part has come."""
        raw = socket.create_connection(("127.0.0.1", self.service.port), PATIENCE)
        self.addCleanup(raw.close)
        raw.sendall(BEGUN + BODY[:10])
        # It has seen those bytes by the time it has answered what came later.
        for _ in range(20):
            self.client.get("/health")
        return raw


class Signals(SignalTest):
    def check_that_it_drains(self, number):
        raw = self.begun()
        self.service.process.send_signal(number)
        wait_until(self.service.shut, "it to stop listening")
        raw.sendall(BODY[10:])
        answer = b""
        while more := raw.recv(1000):
            answer += more
        raw.close()
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
        self.assertEqual(self.service.wait(), 0)
        self.service.start()
        self.assertEqual(self.client.count("t"), 1)

    def test_sigterm_lets_requests_have_their_answers(self):
        self.check_that_it_drains(signal.SIGTERM)

    def test_sigint_lets_requests_have_their_answers(self):
        self.check_that_it_drains(signal.SIGINT)

    def test_connections_that_have_sent_nothing_do_not_hold_up_a_stop(self):
        for _ in range(5):
            raw = socket.create_connection(("127.0.0.1", self.service.port), PATIENCE)
            self.addCleanup(raw.close)
        self.client.get("/health")  # They were accepted by the time that this is answered.
        self.assertEqual(self.service.stop(), 0)

    def test_sighup_does_no_harm_without_certificates(self):
        for _ in range(3):
            self.service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: not self.is_pending(signal.SIGHUP), "the signal to be taken")
        self.client.push(self.team, "j")
        self.assertEqual(self.client.pop_id(self.team), "j")

    def is_pending(self, number):
        with open(f"/proc/{self.service.process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["ShdPnd"], 16) >> (number - 1) & 1


class ShortDrain(SignalTest):
    options = ("--drain-time", "100ms")

    def test_a_request_that_takes_too_long_is_cut_off(self):
        raw = self.begun()
        self.assertEqual(self.service.stop(), 0)
        try:
            self.assertEqual(raw.recv(1000), b"")
        except CUT:
            pass
        self.service.start()
        self.assertEqual(self.client.count("t"), 0)


@unittest.skipUnless(os.access(QUEUECTL, os.X_OK), f"there is no queuectl at {QUEUECTL}")
class BesideQueuectl(OwnServiceTest):
    def states(self):
        jobs = queuectl(self.service.data, "list", "--queue", self.team)
        return {job["id"]: job["state"] for job in jobs}

    def test_both_see_and_change_the_same_jobs(self):
        for name in ("a", "b", "c"):
            self.client.push(self.team, name, json.dumps(name), crawl=self.crawl)
        self.assertEqual(self.client.pop_id(self.team), "a")
        self.assertEqual(self.states(), {"a": "processing", "b": "pending", "c": "pending"})
        queuectl(self.service.data, "cancel", "--queue", self.team, "b")
        self.assertEqual(self.client.ids(self.team), ["a", "c"])
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl)),
                         (2, 2))
        self.assertEqual(self.pop_all(self.team), ["c"])
        self.assertEqual(verify(self.service.data).code, 0)


if __name__ == "__main__":
    main()
