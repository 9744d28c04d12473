"""Operations on the translated sources: reads their ports, lints and compiles them by Verilator."""

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import toolchain

# RV32IM with caches of 4 KiB, counters of clocks and instructions, and two Wishbone buses.
CPU = "VexRiscv_Full"
FOLDERS = ("rtl/src", "rtl/reference", "rtl/example")
LINT = "--lint-only --quiet -Wall -Wno-DECLFILENAME -Wno-PINCONNECTEMPTY -Wno-UNUSEDSIGNAL".split()
# The output of GHDL for a component that is not VHDL.
BLACK_BOX = re.compile(r"^module (\w+)\s*\([^;]*\);\s*endmodule\n", re.M)
PORT = re.compile(r"(input|output)\s+(?:\[(\d+):0\])?\s*(\w+)")


@dataclass(frozen=True)
class Port:
    """A port of a module: its name, its direction and its bits."""

    name: str
    is_input: bool
    width: int
    is_vector: bool


def ports(verilog, vhdl, entity):
    """The ports of an entity, in order, from both netlists: Verilog does not show a vector of one bit. Raises ToolError."""
    widths = declared(verilog, entity)
    types = re.search(rf"^entity {entity} is\n(.*?)^end", vhdl, re.M | re.S)
    if not widths or not types:
        raise toolchain.ToolError(f"GHDL's netlists have no {entity}")
    vectors = set(re.findall(r"(\w+) *: *(?:in|out) +std_u?logic_vector", types[1], re.I))
    return [Port(name, way == "input", int(high or 0) + 1, name in vectors) for way, high, name in widths]


def declared(verilog, entity):
    """(direction, highest bit, name) of each port of a module in GHDL's Verilog, in order."""
    found = re.search(rf"^module {entity}\n? *\((.*?)\);", verilog, re.M | re.S)
    return PORT.findall(found[1]) if found else []


def entities(sources):
    """The names of the entities that VHDL files declare, in the order of the files."""
    found = []
    for source in sources:
        found += re.findall(r"^\s*entity\s+(\w+)\s+is\b", Path(source).read_text(), re.M | re.I)
    return [name.lower() for name in found]


def whole(sources):
    """The entities that are entirely VHDL: one with a component in Verilog cannot be simulated as VHDL or synthesised here."""
    return entities(source for source in sources if not re.search(r"^\s*component\b", Path(source).read_text(), re.M | re.I))


def completed(text):
    """A translation without its black boxes, and the Verilog files that define them. Raises ToolError."""
    files = []
    for name in BLACK_BOX.findall(text):
        files.append(toolchain.TREE / f"rtl/reference/{name}.v")
        if not files[-1].is_file():
            raise toolchain.ToolError(f"there is neither VHDL nor {files[-1]} of {name}")
    if files:
        files.append(cpu())
    return BLACK_BOX.sub("", text), files


def cpu():
    """The Verilog of the reference node's CPU, from a wheel. Raises ToolError."""
    return toolchain.installed(f"pythondata_cpu_vexriscv/verilog/{CPU}.v")


def lint(path, top):
    """Verilator's warnings about a file; empty if there are none."""
    # The ports of a black box have no driver by definition.
    quiet = r"/* verilator lint_off UNDRIVEN */\n\g<0>/* verilator lint_on UNDRIVEN */\n"
    path.write_text(BLACK_BOX.sub(quiet, path.read_text()))
    try:
        return toolchain.run([toolchain.tool("verilator"), *LINT, "--top-module", top, str(path)])
    except toolchain.ToolError as error:
        return str(error)


def sources():
    """All VHDL of the project: that of FOLDERS, then that from the register maps. Raises ToolError."""
    import registers  # It needs what is above.

    return [*written(), *registers.sources()]


def written():
    """The hand-written VHDL, without benches."""
    return [path for folder in FOLDERS for path in sorted((toolchain.TREE / folder).glob("*.vhd"))]


def built():
    """The folder for built files that are kept."""
    return Path(os.environ.get("CARGO_TARGET_DIR", toolchain.TREE / "target"), "rtl")


def include():
    """The folder of Verilator's own sources. Raises ToolError."""
    return toolchain.installed("verilator/include")


def runtime(quick="-O0"):
    """Verilator's own sources and the headers of each model, compiled once and kept: the objects' and the header's path."""
    # Another version has other sources.
    folder = built() / f"verilator{quick}-{int((toolchain.ENVIRONMENT / 'complete').stat().st_mtime)}"
    header, objects = folder / "headers.h", [folder / f"{name}.o" for name in ("verilated", "verilated_threads")]
    parts = {path: ["-c", str(include() / f"{path.stem}.cpp")] for path in objects}
    parts[header.with_suffix(".h.gch")] = ["-x", "c++-header", str(header)]
    if not all(path.is_file() for path in parts):
        folder.mkdir(parents=True, exist_ok=True)
        # Two builds at once must not see half a file.
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as half:
            half.writelines(f"#include <{name}>\n" for name in ("verilated.h", "cstdio", "memory", "string"))
        os.replace(half.name, header)
        for path, words in parts.items():
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as half:
                toolchain.run([*compiler(quick), *words, "-o", half.name])
            os.replace(half.name, path)
    return list(map(str, objects)), str(header)


def compiler(quick="-O0"):
    """The command that compiles a verilated model."""
    return ["c++", "-std=c++20", quick, "-w", "-pthread", "-DVL_TIME_CONTEXT", f"-I{include()}", f"-I{include()}/vltstd"]


def program(text, top, main, folder, quick="-O0"):
    """Compiles the module `top` of a Verilog text with a C++ `main`; returns the program's path."""
    path, model = folder / f"{top}.v", folder / "model"
    path.write_text(text)
    words = "--cc -O3 --quiet --x-assign fast --x-initial fast -Wno-fatal --no-timing".split()
    toolchain.run([toolchain.tool("verilator"), *words, "--top-module", top, "--Mdir", str(model), str(path)])
    sources = [str(path) for path in sorted(model.glob("*.cpp")) if not path.name.endswith("__ALL.cpp")]
    everything = "".join(f'#include "{name}"\n' for name in [*sources, main])
    (folder / "everything.cpp").write_text(everything)
    objects, header = runtime(quick)
    # Most of a model's compilation is these headers.
    words = [*compiler(quick), "-include", header, f"-I{model}", str(folder / "everything.cpp"), *objects]
    toolchain.run([*words, "-o", str(folder / top)])
    return folder / top
