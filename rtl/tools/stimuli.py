"""The stimuli of lockstep.py: noise on a block's inputs, and for some blocks as many cycles of frames and accesses.

Noise does not get past the Ethernet header: its EtherType is right only once in 2^16 frames. The frames are those of
rtl/tb/frame_sequences.py, good and damaged ones, under settings with which a block processes them.
"""

import functools
import itertools
import random
import sys
import zlib
from dataclasses import dataclass

import registers
import toolchain

sys.path.insert(0, str(toolchain.TREE / "rtl/tb"))

import frame_model as model  # noqa: E402
import frame_sequences as sequences  # noqa: E402

# Cycles of the first reset.
RESET_CYCLES = 4
# The other clocks have edges during the reset.
FIRST_RESET = {"rst": 1, "gmii_rx_rst": 1, "gmii_rx_clk": 1, "port_clk": 1}
# Until its window is emptied, a checker judges nothing. Writing the registers of a port up to the checker's takes as long.
SILENT_CYCLES = 600
# Cycles in which a parser gets frames before the one that is too long, which no shorter frame is.
SHORT_FRAMES_CYCLES = 4000
# Blocks that begin later than others: the example waits 16,384 clocks for frames that may still come back. And that long frame.
LEAST_CYCLES = {"line_tester": 18500, "frame_parser": SHORT_FRAMES_CYCLES + model.MAX_LFSR + 100}
# Inputs that reset a block are 1 in one of so many cycles of noise.
ONE_IN = {"rst": 400, "gmii_rx_rst": 400, "clear": 100}
PREAMBLE = bytes([0x55] * 7 + [0xD5])
PORT = 5003
# The IP addresses that test frames go to.
IPV4, IPV6 = (model.around(kind, [], b"")[-8 - width :][:width] for kind, width in (("udp4", 4), ("udp6", 16)))
OWN_ADDRESSES = [0xFFFF << 32 | int.from_bytes(IPV4, "big"), int.from_bytes(IPV6, "big")]
UDP_PORTS = [(PORT, 0xFFFF), (PORT, 0xFFF0), (PORT + 1, 0xFFFF), (0, 0xFFFF)]


@dataclass(frozen=True)
class Rule:
    """The conditions of a rule of the packet identifier; `ports` has a bit for each of UDP_PORTS."""

    own: bool = False
    ethertype: int | None = None
    protocol: int | None = None
    priority: int | None = None
    ports: int = 0


RULES = [Rule(own=True, ports=0b0001), Rule(ethertype=0x88B5), Rule(protocol=17, ports=0b0110), Rule(priority=1)]


def side_by_side(values, width):
    """Values concatenated into one vector, the first in the low bits."""
    return sum(value << width * number for number, value in enumerate(values))


def address(octets):
    """A MAC address as a number."""
    return int.from_bytes(octets or b"", "big")


def flow_of(dice):
    """The flow as the checker knows it."""
    slots = dice.choice([None, None, None, 7])
    return model.Flow(source=dice.choice([model.SOURCE, None]), stream=dice.choice([3, None]), slots=slots)


def settings(flow):
    """The settings on inputs while frames come."""
    return {
        **dict.fromkeys("ce rx_ce tx_ce enable run gmii_rx_clk".split(), 1),
        **dict.fromkeys("rst gmii_rx_rst clear any_address".split(), 0),
        "gap": 12,
        "max_frame": 130,
        "source": address(flow.source),
        "source_known": int(flow.source is not None),
        "udp_port": flow.udp_port,
        "stream": flow.stream or 0,
        "stream_known": int(flow.stream is not None),
        "slots": flow.slots or 0,
        "own_mac": address(model.DESTINATION),
        "address_enable": 3,
        "own_addresses": side_by_side(OWN_ADDRESSES, 128),
        "rule_enable": 2 ** len(RULES) - 1,
        "rule_asks_own": side_by_side([rule.own for rule in RULES], 1),
        "rule_asks_type": side_by_side([rule.ethertype is not None for rule in RULES], 1),
        "rule_asks_protocol": side_by_side([rule.protocol is not None for rule in RULES], 1),
        "rule_asks_priority": side_by_side([rule.priority is not None for rule in RULES], 1),
        "rule_asks_port": side_by_side([rule.ports for rule in RULES], len(UDP_PORTS)),
        "rule_type": side_by_side([rule.ethertype or 0 for rule in RULES], 16),
        "rule_protocol": side_by_side([rule.protocol or 0 for rule in RULES], 8),
        "rule_priority": side_by_side([rule.priority or 0 for rule in RULES], 3),
        "udp_ports": side_by_side([port for port, _ in UDP_PORTS], 16),
        "udp_port_masks": side_by_side([mask for _, mask in UDP_PORTS], 16),
    }


