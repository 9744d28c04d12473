"""A figure of a Linux node's driver: the reflector in XDP beside an echo over a UDP socket."""

from statistics import median

import page
from subjects import Void

LEAST_RATIO = 4


def rows(subjects, rounds):
    """One process does all rounds in turn, because it first searches the best load of the UDP echo."""
    words = [subjects.rate.with_name("reflect_rate"), "compare"]
    words += ["--rounds", str(rounds), "--seconds", str(subjects.seconds)]
    return [row(subjects.run("reflector", words))]


def row(found):
    if found["findings"]:
        raise Void(f"reflector: {found['findings']} findings on a clean link: {found}")
    xdp, udp = ([rate / 1e6 for rate in found[key]] for key in ("xdp_per_s", "udp_per_s"))
    load = page.million(found["best_load_per_s"])
    return {
        "what": f"reflector in XDP, length {found['length']}; echo over a UDP socket at its best load",
        "requirement": f"≥ {LEAST_RATIO} ×",
        "goal": "–",
        "ours": page.million(median(xdp) * 1e6),
        "peer": f"{page.million(median(udp) * 1e6)} at a load of {load}, {found['wait']}",
        "ratio": page.ratio(found),
        "verdict": page.verdict(found["ratio"] >= LEAST_RATIO, LEAST_RATIO, None),
        "runs": [("reflector", "M frames/s", xdp), ("UDP socket", "M frames/s", udp)],
    }
