"""iperf 2 of the firmware library on BSD sockets (wl_iperf) against the distribution's iperf 2, in both roles.

Each end has a network namespace of its own, joined by a pair of interfaces. All data fits the receiver's socket buffer, so
nothing is lost on any machine, and every byte must be accounted for.
"""

import contextlib
import itertools
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[4]
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target"), "firmware", "sockets-checked")
PATIENCE_S = 60
# The distribution's iperf loses datagrams while it waits for a core: one of so many runs must lose none.
MEASUREMENTS = 5
NODE, HOST = "10.56.0.2", "10.56.0.1"
# A datagram of `iperf -u -R -t 1` 2.1.8: number 1, and a header that requests traffic back to its sender.
ASKS = (
    "00000001000000010000000000000000" "6c01009800000001000013890000004000000000ffffff9c"
    "000000000000000004000000000200010008000300000000001000000000000000000000"
)
NODE6, HOST6 = "fd56::2", "fd56::1"
DATAGRAMS, LENGTH = 64, 1470
UDP = ["-u", "-n", str(DATAGRAMS * LENGTH), "-b", "20m"]
TCP = ["-n", "1048576"]
STRAY = 2
ATTEMPTS, STUCK_S = 4, 20
numbers = itertools.count()


def need():
    """Raises SkipTest if a feature of tests/skips.toml is missing."""
    for feature, command in {"root": "unshare --net true", "iperf": "command -v iperf"}.items():
        if subprocess.run(["sh", "-c", command], check=False, capture_output=True).returncode:
            raise unittest.SkipTest(f"{feature}: two namespaces, and the real iperf 2 in one of them")


def setUpModule():
    """Builds the programs with AddressSanitizer and UBSan."""
    need()
    for command in (
        ["cmake", "-S", TREE / "firmware/glue/sockets", "-B", BUILD, "-DWL_SANITIZE=ON"],
        ["cmake", "--build", BUILD, "--target", "wl_iperf", "--target", "wl_node"],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)


