"""Past the stack: the fast track from the driver to the application, the blaster into the driver, and their savings."""

import contextlib
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import frames  # noqa: E402
import lab  # noqa: E402
from control import Control, Refused  # noqa: E402
from trace import tracing  # noqa: E402

BOARDS = ["zynq7000", "mps2-an385"]
TESTER_IP = lab.HOST_IP


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


@contextlib.contextmanager
def each(test, name):
    """A board of that name with its serial line and a socket for frames."""
    with test.subTest(name), lab.Board(name) as board, Control(board) as control, board.raw() as wire:
        yield board, control, wire


def receive(control, wire, send, traced=None, **fields):
    """Runs a receive trial with the frames of `send`, traced if requested; returns all counters and steps."""
    started = control.ask("start", direction="receive", **fields)
    with tracing(traced) if traced else contextlib.nullcontext() as steps:
        for frame in send:
            wire.send(frame)
        # Each request costs a traced board thousands of steps.
        time.sleep(0.2)
        lab.wait_for("all came", lambda: control.ask("status", trial=started["trial"])["state"] != "running", every_s=0.5)
    counters = control.counters(started["trial"])
    return counters, steps


def arrive(wire, count):
    """Receives so many test frames of the board, as (sequence, flags, frame)."""
    found = []
    while len(found) < count:
        frame = wire.recv(4096)
        if frame[6:12] == lab.BOARD_MAC and (read := frames.read(frame)):
            found.append((*read, frame))
    return found


class FastTrack(unittest.TestCase):
    """Frames that the packet identifier finds."""

    def test_frames_reach_the_application_without_the_stack(self):
        for name in BOARDS:
            with each(self, name) as (board, control, wire):
                for layer, make in [("udp-ipv4", frames.udp), ("ethernet", frames.ethernet)]:
                    for length in [64, 1514]:
                        counters, steps = receive(control, wire, (make(n, length) for n in range(5)), board, layer=layer,
                                                  path="fast-track", frames=5)
                        self.assertEqual(counters["good_frames"], 5)
                        self.assertEqual(counters["received_frames"], 5)
                        self.assertEqual(len(steps.entries("wl_fast_track")), 5)
                        # From the driver's buffer to the judge of every byte without lwIP, and without a copy.
                        for way in steps.ways("mac_receive", "wl_data_judge"):
                            between = {function for _, function in way}
                            self.assertFalse(between & {"pbuf_alloc", "ethernet_input", "memcpy"}, between)
                # The rest of the node works as before.
                self.assertTrue(board.ping(1472))

    def test_what_no_rule_wants_or_is_damaged_goes_to_the_stack(self):
        for name in BOARDS:
            with each(self, name) as (board, control, wire):
                other = [frames.udp(n, 64, port=7777) for n in range(3)]
                torn = frames.udp(0, 64)
                torn = torn[:30] + bytes([torn[30] ^ 1]) + torn[31:]
                good = [frames.udp(n, 64) for n in range(4)]
                counters, steps = receive(control, wire, [*other, torn, *good], board, layer="udp-ipv4",
                                          path="fast-track", frames=4)
                self.assertEqual(counters["good_frames"], 4)
                self.assertEqual(counters["received_frames"], 4)
                self.assertEqual(len(steps.entries("ip4_input")), 4)
                self.assertTrue(board.ping())

    def test_capture_points_are_taken_on_the_fast_track(self):
        for name in BOARDS:
            with each(self, name) as (_board, control, wire):
                started = control.ask("start", direction="receive", layer="udp-ipv4", path="fast-track", frames=20,
                                      captures=20)
                for n in range(20):
                    wire.send(frames.udp(n, 256))
                lab.wait_for("all came", lambda: control.ask("status", trial=started["trial"])["state"] == "done")
                points = control.captures(started["trial"])
                self.assertEqual([point for point, _ in points], ["interrupt", "driver", "application"])
                for sequence, ticks in points[0][1].items():
                    self.assertLess(ticks, points[1][1][sequence])
                self.assertEqual(sorted(points[1][1]), list(range(20)))
                self.assertTrue(all(points[1][1][n] < points[2][1][n] for n in range(20)))

    def test_an_echo_comes_back_from_the_fast_track(self):
        for name in BOARDS:
            with each(self, name) as (board, control, wire):
                self.assertTrue(board.ping())
                for layer, make, peer in [
                    ("udp-ipv4", frames.udp, {"peer_ip": TESTER_IP}),
                    ("ethernet", frames.ethernet, {"peer_mac": "02:00:00:00:00:fe"}),
                ]:
                    started = control.ask("start", direction="echo", layer=layer, path="fast-track", frames=5, **peer)
                    for n in range(5):
                        wire.send(make(n, 300))
                    found = arrive(wire, 5)
                    self.assertEqual([sequence for sequence, _, _ in found], list(range(5)))
                    self.assertEqual({len(frame) for _, _, frame in found}, {300})
                    lab.wait_for("it is done", lambda trial=started["trial"]: control.ask("status", trial=trial)["state"] == "done")

    def test_it_takes_a_third_of_the_instructions_of_the_stack_at_most(self):
        for name in BOARDS:
            with each(self, name) as (board, control, wire):
                counts = {}
                for path in ["stack", "fast-track"]:
                    _, steps = receive(control, wire, (frames.udp(n, 64) for n in range(6)), board, layer="udp-ipv4",
                                       path=path, frames=6)
                    # The descriptor is read in mac_receive. An interrupt only makes a path longer.
                    ways = [len(way) for way in steps.ways("mac_receive", "wl_app_udp")]
                    self.assertEqual(len(ways), 6)
                    counts[path] = min(ways)
                print(f"{name}: from the descriptor to the application at length 64: {counts}", file=sys.stderr)
                self.assertLessEqual(3 * counts["fast-track"], counts["stack"])

    def test_what_cannot_go_past_the_stack_is_refused(self):
        for name in BOARDS:
            with each(self, name) as (_board, control, _wire):
                peer = {"peer_ip": TESTER_IP, "peer_mac": "02:00:00:00:00:fe"}
                size = {"length_bytes": 64, "load": "max", "frames": 1}
                for fields in [
                    {"path": "fast-track", "direction": "transmit", "layer": "udp-ipv4", **size, **peer},
                    {"path": "fast-track", "direction": "receive", "layer": "tcp-ipv4", "datagram_bytes": 100, "frames": 1},
                    {"path": "driver", "direction": "receive", "layer": "udp-ipv4", "frames": 1},
                    {"path": "stack", "direction": "transmit", "layer": "ethernet", "buffers": "prefilled", **size, **peer},
                ]:
                    with self.assertRaisesRegex(Refused, "unsupported field=(path|buffers)"):
                        control.ask("start", **fields)


