"""The bench's verdicts: a missed requirement must be reported, and a missing peer must not pass."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import machine  # noqa: E402
import main  # noqa: E402
import page  # noqa: E402
import subjects  # noqa: E402

RATIO = {"ratio": 4.5, "low": 3.9, "high": 5.1}


def row(mine, theirs, limit, goal, missing=None, ratio=RATIO, **more):
    runs = {"ours": mine, "trafgen 64": theirs}
    with mock.patch.object(main, "paired", return_value=ratio):
        return main.against_peer(None, runs, missing or {}, "x", "ours", "trafgen 64", limit, goal, **more)


class Verdicts(unittest.TestCase):
    def test_the_median_decides_and_the_goal_is_told_apart(self):
        self.assertEqual(row([9e6], [2e6], 4, 5)["verdict"], "met, goal not met")
        self.assertEqual(row([9e6], [2e6], 5, None)["verdict"], "missed")

    def test_the_lower_bound_decides_where_it_is_asked_for(self):
        self.assertEqual(row([9e6], [2e6], 4, None, by_lower_bound=True)["verdict"], "missed")
        self.assertEqual(row([9e6], [2e6], 3.9, None, by_lower_bound=True)["verdict"], "met")

    def test_a_missing_peer_is_named_and_neither_met_nor_missed(self):
        found = row([9e6], [], 4, 5, missing={"trafgen 64": "peer missing; install it with …"})
        self.assertEqual(found["verdict"], "not compared")
        self.assertIn("peer missing; install", found["peer"])

    def test_a_figure_below_its_limit_is_missed(self):
        with mock.patch.object(main, "paired", return_value=RATIO):
            slow = main.absolute(None, "x", [24.0, 24.5, 26.0], "Gbit/s", 25, 35)
            late = main.absolute(None, "x", [9.0, 11.0, 12.0], "ms", 10, None, smaller=True)
        self.assertEqual((slow["verdict"], late["verdict"]), ("missed, goal not met", "missed"))

    def test_nothing_is_judged_without_a_requirement(self):
        self.assertEqual(page.verdict(True, None, None), "shown for comparison")


class Runs(unittest.TestCase):
    def own(self, found):
        with tempfile.TemporaryDirectory() as folder:
            measured = subjects.Subjects("target", folder, 1)
            with mock.patch.object(measured, "run", return_value=found):
                return measured.fast(60)

    def test_a_run_with_a_finding_or_without_time_is_void(self):
        clean = {"findings": 0, "sender_time": True, "missed_frames": 0, "sent_frames": 1}
        self.assertEqual(self.own(clean), clean)
        for broken in ({"findings": 1}, {"sender_time": False}):
            with self.assertRaises(subjects.Void):
                self.own({**clean, **broken})

    def test_a_command_that_fails_is_void(self):
        with tempfile.TemporaryDirectory() as folder:
            measured = subjects.Subjects("target", folder, 1)
            failed = subprocess.CompletedProcess([], 1, "", "no such thing")
            with mock.patch.object(subprocess, "run", return_value=failed), self.assertRaises(subjects.Void):
                measured.timed("x", ["false"])


class Quiet(unittest.TestCase):
    def test_processors_in_use_are_told_from_what_was_idle(self):
        cores = "cpu0 0\ncpu1 0\n"
        before = "cpu  100 0 100 1000 0 0 0 0 0 0\n" + cores
        after = "cpu  140 0 110 1140 0 0 0 10 0 0\n" + cores
        self.assertAlmostEqual(machine.used(before, after), 2 * 60 / 200)

    def test_a_busy_machine_is_named_and_a_quiet_one_is_not(self):
        self.assertIn("0.60 processors", machine.busy(0.6))
        self.assertEqual(machine.busy(0.02), "")


if __name__ == "__main__":
    unittest.main()
