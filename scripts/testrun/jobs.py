"""Runs the commands of suites, in parallel as cores allow, and hands over their output."""

import queue
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

# How long the output may stay open after the command itself has ended.
DRAIN_SECONDS = 10
# The limits of a file of tests, and of the longest job, in seconds.
LIMIT_SECONDS = 15 * 60
LONGEST_SECONDS = 6 * 60 * 60
# The status of timeout(1) after stopping its command, and after killing it.
STOPPED = {124, 128 + 9}
ENDED = re.compile(r"^test (\S+) \.\.\. (?:ok|FAILED|ignored)")
SLOW = re.compile(r"^test (\S+) has been running for over")


@dataclass(frozen=True)
class Job:
    """A command whose output a reader reads. `heading`: the line in front of its output; `tests`: the tests of a test binary
    that it runs, or all; `limit_seconds`: when timeout(1) in the command stops it."""

    title: str
    command: list
    cwd: str
    env: dict = None
    heading: str = ""
    tests: tuple = ()
    limit_seconds: int = 0


@dataclass
class Done:
    """The result of a job: output, status, duration, and the error of the job itself."""

    job: Job
    lines: list = field(default_factory=list)
    status: int = 0
    seconds: float = 0.0
    problem: str = ""


def limited(command, seconds):
    """A command with a time limit; Ctrl-C still reaches it."""
    return ["timeout", "--foreground", "--kill-after=10", str(seconds), *command]


def unended(done):
    """The error of a stopped job: its tests that had begun, or else those that had not ended."""
    ended = {match[1] for line in done.lines if (match := ENDED.match(line))}
    slow = [match[1] for line in done.lines if (match := SLOW.match(line))]
    left = [test for test in slow if test not in ended] or [test for test in done.job.tests if test not in ended]
    return f"stopped, since it did not end within {done.job.limit_seconds / 60:g} minutes: {', '.join(left) or done.job.title}"


def run(job):
    """Runs a job to its end."""
    began, done = time.monotonic(), Done(job)
    try:
        process = subprocess.Popen(
            [*job.command, *(("--exact", *job.tests) if job.tests else ())],
            cwd=job.cwd,
            env=job.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        done.status, done.problem = 1, str(error)
        return done
    if not _gather(process, done.lines):
        done.problem = "a process that the tests started outlives them and holds their output"
    done.status = process.wait()
    done.seconds = time.monotonic() - began
    if done.status in STOPPED and 0 < job.limit_seconds <= done.seconds:
        done.problem = unended(done)
    return done


def _gather(process, lines):
    """Puts the output of a process into `lines`; returns whether it is complete, or another process still holds it open."""
    got = queue.Queue()

    def pump():
        for line in process.stdout:
            got.put(line.decode("utf-8", "replace"))
        got.put(None)

    threading.Thread(target=pump, daemon=True).start()
    has_ended = False
    while True:
        try:
            # A running command may be silent; after its end a stray child may hold the pipe.
            line = got.get(timeout=DRAIN_SECONDS)
        except queue.Empty:
            if has_ended:
                return False
            # Its last lines may still be on their way: only a wait that begins after its end is sure to get them.
            has_ended = process.poll() is not None
            continue
        if line is None:
            process.stdout.close()
            return True
        lines.append(line)


class Lanes:
    """Runs a number of jobs at a time; as a context manager it begins no more jobs at its end."""

    def __init__(self, lanes):
        self.pool = ThreadPoolExecutor(lanes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown(cancel_futures=True)

    def begin(self, jobs):
        """Begins jobs in order; yields the result of each at its end."""
        futures = [self.pool.submit(run, job) for job in jobs]
        return (future.result() for future in as_completed(futures))
