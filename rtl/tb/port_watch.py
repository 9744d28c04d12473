"""Scripts of tb_port_wiring for the blocks that watch a line: identifier, capture unit, rate meter; the clears; stand-ins."""

import struct
from itertools import accumulate, pairwise

from frame_model import around, payload_of
from port_line import DESTINATION, SOURCE, STAMP_NS, TRUNCATED, addressed, finish, let_time_pass, run_of, with_udp
from port_script import ERROR_MARK, Script, line_bytes

RULES, PORTS = range(4), range(4)
ALL = 0xF
TYPES = (0x1234, 0x8765, 0x4321, 0xABCD)
PROTOCOLS = (0x01, 0x82, 0x44, 0x28)
PRIORITIES = (1, 2, 4, 7)
PORT_NUMBERS = (0x1001, 0x2A42, 0x4484, 0x8B18)
PORT_MASKS = (0xFFEF, 0xFDFF, 0xBFFF, 0x7FFF)
ADDRESSES = (0x20010DB8A1B2C3D4_1122334455667788, 0xFD57004C_99AABBCC_DDEEFF00_13579BDF)
PLAIN = addressed(around("ethernet", [], payload_of(0, 28)))
# The values of edge_t.
SOFTWARE, RECEIVING, RECEIVED, TRANSMITTING, WANTED = range(5)
# The values of probe_t.
STREAM_OUT, LINE_OUT, STREAM_IN, LINE_IN = range(4)


def of_type(ethertype):
    """A frame of an EtherType."""
    return PLAIN[:12] + struct.pack(">H", ethertype) + PLAIN[14:]


def of_protocol(protocol):
    """A frame of IPv4 with a protocol."""
    frame = addressed(around("udp4", [], payload_of(0, 4)))
    return with_udp(frame[:23] + bytes([protocol]) + frame[24:], 14, 1, 2, 3, 4)


def to_port(port):
    """A datagram to a port."""
    return addressed(around("udp4", [], payload_of(0, 4), port=port))


def to_address(address):
    """A datagram over IPv6 to an address."""
    frame = addressed(around("udp6", [], payload_of(0, 4)))
    return frame[:38] + address.to_bytes(16) + frame[54:]


def tagged(priority):
    """A frame with a priority."""
    return addressed(around("ethernet", [(0x8100, priority << 13 | 5)], payload_of(0, 28)))


class Seen:
    """Frames to the identifier, with the numbers of all and of the wanted ones."""

    def __init__(self, script):
        self.script, self.frames, self.wanted = script, 0, 0

    def expect(self, frame, rules):
        """Expects the rules that want a frame at the outputs and in the status."""
        self.script.frame(frame)
        self.script.result(rules != 0)
        self.script.expect("identifier_status", wanted=int(rules != 0), rules=rules)
        self.frames += 1
        self.wanted += rules != 0

    def ask(self, rule, met, missed, **asks):
        """All rules are on; one of them has a condition that the frame `met` fulfils and the frame `missed` does not."""
        for other in RULES:
            self.script.write(f"identifier_rule{other}_what", enable=1, **(asks if other == rule else {}))
        self.expect(met, ALL)
        self.expect(missed, ALL & ~(1 << rule))


def rules(script, seen):
    """Each rule is enabled by its own bit, and takes its conditions from its own registers."""
    for rule in RULES:
        script.write(f"identifier_rule{rule}_values", ethertype=TYPES[rule], protocol=PROTOCOLS[rule])
        script.write(f"identifier_rule{rule}_what", enable=1)
        seen.expect(PLAIN, 1 << rule)
        script.write(f"identifier_rule{rule}_what", priority=PRIORITIES[rule], ports=ALL, asks_type=1)
        seen.expect(PLAIN, 0)
    for rule in RULES:
        other = (rule + 1) % len(RULES)
        seen.ask(rule, PLAIN, addressed(PLAIN, destination=SOURCE), asks_own=1)
        seen.ask(rule, of_type(TYPES[rule]), of_type(TYPES[other]), asks_type=1)
        seen.ask(rule, of_protocol(PROTOCOLS[rule]), of_protocol(PROTOCOLS[other]), asks_protocol=1)
        has = {"asks_priority": 1, "priority": PRIORITIES[rule]}
        seen.ask(rule, tagged(PRIORITIES[rule]), tagged(PRIORITIES[other]), **has)


def ports(script, seen):
    """Each rule selects each of the ports by its own bit; each port has its number and its mask."""
    for port in PORTS:
        script.write(f"identifier_udp_port{port}", port_number=PORT_NUMBERS[port], mask=PORT_MASKS[port])
    for rule in RULES:
        for port in PORTS:
            seen.ask(rule, to_port(PORT_NUMBERS[port]), to_port(PORT_NUMBERS[port - 1]), ports=1 << port)
    for port in PORTS:
        free = 0xFFFF ^ PORT_MASKS[port]
        seen.ask(port, to_port(PORT_NUMBERS[port] ^ free), to_port(PORT_NUMBERS[port] ^ free >> 1), ports=1 << port)


