#!/usr/bin/env python3
"""`make bench`: measures wirelab and its peers in turn and writes docs/benchmarks.md.

main.py --target DIR [--rounds N] [--seconds S] [--trafficgen FILE] [--simulation | --sockets | --pacing | --boards | --plugin | --stages | --hardware] [--write FILE]
`--simulation`, `--sockets`, `--pacing`, `--boards`, `--plugin`, `--stages` and `--hardware` measure that section alone and write no page.
With fewer than 7 rounds a page is only written if a file is named. Exit status: 0 all requirements met,
1 one is missed, 2 a run was void.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import boards
import hardware
import machine
import pacing
import page
import plugin
import reflector
import sockets
import stages
from subjects import TREE, Missing, Subjects, Void

LEAST_ROUNDS = 7
SMALL, LARGE = 60, 1514
SIZES = [("frame 64", 64), ("length 1514", 1518)]
CAPTURE_BYTES = 400_000_000
STARTS = 30
OBSERVATIONS = 40_000


def paired(subjects, pairs):
    """Ratio of medians and its interval, by the statistics of crates/trial."""
    tool = Path(subjects.rate.parent, "paired_ratio")
    text = "".join(f"{a!r} {b!r}\n" for a, b in pairs)
    done = subprocess.run([tool], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def attempt(missing, name, measure):
    """One figure, or nothing if the subject cannot run here; the reason is kept."""
    if name in missing:
        return None
    try:
        return measure()
    except Missing as why:
        missing[name] = str(why)
        return None


def build_sink(folder):
    """The program that receives a peer's frames without checking them."""
    sink = Path(folder, "sink.bpf.o")
    source = TREE / "scripts/bench/sink.bpf.c"
    words = ["clang", "-O2", "-g", "-target", "bpf", "-c", source, "-o", sink]
    multiarch = subprocess.run(["cc", "-print-multiarch"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if multiarch:
        words[1:1] = [f"-I/usr/include/{multiarch}"]
    subprocess.run(words, check=True)
    return sink


def measure_rounds(subjects, rounds, folder):
    """Measures everything that sends frames."""
    sink = build_sink(folder)
    subject = {
        "trafgen 64": lambda: subjects.trafgen(SMALL),
        "trafgen 64 xdp": lambda: subjects.trafgen(SMALL, "an XDP program", ["--sink", str(sink)]),
        "fast 64": lambda: subjects.fast(SMALL),
        "xdp-trafficgen": lambda: subjects.xdp_trafficgen(sink),
        "portable 64": lambda: subjects.portable(SMALL),
        "trafgen 64 ring": lambda: subjects.trafgen(SMALL, "a receive ring", ["--ring", "1"]),
        "trafgen 1518": lambda: subjects.trafgen(LARGE),
        "trafgen 1518 ring": lambda: subjects.trafgen(LARGE, "a receive ring", ["--ring", "1"]),
        "portable 1518": lambda: subjects.portable(LARGE),
        "fast 1518": lambda: subjects.fast(LARGE),
    }
    return take_turns(subject, rounds)


def measure_simulation(subjects, rounds):
    """Measures the simulation of node models and SimPy in turn."""
    return take_turns({"simulation": subjects.simulation, "SimPy": subjects.simpy}, rounds)


def take_turns(subject, rounds):
    """Each round runs all subjects once, every other round in reverse."""
    runs, missing = {name: [] for name in subject}, {}
    for number in range(rounds):
        names = list(subject)[:: -1 if number % 2 else 1]
        for name in names:
            found = attempt(missing, name, subject[name])
            if found is not None:
                runs[name].append(found)
                print(f"round {number + 1}/{rounds}  {name:<22} {shown_run(found)}", file=sys.stderr)
    for name, why in missing.items():
        print(f"{name}: {why}", file=sys.stderr)
    return runs, missing


def shown_run(found):
    """One run as a progress line."""
    if isinstance(found, dict) and "frames_per_s" not in found:
        return "  ".join(f"{key} {value:.6g}" for key, value in found.items())
    return f"{rates([found])[0] / 1e6:7.3f} M frames/s"


def measure_sockets(subjects, rounds):
    """Measures iperf and echo, wirelab's and others', in turn."""
    runs, missing = take_turns(sockets.Sockets(subjects).all(), rounds)
    return sockets.rows(lambda pairs: paired(subjects, pairs), runs, missing)


def measure_pacing(subjects, rounds):
    """Measures paced senders, wirelab's and iperf3's, in turn beside other work on all cores."""
    runs, missing = take_turns(pacing.Pacing(sockets.Sockets(subjects)).all(), rounds)
    return pacing.rows(lambda pairs: paired(subjects, pairs), runs, missing)


def rates(found):
    return [run if isinstance(run, float) else run["frames_per_s"] for run in found]


def against_peer(subjects, runs, missing, what, ours, peer, limit, goal, by_lower_bound=False):
    """A row that compares frames/s."""
    mine = rates(runs[ours])
    row = {
        "what": what,
        "requirement": f"≥ {limit} × (lower bound)" if by_lower_bound else f"≥ {limit} ×" if limit else "–",
        "goal": f"{'>' if goal == 1 else '≥'} {goal} ×" if goal else "–",
        "ours": page.million(median(mine)),
        "runs": [("wirelab", "M frames/s", [f / 1e6 for f in mine])],
    }
    if peer in missing:
        return {**row, "peer": f"{peer.split()[0]}: {missing[peer]}", "ratio": "–", "verdict": "not compared"}
    theirs = rates(runs[peer])
    ratio = paired(subjects, list(zip(mine, theirs)))
    deciding = ratio["low"] if by_lower_bound else ratio["ratio"]
    row["runs"].append((peer.split()[0], "M frames/s", [f / 1e6 for f in theirs]))
    return {
        **row,
        "peer": f"{peer.split()[0]} {page.million(median(theirs))}",
        "ratio": page.ratio(ratio),
        "verdict": page.verdict(limit is None or deciding >= limit, limit, None if goal is None else deciding > goal),
    }


def absolute(subjects, what, figures, unit, limit, goal, smaller=False):
    """A row that compares with a number; the interval is that of the median over the requirement."""
    middle = median(figures)
    sign = "<" if smaller else "≥"
    ratio = paired(subjects, [(figure, limit) for figure in figures])
    met = middle < limit if smaller else middle >= limit
    return {
        "what": what,
        "requirement": f"{sign} {limit} {unit}",
        "goal": f"≥ {goal} {unit}" if goal else "–",
        "ours": f"{middle:.3g} {unit}",
        "peer": "–",
        "ratio": f"{ratio['low'] * limit:.3g} to {ratio['high'] * limit:.3g} {unit}",
        "verdict": page.verdict(met, limit, None if goal is None else middle >= goal),
        "runs": [("wirelab", unit, figures)],
    }


def frame_rows(subjects, runs, missing):
    def compare(*words, **more):
        return against_peer(subjects, runs, missing, *words, **more)

    gigabits = [run["payload_gbit_per_s"] for run in runs["fast 1518"]]
    return [
        compare("fast path, frame 64; trafgen's frames dropped by the kernel", "fast 64", "trafgen 64", 4, 5),
        compare("the same; trafgen's frames received by an XDP program", "fast 64", "trafgen 64 xdp", None, None),
        compare("the same; xdp-trafficgen's frames received by an XDP program", "fast 64", "xdp-trafficgen", None, 1.1),
        absolute(subjects, "fast path, length 1514, verified payload", gigabits, "Gbit/s", 25, 35),
        *[row for size in SIZES for row in portable_rows(compare, *size)],
    ]


def portable_rows(compare, what, size):
    """The comparison of equals decides: the same kind of ring on the other core receives both senders' frames."""
    ours = f"portable path, {what}"
    return [
        compare(f"{ours}; trafgen's frames received by the same ring", f"portable {size}", f"trafgen {size} ring",
                0.95, None, by_lower_bound=True),
        compare("the same; trafgen's frames dropped by the kernel", f"portable {size}", f"trafgen {size}", None, None),
    ]


def simulation_rows(subjects, runs, missing):
    what = "simulation of a node model, two-stage pipeline"
    events = [run["events_per_s"] / 1e6 for run in runs["simulation"]]
    return [
        absolute(subjects, what, events, "M events/s", 5, None),
        against_peer(subjects, runs, missing, "the same, frames per second", "simulation", "SimPy", None, None),
    ]


def process_rows(subjects, rounds):
    """The rows of whole processes."""
    rows = []
    try:
        starts = [subjects.limits() * 1e3 for _ in range(STARTS)]
        rows.append(absolute(subjects, "`wirelab limits`, whole process", starts, "ms", 10, None, smaller=True))
    except Missing as why:
        rows.append({
            "what": "`wirelab limits`, whole process", "requirement": "< 10 ms", "goal": "–", "ours": str(why),
            "peer": "–", "ratio": "–", "verdict": "missed", "runs": [],
        })
    slowest = [subjects.whatif()["seconds"] for _ in range(max(rounds, LEAST_ROUNDS))]
    what = "`whatif` with all pairs, slowest node and path"
    rows.append(absolute(subjects, what, slowest, "s", 2, None, smaller=True))
    shown = [subjects.report(OBSERVATIONS) for _ in range(max(rounds, LEAST_ROUNDS))]
    what = f"`wirelab report` of {OBSERVATIONS:,} observations for a terminal"
    rows.append(absolute(subjects, what, shown, "s", 5, None, smaller=True))
    for length in (LARGE, SMALL):
        path, size = subjects.capture(length, CAPTURE_BYTES)
        speeds = [size / 1e9 / subjects.verify(length, path) for _ in range(max(rounds, LEAST_ROUNDS))]
        path.unlink()
        rows.append(absolute(subjects, f"verifying a capture, length {length}", speeds, "GB/s", 1, None))
    return rows


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    parser.add_argument("--seconds", type=float, default=3.0)
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument("--simulation", action="store_true", help="only the simulation, without a page")
    alone.add_argument("--sockets", action="store_true", help="only iperf and echo, without a page")
    alone.add_argument("--pacing", action="store_true", help="only paced senders beside other work, without a page")
    alone.add_argument("--boards", action="store_true", help="only emulated boards, without a page")
    alone.add_argument("--plugin", action="store_true", help="only the cost of counting in QEMU, without a page")
    alone.add_argument("--stages", action="store_true", help="only inside a Linux node, without a page")
    alone.add_argument("--hardware", action="store_true", help="only hardware in simulation, without a page")
    parser.add_argument("--trafficgen", type=Path, help="a build of xdp-trafficgen in place of the distribution's")
    parser.add_argument("--write", type=Path, help="where the page goes; default docs/benchmarks.md")
    asked = parser.parse_args()
    if asked.rounds < 1 or asked.seconds <= 0:
        parser.error("fewer than one round, or no seconds; fix: --rounds 1 or more, --seconds above 0")
    return asked


def raise_priority():
    """Whole processes get the priority of the senders, if that is allowed."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except PermissionError:
        print("bench: no right to raise the priority of whole processes, so they run at the usual one; fix: run as root",
              file=sys.stderr)


def measure(subjects, asked, folder):
    """The rows of all sections, or of the requested one."""
    alone, rows = only_one(asked), []
    if not alone:
        sent = measure_rounds(subjects, asked.rounds, folder)
        rows += frame_rows(subjects, *sent) + process_rows(subjects, asked.rounds)
    if asked.sockets or not alone:
        rows += measure_sockets(subjects, asked.rounds)
    if asked.pacing or not alone:
        rows += measure_pacing(subjects, asked.rounds)
    if asked.simulation or not alone:
        rows += simulation_rows(subjects, *measure_simulation(subjects, asked.rounds))
    if asked.boards or not alone:
        rows += boards.rows(subjects, asked.rounds)
    if asked.plugin or not alone:
        rows += plugin.rows(lambda pairs: paired(subjects, pairs), subjects, asked.rounds)
    if asked.stages or not alone:
        rows += reflector.rows(subjects, asked.rounds)
        rows += stages.rows(lambda pairs: paired(subjects, pairs), subjects, asked.rounds)
    if asked.hardware or not alone:
        rows += hardware.rows(subjects, asked.rounds)
    return rows


def only_one(asked):
    """Whether one section alone was requested."""
    return asked.simulation or asked.sockets or asked.pacing or asked.boards or asked.plugin or asked.stages or asked.hardware


def main():
    asked = parse()
    raise_priority()
    processors = machine.used_now()
    trafficgen = str(asked.trafficgen.resolve()) if asked.trafficgen else "xdp-trafficgen"
    host, warning = machine.describe(TREE, processors, trafficgen), machine.busy(processors)
    if warning:
        print(f"bench: {warning}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="wirelab-bench-") as folder:
        subjects = Subjects(asked.target.resolve(), folder, asked.seconds)
        subjects.trafficgen = trafficgen
        try:
            rows = measure(subjects, asked, folder)
        except Void as why:
            print(f"bench: void run, nothing written: {why}", file=sys.stderr)
            return 2
    text = page.render(host, warning, rows, subjects, asked, folder)
    print(page.table(rows))
    destination = asked.write or (TREE / "docs/benchmarks.md" if asked.rounds >= LEAST_ROUNDS else None)
    if only_one(asked):
        print("bench: only one section was measured, no page is written", file=sys.stderr)
    elif destination:
        destination.write_text(text)
        if destination == TREE / "docs/benchmarks.md":
            # README.md quotes the page; this reports a quoted row that no longer exists.
            subprocess.run([sys.executable, "-B", TREE / "scripts/readme_figures.py", "--write"], check=False)
        print(f"bench: written to {destination}", file=sys.stderr)
    else:
        print(f"bench: {asked.rounds} rounds are too few for docs/benchmarks.md, not written", file=sys.stderr)
    return 1 if any(row["verdict"].startswith("missed") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