def chosen(flow):
    """A few frames of each state with their sequences, so that none is left to chance."""
    fields = {"stream": flow.stream or 0, "flags": 0 if flow.slots is None else model.REPEATING}
    for number, kind, tags in (0, "ethernet", []), (1, "udp4", [(0x8100, 5)]), (2, "udp6", []), (4, "ethernet", [(0x88A8, 1), (0x8100, 2)]):
        yield number, model.around(kind, tags, model.payload_of(number, 28, **fields))
    # A late one, a duplicate, and one that is too late.
    for number in (3, 4, -5000):
        yield number, model.around("ethernet", [], model.payload_of(number, 28, **fields))
    # A stale frame, a corrupted one, a truncated one, one with a wrong header checksum, and one of another program.
    right = model.payload_of(6, 28, **fields)
    stale = right[:18] + model.SPEC.lfsr(4, 28)
    other = model.payload_of(6, 28, **fields | {"stream": 9})
    for data in (stale, model.SPEC.inverted(right, 300), right[:-4], model.SPEC.inverted(right, 50), other):
        yield 6, model.around("ethernet", [], data)


def frames(dice, flow):
    """Sequences and short frames without end, of every framing and state."""
    yield from chosen(flow)
    sender = sender_of(dice, flow)
    while True:
        number = sender.number()
        yield number, sequences.one(dice, number, flow, 60, sender.must_arrive)


def sender_of(dice, flow):
    """The object that chooses the sequences of a flow."""
    return sequences.Sender(dice, 4096) if flow.slots is None else sequences.SlotSender(dice, flow.slots)


def carriers(dice, flow):
    """Frames on a line: the preamble of each, its bytes with the FCS, and the bytes that are marked as errors."""
    for (_, frame), damage in zip(frames(dice, flow), itertools.cycle(range(20))):
        lead, body, errors = PREAMBLE, frame[:59] if damage == 13 else frame.ljust(60, b"\0"), ()
        body += zlib.crc32(body).to_bytes(4, "little")
        if damage == 14:
            body = sequences.inverted(body, dice.randrange(8 * len(body)))
        elif damage == 15:
            errors = (dice.randrange(len(body)),)
        elif damage == 16:
            lead = lead[dice.randrange(8) :]
        elif damage == 17:
            lead = sequences.inverted(lead, dice.randrange(64))
        elif damage == 18:
            body = body[: dice.randrange(8)]
        yield lead, body, errors


def line(dice, flow):
    """Frames on GMII, with everything that may happen on a line."""
    nothing = {"gmii_rxd": 0, "gmii_rx_dv": 0, "gmii_rx_er": 0}
    yield from [nothing] * SILENT_CYCLES
    for lead, body, errors in carriers(dice, flow):
        for place, octet in enumerate(lead + body, -len(lead)):
            yield {"gmii_rxd": octet, "gmii_rx_dv": 1, "gmii_rx_er": int(place in errors)}
        yield from [nothing] * dice.choice([1, 12, 12, 20])


def tap(dice, flow):
    """Frames as at the tap of mac_rx."""
    for _, body, _ in carriers(dice, flow):
        for place, octet in enumerate(body):
            yield {"tap_tdata": octet, "tap_tvalid": 1, "tap_start": int(place == 0), "tap_end": 0}
        for place in range(dice.choice([9, 20])):
            yield {"tap_tdata": 0, "tap_tvalid": 0, "tap_start": 0, "tap_end": int(place == 0)}


def stream(dice, flow):
    """Frames as from mac_rx, with the identifier's result and the start word; sometimes at a third of the pace."""
    nothing = {"s_tvalid": 0, "s_tlast": 0, "result_valid": 0}
    yield from [nothing] * SILENT_CYCLES
    for number, frame in frames(dice, flow):
        pause, bad = dice.choice([0, 0, 0, 2]), dice.random() < 0.1
        nothing["word"] = int.from_bytes(model.SPEC.lfsr(number % 2**32, 4), "big")
        for place, octet in enumerate(frame, 1):
            last = int(place == len(frame))
            yield {**nothing, "s_tdata": octet, "s_tvalid": 1, "s_tlast": last, "s_tuser": last & bad}
            yield from [nothing] * pause
        yield from [nothing, nothing, nothing | {"result_valid": 1}]
        yield from [nothing] * dice.choice([2, 20, 20])


