"""Rows of hardware in simulation: which figure is used, and that a slow or broken one is reported."""

import json
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import hardware  # noqa: E402
from subjects import Missing, Void  # noqa: E402

SPEED = "idle: 2.21 million clocks/s, 0 echoes\nechoing: 2.02 million clocks/s, 31 echoes\n"
SWEEP = "payload 1498:   2.00 s, 9.00 million port clocks a second\nall five:       6.10 s, 9.10 million port clocks a second\n"


def table(frames, paths=(None, ), lengths=(64, 256, 1024)):
    """The output of `wirelab stages --json` for these; without a fast track its rows have no path."""
    rows = [{"path": path, "length_bytes": n, "count": frames} for path in paths for n in lengths]
    return json.dumps({"stages": [{key: value for key, value in row.items() if value} for row in rows]})


def subjects(said, took=30.0):
    return SimpleNamespace(wirelab="wirelab", have_wirelab=lambda: None, timed_output=lambda name, words: (took, said))


class Figures(unittest.TestCase):
    def test_the_slower_of_idle_and_echoing_counts(self):
        self.assertEqual(hardware.clocks(SPEED), 2.02)
        for broken in ("", SPEED.replace("31 echoes", "0 echoes"), SPEED.splitlines()[0]):
            with self.assertRaises(Void):
                hardware.clocks(broken)

    def test_the_sweep_is_that_of_all_payloads(self):
        self.assertEqual(hardware.sweep(SWEEP), 6.10)
        with self.assertRaises(Void):
            hardware.sweep(SWEEP.splitlines()[0])

    def test_a_table_of_other_frames_is_void(self):
        self.assertEqual(hardware.table(subjects(table(512))), 30.0)
        both = table(512, ("stack", "fast-track"))
        self.assertEqual(hardware.table(subjects(both, 64.0), hardware.FAST_TRACK), 64.0)
        for said, more in ((table(8), ()), (table(512, lengths=(64, 256)), ()), (table(512), hardware.FAST_TRACK), (both, ())):
            with self.assertRaises(Void):
                hardware.table(subjects(said), more)


class Verdicts(unittest.TestCase):
    def rows(self, speed, sweep, took):
        texts = {"reference_speed": speed, "sweep": sweep}
        with mock.patch.object(hardware, "printed", side_effect=lambda _, name: texts[name]), \
                mock.patch.object(hardware, "table", side_effect=lambda _, more=(): took[bool(more)]):
            return [row["verdict"] for row in hardware.rows(None, 7)]

    def test_each_limit_is_met_or_missed(self):
        self.assertEqual(self.rows(SPEED, SWEEP, [59.9, 119.9]), ["met"] * 4)
        slow = self.rows(SPEED.replace("2.02", "1.99"), SWEEP.replace("6.10", "8.00"), [60.0, 120.0])
        self.assertEqual(slow, ["missed"] * 4)

    def test_what_cannot_be_measured_is_missed_and_says_why(self):
        with mock.patch.object(hardware, "printed", side_effect=Missing("run `make setup bench`")), \
                mock.patch.object(hardware, "table", side_effect=Missing("run `make build`")), mock.patch("sys.stderr"):
            rows = hardware.rows(None, 7)
        self.assertEqual([row["verdict"] for row in rows], ["missed"] * 4)
        self.assertIn("make setup", rows[0]["ours"])


if __name__ == "__main__":
    unittest.main()
