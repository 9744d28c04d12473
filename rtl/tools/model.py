#!/usr/bin/env python3
"""The C++ of an entity, for programs that drive it: `model.py ENTITY FOLDER`.

Translates and verilates into FOLDER, with the constants of the registers beside it, and prints what a compiler needs, a
word and a path a line: `source`, `include`, `registers`.
"""

import shutil
import sys
from pathlib import Path

import fold
import registers
import toolchain
import translate
import verilog

# A net that the wheel marks as public would not be optimised, and would belong to the thread that made the model.
WORDS = "--cc -O3 --quiet --x-assign fast --x-initial fast --no-timing -Wno-fatal --no-assert --public-ignore".split()
# The steps of a clock stay in one function, so its variables need no memory.
WORDS += "--output-split 0 --output-split-cfuncs 0".split()


# The CPU combines all its control and status registers at each clock, but reads one of them in few.
CPU_SAYS = "assign CsrPlugin_csrMapping_readDataInit = ((((("
CPU_NEEDS = "assign CsrPlugin_csrMapping_readDataInit = (! execute_IS_CSR) ? execute_INSTRUCTION : ((((("


def without_idle_work(part, folder):
    """A Verilog file that an entity needs with its translation; the CPU as a copy that does less. Raises ToolError."""
    if part.stem != verilog.CPU:
        return part
    text = part.read_text()
    if text.count(CPU_SAYS) != 1:
        raise toolchain.ToolError(f"{part} has not once what rtl/tools/model.py changes: {CPU_SAYS}")
    copy = folder / part.name
    copy.write_text(text.replace(CPU_SAYS, CPU_NEEDS))
    return copy


def make(entity, folder):
    """Writes the model; returns its C++ files. Raises ToolError."""
    # Verilator leaves other files of an earlier model beside its own.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / f"{entity}.v"
    text = translate.translate(entity, verilog.sources())
    _, parts = verilog.completed(text)
    program = fold.fold(text, entity)
    # The drivers of the model evaluate it once a clock: they read the outputs, set the inputs, then make the edge.
    if hanging := program.hanging():
        raise toolchain.ToolError(f"outputs of {entity} hang on {', '.join(hanging)} between two clocks: put a register there")
    path.write_text(program.text())
    parts = [without_idle_work(part, folder) for part in parts]
    words = [*WORDS, "--top-module", entity, "--Mdir", str(folder)]
    toolchain.run([toolchain.tool("verilator"), *words, *map(str, [path, *parts])])
    made = sorted(file for file in folder.glob(f"V{entity}*.cpp") if not file.name.endswith("__ALL.cpp"))
    # They call only the part of eval() that Verilator makes for an edge.
    if any("___eval_ico(" in file.read_text() for file in made):
        raise toolchain.ToolError(f"Verilator has found something in {entity} that follows from inputs between two clocks")
    return made


def main():
    """Entry point."""
    toolchain.enter()
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    entity, folder = sys.argv[1], Path(sys.argv[2])
    try:
        sources = make(entity, folder)
        include = verilog.include()
        runtime = [include / f"{name}.cpp" for name in ("verilated", "verilated_threads")]
        made = registers.generate() / f"{entity}_registers.rs"
    except toolchain.ToolError as error:
        print(error, file=sys.stderr)
        return 1
    for word, paths in (("source", [*sources, *runtime]), ("include", [folder, include, include / "vltstd"]), ("registers", [made])):
        for path in paths:
            print(word, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
