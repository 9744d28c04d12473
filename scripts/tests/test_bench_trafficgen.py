"""Rows of the fast path beside upstream's xdp-trafficgen and an earlier build, with invented runs."""

import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import main as bench  # noqa: E402
import trafficgen  # noqa: E402
from subjects import Missing  # noqa: E402

ROUNDS = 7


class Runs:
    """Subjects of which each run gives the same rates."""

    def __init__(self, fast, peer=None):
        self.ours, self.peer = fast, peer

    def fast(self, _length):
        return {"frames_per_s": self.ours}

    def xdp_trafficgen(self, _sink):
        if self.peer is None:
            raise Missing("it sent nothing")
        return self.peer


def verdicts(subjects, before=None):
    """The verdict of each row, and the exit status that they make."""
    kept = bench.build_sink, bench.paired
    bench.build_sink = lambda folder: folder
    bench.paired = lambda _subjects, pairs: dict.fromkeys(("ratio", "low", "high"), pairs[0][0] / pairs[0][1])
    try:
        found = trafficgen.rows(subjects, before, ROUNDS, "folder")
    finally:
        bench.build_sink, bench.paired = kept
    return [row["verdict"] for row in found], trafficgen.status(found)


class Rows(unittest.TestCase):
    def test_a_goal_that_is_not_met_is_said_and_no_failure(self):
        self.assertEqual(verdicts(Runs(3.0e6, 3.2e6)), (["goal not met"], 0))
        self.assertEqual(verdicts(Runs(3.6e6, 3.2e6)), (["goal met"], 0))

    def test_a_peer_that_does_not_run_is_not_compared(self):
        self.assertEqual(verdicts(Runs(3.0e6)), (["not compared"], 1))

    def test_a_fast_path_that_lost_more_than_a_twentieth_misses(self):
        self.assertEqual(verdicts(Runs(3.0e6, 2.0e6), Runs(3.2e6)), (["goal met", "missed"], 1))
        self.assertEqual(verdicts(Runs(3.0e6, 2.0e6), Runs(3.1e6)), (["goal met", "met"], 0))


if __name__ == "__main__":
    unittest.main()
