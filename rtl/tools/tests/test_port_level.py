"""Tests of rtl/cocotb/run.py: differing traces are reported, and a missing result is not a success."""

import importlib.util
import sys
import unittest
from pathlib import Path

RTL = Path(__file__).resolve().parents[2]


def load():
    """The program as a module; other programs have the same name."""
    spec = importlib.util.spec_from_file_location("port_level", RTL / "cocotb/run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["port_level"] = module
    spec.loader.exec_module(module)
    return module


def trace(cycle=7, carriers=(), cycles=9):
    """A trace with one change."""
    return {"test": "one", "cycles": cycles, "changes": [[3, "sent", 1], [cycle, "sent", 0]], "carriers": list(carriers)}


class PortLevel(unittest.TestCase):
    """The judgement of the simulators' results."""

    def setUp(self):
        self.module = load()
        self.lines = []

    def told(self, **outcomes):
        """The number of failed points."""
        return self.module.told({"top": outcomes}, self.lines.append)

    def test_equal_traces(self):
        self.assertEqual(self.module.difference(trace(), trace()), "")

    def test_where_traces_part(self):
        self.assertIn("cycle 7: sent is 0", self.module.difference(trace(), trace(8)))
        self.assertIn("bytes", self.module.difference(trace(), trace(carriers=[[12, "55"]])))
        self.assertIn("9 and 10 cycles", self.module.difference(trace(), trace(cycles=10)))

    def test_all_is_well(self):
        good = ({"a": True}, {"one": trace()}, "")
        self.assertEqual(self.told(ghdl=good, verilator=good), 0)
        self.assertIn("1..3", self.lines)

    def test_a_failed_test_a_missing_one_and_a_difference_fail(self):
        good, late = ({"a": True}, {"one": trace()}, ""), ({"a": True}, {"one": trace(8)}, "")
        self.assertEqual(self.told(ghdl=good, verilator=({"a": False}, {"one": trace()}, "")), 1)
        self.assertEqual(self.told(ghdl=good, verilator=late), 1)
        self.assertEqual(self.told(ghdl=good, verilator=({"a": True}, {}, "")), 1)

    def test_a_top_of_which_nothing_ran_fails_beside_one_that_is_well(self):
        good, nothing = ({"a": True}, {"one": trace()}, ""), ({}, {}, "no such program")
        outcomes = {"one": {"ghdl": good, "verilator": good}, "other": {"ghdl": nothing, "verilator": nothing}}
        self.assertEqual(self.module.told(outcomes, self.lines.append), 3)
        self.assertIn("1..6", self.lines)
        self.assertIn("ok 1 - one: ghdl: a", self.lines)

    def test_simulators_that_did_not_run_fail(self):
        nothing = ({}, {}, "no such program")
        self.assertEqual(self.told(ghdl=nothing, verilator=nothing), 3)
        self.assertTrue(any("no such program" in line for line in self.lines))
