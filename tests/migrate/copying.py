"""What the tests of copying share."""
import reports
from harness import SAME, MigrateTest
from trees import snapshot


class CopyTest(MigrateTest):
    def run_all(self, *options, code=SAME, **others):
        return self.m("run", self.src, self.dst, *options, code=code, **others)

    def check_equal(self):
        """Both trees are the same, in our eyes and in those of rsync."""
        self.assertEqual(snapshot(self.dst), snapshot(self.src))
        self.assertEqual(reports.rsync_difference(self.src, self.dst), b"")
