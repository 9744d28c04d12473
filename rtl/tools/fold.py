"""An entity's translation for Verilator, as one module that does at each clock only what is needed then.

The netlist of GHDL has the same function, but evaluates all arms of all choices at every clock; its simulation takes three
times as long. Each clock has a process that assigns its flip-flops one after another; a value that is needed after its
flip-flop has changed is saved before.
"""

import re
import sys

import netlist
import toolchain
from netlist import Ref
from sequence import Assign, Sequence, Step, Store


class Program:
    """The Verilog of a netlist, as sequences of steps."""

    def __init__(self, flat, header):
        self.flat, self.header = flat, header
        self.outside = self.reached([flat.whole(net) for net in flat.outputs])
        foreign = [one for instance in flat.foreign.values() for one in instance.inputs.values()]
        self.seen = self.reached(foreign)
        self.clocks = sorted({flop.clock for flop in flat.flops.values()})
        self.sequences = {clock: Sequence(flat, clock) for clock in self.clocks}
        self.shared = {net for net in self.seen if net in flat.flops}
        for clock, sequence in self.sequences.items():
            values = [one for net in sequence.order for one in sequence.operands(net)]
            for target, value in sequence.targets:
                values += [value] if isinstance(target, str) else [value, target.address, target.data]
            read = {one.net for one in map(flat.resolved, values) if isinstance(one, Ref)}
            self.shared |= {net for net in read if net in flat.flops and flat.flops[net].clock != clock}

    def reached(self, operands):
        """All nets that operands depend on between two clocks."""
        flat, found, left = self.flat, {}, list(operands)
        while left:
            operand = flat.resolved(left.pop())
            if isinstance(operand, Ref) and operand.net not in found:
                found[operand.net] = True
                if operand.net in flat.ops:
                    left += flat.ops[operand.net].operands
        return found

    def hanging(self):
        """The inputs that outputs depend on between two clocks."""
        return [net for net in self.flat.inputs if net in self.outside]

    def range(self, net):
        """The range of a net's declaration."""
        bits = self.flat.widths[net]
        return f"[{bits - 1}:0] " if bits > 1 else ""

    def operand(self, operand, name=lambda net: net):
        """An operand in Verilog, with the name that its net has there."""
        operand = self.flat.resolved(operand)
        if not isinstance(operand, Ref):
            return f"{len(operand)}'b{operand}"
        text = name(operand.net)
        if operand.width == self.flat.widths[operand.net]:
            return text
        return f"{text}[{operand.high}]" if operand.width == 1 else f"{text}[{operand.high}:{operand.low}]"

    def assignment(self, target, op, name, blocking=True):
        """The statements that give a net its value, in a process (or, not blocking, outside of processes)."""
        operands = [self.operand(one, name) for one in op.operands]
        if op.kind != "case":
            text = f"{target} = {op.text.format(*operands)};"
            return [text] if blocking else [f"assign {text}"]
        selector, *values = operands
        choices = [f"{len(bits)}'b{bits}" for bits in op.choices] + ["default"]
        arms = [f"  {choice}: {target} = {value};" for choice, value in zip(choices, values)]
        lines = [f"case ({selector})", *arms, "endcase"]
        return lines if blocking else ["always @*", *(f"  {line}" for line in lines)]

    def around(self):
        """The part outside of the processes: nets that others read, and the instances of foreign modules."""
        flat, lines = self.flat, []
        seen = {**self.outside, **self.seen}
        for net in seen:
            if net in flat.ops:
                kind = "reg" if flat.ops[net].kind == "case" else "wire"
                if net not in flat.outputs:
                    lines.append(f"{kind} {self.range(net)}{net};")
                lines += self.assignment(net, flat.ops[net], lambda net: net, blocking=False)
        for net in flat.outputs:
            if (operand := flat.resolved(flat.whole(net))) != flat.whole(net):
                lines.append(f"assign {net} = {self.operand(operand)};")
        for label, instance in flat.foreign.items():
            lines += [f"wire {self.range(net)}{net};" for net in instance.outputs.values()]
            pairs = [(port, self.operand(one)) for port, one in instance.inputs.items()]
            pairs += instance.outputs.items()
            connections = ", ".join(f".{port}({net})" for port, net in pairs)
            lines.append(f"{instance.module} {label} ({connections});")
        return lines

    def text(self):
        """The module."""
        flat, lines = self.flat, []
        for name, memory in flat.memories.items():
            lines.append(f"reg [{memory.high}:0] {name} [{memory.last}:0];")
            if memory.initial:
                words = re.sub(r"^\s*\w+(?=\[)", f"  {name}", memory.initial, flags=re.M)
                lines += ["initial begin", *words.splitlines(), "end"]
        around = self.around()
        processes = [line for number, clock in enumerate(self.clocks) for line in Process(self, clock, number).lines()]
        return self.header + "".join(f"  {line}\n" for line in [*lines, *processes, *around]) + "endmodule\n"


