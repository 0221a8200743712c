# SPDX-License-Identifier: MIT
"""The real program over kills, faults and signals, all from a seed: both trees end up the same."""
import os
import random
import signal

import reports
from copying import CopyTest
from harness import DIFFERENT, FAILED, INTERRUPTED, SAME, STORE, Strace, figure, main, seeds
from trees import Pair, snapshot

# Where a run is cut off, and how often these calls are made, about.
KILLED_AT = {"getdents64": 40, "fdatasync": 12, "pwrite64": 30, "copy_file_range": 20, "linkat": 8,
             "renameat2": 8, "utimensat": 20, "mkdirat": 4, "unlinkat": 6, "openat2": 80}
ENDS = (SAME, DIFFERENT, FAILED, INTERRUPTED, STORE, -signal.SIGKILL, 128 + signal.SIGKILL)


class Scenario(CopyTest):
    def options(self, one):
        """Those that decide what differs stay the same, the others are drawn for each run."""
        return [*one.choice(([], ["--delete"], ["--delete", "--verify"])),
                "--threads", str(one.randint(1, 4)), *one.choice(([], ["--no-sync"])),
                *one.choice(([], ["--lead", "1"])), *one.choice(([], ["--memory", "16M"]))]

    def disturbed(self, one):
        """A run that something happens to; its exit code."""
        call = one.choice(list(KILLED_AT))
        number = one.randint(1, KILLED_AT[call])
        what = one.choice(("signal=KILL", "signal=KILL", "signal=TERM", "error=EIO", "error=ENOSPC",
                           "error=ENOMEM"))
        if call == "unlinkat" and what.startswith("error"):
            what = "signal=KILL"  # What cannot be removed stays: also a file that has no name yet.
        trace = Strace(self, "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}")
        verb = one.choice((["run", self.src, self.dst], ["run", self.src, self.dst], ["copy"]))
        done = self.run_m(*verb, *(["--checksum"] if verb[0] == "run" else []),
                          *(self.options(one) if verb[0] == "run" else ["--delete"]),
                          before=trace.words)
        return f"{verb[0]} {call} {number} {what}: {done.returncode}", done.returncode

    def test_whatever_happens_on_the_way_both_trees_are_the_same_in_the_end(self):
        disturbed = 0
        for seed in seeds(30, 1000):
            with self.subTest(seed=seed, rerun=f"SLUICE_SEED={seed}"):
                one = random.Random(seed)
                for path in (self.src, self.dst, self.state):
                    self.remove(path)
                Pair(one, self.src, self.dst, 120, hard_links=False)
                source = snapshot(self.src)
                history = []
                for _ in range(one.randint(2, 6)):
                    said, code = self.disturbed(one)
                    history.append(said)
                    # 4: there is no finished comparison to copy by. 3: nor a ledger.
                    self.assertIn(code, (*ENDS, 3, 4), history)
                    self.assertEqual(snapshot(self.src), source, history)
                    if os.path.exists(self.state):
                        self.m("verify", code=(0, 3))
                    disturbed += 1
                # Nothing happens to it any more. What failed is looked at again, and nothing else.
                self.m("run", self.src, self.dst, "--checksum", "--delete", code=(SAME, FAILED))
                self.m("retry", code=(0, 3))
                self.m("run", self.src, self.dst, "--checksum", "--delete")
                self.assertEqual(snapshot(self.dst), source, history)
                self.assertEqual(reports.rsync_difference(self.src, self.dst), b"", history)
                self.verify("--contents")
        figure("soak_disturbed_runs", disturbed)


if __name__ == "__main__":
    main()
