"""Scripts of tb_port_wiring for the sending and receiving blocks: MAC, generator, checker, and the clock of the stamps."""

import struct
import zlib

import frame_model as model
from frame_model import SPEC, around, payload_of
from port_script import ERROR_MARK, Script, line_bytes, with_fcs

NONE, BIT_ERROR, DROP, DUPLICATE, SWAP, BAD_FCS, STALE, TRUNCATED = range(8)
DESTINATION, SOURCE = 0x021122334455, 0x0266778899AA
# First values in a port of rtl/tb/stand_ins and tb_port_wiring: of the clock, and of the count of verified bytes.
LATE_NS, MANY_BYTES = 0x1234_00000000 - 256, 0x9ABC_00000000 - 64
# Clocks from one write to the next.
WRITE_CLOCKS = 4
STEP_NS = 251
STAMP_NS = STEP_NS * WRITE_CLOCKS


def addressed(frame, destination=DESTINATION, source=SOURCE):
    """A frame with these addresses."""
    return destination.to_bytes(6) + source.to_bytes(6) + frame[12:]


def marked(frame, at=30):
    """A carrier of a frame with its FCS, and an error at one byte."""
    octets = line_bytes(with_fcs(frame))
    octets[at] += ERROR_MARK
    return octets


def let_time_pass(script, clear=0):
    """Advances the clock by STAMP_NS from its last value, or from 0, and stops it."""
    script.write("clock_step", 0)
    script.write("clock_control", clear=clear)
    script.write("clock_step", STEP_NS)
    script.write("clock_step", 0)


def carriers_of(script, **times):
    """Sends `times` carriers for each count of the MAC, and good frames of 70 bytes, the longest allowed."""
    frame = around("ethernet", [], payload_of(0, 34))
    damaged = line_bytes(with_fcs(frame))
    damaged[3] = 0x54
    octets = {
        "bad_fcs": line_bytes(with_fcs(frame, wrong=1)),
        "rx_errors": marked(frame),
        "runts": line_bytes(runt(frame[:46])),
        "oversizes": line_bytes(with_fcs(frame + b"\0")),
        "without_sfd": [0x55] * 9,
        "too_short": [0x55] * 7 + [0xD5, 1, 2, 3],
        "bad_preambles": damaged,
        "good": line_bytes(with_fcs(frame)),
    }
    script.write("mac_max_frame", 70)
    for name, count in times.items():
        for _ in range(count):
            script.carrier(octets[name])


def mac():
    """Each count of the MAC has its own value; gap and longest frame take effect."""
    script = Script()
    counts = {"bad_fcs": 2, "rx_errors": 3, "runts": 4, "oversizes": 5, "without_sfd": 6, "too_short": 7, "bad_preambles": 8}
    carriers_of(script, good=11, **counts)
    script.write("mac_gap", 30)
    run_of(script, frame_count=9)
    script.until("generator_status", finished=1)
    script.clocks(60)
    for number in range(9):
        script.expect_frame(addressed(around("ethernet", [], payload_of(number, 28)), 0, 0), 30 if number else None)
    script.compare()
    script.expect_all("mac", sent=9, underruns=0, received=2 + 3 + 4 + 5 + 8 + 11, overflow=0, **counts)
    return script


def overflows(count_bits):
    """Counts of two bits overflow, and the word of each block shows which."""
    script = Script()
    judged = Judged(script, model.Flow(source=None, stream=None))
    script.write("checker_control", enable=1, clear=1)
    script.until("checker_status", checking=1)
    script.write("identifier_rule0_what", enable=1)
    for number in (0, 1, 2, 9, 3, 4, 5, 2):
        judged.send(around("ethernet", [], payload_of(number, 28)))
    script.clocks(100)
    script.expect("checker_overflow", judged.checker.overflow(count_bits))
    script.expect("identifier_overflow", 0b11)
    script.write("identifier_control", clear=1)
    script.write("identifier_rule0_what")
    script.write("mac_control", clear=1)
    carriers_of(script, bad_fcs=1, rx_errors=5, runts=2, oversizes=6, without_sfd=3, too_short=5, bad_preambles=2)
    # In this order: sent, underruns, received, bad FCS, rx_er, runts, oversizes, without SFD, too short, preambles.
    script.expect("mac_overflow", 0b01_0101_0100)
    script.expect("identifier_overflow", 0b01)
    run_of(script, payload_bytes=46, frame_count=5)
    script.until("generator_status", finished=1)
    script.clocks(100)
    script.expect("generator_status", finished=1, overflow=1)
    script.expect("mac_overflow", 0b01_0101_0101)
    return script


