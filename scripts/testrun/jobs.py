"""Runs the commands that suites are made of, beside each other where there are cores, and hands over what they print."""

import queue
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

# How long the output may stay open after the command itself has ended.
DRAIN_SECONDS = 10


@dataclass(frozen=True)
class Job:
    """A command whose output a reader reads. `heading`: the line that tells the reader whose output comes; `tests`: the tests
    of a test binary that it runs, all where none is named."""

    title: str
    command: list
    cwd: str
    env: dict = None
    heading: str = ""
    tests: tuple = ()


@dataclass
class Done:
    """The result of a job: its output, how it ended, how long it took, and what went wrong with the job itself."""

    job: Job
    lines: list = field(default_factory=list)
    status: int = 0
    seconds: float = 0.0
    problem: str = ""


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
    return done


def _gather(process, lines):
    """Puts what a process prints into `lines`; returns whether it is all, or another process still holds the output."""
    got = queue.Queue()

    def pump():
        for line in process.stdout:
            got.put(line.decode("utf-8", "replace"))
        got.put(None)

    threading.Thread(target=pump, daemon=True).start()
    has_ended = False
    while True:
        try:
            # A command may be silent as long as it lives; once it has ended a stray child may hold the pipe.
            line = got.get(timeout=DRAIN_SECONDS)
        except queue.Empty:
            if has_ended:
                return False
            # What it printed last may still be on its way: only a wait that begins after its end tells.
            has_ended = process.poll() is not None
            continue
        if line is None:
            process.stdout.close()
            return True
        lines.append(line)


class Lanes:
    """A number of jobs at a time; a context manager at whose end no job is begun any more."""

    def __init__(self, lanes):
        self.pool = ThreadPoolExecutor(lanes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown(cancel_futures=True)

    def begin(self, jobs):
        """Begins jobs in order; gives the result of each as it ends."""
        futures = [self.pool.submit(run, job) for job in jobs]
        return (future.result() for future in as_completed(futures))
