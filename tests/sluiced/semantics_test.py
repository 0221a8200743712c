"""What the queue does with jobs: order, holding, leases, deadlines, crawls, counts."""
from harness import LONG, SluicedTest, chance, in_threads, main, wait_past, wait_until


class Order(SluicedTest):
    def test_priority_comes_before_arrival(self):
        random = chance("order")
        jobs = [(random.randint(-3, 3), number) for number in range(200)]
        for priority, number in jobs:
            self.client.push(self.team, f"j{number}", priority=priority)
        expected = [f"j{number}" for _, number in sorted(jobs)]
        self.assertEqual(self.client.ids(self.team), expected)
        self.assertEqual(self.pop_all(self.team), expected)

    def test_arrival_decides_within_one_millisecond(self):
        # Neither the order of these ids nor that of their lengths is that of their arrival.
        names = [f"{number % 7:0{number % 5 + 1}}-{1000 - number}" for number in range(300)]
        for name in names:
            self.client.push(self.team, name)
        self.assertEqual(self.client.ids(self.team), names)
        self.assertEqual(self.pop_all(self.team), names)

    def test_lower_numbers_come_first_on_both_sides_of_zero(self):
        priorities = [2**31 - 1, 1, 0, -1, -16_777_216, -16_777_217, 16_777_216, -2**31, 255, -256]
        for priority in priorities:
            self.client.push(self.team, str(priority), priority=priority)
        self.assertEqual(self.pop_all(self.team), [str(one) for one in sorted(priorities)])

    def test_a_later_job_of_a_better_priority_overtakes(self):
        self.client.push(self.team, "a", priority=5)
        self.client.push(self.team, "b", priority=5)
        self.assertEqual(self.client.pop_id(self.team), "a")
        self.client.push(self.team, "c", priority=4)
        self.assertEqual(self.client.ids(self.team), ["c", "a", "b"])
        self.assertEqual(self.pop_all(self.team), ["c", "b"])


class Holding(SluicedTest):
    def push_letters(self, letters="abc"):
        for name in letters:
            self.client.push(self.team, name, crawl=self.crawl)

    def sizes(self):
        return self.client.count(self.team), self.client.crawl_count(self.crawl)

    def test_a_held_job_is_counted_and_listed_until_it_is_completed(self):
        self.push_letters()
        claims = [self.client.pop(self.team) for _ in range(3)]
        self.assertIsNone(self.client.pop(self.team))
        self.assertEqual(self.sizes(), (3, 3))
        self.assertEqual(self.client.ids(self.team), ["a", "b", "c"])
        for left, at in ((["a", "c"], 1), (["c"], 0), ([], 2)):
            self.assertTrue(self.client.complete(claims[at]))
            self.assertEqual(self.client.ids(self.team), left)
            self.assertEqual(self.sizes(), (len(left), len(left)))

    def test_a_released_job_returns_to_its_old_place(self):
        self.push_letters()
        self.assertEqual(self.client.pop_id(self.team), "a")
        self.assertEqual(self.client.pop_id(self.team), "b")
        self.assertTrue(self.client.release("a"))
        self.assertEqual(self.client.ids(self.team), ["a", "b", "c"])
        self.assertEqual(self.sizes(), (3, 3))
        self.assertEqual(self.pop_all(self.team), ["a", "c"])

    def test_releasing_what_is_not_held_changes_nothing(self):
        self.push_letters("ab")
        for name in ("a", "nobody", "a"):
            self.assertTrue(self.client.release(name))
        self.assertEqual(self.sizes(), (2, 2))
        self.assertEqual(self.pop_all(self.team), ["a", "b"])

    def test_a_job_is_completed_once(self):
        self.push_letters()
        claim = self.client.pop(self.team)
        self.assertEqual([self.client.complete(claim) for _ in range(3)], [True, False, False])
        self.assertEqual(self.sizes(), (2, 2))

    def test_a_claim_that_was_released_completes_nothing(self):
        self.push_letters("a")
        first = self.client.pop(self.team)
        self.client.release("a")
        self.assertFalse(self.client.complete(first))
        second = self.client.pop(self.team)
        self.assertNotEqual(first["queueKey"], second["queueKey"])
        self.assertFalse(self.client.complete(first))
        self.assertEqual(self.sizes(), (1, 1))
        self.assertTrue(self.client.complete(second))

    def test_the_name_of_the_worker_decides_nothing(self):
        self.push_letters("ab")
        for _ in range(2):
            self.assertIsNotNone(self.client.pop(self.team, worker="the same"))
        self.assertIsNone(self.client.pop(self.team, worker="the same"))
        self.assertTrue(self.client.release("a"))
        self.assertEqual(self.client.pop(self.team, worker="another")["job"]["id"], "a")


