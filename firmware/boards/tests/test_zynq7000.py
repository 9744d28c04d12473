"""The Zynq-7000 image under QEMU: start, ping, and faults of its driver."""

import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402
from any_board import AnyBoard  # noqa: E402

TX_OURS = 1 << 31
TX_DESCRIPTORS = 128
SCRATCH = 0x00E00000  # mapped, and far behind all that is used


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


class Zynq(AnyBoard, unittest.TestCase):
    """The tests of every board, and those of a GEM and an MMU."""

    NAME, COUNTERS = "zynq7000", "gem.c"
    FRAGMENTED = [1473, 8192, 20000]
    SEED, ECHO_EVERY = 5, 500
    FAULT = r"undefined instruction pc=0x001[0-9a-f]{5}\n"

    def test_the_checksum_is_that_of_rfc_1071_at_every_alignment(self):
        dice = random.Random(1071)
        lengths = [0, 1, 2, 3, 4, 5, 31, 32, 33, 34, 35, 36, 63, 64, 65, 66, 100, 1480, 1481]
        # All ones let every addition carry; zeros have two sums.
        fillings = [dice.randbytes(1600), b"\xff" * 1600, bytes(1600)]
        with self.board.faults() as memory:
            memory.stop_in("board_sleep_until")
            for filling in fillings:
                memory.write(SCRATCH, filling)
                for offset in range(4):
                    for length in lengths:
                        said = memory.call("wl_lwip_checksum", SCRATCH + offset, length)
                        of = filling[offset : offset + length]
                        # The sum is of words in the processor's order, and is not inverted.
                        wanted = int.from_bytes((~lab.checksum(of) & 0xFFFF).to_bytes(2, "big"), "little")
                        self.assertEqual(said, wanted, (offset, length, filling[0]))

    def test_a_ring_that_fills_while_the_core_stands_still(self):
        self.assertTrue(self.board.ping())
        for _ in range(3):
            with self.board.qmp() as command, self.board.raw() as wire:
                command("stop")
                for number in range(900):
                    wire.send(lab.ethernet(0x88B5, struct.pack(">I", number) + bytes(60)))
                command("cont")
            self.assertTrue(self.board.ping(count=5))
        self.assertGreater(self.counter("rx_starvations"), 0)

    def test_a_transmit_ring_that_does_not_empty(self):
        self.assertTrue(self.board.ping())
        with self.board.faults() as memory:
            was = [memory.at("tx_ring", 8 * n + 4) for n in range(TX_DESCRIPTORS)]
            for n in range(TX_DESCRIPTORS):
                memory.put("tx_ring", was[n] & ~TX_OURS, 8 * n + 4)
            full = memory.at("loop_tx_full")
        self.assertFalse(self.board.ping(within_s=0.3))
        with self.board.faults() as memory:
            self.assertGreater(memory.at("loop_tx_full"), full)
            for n in range(TX_DESCRIPTORS):
                memory.put("tx_ring", was[n], 8 * n + 4)
        self.assertTrue(self.board.ping(1472, count=200))

    def test_address_0_and_data_cannot_be_executed(self):
        for address, board in [(0x40, self.board), (0x00200100, self.another())]:
            self.board = board
            with self.board.faults() as memory:
                memory.jump(address)
            self.assert_fault(rf"prefetch abort pc=0x{address + 4:08x}\n")

    def test_code_cannot_be_written_and_what_is_not_there_not_be_read(self):
        # Damages lwIP's next free buffer, as a stray pointer would.
        for address, board in [(0x20000000, self.board), (0x00100000, self.another())]:
            self.board = board
            with self.board.faults() as memory:
                memory.put("memp_tab_PBUF_POOL", address)
            with self.board.raw() as wire:
                wire.send(lab.ethernet(0x0806, bytes(46)))
            self.assert_fault(r"data abort pc=0x001[0-9a-f]{5} address=0x" + f"{address:08x}"[:4])

    def answers(self):
        """An echo is answered, whatever arrived before it."""
        self.assertTrue(self.board.ping())

    def recovers(self):
        """All echoes are answered at once: waiting frames have buffers of their own in the ring."""
        self.assertTrue(self.board.ping(1472, count=20))

    def another(self):
        """A second board."""
        board = lab.Board("zynq7000")
        board.__enter__()
        self.addCleanup(board.__exit__)
        return board


if __name__ == "__main__":
    unittest.main()
