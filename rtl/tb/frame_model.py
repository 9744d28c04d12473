"""Test frames for the benches of generator and checker: builds them, and judges and tracks them as spec/test-frame.md says.

The bytes of the frames come from spec/vectors/generate.py, which shares nothing with the tested implementations; the
judgement is written again from the specification. crates/trial/tests/hardware_frames.rs compares both with Rust.
"""

import importlib.util
import struct
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]


def vectors_module():
    """spec/vectors/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", TREE / "spec/vectors/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SPEC = vectors_module()
FOREIGN, HEADER_CORRUPT, TRUNCATED, STALE, CORRUPTED, GOOD = range(6)
COUNTS = [
    "good", "header_corrupt", "truncated", "stale", "corrupted", "foreign", "distinct", "duplicated", "reordered",
    "too_late", "bad_fcs", "damaged", "lost", "next", "verified_bytes", "order_breaks", "mixed",
]  # fmt: skip
# The counts with an overflow bit, in the order of the bits.
OVERFLOWS = [*COUNTS[:13], "verified_bytes", "order_breaks", "mixed"]
REPEATING = 4
OF_VERDICT = ["foreign", "header_corrupt", "truncated", "stale", "corrupted", "good"]
DESTINATION, SOURCE = SPEC.ADDRESSES
MAX_LFSR = 9198
START = {SPEC.lfsr(number, 4): number for number in range(4096)}
TAGS = (0x8100, 0x88A8)


@dataclass
class Flow:
    """The flow as the checker knows it."""

    source: bytes | None = SOURCE
    udp_port: int = 5003
    stream: int | None = None
    # The number of slots, if the flow repeats.
    slots: int | None = None


def half(frame, at):
    """A big-endian 16-bit field, or None after the end of the frame."""
    return int.from_bytes(frame[at : at + 2], "big") if at + 2 <= len(frame) else None


def locate(frame, flow):
    """Offsets of the test header, of the end of its data, and of the payload; None for other frames."""
    at = 12
    for _ in range(2):
        if half(frame, at) in TAGS:
            at += 4
    kind, payload = half(frame, at), at + 2
    at = payload
    if kind == 0x88B5:
        return at, len(frame), payload
    if kind == 0x0800 and len(frame) >= at + 10:
        words = frame[at] & 15
        if frame[at] >> 4 != 4 or words < 5 or half(frame, at + 6) & 0x3FFF or frame[at + 9] != 17:
            return None
        at += 4 * words
    elif kind == 0x86DD and len(frame) >= at + 7:
        if frame[at] >> 4 != 6 or frame[at + 6] != 17:
            return None
        at += 40
    else:
        return None
    if len(frame) < at + 8 or half(frame, at + 2) != flow.udp_port or half(frame, at + 4) < 8:
        return None
    return at + 8, min(len(frame), at + half(frame, at + 4)), payload


def judge(frame, flow):
    """Verdict, sequence and start word of a frame; the last two may be None."""
    place = locate(frame, flow)
    if place is None:
        return FOREIGN, None, None
    data = frame[place[0] : place[1]]
    if len(data) < 18 or data[:2] != b"WL":
        ours = flow.source is not None and frame[6:12] == flow.source
        return (HEADER_CORRUPT if ours else FOREIGN), None, None
    if SPEC.checksum(data[:16]) != half(data, 16):
        return HEADER_CORRUPT, None, None
    if data[2] >> 4 != 1 or flow.stream not in (None, data[3]):
        return FOREIGN, None, None
    number, length = struct.unpack(">I", data[4:8])[0], half(data, 14)
    content = data[18 : 18 + length]
    if len(content) < length:
        return TRUNCATED, number, None
    if length > MAX_LFSR:
        return CORRUPTED, number, None
    if content == SPEC.lfsr(number, length):
        return GOOD, number, None
    start = START.get(content[:4]) if length >= 4 else None
    if start is not None and content == SPEC.lfsr(start, length):
        return STALE, number, start
    return CORRUPTED, number, None


class Checker:
    """The counts of a packet_checker; the window is 4,096 in hardware."""

    def __init__(self, flow, window=4096):
        self.flow, self.window = flow, window
        self.forget()

    def forget(self):
        """Begin again."""
        self.count = dict.fromkeys(COUNTS, 0)
        self.next, self.seen = 0, set()
        self.lost_ran_over = False
        self.last_slot = None

    def take(self, frame):
        """Judge and count a frame; returns the result of `judge`."""
        verdict, number, start = judge(frame, self.flow)
        self.count[OF_VERDICT[verdict]] += 1
        if verdict == GOOD:
            self.count["verified_bytes"] += len(frame) - locate(frame, self.flow)[2]
        if number is not None:
            at = locate(frame, self.flow)[0]
            self.count["mixed"] += bool(frame[at + 2] & REPEATING) != (self.flow.slots is not None)
            self.track(number) if self.flow.slots is None else self.follow(number, self.flow.slots)
        return verdict, number, start

    def track(self, number):
        """Distinguish new, duplicated, reordered and too late sequences."""
        ahead = (number - self.next + 2**31) % 2**32 - 2**31
        at = self.next + ahead
        if ahead < 0 and (at < 0 or -ahead > self.window):
            self.count["too_late"] += 1
        elif at in self.seen:
            self.count["duplicated"] += 1
        else:
            self.count["distinct"] += 1
            self.count["reordered"] += ahead < 0
            self.seen.add(at)
            self.next = max(self.next, at + 1)
        self.lost_ran_over |= self.next - self.count["distinct"] >= 2**32
        if len(self.seen) > 3 * self.window:
            self.seen = {one for one in self.seen if one >= self.next - self.window}

    def follow(self, slot, slots):
        """Count a slot that does not follow the one before."""
        self.count["distinct"] += 1
        if slot >= slots:
            self.count["order_breaks"] += 1
            return
        self.count["order_breaks"] += self.last_slot is not None and slot != (self.last_slot + 1) % slots
        self.last_slot, self.next = slot, (slot + 1) % slots

    def counts(self):
        """All counts in the order of COUNTS; an overflowed count wraps."""
        lost = self.next - self.count["distinct"] if self.flow.slots is None else 0
        wrapped = self.count | {"lost": lost % 2**32, "next": self.next % 2**32}
        return [wrapped[name] for name in COUNTS]

    def overflow(self, count_bits=32):
        """A bit for each count that overflowed, if counts have so many bits and the bytes 16 more."""
        over = {name: value >= 2**count_bits for name, value in self.count.items()}
        over |= {"lost": self.lost_ran_over, "verified_bytes": self.count["verified_bytes"] >= 2 ** (count_bits + 16)}
        return sum(over[name] << bit for bit, name in enumerate(OVERFLOWS))


def around(kind, tags, data, options=b"", port=5003, source=SOURCE):
    """Ethernet header, tags, and for "udp4" or "udp6" IP and UDP around a test header and its content."""
    out = DESTINATION + source
    for tpid, tci in tags:
        out += struct.pack(">HH", tpid, tci)
    udp = struct.pack(">HHHH", 5003, port, 8 + len(data), 0) + data
    if kind == "ethernet":
        return out + b"\x88\xb5" + data
    if kind == "udp4":
        head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(udp), 0, 0x4000, 64, 17, 0)
        head += bytes([198, 18, 0, 1, 198, 18, 0, 2]) + options
        return out + b"\x08\x00" + head[:10] + struct.pack(">H", SPEC.checksum(head)) + head[12:] + udp
    addresses = bytes.fromhex("fd57004c0000000000000000000000010000fd57004c00000000000000000002")
    return out + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + addresses[:32] + udp


def payload_of(number, length, content=None, **fields):
    """A test header with its content, by default the correct one."""
    header = SPEC.header(sequence=number % 2**32, lfsr_len=length, **fields)
    return header + (SPEC.lfsr(number % 2**32, min(length, MAX_LFSR)) if content is None else content)
