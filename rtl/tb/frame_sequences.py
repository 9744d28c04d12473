#!/usr/bin/env python3
"""Long random sequences of test frames, good ones and every kind of damage: `frame_sequences.py SEED FRAMES WINDOW SLOTS`.

SLOTS is 0 for a flow that does not repeat. Prints a line a frame, `verdict sequence frame` (the sequence is `-` if there is
none), and a last line `counts …`, to compare the Rust checker with. The benches import `sequence`.
"""

import random
import struct
import sys

import frame_model as model
from frame_model import SPEC, around, payload_of

TAGGINGS = [[], [], [], [(0x8100, 5)], [(0x88A8, 0x2064), (0x8100, 7)], [(0x8100, 1), (0x8100, 2)], [(0x8100, 1), (0x88A8, 2)]]


class Sender:
    """Chooses sequences: mostly the next; some are lost, repeated, late, too late, or around 2^32."""

    def __init__(self, rng, window):
        self.rng, self.window = rng, window
        self.next, self.missing, self.recent = 0, [], [0]
        self.must_arrive = False

    def skip(self, count):
        """Leave out some sequences; a few of them come later."""
        self.missing += [self.next + i for i in sorted(self.rng.sample(range(count), min(count, 6)))]
        self.missing = self.missing[-400:]
        self.next += count

    def number(self):
        """The sequence of the next frame (not wrapped). The frame after a long jump must arrive, or the next would be late."""
        self.must_arrive = False
        rng, choice = self.rng, self.rng.random()
        if choice < 0.08:
            return max(0, rng.choice(self.recent[-200:]))
        if choice < 0.16 and self.missing:
            return self.missing.pop(rng.randrange(len(self.missing)))
        if choice < 0.20:
            # At the edges of the window, and before the beginning.
            return self.next - rng.choice([1, 15, 16, 17, self.window - 1, self.window, self.window + 1, 2 * self.window, 2**31])
        if choice < 0.24:
            self.skip(rng.choice([1, 1, 1, 2, 3, 15, 16, 40, 1000, self.window - 1, self.window, self.window + 1, 20000]))
        elif choice < 0.246:
            # In jumps of a quarter to shortly before 2^32, and past it.
            self.skip(min(2**30, (2**32 - 20 - self.next) % 2**32))
            self.must_arrive = True
            # A sequence from before two such jumps would be read as two jumps ahead.
            self.missing, self.recent = [], [self.next]
        self.next += 1
        self.recent = [*self.recent[-4999:], self.next - 1]
        return self.next - 1


class SlotSender:
    """Chooses slots of a flow that repeats: mostly the next; some are skipped, repeated, earlier, or outside of the flow."""

    must_arrive = False

    def __init__(self, rng, slots):
        self.rng, self.slots, self.next = rng, slots, rng.randrange(slots)

    def number(self):
        """The slot of the next frame."""
        choice, slot = self.rng.random(), self.next
        if choice < 0.03:
            return self.rng.choice([self.slots, self.slots + 1, self.slots + 4096, 2**13 + slot, 2**31, 2**32 - 1])
        if choice < 0.06:
            slot = (slot - 1) % self.slots
        elif choice < 0.12:
            slot = self.rng.choice([0, self.slots - 1, self.rng.randrange(self.slots), (slot + 1) % self.slots])
        self.next = (slot + 1) % self.slots
        return slot


def inverted(data, bit):
    """The data with one wrong bit."""
    return SPEC.inverted(data, bit)


def other_content(rng, number, length):
    """Content other than that of `number`: of a neighbour or any other sequence, or of none."""
    right = SPEC.lfsr(number % 2**32, length)
    choice = rng.random()
    if choice < 0.35:
        return SPEC.lfsr((number + rng.choice([-1, 1, -2, 64, -64, 2048, -4095])) % 2**32, length)
    if choice < 0.55:
        return SPEC.lfsr(rng.randrange(4096), length)
    if choice < 0.65 and length > 4:
        # Content of another sequence, except for one bit after its first word.
        return inverted(SPEC.lfsr(rng.randrange(4096), length), rng.randrange(32, 8 * length))
    if choice < 0.70 and length > 8:
        # Consistent, but not from one of the 4,096 start words.
        return SPEC.STREAM[4 * 4096 :][:length]
    if choice < 0.75:
        return bytes(length)
    return inverted(right, rng.choice([0, 7, 31, 32, 8 * length - 1, rng.randrange(8 * length)]) % (8 * length))


def damaged(rng, kind, tags, number, length, fields):
    """A damaged frame of the flow, which may no longer belong to it."""
    data = payload_of(number, length, **fields)
    choice = rng.randrange(14)
    if choice < 5 and length > 0:
        return around(kind, tags, payload_of(number, length, other_content(rng, number, length), **fields))
    if choice == 5:
        return around(kind, tags, inverted(data, rng.randrange(144)))
    if choice == 6:
        cut = rng.choice([1, 2, 4, rng.randrange(length + 18)])
        return around(kind, tags, data[: max(len(data) - cut, 0)])
    if choice == 7:
        frame = around(kind, tags, data)
        return frame[: rng.randrange(1, len(frame))]
    if choice == 8:
        return around(kind, tags, data[: rng.randrange(18)] + bytes(rng.randrange(3)))
    return foreign(rng, choice, kind, tags, number, length, fields)