def own_addresses(script, seen):
    """Both own addresses, each with its own bit and its words in their places."""
    for number, address in enumerate(ADDRESSES):
        for word in range(4):
            script.write(f"identifier_address{number}_word{word}", address >> 32 * word & 0xFFFFFFFF)
    for rule in RULES:
        script.write(f"identifier_rule{rule}_what", enable=int(rule == 0), asks_own=1)
    for enabled in range(4):
        script.write("identifier_address_enable", enabled)
        for number, address in enumerate(ADDRESSES):
            seen.expect(to_address(address), enabled >> number & 1)
            seen.expect(to_address((address << 32 | address >> 96) % 2**128), 0)


def identifier():
    """Rules, ports and addresses of the identifier, its outputs, result and counts."""
    script = Script()
    seen = Seen(script)
    script.write("identifier_own", DESTINATION)
    rules(script, seen)
    ports(script, seen)
    own_addresses(script, seen)
    assert 0 < seen.wanted < seen.frames
    script.expect_all("identifier", frames=seen.frames, wanted=seen.wanted, overflow=0)
    return script


def enable_capture(script, start, stop):
    """Selects the edges; discards earlier records, and those that the selection caused."""
    script.write("capture_control", start=start, stop=stop, clear=1)
    script.write("capture_control", enable=1, start=start, stop=stop)


def bring(script, edge, start, stop, **software):
    """Makes an edge; every frame is wanted."""
    if edge == SOFTWARE:
        script.write("capture_control", enable=1, start=start, stop=stop, **software)
    elif edge == TRANSMITTING:
        run_of(script)
        script.until("generator_status", finished=1)
    else:
        script.frame(PLAIN, silence=20 + 3 * start + stop)


def capture():
    """Each edge starts and stops a count; records, missed starts and flags of the capture unit are in their registers."""
    script = Script()
    script.write("identifier_rule0_what", enable=1)
    script.write("generator_frame_count", 1)
    # The order of the edges of one frame.
    of_a_frame = (RECEIVING, WANTED, RECEIVED)
    for start in range(5):
        for stop in range(5):
            enable_capture(script, start, stop)
            both = {"software_stop": 1} if stop == SOFTWARE == start else {}
            bring(script, start, start, stop, software_start=1, **both)
            script.mark(start)
            same = start in of_a_frame and stop in of_a_frame and of_a_frame.index(start) <= of_a_frame.index(stop)
            if not same and start != stop:
                bring(script, stop, start, stop, software_stop=1)
            script.clocks(12)
            script.expect("capture_status", waiting=1, bits=0x3FF)
            script.record(stop)
    # A frame that is not wanted neither starts nor stops.
    for start in (WANTED, RECEIVING):
        enable_capture(script, start, WANTED)
        for wanted in range(2):
            script.write("identifier_rule0_what", enable=wanted)
            script.frame(PLAIN)
            script.expect("capture_status", waiting=wanted, busy=int(start == RECEIVING and not wanted))
    enable_capture(script, RECEIVING, SOFTWARE)
    for _ in range(4):
        script.frame(PLAIN)
    script.expect("capture_status", busy=1)
    script.expect("capture_missed", 3)
    enable_capture(script, RECEIVING, RECEIVED)
    for number in range(513):
        script.carrier([0x55] * (1 + number % 5), silence=3)
        if number == 511:
            script.clocks(10)
            script.expect("capture_status", waiting=512)
    script.expect("capture_status", waiting=512, overflow=1)
    for number in range(6):
        script.expect("capture_oldest", 1 + number % 5)
    script.expect("capture_status", waiting=506, overflow=1)
    return script


def receive(script, carriers, what):
    """Sends carriers (bytes of preamble, of the frame with its FCS, of silence) to a meter with these settings."""
    enable_meter(script, **what)
    for preamble, octets, silence in carriers:
        script.frame(PLAIN.ljust(octets - 4, b"\0"), silence, preamble)


def expect_periods(script, times):
    """The expected results of the rate meter for frames at these ticks."""
    periods = [other - one for one, other in pairwise(times)]
    script.clocks(20)
    script.expect_all("rate", periods=len(periods), last_period=periods[-1], shortest=min(periods), longest=max(periods))
    script.expect_all("rate", total=sum(periods), status=0)


def enable_meter(script, **what):
    """Selects a probe, and discards earlier results."""
    script.write("rate_control", clear=1, **what)
    script.write("rate_control", enable=1, **what)


