"""Schedules of the native API: jobs by the calendar, by hand, and when the clock says so."""
import calendar
import os
import unittest
from base64 import b64encode
from datetime import datetime, timedelta, timezone

from harness import OwnServiceTest, Service, main, wait_until
from v1 import V1Test, below, path_of
from waiting import is_since, now_ms, utc_now

MINUTE = 60_000
TEMPLATE_BYTES_MAX = 16_000
MOVED_CLOCK = os.environ.get("MOVED_CLOCK_LIBRARY")


def base64(data):
    return b64encode(data).decode()


class ScheduleTest(V1Test):
    def path(self, name="s", *verb):
        return below(self.queue, "schedules", name, *verb)

    def put(self, name="s", cron="0 * * * *", **job):
        return self.client.ok("PUT", self.path(name), {"cron": cron, "job": job})

    def look(self, name="s"):
        return self.client.ok("GET", self.path(name))

    def verb(self, verb, name="s"):
        return self.client.ok("POST", self.path(name, verb))

    def run_now(self, name="s"):
        return self.client.job(self.queue, self.verb("run", name)["id"])


class Putting(ScheduleTest):
    def test_it_is_answered_as_it_is_stored(self):
        before = now_ms()
        schedule = self.put(cron="*/5 * * * *", payload={"a": 1})
        self.assertTrue(is_since(before, schedule["created_at"]))
        planned = (schedule["created_at"] // (5 * MINUTE) + 1) * 5 * MINUTE
        self.assertEqual(schedule, {
            "queue": self.queue, "name": "s", "cron": "*/5 * * * *", "paused": False,
            "job": {"payload": {"a": 1}}, "created_at": schedule["created_at"],
            "next_at": planned, "fired": 0, "skipped": 0})
        self.assertEqual(self.look(), schedule)
        self.assertEqual(self.client.counts(self.queue), {})

    def test_the_next_time_is_that_of_the_calendar(self):
        for cron, fits in (
                ("* * * * *", lambda at: True), ("7 * * * *", lambda at: at.minute == 7),
                ("@hourly", lambda at: at.minute == 0),
                ("@daily", lambda at: (at.hour, at.minute) == (0, 0)),
                ("@midnight", lambda at: (at.hour, at.minute) == (0, 0)),
                ("@weekly", lambda at: (at.isoweekday(), at.hour, at.minute) == (7, 0, 0)),
                ("@monthly", lambda at: (at.day, at.hour, at.minute) == (1, 0, 0)),
                ("30 4 * * mon-fri", lambda at: (at.hour, at.minute) == (4, 30)
                 and at.isoweekday() <= 5)):
            before = utc_now()
            at = datetime.fromtimestamp(self.put(cron=cron)["next_at"] / 1000, timezone.utc)
            between = utc_now().replace(second=0, microsecond=0)
            self.assertTrue(fits(at) and at.second == at.microsecond == 0, (cron, at))
            self.assertGreater(at, before - timedelta(seconds=1))
            while (between := between + timedelta(minutes=1)) < at:
                self.assertFalse(fits(between), (cron, at, between))
        year = utc_now().year
        for cron in ("@yearly", "@annually", "0 0 1 1 *"):
            self.assertIn(self.put(cron=cron)["next_at"] // 1000,
                          [calendar.timegm((year + more, 1, 1, 0, 0, 0)) for more in (1, 2)])

    def test_everything_of_the_job_is_kept_and_used(self):
        self.client.configure(self.queue, labels=[{"name": "soon", "priority": 3}])
        retry = {"attempts_max": 9, "base_ms": 1, "factor": 1.5, "cap_ms": 7, "jitter": 0.5}
        unique = {"key": "k", "lanes": ["ready", "done"], "window_ms": 5, "policy": "keep"}
        job = {"group": "g", "label": "soon", "ttl_ms": 3_600_000, "hold": True, "retry": retry,
               "unique": unique, "payload": [1.50, "\u00fc", None]}
        self.assertEqual(self.put(**job)["job"], job)
        made = self.run_now()
        self.assertEqual((made["group"], made["priority"], made["lane"], made["retry"],
                          made["payload"], made["expires_at"] - made["enqueued_at"]),
                         ("g", 3, "held", retry, job["payload"], 3_600_000))
        for more in ({"payload_base64": "/w=="}, {"payload": None}, {"priority": -2**31}, {}):
            self.assertEqual(self.put(**more)["job"], more)
            made = self.run_now()
            self.assertEqual({name: made.get(name) for name in more}, more)
        self.assertEqual(made["payload_bytes"], 0)

    def test_a_job_is_not_needed_and_null_is_the_same_as_nothing(self):
        for body in ({}, {"job": None}, {"job": {}},
                     {"job": {"id": None, "after": [], "batch": None, "delay_ms": 0, "due_at": None,
                              "unique": None, "retry": None, "hold": False}}):
            answer = self.client.ok("PUT", self.path(), {"cron": "@daily", **body})
            self.assertEqual(answer["job"], {}, body)

    def test_putting_it_again_changes_it_and_keeps_what_it_has_done(self):
        first = self.put(payload=1)
        self.verb("run")
        again = self.put(cron="@yearly", payload=2)
        self.assertEqual((again["cron"], again["job"], again["created_at"], again["fired"]),
                         ("@yearly", {"payload": 2}, first["created_at"], 1))
        self.assertGreater(again["next_at"], first["next_at"])
        self.assertEqual(self.run_now()["payload"], 2)
        self.assertEqual(len(self.client.pages(below(self.queue, "schedules"))), 1)

    def test_it_makes_the_queue(self):
        self.refused("not_found", "GET", path_of(self.queue))
        self.put()
        self.assertEqual(self.client.ok("GET", path_of(self.queue))["config"]["priority"], 5)


class Limits(ScheduleTest):
    def test_what_a_schedule_may_not_be(self):
        good = {"cron": "@daily", "job": {}}
        crons = [None, 5, True, [], "", " ", "*", "* * * *", "* * * * * *", "60 * * * *",
                 "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * 0 *", "* * * * 8",
                 "0 0 30 2 *", "@never", "@reboot", "*/0 * * * *", "5-1 * * * *", "x * * * *",
                 "-1 * * * *", "1,, * * * *", "* * * * *\n0"]
        jobs = [5, True, "x", [], {"id": "i"}, {"batch": "b"}, {"after": [{"id": "i"}]},
                {"delay_ms": 1}, {"due_at": 0}, {"due_at": 1}, {"unique": {}}, {"unique": 5},
                {"unique": {"key": ""}}, {"unique": {"key": "k", "lanes": []}}, {"group": ""},
                {"group": "g" * 257}, {"label": "low", "priority": 1}, {"priority": 2**31},
                {"payload_base64": "x"}, {"ttl_ms": -1}, {"retry": {"attempts_max": 0}},
                {"hold": 1}]
        for body in ([{**good, "cron": cron} for cron in crons]
                     + [{**good, "job": job} for job in jobs] + [{"job": {}}]):
            self.refused("invalid_argument", "PUT", self.path(), body)
        self.refused("not_found", "GET", path_of(self.queue))

    def test_a_refused_change_changes_nothing(self):
        schedule = self.put(payload=1)
        for body in ({"cron": "@never"}, {"cron": "@daily", "job": {"id": "i"}}):
            self.refused("invalid_argument", "PUT", self.path(), body)
        self.assertEqual(self.look(), schedule)

    def test_the_largest_payload(self):
        most = TEMPLATE_BYTES_MAX
        for job in ({"payload": "x" * (most - 2)}, {"payload_base64": base64(b"\xff" * most)}):
            self.assertEqual(self.put(**job)["job"], job)
            self.assertEqual(self.run_now()["payload_bytes"], most)
        for job in ({"payload": "x" * (most - 1)}, {"payload": [" "] * most},
                    {"payload_base64": base64(b"\xff" * (most + 1))}):
            self.refused("invalid_argument", "PUT", self.path(), {"cron": "@daily", "job": job})

    def test_the_longest_expression(self):
        for cron in (" " * 250 + "@daily", " 0 * * * " + ",".join(["mon"] * 62)):
            self.assertEqual((len(cron), self.put(cron=cron)["cron"]), (256, cron))
            self.refused("invalid_argument", "PUT", self.path(), {"cron": " " + cron})

    def test_names(self):
        names = ["a/b", "%2F", " ", "\U0001f600", "..", "?", "x" * 256, "\u00fc" * 128, "run"]
        for name in names:
            self.assertEqual(self.put(name)["name"], name)
            self.verb("pause", name)
            self.verb("resume", name)
            self.assertEqual(self.run_now(name)["schedule"], name)
        listed = self.client.pages(below(self.queue, "schedules"))
        self.assertEqual([one["name"] for one in listed],
                         sorted(names, key=lambda name: name.encode()))
        for name in ("x" * 257, "\u00fc" * 128 + "x"):
            for method, verb in (("GET", ()), ("PUT", ()), ("DELETE", ()), ("POST", ("run",)),
                                 ("POST", ("pause",)), ("POST", ("resume",))):
                self.refused("invalid_argument", method, self.path(name, *verb),
                             {"cron": "@daily"} if method == "PUT" else None)

    def test_what_does_not_exist(self):
        for queue in (self.queue, self.named("other")):
            for method, *verb in (("GET",), ("DELETE",), ("POST", "run"), ("POST", "pause"),
                                  ("POST", "resume")):
                self.refused("not_found", method, below(queue, "schedules", "s", *verb))
            if queue == self.queue:
                self.refused("not_found", "GET", below(queue, "schedules"))
                self.client.ok("PUT", path_of(self.named("other")), {})


class Listing(ScheduleTest):
    def test_pages_by_name(self):
        names = sorted(str(number) for number in range(25))
        for name in reversed(names):
            self.put(name, payload=name)
        path = below(self.queue, "schedules")
        for limit in (1, 7, 24, 25, 26, 1000):
            found = self.client.pages(path, limit=limit)
            self.assertEqual([(one["name"], one["job"]["payload"]) for one in found],
                             [(name, name) for name in names], limit)
        self.assertEqual(found[3], self.look(names[3]))
        page = self.client.page(path, after="10", limit=2)
        self.assertEqual(([one["name"] for one in page["schedules"]], page["next"]),
                         (["11", "12"], "12"))
        self.assertEqual(self.client.page(path, after="x"), {"schedules": []})
        for limit in ("0", "1001", "x", "-1", "1.5"):
            self.refused("invalid_argument", "GET", f"{path}?limit={limit}")


class ByHand(ScheduleTest):
    def test_running_it_comes_beside_the_plan(self):
        planned = self.put(payload=1)["next_at"]
        before = now_ms()
        jobs = [self.run_now() for _ in range(3)]
        for job in jobs:
            self.assertEqual((job["schedule"], job["payload"], job["lane"]), ("s", 1, "ready"))
            self.assertTrue(is_since(before, job["planned_at"]))
        schedule = self.look()
        self.assertEqual((schedule["fired"], schedule["last_id"], schedule["next_at"],
                          schedule["skipped"], "planned_at" in schedule),
                         (3, jobs[2]["id"], planned, 0, False))
        lease = self.client.claim_one(self.queue)
        self.assertEqual((lease["id"], lease["schedule"], lease["planned_at"]),
                         (jobs[0]["id"], "s", jobs[0]["planned_at"]))

    def test_pause_forgets_the_plan_and_resume_makes_one(self):
        planned = self.put()["next_at"]
        for _ in range(2):
            self.assertEqual(self.verb("pause"), {})
            self.assertEqual((self.look()["paused"], "next_at" in self.look()), (True, False))
        self.assertEqual(self.run_now()["lane"], "ready")
        self.assertTrue(self.put(payload=2)["paused"])
        self.assertNotIn("next_at", self.look())
        for _ in range(2):
            self.assertEqual(self.verb("resume"), {})
            self.assertFalse(self.look()["paused"])
            self.assertGreaterEqual(self.look()["next_at"], planned)

    def test_a_pause_of_the_queue_is_something_else(self):
        self.put()
        self.client.ok("POST", path_of(self.queue) + "/pause")
        self.run_now()
        self.assertEqual((self.look()["paused"], self.client.claim(self.queue)), (False, []))

    def test_it_is_removed_and_its_jobs_stay(self):
        self.put()
        job = self.run_now()
        self.refused("conflict", "DELETE", path_of(self.queue))
        self.assertEqual(self.client.ok("DELETE", self.path()), {})
        for method, *verb in (("GET",), ("DELETE",), ("POST", "run")):
            self.refused("not_found", method, self.path("s", *verb))
        self.assertEqual(self.client.claim_one(self.queue)["id"], job["id"])
        self.put()
        self.assertEqual(self.look()["fired"], 0)

    def test_a_queue_with_a_schedule_is_not_removed(self):
        self.put()
        self.refused("conflict", "DELETE", path_of(self.queue))
        self.client.ok("DELETE", self.path())
        self.client.ok("DELETE", path_of(self.queue))

    def test_a_run_is_refused_as_the_job_would_be(self):
        for policy in ("reject", "keep"):
            self.put(unique={"key": policy, "policy": policy})
            self.verb("run")
            self.refused("already_exists", "POST", self.path("s", "run"))
        self.put(unique={"key": "k", "policy": "replace"})
        first, second = self.run_now(), self.run_now()
        self.assertEqual((self.client.lane(self.queue, first["id"]), second["lane"]),
                         ("gone", "ready"))
        self.put(label="low")
        self.client.configure(self.queue, labels=[])
        self.refused("invalid_argument", "POST", self.path("s", "run"))
        self.put()
        self.client.configure(self.queue, backlog_max=self.client.counts(self.queue)["ready"])
        answer = self.client.call("POST", self.path("s", "run"))
        self.assertEqual((answer.status, answer.body["error"]["code"]), (429, "limit_exceeded"))
        self.assertEqual((self.look()["skipped"], "error" in self.look()), (0, False))


@unittest.skipUnless(MOVED_CLOCK, "sanitizers do not let another clock in")
class Firing(ScheduleTest, OwnServiceTest):
    """The clock is moved while the service is down, since a running store goes by no other."""

    def setUp(self):
        super().setUp()
        self.moved_ms = 0
        self.addCleanup(lambda: self.check_store(self.service))

    def restart(self, at):
        """As if it were that time, in milliseconds since 1970."""
        self.assertEqual(self.service.stop(), 0)
        self.start_at(self.service, at)

    def start_at(self, service, at):
        self.moved_ms = int(at - now_ms())
        path = os.path.join(service.home, "moved")
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(self.moved_ms // 1000))
        service.env.update(MOVED_CLOCK=path, LD_PRELOAD=MOVED_CLOCK)
        service.start()

    def fired(self, number, name="s"):
        wait_until(lambda: self.look(name)["fired"] == number, f"{name} to fire")
        return self.look(name)

    def test_it_fires_at_its_time_for_who_waits(self):
        planned = self.put(cron="*/5 * * * *", payload="go")["next_at"]
        self.restart(planned - 1000)
        lease = self.client.claim_one(self.queue, wait_ms=100_000)
        self.assertEqual((lease["schedule"], lease["planned_at"], lease["payload"]),
                         ("s", planned, "go"))
        schedule = self.fired(1)
        self.assertEqual((schedule["planned_at"], schedule["next_at"], schedule["last_id"]),
                         (planned, planned + 5 * MINUTE, lease["id"]))
        self.assertGreaterEqual(self.client.job(self.queue, lease["id"])["enqueued_at"], planned)

    def test_after_a_downtime_it_fires_once_for_the_last_time_missed(self):
        planned = self.put(cron="*/5 * * * *")["next_at"]
        for number in range(1, 3):
            planned += 3 * 60 * MINUTE
            self.restart(planned + MINUTE)
            schedule = self.fired(number)
            self.assertEqual((schedule["planned_at"], schedule["next_at"]),
                             (planned, planned + 5 * MINUTE))
        self.assertEqual(len(self.client.claim(self.queue, max=1000)), 2)

    def test_a_run_is_skipped_while_the_one_before_is_unfinished(self):
        planned = self.put(unique={"key": "k"})["next_at"]
        self.restart(planned + MINUTE)
        self.fired(1)
        self.restart(planned + 61 * MINUTE)
        wait_until(lambda: self.look()["skipped"] == 1, "the second to be skipped")
        schedule = self.look()
        self.assertEqual((schedule["fired"], schedule["planned_at"], schedule["next_at"]),
                         (1, planned + 60 * MINUTE, planned + 120 * MINUTE))
        self.assertIn(schedule["last_id"], schedule["error"])
        self.client.ack(self.client.claim_one(self.queue))
        self.restart(planned + 121 * MINUTE)
        schedule = self.fired(2)
        self.assertEqual((schedule["skipped"], "error" in schedule), (1, False))

    def test_a_full_backlog_skips_and_a_paused_queue_does_not(self):
        planned = self.put(cron="@hourly")["next_at"]
        self.client.configure(self.queue, backlog_max=0)
        self.restart(planned + MINUTE)
        wait_until(lambda: self.look()["skipped"] == 1, "it to be skipped")
        self.client.configure(self.queue, backlog_max=None)
        self.client.ok("POST", path_of(self.queue) + "/pause")
        self.restart(planned + 61 * MINUTE)
        self.assertNotIn("error", self.fired(1))

    def test_a_paused_one_does_not_fire_and_makes_up_for_nothing(self):
        for name in ("paused", "removed", "runs"):
            planned = self.put(name, cron="@hourly")["next_at"]
        self.verb("pause", "paused")
        self.client.ok("DELETE", self.path("removed"))
        self.restart(planned + 61 * MINUTE)
        self.fired(1, "runs")
        self.verb("resume", "paused")
        schedule = self.look("paused")
        self.assertEqual((schedule["fired"], schedule["next_at"]), (0, planned + 120 * MINUTE))
        self.assertEqual(self.client.counts(self.queue), {"ready": 1})

    def test_each_planned_time_is_one_job_however_many_services_there_are_and_die(self):
        planned = self.put(cron="@hourly")["next_at"]
        other = Service()
        self.addCleanup(other.end)
        other.data = self.service.data
        for number in range(1, 6):
            self.service.kill()
            at = planned + number * 60 * MINUTE + MINUTE
            self.start_at(self.service, at)
            self.start_at(other, at)
            other.kill()
            schedule = self.fired(number)
            self.assertEqual(schedule["planned_at"], planned + number * 60 * MINUTE)
        self.assertEqual(len(self.client.claim(self.queue, max=1000)), 5)


if __name__ == "__main__":
    main()