def foreign(rng, choice, kind, tags, number, length, fields):
    """A frame of another program, or one that looks like it."""
    data = payload_of(number, length, **fields)
    frame = bytearray(around(kind, tags, data))
    at = 14 + 4 * len(tags)
    if choice == 9:
        return around(kind, tags, payload_of(number, length, **(fields | {"stream": rng.randrange(256)})))
    if choice == 10:
        # Another version, with a right checksum.
        head = bytearray(data[:16])
        head[2] = rng.choice([0x01, 0x21, 0xF1])
        return around(kind, tags, bytes(head) + struct.pack(">H", SPEC.checksum(bytes(head))) + data[18:])
    if choice == 11:
        return around(kind, tags, inverted(data, rng.randrange(16)), source=rng.choice([model.SOURCE, bytes.fromhex("02574c000009")]))
    if choice == 12:
        return around(kind, [*tags, (0x8100, 3)] if len(tags) == 2 else tags, data, port=rng.choice([5004, 5002, 5003 ^ 0x100]))
    # A bit anywhere before the test header: addresses, EtherType, fragment, protocol, lengths.
    bit = rng.randrange(8 * at + {"ethernet": 0, "udp4": 224, "udp6": 384}[kind])
    return inverted(bytes(frame), bit)


def one(rng, number, flow, longest, good):
    """A frame of the given sequence, in any framing, in any state."""
    kind, tags = rng.choice(["ethernet", "ethernet", "udp4", "udp6"]), rng.choice(TAGGINGS)
    length = rng.choice([0, 1, 3, 4, 5, 7, 8, 28, 28, 30, 46, 60, rng.randrange(120), rng.randrange(longest)])
    stream = rng.randrange(256) if flow.stream is None else flow.stream
    flags = rng.randrange(16)
    if flow.slots is not None and rng.random() < 0.9:
        flags |= model.REPEATING
    fields = {"stream": stream, "flags": flags, "time_ns": rng.randrange(2**48)}
    if not good and rng.random() < 0.35:
        return damaged(rng, kind, tags, number % 2**32, length, fields)
    options = bytes(4 * rng.choice([0, 0, 0, 1, 10])) if kind == "udp4" else b""
    frame = around(kind, tags, payload_of(number, length, **fields), options)
    return frame + rng.randbytes(rng.choice([0, 0, max(0, 60 - len(frame)), rng.randrange(40)]))


def with_first(frame, first):
    """An IPv4 frame with another version or header length."""
    return frame[:14] + bytes([first]) + frame[15:]


def special(flow):
    """Frames that random choices would not give."""
    stream = flow.stream or 0
    # Sequences before the first, while the window reaches back over it.
    for number in (3, -1, -2000, -4092, -4093, 1, 2**31 + 3, 2**31 + 4, 0, 0):
        yield around("ethernet", [], payload_of(number, 28, stream=stream))
    # The checksum for a sum of 0xFFFF is 0; 0xFFFF has the same sum, but is wrong.
    head = bytearray(SPEC.header(stream=stream, lfsr_len=28))
    short = SPEC.ones_complement_sum(bytes(head[:16]))
    head[8:10] = struct.pack(">H", 0xFFFF - short)
    for checksum in (b"\0\0", b"\xff\xff"):
        yield around("ethernet", [], bytes(head[:16]) + checksum + SPEC.lfsr(0, 28))
    yield around("ethernet", [], payload_of(1, 9198, stream=stream))
    yield around("ethernet", [], payload_of(2, 9199, SPEC.STREAM[8 : 8 + 9199], stream=stream))
    yield around("ethernet", [], payload_of(3, 65535, b"", stream=stream))
    yield around("ethernet", [], payload_of(4095, 4, SPEC.lfsr(0, 4), stream=stream))
    yield around("ethernet", [], payload_of(0, 4, SPEC.lfsr(4095, 4), stream=stream))
    yield around("udp4", [], payload_of(4, 28, stream=stream))[:-1]
    for length in (0, 7, 8, 25, 26, 53, 54, 55, 65535):
        frame = bytearray(around("udp4", [], payload_of(4, 28, stream=stream)))
        frame[38:40] = struct.pack(">H", length)
        yield bytes(frame)
    frame = around("udp4", [], payload_of(4, 28, stream=stream))
    for first in (0x46, 0x40, 0x55):
        yield with_first(frame, first)
    # Four words of IPv4 header are too few, even if UDP follows them.
    yield with_first(frame[:30] + frame[34:], 0x44)
    yield around("ethernet", [(0x8100, 1)] * 3, payload_of(4, 28, stream=stream))
    yield model.DESTINATION[:1]


def sequence(rng, frames, flow, window=4096, longest=300):
    """The frames of a run."""
    sender = Sender(rng, window) if flow.slots is None else SlotSender(rng, flow.slots)
    yield from special(flow)
    for _ in range(frames):
        number = sender.number()
        yield one(rng, number, flow, longest, sender.must_arrive)


def main():
    """Entry point."""
    seed, frames, window, slots = map(int, sys.argv[1:])
    rng = random.Random(seed)
    flow = model.Flow(stream=3 if seed % 2 else None, source=None if seed % 3 == 0 else model.SOURCE, slots=slots or None)
    checker = model.Checker(flow, window)
    print("flow", "-" if flow.source is None else flow.source.hex(), "-" if flow.stream is None else flow.stream)
    for frame in sequence(rng, frames, flow, checker.window):
        verdict, number, _ = checker.take(frame)
        print(model.OF_VERDICT[verdict], "-" if number is None else number, frame.hex())
    print("counts", *(f"{name}={value}" for name, value in zip(model.COUNTS, checker.counts())))


if __name__ == "__main__":
    main()
