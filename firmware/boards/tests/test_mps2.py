"""The MPS2 with AN385 under QEMU: start, ping, and the failures of a LAN9118, which cannot make a sender wait."""

import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402
from any_board import AnyBoard  # noqa: E402

BUFFERS = 128
FIFO_BYTES = 10560


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


class Mps2(AnyBoard, unittest.TestCase):
    """The tests of every board, and those of a LAN9118 and its FIFO."""

    NAME, COUNTERS = "mps2-an385", "lan9118_setup.c"
    # No more than the FIFO holds; longer ones may be lost.
    FRAGMENTED = [1473, 3000, 8192]
    SEED, ECHO_EVERY = 6, 40
    FAULT = "status=0x"

    def test_a_fifo_that_overflows_while_the_core_stands_still(self):
        self.assertTrue(self.board.ping())
        for length in [60, 1514]:
            before = self.frames()
            with self.board.qmp() as command, self.board.raw() as wire:
                command("stop")
                for number in range(400):
                    wire.send(lab.ethernet(0x88B5, struct.pack(">I", number) + bytes(length - 18)))
                command("cont")
            # Excess frames are lost and leave nothing behind: each echo gets its own answer.
            self.recovers()
            self.assertGreaterEqual(self.frames() - before, FIFO_BYTES // (length + 8) // 2)

    def test_a_ring_that_is_full_waits_for_the_main_loop(self):
        self.assertTrue(self.board.ping())
        frame = lab.ethernet(0x88B5, bytes(46))

        def filled():
            with self.board.raw() as wire:
                for _ in range(5000):
                    wire.send(frame)
            return self.counter("rx_ring_full") > 0

        lab.wait_for("the ring of buffers was full", filled)
        self.recovers()

    def test_frames_longer_than_any_are_dropped_and_counted(self):
        self.assertTrue(self.board.ping())
        before, oversized = self.frames(), self.counter("rx_oversized")
        with self.board.raw() as wire:
            for length in [1518, 1519, 1522, 1523, 1600, 2047]:
                wire.send(lab.ethernet(0x88B5, bytes(length - 14)))
        self.assertTrue(self.board.ping())
        # 1,518 without FCS is the largest frame with a tag; this MAC passes a longer one, which the driver drops.
        self.assertEqual(self.counter("rx_oversized") - oversized, 5)
        self.assertEqual(self.frames() - before, 2)
        self.assertEqual(self.counter("rx_errors"), self.counter("rx_oversized"))

    def test_a_fifo_that_lost_its_order_is_emptied(self):
        self.assertTrue(self.board.ping())
        with self.board.faults() as memory:
            # The interrupt sets this when the MAC reports a wrong read of its FIFO.
            memory.put("ring", memory.at("ring", 8) & 0xFFFF00FF | 0x100, 8)
        # The main loop handles its frames before it dumps the FIFO: one echo may still be answered, and the next one lost.
        self.answers()
        lab.wait_for("the FIFO was emptied", lambda: self.counter("rx_recoveries") > 0)
        self.recovers()
        self.assertEqual(self.counter("rx_recoveries"), 1)

    def test_frames_in_pieces_of_any_shape_are_sent_whole(self):
        self.assertTrue(self.board.ping())
        dice = random.Random(9)
        at, heap = 0x203F0000, 0x203F1000
        with self.board.raw() as wire:
            for _ in range(60):
                length = dice.choice([1, 14, 59, 60, 61, 64, 100, 1514, 1518])
                frame = lab.ethernet(0x88B6, dice.randbytes(1600))[:length]
                cuts = sorted(dice.choices(range(length + 1), k=dice.randrange(6)))
                pieces = [frame[a:b] for a, b in zip([0, *cuts], [*cuts, length], strict=True)]
                with self.board.faults() as memory:
                    where, table = heap, b""
                    for piece in pieces:
                        where += dice.randrange(4)
                        if piece:
                            memory.write(where, piece)
                        table += struct.pack("<II", where, len(piece))
                        where += len(piece)
                    memory.write(at, table)
                    self.assertEqual(memory.call("mac_send", at, len(pieces)) & 0xFF, 1)
                while (came := wire.recv(4096))[:length] != frame:
                    self.assertNotEqual(came[12:14], b"\x88\xb6", came.hex())
                self.assertEqual(came[length:], bytes(max(0, 60 - length)))
            # More bytes than a frame may have are refused, in any pieces.
            with self.board.faults() as memory:
                memory.write(at, struct.pack("<IIII", heap, 1500, heap, 19))
                self.assertEqual(memory.call("mac_send", at, 2) & 0xFF, 0)

    def test_the_clock_goes_on_where_its_timer_begins_anew(self):
        self.assertTrue(self.board.ping())
        # TIMER0 counts down 32 bits in 171 s: leave 40 us of them.
        self.store(0x40000004, 1000)
        lab.wait_for("the timer came round", lambda: self.word("wraps") == 1)
        # Timers by the clock continue: one of them watches the link.
        self.board.link(False)
        lab.wait_for("the board notices", lambda: self.counter("link_changes") == 2)
        self.board.link(True)
        self.recovers()

    def answers(self):
        """Waits until an echo is answered behind the frames under way."""
        lab.wait_for("an echo passes", lambda: self.board.ping(within_s=0.5))

    def recovers(self):
        """Waits until an echo is answered; then all must be."""
        self.answers()
        self.assertTrue(self.board.ping(1472, count=20))

    def store(self, address, value):
        """Makes the core write a word: a debugger's own writes do not reach devices."""
        stub = 0x203FFF00
        with self.board.faults() as memory:
            memory.ask(f"M{stub:x},4:0160fee7")  # str r1, [r0]; then a branch to itself
            before = memory.ask("g")
            words = [struct.pack("<I", word).hex() for word in (address, value)]
            memory.ask("G" + "".join(words) + before[16 : 8 * 15] + struct.pack("<I", stub).hex() + before[8 * 16 :])

        def is_done():
            with self.board.faults() as memory:
                counter = struct.unpack("<I", bytes.fromhex(memory.ask("g"))[60:64])[0]
                if counter == stub + 2:
                    memory.ask("G" + before)
                return counter == stub + 2

        lab.wait_for("the core has written", is_done)

    def word(self, symbol):
        """A word of the board's memory."""
        with self.board.faults() as memory:
            return memory.at(symbol)


if __name__ == "__main__":
    unittest.main()
