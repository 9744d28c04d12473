#!/usr/bin/env python3
"""Says whether the demo's results are what they must be; status 1 and the reasons if not.

Eight directions at payload/(payload+38) of the link within 0.5 %, no frame lost or bad anywhere, every kind of buffers
measured 200 times, and whole trials on the emulated board where it could run. `scripts/tests/test_demo_check.py` breaks
each of these and expects a finding.
"""

import json
import sys
from pathlib import Path

SIZES = [66, 438, 810, 1182, 1498]
BUFFERS = ["prefilled", "copied", "copied-ahead", "in-place"]
TOLERANCE = 0.005
FRAMES, RUNS = 50, 200
BOARD_LENGTHS, BOARD_WAYS = [64, 256, 1024], ["echo", "receive", "transmit"]


def value(field):
    """The value of a field that was observed; None if it is absent."""
    return field.get("value")


def dirty(flow):
    """What is wrong with the frames of a flow, in words."""
    counts = value(flow["counts"])
    if counts is None:
        return "it has no counts"
    if counts["received_frames"] == 0:
        return "no frame arrived"
    sent = value(flow["sent_frames"])
    if counts["good_frames"] != sent or counts["received_frames"] != sent or counts["lost_frames"]:
        return f"sent {sent}, received {counts['received_frames']}, good {counts['good_frames']}, lost {counts['lost_frames']}"
    return None


def check_flows(name, file):
    """Every trial is complete and every flow clean."""
    for observation in file["observations"]:
        where = f"{name}, payload {observation['sizes']['payload_bytes']}"
        if observation["status"] != "complete":
            yield f"{where}: {observation['status']}: {observation.get('why', '')}"
        for flow in observation["flows"]:
            if why := dirty(flow):
                yield f"{where}, {flow['port']} {flow['direction']}: {why}"


def check_link(file):
    """Four pairs, full duplex, each direction at the limit of its link."""
    payloads = [o["sizes"]["payload_bytes"] for o in file["observations"]]
    if payloads != SIZES:
        yield f"link: payloads {payloads}, expected {SIZES}"
    for observation in file["observations"]:
        payload = observation["sizes"]["payload_bytes"]
        limit = payload / (payload + 38)
        if len(observation["flows"]) != 8:
            yield f"link, payload {payload}: {len(observation['flows'])} directions, expected 8"
        for flow in observation["flows"]:
            got = value(flow["efficiency"])
            if got is None or abs(got / limit - 1) > TOLERANCE:
                yield f"link, payload {payload}, {flow['port']} {flow['direction']}: efficiency {got}, limit {limit:.4f}"


def check_max(file):
    """The same sizes with frames/s."""
    payloads = [o["sizes"]["payload_bytes"] for o in file["observations"]]
    if payloads != SIZES:
        yield f"max: payloads {payloads}, expected {SIZES}"
    for observation in file["observations"]:
        for flow in observation["flows"]:
            if not value(flow["frames_per_s"]):
                yield f"max, payload {observation['sizes']['payload_bytes']}: no frames/s"


def check_buffers(file):
    """Each kind of buffers, 50 frames, 200 times."""
    kinds = [o["trial"].get("buffers") for o in file["observations"]]
    if kinds != BUFFERS:
        yield f"buffers: {kinds}, expected {BUFFERS}"
    for observation in file["observations"]:
        runs = [len(s["raw_ticks"]) for s in observation["series"]]
        if runs != [RUNS]:
            yield f"buffers {observation['trial'].get('buffers')}: {runs} runs, expected {RUNS}"
        for flow in observation["flows"]:
            if value(flow["sent_frames"]) != FRAMES:
                yield f"buffers: {value(flow['sent_frames'])} frames, expected {FRAMES}"


def check_board(file):
    """Echo, receive and transmit at three lengths on the emulated board: whole trials, every byte that came right."""
    asked = [(o["sizes"]["length_bytes"], o["trial"]["direction"]) for o in file["observations"]]
    if sorted(asked) != sorted((length, way) for length in BOARD_LENGTHS for way in BOARD_WAYS):
        yield f"board: trials {asked}"
    for observation in file["observations"]:
        where = f"board, length {observation['sizes']['length_bytes']}, {observation['trial']['direction']}"
        if observation["status"] != "complete":
            yield f"{where}: {observation['status']}: {observation.get('why', '')}"
        for flow in observation["flows"]:
            counts = value(flow["counts"])
            if not counts or not counts["good_frames"] or counts["good_frames"] != counts["received_frames"]:
                yield f"{where}: counts {counts}"


def findings(folder):
    """All that is wrong with the results in a folder."""
    board = Path(folder, "board.json")
    # Only where the demo could run one.
    if board.exists():
        try:
            yield from check_board(json.loads(board.read_text()))
        except ValueError as error:
            yield f"board.json: {error}"
    for name, check in [("link", check_link), ("max", check_max), ("buffers", check_buffers)]:
        try:
            file = json.loads(Path(folder, f"{name}.json").read_text())
        except (OSError, ValueError) as error:
            yield f"{name}.json: {error}"
            continue
        yield from check_flows(name, file)
        yield from check(file)


def main():
    """Prints the findings."""
    found = list(findings(sys.argv[1]))
    for finding in found:
        print(f"demo: {finding}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
