"""iperf 2 of both QEMU boards (port 5001, over lwIP) against the distribution's client, over a TAP.

The tests send little, so that a busy machine loses nothing if the board's MAC makes the sender wait. The LAN9118 cannot, so its
report must have the datagrams that did not arrive as lost.
"""

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402

DATAGRAMS, LENGTH = 64, 1470
RATE = 5_000_000
UDP = ["-u", "-n", str(DATAGRAMS * LENGTH), "-b", str(RATE)]
TCP = ["-n", "524288"]
# A client of iperf that takes two streams may count a datagram of one for the other.
STRAY = 2
ATTEMPTS, STUCK_S = 4, 20
# Of a report, the server's or the client's own of its reception.
LOST = re.compile(r"^\[ *\*?\d+\] .* (\d+)/ *(\d+) \([\d.e+-]+%\)$", re.M)


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    # First, because Rust tests start these images even without a peer.
    lab.build()
    if not shutil.which("iperf"):
        raise unittest.SkipTest("iperf: the client is the real iperf 2")


# A datagram of `iperf -u -R -t 1` 2.1.8: number 1, and a header that requests traffic back to its sender.
ASKS = bytes.fromhex(
    "00000001000000010000000000000000" "6c01009800000001000013890000004000000000ffffff9c"
    "000000000000000004000000000200010008000300000000001000000000000000000000"
)


