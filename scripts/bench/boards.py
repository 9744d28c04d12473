"""Figures of emulated boards: the Zynq in QEMU by the wall clock, and the speed of the LPC1768's emulator."""

import json
import os
import re
import subprocess
import sys
import time
from statistics import median

import page
from subjects import TREE, Missing

SCENARIOS = ["prefilled", "copied", "dma-copied", "copied-ahead"]
UDP_GOAL_GBIT_PER_S = 0.9
RUNS = 7


def zynq():
    """One pass of the board's own measurement (firmware/boards/tests/speed.py)."""
    command = ["python3", "-B", "firmware/boards/tests/speed.py", "--json", "--seconds", "5"]
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()
        raise Missing(last[-1] if last else "speed.py failed")
    return json.loads(done.stdout)


def row(what, requirement, goal, ours, shown, met, goal_met, figures, unit):
    return {
        "what": what, "requirement": requirement, "goal": goal or "–", "ours": ours, "peer": "–", "ratio": shown,
        "verdict": page.verdict(met, requirement, goal_met), "runs": [("wirelab", unit, figures)],
    }


def loss_free(run):
    """The highest rate in Gbit/s without any loss, on the board or the host."""
    clean = [r["offered_bits_per_s"] / 1e9 for r in run["rates"] if r["lost"] == 0 and r["dropped_by_host"] == 0]
    return max(clean, default=0.0)


def zynq_rows(passes):
    boots = [run["boot"]["median_s"] for run in passes]
    echoes = [max(echo["took_s"] for echo in run["echo"]) for run in passes]
    lost = [run["packets"]["lost"] + run["packets"]["dropped_by_host"] for run in passes]
    sent = [run["packets"]["packets_per_s"] for run in passes]
    rates = [loss_free(run) for run in passes]
    span = page_range
    return [
        row("board:zynq7000, start to READY", "< 0.5 s", None, f"{median(boots):.3f} s", span(boots, "s"),
            median(boots) < 0.5, None, boots, "s"),
        row("board:zynq7000, 512 echoes one after another, slowest of three lengths", "< 0.1 s", None,
            f"{median(echoes):.3f} s", span(echoes, "s"), median(echoes) < 0.1, None, echoes, "s"),
        row("board:zynq7000, 50,000 packets/s of 64 B: lost", "0", None,
            f"{median(lost):g} at {median(sent):,.0f} packets/s", span(lost, "packets"), median(lost) == 0, None, lost, "packets"),
        row("board:zynq7000, UDP sink, 1470 B, loss-free iperf payload", "≥ 0.5 Gbit/s",
            f"≥ {UDP_GOAL_GBIT_PER_S} Gbit/s", f"{median(rates):.2f} Gbit/s", span(rates, "Gbit/s"),
            median(rates) >= 0.5, median(rates) >= UDP_GOAL_GBIT_PER_S, rates, "Gbit/s"),
    ]


def page_range(figures, unit):
    return f"{min(figures):.3g} to {max(figures):.3g} {unit}, all passes"


def instructions():
    """M instructions/s of the emulated core in its own benchmark, for the slowest program."""
    command = ["cargo", "bench", "--locked", "-p", "wirelab-emulator", "--bench", "core", "--", "--noplot"]
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = re.findall(r"thrpt:\s+\[\S+ \S+ (\S+) ([MGK])elem/s", done.stdout)
    if not found:
        raise Missing("`cargo bench -p wirelab-emulator` printed no figure")
    scale = {"K": 1e-3, "M": 1.0, "G": 1e3}
    return min(float(figure) * scale[prefix] for figure, prefix in found)


def scenarios(wirelab):
    """Seconds of one process that runs all scenarios of the 50-frame run, and verifies every frame."""
    command = [wirelab, "measure", "board:lpc1768", "--length", "1514", "--frames", "50", "--buffers", ",".join(SCENARIOS), "--json"]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - began
    if done.returncode:
        raise Missing(done.stderr.strip().splitlines()[-1])
    good = [flow["counts"]["value"]["good_frames"] for o in json.loads(done.stdout)["observations"] for flow in o["flows"]]
    if good != [50] * len(SCENARIOS):
        raise Missing(f"frames that verified: {good}")
    return took


def rows(subjects, rounds):
    """All rows of boards. A figure that cannot be measured here has a row with the reason."""
    found = []
    for measure in (lambda: zynq_rows([zynq() for _ in range(max(1, rounds // 2))]), emulator_row, lambda: scenario_row(subjects)):
        try:
            found += measure()
        except Missing as why:
            print(f"boards: {why}", file=sys.stderr)
            found.append({
                "what": "emulated boards", "requirement": "–", "goal": "–", "ours": str(why), "peer": "–", "ratio": "–",
                "verdict": "missed", "runs": [],
            })
    return found


def emulator_row():
    figure = instructions()
    return [row("board:lpc1768, instructions per second of the emulated core, slowest program", "≥ 2 M/s", None,
                f"{figure:.1f} M/s", "median of its benchmark", figure >= 2, None, [figure], "M instructions/s")]


def scenario_row(subjects):
    if not os.access(subjects.wirelab, os.X_OK):
        raise Missing("the command line is not built; fix: run `make build`")
    took = [scenarios(subjects.wirelab) for _ in range(RUNS)]
    return [row("board:lpc1768, all scenarios of the 50-frame run, whole process", "< 2 s", None, f"{median(took):.3f} s",
                f"{min(took):.3g} to {max(took):.3g} s", median(took) < 2, None, took, "s")]
