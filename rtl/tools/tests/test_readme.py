"""Tests of rtl/README.md: the commands for using the blocks in another design do what the page says."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import benches
import toolchain

README = toolchain.TREE / "rtl/README.md"
SECTION = "## A generator and a checker in your own design\n"
FENCED = re.compile(r"^( *)```\n(.*?)^\1```\n", re.M | re.S)


def blocks():
    """The commands of the section, one text for each code block."""
    section = README.read_text().partition(SECTION)[2].partition("\n## ")[0]
    return [text for _, text in FENCED.findall(section)]


class OwnDesign(unittest.TestCase):
    """The unchanged commands, in a folder with only the sources."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "rtl").symlink_to(toolchain.TREE / "rtl")
        ghdl = benches.ghdl_for_vunit()
        self.addCleanup(ghdl.cleanup)
        self.environment = dict(os.environ, PATH=f"{ghdl.name}:{os.environ['PATH']}", PYTHONDONTWRITEBYTECODE="1")

    def run_all(self, commands):
        """Each command must succeed."""
        words = ["bash", "-euxc", commands]
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_example_and_a_whole_port_compile_by_the_commands_of_the_readme(self):
        found = blocks()
        self.assertEqual([re.findall(r"^ *ghdl -m .* (\w+)$", text, re.M) for text in found], [["line_tester"], ["ethernet_port"]])
        for text in found:
            self.run_all(text)

    def test_any_library_does(self):
        for text in blocks():
            self.run_all(re.sub(r"ghdl -([im])", r"ghdl -\1 --work=bought", text))

    def test_a_port_alone_wants_what_is_made_of_the_registers(self):
        wanting = [path.name for path in sorted(README.parent.glob("src/*.vhd")) if "work.ethernet_port_registers" in path.read_text()]
        self.assertEqual(wanting, ["ethernet_port.vhd"])

    def test_a_file_that_is_left_out_shows(self):
        (example, _) = blocks()
        with self.assertRaisesRegex(AssertionError, "packet_generator"):
            self.run_all(example.replace("rtl/src/*.vhd", "rtl/src/mac_*.vhd rtl/src/*_pkg.vhd"))


if __name__ == "__main__":
    unittest.main()
