"""The row of the reflector in the bench: the ratio decides, and a finding makes the run void."""

import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import reflector  # noqa: E402
from subjects import Void  # noqa: E402


def found(ratio, findings=0):
    return {
        "length": 64, "ratio": ratio, "low": ratio - 0.5, "high": ratio + 0.5, "findings": findings, "wait": "spin",
        "best_load_per_s": 600_000, "xdp_per_s": [4e6, 5e6, 6e6], "udp_per_s": [4e5, 5e5, 6e5],
    }


class Row(unittest.TestCase):
    def test_four_times_the_rate_is_asked(self):
        for ratio, verdict in ((4.0, "met"), (3.99, "missed")):
            row = reflector.row(found(ratio))
            self.assertEqual((row["verdict"], row["requirement"]), (verdict, "≥ 4 ×"))
        self.assertEqual(row["ours"], "5.00 M frames/s")
        self.assertEqual(row["peer"], "0.50 M frames/s at a load of 0.60 M frames/s, spin")

    def test_a_frame_that_came_back_damaged_makes_the_run_void(self):
        with self.assertRaises(Void):
            reflector.row(found(10.0, findings=1))


if __name__ == "__main__":
    unittest.main()
