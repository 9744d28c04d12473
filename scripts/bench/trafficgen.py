#!/usr/bin/env python3
"""The fast path beside a build of xdp-trafficgen that the user names: one row, in turn on the same core.

trafficgen.py PATH [--target DIR] [--rounds N] [--seconds S]
PATH is a built xdp-trafficgen of upstream; the distribution's may not run on the kernel. Needs the examples of a release
build (`rate`, `paired_ratio`). Exit status: 0 the row is printed, 1 the peer does not run here, 2 a run was void.
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


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--target", type=Path, default=TREE / "target")
    parser.add_argument("--rounds", type=int, default=bench.LEAST_ROUNDS)
    parser.add_argument("--seconds", type=float, default=3.0)
    return parser.parse_args()


def row(subjects, rounds, folder):
    sink = bench.build_sink(folder)
    subject = {
        "fast 64": lambda: subjects.fast(bench.SMALL),
        "xdp-trafficgen": lambda: subjects.xdp_trafficgen(sink),
    }
    runs, missing = bench.take_turns(subject, rounds)
    what = "fast path, frame 64, every byte verified; upstream's xdp-trafficgen, taken by an XDP program unseen"
    return bench.against_peer(subjects, runs, missing, what, "fast 64", "xdp-trafficgen", None, GOAL)


def main():
    asked = parse()
    if not os.access(asked.path, os.X_OK):
        print(f"trafficgen: {asked.path} is no program; build upstream's xdp-tools and name its binary", file=sys.stderr)
        return 1
    warning = machine.busy(machine.used_now())
    if warning:
        print(f"bench: {warning}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="wirelab-bench-") as folder:
        subjects = Subjects(asked.target.resolve(), folder, asked.seconds)
        subjects.trafficgen = str(asked.path.resolve())
        try:
            found = row(subjects, asked.rounds, folder)
        except Void as why:
            print(f"trafficgen: void run: {why}", file=sys.stderr)
            return 2
    print(page.table([found]))
    return 1 if found["verdict"] == "not compared" else 0


if __name__ == "__main__":
    sys.exit(main())
