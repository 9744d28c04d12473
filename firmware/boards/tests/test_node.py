"""Trials of the node application on boards, requested over the serial line, with faults: memory that is used up, a ring that
does not empty, a cable that is pulled. The counts must still add up, and the next trial must work as usual."""

import re
import socket
import struct
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402
from control import Control, Refused, crc16  # noqa: E402

PORT = 5003
CONTROL_PORT = 5002
SO_RCVBUFFORCE = 33
TX_OURS = 1 << 31
TX_DESCRIPTORS = 128


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


def header(sequence, stream=0):
    """A test header without payload (spec/test-frame.md)."""
    begin = b"WL" + struct.pack(">BBI6xH", 0x10, stream, sequence, 0)
    return begin + struct.pack(">H", lab.checksum(begin))


class Boards:
    """The tests of every board with the application; each test has a board of its own."""

    name = ""

    def setUp(self):
        self.board = lab.Board(self.name)
        self.board.__enter__()
        self.addCleanup(self.board.__exit__)
        self.control = Control(self.board)
        self.control.__enter__()
        self.addCleanup(self.control.__exit__)
        self.host = self.board.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.host.close)
        # The socket holds all frames of a trial until its end.
        self.host.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.host.bind((lab.HOST_IP, PORT))

    def received(self):
        """Sequences that arrive at the host until it is quiet."""
        found = []
        self.host.settimeout(0.5)
        while True:
            try:
                data = self.host.recv(2048)
            except TimeoutError:
                return found
            self.assertEqual(data[:2], b"WL")
            found.append(struct.unpack(">I", data[4:8])[0])

    def transmit(self, frames=1000, per_s=1000):
        """Starts a trial in which the board sends to the host."""
        started = self.control.ask("start", direction="transmit", layer="udp-ipv4", datagram_bytes=100, frames=frames,
                                   load_milliframes_per_s=per_s * 1000, peer_ip=lab.HOST_IP, peer_port=PORT)
        return started["trial"]

    def end(self, trial):
        """Waits for the end; returns the state and the counters."""
        status = lab.wait_for("the trial ends", lambda: self.is_over(trial), every_s=0.05)
        return status["state"], self.control.counters(trial)

    def is_over(self, trial):
        """The status of a trial that has ended."""
        status = self.control.ask("status", trial=trial)
        return status["state"] != "running" and status

    def sent_and_refused(self, trial, frames=1000):
        """All sequences are used, and all frames that were not refused have arrived in order."""
        state, counters = self.end(trial)
        self.assertEqual((state, counters["sent_frames"]), ("done", frames))
        arrived = self.received()
        self.assertEqual(len(arrived), frames - counters["sent_refused_frames"])
        self.assertEqual(arrived, sorted(set(arrived)))
        return counters

    def test_hello_has_every_key_of_the_set_up_tables(self):
        keys = self.control.setup()
        wanted = """core core_clock_hz cores memory cache interface link_bits_per_s phy buffer_memory scatter_gather_tx
            scatter_gather_rx checksum_tx checksum_rx interrupt_pacing rx_buffers tx_buffers rx_descriptors tx_descriptors
            stack os application software mac ip mtu_bytes""".split()
        self.assertEqual([key for key in wanted if not keys.get(key)], [])
        self.assertEqual((keys["mac"], keys["ip"], keys["stack"]), ("02:00:0a:37:00:02", lab.BOARD_IP, "lwIP 2.2.1"))

    def test_the_serial_line_loses_no_byte_of_many_lines_at_once(self):
        line, session, count = self.control.line, self.control.session, 500
        line.settimeout(lab.PATIENCE_S)
        lines = [f"?{session}.{self.control.number + n} status".encode() for n in range(1, count + 1)]
        # Faster than the board reads them, while it answers.
        text = b"".join(b"%s *%04X\n" % (each, crc16(each)) for each in lines)
        sender = threading.Thread(target=line.sendall, args=(text,))
        sender.start()
        came = b""
        while came.count(b"\n") < count:
            came += line.recv(65536)
        sender.join()
        answered = [int(number) for number in re.findall(rf"^={session}\.(\d+) status ", came.decode(), re.M)]
        self.assertEqual(answered, list(range(self.control.number + 1, self.control.number + count + 1)))
        self.control.number += count
        # An endless line is one line that is too long.
        line.sendall(b"x" * 100000 + b"\n")
        self.assertEqual(self.control.ask("status")["state"], "idle")

    def disturbed(self, cause, cure):
        """A trial with a fault in its middle, which lasts until the board has refused frames. Returns the trial's counts and
        the arrived frames."""
        self.sent_and_refused(self.transmit(frames=10), frames=10)
        trial = self.transmit(frames=1000000, per_s=500)

        def frames_beyond(count):
            lab.wait_for("frames are sent",
                         lambda: int(self.control.ask("status", trial=trial)["tx_frames"]) > count, every_s=0.05)

        frames_beyond(50)
        cause()
        lab.wait_for("frames are refused",
                     lambda: self.control.counters(trial)["sent_refused_frames"] > 20, every_s=0.05)
        cure()
        frames_beyond(int(self.control.ask("status", trial=trial)["tx_frames"]) + 50)
        self.control.ask("stop", trial=trial)
        state, counters = self.end(trial)
        self.assertEqual(state, "stopped")
        arrived = self.received()
        self.assertEqual(arrived, sorted(set(arrived)))
        self.assertEqual(arrived[-1], counters["sent_frames"] - 1)
        return counters, arrived

    def test_transmit_to_whom_the_serial_line_names(self):
        # The board has never heard the host: it resolves its address before the first frame.
        counters = self.sent_and_refused(self.transmit(frames=200), frames=200)
        self.assertEqual(counters["sent_refused_frames"], 0)
        with self.assertRaisesRegex(Refused, "missing-field field=peer_ip"):
            self.control.ask("start", direction="transmit", layer="udp-ipv4", datagram_bytes=100, frames=1, load="max")

    def test_a_peer_that_is_not_there_is_reported(self):
        started = self.control.ask("start", direction="transmit", layer="udp-ipv4", datagram_bytes=100, frames=10,
                                   load="max", peer_ip="10.55.0.99")
        status = lab.wait_for("the trial ends", lambda: self.is_over(started["trial"]))
        self.assertEqual(status["state"], "failed")
        self.assertIn("link-layer", status["why"])
        self.sent_and_refused(self.transmit(frames=10), frames=10)

    def test_receive_and_echo(self):
        started = self.control.ask("start", direction="receive", layer="udp-ipv4", frames=50)
        for sequence in range(50):
            self.host.sendto(header(sequence), (lab.BOARD_IP, PORT))
            time.sleep(0.001)
        state, counters = self.end(started["trial"])
        self.assertEqual((state, counters["good_frames"], counters["distinct_sequences"]), ("done", 50, 50))
        started = self.control.ask("start", direction="echo", layer="udp-ipv4", frames=50, peer_ip=lab.HOST_IP)
        for sequence in range(50):
            self.host.sendto(header(sequence, stream=7), (lab.BOARD_IP, PORT))
            self.assertEqual(self.host.recv(100), header(sequence, stream=7))
        state, counters = self.end(started["trial"])
        self.assertEqual((state, counters["sent_frames"], counters["good_frames"]), ("done", 50, 50))

    def test_echo_on_port_7(self):
        self.host.sendto(bytes(range(200)), (lab.BOARD_IP, 7))
        self.assertEqual(self.host.recv(1000), bytes(range(200)))

    def test_control_over_udp_sends_no_more_than_was_sent(self):
        with self.board.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:

            def ask(line):
                wire.sendto(line, (lab.BOARD_IP, CONTROL_PORT))
                return wire.recv(1000)

            wire.settimeout(lab.PATIENCE_S)
            self.assertRegex(ask(b"?0.7 hello version=1"), rb"^!0\.7 pad \*[0-9A-F]{4}\n$")
            # A line shorter than any answer gets none: the next answer is that of the next line.
            wire.sendto(b"?0.1 status", (lab.BOARD_IP, CONTROL_PORT))
            reply = ask(b"?0.8 hello version=1 pad=".ljust(512, b"p"))
            self.assertRegex(reply, rb"^=0\.8 hello version=1 session=")
            session = re.search(rb" session=(\d+) ", reply)[1]
            self.assertGreater(len(ask(b"?%s.1 hello from=0" % session)), 100)

    def test_nobody_guesses_the_next_connection(self):
        """A connection proves an address, so its first sequence number must not follow from that of the one before."""
        numbers = {}
        with self.board.raw() as wire:
            for _ in range(6):
                with self.board.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
                    connection.connect((lab.BOARD_IP, CONTROL_PORT))
            wire.settimeout(lab.PATIENCE_S)
            while len(numbers) < 6:
                frame = wire.recv(2000)
                # Of TCP over IPv4 without options from the board, SYN and ACK; by the ports of this host.
                is_answer = frame[12:15] == b"\x08\x00\x45" and frame[23] == 6 and frame[47] == 0x12
                if is_answer and frame[34:36] == CONTROL_PORT.to_bytes(2, "big"):
                    numbers[frame[36:38]] = int.from_bytes(frame[38:42], "big")
        came = list(numbers.values())
        steps = {(later - before) % 2**32 for before, later in zip(came, came[1:], strict=False)}
        # lwIP's own go up by the ticks of its clock.
        self.assertGreater(max(min(step, 2**32 - step) for step in steps), 2**20, numbers)
        self.assertEqual(len(steps), 5, numbers)

    def test_control_over_tcp_from_many_that_come_and_go(self):
        lines = []
        # More connections than the board keeps: the longest silent one is closed, and the others continue.
        connections = [self.board.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(6)]
        for number, connection in enumerate(connections):
            self.addCleanup(connection.close)
            connection.connect((lab.BOARD_IP, CONTROL_PORT))
            connection.sendall(b"\n=not a request\n" + b"?" + b"x" * 600 + b"\n?0.%d hello version=1\n" % number)
            lines = connection.makefile("rb")
            self.assertTrue(lines.readline().startswith(b"!0.0 too-long limit=512"))
            self.assertTrue(lines.readline().startswith(b"=0.%d hello version=1" % number))
        connections[-1].sendall(b"?0.77 hello vers")
        connections[-1].sendall(b"ion=1\n?0.78 hello version=1\n")
        self.assertTrue(lines.readline().startswith(b"=0.77 hello"))
        self.assertTrue(lines.readline().startswith(b"=0.78 hello"))
        self.assertEqual(connections[0].recv(100), b"")
        connections[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connections[-1].close()
        self.sent_and_refused(self.transmit(frames=10), frames=10)

    def test_memory_for_sending_is_used_up_and_comes_back(self):
        free = []

        def cause():
            with self.board.faults() as memory:
                free.append(memory.at("memp_tab_PBUF"))
                memory.put("memp_tab_PBUF", 0)

        def cure():
            with self.board.faults() as memory:
                memory.put("memp_tab_PBUF", free[0])

        counters, arrived = self.disturbed(cause, cure)
        self.assertEqual(len(arrived), counters["sent_frames"] - counters["sent_refused_frames"])

    def test_memory_for_receiving_is_used_up_and_comes_back(self):
        started = self.control.ask("start", direction="receive", layer="udp-ipv4", frames=300)

        def send(first):
            for sequence in range(first, first + 100):
                self.host.sendto(header(sequence), (lab.BOARD_IP, PORT))
                time.sleep(0.001)
            time.sleep(0.1)

        send(0)
        with self.board.faults() as memory:
            free = memory.at("memp_tab_PBUF_POOL")
            memory.put("memp_tab_PBUF_POOL", 0)
        send(100)
        with self.board.faults() as memory:
            memory.put("memp_tab_PBUF_POOL", free)
        send(200)
        self.control.ask("stop", trial=started["trial"])
        state, counters = self.end(started["trial"])
        self.assertEqual((state, counters["good_frames"], counters["distinct_sequences"]), ("stopped", 200, 200))
        self.assertGreaterEqual(counters["no_buffer_frames"], 100)

    def test_a_cable_that_is_pulled_while_it_sends(self):
        counters, arrived = self.disturbed(lambda: self.board.link(False), lambda: self.board.link(True))
        # Frames sent before the board noticed are lost on the way.
        self.assertLessEqual(len(arrived), counters["sent_frames"] - counters["sent_refused_frames"])

    def test_who_sleeps_between_frames_is_less_busy_than_who_does_not(self):
        def busy(load):
            started = self.control.ask("start", direction="transmit", layer="udp-ipv4", datagram_bytes=100, frames=200,
                                       peer_ip=lab.HOST_IP, peer_port=PORT, **load)
            self.assertEqual(self.end(started["trial"])[0], "done")
            told = self.control.ask("load", trial=started["trial"])
            self.assertEqual((told["cores"], told["shared"]), ("1", "no"))
            # The board was idle between the trials, which the baseline covers.
            self.assertLess(int(told["idle_busy_ticks"]), int(told["idle_window_ticks"]))
            return int(told["busy_ticks"]) / int(told["window_ticks"])

        time.sleep(0.1)
        at_leisure = busy({"load_milliframes_per_s": 200000})
        time.sleep(0.1)
        self.assertLess(at_leisure, busy({"load": "max"}))

    def test_nothing_of_what_is_sent_is_left_over_for_the_next_trial(self):
        for n in range(1, 4):
            self.assertEqual(self.transmit(frames=1000000, per_s=100), str(n))
            time.sleep(0.1)
            self.assertIn(self.control.ask("stop", trial=n)["state"], ("running", "stopped"))
            state, _ = self.end(n)
            self.assertEqual(state, "stopped")
            self.received()
        self.sent_and_refused(self.transmit(frames=50), frames=50)


class Zynq(Boards, unittest.TestCase):
    """With DMA descriptors."""

    name = "zynq7000"

    def test_a_ring_that_does_not_empty_while_it_sends(self):
        was = []

        def cause():
            with self.board.faults() as memory:
                was.extend(memory.at("tx_ring", 8 * n + 4) for n in range(TX_DESCRIPTORS))
                for n in range(TX_DESCRIPTORS):
                    memory.put("tx_ring", was[n] & ~TX_OURS, 8 * n + 4)

        def cure():
            with self.board.faults() as memory:
                for n in range(TX_DESCRIPTORS):
                    memory.put("tx_ring", was[n], 8 * n + 4)

        counters, arrived = self.disturbed(cause, cure)
        self.assertEqual(len(arrived), counters["sent_frames"] - counters["sent_refused_frames"])
        self.assertEqual(counters["ring_full_events"], counters["sent_refused_frames"])


class Mps2(Boards, unittest.TestCase):
    """With programmed input and output."""

    name = "mps2-an385"


if __name__ == "__main__":
    unittest.main()
