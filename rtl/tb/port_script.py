"""Scripts of tb_port_wiring: accesses to the registers of a port by their names in rtl/registers/ethernet_port.rdl, carriers on
its line, and the expected results."""

import functools
import random
import zlib

import registers

ERROR_MARK = 256
# A frame may follow any silence.
ANY = 2**31 - 1
MAP = registers.MAPS / "ethernet_port.rdl"


@functools.cache
def nodes():
    """The registers by their names. Raises ToolError."""
    return {name.lower(): node for node, name in registers.registers_of(MAP)}


def line_bytes(frame, preamble=7):
    """A frame with FCS as a carrier, after so many bytes of preamble and the SFD."""
    return [0x55] * preamble + [0xD5, *frame]


def with_fcs(frame, wrong=0):
    """A frame, padded to 60 bytes, with its FCS, or with a wrong one."""
    frame = frame.ljust(60, b"\0")
    return frame + (zlib.crc32(frame) ^ wrong).to_bytes(4, "little")


class Script:
    """The lines of a script, in the order in which they are played."""

    def __init__(self):
        self.lines, self.nodes = [], nodes()

    @staticmethod
    def value(node, value, fields):
        """The register's value: as given, or made of its fields, which are 0 by default."""
        for name, of_field in fields.items():
            value |= of_field << node.get_child_by_name(name).lsb
        return value

    def words(self, name, value, fields):
        """(address, value) of each of a register's words."""
        node = self.nodes[name]
        whole = self.value(node, value, fields)
        for word in range(node.get_property("regwidth") // 32):
            yield node.absolute_address + 4 * word, whole >> 32 * word & 0xFFFFFFFF

    def write(self, name, value=0, strobes=0xF, **fields):
        """Writes a register, or bytes of it."""
        for at, word in self.words(name, value, fields):
            self.lines.append(f"w {at} {word:08X} {strobes:08X}")

    def expect(self, name, value=0, bits=0xFFFFFFFF, **fields):
        """The expected value of a read of the register, in these bits of a word."""
        for at, word in self.words(name, value, fields):
            self.lines.append(f"r {at} {bits:08X} {word & bits:08X} {name}")

    def expect_word(self, name, word, value):
        """The expected value of one of the register's words; word 0 is the low one."""
        self.lines.append(f"r {self.nodes[name].absolute_address + 4 * word} {0xFFFFFFFF:08X} {value:08X} {name}")

    def expect_all(self, block, **values):
        """The expected value of each of these registers of a block."""
        for name, value in values.items():
            self.expect(f"{block}_{name}", value)

    def until(self, name, **fields):
        """Waits until these fields of a register have these values."""
        node, bits = self.nodes[name], 0
        for field in fields:
            bits |= (2 ** node.get_child_by_name(field).width - 1) << node.get_child_by_name(field).lsb
        self.lines.append(f"u {node.absolute_address} {bits:08X} {self.value(node, 0, fields):08X} {name}")

    def clocks(self, count):
        """Lets clocks pass."""
        self.lines.append(f"c {count}")

    def carrier(self, octets, silence=12):
        """A carrier on the incoming line, and bytes of silence after it."""
        self.lines.append(" ".join(["s", str(silence), str(len(octets)), *(f"{octet:03X}" for octet in octets)]))

    def frame(self, frame, silence=12, preamble=7, wrong_fcs=0):
        """A frame on the incoming line."""
        self.carrier(line_bytes(with_fcs(frame, wrong_fcs), preamble), silence)

    def expect_frame(self, frame, silence=None, wrong_fcs=0):
        """The next frame on the outgoing line, after exactly so many bytes of silence."""
        self.expect_carrier(line_bytes(with_fcs(frame, wrong_fcs)), silence)

    def expect_carrier(self, octets, silence=None):
        """The next carrier on the outgoing line, after exactly so many bytes of silence."""
        bounds = (1, ANY) if silence is None else (silence, silence)
        self.lines.append(" ".join(["t", *map(str, bounds), str(len(octets)), *(f"{octet:03X}" for octet in octets)]))

    def compare(self):
        """The outgoing line had only the expected carriers."""
        self.lines.append("k")

    def forget_line(self):
        """Ignores the carriers on the outgoing line so far."""
        self.lines.append("f")

    def result(self, wanted):
        """The expected outputs of the identifier for the one frame since the last result."""
        self.lines.append(f"i {int(wanted)}")

    def mark(self, edge):
        """Marks the last of these edges as the start of a record."""
        self.lines.append(f"m {edge}")

    def record(self, edge):
        """The oldest record counts the clocks from the mark to the last of these edges."""
        self.lines.append(f"d {self.nodes['capture_oldest'].absolute_address} {edge} capture_oldest")

    def settings(self, seed):
        """Writes all stored bits, each register with its own value, then reads all."""
        rng, kept = random.Random(seed), []
        for name, node in self.nodes.items():
            fields = [field for field in node.fields() if field.is_sw_writable and not field.get_property("singlepulse")]
            if fields:
                kept.append((name, sum(rng.randrange(1, 2**field.width) << field.lsb for field in fields)))
        for name, value in kept:
            self.write(name, value)
        for name, value in kept:
            self.expect(name, value)
        for byte in range(4):
            self.write("generator_fault_every", 0x89ABCDEF, strobes=1 << byte)
            bits = 0xFF << 8 * byte
            self.expect("generator_fault_every", 0x89ABCDEF, bits=bits)
            self.write("generator_fault_every", 0x76543210, strobes=0xF ^ 1 << byte)
            self.expect("generator_fault_every", 0x89ABCDEF & bits | 0x76543210 & ~bits)
        return self