class Process:
    """The process of one clock."""

    def __init__(self, program, clock, number):
        self.program, self.flat, self.number = program, program.flat, number
        self.clock, self.sequence = clock, program.sequences[clock]
        self.kept, self.steps, self.flops = {}, {}, {}

    def lines(self):
        """Declarations and process."""
        body, _ = self.block(self.sequence.root, frozenset(), "    ")
        declared = [f"reg {self.program.range(net)}{name};" for net, name in [*self.flops.items(), *self.steps.items(), *self.kept.items()]]
        # Verilator makes local variables of those that get a value at the beginning; the compiler removes that value again.
        keep = [f"    {name} = {net};" for net, name in self.kept.items()] + [f"    {name} = 0;" for name in self.steps.values()]
        return [*declared, f"always @(posedge {self.clock})", "  begin", *keep, *body, "  end"]

    def name(self, written):
        """The names of nets after these flip-flops have changed."""

        def called(net):
            if net in self.flat.ops:
                return self.steps.setdefault(net, f"step{self.number}__{net}")
            return self.kept.setdefault(net, f"old__{net}") if net in written else net

        return called

    def block(self, block, written, indent):
        """The statements of a block, and the flip-flops that have changed after it."""
        lines = []
        for statement in block.statements:
            name = self.name(written)
            if isinstance(statement, Step):
                made = self.program.assignment(name(statement.net), statement.op, name)
                lines += [indent + line for line in made]
            elif isinstance(statement, Store):
                address, data = (self.program.operand(one, name) for one in (statement.address, statement.data))
                lines.append(f"{indent}{statement.write.memory}[{address}] <= {data};")
            elif isinstance(statement, Assign):
                written = self.assign(statement, written, indent, lines)
            else:
                written = self.choice(statement, written, indent, lines)
        return lines, written

    def assign(self, statement, written, indent, lines):
        """The assignment of a flip-flop or a net."""
        target, value = statement.target, self.program.operand(statement.operand, self.name(written))
        if target not in self.flat.flops:
            lines.append(f"{indent}{self.name(written)(target)} = {value};")
            return written
        self.flops[target] = target
        shared = target in self.program.shared
        lines.append(f"{indent}{target} {'<=' if shared else '='} {value};")
        return written if shared else written | {target}

    def choice(self, statement, written, indent, lines):
        """A choice and its arms."""
        operand = self.program.operand(statement.operand, self.name(written))
        made = [(bits, *self.block(arm, written, indent + "  ")) for bits, arm in statement.arms]
        if statement.arms[-1][0] is None:
            lines.append(f"{indent}case ({operand})")
            for bits, body, _ in made:
                label = "default" if bits is None else f"{len(bits)}'b{bits}"
                lines += [f"{indent}{label}: begin", *body, f"{indent}end"]
            lines.append(f"{indent}endcase")
        else:
            bodies = [body for _, body, _ in made]
            if not bodies[0]:
                operand, bodies = f"~{operand}", bodies[::-1]
            lines += [f"{indent}if ({operand}) begin", *bodies[0], f"{indent}end"]
            if bodies[1]:
                lines += [f"{indent}else begin", *bodies[1], f"{indent}end"]
        return written.union(*(after for _, _, after in made))


def fold(text, top):
    """The translation of an entity, to be written as one module. Raises ToolError if its text has an unknown form."""
    # The recursion is as deep as an entity's choices are nested.
    sys.setrecursionlimit(20_000)
    reader = netlist.Reader(text)
    if top not in reader.modules:
        raise toolchain.ToolError(f"the translation has no module {top}")
    flat = reader.read(top)
    for net, flop in list(flat.flops.items()):
        flat.flops[net] = flop._replace(clock=flat.resolved(flat.whole(flop.clock)).net)
    flat.writes = [write._replace(clock=flat.resolved(flat.whole(write.clock)).net) for write in flat.writes]
    flat.decode()
    flat.keep_live()
    return Program(flat, reader.header(top))
