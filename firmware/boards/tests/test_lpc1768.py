"""The LPC1768 images as files: their sections, the boot loader's check, and the machine code of the copy loops."""

import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402

BOARD = lab.TREE / "firmware/boards/lpc1768"
LIBRARY = lab.TREE / "firmware/lib"
LOCAL_SRAM = (0x10000000, 0x10008000)
FLASH = (0, 512 << 10)
AHB_BANKS = [(0x2007C000, 0x20080000), (0x20080000, 0x20084000)]
STACK_BYTES = 2048

# For each sequence the application's data are the specification's LFSR part, in aligned words.
DATA_TEST = r"""
#include <stdio.h>
#include <string.h>
#include "node.h"

struct node node;

int main(void)
{
	static uint8_t right[1482];

	application_data_init();
	for (uint32_t n = 0; n < 10000; n++) {
		uint32_t sequence = n < 9000 ? n : n * 7919u;
		const uint8_t *data = application_data(0, sequence, sizeof right);

		wl_lfsr_fill(sequence, right, sizeof right);
		if (application_data_ready(sequence) != data || !wl_lfsr_matches(sequence, data, sizeof right) ||
		    wl_lfsr_matches(sequence + 1, data, sizeof right))
			return printf("ready %u\n", sequence), 1;
		if (memcmp(data, right, sizeof right) != 0 || (uintptr_t)data % 4 != 0)
			return printf("sequence %u\n", sequence), 1;
	}
	/* A receiver follows into the next stretch, and does not jump. */
	application_data_init();
	node.trial.asked.direction = WL_RECEIVE;
	for (uint32_t n = 0; n < 10000; n++)
		if (application_data_ready(n) == 0)
			return printf("receiver at %u\n", n), 1;
	return application_data_ready(9999 - 2000) != 0 || application_data_ready(9999) == 0;
}
"""


def setUpModule():
    """Builds the images, or skips all tests."""
    lab.need("arm-none-eabi-gcc")
    lab.build()


def image(place):
    """The path of an image."""
    return lab.IMAGES / f"lpc1768-{place}.elf"


def segments(place):
    """The loaded segments: (virtual address, physical address, bytes in the file, bytes in memory)."""
    raw = image(place).read_bytes()
    offset, size, count = struct.unpack_from("<I", raw, 28)[0], *struct.unpack_from("<HH", raw, 42)
    found = []
    for n in range(count):
        kind, at, virtual, physical, filed, memory = struct.unpack_from("<6I", raw, offset + n * size)
        if kind == 1:
            found.append((virtual, physical, raw[at : at + filed], memory))
    return found


def symbol(place, name):
    """The value of a symbol."""
    listing = subprocess.run(["arm-none-eabi-nm", image(place)], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", listing, re.M).group(1), 16)


class Images(unittest.TestCase):
    """Both images."""

    def test_every_part_lies_in_a_memory_of_the_chip(self):
        for place, code in {"ram": LOCAL_SRAM, "flash": FLASH}.items():
            for virtual, physical, filed, memory in segments(place):
                home = next(home for home in [code, LOCAL_SRAM, *AHB_BANKS] if home[0] <= virtual < home[1])
                self.assertLessEqual(virtual + memory, home[1])
                # A debugger loads only segments that a boot loader would program as well.
                self.assertTrue(not filed or code[0] <= physical < code[1], hex(physical))

    def test_there_is_room_for_the_stack(self):
        for place in ["ram", "flash", "ram-words", "ram-pointer"]:
            self.assertGreaterEqual(symbol(place, "stack_top") - symbol(place, "bss_end"), STACK_BYTES)

    def test_vectors_come_first_and_add_up_for_the_boot_loader(self):
        for place, first in {"ram": LOCAL_SRAM[0], "flash": 0}.items():
            filed = next(filed for virtual, _, filed, _ in segments(place) if virtual == first)
            vectors = struct.unpack_from("<51I", filed)
            self.assertEqual(sum(vectors[:8]) & 0xFFFFFFFF, 0)
            self.assertEqual(vectors[0], LOCAL_SRAM[1])
            self.assertEqual(vectors[1], symbol(place, "start_reset") | 1)
            for number, name in {1: "timer_interrupt", 5: "uart_interrupt", 28: "emac_interrupt"}.items():
                self.assertEqual(vectors[16 + number], symbol(place, name) | 1)

    def test_the_copy_loops_are_loops_of_a_load_and_a_store(self):
        shown = subprocess.run([BOARD / "copy-loop.sh", image("ram")], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("board_copy_pointer", shown, "only loops of the image")
        for name, load, store in [("halfwords", "ldrh", "strh"), ("words", "ldr", "str")]:
            loop = re.split(r"\n[0-9a-f]+ <", shown.split(f"<board_copy_{name}>:")[1])[0]
            self.assertEqual(len(re.findall(rf"\t{load}(?:\.w)?\s", loop)), 1, loop)
            self.assertEqual(len(re.findall(rf"\t{store}(?:\.w)?\s", loop)), 1, loop)
            self.assertNotIn("bl\t", loop)

    def test_the_images_with_another_loop_differ_in_it(self):
        for place, loop in {"ram-words": "words", "ram-pointer": "pointer"}.items():
            command = [BOARD / "copy-loop.sh", image(place)]
            shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            self.assertIn(f"board_copy_{loop}", shown)
            self.assertNotIn("board_copy_halfwords", shown)

    def test_the_copy_loops_of_an_image_that_is_missing_say_how_it_is_made(self):
        done = subprocess.run([BOARD / "copy-loop.sh", "/no/image"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("make firmware", done.stderr)


class Data(unittest.TestCase):
    """The application's data, on the host."""

    def test_the_data_of_each_sequence_are_its_lfsr_part(self):
        with tempfile.TemporaryDirectory() as folder:
            test = Path(folder, "test.c")
            test.write_text(DATA_TEST)
            subprocess.run(
                ["gcc", "-O1", "-fsanitize=address,undefined", '-DWL_OPTIONS_HEADER="wirelab_options.h"']
                + [f"-I{BOARD}", f"-I{LIBRARY}/include", BOARD / "data.c", LIBRARY / "src/frame_lfsr.c", test]
                + ["-o", f"{folder}/test"],
                check=True,
            )
            done = subprocess.run([f"{folder}/test"], check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
