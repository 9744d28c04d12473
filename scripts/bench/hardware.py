"""The wall-clock speed of simulated hardware."""

import json
import re
import subprocess
import sys
from statistics import median

import page
from subjects import TREE, Missing, Void, shown

LEAST_MILLION_CLOCKS_PER_S = 2
MOST_SWEEP_S = 8
LENGTHS, FRAMES = (64, 256, 1024), 512
TABLE = ["stages", "hdl:reference", "--mac", "lite-device", "--length", ",".join(map(str, LENGTHS)), "--count", str(FRAMES), "--json"]
FAST_TRACK = ["--fast-track", "port=1026"]
MOST_TABLE_S, MOST_BOTH_S = 60, 120


def printed(subjects, name):
    """The output of an example of crates/hdl."""
    tool = subjects.rate.with_name(name)
    if not tool.is_file():
        raise Missing("the hardware tools are not installed; fix: run `make setup bench`")
    subjects.commands.setdefault(f"hardware, {name}", shown([tool]))
    done = subprocess.run([tool], cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Void(f"{shown([tool])}: {(done.stderr.strip() or done.stdout.strip() or 'no word').splitlines()[-1]}")
    return done.stdout


def clocks(text):
    """Million clocks per second of the reference node, the slower of idle and echoing. A run without echoes is void."""
    found = dict(re.findall(r"(idle|echoing): (\d+\.\d+) million clocks/s", text))
    echoes = re.search(r"echoing: .* (\d+) echoes", text)
    if set(found) != {"idle", "echoing"} or int(echoes[1]) == 0:
        raise Void(f"reference_speed: {text.strip() or 'no word'}")
    return min(float(figure) for figure in found.values())


def sweep(text):
    """Seconds of the sweep of the Ethernet FMC; all of its trials passed."""
    found = re.search(r"all five: +(\d+\.\d+) s", text)
    if not found:
        raise Void(f"sweep: {text.strip() or 'no word'}")
    return float(found[1])


def table(subjects, more=()):
    """Seconds of one process that measures the document's Table I with one attachment."""
    subjects.have_wirelab()
    words = [subjects.wirelab, *TABLE, *more]
    took, said = subjects.timed_output("hardware, Table I" + (", and past the stack" if more else ""), words)
    counts = {(row.get("path"), row["length_bytes"], row["count"]) for row in json.loads(said)["stages"]}
    paths = ("stack", "fast-track") if more else (None, )
    if counts != {(path, length, FRAMES) for path in paths for length in LENGTHS}:
        raise Void(f"{shown(words)}: paths, lengths and frames were {sorted(counts, key=str)}")
    return took


def row(what, requirement, figures, unit, met):
    figure = median(figures)
    span = f"{min(figures):.3g} to {max(figures):.3g} {unit}, all passes" if len(figures) > 1 else "one pass"
    return {
        "what": what, "requirement": requirement, "goal": "–", "ours": f"{figure:.3g} {unit}", "peer": "–", "ratio": span,
        "verdict": page.verdict(met(figure), requirement, None), "runs": [("wirelab", unit, figures)],
    }


def rows(subjects, rounds):
    """All rows. A figure that cannot be measured here has a row with the reason."""
    passes = range(max(1, rounds // 2))
    wanted = [
        ("hdl:reference, clocks per second, the slower of idle and echoing", f"≥ {LEAST_MILLION_CLOCKS_PER_S} M/s", "M clocks/s",
         lambda: [clocks(printed(subjects, "reference_speed")) for _ in passes], lambda rate: rate >= LEAST_MILLION_CLOCKS_PER_S),
        ("hdl:4, the sweep: 2,000 frames a port, five payloads", f"< {MOST_SWEEP_S} s", "s",
         lambda: [sweep(printed(subjects, "sweep")) for _ in passes], lambda took: took < MOST_SWEEP_S),
        ("hdl:reference, Table I, 512 frames of three lengths, whole process", f"< {MOST_TABLE_S} s", "s",
         lambda: [table(subjects)], lambda took: took < MOST_TABLE_S),
        ("the same, and the fast track", f"< {MOST_BOTH_S} s", "s",
         lambda: [table(subjects, FAST_TRACK)], lambda took: took < MOST_BOTH_S),
    ]
    found = []
    for what, requirement, unit, measure, met in wanted:
        try:
            found.append(row(what, requirement, measure(), unit, met))
        except Missing as why:
            print(f"hardware: {why}", file=sys.stderr)
            found.append({
                "what": what, "requirement": requirement, "goal": "–", "ours": str(why), "peer": "–", "ratio": "–",
                "verdict": "missed", "runs": [],
            })
    return found
