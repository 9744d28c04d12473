"""GHDL's Verilog read back: one flat netlist of everything below an entity, with its records and vectors taken apart.

An operand is a string of bits (a constant) or a Ref (bits of a net). Each net is a source, an Op of operands, or a flip-flop.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import toolchain

# Wider vectors are split if only parts of them are read: C++ has no such words.
WORD_BITS = 64
# Operations on each bit may be applied to a part.
BITWISE = {"and", "or", "not", "xor"}
OPERAND = re.compile(r"(?P<width>\d+)'b(?P<bits>[01xzX]+)|(?<![\w$'.])(?P<net>[A-Za-z_]\w*)(?:\[(?P<high>\d+)(?::(?P<low>\d+))?\])?")
KINDS = {"{} ? {} : {}": "mux", "{} & {}": "and", "{} | {}": "or", "~{}": "not", "{} ^ {}": "xor", "{} == {}": "equal", "{}": "wire"}
DECLARED = re.compile(r"^ *\(?(wire|reg|input|output)\s+(?:\[(\d+):0\] *)?(\w+) *[,;)]", re.M)
MODULE = re.compile(r"^module (\w+)\s*\(.*?\);\n(.*?)^endmodule", re.M | re.S)
MEMORY = re.compile(r"^  reg \[(\d+):0\] (\w+)\[(\d+):0\] ; // memory\n(?:  initial begin\n(.*?)    end\n)?", re.M | re.S)
CASE = re.compile(r"^  always @\*\n    case \((\w+)\)\n((?:      .*\n)*?)    endcase\n", re.M)
CLOCKED = re.compile(r"^  always @\(posedge (\w+)\)\n(?:    if \((\S+)\)\n  )?    (\S+) <= (\S+);\n", re.M)
ASSIGN = re.compile(r"^  assign (\w+) = (.+?);(?: *//.*)?\n", re.M)
CONSTANT = re.compile(r"^  localparam (?:\[\d+:0\] )?(\w+) = \d+'b([01xz]+);\n", re.M)
INSTANCE = re.compile(r"^  (\w+) (\w+) \(\n((?:    \.\w+\(\S*\)[,)].*\n)+)", re.M)
CONNECTION = re.compile(r"\.(\w+)\(([^)]*)\)")


class Ref(NamedTuple):
    """Bits of a net."""

    net: str
    high: int
    low: int

    @property
    def width(self):
        """Its bits."""
        return self.high - self.low + 1


def width(operand):
    """The bits of an operand."""
    return operand.width if isinstance(operand, Ref) else len(operand)


class Op(NamedTuple):
    """How operands make a net: a text with their places, and its known properties."""

    kind: str
    text: str
    operands: tuple
    # For a case (whose operands are the selector, its values and the default): the constants.
    choices: tuple = ()


class Flop(NamedTuple):
    """A flip-flop."""

    clock: str
    next: object


class Write(NamedTuple):
    """A write into a memory at an edge of a clock."""

    clock: str
    enable: object
    memory: str
    address: object
    data: object


class Memory(NamedTuple):
    """An array of words, with its initial content."""

    high: int
    last: int
    initial: str


class Foreign(NamedTuple):
    """An instance of a module without a definition here: its inputs by port, and its outputs' nets."""

    module: str
    inputs: dict
    outputs: dict


