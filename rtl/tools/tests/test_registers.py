"""Tests of the files from the register maps: they compile, their addresses agree, and bad maps are reported."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import registers
import toolchain


class Registers(unittest.TestCase):
    """VHDL, C and Rust of one map."""

    @classmethod
    def setUpClass(cls):
        cls.folder = registers.generate()
        cls.header = cls.folder / "ethernet_port_registers.h"
        cls.rust = (cls.folder / "ethernet_port_registers.rs").read_text()

    def test_the_vhdl_of_every_map_is_there(self):
        names = {path.name for path in registers.sources()}
        self.assertEqual(names, {"ethernet_port_registers.vhd", "ethernet_port_registers_pkg.vhd", "reference_node_pkg.vhd", "reg_utils.vhd"})

    def test_c_and_rust_place_each_register_alike(self):
        blocks = "clock generator mac checker capture identifier rate".split()
        lines = []
        for block in blocks:
            prefix = block.upper()
            base = int(re.search(rf"^/// ethernet_port_registers\.{block}\.\w+\npub const {prefix}_\w+: u16 = 0x(\w+);", self.rust, re.M)[1], 16)
            # In Rust an array has a name for each place, in C one for all.
            for name, place in re.findall(rf"^pub const {prefix}_([A-Z_]+): u16 = 0x(\w+);", self.rust, re.M):
                lines.append(f"_Static_assert(offsetof({block}_registers_t, {name.lower()}) == {int(place, 16) - base}, \"{prefix} {name}\");")
        self.assertGreater(len(lines), 60)
        text = f'#include <stddef.h>\n#include "{self.header}"\n' + "\n".join(lines) + "\n"
        done = subprocess.run(
            ["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"], input=text, text=True, stderr=subprocess.PIPE, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_field_has_its_place_in_c_and_rust(self):
        self.assertIn("GENERATOR_REGISTERS__CONTROL__FAULT_KIND_bp 8", self.header.read_text())
        self.assertIn("pub const GENERATOR_CONTROL_FAULT_KIND: Field = Field { shift: 8, width: 3 };", self.rust)

    def test_the_drivers_compile_for_a_microcontroller_without_a_library(self):
        compiler = "riscv64-unknown-elf-gcc"
        if not shutil.which(compiler):
            self.skipTest(f"{compiler}: there is no compiler for it")
        words = "-march=rv32imac -mabi=ilp32 -std=c11 -Os -ffreestanding -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Werror".split()
        files = sorted((toolchain.TREE / "firmware/drivers").glob("**/*.c"))
        self.assertGreater(len(files), 12)
        folders = [f"-I{self.folder}", f"-I{toolchain.TREE / 'firmware/drivers'}"]
        done = subprocess.run([compiler, *words, *folders, *files], text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_vhdl_whose_decoding_is_not_as_known_is_refused(self):
        vhdl = (self.folder / "ethernet_port_registers.vhd").read_text()
        # It is already decoded ahead.
        with self.assertRaisesRegex(toolchain.ToolError, "Address Decode"):
            registers.decode_ahead(vhdl)

    def test_the_reference_node_has_its_places_alike_in_vhdl_c_and_rust(self):
        package = (self.folder / "reference_node_pkg.vhd").read_text()
        places = {name: int(place, 16) for name, place in re.findall(r"constant (\w+) : natural := 16#(\w+)#;", package)}
        rust = (self.folder / "reference_node_registers.rs").read_text()
        lines = []
        for path, name, place in re.findall(r"/// reference_node_registers\.([\w.\[\]]+)\npub const (\w+): u32 = 0x(\w+);", rust):
            block = path.split(".")[0]
            if block != "port_1":
                lines.append(f'_Static_assert(offsetof(reference_node_registers_t, {path}) == 0x{place}, "{name}");')
                base = f"offsetof(reference_node_registers_t, {block})"
                lines.append(f'_Static_assert({base} + {places[name]} == 0x{place}, "{name} in VHDL");')
        self.assertGreater(len(lines), 150)
        # A program may have both headers.
        includes = "".join(f'#include "{self.folder / name}_registers.h"\n' for name in ("reference_node", "ethernet_port"))
        text = f"#include <stddef.h>\n{includes}" + "\n".join(lines) + "\n"
        words = ["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-"]
        done = subprocess.run(words, input=text, text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_newer_than_its_map_is_not_made_again(self):
        with mock.patch.object(registers, "export", side_effect=AssertionError("made again")):
            self.assertEqual(registers.generate(), self.folder)

    def test_a_folder_with_other_things_in_it_is_left_as_it_is(self):
        with tempfile.TemporaryDirectory() as name:
            kept = Path(name, "kept.vhd")
            kept.write_text("mine")
            for folder in (Path(name), kept):
                with self.assertRaisesRegex(toolchain.ToolError, "other things in it"):
                    registers.generate(folder)
            self.assertEqual(kept.read_text(), "mine")

    def test_a_map_that_is_wrong_is_named_with_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "bad.rdl")
            path.write_text("addrmap bad {\n  reg { field { sw = rw; hw = r; } level = ; } a;\n};\n")
            with mock.patch.object(registers, "MAPS", Path(folder)):
                with self.assertRaisesRegex(toolchain.ToolError, r"bad\.rdl:2"):
                    registers.generate(Path(folder, "out"))
            self.assertFalse(Path(folder, "out").exists())


if __name__ == "__main__":
    unittest.main()
