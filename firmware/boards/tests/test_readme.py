"""The code in firmware/README.md that adds the library to a project with lwIP: it is copied into a program with its own board
and lwIP, which is built, started under QEMU and measured. The same with the code that makes it a node for `board:` and
`stages`."""

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "deep")]

import lab  # noqa: E402
import test_counts  # noqa: E402
from control import Control  # noqa: E402

HEADING = "## Add it to an lwIP project in ten lines"
FURTHER = "## From there to `board:` and `stages`"
FIRMWARE = lab.TREE / "firmware"

# The project before: a board, its main loop, lwIP compiled with it.
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(mine C ASM)
set(CMAKE_C_STANDARD 11)
file(GLOB LWIP {lwip}/core/*.c {lwip}/core/ipv4/*.c {lwip}/netif/ethernet.c)
file(GLOB BOARD {board}/*.c {board}/*.S)
add_executable(my_firmware ${{LWIP}} ${{BOARD}} {firmware}/boards/common/loop.c {firmware}/boards/common/receive.c {firmware}/boards/common/print.c
    {firmware}/boards/common/panic.c {firmware}/boards/common/uart_ring.c {port}/sys_now.c {port}/checksum.c mine.c)
target_include_directories(my_firmware PRIVATE . {board} {firmware}/boards/common {firmware}/lib/include {port} {lwip}/include)
target_compile_options(my_firmware PRIVATE -O2 -fno-strict-aliasing)
set_source_files_properties({board}/timer.c PROPERTIES COMPILE_DEFINITIONS wl_clock=my_timer_64)
target_link_options(my_firmware PRIVATE -T {board}/link.ld)
{lines}
"""
OPTIONS = """
#include "{port}/lwipopts.h"
{lines}
"""
PROGRAM = """
#include <stdint.h>
#include "app.h"
#include "board.h"
#define MY_TICK_PS 10000
#define my_uart_get board_uart_get
#define my_uart_put board_uart_put
#define my_mac_loopback mac_loopback
#define my_other_interrupts(on) board_quiet(!(on))
#define my_interrupts_off board_irq_off
#define my_interrupts_on board_irq_on
#define my_driver_receive() loop_receive(2)
uint64_t my_timer_64(void);
/* A millisecond at most, since the interrupt of a frame does not end this loop. */
static inline uint64_t my_sleep_until(uint64_t wake)
{{
	uint64_t before = wl_clock(), most = before + 100000;
	uint32_t interrupts = board_irq_off();

	board_sleep_until(wake < most ? wake : most);
	board_irq_on(interrupts);
	return wl_clock() - before;
}}
{top}
void app_start(struct netif *netif)
{{
{start}
}}
bool app_poll(void)
{{
{loop}
{idle}
	return true;
}}
uint64_t app_due(void)
{{
	return 0;
}}
bool app_idle(void)
{{
	return true;
}}
void app_slept(uint64_t ticks)
{{
	(void)ticks;
}}
"""


def setUpModule():
    """Builds the boards, which fetches lwIP, or skips all tests."""
    lab.need()
    lab.build()


def blocks(heading):
    """A section's blocks of code."""
    section = (FIRMWARE / "README.md").read_text().split(heading)[1].split("\n## ")[0]
    return re.findall(r"```(?:c|cmake)\n(.*?)```", section, re.S)


def build(folder, further):
    """The program with the page's code, with or without that of the further section."""
    places = {"firmware": FIRMWARE, "board": FIRMWARE / "boards/zynq7000", "port": FIRMWARE / "glue/lwip/port"}
    (cmake, options, top, start, loop), idle = blocks(HEADING), ""
    if further:
        links, functions, start, loop, idle = blocks(FURTHER)
        cmake, top = cmake + links, top + functions
    cmake = cmake.replace("wirelab/firmware", str(FIRMWARE))
    (folder / "CMakeLists.txt").write_text(PROJECT.format(lwip=lab.IMAGES / "lwip/src", lines=cmake, **places))
    (folder / "lwipopts.h").write_text(OPTIONS.format(lines=options, **places))
    (folder / "mine.c").write_text(PROGRAM.format(top=top, start=start, loop=loop, idle=idle))
    toolchain = FIRMWARE / "cmake/cortex-a9.cmake"
    make = ["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    for command in [make, ["ninja", "-C", folder / "build"]]:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
    return folder / "build/my_firmware"


class Sections(unittest.TestCase):
    """The sections on lwIP."""

    def built(self, further=False):
        """An image."""
        folder = Path(tempfile.mkdtemp(prefix="wlfw"))
        self.addCleanup(shutil.rmtree, folder)
        return build(folder, further)

    def test_a_project_with_lwip_becomes_a_node(self):
        self.assertLessEqual(sum(len(block.strip().split("\n")) for block in blocks(HEADING)), 10)
        with lab.Board("zynq7000", image=self.built()) as board:
            self.assertTrue(board.ping())
            with board.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
                wire.sendto(b"?0.7 hello version=1 pad=".ljust(512, b"p"), (lab.BOARD_IP, 5002))
                self.assertRegex(wire.recv(1000), rb"^=0\.7 hello version=1 .*name=my-board ")
                wire.sendto(b"echo", (lab.BOARD_IP, 7))
                self.assertEqual(wire.recv(1000), b"echo")
            if not shutil.which("iperf"):
                self.skipTest("iperf: the client of iperf 2 asks its server")
            for way in [[], ["-u", "-b", "10M"]]:
                command = ["timeout", "-k", "1", str(lab.PATIENCE_S), "iperf", "-c", lab.BOARD_IP, "-n", "1M", *way]
                said = board.run(*command, capture_output=True, text=True).stdout
                self.assertRegex(said, r"Server Report" if way else r"1\.00 MBytes", said)

    def test_and_counts_its_stages_over_its_uart(self):
        with lab.Board("zynq7000", image=self.built(further=True), icount=test_counts.BOARDS["zynq7000"]["shift"]) as board:
            mac = ":".join(f"{byte:02x}" for byte in lab.BOARD_MAC)
            self.assertIn(f"READY name=my-board mac={mac} ip={lab.BOARD_IP}\n", board.console())
            with Control(board) as control:
                trial = control.trial(direction="both", layer="udp-ipv4", path="loopback", length_bytes=64, load="max",
                                      frames=32, captures=32)
                points = control.captures(trial["trial"])
                self.assertEqual(control.counters(trial["trial"])["good_frames"], 32)
                load = control.ask("load", trial=trial["trial"])
                self.assertLess(int(load["idle_busy_ticks"]), int(load["idle_window_ticks"]))
        self.assertEqual([point for point, _ in points], test_counts.POINTS)
        for name, counts in test_counts.stages(test_counts.BOARDS["zynq7000"], points).items():
            # Every frame after the first takes the same instructions: nothing came between.
            self.assertLessEqual(max(counts[1:]) - min(counts[1:]), 1, f"{name} {counts}")


if __name__ == "__main__":
    unittest.main()