def too_long(dice, flow):
    """Nothing, then instead of a running frame one with a byte more than a payload may have, then nothing again."""
    yield from [{}] * SHORT_FRAMES_CYCLES
    fields = {"stream": flow.stream or 0, "flags": 0 if flow.slots is None else model.REPEATING}
    length = model.MAX_LFSR + 1
    frame = model.around("ethernet", [], model.payload_of(0, length, dice.randbytes(length), **fields))
    for octets in (b"\0", frame):
        for place, octet in enumerate(octets, 1):
            yield {"s_tdata": octet, "s_tvalid": 1, "s_tlast": int(place == len(octets))}
        yield from [{"s_tvalid": 0, "s_tlast": 0}] * 4
    yield from itertools.repeat({})


def content(dice, flow):
    """The LFSR part of a frame, of the right sequence or not."""
    while True:
        number, length = dice.randrange(4096), dice.choice([1, 3, 4, 5, 8, 28, 40])
        own = model.SPEC.lfsr(number, length)
        nothing = {"start": 0, "valid": 0, "start_word": int.from_bytes(model.SPEC.lfsr(number, 4), "big")}
        yield from [nothing | {"start": 1}, nothing]
        for octet in own if dice.random() < 0.4 else sequences.other_content(dice, number, length):
            yield nothing | {"valid": 1, "data": octet}
        yield from [nothing] * 2


def numbers(dice, flow):
    """Sequences, or slots, of a flow; an answer comes eight clocks after its request."""
    sender = sender_of(dice, flow)
    while True:
        number = sender.number() % 2**32
        yield {"request": 1, "number": number}
        yield from [{"request": 0, "number": number}] * dice.choice([10, 12])


def words(dice, flow):
    """Words to search for, most of which follow one of the 4,096; an answer comes at most 68 clocks after its request."""
    while True:
        after = 4 * dice.randrange(1, 4097)
        word = int.from_bytes(model.SPEC.STREAM[after : after + 4], "big") ^ dice.choice([0, 0, 0, 1])
        yield {"request": 1, "following": word}
        yield from [{"request": 0}] * dice.choice([20, 70, 70])


def planning(dice, flow):
    """Runs of the generator's planner, with a `take` every seven clocks."""
    for kind in itertools.cycle(range(8)):
        values = {"frame_count": dice.choice([0, 0, 5]), "fault_kind": kind, "fault_every": dice.choice([1, 2, 3])}
        values |= {"fault_interval": dice.choice([0, 40]), "fault_once": 0}
        for cycle in range(400):
            yield values | {"start": int(cycle == 0), "stop": int(cycle >= 300), "take": int(cycle % 7 == 6)}


def capturing(dice, flow):
    """Edges that start and stop a capture, and records that are read."""
    while True:
        yield {name: int(dice.randrange(one_in) == 0) for name, one_in in (("start", 7), ("stop", 5), ("read_next", 20))}


def memory(dice, flow):
    """Words that a ring MAC reads as descriptors: as a buffer, half of them lie in the memory; as a length, they are that of a
    small frame. Some belong to software: giving back after a fault ends there."""
    while True:
        word = dice.choice([0x200, 0x8000]) | dice.randrange(15, 60) * 4
        if dice.random() < 0.1:
            word |= 1 << 31 | 1
        yield {"dma_answer": int(dice.random() < 0.7), "dma_rdata": word}


