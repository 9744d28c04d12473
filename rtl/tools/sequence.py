"""A netlist as a program: the steps at an edge of a clock, each only under the conditions that need it.

GHDL's netlist evaluates every arm of every choice at every clock. Here a choice that many flip-flops depend on is tested once,
and a value that only one of its arms needs is computed in that arm.
"""

from collections import Counter

import toolchain
from netlist import Ref, width

# Operations that a choice must save to be worth a branch.
ENOUGH = 4
# The most that is counted for one flip-flop.
MOST = 30
# A factor of a condition may be tested first if this many targets have it: the code for its failure is then there twice.
MANY = 4


class Block:
    """Statements under the same conditions, with the facts about nets that follow from these."""

    def __init__(self, parent=None, holder=None):
        self.parent, self.holder = parent, holder
        self.depth = parent.depth + 1 if parent else 0
        self.known = dict(parent.known) if parent else {}
        self.memo = {}
        self.statements = []


class Assign:
    """The assignment of a flip-flop, or of a net that depends on a choice."""

    def __init__(self, target, operand):
        self.target, self.operand = target, operand


class Step:
    """A net and the Op that makes it."""

    def __init__(self, net, op):
        self.net, self.op = net, op


class Store:
    """A write into a memory."""

    def __init__(self, write, address, data):
        self.write, self.address, self.data = write, address, data


class Choice:
    """An operand, and for each value (none: any other) a block."""

    def __init__(self, operand):
        self.operand, self.arms = operand, []


class Facts:
    """Facts about operands that follow from the conditions around a block."""

    def __init__(self, netlist):
        self.netlist = netlist

    def truth(self, block, operand):
        """Whether a bit is known to be 1 there; None if it is not known."""
        if not isinstance(operand, Ref):
            return {"1": True, "0": False}.get(operand)
        operand = self.netlist.resolved(operand)
        if not isinstance(operand, Ref):
            return self.truth(block, operand)
        if operand in block.known:
            return block.known[operand]
        if operand not in block.memo:
            block.memo[operand] = self.computed(block, operand)
        return block.memo[operand]

    def computed(self, block, operand):
        """The same, from the operands of the bit."""
        op = self.netlist.ops.get(operand.net)
        if op is None or self.netlist.widths[operand.net] != 1:
            return None
        if op.kind == "not":
            value = self.truth(block, op.operands[0])
            return None if value is None else not value
        if op.kind in ("and", "or"):
            values = [self.truth(block, one) for one in op.operands]
            strong = op.kind == "or"
            if strong in values:
                return strong
            return None if None in values else not strong
        if op.kind == "equal":
            value = self.value(block, op.operands[0])
            return None if value is None or isinstance(op.operands[1], Ref) else value == op.operands[1]
        if op.kind == "mux":
            chosen = self.truth(block, op.operands[0])
            return None if chosen is None else self.truth(block, op.operands[1 if chosen else 2])
        return None

    def value(self, block, operand):
        """The bits of an operand, if they are known."""
        operand = self.netlist.resolved(operand)
        if not isinstance(operand, Ref):
            return operand
        if (value := block.known.get(("value", operand))) is not None:
            return value
        op = self.netlist.ops.get(operand.net)
        if op and op.kind == "concat" and operand.width == self.netlist.widths[operand.net]:
            bits = [self.truth(block, one) if width(one) == 1 else None for one in op.operands]
            return None if None in bits else "".join("01"[bit] for bit in bits)
        return None

    def assume(self, block, operand, value):
        """Notes that a bit has a value."""
        operand = self.netlist.resolved(operand)
        if not isinstance(operand, Ref) or operand in block.known:
            return
        block.known[operand] = value
        op = self.netlist.ops.get(operand.net)
        if op is None or self.netlist.widths[operand.net] != 1:
            return
        if op.kind == "not":
            self.assume(block, op.operands[0], not value)
        elif op.kind == "equal" and value and not isinstance(op.operands[1], Ref):
            self.assume_value(block, op.operands[0], op.operands[1])
        elif op.kind == ("and" if value else "or"):
            for one in op.operands:
                self.assume(block, one, value)

    def assume_value(self, block, operand, bits):
        """Notes that an operand has these bits."""
        operand = self.netlist.resolved(operand)
        if not isinstance(operand, Ref):
            return
        block.known["value", operand] = bits
        op = self.netlist.ops.get(operand.net)
        whole = op and op.kind == "concat" and operand.width == self.netlist.widths[operand.net]
        if whole and len(bits) == len(op.operands):
            for one, bit in zip(op.operands, bits):
                self.assume(block, one, bit == "1")

    def resolved(self, block, operand):
        """The operand that is selected in this block."""
        while True:
            operand = self.netlist.resolved(operand)
            if not isinstance(operand, Ref):
                return operand
            if operand.width == 1 and (truth := self.truth(block, operand)) is not None:
                return "1" if truth else "0"
            op = self.netlist.ops.get(operand.net)
            if op is None:
                return operand
            # A part of a selected operand might be a new net.
            if operand.width < self.netlist.widths[operand.net]:
                return operand
            if op.kind == "mux":
                truth = self.truth(block, op.operands[0])
                chosen = None if truth is None else op.operands[1 if truth else 2]
            else:
                chosen = self.arm(block, op) if op.kind == "case" else None
            if chosen is None:
                return operand
            operand = chosen

    def arm(self, block, op):
        """The operand that a case selects in this block, if that is known."""
        selector, *values = op.operands
        bits = self.value(block, selector)
        if bits is not None:
            return values[op.choices.index(bits)] if bits in op.choices else values[-1]
        excluded = block.known.get(("other", self.netlist.resolved(selector)), ())
        return values[-1] if set(op.choices) <= set(excluded) else None