class Iperf:
    """The same for each board."""

    board_name = ""
    # Whether a full MAC makes the sender wait.
    waits = True

    def setUp(self):
        self.board = lab.Board(self.board_name)
        self.board.__enter__()
        self.addCleanup(self.board.__exit__)

    def prove(self):
        """Connects, which proves this host's address to the board: it sends traffic back over UDP only with such a proof."""
        connection = self.board.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.addCleanup(connection.close)
        connection.settimeout(lab.PATIENCE_S)
        connection.connect((lab.BOARD_IP, 5002))

    def iperf(self, *options):
        """The client's output; the board must still answer afterwards."""
        self.prove()
        command = ["iperf", "-c", lab.BOARD_IP, "-f", "b", *options]
        # With two streams iperf 2.1.8 sometimes frees memory twice or deadlocks: then it runs again.
        for last in [False] * (ATTEMPTS if "-P" in options else 0) + [True]:
            # `timeout` also kills processes within the namespace.
            within = ["timeout", "-s", "KILL", str(lab.PATIENCE_S if last else STUCK_S)]
            done = self.board.run(*within, *command, check=False, capture_output=True, text=True)
            said = done.stdout + done.stderr
            self.assertTrue(self.board.ping(), said)
            if done.returncode == 0:
                return said
            # iperf's own errors have a status below 128.
            self.assertTrue(done.returncode < 0 or done.returncode > 128, said)
        raise AssertionError(f"iperf ends with status {done.returncode}: {said}")

    def udp(self, *options, streams=1, back=False):
        """A UDP test: the reports of each stream and of the traffic back, with nearly every datagram. A busy host may lose
        some; iperf loses those that arrive before the thread of a second stream runs; without a waiting sender many are lost.
        So one of several tests, each slower than the one before, must have most of them."""
        stray = STRAY if self.waits else DATAGRAMS // 4
        for left in reversed(range(ATTEMPTS)):
            said = self.iperf(*UDP, *options, "-b", str(RATE >> (ATTEMPTS - 1 - left)))
            told = [(int(lost), int(all_of_them)) for lost, all_of_them in LOST.findall(said)]
            self.assertGreaterEqual(len(told), streams * (2 if back else 1), said)
            self.assertGreaterEqual(said.count("Server Report:"), streams, said)
            # Every datagram and the final one, of each stream or of all; the last one may be lost.
            most_came = all(lost <= stray and sent >= DATAGRAMS - (stray - STRAY) for lost, sent in told)
            if most_came or left == 0:
                break
        self.assertTrue(most_came, said)
        return said

    def tcp(self, *options, flows=1):
        """A TCP test: every byte of each flow has arrived."""
        said = self.iperf(*TCP, *options)
        whole = re.findall(r"^\[ *\*?\d+\] .* sec +524288 Bytes", said, re.M)
        self.assertEqual(len(whole), flows, said)
        return said

    def test_udp_and_its_report(self):
        self.udp()

    def test_udp_there_and_back(self):
        self.udp("-r", back=True)

    def test_udp_both_at_once(self):
        self.udp("-d", back=True)

    def test_udp_two_streams(self):
        self.udp("-P", "2", streams=2)

    def test_udp_two_streams_there_and_back(self):
        self.udp("-P", "2", "-r", streams=2, back=True)

    def test_udp_two_streams_both_at_once(self):
        self.udp("-P", "2", "-d", streams=2, back=True)

    def test_udp_reverse_on_the_same_socket(self):
        said = self.iperf(*UDP, "-R")
        [(lost, sent)] = LOST.findall(said)
        self.assertEqual(int(lost), 0, said)
        self.assertGreaterEqual(int(sent), DATAGRAMS, said)

    def test_a_forged_datagram_has_nothing_sent(self):
        with self.board.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
            for _ in range(3):
                wire.sendto(ASKS, (lab.BOARD_IP, 5001))
            said = rf"iperf: nothing is sent back to {re.escape(lab.HOST_IP)} port \d+: .*fix: "
            lab.wait_for("the board reports", lambda: re.search(said, self.board.console()))
            self.assertEqual(len(re.findall(said, self.board.console())), 1)
            # Traffic before the answer to the ping would be here.
            self.assertTrue(self.board.ping())
            wire.setblocking(False)
            with self.assertRaises(BlockingIOError):
                wire.recv(2000)
        with self.board.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
            self.prove()
            wire.settimeout(lab.PATIENCE_S)
            wire.sendto(ASKS, (lab.BOARD_IP, 5001))
            self.assertEqual(len(wire.recv(2000)), 64)

    def test_udp_of_many_lengths(self):
        # With 32 the header does not fit; 8000 arrives in fragments.
        self.board.run("ip", "link", "set", "tap0", "mtu", "1500")
        for length in ("32", "76", "512", "1472", "8000"):
            said = self.iperf("-u", "-b", "1m", "-l", length, "-n", str(20 * int(length)))
            self.assertIn("Server Report:", said)

    def test_tcp(self):
        self.tcp()

    def test_tcp_there_and_back(self):
        self.tcp("-r", flows=2)

    def test_tcp_both_at_once(self):
        self.tcp("-d", flows=2)

    def test_tcp_two_streams(self):
        self.tcp("-P", "2", flows=2)

    def test_tcp_two_streams_there_and_back(self):
        self.tcp("-P", "2", "-r", flows=4)

    def test_tcp_two_streams_both_at_once(self):
        self.tcp("-P", "2", "-d", flows=4)

    def test_tcp_reverse_on_the_same_connection(self):
        self.tcp("-R")

    def test_clients_that_vanish_do_not_use_it_up(self):
        """Clients are killed again and again; then as many flows as before are possible."""
        self.prove()
        for options in (["-u", "-b", "1m", "-d"], ["-d"], ["-R"], ["-u", "-R", "-b", "1m"]):
            for _ in range(2):
                command = ["ip", "netns", "exec", self.board.namespace, "iperf", "-c", lab.BOARD_IP, "-t", "3", *options]
                client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.2)
                client.kill()
                client.wait()
        # The board hears of some of them only by silence.
        lab.wait_for("a test of two streams", lambda: self.answers("-P", "2"), every_s=1)

    def answers(self, *options):
        """Whether a short test succeeds."""
        command = ["iperf", "-c", lab.BOARD_IP, *UDP, *options]
        done = self.board.run(*command, check=False, capture_output=True, text=True, timeout=lab.PATIENCE_S)
        return done.stdout.count("Server Report:") == 2

    def test_noise_does_not_keep_it_from_a_test(self):
        with contextlib.ExitStack() as open_ones:
            udp = [self.board.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(20)]
            for wire in udp:
                open_ones.enter_context(wire)
            for n in range(400):
                udp[n % 20].sendto(bytes((n * m * 31) & 0xFF for m in range(n % 90)), (lab.BOARD_IP, 5001))
        for n in range(20):
            # If every place is taken, the connection is reset.
            with self.board.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, contextlib.suppress(ConnectionError):
                tcp.connect((lab.BOARD_IP, 5001))
                if n % 3:
                    tcp.send(bytes((n * m * 37) & 0xFF for m in range(n + 1)))
        lab.wait_for("a test of two streams", lambda: self.answers("-P", "2"), every_s=1)


class Zynq(Iperf, unittest.TestCase):
    """DMA with descriptors: excess frames wait."""

    board_name = "zynq7000"


class Mps2(Iperf, unittest.TestCase):
    """A FIFO of 10.5 KB: excess frames are lost."""

    board_name = "mps2-an385"
    waits = False


if __name__ == "__main__":
    unittest.main()
