"""The cost of lwIP's own functions, from the calls that lwIP has around them: an image built with WL_LWIP_PERF."""

import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import frames  # noqa: E402
import lab  # noqa: E402

# struct wl_perf: the name's address, calls, then total, own and least own ticks, of 10 ns on this board.
PERF = struct.Struct("<IIQQQ")
STAGES = 4
SHIFT = 7
NS_PER_TICK = 10
DATAGRAMS = 8
# Ticks of an instruction, rounded up.
TICKS = -(-(1 << SHIFT) // NS_PER_TICK)


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need()
    lab.build()


def build(folder):
    """A Zynq's image with WL_LWIP_PERF."""
    source = lab.TREE / "firmware"
    options = [f"-DLWIP_DIR={lab.IMAGES}/lwip/src", f"-DCMAKE_TOOLCHAIN_FILE={source}/cmake/cortex-a9.cmake"]
    commands = [
        ["cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DWL_BOARD=zynq7000", "-DWL_LWIP_PERF=ON", *options],
        ["ninja", "-C", folder],
    ]
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return Path(folder, "zynq7000.elf")


def read(board):
    """The stages by name: (calls, total, own, least own)."""
    found = {}
    with board.faults() as memory:
        for n in range(STAGES):
            name, *figures = PERF.unpack(memory.bytes(memory.symbols["stages"] + PERF.size * n, PERF.size))
            if name:
                found[memory.bytes(name, 16).partition(b"\0")[0].decode()] = figures
    return found


class Perf(unittest.TestCase):
    """The Zynq, counted."""

    def test_lwips_functions_tell_what_they_cost(self):
        with tempfile.TemporaryDirectory(prefix="wlfw") as folder:
            image = build(folder)
            with lab.Board("zynq7000", icount=SHIFT, image=image) as board, board.raw() as wire:
                self.assertTrue(board.ping())
                # The first call finds lwIP's tables cold.
                batches = [self.batch(board, wire) for _ in range(6)][1:]
                for ticks in map(sorted, zip(*batches, strict=True)):
                    # Most calls cost the same, to the resolution of a tick.
                    self.assertLessEqual(ticks[3] - ticks[0], DATAGRAMS)
                    # The moment of a datagram's arrival may cost an instruction more.
                    self.assertLessEqual(ticks[4] - ticks[0], DATAGRAMS * (TICKS + 1))
                total, own = batches[-1]
                # lwIP answers each with ICMP and frees buffers inside, which is not udp_input's own cost.
                self.assertLess(own, total)
                self.assertGreater(own * NS_PER_TICK >> SHIFT, 100 * DATAGRAMS)
                calls, all_ticks, all_own, least = read(board)["udp_input"]
                self.assertLessEqual(least * calls, all_own)
                self.assertLess(all_own, all_ticks)
                self.assertGreater(read(board)["pbuf_free"][0], calls)

    def batch(self, board, wire):
        """Ticks of udp_input, total and own, for datagrams to a closed port."""
        before = read(board).get("udp_input", [0] * 4)
        for n in range(DATAGRAMS):
            # One at a time, so that no interrupt of the next falls into it.
            wire.send(frames.udp(n, 256, port=4000))
            lab.wait_for("it came", lambda come=before[0] + n + 1: read(board).get("udp_input", [0])[0] == come)
        after = read(board)["udp_input"]
        return after[1] - before[1], after[2] - before[2]


if __name__ == "__main__":
    unittest.main()
