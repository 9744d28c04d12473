"""The Zynq-7000 image under QEMU: start, ping, and the bad days of its driver."""

import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402

TX_OURS = 1 << 31
TX_DESCRIPTORS = 128
UNDEFINED_INSTRUCTIONS = 0xDE00DE00
SCRATCH = 0x00E00000  # mapped, and far behind all that is used


def setUpModule():
    """Builds what is tested, or skips all of it."""
    lab.need()
    lab.build()


class Zynq(unittest.TestCase):
    """One board a test, so that no test leaves anything to the next."""

    def setUp(self):
        self.board = lab.Board("zynq7000")
        self.board.__enter__()
        self.addCleanup(self.board.__exit__)

    def test_it_says_who_it_is_and_answers_ping_of_every_size(self):
        self.assertEqual(self.board.console(), "READY name=zynq7000 mac=02:00:0a:37:00:02 ip=10.55.0.2\n")
        for payload in [0, 1, 17, 18, 19, 56, 1471, 1472]:
            self.assertTrue(self.board.ping(payload), payload)

    def test_fragments_are_put_together(self):
        self.board.run("ip", "link", "set", "tap0", "mtu", "1500")
        for payload in [1473, 8192, 20000]:
            self.assertTrue(self.board.ping(payload), payload)

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
                        # It adds words as the processor reads them, and is not inverted.
                        wanted = int.from_bytes((~lab.checksum(of) & 0xFFFF).to_bytes(2, "big"), "little")
                        self.assertEqual(said, wanted, (offset, length, filling[0]))

    def test_frames_for_others_do_not_pass_the_mac(self):
        self.assertTrue(self.board.ping())
        with self.board.raw() as wire:
            before = self.frames()
            for _ in range(10):
                wire.send(lab.ethernet(0x88B5, bytes(100), to=bytes.fromhex("020000000099")))
            self.assertTrue(self.board.ping())
            self.assertEqual(self.frames(), before + 1)

    def test_a_cable_that_is_pulled_and_put_in_again(self):
        self.assertTrue(self.board.ping())
        changes = self.counter("link_changes")
        for _ in range(3):
            for up in [False, True]:
                self.board.link(up)
                changes += 1
                lab.wait_for("the board notices", lambda: self.counter("link_changes") == changes)
                if not up:
                    self.assertFalse(self.board.ping(within_s=0.3))
            lab.wait_for("ping after the link came back", lambda: self.board.ping(within_s=0.5))

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

    def test_a_flood_does_not_stop_it(self):
        self.assertTrue(self.board.ping())
        before = self.frames()
        with self.board.raw() as wire:
            for length in [60, 1514] * 3:
                frame = lab.ethernet(0x88B5, bytes(length - 14))
                for _ in range(5000):
                    wire.send(frame)
        self.assertTrue(self.board.ping(1472, count=20))
        self.assertGreater(self.frames(), before + 20)

    def test_runts_and_giants(self):
        self.assertTrue(self.board.ping())
        with self.board.raw() as wire:
            for length in [14, 15, 20, 33, 34, 41, 59, 1515, 1519, 1523, 1536, 1537, 2048, 4000, 9014]:
                payload = lab.ipv4(1, lab.echo_request(0, 8), length=28) + bytes(9100)
                for frame_type in [0x0800, 0x0806, 0x8100, 0xFFFF]:
                    wire.send(lab.ethernet(frame_type, payload[: length - 14]))
                self.assertTrue(self.board.ping(1472), length)
        self.assertTrue(self.board.ping(count=300))

    def test_frames_that_lie_about_their_content(self):
        self.assertTrue(self.board.ping())
        dice = random.Random(5)
        with self.board.raw() as wire:
            for number in range(4000):
                good = lab.ethernet(0x0800, lab.ipv4(dice.choice([1, 6, 17, 2, 255]), dice.randbytes(dice.randrange(200))))
                bad = bytearray(good)
                for _ in range(dice.randrange(4)):
                    bad[dice.randrange(12, len(bad))] = dice.randrange(256)
                wire.send(bytes(bad))
                if number % 500 == 0:
                    self.assertTrue(self.board.ping())
        self.assertTrue(self.board.ping(1472, count=3))
        self.assertNotIn("FAULT", self.board.console())

    def test_lwip_without_memory_drops_and_goes_on(self):
        self.assertTrue(self.board.ping())
        with self.board.faults() as memory:
            free = memory.at("memp_tab_PBUF_POOL")
            memory.put("memp_tab_PBUF_POOL", 0)
            lost = memory.at("loop_rx_no_memory")
        self.assertFalse(self.board.ping(within_s=0.3))
        with self.board.faults() as memory:
            self.assertGreater(memory.at("loop_rx_no_memory"), lost)
            memory.put("memp_tab_PBUF_POOL", free)
        self.assertTrue(self.board.ping(1472, count=10))

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

    def test_a_fault_is_told_and_starts_the_board_again(self):
        with self.board.faults() as memory:
            memory.put("mac_receive", UNDEFINED_INSTRUCTIONS)
        self.assert_fault(r"undefined instruction pc=0x001[0-9a-f]{5}\n")

    def test_address_0_and_data_cannot_be_executed(self):
        for address, board in [(0x40, self.board), (0x00200100, self.another())]:
            self.board = board
            with self.board.faults() as memory:
                memory.jump(address)
            self.assert_fault(rf"prefetch abort pc=0x{address + 4:08x}\n")

    def test_code_cannot_be_written_and_what_is_not_there_not_be_read(self):
        # lwIP's next free buffer: what a stray pointer does.
        for address, board in [(0x20000000, self.board), (0x00100000, self.another())]:
            self.board = board
            with self.board.faults() as memory:
                memory.put("memp_tab_PBUF_POOL", address)
            with self.board.raw() as wire:
                wire.send(lab.ethernet(0x0806, bytes(46)))
            self.assert_fault(r"data abort pc=0x001[0-9a-f]{5} address=0x" + f"{address:08x}"[:4])

    def assert_fault(self, pattern):
        """The console tells of the fault, and the board starts again, which ends QEMU because of -no-reboot."""
        self.assertEqual(self.board.process.wait(lab.PATIENCE_S), 0)
        self.assertRegex(self.board.console(), "FAULT " + pattern)

    def another(self):
        """A board beside the first."""
        board = lab.Board("zynq7000")
        board.__enter__()
        self.addCleanup(board.__exit__)
        return board

    def test_it_rests_when_there_is_nothing_to_do(self):
        def sleeps():
            with self.board.faults() as memory:
                return memory.function() == "board_sleep_until"

        lab.wait_for("it sleeps between its timers", sleeps)

    def frames(self):
        """Frames that passed the MAC so far."""
        return self.counter("rx_frames")

    def counter(self, name):
        """A counter of gem.c."""
        with self.board.faults() as memory:
            return memory.counters(lab.TREE / "firmware/boards/zynq7000/gem.c")[name]


if __name__ == "__main__":
    unittest.main()
