"""Tests of ports and stages on Linux 6.1, the oldest supported kernel, in a virtual machine (`make test-long`)."""

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
# A prime number of frames is requested in one block. Each block attaches and detaches probes, and on an emulated machine the
# kernel takes seconds to detach them.
COUNT = 127
# The points that frames pass, by what the node does.
WAYS = {
    "receive": ["wire", "interrupt", "driver", "stack", "socket", "copy", "call", "application"],
    "transmit": ["application", "call", "queue", "driver", "wire"],
}

# Runs a command, and prints a histogram of the frames dropped at XDP's hand-over to a driver.
COUNT_DROPS = r"""
tracing=/sys/kernel/tracing
mount -t tracefs tracefs $tracing
for name in xdp_bulk_tx xdp_devmap_xmit; do echo hist:keys=drops >$tracing/events/xdp/$name/trigger; done
echo hist:keys=act >$tracing/events/xdp/xdp_exception/trigger
"$@" || exit
for name in xdp_bulk_tx xdp_devmap_xmit xdp_exception; do
    sed -nE "s/^\{ (drops|act): *([0-9]+) \} hitcount: *([0-9]+)$/$name \2 \3/p" $tracing/events/xdp/$name/hist
done
"""


@functools.cache
def kernel():
    """Whether Linux 6.1 is available here."""
    return subprocess.run([TREE / "scripts/kernel/fetch.sh"], stdout=subprocess.DEVNULL, check=False).returncode == 0


@functools.cache
def binaries():
    """Test binaries by package and name, and programs by package and "run NAME": (path, folder they run in)."""
    command = ["cargo", "test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    packages = ["-p", "wirelab-port", "-p", "wirelab-stages", "-p", "wirelab"]
    built = subprocess.run([*command, *packages], cwd=TREE, stdout=subprocess.PIPE, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines() if line.startswith(b"{")]
    return {
        (folder.name, ("" if m["profile"]["test"] else "run ") + m["target"]["name"]): (m["executable"], folder)
        for m in messages
        if m.get("executable") and (folder := Path(m["manifest_path"]).parent)
    }


def guest(command, folder=TREE):
    """Runs a command on Linux 6.1: (status, standard output, standard error)."""
    env = {**os.environ, "RUST_BACKTRACE": "0"}
    words = [RUN, "--seconds", str(SECONDS), *map(str, command)]
    done = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def needs_linux_6_1(test):
    """Skips a test that cannot run here, with the reason in the runner's format."""
    for there, feature, why in (
        (shutil.which("qemu-system-x86_64"), "qemu-x86", "there is no qemu-system-x86_64"),
        (kernel(), "linux-6.1", "this distribution has no package of Linux 6.1, or it cannot be fetched"),
    ):
        if not there:
            test.skipTest(f"{feature}: {why}")


class OnLinux61(unittest.TestCase):
    """The tests on Linux 6.1."""

    def setUp(self):
        needs_linux_6_1(self)

    def tests_pass(self, package, module):
        """Every test of a module of a crate's tests passes on Linux 6.1, and none is skipped."""
        path, folder = binaries()[package, "all"]
        asked = subprocess.run([path, "--list", "--format", "terse", f"{module}::"], stdout=subprocess.PIPE, text=True, check=True)
        count = asked.stdout.count(": test\n")
        self.assertGreater(count, 0)
        # One after the other: tests beside each other on an emulated machine fill the queues of its links.
        status, out, error = guest([path, "--test-threads", "1", f"{module}::"], folder)
        self.assertEqual(status, 0, out + error)
        self.assertNotIn("WIRELAB-SKIP", out + error)
        self.assertRegex(out, rf"test result: ok\. {count} passed; 0 failed; 0 ignored; ")

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

    def test_no_frame_is_lost_or_counted_twice_under_load(self):
        self.tests_pass("stages", "tracer_load")

    def test_steered_receive_work_and_frames_that_nobody_traced(self):
        self.tests_pass("stages", "tracer_steered")

    def test_bad_days_of_tracing(self):
        self.tests_pass("stages", "tracer_trouble")

    def test_the_fast_track(self):
        self.tests_pass("stages", "fast_track")

    def test_bad_days_of_the_fast_track(self):
        self.tests_pass("stages", "trouble")

    def stages_of(self, probes):
        """The stages that frames pass in both directions, of each length."""
        words = ["stages", "lab:", "--length", ",".join(map(str, LENGTHS)), "--count", str(COUNT), "--probes", probes, "--json"]
        status, out, error = guest([binaries()["wirelab", "run wirelab"][0], *words])
        # A loss is a finding and ends with 1; the results have the times of the other frames.
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
        # Without the tracepoint sk_data_ready, the wake-up of a sleeping reader replaces it. Frames without a wake-up have no
        # time at `socket`, so the stages around it depend on the machine's speed.
        without = {way: [point for point in points if point != "socket"] for way, points in WAYS.items()}
        for (length, way), found in self.stages_of("raw").items():
            possible = (list(pairwise(WAYS[way])), list(pairwise(without[way])))
            self.assertIn(found, possible, f"length {length}, {way}")

    def test_the_reflector(self):
        self.tests_pass("stages", "reflector")

    def test_what_a_flooded_reflector_does_not_send_back_never_reached_it(self):
        """At the tester's highest rate the ring of the link drops frames, and the reflector drops none."""
        program = binaries()["stages", "run reflect_rate"][0]
        status, out, error = guest(["sh", "-c", COUNT_DROPS, "sh", program, "xdp", "--seconds", "1"])
        self.assertEqual(status, 0, out + error)
        said = json.loads(out.splitlines()[0])
        drops = {name: 0 for name in ("xdp_bulk_tx", "xdp_devmap_xmit", "xdp_exception")}
        hits = dict(drops)
        for name, times, calls in re.findall(r"^(\w+) (\d+) (\d+)$", out, re.M):
            drops[name] += int(times) * int(calls)
            hits[name] += int(calls)
        # The reflector's frames leave by one function, the tester's by the other.
        self.assertGreater(min(hits["xdp_bulk_tx"], hits["xdp_devmap_xmit"]), 0, out)
        self.assertEqual((drops["xdp_bulk_tx"], hits["xdp_exception"], said["findings"]), (0, 0, 0), out)
        self.assertEqual(said["sent_frames"] - said["good_frames"], drops["xdp_devmap_xmit"], out)


if __name__ == "__main__":
    unittest.main()
