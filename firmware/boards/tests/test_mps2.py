"""The MPS2 with AN385 under QEMU: start, ping, and the bad days of a LAN9118, which cannot tell a sender to wait."""

import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402
import test_zynq7000  # noqa: E402

BUFFERS = 128
FIFO_BYTES = 10560


def setUpModule():
    """Builds what is tested, or skips all of it."""
    lab.need()
    lab.build()


class Mps2(unittest.TestCase):
    """One board a test, so that no test leaves anything to the next."""

    # What any board has to stand.
    same = test_zynq7000.Zynq
    test_frames_for_others_do_not_pass_the_mac = same.test_frames_for_others_do_not_pass_the_mac
    test_a_cable_that_is_pulled_and_put_in_again = same.test_a_cable_that_is_pulled_and_put_in_again
    test_runts_and_giants = same.test_runts_and_giants
    test_lwip_without_memory_drops_and_goes_on = same.test_lwip_without_memory_drops_and_goes_on
    test_it_rests_when_there_is_nothing_to_do = same.test_it_rests_when_there_is_nothing_to_do
    del same

    def setUp(self):
        self.board = lab.Board("mps2-an385")
        self.board.__enter__()
        self.addCleanup(self.board.__exit__)

    def test_it_says_who_it_is_and_answers_ping_of_every_size(self):
        self.assertEqual(self.board.console(), "READY name=mps2-an385 mac=02:00:0a:37:00:02 ip=10.55.0.2\n")
        for payload in [0, 1, 17, 18, 19, 20, 21, 56, 1469, 1470, 1471, 1472]:
            self.assertTrue(self.board.ping(payload), payload)

    def test_fragments_are_put_together(self):
        self.board.run("ip", "link", "set", "tap0", "mtu", "1500")
        # No more than the FIFO holds: longer ones arrive or not.
        for payload in [1473, 3000, 8192]:
            self.assertTrue(self.board.ping(payload), payload)

    def test_a_flood_does_not_stop_it(self):
        self.assertTrue(self.board.ping())
        before = self.frames()
        with self.board.raw() as wire:
            for length in [60, 1514] * 3:
                frame = lab.ethernet(0x88B5, bytes(length - 14))
                for _ in range(5000):
                    wire.send(frame)
        self.recovers()
        self.assertGreater(self.frames(), before + 20)

    def test_frames_that_lie_about_their_content(self):
        self.assertTrue(self.board.ping())
        dice = random.Random(6)
        with self.board.raw() as wire:
            for number in range(4000):
                good = lab.ethernet(0x0800, lab.ipv4(dice.choice([1, 6, 17, 2, 255]), dice.randbytes(dice.randrange(200))))
                bad = bytearray(good)
                for _ in range(dice.randrange(4)):
                    bad[dice.randrange(12, len(bad))] = dice.randrange(256)
                wire.send(bytes(bad))
                if number % 40 == 0:
                    lab.wait_for("an echo after frames that lie", lambda: self.board.ping(within_s=0.5))
        self.recovers()
        self.assertNotIn("FAULT", self.board.console())

    def test_a_fifo_that_overflows_while_the_core_stands_still(self):
        self.assertTrue(self.board.ping())
        for length in [60, 1514]:
            before = self.frames()
            with self.board.qmp() as command, self.board.raw() as wire:
                command("stop")
                for number in range(400):
                    wire.send(lab.ethernet(0x88B5, struct.pack(">I", number) + bytes(length - 18)))
                command("cont")
            # What did not fit is gone, and nothing stays behind: each echo is answered by its own.
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
        # 1,518 without FCS is the largest with a tag; a longer one comes through this MAC and goes no further.
        self.assertEqual(self.counter("rx_oversized") - oversized, 5)
        self.assertEqual(self.frames() - before, 2)
        self.assertEqual(self.counter("rx_errors"), self.counter("rx_oversized"))

    def test_a_fifo_that_lost_its_order_is_emptied(self):
        self.assertTrue(self.board.ping())
        with self.board.faults() as memory:
            # What the interrupt notes when the MAC says that its FIFO was read wrongly.
            memory.put("ring", memory.at("ring", 8) & 0xFFFF00FF | 0x100, 8)
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
            # More than any frame has is refused, however it is cut.
            with self.board.faults() as memory:
                memory.write(at, struct.pack("<IIII", heap, 1500, heap, 19))
                self.assertEqual(memory.call("mac_send", at, 2) & 0xFF, 0)

    def test_the_clock_goes_on_where_its_timer_begins_anew(self):
        self.assertTrue(self.board.ping())
        # TIMER0 counts down 32 bits in 171 s: leave it 40 us of them.
        self.store(0x40000004, 1000)
        lab.wait_for("the timer came round", lambda: self.word("wraps") == 1)
        # Timers that are due by the clock go on: the link is watched by one.
        self.board.link(False)
        lab.wait_for("the board notices", lambda: self.counter("link_changes") == 2)
        self.board.link(True)
        self.recovers()

    def test_a_fault_is_told_and_starts_the_board_again(self):
        with self.board.faults() as memory:
            memory.put("mac_receive", test_zynq7000.UNDEFINED_INSTRUCTIONS)
        lab.wait_for("the console tells of the fault", lambda: "FAULT status=0x" in self.board.console())
        # -no-reboot makes QEMU end where the board resets itself.
        self.assertEqual(self.board.process.wait(lab.PATIENCE_S), 0)

    def recovers(self):
        """Waits until an echo gets through what is still under way, and then all have to."""
        lab.wait_for("an echo gets through", lambda: self.board.ping(within_s=0.5))
        self.assertTrue(self.board.ping(1472, count=20))

    def frames(self):
        """Frames that the driver took so far."""
        return self.counter("rx_frames")

    def store(self, address, value):
        """Lets the core itself write a word: a debugger's own writes do not reach devices."""
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

    def counter(self, name):
        """A counter of the driver."""
        with self.board.faults() as memory:
            return memory.counters(lab.TREE / "firmware/boards/mps2-an385/lan9118_setup.c")[name]


if __name__ == "__main__":
    unittest.main()
