"""The measured subjects: each function runs a command once and returns its figure.

A run that is not clean raises Void, which stops the bench instead of entering an average.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from machine import first_line, simpy_version

TREE = Path(__file__).resolve().parents[2]
# All subjects have the same high priority, so that other processes disturb them equally and little. If the kernel groups
# processes by session (autogroup, sched(7)), the group's priority counts.
PRIORITY = [
    "setsid", "--wait", "sh", "-c",
    'echo -20 2>/dev/null >/proc/self/autogroup; exec nice -n -20 "$@"', "sh",
]


def at_usual():
    """Restores the usual priority, whatever the bench has set."""
    return ["setsid", "--wait", "nice", "-n", str(-os.getpriority(os.PRIO_PROCESS, 0))]


class Void(Exception):
    """A run whose figure must not be used."""


class Missing(Exception):
    """A subject that this machine cannot run, and why."""


class Subjects:
    """Commands of one machine; `commands` keeps each command line, for the page."""

    def __init__(self, target, folder, seconds):
        self.rate = Path(target, "release/examples/rate")
        self.wirelab = Path(target, "release/wirelab")
        self.folder = Path(folder)
        self.seconds = seconds
        self.trafficgen = "xdp-trafficgen"
        self.commands = {}
        self.remarks = {}

    def run(self, name, words, root=True, usual=False):
        """Runs a command that prints one line of JSON; at the usual priority if requested."""
        self.commands.setdefault(name, shown(words))
        prefix = [TREE / "scripts/as-root.sh", *(at_usual() if usual else PRIORITY)] if root else []
        done = subprocess.run([*prefix, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise Void(f"{shown(words)}: {done.stderr.strip() or done.returncode}")
        return json.loads(done.stdout)

    def own(self, name, path, length, more=()):
        """One run of wirelab's own generator and checker."""
        words = [self.rate, path, "--length", str(length), "--seconds", str(self.seconds), "--cpu", "0", *more]
        found = self.run(name, words)
        if found["findings"] or not found["sender_time"]:
            raise Void(f"{shown(words)}: {found['findings']} findings on a clean link: {found}")
        if found["missed_frames"]:
            share = found["missed_frames"] / found["sent_frames"]
            self.remarks.setdefault(name, []).append(share)
        return found

    def fast(self, length):
        return self.own(f"fast path, length {length}", "fast", length)

    def portable(self, length):
        return self.own(f"portable path, length {length}", "portable", length, ["--check-cpu", "1"])

    def peer(self, name, command, more=()):
        words = [self.rate, "peer", "--seconds", str(self.seconds), *more, "--", "taskset", "-c", "0", *command]
        found = self.run(name, words)
        if "failed" in found:
            raise Missing(found["failed"])
        return found["frames_per_s"]

    def trafgen(self, length, taker="nobody", more=()):
        """The fastest setting of trafgen: TX ring, qdisc bypassed (its default), no statistics, one process.

        `more` is the command's part for the receiver at the far end, `taker` the receiver's name.
        """
        if not shutil.which("trafgen"):
            raise Missing("trafgen is not installed; fix: run `sudo apt-get install netsniff-ng`")
        config = self.folder / f"trafgen-{length}.cfg"
        # One constant frame, of an EtherType that nothing receives.
        config.write_text(f"{{ 0x02,0,0,0,0,2, 0x02,0,0,0,0,1, 0x88,0xb6, fill(0x5a,{length - 14}) }}\n")
        command = ["trafgen", "-o", "{port}", "-i", str(config), "-P", "1", "-C"]
        return self.peer(f"trafgen, length {length}, taken by {taker}", command, more)

    def xdp_trafficgen(self, sink):
        """UDP over IPv6 in its smallest frame; the far end drops and counts in XDP."""
        if not shutil.which(self.trafficgen):
            raise Missing("xdp-trafficgen is not installed; fix: run `sudo apt-get install xdp-tools`")
        command = [self.trafficgen, "udp", "-m", "{destination}", "-M", "{source}", "-t", "1", "{port}"]
        try:
            return self.peer("xdp-trafficgen", command, ["--sink", str(sink)])
        except Missing as why:
            version = first_line(self.trafficgen, "udp", "--version")
            raise Missing(f"does not work on this kernel ({version}): {why}") from None

    def simulation(self):
        """The two-stage pipeline in the simulation of node models, on one core."""
        words = ["taskset", "-c", "0", self.rate.parent / "events", "--seconds", str(self.seconds)]
        return self.run("simulation", words, root=False)

    def simpy(self):
        """The same pipeline in SimPy, on the same core."""
        python = TREE / f".cache/tools/simpy-{simpy_version()}/bin/python3"
        if not Path(python.parent.parent, "complete").is_file():
            raise Missing("SimPy is not installed; fix: run `scripts/setup.sh bench`")
        words = ["taskset", "-c", "0", python, TREE / "scripts/bench/simpy_pipeline.py", str(self.seconds)]
        return self.run("SimPy", words, root=False)

    def whatif(self):
        """Every change, and pairs of the best, on each path of every node model; returns the slowest list."""
        return self.run("whatif", [self.rate.parent / "whatif"], root=False)

    def limits(self):
        """Seconds of one whole process."""
        self.have_wirelab()
        words = [self.wirelab, "limits", "--rate", "100M", "--payload", "46,1500"]
        return self.timed("limits", words)

    def capture(self, length, size):
        """Puts a capture into the page cache; returns its path and bytes."""
        path = self.folder / f"capture-{length}.pcapng"
        words = [self.rate, "capture", "--length", str(length), "--bytes", str(size), path]
        made = self.run(f"capture, length {length}", words, root=False)
        path.read_bytes()
        return path, made["bytes"]

    def verify(self, length, path):
        """Seconds of one whole process that verifies a capture."""
        command = [self.wirelab, "verify"] if self.can("verify") else [self.rate, "verify"]
        return self.timed(f"verify, length {length}", [*command, path])

    def report(self, observations):
        """Seconds of one whole process that shows a results file of so many observations; the number of rows is checked."""
        path = self.folder / f"observations-{observations}.json"
        if not path.exists():
            file = json.loads((TREE / "spec/examples/ports.json").read_text())
            first = file["observations"][0]
            file["observations"], file["parts"] = [first] * observations, []
            path.write_text(json.dumps(file))
        words = [self.wirelab, "report", path, "--trials"]
        took, said = self.timed_output(f"report of {observations} observations", words)
        if said.count("\n") < observations:
            raise Void(f"{shown(words)}: {said.count(chr(10))} lines of {observations} observations")
        return took

    def timed(self, name, words):
        return self.timed_output(name, words)[0]

    def timed_output(self, name, words):
        """Seconds of one whole process, and its output."""
        self.commands.setdefault(name, shown(words))
        begun = time.perf_counter()
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        took = time.perf_counter() - begun
        if done.returncode:
            raise Void(f"{shown(words)}: {done.stderr.strip() or done.returncode}")
        return took, done.stdout

    def can(self, command):
        """Whether the command line is built and has this command."""
        if not self.wirelab.is_file():
            return False
        help_asked = [self.wirelab, command, "--help"]
        return subprocess.run(help_asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def have_wirelab(self):
        if not self.can("limits"):
            raise Missing("the command line is not built; fix: run `make build`")


def shown(words):
    """The command line as a user would type it in the tree."""
    text = " ".join(str(word) for word in words)
    for old, new in ((f"{TREE}/", ""), ("\n", " ")):
        text = text.replace(old, new)
    return text
