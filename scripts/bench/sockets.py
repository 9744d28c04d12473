"""Figures over sockets: iperf, wirelab's and others', and UDP echo beside sockperf; subjects and rows.

Both ends are of the same program: wirelab's client and server against the other's client and server, in the same kind of lab,
with the server on core 1 and the client on core 0.
"""

import json
import re
import shutil
from pathlib import Path
from statistics import median

import page
from subjects import Missing, Void

SIZES = (1470, 64)
SECOND = {2: "iperf 2", 3: "iperf3"}


class Sockets:
    """Commands between the two sides of a lab; `commands` keeps each command line, for the page."""

    def __init__(self, subjects):
        self.subjects = subjects
        self.lab = subjects.rate.with_name("speed")
        self.echo = subjects.rate.with_name("echo")
        self.seconds = str(max(1, round(subjects.seconds)))

    def between(self, name, server, client, usual=False):
        """Runs both and returns the client's output; at the usual priority if requested."""
        if not shutil.which(server[0]):
            raise Missing(f"{Path(server[0]).name} is not installed; fix: run `sudo apt-get install {Path(server[0]).name}`")
        words = [self.lab, "--", *server, "--", *client]
        found = self.subjects.run(name, words, usual=usual)
        if not found["ok"]:
            raise Void(f"{name}: {found['complained'].strip() or found['said'].strip()}")
        return found["said"]

    def wirelab(self, *words):
        if not self.subjects.can("iperf"):
            raise Missing("the command line is not built; fix: run `make build`")
        return [str(self.subjects.wirelab), "iperf", *words]

    def tcp_ours(self):
        client = self.wirelab("-3", "-c", "{server}", "-t", self.seconds, "-J")
        return iperf3_tcp(self.between("TCP, wirelab", self.wirelab("-3", "-s"), client))

    def tcp_iperf3(self):
        client = ["iperf3", "-c", "{server}", "-t", self.seconds, "-J"]
        return iperf3_tcp(self.between("TCP, iperf3", ["iperf3", "-s"], client))

    def udp_ours(self, generation, size, segmented):
        """`generation`: the version of iperf whose datagrams and counts are used."""
        three = ["-3"] if generation == 3 else []
        client = self.wirelab(*three, "-c", "{server}", "-u", "-b", "0", "-l", str(size), "-t", self.seconds, "-J")
        if not segmented:
            client.append("--no-segmentation")
        name = f"UDP, wirelab as {SECOND[generation]}, {size} bytes" + ("" if segmented else ", not segmented")
        said = self.between(name, self.wirelab(*three, "-s"), client)
        found = iperf3_udp(said) if generation == 3 else own_iperf2_udp(said)
        if found["segmented"] != segmented:
            raise Void(f"{name}: segmented is {found['segmented']}")
        return found

    def udp_iperf3(self, size):
        client = ["iperf3", "-c", "{server}", "-u", "-b", "0", "-l", str(size), "-t", self.seconds, "-J"]
        return iperf3_udp(self.between(f"UDP, iperf3, {size} bytes", ["iperf3", "-s"], client))

    def udp_iperf2(self, size):
        client = ["iperf", "-c", "{server}", "-u", "-b", "100G", "-l", str(size), "-t", self.seconds]
        return iperf2_udp(self.between(f"UDP, iperf 2, {size} bytes", ["iperf", "-s", "-u"], client))

    def echo_ours(self, spinning):
        more = ["--spin"] if spinning else []
        server = [str(self.echo), "server", "{server}:5003", "--seconds", "60", *more]
        client = [str(self.echo), "ping-pong", "{server}:5003", "--bytes", "64", "--seconds", self.seconds, *more]
        said = self.between(f"echo, wirelab, {waiting(spinning)}", server, client)
        return {"half_us": json.loads(said)["half_median_ns"] / 1e3}

    def echo_sockperf(self, spinning):
        more = ["--nonblocked"] if spinning else []
        server = ["sockperf", "server", "-i", "{server}", "-p", "5004", *more]
        client = ["sockperf", "ping-pong", "-i", "{server}", "-p", "5004", "-m", "64", "-t", self.seconds, *more]
        said = self.between(f"echo, sockperf, {waiting(spinning)}", server, client)
        found = re.search(r"percentile 50\.000\s*=\s*([\d.]+)", said)
        if not found:
            raise Void(f"sockperf printed no median: {said.strip()[-300:]}")
        return {"half_us": float(found.group(1))}

    def all(self):
        """Name and measurement of each subject; a peer is next to wirelab's subject that it is compared with."""
        subject = {"TCP wirelab": self.tcp_ours, "TCP iperf3": self.tcp_iperf3}
        for size in SIZES:
            for generation, peer in ((3, self.udp_iperf3), (2, self.udp_iperf2)):
                subject[f"UDP {size} {generation} cut"] = lambda g=generation, s=size: self.udp_ours(g, s, True)
                subject[f"UDP {size} {generation} peer"] = lambda p=peer, s=size: p(s)
                subject[f"UDP {size} {generation} single"] = lambda g=generation, s=size: self.udp_ours(g, s, False)
        for spinning in (False, True):
            subject[f"echo {waiting(spinning)} wirelab"] = lambda w=spinning: self.echo_ours(w)
            subject[f"echo {waiting(spinning)} sockperf"] = lambda w=spinning: self.echo_sockperf(w)
        return subject