def runt(content):
    """A frame that is too short, with its FCS."""
    return content + zlib.crc32(content).to_bytes(4, "little")


def run_of(script, control=None, **settings):
    """Sets the generator up and lets it run."""
    script.write("generator_control")
    for name, value in settings.items():
        if isinstance(value, dict):
            script.write(f"generator_{name}", **value)
        else:
            script.write(f"generator_{name}", value)
    script.write("generator_control", enable=1, **(control or {}))


def finish(script, frames=None, silence=None, **counts):
    """Waits for the end of the run, then expects these frames on the line and these counts."""
    script.until("generator_status", finished=1)
    script.expect("generator_status", finished=1)
    script.clocks(300)
    if frames is None:
        script.forget_line()
    else:
        for number, (frame, wrong_fcs) in enumerate(frames):
            script.expect_frame(frame, silence if number else None, wrong_fcs)
        script.compare()
    script.expect_all("generator", **counts)


def generator():
    """Each setting of the generator shows in its frames; each count and flag has its own value."""
    script = Script()
    let_time_pass(script, clear=1)
    script.expect("clock_now", STAMP_NS)
    data = [payload_of(number, 54, stream=0x9B, flags=1, time_ns=STAMP_NS) for number in range(3)]
    frames = [addressed(around("udp4", [(0x8100, 0xB4C3)], datagram)) for datagram in data]
    frames = [(with_udp(frame, 18, 0x0A0B0C0D, 0xC0A81234, 0x4321, 0x8765), 0) for frame in frames]
    run_of(
        script,
        {"udp_mode": 1, "vlan_enable": 1, "time_valid": 1},
        payload_bytes=100,
        gap_cycles=200,
        frame_count=3,
        flow={"vlan_tci": 0xB4C3, "stream": 0x9B},
        destination=DESTINATION,
        source=SOURCE,
        ipv4_source=0x0A0B0C0D,
        ipv4_destination=0xC0A81234,
        udp_ports={"destination": 0x8765, "source": 0x4321},
    )
    script.expect("generator_status", busy=1)
    # The next frame begins gap_cycles + 8 after the last byte: the carrier still has 4 bytes of FCS, and the next 8 of
    # preamble.
    finish(script, frames, 200 + 8 - 12, sent_frames=3, sent_bytes=300, used_sequences=3, injected_faults=0)
    plain = [addressed(around("ethernet", [], payload_of(number, 62, stream=0x9B))) for number in range(10)]
    one_in_two = [(SPEC.inverted(frame, 163) if number % 2 else frame, 0) for number, frame in enumerate(plain[:4])]
    run_of(script, {"fault_kind": BIT_ERROR}, payload_bytes=80, gap_cycles=0, frame_count=4, fault_every=2, fault_position=163)
    finish(script, one_in_two, 12, sent_frames=4, sent_bytes=320, used_sequences=4, injected_faults=2)
    kept = [(frame, 0) for number, frame in enumerate(plain) if number % 3 != 2]
    run_of(script, {"fault_kind": DROP}, frame_count=10, fault_every=3)
    finish(script, kept, sent_frames=7, sent_bytes=560, used_sequences=10, injected_faults=3)
    run_of(script, {"fault_kind": TRUNCATED}, frame_count=2, fault_every=2, fault_cut=11)
    finish(script, [(plain[0], 0), (plain[1][:-11], 0)], sent_frames=2, sent_bytes=149, used_sequences=2, injected_faults=1)
    run_of(script, {"fault_kind": BAD_FCS}, frame_count=1, fault_every=1)
    finish(script, [(plain[0], 0xFFFFFFFF)], sent_frames=1, sent_bytes=80, used_sequences=1, injected_faults=1)
    # By clocks: twice in 20 frames of 118 clocks. Then once, by fault_once.
    run_of(script, {"fault_kind": BIT_ERROR}, frame_count=20, fault_every=0, fault_interval=1000)
    finish(script, sent_frames=20, injected_faults=2)
    run_of(script, {"fault_kind": BIT_ERROR}, frame_count=20, fault_interval=0)
    script.write("generator_control", enable=1, fault_kind=BIT_ERROR, fault_once=1)
    finish(script, sent_frames=20, injected_faults=1)
    run_of(script, payload_bytes=45)
    script.expect("generator_status", config_error=1)
    return script


