#!/usr/bin/env python3
"""VHDL to Verilog: `translate.py [-g NAME=VALUE]… [-o FILE] ENTITY SOURCE.vhd…` (no sources: all).

GHDL's synthesis does the work. The Verilog of GHDL 2.0 (Debian 12; not of 5.0.1) has three faults. Each is repaired only if it
is found, so the output of a GHDL without faults passes unchanged:

1. A constant wider than 32 bits is printed as a string ("0101…"), which Verilog reads as ASCII.
2. Combinational processes assign with `<=`.
3. The arm `when others` of a case is dropped, which leaves a latch. GHDL's other output, VHDL, has the same nets and the
   arm, so it is taken from there.

A table with several readers is printed once for each; it becomes one, so that a block RAM with two ports serves two readers.
"""

import argparse
import contextlib
import functools
import re
import sys
import tempfile
from pathlib import Path

import toolchain

STANDARD = "--std=08"
CASE = re.compile(r"(?P<head> *always @\*\n *case \(\w+\)\n)(?P<arms>(?: *[^\n]*\n)*?)(?P<end> *endcase\n)")
ARM = re.compile(r"(?P<indent> *)(?P<choice>[^:\n]+): (?P<net>\w+) <?= (?P<value>.+);")
# A table: a memory that is never written, with its content.
MEMORY = re.compile(
    r"^ *reg (?P<word>\[\d+:0\]) (?P<name>\w+)(?P<words>\[\d+:0\]) *; // memory\n *initial begin\n(?P<content>.*?) *end\n", re.M | re.S
)
STRING = re.compile(r'"(?P<bits>[01XZWLHU-]+)"')
# VHDL's metavalues in Verilog: unknown, since nothing may depend on them.
BITS = str.maketrans("XZWLHU-", "xzx01xx")


def verilog_constant(bits):
    """A VHDL bit string's digits as a sized Verilog constant."""
    return f"{len(bits)}'b{bits.translate(BITS)}"


def modules(text, start, end):
    """The parts of a netlist that begin with `start` (a name in its group 1) and go to `end`: name → (from, to)."""
    parts = {}
    for match in re.finditer(start, text, re.M):
        stop = re.compile(end, re.M).search(text, match.end())
        parts[match[1].lower()] = (match.start(), stop.end() if stop else len(text))
    return parts


class Others:
    """The values of `when others` in GHDL's VHDL netlist: by module and net."""

    ARCHITECTURE = r"^architecture \w+ of (\w+) is$"
    SELECT = re.compile(r"with \w+ select (?P<net>\w+) <=\n(?P<arms>(?:[^;]*\n)*?) *(?P<value>[^\n;]+) when others;")

    def __init__(self, vhdl):
        self.values = {}
        for name, (begin, end) in modules(vhdl, self.ARCHITECTURE, r"^end \w+;").items():
            for match in self.SELECT.finditer(vhdl, begin, end):
                self.values[name, match["net"].lower()] = match["value"].strip()

    def verilog(self, module, net, declared):
        """The value of a net's `when others` as Verilog. Raises ToolError if there is none, or of an unknown form."""
        value = self.values.get((module, net.lower()))
        if value is None:
            raise toolchain.ToolError(f"{module}: GHDL's VHDL has no `when others` for {net}, which its Verilog lacks as well")
        if match := re.fullmatch(r"[\"']([01XZWLHU-]+)[\"']", value):
            return verilog_constant(match[1])
        if match := re.fullmatch(r"\((\d+) downto 0 => '([01XZWLHU-])'\)", value):
            return verilog_constant(match[2] * (int(match[1]) + 1))
        # In the VHDL, an input is read through a wrapper signal.
        for name in (value, value.removeprefix("wrap_")):
            if name in declared:
                return name
        raise toolchain.ToolError(f"{module}: the `when others` of {net} is {value}, which is neither a constant nor a net")


def repair_case(match, module, others, declared):
    """One combinational case with blocking assignments and the missing default."""
    lines, default, arm = [], False, None
    for line in match["arms"].splitlines():
        arm = ARM.fullmatch(line)
        if not arm:
            raise toolchain.ToolError(f"{module}: a case of GHDL's Verilog has a line of an unknown form: {line.strip()}")
        default = default or arm["choice"].strip() == "default"
        lines.append(f"{arm['indent']}{arm['choice']}: {arm['net']} = {arm['value']};\n")
    if arm is None:
        raise toolchain.ToolError(f"{module}: a case of GHDL's Verilog has no arm")
    if not default:
        lines.append(f"{arm['indent']}default: {arm['net']} = {others.verilog(module, arm['net'], declared)};\n")
    return match["head"] + "".join(lines) + match["end"]


