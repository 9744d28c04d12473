#!/usr/bin/env python3
"""Registers from rtl/registers/*.rdl by PeakRDL: `registers.py [-o FOLDER]` (target/rtl/registers).

Writes for each map a VHDL block with its package, for rtl/src/register_access.vhd (for a map in BY_HAND only a package of
places), a C header, constants for Rust, and a folder of HTML; nothing if the maps and the tools did not change. Generated
files are too long to read, so they are not kept in the repository.
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
VHDL = "--cpuif passthrough --default-reset rst --type-style lexical --copy-utils-pkg --err-if-bad-addr --err-if-bad-rw --rt-read-fanin --rt-read-response".split()
HEADER = "--std gnu11 --bitfields none".split()
# Maps whose blocks are VHDL in rtl/reference: they answer in two clocks, which a block behind AXI4-Lite does not.
BY_HAND = {"reference_node"}


def properties():
    """The file that declares PeakRDL's properties, as buffer_reads, for SystemRDL. Raises ToolError."""
    return str(toolchain.installed("peakrdl_regblock_vhdl/hdl_src/regblock_udps.rdl"))


def decode_ahead(text):
    """A register block that decodes addresses a clock before it uses them. Raises ToolError if it differs from what is known.

    PeakRDL decodes an address and answers, or writes the field, in the same clock; with a hundred registers that is too long.
    """
    for old, new in (
        ("    -- Address Decode\n    %s\n    process(all)\n" % ("-" * 76), "    -- Address Decode\n    %s\n    process(clk)\n" % ("-" * 76)),
        # Strobes rise with an access and fall after it: between two accesses neither hardware nor a simulation has to decode.
        # The reset is tested a clock earlier and not here: a simulation would test it first, and decode in both arms.
        ("    signal decoded_req : std_logic;\n", "    signal decoded_req : std_logic;\n    signal decoding : std_logic;\n"),
        (
            "    begin\n        is_valid_addr := '0';\n",
            "    begin\n        if rising_edge(clk) then\n        if cpuif_req_masked or decoding then\n        is_valid_addr := '0';\n",
        ),
        ("and not is_valid_rw)) and decoded_req;\n", "and not is_valid_rw)) and cpuif_req_masked;\n        end if;\n        end if;\n"),
        (
            "    -- Pass down signals to next stage\n    process(all) begin\n        decoded_addr <= cpuif_addr;\n        decoded_req <= cpuif_req_masked;\n",
            "    -- Pass down signals to next stage\n    process(clk) begin\n        if rising_edge(clk) then\n        decoded_req <= cpuif_req_masked;\n"
            "        decoding <= cpuif_req_masked or rst;\n"
            "        if cpuif_req_masked then\n        decoded_addr <= cpuif_addr;\n",
        ),
        ("        decoded_wr_biten <= cpuif_wr_biten;\n", "        decoded_wr_biten <= cpuif_wr_biten;\n        end if;\n        end if;\n"),
        # The data of a read are looked up only during a read; otherwise a simulation would do it at each clock.
        (
            "                readback_data_rt <= readback_data_rt_c;\n",
            "                if decoded_req and not decoded_req_is_wr then\n                    readback_data_rt <= readback_data_rt_c;\n                end if;\n",
        ),
        (
            "                cpuif_rd_data <= readback_data;\n",
            "                if readback_done then\n                    cpuif_rd_data <= readback_data;\n                end if;\n",
        ),
    ):
        if text.count(old) != 1:
            raise toolchain.ToolError(f"PeakRDL's VHDL has not once what rtl/tools/registers.py changes: {old.strip()}")
        text = text.replace(old, new)
    return refuse_by_parts(choose_by_strobes(text))