def waiting(spinning):
    return "spinning" if spinning else "sleeping"


def iperf3_tcp(said):
    return {"gbit_per_s": json.loads(said)["end"]["sum_received"]["bits_per_second"] / 1e9}


def iperf3_udp(said):
    end = json.loads(said)["end"]
    total = end["sum"]
    arrived = total["packets"] - total["lost_packets"]
    streams = end.get("wirelab", {}).get("streams", [])
    return {
        "arrived_per_s": arrived / total["seconds"],
        "loss": total["lost_packets"] / max(1, total["packets"]),
        "segmented": any(stream["segmented"] for stream in streams),
    }


def own_iperf2_udp(said):
    leg = json.loads(said)["legs"][0]
    report = leg["server_report"]
    arrived = report["datagrams"] - report["lost"]
    return {
        "arrived_per_s": arrived / (report["duration_ns"] / 1e9),
        "loss": report["lost"] / max(1, report["datagrams"]),
        "segmented": leg["segmented"],
    }


def iperf2_udp(said):
    """Reads the last line with counts, which is the server's report."""
    lines = re.findall(r"0\.0+-\s*([\d.]+) sec.* (\d+)/\s*(\d+) \(", said)
    if not lines:
        raise Void(f"iperf 2 printed no report: {said.strip()[-300:]}")
    seconds, lost, total = float(lines[-1][0]), int(lines[-1][1]), int(lines[-1][2])
    return {"arrived_per_s": (total - lost) / seconds, "loss": lost / max(1, total), "segmented": False}


def rows(paired, runs, missing):
    """`paired` gives the ratio of medians and its interval."""
    found = [row(paired, runs, missing, "TCP, one stream; iperf3", ("TCP wirelab", "TCP iperf3"),
                 "gbit_per_s", (1, "Gbit/s"), 0.95, 1.2, by_lower_bound=True)]
    for size in SIZES:
        for generation in (3, 2):
            names = f"UDP {size} {generation}"
            what = f"UDP, {size} bytes, load max, arrived; {SECOND[generation]}"
            for kind, words, limit in (("cut", "segmented", 2), ("single", "not segmented", 1.2)):
                pair = (f"{names} {kind}", f"{names} peer")
                found.append(row(paired, runs, missing, f"{what}; {words}", pair, "arrived_per_s",
                                 (1e6, "M datagrams/s"), limit, None))
    for kind in ("sleeping", "spinning"):
        pair = (f"echo {kind} wirelab", f"echo {kind} sockperf")
        found.append(row(paired, runs, missing, f"UDP echo, half a median round trip, {kind}; sockperf", pair,
                         "half_us", (1, "µs"), 1, None, smaller=True))
    return found


def row(paired, runs, missing, what, pair, key, unit, limit, goal, by_lower_bound=False, smaller=False):
    sign = "≤" if smaller else "≥"
    ours, peer = pair
    requirement = f"{sign} {limit} ×" + (" (lower bound)" if by_lower_bound else "")
    asked = {"what": what, "requirement": requirement, "goal": f"{sign} {goal} ×" if goal else "–"}
    gone = [f"{name}: {missing[name]}" for name in pair if name in missing]
    if gone:
        return {**asked, "ours": "–", "peer": "; ".join(gone), "ratio": "–", "verdict": "not compared", "runs": []}
    mine, theirs = ([run[key] / unit[0] for run in runs[name]] for name in pair)
    ratio = paired(list(zip(mine, theirs)))
    deciding = ratio["low"] if by_lower_bound else ratio["ratio"]
    met = deciding <= limit if smaller else deciding >= limit
    lost, note = losses(runs, pair)
    return {
        **asked,
        "ours": f"{median(mine):.3g} {unit[1]}{lost[0]}",
        "peer": f"{median(theirs):.3g} {unit[1]}{lost[1]}",
        "ratio": page.ratio(ratio),
        "verdict": page.verdict(met and not note, limit, goal and deciding >= goal) + note,
        "runs": [("wirelab", unit[1], mine), ("peer", unit[1], theirs), *loss_runs(runs, pair)],
    }


def losses(runs, pair):
    """The median losses in words, and a fault if wirelab's is higher."""
    if "loss" not in runs[pair[0]][0]:
        return ("", ""), ""
    mine, theirs = (median(run["loss"] for run in runs[name]) for name in pair)
    words = tuple(f", {loss:.2%} lost" for loss in (mine, theirs))
    return words, "" if mine <= theirs else ", more was lost than by the peer"


def loss_runs(runs, pair):
    if "loss" not in runs[pair[0]][0]:
        return []
    return [(f"{who}, lost", "%", [100 * run["loss"] for run in runs[name]])
            for who, name in zip(("wirelab", "peer"), pair)]
