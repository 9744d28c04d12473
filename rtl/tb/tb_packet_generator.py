"""The runs of tb_packet_generator, and the judge of their results: every byte, every clock, every count."""

from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

import frame_model as model
from frame_model import SPEC, around, payload_of

NONE, BIT_ERROR, DROP, DUPLICATE, SWAP, BAD_FCS, STALE, TRUNCATED = range(8)
LIKE_A_MAC, MAC_PAUSE = -1, 24
TEST_HEADER = 18
# Clocks from the first one with `enable` to the first one with a byte.
FIRST_BYTE = 21
# Clocks from the stamp to byte 14 of an untagged frame, if the receiver takes a byte a clock.
STAMP_DISTANCE = 3


@dataclass
class Run:
    """A run, in the order of the numbers in a line of the bench's file."""

    payload: int
    gap: int = 0
    count: int = 6
    udp: int = 0
    vlan: int = 0
    tci: int = 0x2064
    stream: int = 3
    time_valid: int = 1
    kind: int = NONE
    every: int = 0
    interval: int = 0
    position: int = 0
    cut: int = 0
    ready: int = 100
    stop: int = 0
    once: int = 0

    def allowed(self):
        """Whether the generator must accept the payload."""
        return (42 if self.vlan and not self.udp else 46) <= self.payload <= 9216

    def lfsr_bytes(self):
        """The LFSR part of a whole frame."""
        return self.payload - TEST_HEADER - (28 if self.udp else 0)

    def frame(self, number, stamp, fault):
        """The bytes of a frame with this stamp."""
        length, time = self.lfsr_bytes(), stamp if self.time_valid else 0
        content = SPEC.lfsr(number - 1 if fault == STALE else number, length)
        data = payload_of(number, length, content, stream=self.stream, flags=self.time_valid, time_ns=time)
        out = around("udp4" if self.udp else "ethernet", [(0x8100, self.tci)] if self.vlan else [], data)
        if fault == TRUNCATED:
            out = out[: len(out) - min(self.cut, length)]
        if fault == BIT_ERROR:
            out = SPEC.inverted(out, min(self.position // 8, len(out) - 1) * 8 + self.position % 8)
        return out

    def header_at(self):
        """The offset of the test header."""
        return 14 + 4 * self.vlan + 28 * self.udp


@dataclass
class Sent:
    """A frame that was sent."""

    first: int
    accepted: int
    byte_14: int
    last: int
    user: int
    bytes: bytes


class Walk:
    """Follows the frames of a run: the sequence of each, and the frames with a fault."""

    def __init__(self, run):
        self.run, self.number, self.decisions, self.faults, self.faulty = run, 0, 0, [], []

    def fits(self, sent, number, fault=NONE):
        """Whether a frame is that of this sequence with this fault; the stamp is that in the frame."""
        at = self.run.header_at() + 8
        stamp = int.from_bytes(sent.bytes[at : at + 6], "big")
        bad = fault == BAD_FCS
        if fault == BIT_ERROR and at <= self.run.position // 8 < at + 6:
            stamp ^= 1 << (47 - (self.run.position - 8 * at))
        return sent.user == bad and sent.bytes == self.run.frame(number, stamp, fault)

    def decide(self, fault, used=1):
        """Notes a decision of the planner."""
        self.decisions += 1
        if fault:
            self.faults.append(self.decisions)
        self.number += used

    def go(self, frames):
        """Take all frames; an AssertionError names the first unexplained one."""
        kind, place = self.run.kind, 0
        while place < len(frames):
            sent, more = frames[place], frames[place + 1 : place + 2]
            due = self.run.every and (self.decisions + 1) % self.run.every == 0
            if kind == DUPLICATE and self.fits(sent, self.number) and more and self.fits(more[0], self.number):
                self.mark(sent, 1)
                place += 2
            elif kind == SWAP and more and self.fits(sent, self.number + 1) and self.fits(more[0], self.number):
                self.mark(sent, 2)
                place += 2
            elif kind == DROP and (due or not self.fits(sent, self.number)):
                assert self.number < frames[-1].last, f"frame {place} fits no sequence"
                self.mark(sent, 1)
            elif self.fits(sent, self.number) and not (due and kind in (BIT_ERROR, BAD_FCS, STALE)):
                # A truncated frame without an LFSR part is whole.
                self.decide(due and kind == TRUNCATED)
                place += 1
            else:
                assert kind and self.fits(sent, self.number, kind), f"frame {place} is not that of {self.number}: {sent.bytes.hex()}"
                self.mark(sent, 1)
                place += 1
        return self

    def mark(self, sent, used):
        """Notes a fault in this frame, or before it."""
        self.faulty.append(sent.accepted)
        self.decide(True, used)


def judge(run, frames, results, count_bits=32, gap_ends=0):
    """Checks a run whose counts have so many bits; the gap after the run before ends at clock `gap_ends`."""
    began, done, refused, underrun, overflow, *counts = results
    assert refused == (not run.allowed()), f"config_error is {refused}"
    assert underrun == 0
    if refused:
        assert not frames and not done
        return
    if run.stop < 0:
        assert counts == [0, 0, 0, 0] and not done and not overflow, "the reset clears the counts"
        return
    walk = Walk(run).go(frames)
    # Sequences that were dropped at the end show only in the count.
    while run.kind == DROP and walk.number < (counts[2] if run.stop else run.count):
        walk.decide(True)
    seen_bytes = sum(len(sent.bytes) - 14 - 4 * run.vlan for sent in frames)
    seen, bits = [len(frames), seen_bytes, walk.number, len(walk.faults)], [count_bits, count_bits + 16, count_bits, count_bits]
    assert counts == [count % 2**bit for count, bit in zip(seen, bits)], f"{counts} were shown of {seen}, faults {walk.faults}"
    assert overflow == any(count >= 2**bit for count, bit in zip(seen, bits)), f"overflow is {overflow}"
    assert done == (run.stop == 0) and (run.stop or walk.number == run.count)
    if run.every:
        # A swap waits for a frame with a partner, and there is none at the end.
        last = [walk.decisions] if run.kind == SWAP else []
        due = [n for n in range(run.every, walk.decisions + 1, run.every) if n not in last or n in walk.faults]
        assert walk.faults == due, f"faults at {walk.faults}, due at {due}"
    if run.once:
        alone = run.kind == SWAP and run.count == 1
        assert len(walk.faults) == 1 - alone, f"one fault was asked for, {walk.faults} came"
    if run.interval:
        assert len(walk.faulty) >= 3
        for one, other in pairwise(walk.faulty):
            assert abs(other - one - run.interval) <= 2 * (run.payload + 60), f"faults at clocks {walk.faulty}"
    judge_clocks(run, frames)
    if frames and run.kind != DROP:
        due = max(began + FIRST_BYTE, gap_ends)
        assert frames[0].first == due, f"the first byte came {frames[0].first - began} clocks after enable"


def judge_clocks(run, frames):
    """The gap is exact for any receiver; the stamp is at a constant distance to the wire."""
    for one, other in pairwise(frames):
        if run.ready == LIKE_A_MAC:
            assert other.last - one.last == len(other.bytes) + max(MAC_PAUSE, run.gap), "clocks from frame to frame"
        else:
            assert other.first - one.last == run.gap + 1, f"a gap of {other.first - one.last - 1} for {run.gap}"
        if run.ready == 100:
            assert other.last - other.first == len(other.bytes) - 1, "one byte a clock"
    at = run.header_at() + 8
    distances = set()
    for sent in frames:
        stamp = int.from_bytes(sent.bytes[at : at + 6], "big")
        damaged = run.kind == BIT_ERROR and at <= run.position // 8 < at + 6
        if run.time_valid and not damaged:
            distances.add(sent.byte_14 - stamp)
    if run.ready in (100, LIKE_A_MAC) and not run.udp and not run.vlan:
        assert distances <= {STAMP_DISTANCE}, f"stamps {distances} clocks before byte 14"


def parse(path, runs):
    """The frames and the results of each run."""
    results = [[int(word) for word in line.split()] for line in Path(f"{path}.results").read_text().splitlines()]
    frames = [[]]
    for line in path.read_text().splitlines():
        if line:
            *numbers, octets = line.split()
            frames[-1].append(Sent(*map(int, numbers), bytes.fromhex(octets)))
        else:
            frames.append([])
    assert frames.pop() == [], "a frame after the last run"
    assert len(results) == len(frames) == len(runs), f"{len(runs)} runs, {len(results)} results, {len(frames)} ends"
    return zip(runs, frames, results)


def framing_runs():
    """Every framing in every size that matters, with a receiver of every kind."""
    readies = [100, LIKE_A_MAC, 30, 85]
    gaps = [0, 1, 2, 3, 24, 60]
    number = 0
    for udp in (0, 1):
        for vlan in (0, 1):
            for payload in (46, 47, 48, 49, 50, 51, 66, 438):
                number += 1
                ready, gap = readies[number % 4], gaps[number % 6]
                yield Run(payload, gap, 4, udp, vlan, 0x2064 + number, number % 256, number % 3 > 0, ready=ready)
    yield Run(42, vlan=1)
    yield Run(1500, count=3, ready=LIKE_A_MAC)
    yield Run(8982, count=2)
    yield Run(9216, count=1, udp=1)
    for payload, vlan, udp in [(45, 0, 0), (41, 1, 0), (45, 1, 1), (9217, 0, 0), (0, 0, 0), (16383, 0, 0)]:
        yield Run(payload, vlan=vlan, udp=udp)


def fault_runs():
    """Every fault: in each frame, in every third, once, by clocks, and without a frame that can have it."""
    for kind in range(BIT_ERROR, TRUNCATED + 1):
        for every in (1, 3):
            if (kind, every) != (DROP, 1):
                yield Run(66, 0, 10, kind=kind, every=every, position=333, cut=5)
        yield Run(60, 5, 9, udp=1, vlan=1, kind=kind, once=250, position=700, cut=3, ready=70)
        yield Run(46, 0, 60, kind=kind, interval=700, position=8 * 45 + 3, cut=1, ready=LIKE_A_MAC)
    # Intervals shorter than a frame: each frame has its fault.
    for interval in (1, 2, 3):
        yield Run(46, 0, 12, kind=BIT_ERROR, interval=interval, position=8 * 45 + 3, ready=LIKE_A_MAC)
    for position in (0, 7, 8 * 12, 8 * 14 + 3, 8 * 22, 8 * 31, 8 * 32, 8 * 63 + 7, 8 * 64, 2**17 - 1):
        yield Run(50, 0, 3, kind=BIT_ERROR, every=2, position=position)
    for cut in (1, 28, 29, 5000):
        yield Run(46, 0, 3, kind=TRUNCATED, every=2, cut=cut)
    yield Run(46, 0, 3, udp=1, kind=TRUNCATED, every=1, cut=1)
    # The last sequence has no partner.
    yield Run(46, 0, 5, kind=SWAP, every=1)
    yield Run(46, 0, 1, kind=SWAP, once=3)
    yield Run(46, 0, 40, kind=DROP, every=1)


def stop_runs():
    """`enable` falls at any time: the frame, or the pair, is finished. A reset cuts it off."""
    for clocks in (1, 5, 17, 18, 30, 80, 140, 141, 142, 143, 200):
        yield Run(46, clocks % 7, 0, stop=clocks)
        yield Run(46, 0, 0, kind=SWAP, every=1, stop=clocks, ready=80)
        yield Run(46, 0, 0, kind=DUPLICATE, every=1, stop=clocks)
        yield Run(46, 0, 3, stop=-clocks)
        yield Run(46, 0, 2)
    yield Run(46, 0, 0, kind=DROP, every=1, stop=300)


def overflow_runs():
    """Counts of three bits: one overflows alone, several overflow, none does; the next run begins at 0 again."""
    for count in (7, 8, 9, 1, 17, 7):
        yield Run(46, count=count)
    # Overflows of sequences only; of faults and sequences; of frames sent twice.
    yield Run(46, count=9, kind=DROP, every=3)
    yield Run(46, count=7, kind=BIT_ERROR, every=1, position=333)
    yield Run(46, count=8, kind=BIT_ERROR, every=1, position=333)
    yield Run(46, count=4, kind=DUPLICATE, every=1)
    yield Run(46, count=3, kind=DUPLICATE, every=1)
    # The flag stays during a run, and a reset clears it.
    yield Run(46, count=0, stop=1500)
    yield Run(46, count=0, stop=-1500)
    yield Run(46, count=2)


def byte_overflow_runs():
    """The 17-bit count of bytes and the 1-bit count of frames overflow; with one frame, none does."""
    yield Run(9216, count=15)
    yield Run(9216, count=1)


def configure(bench, folder, seed):
    """Give the test its runs, and judge them afterwards; the seed changes only the receiver's pauses."""

    def add(name, runs, count_bits=32):
        name = f"{name}_seed_{seed}"
        path, frames = folder / f"packet_generator_{name}.txt", folder / f"packet_generator_{name}_frames.txt"

        def write(output_path):
            path.write_text("".join(" ".join(str(int(word)) for word in astuple(run)) + "\n" for run in runs))
            return True

        def check(output_path):
            gap_ends = 0
            for number, (run, sent, results) in enumerate(parse(frames, runs)):
                try:
                    judge(run, sent, results, count_bits, gap_ends)
                except AssertionError as error:
                    print(f"run {number}, {run}: {error}")
                    return False
                gap_ends = sent[-1].last + 1 + run.gap if sent and run.stop >= 0 else 0
            return True

        generics = {"seed": seed, "runs_file": str(path), "frames_file": str(frames), "count_bits": count_bits}
        bench.test("frames").add_config(name, generics=generics, pre_config=write, post_check=check)

    add("framing", list(framing_runs()))
    add("faults", list(fault_runs()))
    add("stops", list(stop_runs()))
    add("overflows", list(overflow_runs()), count_bits=3)
    add("overflow_of_bytes", list(byte_overflow_runs()), count_bits=1)
    # Once through the 4,096 start words.
    add("all_start_words", [Run(46, count=4100, time_valid=0, ready=LIKE_A_MAC)])