def refuse_by_parts(text):
    """A register block that reports addresses without a register, by four parts of the map. Raises ToolError if it differs.

    In the clock of the decoding, each part looks an address up by its other bits; the next clock selects a part's answer.
    """
    bits = re.search(r"signal readback_addr_rt : unsigned\((\d+) downto 0\);\n", text)
    looked_up = re.compile(r"( +is_valid_rw) := is_valid_rw or \(cpuif_req_masked and \(cpuif_addr = ([^()]+)\)(.*)\);\n")
    first, declared = "        is_valid_rw := '0';\n", "        variable is_valid_rw : std_logic;\n"
    refusal = "        decoded_err <= (not is_valid_addr or (is_valid_addr and not is_valid_rw)) and cpuif_req_masked;\n"
    signal, answer = "    signal decoded_err : std_logic;\n", "    cpuif_wr_err <= decoded_err;\n"
    others = text.count("is_valid_rw") - 2 * len(looked_up.findall(text))
    if not bits or others != 3 or any(text.count(line) != 1 for line in (first, declared, refusal, signal, answer)):
        raise toolchain.ToolError("PeakRDL's VHDL does not judge addresses as rtl/tools/registers.py knows it: update refuse_by_parts")
    high = int(bits[1])
    part = 2 ** (high - 1)

    in_part = rf"\1((\2) / {part}) := is_valid_rw((\2) / {part}) or ((cpuif_addr({high - 2} downto 0) = (\2) mod {part})\3);\n"
    text = looked_up.sub(in_part, re.sub(r" +(?:variable )?is_valid_addr :.*\n", "", text))
    for old, new in (
        (signal, f"{signal}    signal is_valid : std_logic_vector(0 to 3);\n"),
        (declared, "        variable is_valid_rw : std_logic_vector(is_valid'range);\n"),
        (first, "        is_valid_rw := (others => '0');\n"),
        (refusal, "        is_valid <= is_valid_rw;\n"),
        (answer, f"    decoded_err <= decoded_req and not is_valid(to_integer(unsigned(decoded_addr({high} downto {high - 1}))));\n{answer}"),
    ):
        text = text.replace(old, new)
    return text


def choose_by_strobes(text):
    """A register block that reads by a strobe for each word, decoded a clock before. Raises ToolError if it differs.

    PeakRDL selects words by bits of the address, each of which would have to reach hundreds of places within the clock.
    """
    bits = re.search(r"signal readback_addr_rt : unsigned\((\d+) downto 0\);\n", text)
    decode = "        is_valid_addr := '0';\n"
    chosen = re.compile(r"if ad_low\(rd_mux_addr\) = ad_low\((.*)\) then\n")
    value = re.compile(r"(readback_data_var\(ad_hi\(.*?\)\)(?:\([\w ]+\))?) := (.*);\n")
    if not bits or text.count(decode) != 1 or not chosen.search(text) or not value.search(text):
        raise toolchain.ToolError("PeakRDL's VHDL does not read as rtl/tools/registers.py knows it: update choose_by_strobes")
    words = 2 ** (int(bits[1]) - 1)
    text = text.replace(bits[0], f"{bits[0]}    signal rd_strobe : std_logic_vector(0 to {words - 1});\n")
    strobes = f"        for word in rd_strobe'range loop\n            rd_strobe(word) <= cpuif_addr({bits[1]} downto 2) = word;\n        end loop;\n"
    text = text.replace(decode, strobes + decode)
    return value.sub(r"\1 := \1 or \2;\n", chosen.sub(r"if rd_strobe((\1) / 4) then\n", text))


def export(path, folder):
    """Writes all files of one map. Raises ToolError with PeakRDL's message."""
    peakrdl, common = toolchain.tool("peakrdl"), [properties(), str(path)]
    by_hand = path.stem in BY_HAND
    if by_hand:
        (folder / f"{path.stem}_pkg.vhd").write_text(places(path))
    else:
        toolchain.run([peakrdl, "regblock-vhdl", *common, *VHDL, "-o", str(folder)])
    for file in folder.glob("*.vhd"):
        # PeakRDL joins the names of types by dots. Only extended identifiers may have dots, and VUnit cannot read those.
        text = re.sub(r"\\([\w.]+\.\w+)\\", lambda name: name[1].replace(".", "_"), file.read_text())
        file.write_text(decode_ahead(text) if file.stem == f"{path.stem}_registers" else text)
    # A map with parts of another map names its types by their places, so that a program may include both headers.
    style = ["--type-style", "hier"] if by_hand else []
    header = folder / f"{path.stem}_registers.h"
    toolchain.run([peakrdl, "c-header", *common, *HEADER, *style, "-o", str(header)])
    # Without a C library there is no assert.h; the language itself has the assertion.
    header.write_text(header.read_text().replace("#include <assert.h>\n", "").replace("static_assert(", "_Static_assert("))
    (folder / f"{path.stem}_registers.rs").write_text(rust(path))
    toolchain.run([peakrdl, "html", *common, "-o", str(folder / f"{path.stem}_html")])


