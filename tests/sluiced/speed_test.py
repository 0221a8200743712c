"""The weaknesses W15 to W18: work that must not grow with what a request has nothing to do with.

Each compares the processor time of the service between two teams, in one run; the factors are far
above noise and far below what a scan costs.
"""
from urllib.parse import quote

from harness import SluicedTest, main


class CostTest(SluicedTest):
    # Nothing that is held may come back while it is measured.
    options = ("--compat-lease", "3600s")

    def cpu(self, turns, verb):
        """Milliseconds of the service's processor time for one turn."""
        begin = self.service.cpu_seconds()
        for _ in range(turns):
            verb()
        return (self.service.cpu_seconds() - begin) * 1000 / turns

    def compare(self, name, few, many, factor, turns, verb):
        """Checks that `verb` costs about the same for two teams; few and many are their names."""
        for team in (few, many):
            self.cpu(10, lambda team=team: verb(team))
        small, large = (self.cpu(turns, lambda team=team: verb(team)) for team in (few, many))
        print(f"figure sluiced.{name}_cpu_ms {small:.3f} {large:.3f}")
        self.assertLess(large, factor * small + 0.05, f"{name}: {small:.3f} ms, {large:.3f} ms")

    def pop_and_release(self, team, blocked=()):
        claim = self.client.pop(team, blocked)
        self.client.release(claim["job"]["id"])


class Others(CostTest):
    def test_w15_what_is_held_costs_a_pop_nothing(self):
        """A pop behind thousands of held jobs costs about what it costs in an empty queue."""
        few, many = self.named("few"), self.named("many")
        self.push_many(many, (f"held{number}" for number in range(3000)))
        while self.client.pop(many):
            pass
        for team in (few, many):
            self.client.push(team, f"last of {team}")
        self.compare("pop_behind_held", few, many, 5, 150, self.pop_and_release)

    def test_w17_what_is_blocked_costs_a_pop_little(self):
        """A pop behind thousands of jobs of a blocked crawl costs about as much as behind few."""
        few, many = self.named("few"), self.named("many")
        self.push_many(few, (f"blocked{number}" for number in range(50)), crawl=self.crawl)
        self.push_many(many, (f"blocked{number}" for number in range(5000)), crawl=self.crawl)
        for team in (few, many):
            self.client.push(team, f"last of {team}")
        self.compare("pop_behind_blocked", few, many, 8, 150,
                     lambda team: self.pop_and_release(team, [self.crawl]))


class Bodies(CostTest):
    def setUp(self):
        super().setUp()
        self.light, self.heavy = self.named("light"), self.named("heavy")
        for team, size in ((self.light, 10), (self.heavy, 100_000)):
            for number in range(150):
                self.client.push(team, f"j{number}", "x" * size, crawl=self.crawl)

    def test_w16_a_pop_reads_no_bodies_but_its_own(self):
        """A pop that passes over large jobs costs about as much as one that passes over small."""
        self.compare("pop_past_bodies", self.light, self.heavy, 5, 150,
                     lambda team: self.assertIsNone(self.client.pop(team, [self.crawl])))

    def test_w18_lists_and_recounts_read_no_bodies(self):
        """Listing and recounting large jobs costs about as much as listing and recounting small."""
        self.compare("list_of_bodies", self.light, self.heavy, 5, 40,
                     lambda team: self.assertEqual(len(self.client.ids(team)), 150))
        self.compare("recount_of_bodies", self.light, self.heavy, 5, 40,
                     lambda team: self.client.post(f"/reconcile/team/queue/{quote(team)}"))


if __name__ == "__main__":
    main()