class Blaster(unittest.TestCase):
    """Frames straight into the driver."""

    def test_every_frame_arrives_and_every_byte_is_right(self):
        for name in BOARDS:
            with each(self, name) as (_board, control, wire):
                for layer, peer in [
                    ("ethernet", {"peer_mac": "02:00:00:00:00:fe"}),
                    ("udp-ipv4", {"peer_ip": TESTER_IP}),
                ]:
                    for length in [64, 1514]:
                        trial = control.trial(direction="transmit", layer=layer, path="driver", length_bytes=length,
                                              load_milliframes_per_s=500_000, frames=50, **peer)
                        self.assertEqual(trial["tx_frames"], "50")
                        found = arrive(wire, 50)
                        self.assertEqual([sequence for sequence, _, _ in found], list(range(50)))
                        self.assertEqual({len(frame) for _, _, frame in found}, {length})
                        self.assertEqual({flags for _, flags, _ in found}, {0})

    def test_capture_points_are_taken_past_the_stack(self):
        for name in BOARDS:
            with each(self, name) as (_board, control, _wire):
                trial = control.trial(direction="transmit", layer="ethernet", path="driver", length_bytes=256, frames=20,
                                      load_milliframes_per_s=500_000, captures=20, peer_mac="02:00:00:00:00:fe")
                points = control.captures(trial["trial"])
                self.assertEqual([point for point, _ in points], ["application", "driver", "mac"])
                for n in range(20):
                    application, driver, mac = (records[n] for _, records in points)
                    self.assertTrue(application < driver < mac, n)

    def test_frames_that_lie_ready_repeat(self):
        for name in BOARDS:
            with each(self, name) as (_board, control, wire):
                started = control.ask("start", direction="transmit", layer="udp-ipv4", path="driver", length_bytes=512,
                                      load_milliframes_per_s=1_000_000, frames=50, buffers="prefilled", peer_ip=TESTER_IP)
                slots = int(started["slots"])
                found = arrive(wire, 50)
                self.assertEqual([sequence for sequence, _, _ in found], [n % slots for n in range(50)])
                self.assertEqual({flags for _, flags, _ in found}, {frames.REPEATING})

    def test_it_costs_less_than_half_of_the_stacks_way(self):
        for name in BOARDS:
            with each(self, name) as (board, control, wire):
                self.assertTrue(board.ping())
                counts = {}
                for path in ["stack", "driver"]:
                    with tracing(board) as steps:
                        control.trial(direction="transmit", layer="udp-ipv4", path=path, length_bytes=1514,
                                      load_milliframes_per_s=100_000, frames=5, peer_ip=TESTER_IP)
                    arrive(wire, 5)
                    # The blaster waits between frames, but not between a frame's bytes and the driver.
                    counts[path] = min(len(way) for way in steps.ways("wl_frame_data", "mac_send"))
                print(f"{name}: from the application to the driver at length 1514: {counts}", file=sys.stderr)
                self.assertLessEqual(2 * counts["driver"], counts["stack"])


if __name__ == "__main__":
    unittest.main()
