#!/usr/bin/env python3
"""The style of the VHDL sources: `style.py [FILE…]`, without files all of rtl/src, rtl/reference, rtl/example and rtl/tb.

Each rule is a generator of (line number, finding). The rules that apply only to sources, not to benches, keep the translation
to Verilog free of latches, initial values and Verilog's reserved words.
"""

import re
import sys
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
MAX_COLUMNS = 128
# Words of SystemVerilog (IEEE Std 1800) that are names in VHDL; GHDL does not escape them.
VERILOG_WORDS = set(
    """accept_on alias always and assert assign assume automatic before begin bind bins binsof bit break buf byte case casex
    casez cell chandle checker class clocking cmos config const constraint context continue cover covergroup coverpoint cross
    deassign default defparam design disable dist do edge else end enum event eventually expect export extends extern final
    first_match for force foreach forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins
    illegal_bins implements implies import incdir include initial inout input inside instance int integer interconnect
    interface intersect join large let liblist library local localparam logic longint macromodule matches medium modport
    module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed
    parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown pullup pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran scalared sequence
    shortint shortreal signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0
    supply1 sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tri tri0 tri1
    triand trior trireg type typedef union unique unique0 unsigned until untyped use var vectored virtual void wait
    wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor""".split()
)
GENERIC_TYPES = {"natural", "boolean"}
PORT_TYPES = {"std_logic", "std_logic_vector"}


def code(line):
    """A line without its comment, strings and character literals, which may contain anything."""
    line = re.sub(r'"[^"]*"', '""', line)
    return re.sub(r"'[^']'", "''", line).split("--")[0]


def layout(_path, lines):
    """Spaces, steps of two, and lines that fit a screen."""
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield number, "a tab; indent by two spaces"
        elif line != line.rstrip():
            yield number, "spaces at the end"
        elif len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, the limit is {MAX_COLUMNS}"


def one_unit(path, lines):
    """One entity (or package) a file, named like the file."""
    found = [
        (number, match[2].lower())
        for number, line in enumerate(lines, 1)
        if (match := re.match(r"\s*(entity|package)\s+(?!body\b)(\w+)\s+is\b", code(line), re.I))
    ]
    if [name for _, name in found] != [path.stem]:
        named = ", ".join(name for _, name in found) or "nothing"
        yield found[-1][0] if found else 1, f"declares {named}; a file holds one entity or package of its name, {path.stem}"


def no_initial_values(_path, lines):
    """A signal gets its value by the reset, in every FPGA and in the translation."""
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*signal\b.*:=", code(line), re.I):
            yield number, "an initial value of a signal; reset it instead"


def names(_path, lines):
    """No name is a word of SystemVerilog."""
    declared = re.compile(r"\s*(?:(?:signal|constant|variable|shared variable|type|subtype|entity)\s+)?(\w+(?:\s*,\s*\w+)*)\s*(?::(?!=)|\bis\b)", re.I)
    for number, line in enumerate(lines, 1):
        if match := declared.match(code(line)):
            for name in re.split(r"\s*,\s*", match[1]):
                # Statements have "case x is"; "end" and so on are not declarations.
                if name.lower() in VERILOG_WORDS and not re.match(r"\s*(case|package|end)\b", line, re.I):
                    yield number, f"the name {name} is a word of SystemVerilog"


def interface(_path, lines):
    """Generics and ports of an entity are flat, so that every tool and language can connect them."""
    inside, types = False, set()
    for number, line in enumerate(lines, 1):
        text = code(line).lower()
        if re.match(r"\s*entity\b", text):
            inside = True
        elif re.match(r"\s*end\b", text):
            inside = False
        elif re.match(r"\s*generic\s*\(", text):
            types = GENERIC_TYPES
        elif re.match(r"\s*port\s*\(", text):
            types = PORT_TYPES
        if inside:
            for kind in re.findall(r"\w\s*:\s*(?:in\b|out\b|inout\b|buffer\b)?\s*(\w+)", text):
                if kind not in types:
                    yield number, f"the type {kind} at the entity's edge; there are {', '.join(sorted(types))}"


def edges(_path, lines):
    """Clocks only by rising_edge."""
    for number, line in enumerate(lines, 1):
        if re.search(r"\bfalling_edge\b|'event\b", code(line), re.I):
            yield number, "clocks are used by rising_edge alone"


def others(_path, lines):
    """Each case has a `when others`, or the translation would have a latch."""
    depth = []
    for number, line in enumerate(lines, 1):
        text = code(line).lower()
        if re.search(r"\bend\s+case\b", text):
            start, seen = depth.pop() if depth else (number, True)
            if not seen:
                yield start, "a case without `when others`"
        elif re.search(r"\bcase\??\s+.+\bis\b", text):
            depth.append((number, False))
        if depth and re.search(r"\bwhen\s+others\b", text):
            depth[-1] = (depth[-1][0], True)


def seeds(_path, lines):
    """Another seed gives a bench other random numbers."""
    for number, line in enumerate(lines, 1):
        if re.search(r"\bInitSeed\b(?!.*\bto_string\(seed\))", line, re.I):
            yield number, 'the same random numbers forever; InitSeed("name" & to_string(seed)), with the generic seed'


EVERYWHERE = [layout, one_unit, seeds]
SOURCES = [no_initial_values, names, interface, edges, others]


def findings(path):
    """All findings in a file, as lines to print."""
    lines = path.read_text().split("\n")
    for rule in EVERYWHERE + (SOURCES if path.parent.name in ("src", "reference", "example") else []):
        for number, finding in rule(path, lines):
            yield f"{path}:{number}: {finding}"


def main():
    """Entry point; the status says whether anything was found."""
    paths = [Path(word) for word in sys.argv[1:]] or sorted(path for folder in ("src", "reference", "example", "tb") for path in RTL.glob(f"{folder}/*.vhd"))
    found = [line for path in paths for line in findings(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
