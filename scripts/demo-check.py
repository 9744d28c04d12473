#!/usr/bin/env python3
"""Judges the demo's results: status 1 and the reasons where a figure is wrong.

Eight directions at payload/(payload+38) of the link within 0.5 %, no frame lost or bad anywhere, every kind of buffers
measured 200 times, a clean capture, and whole trials on the emulated board where it could run.

A busy host loses frames and misses rates. Such a figure is not judged where other work took the host's cores, or the trial
itself says that its host held it up. Wrong bytes, frames that were not sent, rates above the limit and missing trials are wrong
on any host. `scripts/tests/test_demo_check.py` breaks each of these and expects a finding.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

SIZES = [66, 438, 810, 1182, 1498]
BUFFERS = ["prefilled", "copied", "copied-ahead", "in-place"]
TOLERANCE = 0.005
FRAMES, RUNS = 50, 200
CAPTURED = 5000
BOARD_LENGTHS, BOARD_WAYS = [64, 256, 1024], ["echo", "receive", "transmit"]
# Other work on this many cores is more than a system's own housekeeping.
BUSY_CORES = 0.5
# Warnings by which a trial says that its own host spoilt it.
HELD_UP = {"tester-held-up", "sender-below-rate"}


@dataclass(frozen=True)
class Finding:
    """A wrong figure; `host_can`: whether a busy host alone explains it; `held_up`: whether its trial reports that."""

    where: str
    why: str
    host_can: bool = False
    held_up: bool = False


def value(field):
    """The value of a field; None if it is absent."""
    return field.get("value")


def is_held_up(observation):
    """Whether a trial says that its host held it up."""
    return not HELD_UP.isdisjoint(warning["code"] for warning in observation.get("warnings", []))


def dirty(counts, sent):
    """The fault of a flow's frames, in words, and whether a busy host explains it; None if they are clean."""
    if counts is None:
        return "it has no counts", False
    received, good, lost = (counts[name] for name in ("received_frames", "good_frames", "lost_frames"))
    if received == 0:
        return "no frame arrived", False
    if good != sent or received != sent or lost:
        why = f"sent {sent}, received {received}, good {good}, lost {lost}"
        return why, good == received and received <= sent
    return None


def check_status(where, observation):
    """The trial is complete."""
    if observation["status"] != "complete":
        why = f"{observation['status']}: {observation.get('why', '')}"
        yield Finding(where, why, True, is_held_up(observation))


def check_flows(name, file):
    """Every trial is complete and every flow clean."""
    for observation in file["observations"]:
        where = f"{name}, payload {observation['sizes']['payload_bytes']}"
        yield from check_status(where, observation)
        if observation["status"] == "void":
            continue
        for flow in observation["flows"]:
            if found := dirty(value(flow["counts"]), value(flow["sent_frames"])):
                yield Finding(f"{where}, {flow['port']} {flow['direction']}", *found, is_held_up(observation))


def check_payloads(name, file):
    """Each size was requested."""
    payloads = [o["sizes"]["payload_bytes"] for o in file["observations"]]
    if payloads != SIZES:
        yield Finding(name, f"payloads {payloads}, expected {SIZES}")


def measured(file):
    """The trials that have figures."""
    return [o for o in file["observations"] if o["status"] != "void"]


def check_link(file):
    """Four pairs, full duplex, each direction at the limit of its link."""
    yield from check_payloads("link", file)
    for observation in measured(file):
        payload = observation["sizes"]["payload_bytes"]
        limit = payload / (payload + 38)
        if len(observation["flows"]) != 8:
            yield Finding(f"link, payload {payload}", f"{len(observation['flows'])} directions, expected 8")
        for flow in observation["flows"]:
            got = value(flow["efficiency"])
            if got is None or abs(got / limit - 1) > TOLERANCE:
                is_below = got is not None and got < limit
                where = f"link, payload {payload}, {flow['port']} {flow['direction']}"
                yield Finding(where, f"efficiency {got}, limit {limit:.4f}", is_below, is_held_up(observation))


