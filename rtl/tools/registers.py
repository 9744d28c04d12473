#!/usr/bin/env python3
"""Registers from rtl/registers/*.rdl by PeakRDL: `registers.py [-o FOLDER]` (target/rtl/registers).

Writes for each map a VHDL block with its package behind AXI4-Lite, a C header, constants for Rust, and a folder of HTML; nothing if they are
newer than their source. Generated files are longer than anybody reads, so that they are not kept in the repository.
"""

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
from pathlib import Path

import toolchain
import verilog

MAPS = toolchain.TREE / "rtl/registers"
LISTS = toolchain.TREE / "rtl/tools/requirements.txt"
VHDL = "--cpuif axi4-lite-flat --default-reset rst --type-style lexical --copy-utils-pkg --err-if-bad-addr --err-if-bad-rw --rt-read-fanin --rt-read-response".split()
HEADER = "--std gnu11 --bitfields none".split()


def properties():
    """The file that tells SystemRDL the properties of PeakRDL, as buffer_reads."""
    (found,) = (toolchain.ENVIRONMENT / "lib").glob("python3*/site-packages/peakrdl_regblock_vhdl/hdl_src/regblock_udps.rdl")
    return str(found)


def export(path, folder):
    """Writes all that is made of one map. Raises ToolError with PeakRDL's words."""
    peakrdl, common = toolchain.tool("peakrdl"), [properties(), str(path)]
    toolchain.run([peakrdl, "regblock-vhdl", *common, *VHDL, "-o", str(folder)])
    for file in folder.glob("*.vhd"):
        # PeakRDL joins the names of types by dots, which only extended identifiers may have, and VUnit cannot read those.
        file.write_text(re.sub(r"\\([\w.]+\.\w+)\\", lambda name: name[1].replace(".", "_"), file.read_text()))
    header = folder / f"{path.stem}_registers.h"
    toolchain.run([peakrdl, "c-header", *common, *HEADER, "-o", str(header)])
    # A compiler without a C library has no assert.h; the language has the assertion.
    header.write_text(header.read_text().replace("#include <assert.h>\n", "").replace("static_assert(", "_Static_assert("))
    (folder / f"{path.stem}_registers.rs").write_text(rust(path))
    toolchain.run([peakrdl, "html", *common, "-o", str(folder / f"{path.stem}_html")])


def rust(path):
    """The addresses and fields of a map as Rust: a register's offset, a field's lowest bit and width. Raises ToolError."""
    from systemrdl import RDLCompileError, RDLCompiler, RDLWalker, RDLListener  # Only the environment has it.

    compiler = RDLCompiler()
    try:
        for name in (properties(), str(path)):
            compiler.compile_file(name)
        top = compiler.elaborate().top
    except RDLCompileError as error:
        raise toolchain.ToolError(f"{path} is no SystemRDL") from error
    lines = []

    class Listener(RDLListener):
        """Writes each register as the walk comes to it."""

        def enter_Reg(self, node):
            name = node.get_path(hier_separator="_", array_suffix="{index:d}").removeprefix(f"{top.inst_name}_").upper()
            lines.append(f"/// {node.get_path()}\npub const {name}: u16 = 0x{node.absolute_address:03X};\n")
            fields = list(node.fields())
            for field in fields if len(fields) > 1 else []:
                shape = f"Field {{ shift: {field.lsb}, width: {field.width} }}"
                lines.append(f"/// Its field {field.inst_name}.\npub const {name}_{field.inst_name.upper()}: Field = {shape};\n")

    RDLWalker(unroll=True).walk(top, Listener())
    return f"// Made of {path.name} by rtl/tools/registers.py.\n{''.join(lines)}"


def generate(folder=None):
    """The folder with everything of the maps, made anew if a map or the tools changed. Raises ToolError."""
    folder = folder or verilog.built() / "registers"
    maps = sorted(MAPS.glob("*.rdl"))
    texts = [path.read_bytes() for path in [*maps, LISTS, Path(__file__)]]
    mark, want = folder / "made-from", hashlib.sha256(b"\0".join(texts)).hexdigest()
    if not (mark.is_file() and mark.read_text() == want):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".registers-") as name:
            half = Path(name, "it")
            half.mkdir()
            for path in maps:
                export(path, half)
            (half / "made-from").write_text(want)
            shutil.rmtree(folder, ignore_errors=True)
            half.rename(folder)
    return folder


def sources():
    """The VHDL files that are made of the maps. Raises ToolError."""
    return sorted(generate().glob("*.vhd"))


def main():
    """Entry point."""
    toolchain.enter()
    parser = argparse.ArgumentParser(description="Makes VHDL, C and HTML of the register maps.")
    parser.add_argument("-o", dest="folder", type=Path, help="write here (target/rtl/registers)")
    options = parser.parse_args()
    try:
        print(generate(options.folder))
    except toolchain.ToolError as error:
        print(f"registers.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
