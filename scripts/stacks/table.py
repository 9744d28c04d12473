"""Counts the instructions of each stack of firmware/stacks/machines, and writes the table of docs/stacks.md.

python3 scripts/stacks/table.py [--runs 5] [--count 512] [--write] [--qemu FOLDER…] [NAME…], with the program of `make build` or
`cargo build` and the images of scripts/stacks/*.sh. Each cell is the usual count of a stage; the last column says how
many frames of a run take another path. If runs differ in a stage of a frame, it ends with an error. Each --qemu is a folder
with programs of another QEMU, by which each machine runs once more. Machines without an image are left as they are.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
MACHINES = TREE / "firmware/stacks/machines"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target"))
PAGE = TREE / "docs/stacks.md"
NAMES = {
    "lwip-raw": "lwIP, raw",
    "lwip-sockets": "lwIP, sockets",
    "freertos-plus-tcp": "FreeRTOS+TCP",
    "smoltcp": "smoltcp",
    "nuttx": "NuttX",
}
# Bytes of data, and the bytes of a frame in front of them.
SIZES = {"udp": ((64, 1470), 42), "tcp": ((64, 1460), 54)}
STAGES = [
    ("receive", "interrupt", "driver"),
    ("receive", "driver", "stack"),
    ("receive", "stack", "application"),
    ("receive", "interrupt", "application"),
    ("transmit", "application", "driver"),
    ("transmit", "driver", "mac"),
    ("transmit", "application", "mac"),
]
HEAD = ["stack", "traffic", "data, B", "interrupt to driver", "driver to stack", "stack to application",
        "**received**", "application to driver", "driver to MAC", "**sent**", "frames with another count"]


def die(why):
    sys.exit(f"table: {why}")


def program():
    """The program of the latest build."""
    built = [path for path in (TARGET / "release/wirelab", TARGET / "debug/wirelab") if path.is_file()]
    if not built:
        die(f"{TARGET} has no wirelab; fix: run cargo build -p wirelab")
    return max(built, key=lambda path: path.stat().st_mtime)


def run(machine, lengths, count, qemu=None):
    """The stages of one run, by length, direction and ends, and the counts of all frames as the results file has them."""
    words = [program(), "stages", f"qemu:{machine}", "--length", ",".join(map(str, lengths)), "--count", str(count), "--json"]
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder, "run.json")
        path = os.pathsep.join(filter(None, [qemu, os.environ["PATH"]]))
        done = subprocess.run([*words, "-o", results], capture_output=True, text=True, check=False, env=os.environ | {"PATH": path})
        frames = json.loads(results.read_text(encoding="utf-8"))["samples"] if results.exists() else None
    # Status 1: frames were sent again, which the report counts as a fault.
    if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
        die(f"{machine.name} cannot be counted: {done.stderr.strip()}")
    return {(s["length_bytes"], s["direction"], s["from"], s["to"]): s for s in json.loads(done.stdout)["stages"]}, frames


def row(name, traffic, data, length, run_of):
    """A line of the table, for stages on which all runs agree."""
    cells = [NAMES[name], traffic.upper(), f"{data:,}"]
    for stage in STAGES:
        if ("receive", "driver", "stack") == stage and (length, *stage) not in run_of:
            # One stage from the driver to the application.
            cells += ["–", f"{run_of[(length, 'receive', 'driver', 'application')]['mode_ticks']:,}"]
        elif stage[1:] != ("stack", "application") or (length, *stage) in run_of:
            cells.append(f"{run_of[(length, *stage)]['mode_ticks']:,}")
    others = max(s["outliers"] for key, s in run_of.items() if key[0] == length)
    frames = run_of[(length, *STAGES[3])]["count"]
    cells.append(f"{others} of {frames}" if others else "none")
    return "| " + " | ".join(cells) + " |"


def rows(names, count, times, qemus):
    """Lines of the table by machine."""
    found = {}
    for machine in sorted(MACHINES.glob("*.toml")):
        name, traffic = machine.stem.rsplit("-", 1)
        if names and name not in names:
            continue
        if not (TARGET / f"stacks/{name}.elf").is_file():
            print(f"table: {name} has no image; fix: see docs/stacks.md for the script that builds it", file=sys.stderr)
            continue
        sizes, before = SIZES[traffic]
        lengths = [data + before for data in sizes]
        runs = [run(machine, lengths, count) for _ in range(times)]
        runs += [run(machine, lengths, count, qemu) for qemu in qemus]
        if any(other != runs[0] for other in runs):
            die(f"{machine.stem}: its runs differ; fix: name in `kicks` each function that gives work to a device")
        found[machine.stem] = [row(name, traffic, d, l, runs[0][0]) for d, l in zip(sizes, lengths)]
        print("\n".join(found[machine.stem]), flush=True)
    return found


def write(found):
    """Replaces the page's lines of the same stack and traffic."""
    page = PAGE.read_text(encoding="utf-8")
    for stem, lines in found.items():
        name, traffic = stem.rsplit("-", 1)
        start = re.escape(f"| {NAMES[name]} | {traffic.upper()} | ")
        old = re.compile(rf"(?:^{start}.*\n)+", re.MULTILINE)
        page, times = old.subn("\n".join(lines) + "\n", page, count=1)
        if times != 1:
            die(f"{PAGE.name} has no line that begins with '| {NAMES[name]} | {traffic.upper()} |'; fix: add it")
    PAGE.write_text(page, encoding="utf-8")


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--count", type=int, default=512)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--qemu", action="append", default=[], metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in NAMES]
    if unknown:
        die(f"unknown stack '{unknown[0]}'; fix: name one of {', '.join(NAMES)}")
    print("| " + " | ".join(HEAD) + " |")
    found = rows(asked.names, asked.count, asked.runs, asked.qemu)
    if asked.write:
        write(found)


if __name__ == "__main__":
    main()