def with_udp(frame, at, from_address, to_address, from_port, to_port):
    """A frame with these addresses in the IPv4 header at `at`, with its checksum, and these UDP ports without one."""
    head = frame[at : at + 10] + b"\0\0" + struct.pack(">II", from_address, to_address)
    head = head[:10] + struct.pack(">H", SPEC.checksum(head)) + head[12:]
    ports = struct.pack(">HH", from_port, to_port)
    return frame[:at] + head + ports + frame[at + 24 : at + 26] + b"\0\0" + frame[at + 28 :]


class Judged:
    """Sends frames to a checker, and counts them with the model."""

    def __init__(self, script, flow):
        self.script, self.checker = script, model.Checker(flow)

    def send(self, *frames, **line):
        """Frames with a right FCS."""
        for frame in frames:
            self.checker.take(frame)
            self.script.frame(frame, **line)

    def send_bad(self, frame, bad_fcs, damaged):
        """Sends frames that are not judged: `bad_fcs` with a wrong FCS, `damaged` with an error on the line."""
        for _ in range(bad_fcs):
            self.script.frame(frame, wrong_fcs=1)
        for _ in range(damaged):
            self.script.carrier(marked(frame))
        self.checker.count["bad_fcs"] += bad_fcs
        self.checker.count["damaged"] += damaged

    def expect(self, zeros=()):
        """Expects every count in its register. All values differ, except those that must be 0."""
        counts = dict(zip(model.COUNTS, self.checker.counts()))
        others = [count for name, count in counts.items() if name not in zeros]
        assert 0 not in others and len(set(others)) == len(others), f"{counts} do not tell each other apart"
        counts["next_sequence"] = counts.pop("next")
        self.script.clocks(100)
        self.script.expect_all("checker", overflow=0, **counts)


def checker():
    """Each setting of the checker distinguishes frames; each count and flag has its own value."""
    script, source = Script(), SOURCE.to_bytes(6)
    judged = Judged(script, model.Flow(source=source, udp_port=6001, stream=0x2D))

    def frame(number, content=None, from_address=SOURCE, stream=0x2D, length=28, flags=0):
        return addressed(around("ethernet", [], payload_of(number, length, content, stream=stream, flags=flags)), source=from_address)

    def udp(number, port, content=None, length=4):
        return addressed(around("udp4", [], payload_of(number, length, content, stream=0x2D), port=port))

    let_time_pass(script, clear=1)
    script.write("checker_flow", udp_port=6001, stream=0x2D)
    script.write("checker_source", SOURCE)
    script.write("checker_control", enable=1, clear=1, source_known=1, stream_known=1)
    script.expect("checker_status")
    script.until("checker_status", checking=1)
    judged.send(frame(0))
    let_time_pass(script)
    judged.send(*(frame(number) for number in range(1, 20)), udp(20, 6001))
    judged.send(*(frame(number, SPEC.lfsr(number + 5, 28)) for number in range(21, 24)))
    judged.send(*(frame(number, b"\x12" * 28) for number in range(24, 26)))
    judged.send(*(frame(number, length=60)[:60] for number in range(27, 29)))
    # Frames without the magic: six from the sender of the flow; two from others. One of another port, two of other streams.
    without_magic = SPEC.inverted(frame(29), 8 * 14)
    judged.send(*[without_magic] * 6, addressed(without_magic, source=SOURCE + 1), addressed(without_magic, source=SOURCE ^ 1 << 47))
    judged.send(udp(30, 5003), frame(30, stream=0x2C), frame(30, stream=0xAD))
    judged.send(*(frame(number) for number in range(7)))
    judged.send(frame(6060), *(frame(number) for number in range(6050, 6059)), *(frame(number) for number in range(100, 108)))
    judged.send(*(frame(number, flags=model.REPEATING) for number in range(6061, 6073)))
    judged.send_bad(frame(6072), 13, 14)
    script.expect("checker_status", checking=1, times=1)
    # The first words of these two frames are 42 bytes apart, and both are wrong.
    judged.send(udp(6074, 6001, bytes.fromhex("DEADBEEF")), silence=1)
    judged.send(frame(6075, bytes.fromhex("FEEDC0DE") + bytes(24)), preamble=0)
    judged.expect(zeros=["order_breaks"])
    script.expect("checker_status", checking=1, times=1, search_overrun=1)
    script.expect_all("checker", first_time=STAMP_NS, last_time=2 * STAMP_NS)
    script.write("checker_control", source_known=1, stream_known=1)
    script.frame(frame(6076))
    judged.expect(zeros=["order_breaks"])
    slots(script, frame)
    return script


