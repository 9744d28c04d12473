"""Instructions of each stage, counted: a frame goes through stack, driver and the MAC's loopback and back again."""

import itertools
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lab  # noqa: E402
from control import Control  # noqa: E402

# One instruction is 2^shift ns of QEMU's clock, more than two ticks of the board's, so counts are exact.
BOARDS = {"zynq7000": {"shift": 7, "tick_ns": 10}, "mps2-an385": {"shift": 8, "tick_ns": 40}}
POINTS = ["interrupt", "driver", "application", "application", "driver", "mac"]
LENGTHS = [64, 256, 1024, 1514]
RUNS = 5
FRAMES = 64


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


def stages(board, points):
    """Instructions of each stage of each frame, receiving first."""
    scale = board["tick_ns"] / 2 ** board["shift"]
    rows = {}
    for first, second in [(0, 1), (1, 2), (3, 4), (4, 5)]:
        name = f"{POINTS[first]} to {POINTS[second]}"
        rows[name] = [round((points[second][1][n] - points[first][1][n]) * scale) for n in sorted(points[first][1])]
    return rows


def measure(name, lengths=LENGTHS, frames=FRAMES):
    """The stages of one run of a board, by length."""
    found = {}
    board = BOARDS[name]
    with lab.Board(name, icount=board["shift"]) as node, Control(node) as control:
        for length in lengths:
            trial = control.trial(direction="both", layer="udp-ipv4", path="loopback", length_bytes=length, load="max",
                                  frames=frames, captures=frames)
            points = control.captures(trial["trial"])
            assert [point for point, _ in points] == POINTS, points
            assert all(sorted(records) == list(range(frames)) for _, records in points), points
            counters = control.counters(trial["trial"])
            assert counters["good_frames"] == frames, counters
            found[length] = stages(board, points)
    return found


def table(found):
    """A run as text, for a comparison byte by byte."""
    lines = []
    for length, rows in found.items():
        for name, counts in rows.items():
            lines.append(f"{length:5} {name:28} {' '.join(map(str, counts))}")
    return "\n".join(lines)


class Counts(unittest.TestCase):
    """The same for both boards."""

    maxDiff = None

    def test_five_runs_are_identical(self):
        for name in BOARDS:
            with self.subTest(name):
                first = table(measure(name))
                for _ in range(RUNS - 1):
                    self.assertEqual(table(measure(name)), first)

    def test_runs_with_both_cores_busy_are_identical_too(self):
        quiet = {name: table(measure(name)) for name in BOARDS}
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() + 1)]
        try:
            for name in BOARDS:
                with self.subTest(name):
                    self.assertEqual(table(measure(name)), quiet[name])
        finally:
            for process in busy:
                process.kill()
                process.wait()

    def test_a_capture_point_tells_what_it_costs_itself(self):
        for name, board in BOARDS.items():
            with self.subTest(name), lab.Board(name, icount=board["shift"]) as node, Control(node) as control:
                trial = control.trial(direction="both", layer="udp-ipv4", path="loopback", length_bytes=64, load="max",
                                      frames=2, captures=2)
                ticks = control.counters(trial["trial"])["capture_point_ticks"]
                # A call, the clock and a record: some tens of instructions.
                self.assertTrue(30 <= ticks * board["tick_ns"] >> board["shift"] <= 80, ticks)

    def test_longer_frames_cost_what_their_copies_cost(self):
        for name in BOARDS:
            with self.subTest(name):
                found = measure(name)
                for shorter, longer in itertools.pairwise(LENGTHS):
                    for stage in ["interrupt to driver", "driver to mac"]:
                        self.assertGreater(min(found[longer][stage]), max(found[shorter][stage]), stage)
                # Every frame of one length costs the same, except the first, which finds lwIP's tables cold.
                for length in LENGTHS:
                    for stage, counts in found[length].items():
                        self.assertLessEqual(max(counts[1:]) - min(counts[1:]), 1, f"{length} {stage} {counts}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"]:
        for board in BOARDS:
            print(board)
            print(table(measure(board)))
    else:
        unittest.main()
