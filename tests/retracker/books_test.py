"""The books balance: what is counted adds up at any moment, and is what upstreams have seen."""
import os
import random
import signal
import threading

from harness import PATIENCE, RetrackerTest, main
from tracker import Tracker, Upstream, compact, garbage, reset, wait_until
from prometheus import Metrics

SEED = int(os.environ.get("SLUICE_SEED", 20260316))


def status(code):
    def answer(handler):
        handler.send_response(code)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return answer


class Hole:
    """Takes everything and says nothing, until it is filled."""

    def __init__(self):
        self.filled = threading.Event()

    def __call__(self, handler):
        self.filled.wait(PATIENCE)
        handler.close_connection = True


def peers(**more):
    return {b"interval": 1800, b"peers": compact(("203.0.113.9", 99)), **more}


class Books(RetrackerTest):
    def setUp(self):
        super().setUp()
        self.hole = Hole()
        self.addCleanup(self.hole.filled.set)
        # What each counts as.
        self.modes = {
            "ok": (peers(), "ok"), "hole": (self.hole, "unreachable"),
            "reset": (reset, "unreachable"), "404": (status(404), "refused"),
            "429": (status(429), "busy"), "failure": ({b"failure reason": b"no"}, "refused"),
            "retry": ({b"failure reason": b"later", b"retry in": 1}, "refused"),
            "garbage": (garbage, "unreachable"), "leaves": (peers(), "ok")}
        self.upstreams = {name: Upstream(self, answer)
                          for name, (answer, _) in self.modes.items()}
        self.list(self.upstreams)

    def list(self, names):
        self.write("forwarders", "".join(f"- {{name: '{name}', uri: '{self.upstreams[name].uri}'}}\n"
                                         for name in names))

    def stats(self, tracker):
        stats = super().stats(tracker)
        self.check_books(stats)
        return stats

    def check_metrics(self, text):
        metrics = Metrics(text)
        self.assertEqual(metrics.get("retracker_jobs_created_total"),
                         sum(metrics.by("retracker_jobs_total", "end").values()) +
                         sum(metrics.by("retracker_jobs", "state").values()))
        ended = {}
        for (name, _), count in metrics.by("forwarder_status", "name", "status").items():
            ended[name] = ended.get(name, 0) + count
        for (name,), sent in metrics.by("retracker_forwarder_sent_total", "name").items():
            self.assertEqual(sent, ended[name] +
                             metrics.get("retracker_forwarder_in_flight", name=name), name)
        return metrics

    def churn(self, tracker, chance):
        """Peers come, complete, leave and come back; a look at the books now and then."""
        events = ("started", "", "completed", "stopped")
        for i in range(300):
            tracker.announce(bytes([chance.randrange(12)]) * 20,
                             b"-xx0001-%012d" % chance.randrange(6), 7001,
                             left=chance.randrange(2), event=chance.choice(events))
            if i % 10 == 0:
                self.stats(tracker)
                self.check_metrics(tracker.get("/metrics").decode())

    def settled(self, tracker):
        """What JSON, metrics and upstreams say when nothing happens meanwhile."""
        figures = []

        def quiet():
            before = self.stats(tracker)
            text = tracker.get("/metrics").decode()
            told = {name: len(upstream.told) for name, upstream in self.upstreams.items()}
            after = self.stats(tracker)
            figures[:] = [after, self.check_metrics(text), told]
            still = ("jobs", "queue")
            return (all(self.steady(before[part]) == self.steady(after[part]) for part in still) and
                    after["queue"]["running"] == 0 and self.counted(after) == self.counted(before))
        wait_until(quiet, "a quiet moment")
        return figures

    @staticmethod
    def steady(part):
        return {name: value for name, value in part.items() if name != "next"}

    @staticmethod
    def counted(stats):
        return {one["name"]: (one["sent"], one["ok"], one["refused"], one["busy"],
                              one["unreachable"], one["given_up"]) for one in stats["forwarders"]}

    def test_they_balance_at_any_moment_and_are_what_upstreams_saw(self):
        print(f"SLUICE_SEED={SEED}")
        chance = random.Random(SEED)
        tracker = Tracker(self, "-f", self.path("forwarders"), *(
            part for setting in (
                "prometheus_enabled=true", "first_reply_wait_ms=0", f"forward_timeout={PATIENCE}",
                "forwarder_retry_attempts=2", "forwarder_retry_base_ms=10",
                "forwarder_queue_size=30", "in_flight_per_upstream=4", "forwarder_workers=16")
            for part in ("--set", setting)))
        self.churn(tracker, chance)
        self.list(name for name in self.upstreams if name != "leaves")
        tracker.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.stats(tracker)["forwarders"]) == len(self.modes) - 1, "reload")
        self.churn(tracker, chance)
        self.assertGreater(self.stats(tracker)["queue"]["running"], 0, "the hole holds some")
        self.hole.filled.set()
        stats, metrics, told = self.settled(tracker)
        self.assertGreater(stats["jobs"]["succeeded"], 0)
        self.assertGreater(stats["jobs"]["failed"], 0)
        self.assertGreater(stats["jobs"]["cancelled"], 0)
        self.assertGreater(sum(stats["jobs"]["dropped"].values()), 0)
        self.assertGreater(stats["jobs"]["pending"], 0, "some wait for the retry and the 429")
        self.agree(stats, metrics)
        for one in stats["forwarders"]:
            self.assertGreater(one["sent"], 0, one)
            self.assertEqual(one["sent"], told[one["name"]], one)
            self.assertEqual(one[self.modes[one["name"]][1]], told[one["name"]], one)

    def agree(self, stats, metrics):
        jobs = stats["jobs"]
        self.assertEqual(metrics.get("retracker_jobs_created_total"), jobs["created"])
        ends = {(end,): jobs[end] for end in ("succeeded", "failed", "cancelled")}
        ends.update({("dropped_" + why,): count for why, count in jobs["dropped"].items()})
        self.assertEqual(metrics.by("retracker_jobs_total", "end"), ends)
        self.assertEqual(metrics.by("retracker_jobs", "state"),
                         {(state,): stats["queue"][state]
                          for state in ("queued", "scheduled", "running")})
        for one in stats["forwarders"]:
            for end in ("ok", "refused", "busy", "unreachable", "given_up"):
                self.assertEqual(metrics.get("forwarder_status", name=one["name"], status=end),
                                 one[end], one)
            self.assertEqual(metrics.get("retracker_forwarder_state", name=one["name"],
                                         state=one["state"]), 1)
            answers = one["ok"] + one["refused"] + one["busy"]
            counted = metrics.get("retracker_forwarder_response_seconds_count", name=one["name"])
            if one["name"] not in ("garbage", "hole", "reset"):
                self.assertEqual(counted, answers, one)


if __name__ == "__main__":
    main()
