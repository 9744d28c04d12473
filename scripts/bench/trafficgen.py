#!/usr/bin/env python3
"""The fast path beside a build of xdp-trafficgen that the user names, and beside wirelab's own earlier build, in turn on one
core.

trafficgen.py PATH [--before DIR] [--target DIR] [--rounds N] [--seconds S]
PATH is a built xdp-trafficgen of upstream; the distribution's may not run on the kernel. DIR of --before is the target folder
of an earlier commit; the fast path may be at most a twentieth slower than there. Needs the examples of a release build (`cargo
build --release -p wirelab-port --example rate -p wirelab-trial --example paired_ratio`). Exit status: 0 the rows are printed, 1
the peer does not run here or a requirement is missed, 2 a run was void.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import machine
import main as bench
import page
from subjects import TREE, Subjects, Void

GOAL = 1.1
# The allowed cost of checks and honest counts.
LEAST_OF_BEFORE = 0.95


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--before", type=Path, help="target folder of an earlier commit's release build")
    parser.add_argument("--target", type=Path, default=TREE / "target")
    parser.add_argument("--rounds", type=int, default=bench.LEAST_ROUNDS)
    parser.add_argument("--seconds", type=float, default=3.0)
    return parser.parse_args()


def rows(subjects, before, rounds, folder):
    """One row for each of the two peers of the fast path."""
    sink = bench.build_sink(folder)
    subject = {
        "fast 64": lambda: subjects.fast(bench.SMALL),
        "xdp-trafficgen": lambda: subjects.xdp_trafficgen(sink),
    }
    if before:
        subject["earlier build"] = lambda: before.fast(bench.SMALL)
    runs, missing = bench.take_turns(subject, rounds)
    compare = lambda *words: bench.against_peer(subjects, runs, missing, *words)
    what = "fast path, frame 64, every byte verified"
    found = [compare(f"{what}; upstream's xdp-trafficgen, taken by an XDP program unseen", "fast 64", "xdp-trafficgen", None, GOAL)]
    if before:
        found.append(compare(f"{what}; an earlier build of it", "fast 64", "earlier build", LEAST_OF_BEFORE, None))
    return found


def status(found):
    """The exit status from the rows."""
    return 1 if any(row["verdict"] == "not compared" or row["verdict"].startswith("missed") for row in found) else 0


def main():
    asked = parse()
    if not os.access(asked.path, os.X_OK):
        print(f"trafficgen: {asked.path} is not a program; fix: name the binary of upstream's xdp-tools", file=sys.stderr)
        return 1
    warning = machine.busy(machine.used_now())
    if warning:
        print(f"bench: {warning}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="wirelab-bench-") as folder:
        subjects = Subjects(asked.target.resolve(), folder, asked.seconds)
        subjects.trafficgen = str(asked.path.resolve())
        before = asked.before and Subjects(asked.before.resolve(), folder, asked.seconds)
        try:
            found = rows(subjects, before, asked.rounds, folder)
        except Void as why:
            print(f"trafficgen: void run: {why}", file=sys.stderr)
            return 2
    print(page.table(found))
    return status(found)


if __name__ == "__main__":
    sys.exit(main())
