"""scripts/words.py: what of a source is a string or a comment, and how the list of what is left can only shrink."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import words  # noqa: E402

RUST = r'''//! One comment
//! of two lines.
fn code<'a>(quote: char) -> bool {
    let text = "a string \
        in two lines"; // behind it
    quote == '"' || quote == '\'' || bare == r#"raw "quoted" text"#
}
/* a block
 * of C */
'''
LIST = "way out => fix\nnot yet: crates/a 3\nnot yet: docs/x.md 1\n"


class Said(unittest.TestCase):
    def pieces(self, source):
        return [(line, " ".join(piece.split())) for line, piece in words.said(source)]

    def test_strings_and_comments_are_found_with_their_lines(self):
        expected = [
            (1, "One comment of two lines."),
            (4, '"a string in two lines"'),
            (5, "behind it"),
            (6, 'r#"raw "quoted" text"#'),
            (8, "/* a block of C */"),
        ]
        self.assertEqual(self.pieces(RUST), expected)

    def test_code_is_neither(self):
        self.assertEqual(self.pieces("let way_out: &'a str = x('\"'); let b = b'\"' / 2;"), [])

    def test_code_blocks_of_a_page_are_left_out_and_lines_stay(self):
        page = "one\n```\nway out\n```\n    way out\nlast"
        self.assertEqual(list(words.prose(page)), [(1, "one\n\n\n\n\nlast")])


class Left(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        for name in ("crates/a/src", "docs", "scripts"):
            (self.root / name).mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.root], check=True)
        (self.root / "scripts/words.txt").write_text(LIST)
        (self.root / "docs/x.md").write_text("A way out.\n")
        self.places(3)

    def tearDown(self):
        self.folder.cleanup()

    def places(self, count):
        (self.root / "crates/a/src/lib.rs").write_text("// The way out.\nfn f() {}\n" * count)

    def test_as_many_as_listed_pass_and_are_counted(self):
        self.assertEqual(list(words.words(self.root)), [])
        self.assertEqual(words.summary(self.root), "words: 4 places are not mended yet, in 2 parts")

    def test_one_more_fails_with_each_place(self):
        self.places(4)
        found = list(words.words(self.root))
        self.assertEqual(found[0], "crates/a: 4 places, and scripts/words.txt allows 3:")
        self.assertEqual(found[1], "crates/a/src/lib.rs:1: 'way out'; fix: write fix")
        self.assertEqual(len(found), 5)

    def test_fewer_are_named_and_written_into_the_list(self):
        self.places(1)
        (self.root / "docs/x.md").write_text("Nothing.\n")
        self.assertIn("crates/a, docs/x.md have fewer, fix: scripts/words.py --lower", words.summary(self.root))
        words.lower(self.root)
        self.assertEqual((self.root / "scripts/words.txt").read_text(), "way out => fix\nnot yet: crates/a 1\n")
        self.places(2)
        self.assertTrue(list(words.words(self.root)))

    def test_the_list_of_the_project_is_in_order(self):
        patterns, left, findings = words.read(Path(__file__).resolve().parents[2])
        self.assertEqual(findings, [])
        self.assertTrue(patterns and all(count > 0 for count in left.values()))


if __name__ == "__main__":
    unittest.main()
