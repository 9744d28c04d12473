"""Checks of the images of all boards, without starting them."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import lab  # noqa: E402

BOARDS = sorted((lab.TREE / "firmware/boards").glob("*/board.cmake"))
NAMES = [name for board in BOARDS for name in re.findall(r"^wl_image\(([\w-]+)", board.read_text(), re.M)]


def setUpModule():
    """Builds them, or skips all tests."""
    lab.need("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc")
    lab.build()


class Images(unittest.TestCase):
    """The files in target/firmware."""

    def test_no_path_of_the_machine_that_built_them_is_in_them(self):
        for name in NAMES:
            image = (lab.IMAGES / f"{name}.elf").read_bytes()
            for path in [lab.TREE, lab.IMAGES]:
                self.assertNotIn(f"{path.resolve()}/".encode(), image, name)

    def test_the_build_tells_what_each_takes(self):
        said = subprocess.run([lab.TREE / "scripts/firmware.sh"], check=True, capture_output=True, text=True).stdout
        for name in NAMES:
            rows = re.search(rf"^{name} .*\n((?:  .*\n)+)", said, re.M)
            self.assertIsNotNone(rows, f"{name} in:\n{said}")
            sizes = dict(re.findall(r"^  (\S+) +([\d,]+) ", rows[1], re.M))
            sizes = {group: int(size.replace(",", "")) for group, size in sizes.items()}
            together = sizes.pop("together")
            self.assertEqual(sum(sizes.values()), together, name)
            self.assertGreater(sizes["boards"], 1000, name)
            # The table must not lose what the image holds: loaded bytes, as the linker counts them.
            size = "riscv64-unknown-elf-size" if name.startswith("reference") else "arm-none-eabi-size"
            loaded = subprocess.run([size, lab.IMAGES / f"{name}.elf"], check=True, capture_output=True, text=True)
            text, data = (int(word) for word in loaded.stdout.splitlines()[1].split()[:2])
            # The filling between functions belongs to none, and is a larger share of a small image.
            self.assertLess(abs(text + data - together), max(0.02 * together, 200), name)

    def test_the_page_has_a_row_for_each_board(self):
        page = (lab.TREE / "firmware/README.md").read_text()
        for board in BOARDS:
            self.assertIn(f"\n| `{board.parent.name}` | ", page)

    def test_a_board_that_does_not_exist_is_named(self):
        done = subprocess.run([lab.TREE / "scripts/firmware.sh", "zynq9000"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown board 'zynq9000'; fix: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
