"""The command line of the runner: `run-tests.py [--long] [--suite NAME]`."""

import argparse
import signal
import sys
from pathlib import Path

from . import skips, suites, summary


def run(tree, prefix=(), long=False, only=None, out=print):
    """Runs the suites of a tree, with `prefix` before what needs root; returns the exit status."""
    try:
        features = skips.load(Path(tree, "tests/skips.toml").read_text())
        listed = suites.load(Path(tree, "tests/suites.toml").read_text())
    except (OSError, skips.SkipListError, suites.SuiteError) as error:
        out(f"PROBLEM: {error}")
        return 1
    judge = skips.Judge(features, lambda command: skips.run_probe(command, prefix, tree))
    total = summary.Summary(judge)
    for suite in listed:
        is_cargo = suite["format"] == "cargo"
        if (only and suite["name"] != only) or (long != suite.get("long", False) and not is_cargo):
            continue
        if "needs" in suite and not Path(tree, suite["needs"]).exists():
            continue
        out(f"== {suite['name']}")
        try:
            total.add(suites.run_cargo(tree, long, prefix) if is_cargo else suites.run_plain(suite, tree))
        except (suites.SuiteError, OSError) as error:
            total.problem(f"{suite['name']}: {error}")
    for line in total.lines():
        out(line)
    return 0 if total.ok() else 1


def main():
    """Entry point."""
    parser = argparse.ArgumentParser(description="Runs every test suite and judges what was skipped.")
    parser.add_argument("--long", action="store_true", help="run only the tests behind the feature `long` and the suites marked so")
    parser.add_argument("--suite", help="run only this suite of tests/suites.toml")
    options = parser.parse_args()
    # Through a pipe, too, the runner's words must appear before the suite's.
    sys.stdout.reconfigure(line_buffering=True)
    # Ctrl-C reaches the suite as well, which cleans up; the runner then ends like any interrupted program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    tree = Path(__file__).resolve().parents[2]
    try:
        return run(tree, suites.root_prefix(tree), options.long, options.suite)
    except KeyboardInterrupt:
        print("interrupted; nothing was judged", file=sys.stderr)
        return 130