def one_of_each_table(text):
    """A module with tables of the same content merged into one, with all their readers."""
    first = {}
    for match in list(MEMORY.finditer(text)):
        name = match["name"]
        if re.search(rf"^ *{name}\[[^]]*\] <= ", text, re.M):
            continue
        content = re.sub(rf"\b{name}\[", "[", match["content"])
        kept = first.setdefault((match["word"], match["words"], content), name)
        if kept != name:
            text = re.sub(rf"\b{name}\[", f"{kept}[", text.replace(match[0], "", 1))
    return text


def repair(verilog, vhdl):
    """GHDL's Verilog without its faults; `vhdl` is called for the VHDL netlist if it is needed. Raises ToolError."""
    others = None
    pieces, at = [], 0
    for module, (begin, end) in modules(verilog, r"^module (\w+)", r"^endmodule").items():
        text = STRING.sub(lambda match: verilog_constant(match["bits"]), verilog[begin:end])
        if any("default:" not in match["arms"] for match in CASE.finditer(text)):
            others = others or Others(vhdl())
        declared = set(re.findall(r"(?:input|output|wire|reg)\s+(?:\[[^]]*\]\s*)?(\w+)", text))
        repaired = CASE.sub(lambda match: repair_case(match, module, others, declared), text)
        judge(module, repaired)
        pieces += [verilog[at:begin], one_of_each_table(repaired)]
        at = end
    return "".join(pieces) + verilog[at:]


def judge(module, text):
    """Raises ToolError if a fault is left, because GHDL wrote it in an unknown form."""
    declared = re.findall(r"^ *(?:wire|reg) +(?:\[[^]]*\] *)?(\w+);", text, re.M)
    if twice := sorted({name for name in declared if declared.count(name) > 1}):
        raise toolchain.ToolError(
            f"{module}: GHDL calls the port of an instance by label and port, which is also a signal's name: {', '.join(twice)}. "
            "fix: rename the label or the signal"
        )
    if found := re.search(r'^(?!.*\$)[^\n]*"[^\n]*', text, re.M):
        raise toolchain.ToolError(f"{module}: a string is left in GHDL's Verilog: {found[0].strip()}")
    for block in re.findall(r"always @\*\n(.*?)(?=^ *always|^ *assign|^endmodule)", text, re.M | re.S):
        if not re.match(r" *case .*?default: .*?endcase", block, re.S) or "<=" in block:
            raise toolchain.ToolError(f"{module}: a combinational process of GHDL's Verilog has an unknown form:\n{block}")


@contextlib.contextmanager
def synthesised(top, sources, generics=None):
    """Gives a function from a form ("verilog", "vhdl") to GHDL's netlist of an entity. Raises ToolError."""
    ghdl, _ = toolchain.ghdl()
    with tempfile.TemporaryDirectory(prefix="wirelab-translate-") as work:
        common = [STANDARD, f"--workdir={work}"]
        toolchain.run([ghdl, "-i", *common, *(str(Path(source).resolve()) for source in sources)])
        toolchain.run([ghdl, "-m", *common, top], cwd=work)
        values = [f"-g{name}={value}" for name, value in (generics or {}).items()]
        yield functools.cache(lambda form: toolchain.run([ghdl, "--synth", *common, f"--out={form}", *values, top]))


def translate(top, sources, generics=None):
    """The Verilog of an entity and all below it. Raises ToolError."""
    with synthesised(top, sources, generics) as netlist:
        return translated(netlist)


def translated(netlist):
    """The Verilog of a synthesised netlist. Raises ToolError."""
    text = repair(netlist("verilog"), lambda: netlist("vhdl"))
    # GHDL's comments contain paths of this machine.
    text = re.sub(r"^ */\* [^*]*:\d+:\d+ *\*/\n", "", text, flags=re.M)
    return f"// Translated from VHDL by rtl/tools/translate.py.\n{text}"


def everything():
    """All VHDL of the project. Enters the environment, which generates the registers."""
    import verilog  # Only this needs the environment.

    toolchain.enter()
    return verilog.sources()


def generic(word):
    """NAME=VALUE of the command line."""
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"'{word}' is not NAME=VALUE")
    return name, value


def main():
    """Entry point."""
    parser = argparse.ArgumentParser(description="Translates an entity to Verilog.")
    parser.add_argument("-g", dest="generics", action="append", type=generic, default=[], metavar="NAME=VALUE", help="a generic of the entity")
    parser.add_argument("-o", dest="out", type=Path, metavar="FILE", help="write here, not to standard output")
    parser.add_argument("entity", help="the entity on top")
    parser.add_argument("sources", nargs="*", type=Path, help="VHDL files, in any order (all)")
    options = parser.parse_args()
    try:
        text = translate(options.entity, options.sources or everything(), dict(options.generics))
    except toolchain.ToolError as error:
        print(f"translate.py: {error}", file=sys.stderr)
        return 1
    if options.out:
        options.out.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
