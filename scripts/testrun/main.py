"""The command line of the runner: `run-tests.py [--long] [--suite NAME]… [--without NAME]…`."""

import argparse
import contextlib
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import machine

from . import again, jobs, skips, suites, summary


def chosen(listed, tree, long, only, without=()):
    """The suites to run: (those with a command of their own, the one of cargo or None)."""
    listed = [suite for suite in listed if suite["name"] not in without]
    there = [suite for suite in listed if "needs" not in suite or Path(tree, suite["needs"]).exists()]
    there = [suite for suite in there if not only or suite["name"] in only]
    plain = [suite for suite in there if suite["format"] != "cargo" and suite.get("long", False) in (long, "too")]
    return plain, next((suite for suite in there if suite["format"] == "cargo"), None)


class Show:
    """Reads the results of jobs and shows them, one job at a time; the counts go to a summary."""

    def __init__(self, total, out):
        self.total, self.out = total, out
        self.one = threading.Lock()

    def job(self, done, reader, last=False):
        """Takes one job of a reader's suite, and counts the suite after the last one."""
        title = done.job.title
        with self.one:
            self.out(f"== {title} ({done.seconds:.1f} s)")
            for line in (done.job.heading, *done.lines):
                if line and reader.feed(line):
                    self.out(line.rstrip("\n"))
            if last:
                reader.finish()
            reader.ended(title, done.status)
            if done.problem:
                self.total.problem(f"{title}: {done.problem}")
            self.total.took(title, done.seconds)
            if last:
                self.total.add(reader.tallies)

    def passed_alone(self, title, test):
        """Takes a test that failed beside others and passed alone."""
        with self.one:
            self.total.passed_alone(title, test)

    def problem(self, text):
        """Takes a problem outside of the tests."""
        with self.one:
            self.total.problem(text)


def show_plain(pool, plain, tree, show):
    """Begins suites of one job each, and returns the function that shows each at its end."""
    readers = {suite["name"]: suites.reader(suite) for suite in plain}
    ended = pool.begin([suites.job(suite, tree) for suite in plain])

    def each():
        for done in ended:
            show.job(done, readers[done.job.title], last=True)

    return each


def lanes_for(cores, others):
    """How many jobs run at a time: two a core, because most wait longer than they work; one beside other work."""
    return 2 * cores if others < cores / 4 else cores


def run_all(tree, plain, rust, show, prefix, long):
    """First runs the suites that must be alone; if one allows it, the build of the Rust tests begins beside it. Then finishes
    the build beside the other suites, and runs the Rust tests, some at a time."""
    # Tests of hours, of a hundred million frames or on an emulated machine, run alone.
    at_a_time = 1 if long else lanes_for(len(os.sched_getaffinity(0)), machine.used_now(0.5))
    show.out(f"tests: {at_a_time} files of Rust tests run at a time")
    # An interrupted run first drops the jobs that have not begun, then waits for the others.
    with ThreadPoolExecutor(1) as other, jobs.Lanes(1) as side, jobs.Lanes(at_a_time) as lanes:
        alone = [suite for suite in plain if suite.get("alone", False)]
        for suite in alone:
            with suites.begun(rust, tree) if rust and suite.get("build", False) else contextlib.nullcontext():
                show_plain(side, [suite], tree, show)()
        rest = other.submit(show_plain(side, [suite for suite in plain if suite not in alone], tree, show))
        if long:
            rest.result()
        try:
            reader, todo = suites.rust(rust, tree, long, prefix) if rust else (None, [])
        except (suites.SuiteError, OSError) as error:
            show.problem(f"rust: {error}")
            todo = []
        left, failed = len(todo), []
        for done in lanes.begin(todo):
            if again.tests_of(done):
                failed.append(done)
                continue
            left -= 1
            show.job(done, reader, last=left == 0)
        rest.result()
    for done in again.alone(failed, show.passed_alone):
        left -= 1
        show.job(done, reader, last=left == 0)


def run(tree, prefix=(), long=False, only=(), without=(), out=print):
    """Runs the suites of a tree, with `prefix` before commands that need root; returns the exit status."""
    try:
        features = skips.load(Path(tree, "tests/skips.toml").read_text())
        listed = suites.load(Path(tree, "tests/suites.toml").read_text())
    except (OSError, skips.SkipListError, suites.SuiteError) as error:
        out(f"PROBLEM: {error}")
        return 1
    judge = skips.Judge(features, lambda command: skips.run_probe(command, prefix, tree))
    total = summary.Summary(judge)
    unknown = sorted({*(only or ()), *(without or ())} - {suite["name"] for suite in listed})
    if unknown:
        out(f"PROBLEM: no suite {', '.join(unknown)}; fix: name suites of tests/suites.toml")
        return 1
    plain, rust = chosen(listed, tree, long, only, without or ())
    run_all(tree, plain, rust, Show(total, out), prefix, long)
    for line in total.lines():
        out(line)
    return 0 if total.ok() else 1


def main():
    """Entry point."""
    parser = argparse.ArgumentParser(description="Runs every test suite and judges what was skipped.")
    parser.add_argument("--long", action="store_true", help="run only what tests/suites.toml leaves out of the ordinary run")
    parser.add_argument("--suite", action="append", help="run only this suite of tests/suites.toml; more may be named")
    parser.add_argument("--without", action="append", help="leave this suite out; more may be named")
    options = parser.parse_args()
    # The runner's lines must appear before the suite's in a pipe, too.
    sys.stdout.reconfigure(line_buffering=True)
    # Ctrl-C reaches the suite as well, which cleans up; the runner then ends like any interrupted program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    tree = Path(__file__).resolve().parents[2]
    try:
        return run(tree, suites.root_prefix(tree), options.long, options.suite, options.without)
    except KeyboardInterrupt:
        print("interrupted; nothing was judged", file=sys.stderr)
        return 130