def bridging(dice, flow):
    """Accesses that wait for their answers, of a port whose clock runs."""
    for cycle in itertools.count():
        yield {"running": 1, "port_clk": cycle % 2, "s_request": int(cycle % 40 < 36), "s_write": cycle // 40 % 2}


def generation(dice, flow):
    """Runs of a generator with small frames."""
    for kind in itertools.cycle(range(8)):
        payload, count = dice.choice([41, 46, 50, 64]), dice.choice([0, 2])
        values = {"payload_bytes": payload, "frame_count": count, "gap_cycles": dice.choice([0, 0, 30]), "fault_every": dice.choice([1, 2])}
        values |= {"fault_kind": kind, "fault_cut": 4, "fault_interval": 0, "fault_once": 0}
        for cycle in range(300):
            yield values | {"enable": int(cycle < 200), "m_tready": int(dice.random() < 0.97)}


@functools.cache
def places(name, block):
    """The registers of a block of a map: name → (offset in the block, words)."""
    found = {}
    for node, label in registers.registers_of(registers.MAPS / f"{name}.rdl"):
        if label.startswith(block):
            found[label.removeprefix(block)] = (node.absolute_address, node.size // 4)
    base = 0 if not block else min(offset for offset, _ in found.values())
    return {label: (offset - base, count) for label, (offset, count) in found.items()}


def identifier_settings(prefix=""):
    """The settings of the identifier, as its registers."""
    what = {f"{prefix}OWN": address(model.DESTINATION), f"{prefix}ADDRESS_ENABLE": 3}
    for number, own in enumerate(OWN_ADDRESSES):
        what |= {f"{prefix}ADDRESS{number}_WORD{word}": own >> 32 * word & 0xFFFFFFFF for word in range(4)}
    for number, rule in enumerate(RULES):
        asks = [True, rule.own, rule.ethertype is not None, rule.protocol is not None, rule.priority is not None]
        what[f"{prefix}RULE{number}_WHAT"] = side_by_side(asks, 1) | (rule.priority or 0) << 8 | rule.ports << 16
        what[f"{prefix}RULE{number}_VALUES"] = (rule.ethertype or 0) | (rule.protocol or 0) << 16
    return what | {f"{prefix}UDP_PORT{number}": port | mask << 16 for number, (port, mask) in enumerate(UDP_PORTS)}


def port_settings(flow):
    """The settings of a whole port: a generator that sends, a checker of the flow, all blocks enabled."""
    known = (flow.source is not None) << 2 | (flow.stream is not None) << 3
    return {
        "CHECKER_FLOW": flow.udp_port | (flow.stream or 0) << 16,
        "CHECKER_SOURCE": address(flow.source),
        "CHECKER_SLOTS": flow.slots or 0,
        "CHECKER_CONTROL": 3 | known,
        "MAC_MAX_FRAME": 130,
        "CAPTURE_CONTROL": 1 | 1 << 8 | 2 << 12,
        "RATE_CONTROL": 1 | 3 << 8,
        "GENERATOR_SOURCE": address(model.SOURCE),
        "GENERATOR_FAULT_EVERY": 3,
        "GENERATOR_CONTROL": 1 | 1 << 3 | 6 << 8,
        **identifier_settings("IDENTIFIER_"),
    }


def over_axi(offset, value):
    """The cycles of an access by AXI4-Lite; a read has no value. A valid access is taken in the second clock."""
    halves = {"s_axil_awvalid": 0, "s_axil_wvalid": 0, "s_axil_arvalid": 0, "s_axil_bready": 1, "s_axil_rready": 1}
    if value is None:
        asked = halves | {"s_axil_arvalid": 1, "s_axil_araddr": offset}
    else:
        asked = halves | {"s_axil_awvalid": 1, "s_axil_wvalid": 1, "s_axil_awaddr": offset, "s_axil_wdata": value, "s_axil_wstrb": 15}
    return [asked] * 2 + [halves] * 6


def over_bus(offset, value):
    """The cycles of an access by the bus of the reference node."""
    asked = {"s_access": 1, "s_write": int(value is not None), "s_address": offset // 4, "s_wdata": value or 0, "s_bytes": 15}
    return [asked, {"s_access": 0}, {"s_access": 0}]


def accesses(dice, one_access, registers_there, values, at_times, chance=0.05):
    """Writes the settings, then reads all registers again and again; after a read, some are written at random."""
    for name, value in values.items():
        offset, count = registers_there[name]
        for word in range(count):
            yield from one_access(offset + 4 * word, value >> 32 * word & 0xFFFFFFFF)
    everything = [offset + 4 * word for offset, count in registers_there.values() for word in range(count)]
    while True:
        for offset in everything:
            yield from one_access(offset, None)
            for name, value in at_times.items():
                if dice.random() < chance:
                    yield from one_access(registers_there[name][0], value)


def port_registers(dice, flow):
    """Accesses to the registers of a port."""
    return accesses(dice, over_axi, places("ethernet_port", ""), port_settings(flow), {})


def node_identifier_registers(dice, flow):
    """Accesses to the registers of the reference node's identifier."""
    return accesses(dice, over_bus, places("ethernet_port", "IDENTIFIER_"), identifier_settings(), {})


def slot_mac_registers(dice, flow):
    """Accesses to the registers of its slot MAC: slots are given back, and frames sent."""
    for slot in (0x2000, 0x2800):
        for word in range(16):
            yield from over_bus(slot + 4 * word, dice.getrandbits(32))
    values = {"CONTROL": 3, "OWN": address(model.DESTINATION), "TX_LENGTH0": 60, "TX_LENGTH1": 14}
    yield from accesses(dice, over_bus, places("reference_node", "SLOT_MAC_"), values, {"RX_DONE": 3, "TX_GO": 3})


def ring_mac_registers(dice, flow):
    """Accesses to the registers of its ring MAC, enabled repeatedly: half of its buffers are a fault, which disables it."""
    values = {"OWN": address(model.DESTINATION), "IRQ_ENABLE": 31, "RX_BUFFER_BYTES": 64, "RX_RING": 0x100, "TX_RING": 0x180}
    return accesses(dice, over_bus, places("reference_node", "RING_MAC_"), values, {"CONTROL": 0x17, "STATUS": 31}, chance=0.5)


def ring_mac_memory_and_registers(dice, flow):
    """Memory and registers of the ring MAC together."""
    for word, access in zip(memory(dice, flow), ring_mac_registers(dice, flow)):
        yield word | access


def node_capture_registers(dice, flow):
    """Accesses to the registers of the reference node's capture unit, from one edge of the line to another."""
    values = {"CONTROL": 1 | 1 << 8 | 3 << 12}
    return accesses(dice, over_bus, places("ethernet_port", "CAPTURE_"), values, {})


def node_system_registers(dice, flow):
    """Accesses to the registers of the system."""
    values = {"IRQ_ENABLE": 7, "TIMER_COMPARE": 900, "CLOCKS": 1}
    return accesses(dice, over_bus, places("reference_node", "SYSTEM_"), values, {"UART_TX": 0x55, "LEAVE": 3})


# The stimuli for blocks with these inputs, and for entities.
PLAYERS = [
    ("gmii_rxd gmii_rx_dv gmii_rx_er", line),
    ("tap_tdata tap_tvalid tap_start tap_end", tap),
    ("s_tdata s_tvalid s_tlast", stream),
    ("start start_word valid data", content),
    ("request number slots", numbers),
    ("request following", words),
    ("running port_clk s_request", bridging),
    ("start stop take", planning),
    ("start stop read_next", capturing),
    ("enable payload_bytes m_tready", generation),
]
MORE = {
    "frame_parser": too_long,
    "ethernet_port": port_registers,
    "node_identifier": node_identifier_registers,
    "slot_mac": slot_mac_registers,
    "ring_mac": ring_mac_memory_and_registers,
    "node_capture": node_capture_registers,
    "node_system": node_system_registers,
}


def players(entity, inputs):
    """The stimuli of an entity besides noise."""
    names = {port.name for port in inputs}
    found = [player for wanted, player in PLAYERS if names.issuperset(wanted.split())]
    return found + [MORE[entity]] if entity in MORE else found


def noise(dice, inputs):
    """Values of all inputs, each with a rhythm of its own."""
    rhythm = {port.name: dice.choice([1, 1, 2, 4, 16, 64]) for port in inputs}
    values = {}
    while True:
        for port in inputs:
            if port.name in ONE_IN:
                values[port.name] = int(dice.randrange(ONE_IN[port.name]) == 0)
            elif port.name not in values or dice.randrange(rhythm[port.name]) == 0:
                values[port.name] = dice.getrandbits(port.width)
        yield values


def played(dice, found):
    """Values of the inputs that the players drive, and of the constant ones."""
    flow = flow_of(dice)
    still = settings(flow)
    for parts in zip(*(player(dice, flow) for player in found)):
        values = dict(still)
        for part in parts:
            values |= part
        yield values


def lines(entity, inputs, cycles, seed):
    """A line of bits a cycle, the inputs in order: `cycles` of noise, then at least as many of the other stimuli, each after a
    reset."""
    dice = random.Random(seed)
    random_values, found = noise(dice, inputs), players(entity, inputs)
    for scene in [None, found] if found else [None]:
        plays = played(dice, scene) if scene else None
        for cycle in range(max(cycles, LEAST_CYCLES.get(entity, 0)) if scene else cycles):
            values = next(random_values)
            if cycle < RESET_CYCLES:
                values = values | FIRST_RESET
            elif plays:
                values = values | next(plays)
            yield "".join(f"{values[port.name]:0{port.width}b}" for port in inputs)
