#!/usr/bin/env python3
"""Which tests ./test --since leaves out. BUILD is the folder of a build."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tools"))
import reach  # noqa: E402

# About the project as a whole, and in the release build alone, which nothing is left out of.
OF_NO_ROOM = ("build.", "install.", "package", "tools.")


class Reach(unittest.TestCase):
    def reached(self, *paths):
        kept = reach.changed_files
        self.addCleanup(setattr, reach, "changed_files", kept)
        reach.changed_files = lambda commit: list(paths)
        return reach.reached("some commit")

    def test_a_change_reaches_what_looks_to_it_and_nothing_else(self):
        self.assertEqual(self.reached("src/server/routes.cc"), {"server", "sluiced"})
        self.assertEqual(self.reached("include/sluice/queue/group.h"),
                         {"queue", "worker", "server", "client", "queuectl", "sluiced", "examples"})
        self.assertEqual(self.reached("tests/migrate/copy_test.py", "apps/retracker/main.cc"),
                         {"sluice-migrate", "retracker"})
        self.assertEqual(self.reached("clients/python/x.py"), {"sluiced"})
        self.assertEqual(self.reached("docs/design/queue.md", "README.md"), set())

    def test_what_everything_rests_on_reaches_everything(self):
        for path in ("src/base/clock.cc", "src/codec/json.h", "src/kv/lmdb/space.cc", "cmake/rooms.cmake",
                     "CMakePresets.json", "CMakeLists.txt", "include/sluice/kv.h", "tools/tidy",
                     "tests/support/child.cc", "tests/kv/ledger.cc", "test"):
            self.assertIsNone(self.reached("docs/x.md", path), path)

    def test_every_test_belongs_to_a_room_or_a_program(self):
        done = subprocess.run(["ctest", "--test-dir", os.environ["BUILD"], "--show-only=json-v1"],
                              stdout=subprocess.PIPE, check=True)
        names = [test["name"] for test in json.loads(done.stdout)["tests"]]
        self.assertGreater(len(names), 100)
        starts = tuple(reach.tests_of(reach.SEES)) + OF_NO_ROOM
        self.assertEqual([name for name in names if not name.startswith(starts)], [])

    def test_the_targets_are_those_of_the_tests(self):
        known = ["all", "client_test", "example_bank", "kv_test", "queue_model_test", "queue_test",
                 "queue_test_threads", "queuectl", "sluiced", "sluice_queue", "worker_test"]
        self.assertEqual(reach.targets_of({"queue", "queuectl"}, known),
                         ["queue_model_test", "queue_test", "queue_test_threads", "queuectl"])
        self.assertEqual(reach.targets_of({"examples", "sluiced"}, known), ["example_bank", "sluiced"])


if __name__ == "__main__":
    unittest.main()