def wait_for(what, look):
    """Waits until `look` is true and returns its value."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.02)
    return found


def results(text):
    """The output of wl_iperf, a dictionary for each flow."""
    all_of_them = []
    for line in text.splitlines():
        if line.startswith(("udp ", "tcp ")):
            words = line.split()
            flow = dict(word.split("=", 1) for word in words if "=" in word)
            flow |= {"protocol": words[0], "way": words[1], "complete": "complete" in words}
            all_of_them.append(flow)
    return all_of_them


class Lab(unittest.TestCase):
    """Two namespaces that are removed with everything in them."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wlip"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.names = [f"wlip{os.getpid()}n{next(numbers)}{side}" for side in "ab"]
        for name in self.names:
            self.ip("netns", "add", name)
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=False, capture_output=True)
        host, node = self.names
        macs = ["02:00:00:00:00:01", "02:00:00:00:00:02"]
        self.ip("-n", host, "link", "add", "v0", "address", macs[0], "type", "veth",
                "peer", "v0", "address", macs[1], "netns", node)
        for name, address, address6 in ((host, HOST, HOST6), (node, NODE, NODE6)):
            self.ip("-n", name, "addr", "add", f"{address}/24", "dev", "v0")
            self.ip("-n", name, "addr", "add", f"{address6}/64", "dev", "v0", "nodad")
            self.ip("-n", name, "link", "set", "v0", "up")
            self.ip("-n", name, "link", "set", "lo", "up")
        # No frame waits for a neighbour's address and is dropped.
        for name, mac, there in ((host, macs[1], (NODE, NODE6)), (node, macs[0], (HOST, HOST6))):
            for address in there:
                self.ip("-n", name, "neigh", "replace", address, "lladdr", mac, "dev", "v0", "nud", "permanent")

    @staticmethod
    def ip(*words):
        """Runs ip(8)."""
        subprocess.run(["ip", *words], check=True)

    def start(self, side, log, *command):
        """Starts a program that is killed at the end; its output goes to a file."""
        with open(self.folder / log, "wb") as out:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.names[side], *map(str, command)], stdout=out, stderr=subprocess.STDOUT
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ask(self, wanted, source=HOST):
        """Requests traffic back from the node by one datagram. Waits for the traffic if it is wanted; else there must be none
        when two later requests are answered."""
        command = [
            "python3", "-c",
            "import socket, sys\n"
            "wires = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]\n"
            "for wire in wires: wire.bind((sys.argv[2], 0)); wire.settimeout(30)\n"
            "wires[0].sendto(bytes.fromhex(sys.argv[3]), (sys.argv[1], 5001))\n"
            "for number in (1, -2, -2):\n"
            "    wires[1].sendto(number.to_bytes(4, 'big', signed=True) + bytes(996), (sys.argv[1], 5001))\n"
            "    if number < 0: wires[1].recv(2000)\n"
            "if sys.argv[4] == 'no': wires[0].setblocking(False)\n"
            "try: print(len(wires[0].recv(2000)))\n"
            "except BlockingIOError: print('nothing')\n",
            NODE, source, ASKS, "yes" if wanted else "no",
        ]
        status, text = self.run_to_its_end(0, "asks", *command)
        self.assertEqual((status, text), (0, "64\n" if wanted else "nothing\n"))

    def said(self, log):
        """The output of a program so far."""
        return (self.folder / log).read_text(errors="replace")

    def run_to_its_end(self, side, log, *command):
        """The output of a program that ends by itself."""
        process = self.start(side, log, *command)
        wait_for(f"the end of {command}: {self.said(log)}", lambda: process.poll() is not None)
        return process.returncode, self.said(log)

    def listens(self, side, protocol):
        """Whether a program listens on port 5001."""
        option = "-lun" if protocol == "udp" else "-ltn"
        command = ["ip", "netns", "exec", self.names[side], "ss", option]
        return ":5001 " in subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Server(Lab):
    """wl_iperf serves the distribution's client."""

    def setUp(self):
        super().setUp()
        self.serve()

    def serve(self):
        """Starts the node."""
        self.server = self.start(1, "node", BUILD / "wl_iperf", "-s")
        wait_for("it serves", lambda: "serving" in self.said("node"))

    def iperf(self, *options):
        """The output of iperf. With two streams 2.1.8 sometimes frees memory twice or deadlocks: then it runs again."""
        for _ in range(ATTEMPTS if "-P" in options else 0):
            process = self.start(0, "client", "iperf", *options)
            with contextlib.suppress(subprocess.TimeoutExpired):
                if process.wait(STUCK_S) == 0:
                    return self.said("client")
            self.assertLessEqual(process.poll() or 0, 0, self.said("client"))
            process.kill()
            self.assertIsNone(self.server.poll(), self.said("node"))
            self.server.kill()
            self.server.wait()
            self.serve()
        status, text = self.run_to_its_end(0, "client", "iperf", *options)
        self.assertEqual(status, 0, text)
        return text

    def client(self, *options, flows, server=NODE):
        """Runs iperf; returns the flows that the node reports, of the right number, each without a loss."""
        text = self.iperf("-c", server, *options)
        found = wait_for("the node reports its flows", lambda: self.flows(flows))
        self.assertEqual(len(found), flows)
        for flow in found:
            self.assertTrue(flow["complete"], (flow, text))
            if flow["protocol"] == "udp":
                self.no_loss(flow)
        self.assertIsNone(self.server.poll())
        return found, text

    def flows(self, count):
        """The flows that the node has reported, if they are enough."""
        found = results(self.said("node"))
        return found if len(found) >= count else None

    def no_loss(self, flow):
        """Every datagram and the final one have arrived."""
        self.assertEqual((flow["here_lost"], flow["here_out_of_order"]), ("0", "0"), flow)
        self.assertGreaterEqual(int(flow["here_datagrams"]), DATAGRAMS, flow)
        if "there_lost" in flow:
            # A client of iperf that takes two streams may count a datagram of one for the other.
            self.assertLessEqual(int(flow["there_lost"]), STRAY, flow)
            self.assertEqual(int(flow["there_datagrams"]), int(flow["here_datagrams"]) + 1, flow)

    def sent_and_received(self, flows):
        """The numbers of received and sent flows."""
        return [sum(flow["way"] == way for flow in flows) for way in ("received", "sent")]

    def test_udp_with_its_report(self):
        [flow], text = self.client(*UDP, flows=1)
        self.assertRegex(text, rf"Server Report:(.|\n)* 0/{DATAGRAMS + 1} \(0%\)")
        self.assertEqual(int(flow["here_bytes"]), (DATAGRAMS + 1) * LENGTH)

    def test_udp_there_and_back(self):
        flows, text = self.client(*UDP, "-r", flows=2)
        self.assertEqual(self.sent_and_received(flows), [1, 1])
        self.assertEqual(text.count(" (0%)"), 2, text)

    def test_udp_both_at_once(self):
        flows, text = self.client(*UDP, "-d", flows=2)
        self.assertEqual(self.sent_and_received(flows), [1, 1])
        self.assertEqual(len(re.findall(r"\] .* \(0%\)", text)), 2, text)

    def test_udp_two_streams(self):
        flows, _ = self.client(*UDP, "-P", "2", flows=2)
        self.assertEqual(self.sent_and_received(flows), [2, 0])

    def test_udp_two_streams_there_and_back(self):
        flows, _ = self.client(*UDP, "-r", "-P", "2", flows=4)
        self.assertEqual(self.sent_and_received(flows), [2, 2])

    def test_udp_two_streams_both_at_once(self):
        flows, _ = self.client(*UDP, "-d", "-P", "2", flows=4)
        self.assertEqual(self.sent_and_received(flows), [2, 2])

    def test_udp_reverse_on_the_same_socket(self):
        [flow], text = self.client(*UDP, "-R", flows=1)
        self.assertEqual(flow["way"], "sent")
        self.assertRegex(text, r"\[ \*1\].* 0/\d+ \(0%\)")

    def test_udp_full_duplex_on_the_same_socket(self):
        flows, _ = self.client(*UDP, "--full-duplex", flows=2)
        self.assertEqual(self.sent_and_received(flows), [1, 1])

    def test_udp_of_every_kind_of_header(self):
        for more in (["-l", "32"], ["-l", "76"], ["--trip-times"], ["-e"], ["-l", "8000"]):
            options = ["-u", "-n", str(DATAGRAMS * int((more + ["1470"])[1] if more[0] == "-l" else 1470)), "-b", "20m"]
            count = len(results(self.said("node")))
            _, text = self.client(*options, *more, flows=count + 1)
            self.assertIn("Server Report:", text, more)

    def test_udp_over_ipv6(self):
        [flow], text = self.client(*UDP, "-V", flows=1, server=NODE6)
        self.assertEqual(flow["peer"], HOST6)
        self.assertIn("Server Report:", text)

    def test_tcp(self):
        [flow], _ = self.client(*TCP, flows=1)
        self.assertEqual((flow["way"], flow["here_bytes"]), ("received", "1048576"))

    def test_tcp_there_and_back(self):
        flows, text = self.client(*TCP, "-r", flows=2)
        self.assertEqual([flow["way"] for flow in flows], ["received", "sent"])
        self.assertEqual({flow["here_bytes"] for flow in flows}, {"1048576"})
        self.assertEqual(text.count("1.00 MBytes"), 2, text)

    def test_tcp_both_at_once(self):
        flows, text = self.client(*TCP, "-d", flows=2)
        self.assertEqual(self.sent_and_received(flows), [1, 1])
        self.assertEqual({flow["here_bytes"] for flow in flows}, {"1048576"})
        self.assertGreaterEqual(text.count("1.00 MBytes"), 2, text)

    def test_tcp_two_streams(self):
        flows, _ = self.client(*TCP, "-P", "2", flows=2)
        self.assertEqual(self.sent_and_received(flows), [2, 0])

    def test_tcp_two_streams_there_and_back(self):
        flows, _ = self.client(*TCP, "-r", "-P", "2", flows=4)
        self.assertEqual(self.sent_and_received(flows), [2, 2])

    def test_tcp_two_streams_both_at_once(self):
        flows, _ = self.client(*TCP, "-d", "-P", "2", flows=4)
        self.assertEqual(self.sent_and_received(flows), [2, 2])

    def test_tcp_on_the_same_connection(self):
        [flow], text = self.client(*TCP, "-R", flows=1)
        self.assertEqual((flow["way"], flow["here_bytes"]), ("sent", "1048576"))
        self.assertIn("1.00 MBytes", text)

    def test_tcp_that_wants_an_acknowledgement(self):
        [flow], _ = self.client(*TCP, "-X", flows=1)
        self.assertEqual(flow["here_bytes"], "1048576")

    def test_tcp_over_ipv6(self):
        [flow], _ = self.client(*TCP, "-V", flows=1, server=NODE6)
        self.assertEqual((flow["peer"], flow["here_bytes"]), (HOST6, "1048576"))


