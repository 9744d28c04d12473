#!/usr/bin/env python3
"""The tables of registers on the pages of docs/blocks, from rtl/registers/*.rdl: `register_pages.py [--write]`.

A page has the table of a map's parts between marks, as `<!-- registers: clock, generator of ethernet_port -->` and
`<!-- /registers -->`. A table that differs from the map is a finding; `--write` writes it. The description of a register is the
comment after its line in the map, if it shares its type with others, or else its `desc`.
"""

import argparse
import re
import sys

import registers
import toolchain

PAGES = toolchain.TREE / "docs/blocks"
MARKED = re.compile(r"(<!-- registers: ([\w, ]+) of (\w+) -->\n).*?(<!-- /registers -->)", re.S)
COMMENT = re.compile(r"//\s*(.*\S)")
# Values of the hardware after a reset that are not 0: a word of a memory, and a minimum without a value.
BY_HARDWARE = {"oldest": "–", "shortest": "0xffffffff"}
HEAD = "| offset | register | access | reset | |\n|---|---|---|---|---|\n"


def places(node):
    """The offset of a register in its map; in an array the first offset and the distance of the others."""
    steps, parent = [], node
    while parent is not None and hasattr(parent, "is_array"):
        if parent.is_array:
            steps.insert(0, parent.array_stride)
        parent = parent.parent
    apart = "".join(f" + {step:#x} {letter}" for step, letter in zip(steps, "ij"))
    return f"0x{node.raw_absolute_address:03X}{apart}"


def access(readable, writable):
    """The access of software: reads, writes, or both."""
    return "r" * readable + "w" * writable


def bits(field, of_register):
    """A field with its bits, and its access if that differs from the access of the register."""
    place = f"{field.msb}:{field.lsb}" if field.width > 1 else str(field.lsb)
    may = access(field.is_sw_readable, field.is_sw_writable)
    return f"`{field.inst_name}` {place}" + (f" ({may})" if may != of_register else "")


def meaning(node):
    """The description of a register or a memory. Raises ToolError if it has none."""
    line = getattr(node.inst.inst_src_ref, "line_text", "")
    comment = COMMENT.search(line)
    text = comment[1] if comment else node.get_property("desc")
    if not text:
        raise toolchain.ToolError(f"{node.get_path()} has neither a desc nor a comment behind its line; give it one in rtl/registers")
    return " ".join(text.split()).replace("|", "\\|")


def at_reset(node):
    """The word of a register after a reset: its stored bits by the map, those of the hardware 0 or by BY_HARDWARE; – if it is
    unknown. rtl/tools/tests/test_reset_values.py reads these words from the hardware."""
    if node.inst_name in BY_HARDWARE:
        return BY_HARDWARE[node.inst_name]
    word = 0
    for field in node.fields():
        value = field.get_property("reset")
        if value is None and node.owning_addrmap.inst_name in registers.BY_HAND:
            return "–"
        word |= (value or 0) << field.lsb
    return f"{word:#x}" if word else "0"


def row(node, name):
    """A register or a memory as a line of a table."""
    if hasattr(node, "fields"):
        may = access(node.has_sw_readable, node.has_sw_writable)
        shown = ", ".join(bits(field, may) for field in registers.fields(node))
        size = ", two words" if node.get_property("regwidth") == 64 else ""
        reset = at_reset(node)
    else:
        may = node.get_property("sw").name
        shown, size, reset = "", f", {node.get_property('mementries')} words", "–"
    what = f"{shown}. {meaning(node)}" if shown else meaning(node)
    return f"| {places(node)} | `{name}`{size} | {may} | {reset} | {what} |\n"


def rows(path):
    """The lines of a map by its parts: each register and memory is in the part that contains it. Raises ToolError."""
    from systemrdl import RDLListener, RDLWalker  # Only the environment has it.

    top, _ = registers.elaborated(path)
    found = {}

    class Listener(RDLListener):
        """Takes each register and memory as the walk comes to it."""

        def enter_Reg(self, node):
            _, *names = node.get_path(empty_array_suffix="[{dim:d}]").split(".")
            found.setdefault(names[0], []).append((node, ".".join(names[1:] or names)))

        enter_Mem = enter_Reg

    RDLWalker(unroll=False).walk(top, Listener())
    return found


def page(text, maps=registers.MAPS):
    """A page's text with its tables from the maps. Raises ToolError."""

    def table(mark):
        path = maps / f"{mark[3]}.rdl"
        if not path.is_file():
            raise toolchain.ToolError(f"a table of registers of {mark[3]} is requested, and there is no {path}")
        parts, lines, asked = rows(path), "", mark[2].split(", ")
        for part in asked:
            if part not in parts:
                raise toolchain.ToolError(f"{path} has no {part}; it has {', '.join(parts)}")
            # With several parts, a name needs its part.
            of = f"{part}." if len(asked) > 1 else ""
            lines += "".join(row(node, name if name == part else of + name) for node, name in parts[part])
        return f"{mark[1]}\n{HEAD}{lines}\n{mark[4]}"

    return MARKED.sub(table, text)


def stale(folder, write):
    """The pages whose tables differ from the maps; with `write`, writes them. Raises ToolError."""
    for path in sorted(folder.glob("*.md")):
        text = path.read_text()
        want = page(text)
        if want != text:
            if write:
                path.write_text(want)
            yield path


def main():
    """Entry point; the status says whether there is a finding."""
    toolchain.enter()
    parser = argparse.ArgumentParser(description="Judges the tables of registers on the blocks' pages.")
    parser.add_argument("--write", action="store_true", help="write them")
    options = parser.parse_args()
    try:
        found = list(stale(PAGES, options.write))
    except toolchain.ToolError as error:
        print(f"register_pages.py: {error}", file=sys.stderr)
        return 1
    if not options.write:
        for path in found:
            print(f"{path}: its registers are not those of rtl/registers; run rtl/tools/register_pages.py --write")
    return 1 if found and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