def elaborated(path):
    """A map and the walk through it, which calls a listener's methods. Raises ToolError."""
    from systemrdl import RDLCompileError, RDLCompiler, RDLWalker  # Only the environment has it.

    compiler = RDLCompiler()
    try:
        for name in (properties(), str(path)):
            compiler.compile_file(name)
        top = compiler.elaborate().top
    except RDLCompileError as error:
        raise toolchain.ToolError(f"{path} is not SystemRDL") from error
    return top, lambda listener: RDLWalker(unroll=True).walk(top, listener)


def registers_of(path):
    """(node, its name in capitals below the top) of each register of a map, in order. Raises ToolError."""
    from systemrdl import RDLListener

    found = []
    top, walk = elaborated(path)

    class Listener(RDLListener):
        """Takes each register as the walk comes to it."""

        def enter_Reg(self, node):
            name = node.get_path(hier_separator="_", array_suffix="{index:d}").removeprefix(f"{top.inst_name}_").upper()
            found.append((node, name))

    walk(Listener())
    return found


def fields(node):
    """The fields that need a name: none if the register is a single field."""
    return list(node.fields()) if len(list(node.fields())) > 1 else []


def rust(path):
    """The addresses and fields of a map as Rust: a register's offset, a field's lowest bit and width. Raises ToolError."""
    found = registers_of(path)
    kind = "u16" if max(node.absolute_address for node, _ in found) < 1 << 16 else "u32"
    lines = [f"// Made of {path.name} by rtl/tools/registers.py.\n"]
    for node, name in found:
        lines.append(f"/// {node.get_path()}\npub const {name}: {kind} = 0x{node.absolute_address:03X};\n")
        for field in fields(node):
            shape = f"Field {{ shift: {field.lsb}, width: {field.width} }}"
            lines.append(f"/// Its field {field.inst_name}.\npub const {name}_{field.inst_name.upper()}: Field = {shape};\n")
    return "".join(lines)


def places(path):
    """A VHDL package with the offset of each register in its block, a field's bit, and a wider field's range. Raises ToolError."""
    lines = [f"-- Made of {path.name} by rtl/tools/registers.py.\n", f"package {path.stem}_pkg is\n"]
    for node, name in registers_of(path):
        block = node
        while block.parent.parent.parent is not None:
            block = block.parent
        # A part that is itself a map has its own VHDL.
        if f"{block.type_name}".removesuffix("_registers") in {other.stem for other in MAPS.glob("*.rdl")}:
            continue
        lines.append(f"  constant {name} : natural := 16#{node.absolute_address - block.absolute_address:X}#;\n")
        for field in fields(node):
            label = f"{name}_{field.inst_name.upper()}"
            if field.width == 1:
                lines.append(f"  constant {label} : natural := {field.lsb};\n")
            else:
                lines.append(f"  subtype {label} is natural range {field.msb} downto {field.lsb};\n")
    return "".join(lines) + "end package;\n"


def generate(folder=None):
    """The folder with all files of the maps, made again if a map or the tools changed. Raises ToolError."""
    folder = folder or verilog.built() / "registers"
    maps = sorted(MAPS.glob("*.rdl"))
    texts = [path.read_bytes() for path in [*maps, LISTS, Path(__file__)]]
    mark, want = folder / "made-from", hashlib.sha256(b"\0".join(texts)).hexdigest()
    if not mark.is_file() and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise toolchain.ToolError(f"{folder} has other things in it, which would be lost: name a new or an empty folder")
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
    """The VHDL files made from the maps. Raises ToolError."""
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
