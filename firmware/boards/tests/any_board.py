"""Tests under QEMU that every board with lwIP must pass."""

import random

import lab

UNDEFINED_INSTRUCTIONS = 0xDE00DE00


class AnyBoard:
    """Each test has a board of its own, so that no test affects the next.

    A board's class sets NAME, COUNTERS (the source with their names), FRAGMENTED (payloads that arrive in fragments and whole),
    SEED (of forged frames), ECHO_EVERY (an echo after so many of them) and FAULT (the begin of the console's report), and
    implements answers() and recovers().
    """

    def setUp(self):
        self.board = lab.Board(self.NAME)
        self.board.__enter__()
        self.addCleanup(self.board.__exit__)

    def test_it_says_who_it_is_and_answers_ping_of_every_size(self):
        self.assertEqual(self.board.console(), f"READY name={self.NAME} mac=02:00:0a:37:00:02 ip=10.55.0.2\n")
        for payload in [0, 1, 17, 18, 19, 20, 21, 56, 1469, 1470, 1471, 1472]:
            self.assertTrue(self.board.ping(payload), payload)

    def test_fragments_are_put_together(self):
        self.board.run("ip", "link", "set", "tap0", "mtu", "1500")
        for payload in self.FRAGMENTED:
            self.assertTrue(self.board.ping(payload), payload)

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
        dice = random.Random(self.SEED)
        with self.board.raw() as wire:
            for number in range(4000):
                good = lab.ethernet(0x0800, lab.ipv4(dice.choice([1, 6, 17, 2, 255]), dice.randbytes(dice.randrange(200))))
                bad = bytearray(good)
                for _ in range(dice.randrange(4)):
                    bad[dice.randrange(12, len(bad))] = dice.randrange(256)
                wire.send(bytes(bad))
                if number % self.ECHO_EVERY == 0:
                    self.answers()
        self.recovers()
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

    def test_a_fault_is_reported_and_starts_the_board_again(self):
        with self.board.faults() as memory:
            memory.put("mac_receive", UNDEFINED_INSTRUCTIONS)
        self.assert_fault(self.FAULT)

    def test_it_rests_when_there_is_nothing_to_do(self):
        def sleeps():
            with self.board.faults() as memory:
                return memory.function() == "board_sleep_until"

        lab.wait_for("it sleeps between its timers", sleeps)

    def assert_fault(self, pattern):
        """The console reports the fault, and the board starts again, which ends QEMU because of -no-reboot."""
        self.assertEqual(self.board.process.wait(lab.PATIENCE_S), 0)
        self.assertRegex(self.board.console(), "FAULT " + pattern)

    def frames(self):
        """Frames that the driver has received so far."""
        return self.counter("rx_frames")

    def counter(self, name):
        """A counter of the driver."""
        with self.board.faults() as memory:
            return memory.counters(lab.TREE / "firmware/boards" / self.NAME / self.COUNTERS)[name]
