#!/usr/bin/env python3
"""Runs an entity's source in GHDL and its translation in Verilator, unchanged and folded (fold.py), on the same inputs and
compares every output, before and after each clock: `lockstep.py [--cycles N] [--seed N] [ENTITY…]` (default: all that are
entirely VHDL). The inputs are noise, and frames if a block takes some (stimuli.py). Prints TAP.

Values that are unknown in GHDL (U, X) and the time of the first reset are not compared; an output that is never compared fails.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import fold
import stimuli
import toolchain
import translate
import verilog

MAIN_CLOCK = "clk"
KNOWN = str.maketrans("01UXZWLH-", "110000000")
VALUE = str.maketrans("UXZWLH-", "0000000")


class Outcome(NamedTuple):
    """Bits of outputs that differ, that were compared, and that were both 0 and 1; outputs that were never compared."""

    differing: int
    compared: int
    moved: int
    unseen: list[str]


def is_clock(port):
    """Whether an input is a clock, by its name. A clock other than the main one pulses in cycles in which its value is 1."""
    return port.name == MAIN_CLOCK or port.name.endswith("_clk")


def slices(ports):
    """Each port with the place of its bits in a line: (port, first, last), the leftmost bit being 0."""
    at = 0
    for port in ports:
        yield port, at, at + port.width - 1
        at += port.width


def vhdl_bench(entity, inputs, outputs):
    """The bench of the source: reads lines, writes lines."""

    def signal(port):
        kind = f"std_logic_vector({port.width - 1} downto 0)" if port.is_vector else "std_logic"
        return f"  signal {port.name} : {kind};\n"

    def assign(ports):
        return "".join(
            f"      {port.name} <= own_bits({first}{f' to {last}' if port.is_vector else ''});\n" for port, first, last in ports
        )

    placed = list(slices(inputs))
    first, second = [p for p in placed if not is_clock(p[0])], [p for p in placed if is_clock(p[0])]
    fall = "".join(f"      {port.name} <= '0';\n" for port, _, _ in second)
    everything = [verilog.Port(MAIN_CLOCK, True, 1, False), *inputs, *outputs]
    # Joined to an empty string, a single output of one bit is a vector, too.
    joined = " & ".join(['""', *(port.name for port in outputs)])
    return f"""library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;
entity lockstep is
  generic (lines_in, lines_out : string);
end entity;
architecture bench of lockstep is
{"".join(signal(port) for port in dict.fromkeys(everything))}begin
  block_under_test : entity work.{entity}
    port map ({", ".join(f"{port.name} => {port.name}" for port in dict.fromkeys(everything))});
  process
    file own_source : text open read_mode is lines_in;
    file own_sink : text open write_mode is lines_out;
    variable own_line_in, own_line_out : line;
    variable own_bits : std_logic_vector(0 to {max(1, sum(port.width for port in inputs)) - 1});
    procedure own_tell is
      constant own_seen : std_logic_vector(0 to {sum(port.width for port in outputs) - 1}) := {joined};
    begin
      write(own_line_out, to_string(own_seen));
      writeline(own_sink, own_line_out);
    end procedure;
  begin
    while not endfile(own_source) loop
      {MAIN_CLOCK} <= '0';
{fall}      readline(own_source, own_line_in);
      read(own_line_in, own_bits);
{assign(first)}      wait for 1 ns;
{assign(second)}      wait for 1 ns;
      own_tell;
      {MAIN_CLOCK} <= '1';
      wait for 1 ns;
      own_tell;
    end loop;
    wait;
  end process;
end architecture;
"""


def cpp_bench(entity, inputs, outputs):
    """The bench of the translation, with the same lines."""

    def bit(port):
        return f"top.{port.name}[i / 32] >> i % 32 & 1" if port.width > 64 else f"top.{port.name} >> i & 1"

    def assign(port, first, last):
        if port.width > 64:
            return (
                f"for (int i = 0; i < {(port.width + 31) // 32}; i++) top.{port.name}[i] = 0;"
                f"for (int i = 0; i < {port.width}; i++) top.{port.name}[i / 32] |= (line[{last} - i] - '0') << i % 32;"
            )
        return f"top.{port.name} = std::stoull(line.substr({first}, {port.width}), nullptr, 2);"

    placed = list(slices(inputs))
    first = "\n    ".join(assign(*p) for p in placed if not is_clock(p[0]))
    second = "\n    ".join(assign(*p) for p in placed if is_clock(p[0]))
    fall = " ".join(f"top.{port.name} = 0;" for port in inputs if is_clock(port))
    shown = "\n  ".join(
        f"for (int i = {port.width - 1}; i >= 0; i--) std::putchar('0' + ({bit(port)}));" for port in outputs
    )
    return f"""#include "V{entity}.h"
