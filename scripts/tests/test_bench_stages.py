"""Rows of the stages in the bench: which figures of the table are used, and which one decides."""

import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import stages  # noqa: E402
from subjects import Void  # noqa: E402


def row(path, median_ns, p99_ns, **more):
    """A row of the table of `wirelab stages --json`."""
    plain = {
        "path": path, "from": "driver", "to": "application", "direction": "receive", "wait": "spin", "tick_ps": 1000,
        "median_ticks": median_ns, "p99_ticks": p99_ns,
    }
    return {**plain, **more}


def paired(pairs):
    """The ratio of the first of each, with an interval around it."""
    ratio = pairs[0][0] / pairs[0][1]
    return {"ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1}


STACK, FAST = row("stack", 4000, 9000), row("fast-track", 1000, 2000)


class Tables(unittest.TestCase):
    def test_only_the_way_from_driver_to_application_counts(self):
        others = [row("stack", 1, 1, to="stack"), row("stack", 2, 2, direction="transmit"), row("stack", 3, 3, probes="off"), row(None, 4, 4)]
        others += [row("stack", 5, 5, wait="sleep"), row("stack", 6, 6, background={"load": "x"})]
        self.assertEqual(stages.ways({"stages": [*others, STACK, FAST]}), ((4.0, 9.0), (1.0, 2.0)))

    def test_one_way_alone_is_void(self):
        with self.assertRaisesRegex(Void, "only of .'stack'"):
            stages.ways({"stages": [STACK]})

    def test_costs_are_those_of_packet_stages_on_a_warm_node(self):
        warm = {"in.driver": 90, "in.call": 400, "out.queue": 91}
        told = [{"point": point, "at": "warm", "median_ns": ns} for point, ns in warm.items()]
        told += [{"point": "in.driver", "at": "trial", "median_ns": 300}]
        table = {"measuring": {"costs": told}}
        self.assertEqual(stages.costs(table), {"in.driver": 90, "out.queue": 91})
        self.assertEqual(stages.costs(table, "trial"), {"in.driver": 300})
        self.assertEqual((stages.costs({"measuring": None}), stages.costs({"measuring": {}})), ({}, {}))


class Verdicts(unittest.TestCase):
    def test_the_dearest_stage_decides(self):
        cold = [{"in.driver": 200, "in.stack": 400}]
        for ns, verdict in ((149, "met"), (150, "missed")):
            row = stages.cost_row(paired, [{"in.driver": 60, "in.stack": ns}], cold)
            self.assertEqual((row["verdict"], row["ours"]), (verdict, f"{ns} ns; 400 ns at the load of the trials"))
            self.assertIn(("in.stack, at the load of the trials", "ns", [400]), row["runs"])
        self.assertEqual(stages.cost_row(paired, [{}], cold)["verdict"], "missed")
        self.assertEqual(stages.cost_row(paired, [{"in.driver": 60}], [{}])["ours"], "60 ns")

    def test_half_of_the_stack_is_enough_and_more_is_not(self):
        for fast_ns, verdict in ((2000, "met"), (2001, "missed")):
            runs = [stages.ways({"stages": [STACK, row("fast-track", fast_ns, 2000)]})]
            (found,) = stages.way_rows(paired, "", runs, 0.5, False)
            self.assertEqual(found["verdict"], verdict)

    def test_beside_a_background_the_slowest_count_too(self):
        runs = [stages.ways({"stages": [STACK, row("fast-track", 4000, 9001)]})]
        self.assertEqual([r["verdict"] for r in stages.way_rows(paired, "", runs, 1, True)], ["met", "missed"])


if __name__ == "__main__":
    unittest.main()
