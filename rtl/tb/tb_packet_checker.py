"""The frames of tb_packet_checker: random sequences of every kind of frame, with the verdicts and counts of the model."""

import random

import frame_model as model
import frame_sequences as sequences
from frame_model import around, payload_of

NOTHING, CLEARED, RESET, NOT_ENABLED, DISABLED, OTHER_FLOW, OTHER_SLOTS = range(7)
NO_VERDICT, ANY_VERDICT = (-1, None, None), (-2, None, None)
OTHER_SOURCE = bytes.fromhex("02574c000009")
# A frame of at least 60 bytes, its FCS, gap and preamble.
LINE_SPACING = 84
# FCS, gap and preamble; and a gap after which a search is over when the next begins, at byte 36 of a frame at the earliest.
LEAST_GAP, GAP_OF_A_SEARCH = 24, 33


def frame_line(frame, found, gap=0, percent=0, incident=NOTHING, user=0, bad_fcs=0, at=None, word_end=0):
    """A line of the bench's file; `found` is the model's verdict, or None if the frame must get none."""
    verdict, number, start = found or NO_VERDICT
    if verdict == model.STALE:
        # Searched from the end: start word 0 looks like a broadcast address, or like the sequence before it.
        word_end = frame.rindex(model.SPEC.lfsr(start, 4)) + 4
    words = [gap, percent, incident, len(frame) // 2 if at is None else at, user, bad_fcs]
    words += [verdict, f"{number or 0:08X}", f"{start or 0:03X}", word_end, len(frame), frame.hex()]
    return " ".join(map(str, words))


def count_line(checker, count_bits=32):
    """The line of the counts so far, wrapped to so many bits, and of their overflow bits."""
    bits = dict.fromkeys(model.COUNTS, count_bits) | {"lost": 32, "next": 32, "verified_bytes": count_bits + 16}
    cut = [count % 2 ** bits[name] for name, count in zip(model.COUNTS, checker.counts())]
    return " ".join(["-1", *(f"{count:012X}" for count in cut), f"{checker.overflow(count_bits):04X}"])


def least_behind(found):
    """The least gap after a frame with this verdict of the model."""
    return GAP_OF_A_SEARCH if found[0] in (model.STALE, model.CORRUPTED) else LEAST_GAP


def random_lines(seed, frames, flow, longest=300, count_bits=32):
    """Frames of every kind, as close as on a line; some with errors, and resets in the middle of some."""
    rng, checker, length, least = random.Random(seed), model.Checker(flow), LINE_SPACING, LEAST_GAP
    for number, frame in enumerate(sequences.sequence(rng, frames, flow, longest=longest)):
        # As far apart as frames of 60 bytes, both from beginning to beginning and from end to end, though many are shorter
        # here.
        gap = max(least, LINE_SPACING - min(length, len(frame))) + (rng.randrange(200) if rng.random() < 0.1 else 0)
        length, least = len(frame), LEAST_GAP
        percent = rng.choice([0, 0, 0, 20, 90 if length < 100 else 0])
        chance = rng.random()
        if chance < 0.04 or count_bits < 32 and chance < 0.16:
            bad_fcs = rng.randrange(2)
            checker.count["bad_fcs" if bad_fcs else "damaged"] += 1
            yield frame_line(frame, None, gap, percent, user=1, bad_fcs=bad_fcs)
        elif chance < 0.05 and length > 2:
            yield frame_line(frame, None, gap, percent, NOT_ENABLED)
        elif chance < 0.06 and length > 2:
            found = checker.take(frame)
            least = least_behind(found)
            yield frame_line(frame, found, gap, percent, DISABLED)
        elif chance < 0.066 and length > 2 and count_bits == 32:
            yield count_line(checker, count_bits)
            yield frame_line(frame, None, gap, percent, rng.choice([CLEARED, RESET]))
            checker.forget()
        else:
            found = checker.take(frame)
            least = least_behind(found)
            yield frame_line(frame, found, gap, percent)
        if number % 200 == 199 or count_bits < 32:
            yield count_line(checker, count_bits)
    yield count_line(checker, count_bits)


def many_bytes_lines(flow, count_bits):
    """Good frames of 9,000 bytes until the count of bytes has overflowed."""
    checker, number = model.Checker(flow), 0
    while checker.overflow(count_bits) < 1 << 13:
        frame = around("ethernet", [], payload_of(number, 9000 - 18))
        yield frame_line(frame, checker.take(frame), gap=24)
        yield count_line(checker, count_bits)
        number += 1


def jump_lines(flow):
    """Six sequences that are 2^30 apart, all of which arrive: with the last, more than 2^32 are missing."""
    checker = model.Checker(flow)
    for number in range(6):
        frame = around("ethernet", [], payload_of(number * 2**30, 28))
        yield frame_line(frame, checker.take(frame), gap=LINE_SPACING)
        assert checker.lost_ran_over == (number == 5)
        yield count_line(checker)


def bits_of(*names):
    """The overflow bits of these counts."""
    return sum(1 << model.OVERFLOWS.index(name) for name in names)


def close_lines(seed, flow):
    """Smallest frames, each directly after the one before: in order, lost, duplicated, late, corrupted, cut."""
    rng, checker, number = random.Random(f"close {seed}"), model.Checker(flow), 0
    for _ in range(800):
        number += rng.choice([1, 1, 1, 1, 2, 0, -1, 30])
        data = payload_of(max(number, 0), 28)
        bit = rng.choice([None, None, 176, 300, 367, 20])
        frame = around("ethernet", [], data if bit is None else sequences.inverted(data, bit))[: rng.choice([60, 60, 60, 50])]
        yield frame_line(frame, checker.take(frame))
    yield count_line(checker)


def other_flow_lines():
    """The settings change to another flow at each byte of a frame: the next frame is judged by the new flow."""
    flows, number = [model.Flow(stream=3), model.Flow(source=OTHER_SOURCE, udp_port=5004, stream=5)], 0

    def of(flow, kind, bit=None):
        data = payload_of(number, 28, stream=flow.stream)
        return around(kind, [], data if bit is None else sequences.inverted(data, bit), port=flow.udp_port, source=flow.source)

    for kind in ("ethernet", "udp4"):
        for at in range(1, len(of(flows[0], kind)) + 1):
            yield frame_line(of(flows[0], kind), ANY_VERDICT, gap=LEAST_GAP, incident=OTHER_FLOW, at=at)
            flows.reverse()
            # A frame of the new flow; one of its sender with a damaged magic; one of the former flow.
            for frame, wanted in [(of(flows[0], kind), model.GOOD), (of(flows[0], kind, 0), model.HEADER_CORRUPT), (of(flows[1], kind), model.FOREIGN)]:
                found = model.judge(frame, flows[0])
                assert found[0] == wanted
                yield frame_line(frame, found, gap=LEAST_GAP)
            number += 1
    # How the frames in between are counted is not specified: the counts are compared after a clear.
    checker = model.Checker(flows[0])
    yield frame_line(of(flows[0], "ethernet"), None, incident=CLEARED)
    yield frame_line(of(flows[0], "udp4"), checker.take(of(flows[0], "udp4")))
    yield count_line(checker)


def other_slots_lines(flow):
    """The number of slots becomes wrong within a frame, and is corrected with a clear: later frames are counted right."""
    checker = model.Checker(flow)
    frames = [around("ethernet", [], payload_of(slot % flow.slots, 28, flags=model.REPEATING)) for slot in (3, 4, 5, 5)]
    for at in range(1, len(frames[0]) + 1, 3):
        yield frame_line(frames[0], ANY_VERDICT, gap=LEAST_GAP, incident=OTHER_SLOTS, at=at)
        checker.forget()
        for frame in frames:
            yield frame_line(frame, checker.take(frame), gap=LEAST_GAP)
        yield count_line(checker)


def search_lines(flow):
    """Stale frames found after every number of small steps, and one with content of no sequence."""
    checker = model.Checker(flow)
    frame = around("ethernet", [], payload_of(0, 28, model.SPEC.STREAM[4 * 4096 :][:28]))
    found = checker.take(frame)
    assert found[0] == model.CORRUPTED
    yield frame_line(frame, found, gap=LINE_SPACING, word_end=14 + 18 + 4)
    for number in range(80):
        frame = around("ethernet", [], payload_of(number + 1, 28, model.SPEC.lfsr(number + 1000, 28)))
        yield frame_line(frame, checker.take(frame), gap=LINE_SPACING)
    yield count_line(checker)


def overrun_lines(flow):
    """Two stale frames of 36 bytes in a row, which a line cannot carry: the search for the first is cut short."""
    checker = model.Checker(flow)
    for number in (0, 1, 2):
        frame = around("ethernet", [], payload_of(number, 4, model.SPEC.lfsr(9, 4)))
        found = checker.take(frame)
        if number < 2:
            checker.count["stale"] -= 1
            checker.count["corrupted"] += 1
            found = (model.CORRUPTED, *found[1:])
        yield frame_line(frame, found)
    yield count_line(checker)


def configure(bench, folder, seed):
    """Give each test one or more files; another seed makes other frames."""
    taken = set()

    def add(test, name, lines, flow, count_bits=32, must=0):
        name = f"{name}_seed_{seed}"
        # Two configurations would write it at the same time.
        assert name not in taken, f"two configurations have the file of {name}"
        taken.add(name)
        path = folder / f"packet_checker_{name}.txt"

        def write(output_path):
            path.write_text("\n".join(lines) + "\n")
            return True

        generics = {
            "seed": seed,
            "frames_file": str(path),
            "source_known": int(flow.source is not None),
            "stream_known": int(flow.stream is not None),
            "count_bits": count_bits,
            "slots": flow.slots or 0,
            "must_run_over": must,
        }
        bench.test(test).add_config(name, generics=generics, pre_config=write)

    flows = [model.Flow(), model.Flow(stream=3), model.Flow(source=None), model.Flow(source=None, stream=3)]
    for number, flow in enumerate(flows):
        add("verdicts and counts are those of the model", f"flow_{number}", random_lines(f"{number} {seed}", 500, flow), flow)
    for slots in (1, 2, 3, 31, 4095, 4096):
        flow = model.Flow(slots=slots)
        add("verdicts and counts are those of the model", f"{slots}_slots", random_lines(f"{slots} slots {seed}", 250, flow), flow)
    add("verdicts and counts are those of the model", "long", random_lines(f"long {seed}", 40, flows[0], 9100), flows[0])
    flow = model.Flow(slots=5)
    add("frames without a gap between them", "close_slots", close_lines(seed, flow), flow)
    over = "counts that run over say so until they are cleared"
    # Some seeds do not have enough jumps for the overflow of lost, or enough bytes; sequences have no order breaks.
    must = bits_of(*(name for name in model.OVERFLOWS if name not in ("lost", "verified_bytes", "order_breaks")))
    add(over, "all", random_lines(f"over {seed}", 500, flows[0], 150, count_bits=2), flows[0], count_bits=2, must=must)
    must = bits_of("good", "distinct", "order_breaks", "mixed")
    add(over, "slots", random_lines(f"slots over {seed}", 100, flow, 150, count_bits=2), flow, count_bits=2, must=must)
    # These have no random numbers.
    if seed == 0:
        add(over, "bytes", many_bytes_lines(flows[0], count_bits=1), flows[0], count_bits=1, must=bits_of("verified_bytes"))
        add(over, "jumps", jump_lines(flows[0]), flows[0], must=bits_of("lost"))
    # Nor have these, but a test without a file would fail.
    change = "settings that change within a frame hold for the next one"
    add(change, "other_flow", other_flow_lines(), flows[1])
    add(change, "other_slots", other_slots_lines(flow), flow)
    add("a search is over 72 clocks behind the first word at the latest", "search", search_lines(flows[0]), flows[0])
    add("frames without a gap between them", "close", close_lines(seed, flows[0]), flows[0])
    add("a search that is cut short is seen", "overrun", overrun_lines(flows[0]), flows[0])