class SameId(SluicedTest):
    def test_one_id_in_two_teams_is_two_jobs(self):
        other = self.named("other")
        for team, data in ((self.team, "here"), (other, "there")):
            self.client.push(team, "j", data, crawl=self.crawl)
        self.assertEqual(self.client.crawl_count(self.crawl), 2)
        here, there = self.client.pop(self.team), self.client.pop(other)
        self.assertEqual((here["job"]["data"], there["job"]["data"]), ("here", "there"))
        self.assertTrue(self.client.complete(here))
        self.assertEqual((self.client.count(self.team), self.client.count(other)), (0, 1))
        self.assertEqual(self.client.crawl_count(self.crawl), 1)
        self.assertTrue(self.client.release("j"))
        self.assertEqual(self.client.pop(other)["job"]["data"], "there")

    def test_the_same_push_again_changes_nothing(self):
        for name in "abab":
            self.client.push(self.team, name, {"of": name}, crawl=self.crawl)
        self.assertEqual(self.client.ids(self.team), ["a", "b"])
        self.assertEqual(self.client.count(self.team), 2)
        self.assertEqual(self.client.crawl_count(self.crawl), 2)
        self.assertEqual(self.pop_all(self.team), ["a", "b"])

    def test_a_push_with_another_body_replaces_the_data_and_keeps_the_place(self):
        for name, data in (("a", 1), ("b", 2), ("a", {"new": [3]})):
            self.client.push(self.team, name, data, crawl=self.crawl)
        self.assertEqual(self.client.count(self.team), 2)
        self.assertEqual(self.client.crawl_count(self.crawl), 2)
        claims = [self.client.pop(self.team)["job"] for _ in range(2)]
        self.assertEqual([(job["id"], job["data"]) for job in claims],
                         [("a", {"new": [3]}), ("b", 2)])
        self.assertIsNone(self.client.pop(self.team))

    def test_a_push_of_a_held_job_changes_nothing(self):
        self.client.push(self.team, "a", "old")
        claim = self.client.pop(self.team)
        for data in ("old", "new"):
            self.client.push(self.team, "a", data)
            self.assertEqual(self.client.count(self.team), 1)
            self.assertIsNone(self.client.pop(self.team))
        self.client.release("a")
        again = self.client.pop(self.team)
        self.assertEqual(again["job"]["data"], "old")
        self.assertFalse(self.client.complete(claim))
        self.assertTrue(self.client.complete(again))
        self.assertEqual(self.client.count(self.team), 0)

    def test_a_completed_id_may_be_pushed_again(self):
        for data in range(3):
            self.client.push(self.team, "a", data)
            claim = self.client.pop(self.team)
            self.assertEqual(claim["job"]["data"], data)
            self.assertTrue(self.client.complete(claim))
        self.assertEqual(self.client.count(self.team), 0)


