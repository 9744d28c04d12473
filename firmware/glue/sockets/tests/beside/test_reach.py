"""iperf 2 of the firmware library on BSD sockets without a peer that has to keep time: hosts that may be forged, noise, no
server.

These tests may run beside others, unlike those of the folder above.
"""

import struct
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import test_iperf as lab  # noqa: E402
from test_iperf import ASKS, BUILD, HOST, LENGTH, NODE, TREE, UDP, results, wait_for  # noqa: E402

# A host outside of the node's links.
FAR = "203.0.113.8"


def setUpModule():
    """Builds the programs, or skips all tests."""
    lab.setUpModule()


class Reach(lab.Lab):
    """wl_iperf sends datagrams back to hosts on its links, and to those that its build allows."""

    def test_it_sends_back_to_its_links_alone(self):
        self.start(1, "node", BUILD / "wl_iperf", "-s")
        wait_for("it listens", lambda: self.listens(1, "udp"))
        self.ask(True)
        # A host behind a router.
        self.ip("-n", self.names[0], "addr", "add", f"{FAR}/32", "dev", "lo")
        self.ip("-n", self.names[1], "route", "add", f"{FAR}/32", "via", HOST)
        self.ask(False, FAR)
        wait_for("it reports that", lambda: f"iperf: nothing is sent back to {FAR} port " in self.said("node"))
        self.assertIn("not on a link of this host; fix: ", self.said("node"))

    def refused(self, flags, upper):
        """Traffic of half a minute at 1 Gbit/s, requested in the name of a host without iperf, ends soon."""
        self.start(1, "node", BUILD / "wl_iperf", "-s")
        wait_for("it listens", lambda: self.listens(1, "udp"))
        words = [flags, 1, 6001, LENGTH, 0, 2**32 - 3000, 0, 0, upper, 0, 0, 0, 1_000_000_000, *[0] * 7]
        datagram = bytes.fromhex(ASKS[:32]) + struct.pack("!20I", *words)
        command = [
            "python3", "-c",
            "import socket, sys\n"
            "wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "wire.bind(('', 6001))\n"
            "wire.sendto(bytes.fromhex(sys.argv[2]), (sys.argv[1], 5001))\n",
            NODE, datagram.hex(),
        ]
        self.assertEqual(self.run_to_its_end(0, "asks", *command)[0], 0)
        sent = wait_for("its end", lambda: [flow for flow in results(self.said("node")) if flow["way"] == "sent"])[0]
        self.assertEqual((sent["peer"], sent["port"], sent["complete"]), (HOST, "6001", False), sent)
        self.assertLess(int(sent["here_us"]), 4_000_000, sent)

    def test_a_host_that_refuses_gets_no_more(self):
        self.refused(0xC8010099, 0)

    def test_a_host_that_refuses_gets_no_more_on_the_same_socket(self):
        self.refused(0x6C010098, 0x04000000)

    def test_a_build_allows_others(self):
        build = Path(self.folder, "allowed")
        for command in (
            ["cmake", "-S", TREE / "firmware/glue/sockets", "-B", build, f"-DWL_IPERF_ALLOW={FAR}/31"],
            ["cmake", "--build", build, "--target", "wl_iperf"],
        ):
            subprocess.run(command, check=True, capture_output=True)
        self.start(1, "node", build / "wl_iperf", "-s")
        wait_for("it listens", lambda: self.listens(1, "udp"))
        self.ip("-n", self.names[0], "addr", "add", f"{FAR}/32", "dev", "lo")
        self.ip("-n", self.names[1], "route", "add", f"{FAR}/32", "via", HOST)
        self.ask(True, FAR)

    def test_a_build_with_a_wrong_prefix_fails(self):
        for wrong in ("x", "192.0.2/24", "192.0.2.0/", "192.0.2.0/24;x", "2001:db8::/z"):
            command = ["cmake", "-S", TREE / "firmware/glue/sockets", "-B", Path(self.folder, "wrong"),
                       f"-DWL_IPERF_ALLOW={wrong}"]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0, wrong)
            self.assertIn("fix: write e.g. 192.0.2.0/24", " ".join(done.stderr.split()), wrong)


class Apart(lab.Lab):
    """wl_iperf without a server, or with noise as its peer."""

    def serve(self):
        """Starts the node as a server."""
        server = self.start(1, "node", BUILD / "wl_iperf", "-s")
        wait_for("it serves", lambda: "serving" in self.said("node"))
        return server

    def test_noise_does_not_keep_it_from_a_test(self):
        """Datagrams of random bytes, and connections that are silent, send nonsense or end at once."""
        server = self.serve()
        command = [
            "python3", "-c",
            "import os, socket, sys\n"
            "udp = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(40)]\n"
            "for n in range(4000): udp[n % 40].sendto(os.urandom(n % 90), (sys.argv[1], 5001))\n"
            "for n in range(40):\n"
            "    with socket.create_connection((sys.argv[1], 5001)) as tcp:\n"
            "        if n % 3: tcp.send(os.urandom(n + 1))\n",
            NODE,
        ]
        status, text = self.run_to_its_end(0, "noise", *command)
        self.assertEqual(status, 0, text)
        client = ["iperf", "-c", NODE, *UDP]
        # Every place may be taken until the noise has been silent for 5 s.
        wait_for("a test", lambda: "Server Report:" in self.run_to_its_end(0, "client", *client)[1])
        self.assertIsNone(server.poll())

    def test_nobody_is_there(self):
        for options in ([], ["-u"]):
            status, text = self.run_to_its_end(1, "node", BUILD / "wl_iperf", "-c", HOST, *options)
            self.assertEqual(status, 1, text)
            self.assertFalse(results(text)[0]["complete"])


if __name__ == "__main__":
    unittest.main()
