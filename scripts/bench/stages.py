"""Figures of a Linux node's inside: the cost of a point, and the fast track compared with the stack, alone and with a
background load."""

import json
import subprocess
from statistics import median

import page
from subjects import PRIORITY, TREE, Missing, Void, shown

LENGTH = 64
COUNT = 512
RULE = "port=1026"
# Points that frames pass, without those at system calls.
CALLS = ("call", "copy", "application", "wire")
MOST_NS, MOST_OF_STACK = 150, 0.5


def measure(subjects, background):
    """The table of a process that measures both paths in turn."""
    subjects.have_wirelab()
    words = [subjects.wirelab, "stages", "lab:", "--length", str(LENGTH), "--count", str(COUNT), "--wait", "spin"]
    words += ["--fast-track", RULE, *(["--background", "half"] if background else []), "--json"]
    subjects.commands.setdefault("stages" + (", beside a background" if background else ""), shown(words))
    prefix = [TREE / "scripts/as-root.sh", *PRIORITY]
    done = subprocess.run([*prefix, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Missing(f"{shown(words)}: {(done.stderr.strip() or 'no word').splitlines()[-1]}")
    return json.loads(done.stdout)


def ways(table, background=False):
    """From the driver to the application, spinning, in µs: (median, p99) of the stack and of the fast track."""
    found = {}
    for row in table["stages"]:
        is_it = (row["from"], row["to"], row["direction"], row.get("wait")) == ("driver", "application", "receive", "spin")
        # Rows without a path are of the node's points alone; rows without probes are the cost of measuring.
        path = row.get("path")
        if is_it and path and row.get("probes") != "off" and bool(row.get("background")) == background:
            found[path] = (row["median_ticks"] * row["tick_ps"] / 1e6, row["p99_ticks"] * row["tick_ps"] / 1e6)
    if set(found) != {"stack", "fast-track"}:
        raise Void(f"stages: driver to application was measured only of {sorted(found) or 'no path'}")
    return found["stack"], found["fast-track"]


def costs(table, at="warm"):
    """The cost of each packet stage in ns at the median, with a warm node or in the trials (`trial`)."""
    told = (table.get("measuring") or {}).get("costs", [])
    points = {cost["point"]: cost["median_ns"] for cost in told if cost["at"] == at}
    return {point: ns for point, ns in points.items() if point.rsplit(".", 1)[-1] not in CALLS}


def rows(paired, subjects, rounds):
    """Alone and beside a background in turn; `paired` gives the ratio of medians and its interval. A figure that cannot be
    measured here has a row with the reason."""
    alone, beside = [], []
    try:
        for number in range(rounds):
            order = [(alone, False), (beside, True)]
            for runs, background in order[:: -1 if number % 2 else 1]:
                runs.append(measure(subjects, background))
    except Missing as why:
        return [no_row(str(why))]
    return [cost_row(paired, [costs(t) for t in alone], [costs(t, "trial") for t in alone]), *way_rows(paired, "", [ways(t) for t in alone], MOST_OF_STACK, False),
            *way_rows(paired, ", beside a background of half the stack's loss-free rate", [ways(t, True) for t in beside], 1, True)]


def no_row(why):
    return {
        "what": "stages of a Linux node", "requirement": "–", "goal": "–", "ours": why, "peer": "–", "ratio": "–",
        "verdict": "missed", "runs": [],
    }


def cost_row(paired, runs, cold):
    """The slowest packet stage of a warm node decides. At the low load of the trials caches are cold; that cost is shown as
    well."""
    if not all(runs):
        return no_row("no trial reports the cost of its points on a warm node")
    slowest = [max(run.values()) for run in runs]
    points = sorted(runs[0])
    ratio = paired([(ns, MOST_NS) for ns in slowest])
    beside = [run for run in cold if run]
    told = f"; {median(max(run.values()) for run in beside):.0f} ns at the load of the trials" if beside else ""
    return {
        "what": f"reading a packet stage, the slowest of {', '.join(points)}, on a warm node", "requirement": f"< {MOST_NS} ns",
        "goal": "–", "ours": f"{median(slowest):.0f} ns{told}", "peer": "–",
        "ratio": f"{ratio['low'] * MOST_NS:.0f} to {ratio['high'] * MOST_NS:.0f} ns",
        "verdict": page.verdict(median(slowest) < MOST_NS, MOST_NS, None),
        "runs": [
            (f"{point}{where}", "ns", [run[point] for run in all_of if point in run])
            for where, all_of in (("", runs), (", at the load of the trials", beside))
            for point in points
            if any(point in run for run in all_of)
        ],
    }


def way_rows(paired, beside, runs, limit, with_p99):
    """The fast track's time over the stack's, at the median and, if requested, at p99."""
    rows = []
    for at, what in [(0, "median"), *([(1, "p99")] if with_p99 else [])]:
        stack, fast = ([run[way][at] for run in runs] for way in (0, 1))
        ratio = paired(list(zip(fast, stack)))
        rows.append({
            "what": f"fast track, driver to application, length {LENGTH}, both spin{beside}, {what}; the stack's",
            "requirement": f"≤ {limit} ×", "goal": "–", "ours": f"{median(fast):.3g} µs",
            "peer": f"{median(stack):.3g} µs", "ratio": page.ratio(ratio),
            "verdict": page.verdict(ratio["ratio"] <= limit, limit, None),
            "runs": [("fast track", "µs", fast), ("stack", "µs", stack)],
        })
    return rows