class Crawls(SluicedTest):
    def setUp(self):
        super().setUp()
        self.other = self.named("other crawl")

    def push_mixed(self):
        for name, crawl in (("a1", self.crawl), ("b1", self.other), ("none", None),
                            ("a2", self.crawl), ("b2", self.other)):
            self.client.push(self.team, name, crawl=crawl)

    def test_jobs_of_blocked_crawls_are_passed_over(self):
        self.push_mixed()
        self.assertEqual(self.client.pop_id(self.team, [self.crawl]), "b1")
        self.assertEqual(self.client.pop_id(self.team, [self.crawl, self.other]), "none")
        self.assertIsNone(self.client.pop(self.team, [self.crawl, self.other]))
        self.assertEqual(self.client.pop_id(self.team, [self.other]), "a1")
        self.assertEqual(self.client.pop_id(self.team, ["unknown", self.other, self.other]), "a2")
        self.assertIsNone(self.client.pop(self.team, [self.other]))
        self.assertEqual(self.client.pop_id(self.team), "b2")

    def test_the_list_is_forgotten_after_the_pop(self):
        self.push_mixed()
        self.client.pop(self.team, [self.crawl, self.other])
        self.assertEqual(self.client.pop_id(self.team), "a1")

    def test_a_blocked_crawl_of_a_better_priority_blocks_nothing_else(self):
        for number in range(20):
            self.client.push(self.team, f"blocked{number}", priority=-1, crawl=self.crawl)
        self.client.push(self.team, "late", priority=9, crawl=self.other)
        self.assertEqual(self.pop_all(self.team, [self.crawl]), ["late"])

    def test_many_crawls_may_be_blocked_at_once(self):
        crawls = [f"{self.crawl} {number}" for number in range(300)]
        for number, crawl in enumerate(crawls):
            self.client.push(self.team, f"j{number}", crawl=crawl)
        self.assertEqual(self.client.pop_id(self.team, crawls[:299]), "j299")
        self.assertIsNone(self.client.pop(self.team, crawls + ["x" * 256] * 1000))

    def test_a_crawl_is_counted_over_all_teams(self):
        teams = [f"{self.team} {number}" for number in range(3)]
        for number in range(9):
            self.client.push(teams[number % 3], f"j{number}", crawl=self.crawl)
        self.client.push(teams[0], "not of it")
        self.assertEqual([self.client.count(team) for team in teams], [4, 3, 3])
        left = 9
        for team in teams:
            for claim in iter(lambda team=team: self.client.pop(team), None):
                self.assertEqual(self.client.crawl_count(self.crawl), left)
                self.assertTrue(self.client.complete(claim))
                left -= "crawlId" in claim["job"]
        self.assertEqual((left, self.client.crawl_count(self.crawl)), (0, 0))
        self.assertEqual(self.client.reconcile(teams[0], self.crawl), [0] * 4)


class Deadlines(SluicedTest):
    def test_a_job_is_not_delivered_after_its_time(self):
        self.client.push(self.team, "short", timeout=20)
        self.client.push(self.team, "long", timeout=600_000)
        self.client.push(self.team, "none", timeout=0)
        wait_past(0.05)
        self.assertEqual(self.pop_all(self.team), ["long", "none"])
        wait_until(lambda: self.client.count(self.team) == 2, "the overdue job to go")
        self.assertEqual(self.client.ids(self.team), ["long", "none"])

    def test_jobs_of_a_crawl_have_no_deadline(self):
        self.client.push(self.team, "of a crawl", crawl=self.crawl, timeout=1)
        self.client.push(self.team, "alone", timeout=1)
        wait_until(lambda: self.client.count(self.team) == 1, "the job without a crawl to go")
        self.client.post("/cleanup/expired-jobs")
        self.assertEqual(self.client.crawl_count(self.crawl), 1)
        self.assertEqual(self.pop_all(self.team), ["of a crawl"])

    def test_a_negative_timeout_has_passed_already(self):
        self.client.push(self.team, "a", timeout=-1)
        self.assertEqual((self.client.count(self.team), self.client.ids(self.team)), (0, []))
        self.assertIsNone(self.client.pop(self.team))
        self.client.push(self.team, "a", timeout=None)
        self.assertEqual(self.client.pop_id(self.team), "a")

    def test_an_overdue_job_that_is_held_is_never_delivered_again(self):
        def held():
            self.client.push(self.team, "a", timeout=1000)
            return self.client.pop(self.team)

        claim = wait_until(held, "a pop within the time of the job")
        wait_past(1.1)
        self.client.post("/cleanup/expired-jobs")
        self.client.release("a")
        self.assertIsNone(self.client.pop(self.team))
        self.assertFalse(self.client.complete(claim))
        wait_until(lambda: self.client.count(self.team) == 0, "the overdue job to go")
        self.assertEqual(self.client.reconcile(self.team), [0, 0])


