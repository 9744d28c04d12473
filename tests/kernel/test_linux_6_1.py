"""Tests of ports and stages on Linux 6.1, the oldest kernel that is supported, in a virtual machine (`make test-long`)."""

import functools
import json
import os
import re
import shutil
import subprocess
import unittest
from itertools import pairwise
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
RUN = TREE / "scripts/kernel/run.sh"
# Without hardware virtualisation a program takes ten times as long as outside.
SECONDS = 1800
LENGTHS = (64, 256, 1024)
# The points that frames pass, by what the node does.
WAYS = {
    "receive": ["wire", "interrupt", "driver", "stack", "socket", "copy", "call", "application"],
    "transmit": ["application", "call", "queue", "driver", "wire"],
}
# Send as fast as they can, which on an emulated machine is faster than its links take frames.
LOSING = ["every_test_frame_comes_back_once_and_whole"]


@functools.cache
def kernel():
    """Whether Linux 6.1 is to be had here."""
    return subprocess.run([TREE / "scripts/kernel/fetch.sh"], stdout=subprocess.DEVNULL, check=False).returncode == 0


@functools.cache
def binaries():
    """Test binaries by package and name, as (path, folder they run in), and the program as a package without a name."""
    command = ["cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    packages = ["-p", "wirelab-port", "-p", "wirelab-stages", "-p", "wirelab"]
    built = subprocess.run([*command, *packages], cwd=TREE, stdout=subprocess.PIPE, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines() if line.startswith(b"{")]
    return {
        (folder.name, m["target"]["name"] if m["profile"]["test"] else None): (m["executable"], folder)
        for m in messages
        if m.get("executable") and (folder := Path(m["manifest_path"]).parent)
    }


def guest(command, folder=TREE):
    """Runs a command on Linux 6.1: (status, standard output, standard error)."""
    env = {**os.environ, "RUST_BACKTRACE": "0"}
    words = [RUN, "--seconds", str(SECONDS), *map(str, command)]
    done = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class OnLinux61(unittest.TestCase):
    """What runs there."""

    def setUp(self):
        if not shutil.which("qemu-system-x86_64"):
            self.without("qemu-x86", "there is no qemu-system-x86_64")
        if not kernel():
            self.without("linux-6.1", "this distribution has no package of Linux 6.1, or it cannot be fetched")

    def without(self, feature, why):
        """Skips in the words that the runner reads."""
        self.skipTest(f"{feature}: {why}")

    def tests_pass(self, package, name, *without):
        """Every test of a binary passes there, but for those that are named; none is skipped for want of anything."""
        path, folder = binaries()[package, name]
        # One after the other: tests beside each other on an emulated machine fill the queues of its links.
        words = ["--test-threads", "1", *(word for test in without for word in ("--skip", test))]
        status, out, error = guest([path, *words], folder)
        self.assertEqual(status, 0, out + error)
        self.assertNotIn("WIRELAB-SKIP", out + error)
        self.assertRegex(out, r"test result: ok\. [1-9]\d* passed; 0 failed")
        left_out = int(re.search(r"(\d+) filtered out", out).group(1))
        self.assertEqual(left_out, len(without), f"{name}: a test that is left out is not there any more")

    def test_the_kernel_is_what_it_is_said_to_be(self):
        status, out, error = guest(["sh", "-c", "uname -r; nproc; test -r /sys/kernel/btf/vmlinux; echo late >&2; exit 7"])
        self.assertEqual((status, error), (7, "late\n"), out)
        self.assertRegex(out, r"^6\.1\.[^\n]*\n2\n$")

    def test_a_command_without_an_end_is_ended(self):
        done = subprocess.run([RUN, "--seconds", "1", "sleep", "1000"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertIn("not done after 1 s", done.stderr)

    def test_the_checker_judges_as_its_reference(self):
        self.tests_pass("port", "xdp_judge")

    def test_the_generator_sends_what_it_should(self):
        self.tests_pass("port", "xdp_frames")

    def test_the_tracker_counts_as_its_reference(self):
        self.tests_pass("port", "xdp_track")

    def test_bad_days_of_the_fast_path(self):
        self.tests_pass("port", "xdp_trouble")

    def test_the_program_of_a_node_does_as_its_references(self):
        self.tests_pass("stages", "node_program")

    def test_both_sets_of_probes_trace(self):
        self.tests_pass("stages", "tracer")

    def test_bad_days_of_tracing(self):
        self.tests_pass("stages", "tracer_trouble")

    def test_the_fast_track(self):
        self.tests_pass("stages", "fast_track")

    def test_bad_days_of_the_fast_track(self):
        self.tests_pass("stages", "trouble")

    def stages_of(self, probes):
        """The stages that frames pass, both ways, of each length."""
        words = ["stages", "lab:", "--length", ",".join(map(str, LENGTHS)), "--count", "512", "--probes", probes, "--json"]
        status, out, error = guest([binaries()["wirelab", None][0], *words])
        # A loss is a finding and ends with 1; the times of the other frames are there.
        self.assertIn(status, (0, 1), error)
        rows = [row for row in json.loads(out)["stages"] if not row["cumulated"] and row.get("probes") == probes]
        for row in rows:
            self.assertGreater(row["count"], 0, row)
        return {
            (length, way): [(r["from"], r["to"]) for r in rows if (r["length_bytes"], r["direction"]) == (length, way)]
            for length in LENGTHS
            for way in WAYS
        }

    def test_stages_by_functions_of_the_kernel(self):
        steps = {(length, way): list(pairwise(points)) for length in LENGTHS for way, points in WAYS.items()}
        self.assertEqual(self.stages_of("fentry"), steps)

    def test_stages_by_raw_tracepoints(self):
        # Without the tracepoint sk_data_ready, the waking of a sleeping reader stands in, and frames that wake
        # nobody have no time at `socket`: whether there are stages around it is a matter of the machine's speed.
        without = {way: [point for point in points if point != "socket"] for way, points in WAYS.items()}
        for (length, way), found in self.stages_of("raw").items():
            possible = (list(pairwise(WAYS[way])), list(pairwise(without[way])))
            self.assertIn(found, possible, f"length {length}, {way}")

    def test_the_reflector(self):
        self.tests_pass("stages", "reflector", *LOSING)


if __name__ == "__main__":
    unittest.main()
