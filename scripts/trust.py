#!/usr/bin/env python3
"""Whether a busy host makes wirelab report false figures: the whole datasheet of a `node:`, quiet and beside a load on every
core, round by round. It fails if a figure of the loaded run contradicts the quiet run beyond its stated interval, if a figure
of the quiet run is missing without a reason, or if a trial lost frames that no counter explains.

    make build && sudo scripts/trust.py [--rounds 3] [--quick] [--wirelab FILE] [--keep FOLDER]
    scripts/trust.py --judge FOLDER

The second form only judges the rounds that `--keep` wrote. Node and tester are in private network namespaces
of this machine; nothing leaves it. Exit status: 0 no finding, 1 a finding or a failed run, 2 bad usage.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts/trust"), str(ROOT / "scripts/lib")]

import figures  # noqa: E402
import ledger  # noqa: E402
import load  # noqa: E402

NODE = "198.18.0.1"
# Seconds after which a run is given up, and a loop of the load stops.
LONGEST = 1800


@contextlib.contextmanager
def lab(wirelab):
    """Makes a lab with `wirelab node serve` on its node's side; yields its name."""
    name = f"trust-{os.getpid()}"
    subprocess.run([wirelab, "lab", "up", name], check=True, stdout=subprocess.DEVNULL)
    serve = [wirelab, "lab", "exec", "node", "--name", name, wirelab, "node", "serve", "--listen", NODE, "--json"]
    # A session of its own, as on a machine of its own: a priority of the tester's session must not affect the node.
    node = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if not node.stdout.readline():
            sys.exit("the node did not start; fix: see its error above")
        yield name
    finally:
        node.send_signal(signal.SIGTERM)
        subprocess.run([wirelab, "lab", "down", name], check=False, stdout=subprocess.DEVNULL)
        node.wait(30)


def queues(wirelab, name):
    """The frames to the node that queues of the host have dropped so far. Frames that the tester's interface refuses were never
    sent, and excuse no loss."""
    read = lambda file: subprocess.run(
        [wirelab, "lab", "exec", "node", "--name", name, "cat", file], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    interfaces = ledger.dropped_by_interfaces(read("/proc/net/dev"))
    return interfaces + ledger.dropped_by_processors(read("/proc/net/softnet_stat"))


def measure(wirelab, name, file, quick):
    """One run, into `file`; the drops of the host's queues during it go into a file beside it."""
    before = queues(wirelab, name)
    ask = [wirelab, "lab", "exec", "tester", "--name", name, wirelab, "measure", f"node:{NODE}", "-o", str(file)]
    ran = subprocess.run(ask + (["--quick"] if quick else []), stdout=subprocess.DEVNULL, timeout=LONGEST)
    # A trial that could not be measured is void and fails the run; its page is judged nevertheless.
    if ran.returncode not in (0, 1) or not file.exists():
        sys.exit(f"{file.stem}: measure ended with status {ran.returncode}; fix: see its error above")
    file.with_suffix(".queues").write_text(f"{queues(wirelab, name) - before}\n")


def one_round(wirelab, number, folder, quick):
    """A quiet and a loaded run in the same lab."""
    with lab(wirelab) as name:
        measure(wirelab, name, folder / f"{number}-quiet.json", quick)
        with load.on_every_core(LONGEST):
            measure(wirelab, name, folder / f"{number}-loaded.json", quick)


def page(wirelab, file):
    """The figures of a results file's page."""
    report = [wirelab, "report", str(file), "--format", "datasheet-json"]
    made = subprocess.run(report, stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        sys.exit(f"{file}: the page cannot be made; fix: see the error above")
    return figures.page(json.loads(made.stdout)["sheets"][0])


def are_losses_owned(run, file):
    """Whether a counter shows where each lost frame of a results file was dropped; names the others."""
    kept = file.with_suffix(".queues")
    dropped = int(kept.read_text()) if kept.exists() else 0
    found = ledger.ledger(json.loads(file.read_text())["observations"])
    contradictions = found.contradictions(dropped)
    for loss in contradictions:
        print(f"{run}: {loss}")
    counted = f"{dropped:,} buffers" if kept.exists() else "an unknown number"
    print(
        f"{run}: the node counted what {found.covered} trials lost, and less than {len(found.beyond)} did; "
        f"the host's queues dropped {counted}; {len(contradictions)} losses are unexplained"
    )
    return not contradictions


def are_figures_true(run, quiet, loaded):
    """Whether no figure of a loaded page contradicts the quiet one or is missing; prints those that do."""
    verdict = figures.compare(quiet, loaded)
    for place, ours, theirs in verdict.contradicted:
        print(f"{run}: {place}: loaded {ours}, quiet {theirs}")
    for place, bound in verdict.true_bounds:
        print(f"{run}: {place}: a true bound ({bound})")
    for place, why in verdict.explained:
        print(f"{run}: {place}: not in the loaded run: {why}")
    for place in verdict.unexplained:
        print(f"{run}: {place}: missing in the loaded run, without a reason")
    empty = verdict.empty_sections(quiet)
    print(
        f"{run}: {len(verdict.agree)} figures agree, {len(verdict.true_bounds)} are true bounds, "
        f"{len(verdict.explained)} are missing with a reason, {len(verdict.unexplained)} without, "
        f"{len(verdict.contradicted)} are contradicted"
        + (f"; nothing of {', '.join(empty)}" if empty else "")
    )
    return verdict.holds(quiet)


def is_round_true(wirelab, number, folder):
    """Judge the two runs of a round."""
    files = [folder / f"{number}-{kind}.json" for kind in ("quiet", "loaded")]
    owned = [are_losses_owned(f"round {number}, {file.stem.split('-')[1]}", file) for file in files]
    quiet, loaded = (page(wirelab, file) for file in files)
    return are_figures_true(f"round {number}", quiet, loaded) and all(owned)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="the quick datasheet: two minutes a round")
    parser.add_argument("--wirelab", default=str(ROOT / "target/release/wirelab"))
    parser.add_argument("--keep", type=Path, help="folder for the results files")
    parser.add_argument("--judge", type=Path, metavar="FOLDER", help="only judge the rounds that --keep wrote there")
    args = parser.parse_args()
    if not Path(args.wirelab).is_file():
        parser.error(f"{args.wirelab} does not exist; fix: run `make build`")
    lacking = args.judge and not (args.judge / f"{args.rounds}-loaded.json").is_file()
    if lacking:
        parser.error(f"{args.judge} does not hold {args.rounds} rounds; fix: give their number with --rounds")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.judge or args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        held = []
        for number in range(1, args.rounds + 1):
            if not args.judge:
                one_round(args.wirelab, number, folder, args.quick)
            held.append(is_round_true(args.wirelab, number, folder))
    print(f"{sum(held)} of {len(held)} rounds have no contradicted figure and no unexplained loss")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
