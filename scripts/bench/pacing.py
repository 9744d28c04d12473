"""The share of the requested load that is sent while all cores are busy: wirelab's and iperf3's.

An endless loop runs on each core at the usual priority, in a session of its own. Each sender starts at the usual priority too:
a priority that it requests for itself is part of its work.
"""

import json
import sys
from pathlib import Path

from sockets import row
from subjects import Void

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import load  # noqa: E402

BYTES = 64
RATES = (1_000, 20_000, 100_000)
LONGEST_S = 600
# A run may have one datagram more or fewer at its start and end.
LEAST = 0.999


def kept(said, rate, seconds):
    """The share of the due datagrams that were sent, and the longest burst if reported."""
    end = json.loads(said)["end"]
    packets = end["sum"]["packets"]
    if not packets:
        raise Void("pacing: nothing was sent")
    bursts = [stream.get("longest_burst") for stream in end.get("wirelab", {}).get("streams", [])]
    found = {"kept": min(1.0, packets / (rate * seconds))}
    return {**found, **({"burst": max(bursts)} if bursts and None not in bursts else {})}


class Pacing:
    """One run of wirelab and one of iperf3 at each rate, in turn, beside the load."""

    def __init__(self, between):
        self.between = between

    def subject(self, who, server, client, rate):
        words = ["-u", "-b", str(rate * BYTES * 8), "-l", str(BYTES), "-t", self.between.seconds, "-J"]
        with load.on_every_core(LONGEST_S):
            said = self.between.between(f"pacing at {rate}/s, {who}", server, [*client, *words], usual=True)
        return kept(said, rate, float(self.between.seconds))

    def ours(self, rate):
        wirelab = self.between.wirelab
        return self.subject("wirelab", wirelab("-3", "-s"), wirelab("-3", "-c", "{server}"), rate)

    def peer(self, rate):
        return self.subject("iperf3", ["iperf3", "-s"], ["iperf3", "-c", "{server}"], rate)

    def all(self):
        return {f"{who} {rate}": lambda w=work, r=rate: w(r)
                for rate in RATES for who, work in (("wirelab", self.ours), ("iperf3", self.peer))}


def rows(paired, runs, missing):
    """`paired` gives the ratio of medians and its interval."""
    return [row(paired, runs, missing, f"load kept while all cores are busy, {rate:,} datagrams/s requested; iperf3",
                (f"wirelab {rate}", f"iperf3 {rate}"), "kept", (0.01, "%"), LEAST, None) for rate in RATES]