def slots(script, frame):
    """The same for a flow that repeats, without conditions on sender and stream."""
    judged = Judged(script, model.Flow(source=None, stream=None, slots=6))
    script.write("checker_slots", 6)
    script.write("checker_control", enable=1, clear=1)
    script.until("checker_status", checking=1)
    script.expect("checker_status", checking=1)
    for slot in (0, 1, 3, 4, 2, 5):
        judged.send(frame(slot, flags=model.REPEATING))
    judged.send(frame(1, stream=0xEE), SPEC.inverted(frame(2), 8 * 14))
    judged.send(frame(2, bytes(28), flags=model.REPEATING))
    script.clocks(100)
    counts = dict(zip(model.COUNTS, judged.checker.counts()))
    assert counts["order_breaks"] > counts["mixed"] > 0 == counts["duplicated"]
    counts["next_sequence"] = counts.pop("next")
    script.expect_all("checker", **counts)


def high_words():
    """Counts of 48 bits in two words: the high word is from the time at which the low word was read. For the stand-ins."""
    script, payload = Script(), payload_of(0, 40)
    later_ns, later_bytes = LATE_NS + STAMP_NS, MANY_BYTES + 2 * len(payload)
    assert LATE_NS >> 32 != later_ns >> 32 and MANY_BYTES >> 32 != later_bytes >> 32

    def frame(number):
        script.frame(addressed(around("ethernet", [], payload_of(number, 40))))
        script.clocks(100)

    def clear():
        script.write("checker_control", enable=1, clear=1)
        script.until("checker_status", checking=1)

    def kept(name, value, happens, *what):
        """Reads the low word, changes the high word, and still reads its former value."""
        script.expect_word(name, 0, value & 0xFFFFFFFF)
        happens(*what)
        script.expect_word(name, 1, value >> 32)

    script.write("clock_step", 0)
    script.write("clock_control", clear=1)
    clear()
    script.expect_all("checker", verified_bytes=MANY_BYTES, first_time=0, last_time=0)
    frame(0)
    script.expect_all("checker", first_time=LATE_NS, last_time=LATE_NS)
    kept("clock_now", LATE_NS, let_time_pass, script)
    script.expect("clock_now", later_ns)
    kept("checker_last_time", LATE_NS, frame, 1)
    script.expect_all("checker", verified_bytes=later_bytes, first_time=LATE_NS, last_time=later_ns)
    kept("checker_verified_bytes", later_bytes, clear)
    script.expect_all("checker", verified_bytes=MANY_BYTES, first_time=0, last_time=0)
    frame(0)
    kept("checker_first_time", later_ns, clear)
    script.expect("checker_first_time", 0)
    return script
