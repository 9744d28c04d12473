#!/usr/bin/env python3
"""The style of the VHDL sources: `style.py [FILE…]`, without files all of rtl/src and rtl/tb.

Each rule is a generator of (line number, finding). The rules of sources, not of benches, keep what is
translated to Verilog free of latches, initial values and names that are Verilog's.
"""

import re
import sys
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
MAX_COLUMNS = 120


def code(line):
    """A line without its comment, strings and character literals, which may say anything."""
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


EVERYWHERE = [layout, one_unit]
SOURCES = [no_initial_values]


def findings(path):
    """All findings in a file, as lines to print."""
    lines = path.read_text().split("\n")
    for rule in EVERYWHERE + (SOURCES if path.parent.name == "src" else []):
        for number, finding in rule(path, lines):
            yield f"{path}:{number}: {finding}"


def main():
    """Entry point; the status says whether anything was found."""
    paths = [Path(word) for word in sys.argv[1:]] or sorted([*RTL.glob("src/*.vhd"), *RTL.glob("tb/*.vhd")])
    found = [line for path in paths for line in findings(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