def check_max(file):
    """The same sizes with frames/s."""
    yield from check_payloads("max", file)
    for observation in measured(file):
        for flow in observation["flows"]:
            if not value(flow["frames_per_s"]):
                yield Finding(f"max, payload {observation['sizes']['payload_bytes']}", "no frames/s")


def rows(samples):
    """The number of samples; a long list is packed elsewhere, and its length stands in its place."""
    return samples if isinstance(samples, int) else len(samples)


def check_buffers(file):
    """Each kind of buffers, 50 frames, 200 times."""
    kinds = [o["trial"].get("buffers") for o in file["observations"]]
    if kinds != BUFFERS:
        yield Finding("buffers", f"{kinds}, expected {BUFFERS}")
    for observation in measured(file):
        where = f"buffers {observation['trial'].get('buffers')}"
        runs = [rows(s["raw_ticks"]) for s in observation["series"]]
        if runs != [RUNS]:
            yield Finding(where, f"{runs} runs, expected {RUNS}")
        for flow in observation["flows"]:
            if value(flow["sent_frames"]) != FRAMES:
                yield Finding(where, f"{value(flow['sent_frames'])} frames, expected {FRAMES}")


def check_board(file):
    """Echo, receive and transmit at three lengths on the emulated board: whole trials, every received byte correct."""
    asked = [(o["sizes"]["length_bytes"], o["trial"]["direction"]) for o in file["observations"]]
    if sorted(asked) != sorted((length, way) for length in BOARD_LENGTHS for way in BOARD_WAYS):
        yield Finding("board", f"trials {asked}")
    for observation in file["observations"]:
        where = f"board, length {observation['sizes']['length_bytes']}, {observation['trial']['direction']}"
        yield from check_status(where, observation)
        for flow in observation["flows"] if observation["status"] != "void" else []:
            counts = value(flow["counts"])
            if not counts or not counts["good_frames"] or counts["good_frames"] != counts["received_frames"]:
                yield Finding(where, f"counts {counts}")


def check_capture(file):
    """Every sent frame is in the capture, and correct."""
    if len(file["flows"]) != 1:
        yield Finding("capture", f"{len(file['flows'])} flows, expected 1")
    for flow in file["flows"]:
        if found := dirty(flow["counts"], CAPTURED):
            yield Finding("capture", *found)


def findings(folder):
    """All faults of the results in a folder."""
    checks = {"link": check_link, "max": check_max, "buffers": check_buffers, "capture": check_capture}
    # Only if the demo could run one.
    if Path(folder, "board.json").exists():
        checks["board"] = check_board
    for name, check in checks.items():
        try:
            file = json.loads(Path(folder, f"{name}.json").read_text())
        except (OSError, ValueError) as error:
            yield Finding(f"{name}.json", str(error))
            continue
        if name in ("link", "max", "buffers"):
            yield from check_flows(name, file)
        yield from check(file)


def is_busy(folder):
    """Whether other work took cores of this host between the demo's steps."""
    try:
        return any(float(cores) >= BUSY_CORES for cores in Path(folder, "busy.txt").read_text().split())
    except FileNotFoundError:
        return False


def judge(folder):
    """The figures that are wrong, and those that a busy host keeps from being judged."""
    wrong, unjudged, busy = [], [], is_busy(folder)
    for finding in findings(folder):
        (unjudged if finding.host_can and (busy or finding.held_up) else wrong).append(finding)
    return wrong, unjudged


def main():
    """Prints the wrong figures and those that were not judged."""
    wrong, unjudged = judge(sys.argv[1])
    for finding in unjudged:
        print(f"demo: this host was busy: {finding.where} was not judged ({finding.why})", file=sys.stderr)
    for finding in wrong:
        print(f"demo: {finding.where}: {finding.why}", file=sys.stderr)
    if unjudged:
        print("demo: fix: end other work on this host, then run `make demo` again", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
