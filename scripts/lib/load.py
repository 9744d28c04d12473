"""Other work for a machine: an endless loop on each core, for measurements of bench and scripts/trust.py."""

import contextlib
import os
import signal
import subprocess
import time


@contextlib.contextmanager
def on_every_core(longest_s):
    """Runs a loop on each core at the usual priority, each in a session of its own; without an earlier end each stops after
    `longest_s` seconds."""
    loops = []
    try:
        for core in sorted(os.sched_getaffinity(0)):
            loop = ["timeout", str(longest_s), "taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]
            loops.append(subprocess.Popen(loop, start_new_session=True, preexec_fn=usual_priority))
        time.sleep(0.5)
        yield
    finally:
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()


def usual_priority():
    os.setpriority(os.PRIO_PROCESS, 0, 0)