@dataclass
class Netlist:
    """A flat netlist."""

    widths: dict = field(default_factory=dict)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    ops: dict = field(default_factory=dict)
    flops: dict = field(default_factory=dict)
    memories: dict = field(default_factory=dict)
    writes: list = field(default_factory=list)
    foreign: dict = field(default_factory=dict)
    # Operands that were resolved before.
    found: dict = field(default_factory=dict)

    def whole(self, net):
        """All bits of a net."""
        return Ref(net, self.widths[net] - 1, 0)

    def add(self, net, bits, op):
        """Adds a net of `bits` bits that this Op makes."""
        self.widths[net] = bits
        self.ops[net] = op
        return Ref(net, bits - 1, 0)

    def keep_live(self):
        """Removes the flip-flops that nothing reads; resolves those that are read in parts into parts."""
        left = [self.whole(net) for net in self.outputs]
        left += [one for instance in self.foreign.values() for one in instance.inputs.values()]
        left += [one for write in self.writes for one in (write.enable, write.address, write.data)]
        seen = set()
        while left:
            operand = self.resolved(left.pop())
            if isinstance(operand, Ref) and operand.net not in seen:
                seen.add(operand.net)
                if operand.net in self.flops:
                    left.append(self.flops[operand.net].next)
                elif operand.net in self.ops:
                    left += self.ops[operand.net].operands
        self.flops = {net: flop for net, flop in self.flops.items() if net in seen}

    def decode(self):
        """Lets each case select by the value itself: GHDL compares it with every choice, and selects by the comparison bits."""
        for net, op in list(self.ops.items()):
            if op.kind != "case" or not isinstance(selector := self.resolved(op.operands[0]), Ref):
                continue
            bits = self.ops.get(selector.net)
            if bits and bits.kind == "concat" and selector == self.whole(selector.net):
                if found := self.decoded(op, [self.compared(bit) for bit in bits.operands]):
                    self.ops[net] = found

    def decoded(self, op, compared):
        """A case by the value that its selector's bits compare, first bit first; None if they do not all compare one value."""
        if None in compared or len({value for value, _ in compared}) != 1:
            return None
        by_choice = {"1" + "0" * (len(compared) - 1 - at): constants for at, (_, constants) in enumerate(compared)}
        choices, values = [], []
        for choice, value in zip(op.choices, op.operands[1:]):
            constants = by_choice.get(choice.lstrip("0"), ())
            choices += constants
            values += [value] * len(constants)
        if len(set(choices)) != len(choices):
            return None
        return op._replace(operands=(compared[0][0], *values, op.operands[-1]), choices=tuple(choices))

    def compared(self, bit):
        """The value that a bit compares, and the constants that make it 1; None if it is not a comparison."""
        bit = self.resolved(bit)
        op = self.ops.get(bit.net) if isinstance(bit, Ref) else None
        if op and op.kind == "equal" and not isinstance(op.operands[1], Ref) and set(op.operands[1]) <= {"0", "1"}:
            value = self.resolved(op.operands[0])
            return (value, (op.operands[1],)) if isinstance(value, Ref) else None
        if op and op.kind == "or":
            one, other = map(self.compared, op.operands)
            if one and other and one[0] == other[0]:
                return one[0], one[1] + other[1]
        return None

    def part(self, operand, high, low):
        """Bits of an operand, resolved to their source."""
        if not isinstance(operand, Ref):
            return operand[len(operand) - 1 - high : len(operand) - low]
        return self.resolved(Ref(operand.net, operand.low + high, operand.low + low))

    def resolved(self, operand):
        """The operand with the same bits that is nearest to their source."""
        if not isinstance(operand, Ref):
            return operand
        if operand not in self.found:
            self.found[operand] = self.nearest(operand)
        return self.found[operand]

    def nearest(self, operand):
        """The same, computed for the first time."""
        net, high, low = operand
        if (flop := self.flops.get(net)) and self.widths[net] > WORD_BITS and operand.width < self.widths[net]:
            return self.part_of_flop(operand, flop)
        op = self.ops.get(net)
        if op is None:
            return operand
        if op.kind == "wire":
            return self.part(op.operands[0], high, low)
        if op.kind == "concat":
            return self.part_of_concat(operand, op)
        if self.widths[net] > WORD_BITS and operand.width < self.widths[net]:
            return self.part_of_wide(operand, op)
        return operand

    def part_of_flop(self, operand, flop):
        """A separate flip-flop for these bits of a wide one."""
        net, high, low = operand
        name = f"{net}__{high}_{low}"
        if name not in self.flops:
            self.widths[name] = operand.width
            self.flops[name] = Flop(flop.clock, None)
            self.flops[name] = Flop(flop.clock, self.part(flop.next, high, low))
        return self.whole(name)

    def part_of_concat(self, operand, op):
        """Bits of concatenated vectors."""
        found, at = [], self.widths[operand.net]
        for one in op.operands:
            at -= width(one)
            high, low = min(operand.high - at, width(one) - 1), max(operand.low - at, 0)
            if low <= high:
                found.append(self.part(one, high, low))
        if len(found) == 1:
            return found[0]
        if all(not isinstance(one, Ref) for one in found):
            return "".join(found)
        if operand.width == self.widths[operand.net]:
            return operand
        name = f"{operand.net}__{operand.high}_{operand.low}"
        return self.whole(name) if name in self.ops else self.add(name, operand.width, concat(found))

    def part_of_wide(self, operand, op):
        """Bits of the result of a bitwise operation or a choice."""
        net, high, low = operand
        first = {"mux": 1, "case": 1}.get(op.kind, 0)
        if op.kind not in BITWISE and not first:
            return operand
        name = f"{net}__{high}_{low}"
        if name not in self.ops:
            # The selector stays whole.
            parts = (*op.operands[:first], *(self.part(one, high, low) for one in op.operands[first:]))
            self.add(name, operand.width, op._replace(operands=parts))
        return self.whole(name)