#include <cstdio>
#include <string>
static V{entity} top;
double sc_time_stamp() {{ return 0; }}
static void tell() {{
  top.eval();
  {shown}
  std::putchar('\\n');
}}
int main() {{
  static char buffer[1 << 20];
  while (std::fgets(buffer, sizeof buffer, stdin)) {{
    const std::string line(buffer);
    top.{MAIN_CLOCK} = 0;
    {fall}
    top.eval();
    {first}
    top.eval();
    {second}
    tell();
    top.{MAIN_CLOCK} = 1;
    tell();
  }}
}}
"""


def of_source(entity, sources, folder, lines):
    """The outputs of the source: lines."""
    ghdl, _ = toolchain.ghdl()
    common = [translate.STANDARD, f"--workdir={folder}"]
    toolchain.run([ghdl, "-i", *common, *map(str, sources), str(folder / "lockstep.vhd")])
    toolchain.run([ghdl, "-m", *common, "lockstep"], cwd=folder)
    told = folder / "source.txt"
    words = [f"-glines_in={lines}", f"-glines_out={told}", "--ieee-asserts=disable"]
    toolchain.run([ghdl, "-r", *common, "lockstep", *words], cwd=folder)
    return told.read_text().split()


def of_translation(entity, text, folder, lines):
    """The outputs of the translation: lines."""
    # Each translation has files of its own.
    folder = Path(tempfile.mkdtemp(dir=folder))
    program = verilog.program(text, entity, folder.parent / "lockstep.cpp", folder)
    with open(lines, encoding="ascii") as source:
        done = subprocess.run([program], stdin=source, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise toolchain.ToolError(f"the compiled translation of {entity} ended with status {done.returncode}")
    return done.stdout.split()


def differences(source, translation, outputs, out):
    """How the lines of source and translation differ; the first difference is shown."""
    if len(source) != len(translation):
        raise toolchain.ToolError(f"{len(source)} lines of the source and {len(translation)} of the translation")
    compared = differing = ones = zeros = 0
    # A type without an unknown value (a number, a state) starts at its first value in GHDL only.
    reset = 2 * stimuli.RESET_CYCLES
    for number, (left, right) in enumerate(zip(source[reset:], translation[reset:]), reset):
        known, value = int(left.translate(KNOWN), 2), int(left.translate(VALUE), 2)
        wrong = (value ^ int(right, 2)) & known
        if wrong and not differing:
            at = len(left) - wrong.bit_length()
            port, first, last = next(place for place in slices(outputs) if place[2] >= at)
            edge = "after" if number % 2 else "before"
            out(f"# cycle {number // 2}, {edge} its edge: {port.name} is {left[first:last + 1]} and {right[first:last + 1]}")
        compared += known.bit_count()
        differing += wrong.bit_count()
        ones, zeros = ones | known & value, zeros | known & ~value
    seen = f"{ones | zeros:0{sum(port.width for port in outputs)}b}"
    unseen = [port.name for port, first, last in slices(outputs) if "1" not in seen[first : last + 1]]
    return Outcome(differing, compared, (ones & zeros).bit_count(), unseen)


def compare(entity, sources, cycles, seed, text=None, out=print):
    """The result of comparing an entity with its translations (`text`, or made here). Raises ToolError."""
    sources = [Path(source).resolve() for source in sources]
    with translate.synthesised(entity, sources) as netlist:
        own = translate.translated(netlist)
        ports = [port for port in verilog.ports(own, netlist("vhdl"), entity) if port.name != MAIN_CLOCK]
    texts = [own, fold.fold(own, entity).text()] if text is None else [text]
    inputs, outputs = [port for port in ports if port.is_input], [port for port in ports if not port.is_input]
    with tempfile.TemporaryDirectory(prefix="wirelab-lockstep-") as name:
        folder = Path(name)
        (folder / "lockstep.vhd").write_text(vhdl_bench(entity, inputs, outputs))
        (folder / "lockstep.cpp").write_text(cpp_bench(entity, inputs, outputs))
        lines = folder / "lines.txt"
        lines.write_text("".join(f"{line}\n" for line in stimuli.lines(entity, inputs, cycles, seed)))
        source = of_source(entity, sources, folder, lines)
        outcomes = [differences(source, of_translation(entity, one, folder, lines), outputs, out) for one in texts]
    return outcomes[0]._replace(
        differing=sum(outcome.differing for outcome in outcomes), compared=sum(outcome.compared for outcome in outcomes)
    )


def judged(outcome):
    """Whether an outcome is good, and its description."""
    said = f"{outcome.compared} bits compared, {outcome.differing} differ; {outcome.moved} bits of the outputs were both 0 and 1"
    # An output that is never known is not compared.
    if outcome.unseen:
        said += f"; never known: {', '.join(outcome.unseen)}"
    return outcome.differing == 0 and not outcome.unseen, said


def point(number, entity, sources, options):
    """Compares one entity and prints a TAP line; returns whether it passed."""
    try:
        well, said = judged(compare(entity, sources, options.cycles, options.seed))
    except toolchain.ToolError as error:
        well, said = False, str(error).replace("\n", "\n# ")
    print(f"{'ok' if well else 'not ok'} {number} - {entity}: {said}", flush=True)
    return well


def main():
    """Entry point."""
    toolchain.enter()
    parser = argparse.ArgumentParser(description="Compares sources and translations cycle by cycle.")
    parser.add_argument("--cycles", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("entities", nargs="*", metavar="ENTITY")
    options = parser.parse_args()
    sources = verilog.sources()
    entities = options.entities or verilog.whole(verilog.written())
    print(f"1..{len(entities)}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return 0 if all(list(pool.map(lambda numbered: point(*numbered, sources, options), enumerate(entities, 1)))) else 1


if __name__ == "__main__":
    sys.exit(main())
