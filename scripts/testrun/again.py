"""Runs Rust tests that failed beside others once more, alone: a busy host delays the events that a test waits for.

A test that fails twice has failed. One that passes alone has passed, and the last lines of the run name it. If many fail, the
host is not the reason, and none is run again.
"""

import re
from dataclasses import replace

from . import jobs

# Most tests that are run again.
MOST = 12
FAILED = re.compile(r"^test (?P<test>\S+) \.\.\. FAILED$")
RESULT = re.compile(r"^test result: FAILED\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<rest>.*)$")


def tests_of(done):
    """The failed tests of a test binary; none if the binary did not end as usual after failed tests."""
    tests = [match["test"] for line in done.lines if (match := FAILED.match(line.rstrip("\n")))]
    result = [match for line in done.lines if (match := RESULT.match(line.rstrip("\n")))]
    whole = len(result) == 1 and int(result[0]["failed"]) == len(tests) and not done.problem
    return tests if done.status != 0 and done.job.heading and whole else []


def alone(failed, passed_alone, run=jobs.run):
    """Yields each failed job as it counts after its tests ran alone; `passed_alone` gets the tests that passed."""
    few = sum(len(tests_of(done)) for done in failed) <= MOST
    for done in failed:
        yield _once_more(done, passed_alone, run) if few else done


def _once_more(done, passed_alone, run):
    tests = tests_of(done)
    passed = set()
    for test in tests:
        job = replace(done.job, tests=(test,))
        second = run(job)
        # A name that chooses nothing passes too.
        ran = any(line.startswith(f"test {test} ... ok") for line in second.lines)
        if second.status == 0 and ran and not second.problem:
            passed.add(test)
            passed_alone(done.job.title, test)
    if not passed:
        return done
    return replace(done, lines=_counted(done.lines, passed), status=0 if len(passed) == len(tests) else done.status)


def _counted(lines, passed):
    """The output of a test binary with these tests as passed; their output stays, without a test."""
    out = []
    for line in lines:
        match = FAILED.match(line.rstrip("\n"))
        if match and match["test"] in passed:
            line = f"test {match['test']} ... ok, alone\n"
        elif match := RESULT.match(line.rstrip("\n")):
            left = int(match["failed"]) - len(passed)
            word = "FAILED" if left else "ok"
            count = int(match["passed"]) + len(passed)
            line = f"test result: {word}. {count} passed; {left} failed; {match['rest']}\n"
        out.append(line)
    return out