def rate():
    """Each probe of the rate meter, by first and last bytes, and with ticks in four of five clocks."""
    script = Script()
    # The distances are multiples of five, for the ticks in four of five clocks.
    carriers = [(7, 64, 28), (4, 90, 30), (11, 71, 62), (2, 80, 27), (7, 64, 53)]
    lengths = [preamble + 1 + octets for preamble, octets, _ in carriers]
    rises = [0, *accumulate(length + silence for length, (_, _, silence) in zip(lengths, carriers))][:-1]
    assert not any(rise % 5 for rise in rises)
    firsts = [rise + preamble for rise, (preamble, _, _) in zip(rises, carriers)]
    lasts = [rise + length for rise, length in zip(rises, lengths)]
    # A line has no last bytes. The order is from a stream to a line, since after a line the first frame of a stream would be
    # missed.
    for what, times in [({"probe": STREAM_IN}, firsts), ({"probe": STREAM_IN, "at_last": 1}, lasts)]:
        receive(script, carriers, what)
        expect_periods(script, times)
    # Frames of 114 and 94 bytes in turn: the MAC takes a byte again 24 clocks after the end of the last one.
    firsts, lasts = [0, 138, 256, 394], [113, 231, 369, 487]
    for what, times in [
        ({"probe": STREAM_OUT}, firsts),
        ({"probe": STREAM_OUT, "at_last": 1}, lasts),
        ({"probe": LINE_OUT}, firsts),
    ]:
        enable_meter(script, **what)
        run_of(script, {"fault_kind": TRUNCATED}, payload_bytes=100, frame_count=4, fault_every=2, fault_cut=20)
        finish(script, sent_frames=4)
        expect_periods(script, times)
    receive(script, carriers, {"probe": LINE_IN})
    expect_periods(script, rises)
    receive(script, carriers, {"probe": LINE_IN, "slow": 1})
    expect_periods(script, [rise * 4 // 5 for rise in rises])
    # It ignores frames while it is not enabled.
    script.write("rate_control", probe=LINE_IN, clear=1)
    for _ in range(3):
        script.frame(PLAIN)
    script.expect_all("rate", periods=0, shortest=0xFFFFFFFF, total=0)
    return script


def clears():
    """The clear of each block clears only its own counts."""
    script = Script()
    script.write("identifier_rule0_what", enable=1)
    let_time_pass(script, clear=1)
    script.write("checker_control", enable=1, clear=1)
    script.until("checker_status", checking=1)
    enable_capture(script, RECEIVING, RECEIVED)
    enable_meter(script, probe=LINE_IN)
    for number in range(6):
        script.frame(addressed(around("ethernet", [], payload_of(number, 28))))
    script.clocks(30)
    left = {
        "clock_now": (STAMP_NS, "clock_control", {"clear": 1}),
        "mac_received": (6, "mac_control", {"clear": 1}),
        "identifier_wanted": (6, "identifier_control", {"clear": 1}),
        "checker_good": (6, "checker_control", {"enable": 1, "clear": 1}),
        "rate_periods": (5, "rate_control", {"enable": 1, "probe": LINE_IN, "clear": 1}),
        "capture_status": (6, "capture_control", {"enable": 1, "start": RECEIVING, "stop": RECEIVED, "clear": 1}),
    }
    while left:
        for name, (value, _, _) in left.items():
            script.expect(name, value)
        (name, (_, control, fields)), *_ = left.items()
        script.write(control, **fields)
        del left[name]
        script.expect(name, 0)
    return script


def stand_ins():
    """States that the blocks themselves reach in half a minute or never: underruns, saturated counts, sums with high words."""
    script = Script()
    enable_meter(script, probe=LINE_IN)
    enable_capture(script, RECEIVING, RECEIVED)
    for octets in (10, 20, 30):
        script.carrier([0x55] * octets, silence=20)
    script.expect_all("rate", periods=2, last_period=40, longest=40, shortest=30, total=0x567800000000 + 70, status=0)
    script.expect("capture_status", waiting=3)
    for octets in (62, 63, 20):
        script.carrier([0x55] * octets, silence=30)
        script.expect("capture_status", waiting=4 if octets == 62 else 5 if octets == 63 else 6, saturated=int(octets != 62))
    script.expect("rate_status", overflow=1)
    script.expect("rate_longest", 63)
    run_of(script, payload_bytes=50, frame_count=3)
    script.until("generator_status", finished=1)
    script.expect("generator_status", finished=1, underrun=1)
    script.clocks(100)
    for number in range(3):
        whole = addressed(around("ethernet", [], payload_of(number, 32)), 0, 0)
        octets = line_bytes(whole[:20]) + [whole[20] + ERROR_MARK]
        script.expect_carrier(octets)
    script.compare()
    script.expect_all("generator", sent_frames=3, sent_bytes=0x123400000000 + 150)
    script.expect_all("mac", sent=0, underruns=3)
    return script