def concat(operands):
    """Concatenated operands."""
    return Op("concat", "{{" + ", ".join(["{}"] * len(operands)) + "}}", tuple(operands))


def logic(op):
    """A choice between bits as the equivalent logic."""
    if op.kind == "mux" and width(op.operands[1]) == 1:
        condition, yes, no = op.operands
        for arms, kind, text, operands in (
            (("1", "0"), "wire", "{}", (condition,)),
            (("0", "1"), "not", "~{}", (condition,)),
            ((yes, "0"), "and", "{} & {}", (condition, yes)),
            (("1", no), "or", "{} | {}", (condition, no)),
        ):
            if (yes, no) == arms:
                return Op(kind, text, operands)
    return op


class Reader:
    """Reads modules into a Netlist, each instance under a prefix of its own."""

    def __init__(self, text):
        self.modules = {match[1]: match for match in MODULE.finditer(text)}
        self.netlist = Netlist()

    def read(self, top):
        """The netlist of a module and all below it. Raises ToolError if the text has an unknown form."""
        netlist = self.netlist
        self.instance(top, "", {})
        for way, _, name in DECLARED.findall(self.header(top)):
            (netlist.inputs if way == "input" else netlist.outputs).append(name)
        return netlist

    def header(self, module):
        """The text of a module's ports."""
        match = self.modules[module]
        return match[0][: match.start(2) - match.start()]

    def instance(self, module, prefix, connected):
        """One instance; `connected` has the outer operand of each input."""
        netlist, body = self.netlist, self.modules[module][2]
        for _, high, name in DECLARED.findall(self.header(module) + body):
            netlist.widths[prefix + name] = int(high or 0) + 1
        constants = dict(CONSTANT.findall(body))

        def operand(text):
            match = OPERAND.fullmatch(text)
            if not match:
                raise toolchain.ToolError(f"{module}: an operand of GHDL's Verilog has an unknown form: {text}")
            return self.operand(match, prefix, constants)

        for name, value in connected.items():
            netlist.ops[prefix + name] = Op("wire", "{}", (value,))
        read = {match.span() for match in CONSTANT.finditer(body)}
        for match in MEMORY.finditer(body):
            netlist.memories[prefix + match[2]] = Memory(int(match[1]), int(match[3]), match[4] or "")
            read.add(match.span())
        for match in ASSIGN.finditer(body):
            netlist.ops[prefix + match[1]] = self.op(match[2], prefix, constants, operand)
            read.add(match.span())
        for match in CASE.finditer(body):
            name, op = self.case(match, prefix, operand)
            netlist.ops[name] = op
            read.add(match.span())
        for match in CLOCKED.finditer(body):
            self.clocked(match, prefix, operand)
            read.add(match.span())
        for match in INSTANCE.finditer(body):
            self.below(match, prefix, operand)
            read.add(match.span())
        self.judge(module, body, read)

    def judge(self, module, body, read):
        """Raises ToolError if something of a module was not read."""
        rest, at = [], 0
        for begin, end in sorted(read):
            rest.append(body[at:begin])
            at = end
        rest = re.sub(DECLARED, "", "\n".join([*rest, body[at:]]))
        rest = re.sub(r"//.*", "", rest).strip()
        if rest:
            raise toolchain.ToolError(f"{module}: GHDL's Verilog has a statement of an unknown form: {rest.splitlines()[0].strip()}")

    def operand(self, match, prefix, constants):
        """The operand that a match of OPERAND is."""
        if match["bits"]:
            bits = match["bits"].lower()
            return bits.rjust(int(match["width"]), "0") if bits[0] in "01" else bits.rjust(int(match["width"]), bits[0])
        bits = constants.get(match["net"])
        whole = self.netlist.whole(prefix + match["net"]) if bits is None else bits
        if match["high"] is None:
            return whole
        high, low = int(match["high"]), int(match["low"] or match["high"])
        return Ref(whole.net, high, low) if bits is None else self.netlist.part(bits, high, low)

    def op(self, text, prefix, constants, operand):
        """The Op of an assignment's right side."""
        if (match := re.fullmatch(r"(\w+)\[([A-Za-z_]\w*)\]", text)) and prefix + match[1] in self.netlist.memories:
            return Op("read", f"{prefix}{match[1]}[{{}}]", (operand(match[2]),))
        operands, pieces, at = [], [], 0
        for match in OPERAND.finditer(text):
            operands.append(self.operand(match, prefix, constants))
            pieces += [text[at : match.start()].replace("{", "{{").replace("}", "}}"), "{}"]
            at = match.end()
        pieces.append(text[at:].replace("{", "{{").replace("}", "}}"))
        form = "".join(pieces)
        if form == "{} ? {} : {}" and set(operands[2]) == {"x"}:
            # Nothing may depend on an unknown value.
            return Op("wire", "{}", (operands[1],))
        if form.startswith("{{"):
            return Op("concat", form, tuple(operands))
        return logic(Op(KINDS.get(form, "other"), form, tuple(operands)))

    def case(self, match, prefix, operand):
        """A net and the Op of the case that makes it."""
        arms = re.findall(r"^      (\S+): (\w+) = (\S+);$", match[2], re.M)
        values = {choice: operand(value) for choice, _, value in arms}
        default = values.pop("default")
        choices = tuple(operand(choice) for choice in values)
        return prefix + arms[0][1], Op("case", "", (operand(match[1]), *values.values(), default), choices)

    def clocked(self, match, prefix, operand):
        """A flip-flop, or a write into a memory."""
        netlist, (clock, enable, target, value) = self.netlist, match.groups()
        clock = prefix + clock
        if found := re.fullmatch(r"(\w+)\[(\w+)\]", target):
            enable = operand(enable) if enable else "1"
            netlist.writes.append(Write(clock, enable, prefix + found[1], operand(found[2]), operand(value)))
            return
        name = prefix + target
        if found := re.fullmatch(r"(\w+)\[([A-Za-z_]\w*)\]", value):
            memory = prefix + found[1]
            value = netlist.add(f"{name}__word", netlist.widths[name], Op("read", f"{memory}[{{}}]", (operand(found[2]),)))
        else:
            value = operand(value)
        if enable and (condition := operand(enable)) != "1":
            value = netlist.add(f"{name}__next", netlist.widths[name], Op("mux", "{} ? {} : {}", (condition, value, netlist.whole(name))))
        netlist.flops[name] = Flop(clock, value)

    def below(self, match, prefix, operand):
        """An instance within an instance."""
        netlist, (module, label, text) = self.netlist, match.groups()
        if module not in self.modules:
            raise toolchain.ToolError(f"GHDL's Verilog has an instance {label} of {module}, which is not there")
        inner = f"{prefix}{label}__"
        connected = {port: net for port, net in CONNECTION.findall(text) if net}
        ways = {name: way for way, _, name in DECLARED.findall(self.header(module))}
        inputs = {port: operand(net) for port, net in connected.items() if ways[port] == "input"}
        outputs = {port: prefix + net for port, net in connected.items() if ways[port] == "output"}
        if not self.modules[module][2].strip():
            netlist.foreign[f"{prefix}{label}"] = Foreign(module, inputs, outputs)
            return
        self.instance(module, inner, inputs)
        for port, net in outputs.items():
            netlist.ops[net] = Op("wire", "{}", (netlist.whole(inner + port),))
