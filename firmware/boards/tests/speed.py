#!/usr/bin/env python3
"""How fast a board is under QEMU, in wall time: `speed.py [--board zynq7000] [--seconds 5] [--json]`.

Start to READY, 512 echoes one after another, 50,000 packets/s, and UDP at several rates from the distribution's iperf 2. The
board counts arrivals (its MAC, and iperf's report), the TAP counts the host's drops. The figures show the speed of the
emulation on this machine, not that of the silicon.
"""

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import time

import lab

ECHOES = 512
LENGTHS = [64, 256, 1024]
HEADERS_BYTES = 42
RATES = ["500M", "900M", "1200M"]


def boots(name, times):
    """Seconds from the start of QEMU's process to READY."""
    seen = []
    for _ in range(times):
        with lab.Board(name) as board:
            seen.append(board.ready_s)
    return {"median_s": statistics.median(seen), "most_s": max(seen), "times": times}


def echoes(board, length):
    """512 datagrams to port 7 (RFC 862), each sent when the last has come back."""
    datagrams = [number.to_bytes(4, "big") + bytes(length - HEADERS_BYTES - 4) for number in range(ECHOES + 1)]
    trips = []
    with board.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.connect((lab.BOARD_IP, 7))
        for datagram in datagrams:
            sent = time.perf_counter()
            wire.send(datagram)
            if wire.recv(2048) != datagram:
                raise AssertionError("another datagram came back")
            trips.append(time.perf_counter() - sent)
    # The first echo waited for the resolution of the address.
    trips = trips[1:]
    return {"length_bytes": length, "echoes": ECHOES, "took_s": sum(trips), "median_s": statistics.median(trips)}


def dropped(board):
    """Frames that the host dropped because the board did not take them."""
    said = board.run("ip", "-s", "-j", "link", "show", "tap0", capture_output=True, text=True).stdout
    return json.loads(said)[0]["stats64"]["tx"]["dropped"]


def datagrams(board, rate, length, seconds):
    """UDP from the distribution's iperf 2, and the report of the board's server."""
    before = dropped(board)
    command = ["iperf", "-u", "-c", lab.BOARD_IP, "-b", rate, "-l", str(length), "-t", str(seconds), "-e", "-f", "b"]
    said = board.run("timeout", "-k", "1", str(seconds + 20), *command, capture_output=True, text=True, check=False).stdout
    sent = re.search(r"Sent (\d+) datagrams", said)
    report = re.search(r"Server Report:.*?(\d+)/(\d+) \(", said, re.S)
    if not (sent and report):
        raise AssertionError(f"iperf has no report of the server:\n{said}")
    lost, of = int(report[1]), int(report[2])
    return {
        "asked": rate,
        "datagram_bytes": length,
        "sent": int(sent[1]),
        "reported": of,
        "lost": lost,
        "dropped_by_host": dropped(board) - before,
        "offered_bits_per_s": int(sent[1]) * length * 8 / seconds,
        "packets_per_s": int(sent[1]) / seconds,
    }


def measure(name, seconds):
    """All figures."""
    found = {"board": name, "kind": "wall", "host_load": os.getloadavg()[0], "cores": os.cpu_count()}
    found["boot"] = boots(name, 5)
    with lab.Board(name) as board:
        found["echo"] = [echoes(board, length) for length in LENGTHS]
        found["packets"] = datagrams(board, "50000pps", 64, seconds)
        found["rates"] = [datagrams(board, rate, 1470, seconds) for rate in RATES]
    return found


def show(found):
    """The figures for people."""
    print(f"{found['board']} under QEMU, measured in wall time; host load {found['host_load']:.1f} on {found['cores']} cores")
    print(f"start to READY   {found['boot']['median_s'] * 1e3:.0f} ms (median of {found['boot']['times']})")
    for echo in found["echo"]:
        print(
            f"{echo['echoes']} echoes, {echo['length_bytes']:>4} B length   {echo['took_s'] * 1e3:.0f} ms, "
            f"median round trip {echo['median_s'] * 1e6:.0f} us"
        )
    for row in [found["packets"], *found["rates"]]:
        print(
            f"UDP {row['datagram_bytes']:>4} B, {row['asked']:>8}   {row['offered_bits_per_s'] / 1e6:.0f} Mbit/s, "
            f"{row['packets_per_s']:,.0f} packets/s offered, {row['lost']} of {row['reported']} lost, "
            f"{row['dropped_by_host']} of them by the host's TAP"
        )


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--board", default="zynq7000", choices=lab.MACHINES)
    arguments.add_argument("--seconds", type=int, default=5, help="of each flow")
    arguments.add_argument("--json", action="store_true", help="figures as JSON")
    asked = arguments.parse_args()
    lab.need()
    lab.build()
    found = measure(asked.board, asked.seconds)
    if asked.json:
        print(json.dumps(found, indent=1))
    else:
        show(found)


if __name__ == "__main__":
    main()