class Sequence:
    """The program of one clock."""

    def __init__(self, netlist, clock):
        self.netlist, self.facts = netlist, Facts(netlist)
        self.targets = [(net, flop.next) for net, flop in netlist.flops.items() if flop.clock == clock]
        self.targets += [(write, write.enable) for write in netlist.writes if write.clock == clock]
        self.uses, self.sizes, self.consumers = {}, {}, Counter()
        self.order = self.ordered()
        self.root = Block()
        self.root.statements = self.build(self.root, self.targets)
        for net in reversed(self.order):
            self.place(net)
        self.arrange(self.root)

    def operands(self, net):
        """The operands of a net, resolved."""
        return [self.netlist.resolved(one) for one in self.netlist.ops[net].operands]

    def ordered(self):
        """The nets that the targets depend on, each after its operands; counts the uses of each."""
        begin = [value for _, value in self.targets]
        begin += [one for target, _ in self.targets if not isinstance(target, str) for one in (target.address, target.data)]
        order, seen, stack = [], set(), []

        def visit(operand):
            operand = self.netlist.resolved(operand)
            if isinstance(operand, Ref) and operand.net in self.netlist.ops:
                self.consumers[operand.net] += 1
                if operand.net not in seen:
                    seen.add(operand.net)
                    stack.append((operand.net, iter(self.operands(operand.net))))

        for one in begin:
            visit(one)
            while stack:
                net, rest = stack[-1]
                before = len(stack)
                for operand in rest:
                    visit(operand)
                    if len(stack) > before:
                        break
                else:
                    order.append(stack.pop()[0])
        return order

    def size(self, operand):
        """Operations that only this operand needs, MOST at most."""
        operand = self.netlist.resolved(operand)
        if not isinstance(operand, Ref) or self.consumers[operand.net] != 1:
            return 0
        if operand.net not in self.sizes:
            self.sizes[operand.net] = min(MOST, 1 + sum(self.size(one) for one in self.operands(operand.net)))
        return self.sizes[operand.net]

    def candidates(self, block, target, value):
        """The conditions that a target may test first: (operand, whether it decides alone, what it saves)."""
        if not isinstance(target, str):
            for factor, alone in self.factors(block, value):
                yield factor, alone, ENOUGH
            return
        op = self.netlist.ops.get(value.net) if isinstance(value, Ref) else None
        if op is None or value.width < self.netlist.widths[value.net]:
            return
        arms = op.operands[1:]
        holds = sum(self.netlist.resolved(arm) == self.netlist.whole(target) for arm in arms)
        gain = min(MOST, 1 + holds + sum(self.size(arm) for arm in arms))
        if op.kind == "mux":
            for factor, alone in self.factors(block, op.operands[0]):
                # A condition that does not decide alone leaves the rest to be tested after it, and a value that both arms need
                # is computed before it.
                yield factor, alone, gain if alone else gain / 2
        elif op.kind == "case":
            yield self.netlist.resolved(op.operands[0]), True, gain
        elif op.kind in ("and", "or") and value.width == 1:
            for factor, _ in self.factors(block, value):
                if factor != value:
                    yield factor, False, 0.5 + self.size(value) / 4

    def factors(self, block, condition, alone=True, deep=4):
        """Bits that may decide a condition, and whether each alone does; itself first."""
        condition = self.netlist.resolved(condition)
        if not isinstance(condition, Ref) or self.facts.truth(block, condition) is not None:
            return
        yield condition, alone
        op = self.netlist.ops.get(condition.net)
        if deep and op and self.netlist.widths[condition.net] == 1 and op.kind in ("and", "or", "not"):
            for one in op.operands:
                yield from self.factors(block, one, alone and op.kind == "not", deep - 1)

    def best(self, block, pending):
        """The operand whose test saves most, and its targets; nothing if it saves too little."""
        # By operand: the gain of each target, and the targets that it decides alone.
        hits, alone = {}, {}
        for number, (target, value) in enumerate(pending):
            for operand, decides, gain in self.candidates(block, target, value):
                gains = hits.setdefault(operand, {})
                gains[number] = max(gain, gains.get(number, 0))
                if decides:
                    alone.setdefault(operand, {})[number] = gains[number]
        good = []
        for operand, gains in hits.items():
            gains = gains if len(gains) >= MANY else alone.get(operand, {})
            if sum(gains.values()) >= ENOUGH:
                good.append((sum(gains.values()), len(alone.get(operand, ())), operand, gains))
        if not good:
            return None, []
        _, _, operand, gains = max(good, key=lambda one: one[:2])
        return operand, [pending[number] for number in gains]

    def build(self, block, targets):
        """The statements that give targets their values."""
        facts, statements = self.facts, []
        pending = [(target, facts.resolved(block, value)) for target, value in targets]
        while pending:
            operand, chosen = self.best(block, pending)
            if operand is None:
                break
            statements.append(self.choice(block, operand, chosen))
            # By identity: comparing targets would be slow, as some are large.
            taken = set(map(id, chosen))
            pending = [one for one in pending if id(one) not in taken]
        for one in pending:
            self.leaf(block, one, statements)
        return statements

    def leaf(self, block, one, statements):
        """A target without further conditions."""
        target, value = one
        if not isinstance(target, str):
            if value == "1":
                statement = Store(target, None, None)
                statement.address = self.use(block, statement, target.address)
                statement.data = self.use(block, statement, target.data)
                statements.append(statement)
            elif value != "0":
                raise toolchain.ToolError(f"nothing decides whether {target.memory} is written")
        elif value == self.netlist.whole(target) and target in self.netlist.flops:
            return
        elif value == self.netlist.whole(target):
            statements.append(self.step(block, target))
        else:
            statement = Assign(target, None)
            statement.operand = self.use(block, statement, value)
            statements.append(statement)

    def choice(self, block, operand, targets):
        """A Choice between the values of an operand."""
        statement = Choice(operand)
        statement.operand = self.use(block, statement, operand)
        ops = [self.netlist.ops.get(value.net) for _, value in targets]
        if operand.width == 1 and not any(op and op.kind == "case" and self.netlist.resolved(op.operands[0]) == operand for op in ops):
            for value in (True, False):
                arm = Block(block, statement)
                self.facts.assume(arm, operand, value)
                statement.arms.append(("01"[value], arm))
        else:
            choices = dict.fromkeys(bits for op in ops if op for bits in op.choices)
            for bits in choices:
                arm = Block(block, statement)
                self.facts.assume_value(arm, operand, bits)
                statement.arms.append((bits, arm))
            arm = Block(block, statement)
            arm.known["other", operand] = tuple(choices)
            statement.arms.append((None, arm))
        for _, arm in statement.arms:
            arm.statements = self.build(arm, targets)
        return statement

    def step(self, block, net):
        """A Step that makes a net from the operands selected in this block."""
        op = self.netlist.ops[net]
        statement = Step(net, op)
        statement.op = op._replace(operands=tuple(self.use(block, statement, one) for one in op.operands))
        return statement

    def use(self, block, statement, operand):
        """The operand in this block; notes that the statement needs it."""
        operand = self.facts.resolved(block, operand)
        if isinstance(operand, Ref) and operand.net in self.netlist.ops:
            self.uses.setdefault(operand.net, []).append((block, statement))
        return operand

    def place(self, net):
        """Puts the Step of a net before the first statement that needs it, in the innermost block that contains all of them."""
        if not (uses := self.uses.get(net)):
            return
        block = uses[0][0]
        for other, _ in uses[1:]:
            while block is not other:
                if block.depth >= other.depth:
                    block = block.parent
                else:
                    other = other.parent
        needing = set()
        for inner, statement in uses:
            while inner is not block:
                inner, statement = inner.parent, inner.holder
            needing.add(id(statement))
        at = next(n for n, statement in enumerate(block.statements) if id(statement) in needing)
        block.statements[at:at] = self.build(block, [(net, self.netlist.whole(net))])

    def touched(self, statement):
        """The flip-flops that a statement reads, and those that it writes."""
        if not hasattr(statement, "touched"):
            read, written = set(), set()
            if isinstance(statement, Assign):
                operands = [statement.operand]
                written.add(statement.target)
            elif isinstance(statement, Step):
                operands = statement.op.operands
            else:
                operands = [statement.operand] if isinstance(statement, Choice) else [statement.address, statement.data]
            read.update(one.net for one in operands if isinstance(one, Ref))
            for _, arm in statement.arms if isinstance(statement, Choice) else ():
                for inner in arm.statements:
                    inner_read, inner_written = self.touched(inner)
                    read |= inner_read
                    written |= inner_written
            flops = self.netlist.flops.keys()
            statement.touched = read & flops, written & flops
        return statement.touched

    def arrange(self, block):
        """Moves statements that change flip-flops after those that read them, if possible."""
        left = Counter()
        for statement in block.statements:
            left.update(self.touched(statement)[0])
            for _, arm in statement.arms if isinstance(statement, Choice) else ():
                self.arrange(arm)
        arranged, waiting = [], []

        def early(statement):
            read, written = self.touched(statement)
            return sum(left[net] > (net in read) for net in written)

        def take(statement):
            arranged.append(statement)
            left.subtract(self.touched(statement)[0])

        for statement in block.statements:
            # Only flip-flops hang on what changes flip-flops.
            if self.touched(statement)[1]:
                waiting.append(statement)
            else:
                take(statement)
        while waiting:
            best = min(waiting, key=early)
            waiting.remove(best)
            take(best)
        block.statements = arranged
