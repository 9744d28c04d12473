"""Tests of the tables of registers on the blocks' pages: the content of a row, and that a stale page is found."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import register_pages
import toolchain

MAP = """reg count_t { desc = "Wraps around."; field { sw = r; hw = w; } value[32]; };
regfile things {
    reg {
        desc = "What it does,
                on two lines.";
        field { sw = rw; hw = r; } enable[0:0] = 0;
        field { sw = rw; hw = r; } kind[6:4] = 2;
        field { sw = w; hw = r; singlepulse; } clear[8:8] = 0;
    } control @ 0x0;
    count_t seen @ 0x4; // Frames that came.
    regfile { count_t word[3] @ 0x0 += 4; } group[2] @ 0x10 += 0x10;
};
addrmap some { default regwidth = 32; things first @ 0x000; things second @ 0x100; };
"""
ROWS = """| offset | register | access | reset | |
|---|---|---|---|---|
| 0x100 | `control` | rw | 0x20 | `enable` 0, `kind` 6:4, `clear` 8 (w). What it does, on two lines. |
| 0x104 | `seen` | r | 0 | Frames that came. |
| 0x110 + 0x10 i + 0x4 j | `group[2].word[3]` | r | 0 | Wraps around. |
"""
PAGE = "# A block\n\n<!-- registers: {} of {} -->\n<!-- /registers -->\n\nThe end.\n"


class Tables(unittest.TestCase):
    """From a map to a page."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "some.rdl").write_text(MAP)

    def page(self, part="second", name="some"):
        """The page of a part of a map."""
        return register_pages.page(PAGE.format(part, name), self.folder)

    def test_a_row_has_offset_access_fields_and_what_it_is(self):
        self.assertEqual(self.page(), f"# A block\n\n<!-- registers: second of some -->\n\n{ROWS}\n<!-- /registers -->\n\nThe end.\n")
        self.assertEqual(register_pages.page(self.page(), self.folder), self.page())

    def test_parts_follow_one_another_in_the_order_that_was_asked(self):
        text = self.page("second, first")
        self.assertLess(text.index("| 0x104 | `second.seen` |"), text.index("| 0x004 | `first.seen` |"))

    def test_what_is_not_in_a_map_or_says_nothing_is_named(self):
        for part, name, said in (("third", "some", "has no third; it has first, second"), ("first", "other", "there is no .*other.rdl")):
            with self.assertRaisesRegex(toolchain.ToolError, said):
                self.page(part, name)
        (self.folder / "some.rdl").write_text(MAP.replace(' desc = "Wraps around.";', ""))
        with self.assertRaisesRegex(toolchain.ToolError, "second.group.*word.* has neither a desc nor a comment"):
            self.page()

    def test_a_page_that_is_stale_is_found_until_it_is_written(self):
        def run(*words):
            out = io.StringIO()
            with mock.patch.object(sys, "argv", ["register_pages.py", *words]), contextlib.redirect_stdout(out):
                return register_pages.main(), out.getvalue()

        page = self.folder / "block.md"
        page.write_text(PAGE.format("capture", "ethernet_port"))
        with mock.patch.object(register_pages, "PAGES", self.folder):
            status, said = run()
            self.assertEqual(status, 1)
            self.assertIn("block.md: its registers are not those of rtl/registers", said)
            self.assertEqual(run("--write"), (0, ""))
            self.assertIn("| 0x40C | `missed` | r |", page.read_text())
            self.assertEqual(run(), (0, ""))
            page.write_text(page.read_text().replace("0x40C", "0x410"))
            self.assertEqual(run()[0], 1)


if __name__ == "__main__":
    unittest.main()
