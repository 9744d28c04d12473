"""Time stamps of a card on Linux 6.1 in a virtual machine (`make test-long`): the card is a kernel module, which stamps every
frame by a clock of its own, or only frames of PTP."""

import functools
import json
import subprocess
import tempfile
import unittest

from test_linux_6_1 import TREE, guest, needs_linux_6_1

CARD = TREE / "tests/kernel/card"
ON, OFF = [1, 1], [0, 0]


@functools.cache
def program():
    """The path of wirelab's build."""
    command = ["cargo", "build", "--locked", "-p", "wirelab", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines() if line.startswith(b"{")]
    return next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "wirelab")


class Stamps(unittest.TestCase):
    """The results of wirelab by the card's clock, and the card's settings afterwards."""

    def setUp(self):
        needs_linux_6_1(self)

    def seen(self, *options):
        """The results of guest.py."""
        with tempfile.TemporaryDirectory(prefix="wirelab-card-") as folder:
            built = subprocess.run([TREE / "scripts/kernel/module.sh", CARD / "card.c", folder], stdout=subprocess.PIPE, text=True, check=False)
            if built.returncode:
                self.fail("the card does not compile; its output is above")
            status, out, error = guest(["python3", "-B", CARD / "guest.py", program(), built.stdout.strip(), *options])
        self.assertEqual(status, 0, out + error)
        return json.loads(out)

    def stamped(self, results):
        """The set-up's value for the tester's stamps, and the path of the flow."""
        (observation,) = results["observations"]
        text = json.dumps(observation)
        return observation["node"]["setup"]["tester_stamps"], text

    def test_a_card_stamps_echoes_and_arrivals_and_is_left_as_it_was(self):
        seen = self.seen()
        for run, path in (("echo", "sendings by the hardware"), ("sent by the node", "arrivals by the hardware")):
            stamps, text = self.stamped(seen[run])
            self.assertEqual(stamps, "by the card of card0 (/dev/ptp0)")
            self.assertIn(path, text)
        # The settings of the node's own card.
        self.assertEqual(seen["echo"]["observations"][0]["node"]["setup"]["stamps"], "by the card of card1 (/dev/ptp0)")
        self.assertEqual(seen["after echo"], OFF)
        self.assertEqual(seen["SIGTERM"], [ON, OFF])
        self.assertEqual(seen["SIGKILL"], [ON, ON], "nobody can switch them off there")
        self.assertEqual(seen["the next run"], OFF)

    def test_a_card_that_stamps_ptp_alone_is_left_alone(self):
        seen = self.seen("ptp_only")
        stamps, text = self.stamped(seen["echo"])
        self.assertIn("does not stamp every frame", stamps)
        self.assertIn("arrivals by the kernel", text)
        self.assertNotIn("by the hardware", text)
