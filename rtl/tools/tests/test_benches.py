"""Tests of the runner of benches: small benches that pass, fail or do not compile must be reported as such."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]
BENCH = """-- A bench of a test.
library vunit_lib;
context vunit_lib.vunit_context;
entity tb_it is
  generic (runner_cfg : string);
end entity;
architecture test of tb_it is
begin
  main : process
  begin
    test_runner_setup(runner, runner_cfg);
    while test_suite loop
      if run("right") then check_equal(1, 1);
      elsif run("wrong") then check_equal(1, 2);
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
end architecture;
"""
RUN = """import sys; from pathlib import Path
sys.path.insert(0, sys.argv[1]); import toolchain, benches
sys.exit(benches.run([], [Path(word) for word in sys.argv[4:]], Path(sys.argv[2]), [], range(*map(int, sys.argv[3].split(",")))))"""

RUN_STAND_IN = """import sys; from pathlib import Path
sys.path.insert(0, sys.argv[1]); import toolchain, benches
paths = [Path(word) for word in sys.argv[2:]]
sys.exit(benches.run([paths[1]], paths[3:], paths[0], [], stand_ins=[paths[2]]))"""


class Benches(unittest.TestCase):
    """Results of VUnit as TAP."""

    @classmethod
    def setUpClass(cls):
        # One folder for all, because VUnit compiles its own packages into it first.
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def tap(self, *texts, seeds="0,0"):
        """The TAP lines and the status of benches with these texts."""
        paths = [self.folder / f"tb_{number}.vhd" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        words = [sys.executable, "-B", "-c", RUN, TOOLS, self.folder / "out", seeds, *paths]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.lines = done.stdout.split("\n")
        return [line for line in self.lines if line.startswith(("ok ", "not ok ", "1..", "Bail out!"))], done.returncode

    def test_each_seed_is_a_point_and_reaches_the_bench(self):
        text = BENCH.replace("tb_it", "tb_0").replace("runner_cfg : string", "runner_cfg : string; seed : natural := 0")
        text = text.replace("check_equal(1, 1)", "check_equal(seed, 2)").replace("check_equal(1, 2)", "check_equal(seed, 1)")
        lines, status = self.tap(text, seeds="1,3")
        told = sorted(line.split(" (")[0].split(" - wirelab.tb_0.") for line in lines if " - " in line)
        self.assertEqual(status, 1)
        self.assertEqual(sorted((name, state.split()[0]) for state, name in told), [
            ("seed_1.right", "not"), ("seed_1.wrong", "ok"), ("seed_2.right", "ok"), ("seed_2.wrong", "not")])

    def test_each_test_is_a_point(self):
        lines, status = self.tap(BENCH)
        self.assertEqual(status, 1)
        self.assertRegex(lines[0], r"^ok 1 - wirelab\.tb_it\.right \(")
        self.assertRegex(lines[1], r"^not ok 2 - wirelab\.tb_it\.wrong \(")
        self.assertEqual(lines[2:], ["1..2"])
        # The output of the failed bench stands directly above its point, and none above the other.
        above = self.lines[self.lines.index(lines[0]) + 1 : self.lines.index(lines[1])]
        self.assertTrue(above and all(line.startswith("# ") for line in above), above)
        self.assertIn("Equality check failed - Got 1. Expected 2.", "\n".join(above))
        self.assertFalse(self.lines[self.lines.index(lines[0]) - 1].startswith("# "))

    def test_a_bench_that_passes_gives_status_0(self):
        lines, status = self.tap(BENCH.replace("check_equal(1, 2)", "check_equal(2, 2)"))
        self.assertEqual((lines[-1], status), ("1..2", 0))

    def test_a_bench_that_does_not_compile_is_no_pass(self):
        lines, status = self.tap(BENCH.replace("check_equal(1, 1)", "check_equal(1, one)"))
        self.assertEqual(status, 1)
        self.assertTrue(any(line.startswith("Bail out!") for line in lines), lines)

    def test_no_bench_is_no_pass(self):
        lines, status = self.tap()
        self.assertEqual((lines, status), (["Bail out! there is no test bench"], 1))

    def test_a_stand_in_takes_the_place_of_its_namesake_in_a_library_of_its_own(self):
        source, stand_in = self.folder / "it.vhd", self.folder / "stand_ins/it.vhd"
        stand_in.parent.mkdir(exist_ok=True)
        for path, value in (source, 1), (stand_in, 2):
            path.write_text(f"package it is constant VALUE : natural := {value}; end package;\n")
        benches = []
        for library, value in ("work", 1), ("stand_ins", 2):
            text = BENCH.replace("entity tb_it", f"library stand_ins; use {library}.it.all;\nentity tb_{library}")
            text = text.replace("of tb_it", f"of tb_{library}").replace("(1, 2)", "(1, 1)").replace("(1, 1)", f"(VALUE, {value})")
            benches.append(self.folder / f"tb_{library}.vhd")
            benches[-1].write_text(text)
        for name, says in (stand_in, "1..4"), (self.folder / "other.vhd", "other.vhd of rtl/tb/stand_ins has no source of that name"):
            words = [sys.executable, "-B", "-c", RUN_STAND_IN, TOOLS, self.folder / "out", source, name, *benches]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, int(name != stand_in), done.stdout)
            self.assertIn(says, done.stdout)


class Toolchain(unittest.TestCase):
    """Tools that are missing or unsuitable."""

    def failure(self, **environment):
        """The output of run.py in this environment."""
        words = [sys.executable, "-B", TOOLS.parent / "tb/run.py"]
        done = subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        return done.stdout

    def fake(self, says):
        """A GHDL with this answer to --version."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "ghdl")
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
        return str(path)

    def test_an_old_ghdl_is_named_with_the_fix(self):
        said = self.failure(GHDL=self.fake("GHDL 1.0.0 (Ubuntu 1.0.0+dfsg-6) [Dunoon edition]"))
        self.assertIn("GHDL 1.0, which has no synthesis to Verilog; 2.0 or newer is needed; fix:", said)

    def test_another_program_of_that_name_is_named(self):
        # The program of that name on PyPI.
        said = self.failure(GHDL=self.fake("binary manager 0.4.14"))
        self.assertIn("this is not GHDL", said)

    def test_a_missing_ghdl_is_named_with_the_fix(self):
        self.assertIn("fix: scripts/setup.sh test", self.failure(GHDL="/nonexistent/ghdl"))


if __name__ == "__main__":
    unittest.main()