class Node(Lab):
    """wl_node serves iperf beside its own protocol, in one loop."""

    def test_it_serves_udp_and_tcp_in_both_directions(self):
        node = self.start(1, "node", BUILD / "wl_node", NODE)
        wait_for("it is ready", lambda: "READY" in self.said("node"))
        # Over TCP first: then this host is known to receive what is sent to its address.
        for options in ([*TCP, "-r"], [*UDP, "-d"], [*UDP, "-P", "2"]):
            for _ in range(MEASUREMENTS):
                status, text = self.run_to_its_end(0, "client", "iperf", "-c", NODE, *options)
                self.assertEqual(status, 0, text)
                if "-r" in options or text.count("(0%)") == 2:
                    break
            self.assertEqual(text.count("(0%)"), 0 if "-r" in options else 2, text)
            self.assertEqual(text.count("1.00 MBytes"), 2 if "-r" in options else 0, text)
        node.terminate()
        self.assertEqual(node.wait(PATIENCE_S), 0, self.said("node"))

    def test_it_sends_back_to_nobody_without_proof(self):
        self.start(1, "node", BUILD / "wl_node", NODE)
        wait_for("it is ready", lambda: "READY" in self.said("node"))
        self.ask(False)
        wait_for("it reports that", lambda: f"iperf: nothing is sent back to {HOST} port " in self.said("node"))
        self.assertIn("; fix: ", self.said("node"))
        # A connection to its control port is proof while it lasts, and a minute longer.
        command = ["python3", "-c", f"import socket\nsocket.create_connection(('{NODE}', 5002)).close()"]
        self.assertEqual(self.run_to_its_end(0, "connects", *command)[0], 0)
        self.ask(True)