class Leases(SluicedTest):
    options = ("--compat-lease", "1s")

    def pop_again(self):
        return wait_until(lambda: self.client.pop(self.team), "the lease to lapse")

    def test_a_job_returns_to_its_place_when_its_lease_lapses(self):
        self.client.push(self.team, "a", {"some": "data"}, priority=3)
        for name in "bc":
            self.client.push(self.team, name, priority=3, crawl=self.crawl)
        first = self.client.pop(self.team)
        self.assertEqual(first["job"]["id"], "a")
        again = wait_until(lambda: self.client.pop(self.team, [self.crawl]), "the lease to lapse")
        self.assertEqual(again["job"], first["job"])
        self.assertEqual(self.client.ids(self.team), ["a", "b", "c"])
        self.client.release("a")
        self.assertEqual(self.client.pop_id(self.team), "a")

    def test_a_job_comes_back_however_often_its_lease_lapses(self):
        self.client.push(self.team, "a", {"some": "data"})
        for _ in range(5):
            self.assertEqual(self.pop_again()["job"]["data"], {"some": "data"})

    def test_a_late_completion_is_refused_and_the_new_holder_keeps_the_job(self):
        self.client.push(self.team, "a")
        first = self.client.pop(self.team)

        def second_completes():
            """Unless the machine stalls for longer than its lease: then it tries again."""
            second = self.pop_again()
            self.assertFalse(self.client.complete(first))
            self.assertEqual(self.client.count(self.team), 1)
            return self.client.complete(second)

        wait_until(second_completes, "the new holder to complete it within its lease")
        self.assertFalse(self.client.complete(first))
        self.assertEqual(self.client.count(self.team), 0)

    def test_a_lapsed_claim_completes_nothing_even_if_nobody_has_taken_the_job(self):
        self.client.push(self.team, "a")
        claim = self.client.pop(self.team)
        wait_past(2)
        self.assertFalse(self.client.complete(claim))
        self.assertEqual(self.client.pop_id(self.team), "a")


class Reconcile(SluicedTest):
    def test_there_is_nothing_to_correct_under_traffic(self):
        rounds = 2000 if LONG else 150
        corrections, working = [], [True] * 5

        def work(index):
            client = self.new_client()
            for number in range(rounds):
                client.push(self.team, f"{index}-{number}", crawl=self.crawl)
                client.mark(self.team, f"{index}-{number}", 3_600_000)
                claim = client.pop(self.team)
                if number % 3 == 0:
                    client.release(claim["job"]["id"])
                else:
                    client.complete(claim)
                if number % 2:
                    client.delete("/active/remove",
                                  {"teamId": self.team, "jobId": f"{index}-{number}"})

        def reconcile():
            client = self.new_client()
            while any(working[:4]):
                corrections.extend(client.reconcile(self.team, self.crawl))

        def run(index):
            try:
                if index < 4:
                    work(index)
                else:
                    reconcile()
            finally:
                working[index] = False

        in_threads(5, run)
        self.assertEqual(set(corrections), {0})
        left = 4 * ((rounds + 2) // 3)
        self.assertEqual((self.client.count(self.team), self.client.crawl_count(self.crawl),
                          len(self.client.ids(self.team))), (left, left, left))
        self.assertEqual(self.client.active(self.team)[0], 4 * rounds // 2)
        self.assertEqual(self.client.reconcile(self.team, self.crawl), [0] * 4)


if __name__ == "__main__":
    main()
