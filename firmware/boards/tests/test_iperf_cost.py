"""The instructions of an iperf datagram on the boards, compared with lwIP alone, counted by a debugger's steps.

Steps leave interrupts out, so the count of a path through the code is always the same.
"""

import socket
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402

LENGTH = 1470
# Registers in gdb's order.
LR, PC = 14, 15
MOST_STEPS = 100000
# The limit: receiving with iperf compared with lwIP alone.
MOST_RATIO = 1.15


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


class Stepper(lab.Debugger):
    """A debugger that runs to a function and then steps."""

    def stop_of(self, command):
        """Continues the core, and returns when it has stopped again."""
        self.wire.sendall(f"${command}#{sum(command.encode()) % 256:02x}".encode())
        while not self.packet().startswith("T"):
            pass

    def register(self, number):
        """A register."""
        words = bytes.fromhex(self.ask("g"))
        return struct.unpack_from("<I", words, 4 * number)[0]

    def address(self, function):
        """Where a function's code is, without the bit for Thumb."""
        return self.symbols[function] & ~1

    def run_to(self, function, meanwhile):
        """Runs to the first instruction of a function; `meanwhile` causes the call."""
        point = f"{self.address(function):x},{2 if self.board.name == 'mps2-an385' else 4}"
        self.ask(f"Z0,{point}")
        self.wire.sendall(b"$c#63")
        meanwhile()
        while not self.packet().startswith("T"):
            pass
        self.ask(f"z0,{point}")

    def steps_to(self, address):
        """Steps until the core is there."""
        for steps in range(1, MOST_STEPS):
            self.stop_of("s")
            if self.register(PC) == address & ~1:
                return steps
        raise AssertionError("it never comes there")


class Cost(unittest.TestCase):
    """The same for both boards."""

    def test_iperf_receives_for_little_more_than_the_bare_stack(self):
        for name in ("zynq7000", "mps2-an385"):
            with self.subTest(name), lab.Board(name) as board:
                self.assertTrue(board.ping())
                with board.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
                    self.measure(board, wire)

    def measure(self, board, wire):
        """The 20th datagram of a flow, from lwIP's buffer for it to the end of the callback."""
        numbers = iter(range(1, 1000))

        def send():
            n = next(numbers)
            head = struct.pack(">IIII", n, 1000, n * 100, 0) + bytes.fromhex("480100980000000100001389")
            wire.sendto(head.ljust(LENGTH, b"5"), (lab.BOARD_IP, 5001))

        # One at a time: twenty at once overflow the FIFO of a LAN9118 whose core the host keeps waiting, and the echo is lost.
        for _ in range(20):
            send()
            self.assertTrue(board.ping())
        with Stepper(board) as debugger:
            debugger.run_to("pbuf_alloc", send)
            stack = debugger.steps_to(debugger.address("server_came"))
            own = debugger.steps_to(debugger.register(LR))
        ratio = (stack + own) / stack
        print(f"{board.name}: lwIP {stack} instructions, iperf {own}, together {ratio:.3f} of lwIP alone")
        self.assertLess(ratio, MOST_RATIO)
        self.assertTrue(board.ping())


if __name__ == "__main__":
    unittest.main()