class Client(Lab):
    """wl_iperf is the client of the distribution's server, a new one in each test."""

    def client(self, *options, flows, server=HOST):
        """Runs wl_iperf; returns its flows, of the right number, each without a loss."""
        protocol = "udp" if "-u" in options else "tcp"
        more = (["-u"] if protocol == "udp" else []) + (["-V"] if ":" in server else [])
        self.start(0, "server", "iperf", "-s", *more)
        wait_for("iperf listens", lambda: self.listens(0, protocol))
        status, text = self.run_to_its_end(1, "node", BUILD / "wl_iperf", "-c", server, *options)
        found = results(text)
        self.assertEqual((status, len(found)), (0, flows), text + self.said("server"))
        for flow in found:
            self.assertEqual(flow.get("here_lost", "0"), "0", flow)
            if flow["way"] == "sent" and flow["protocol"] == "udp":
                self.assertEqual(flow["there_lost"], "0", flow)
                self.assertEqual(int(flow["there_datagrams"]), int(flow["here_datagrams"]) + 1, flow)
                self.assertGreaterEqual(int(flow["here_datagrams"]), DATAGRAMS, flow)
        return found

    def test_udp_with_the_report_of_the_server(self):
        [flow] = self.client(*UDP, flows=1)
        self.assertEqual(int(flow["there_bytes"]), (DATAGRAMS + 1) * LENGTH)

    def test_udp_there_and_back(self):
        flows = self.client(*UDP, "-r", flows=2)
        self.assertEqual([flow["way"] for flow in flows], ["sent", "received"])

    def test_udp_both_at_once(self):
        flows = self.client(*UDP, "-d", flows=2)
        self.assertEqual({flow["way"] for flow in flows}, {"sent", "received"})

    def test_udp_over_ipv6(self):
        self.client(*UDP, flows=1, server=HOST6)

    def test_tcp(self):
        [flow] = self.client(*TCP, flows=1)
        self.assertEqual(flow["here_bytes"], "1048576")

    def test_tcp_there_and_back(self):
        flows = self.client(*TCP, "-r", flows=2)
        self.assertEqual([flow["way"] for flow in flows], ["sent", "received"])
        self.assertEqual({flow["here_bytes"] for flow in flows}, {"1048576"})

    def test_tcp_both_at_once(self):
        flows = self.client(*TCP, "-d", flows=2)
        self.assertEqual({flow["way"] for flow in flows}, {"sent", "received"})

    def test_tcp_two_streams(self):
        # The server of 2.1.8 breaks when two flows are over within a few ms.
        flows = self.client(*TCP, "-b", "100m", "-P", "2", flows=2)
        self.assertEqual({flow["here_bytes"] for flow in flows}, {"1048576"})

    def test_tcp_reverse_on_the_same_connection(self):
        [flow] = self.client(*TCP, "-R", flows=1)
        self.assertEqual((flow["way"], flow["here_bytes"]), ("received", "1048576"))


if __name__ == "__main__":
    unittest.main()
