"""scripts/words.py: which parts of a source are strings or comments, and what is found there and in pages."""

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
LIST = "way out => fix\n"


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

    def test_comments_of_vhdl_are_said_and_its_code_is_not(self):
        source = "-- One\n  -- comment.\nway <= out; -- two\n"
        found = [(line, " ".join(piece.split())) for line, piece in words.inner(Path("x.vhd"), source)]
        self.assertEqual(found, [(1, "One comment."), (3, "two")])

    def test_texts_that_a_shell_script_prints_are_said_and_its_code_is_not(self):
        source = """# One.\nway=out\nsay "two # $way ${out:-a} \\\n    three"\n"""
        source += """[ $x ] || die 'four'; echo five # say "six"\nway "out"\n"""
        found = [(line, " ".join(piece.split())) for line, piece in words.inner(Path("x.sh"), source)]
        self.assertEqual(found, [(1, "One."), (3, '"two # … … three"'), (5, "'four'"), (5, 'say "six"')])

    def test_a_hash_in_quotes_or_in_a_here_document_begins_no_comment(self):
        source = """a='one\n# two' # It's three.\ncat <<'X' >"$file"\n# four's\nX\ncat <<-Y\n\t# five\n\tY\n"""
        source += """b="${#a} # six \\" # seven" # Eight,\n  # nine.\nread -r c <<<"$a" # Ten.\nd=$((1 << e)) \\' # Eleven.\n"""
        expected = [(2, "It's three."), (9, "Eight, nine."), (11, "Ten."), (12, "Eleven.")]
        self.assertEqual([(line, " ".join(piece.split())) for line, piece in words.inner(Path("x.sh"), source)], expected)

    def test_code_is_neither(self):
        self.assertEqual(self.pieces("let way_out: &'a str = x('\"'); let b = b'\"' / 2;"), [])

    def test_code_blocks_of_a_page_are_left_out_and_lines_stay(self):
        page = "one\n```\nway out\n```\n    way out\nlast"
        self.assertEqual(list(words.prose(page)), [(1, "one\n\n\n\n\nlast")])


class Places(unittest.TestCase):
    def test_each_place_of_a_source_and_a_page_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("crates/a/src", "docs", "scripts"):
                (root / name).mkdir(parents=True)
            subprocess.run(["git", "init", "-q", root], check=True)
            (root / "scripts/words.txt").write_text(LIST)
            (root / "docs/glossary.md").write_text("| a | b | way out |\n")
            (root / "docs/x.md").write_text("Nothing.\nA way out.\n")
            (root / "crates/a/src/lib.rs").write_text("// The way out.\nfn way_out() {}\n" * 2)
            source = [f"crates/a/src/lib.rs:{line}: 'way out'; fix: write fix" for line in (1, 3)]
            self.assertEqual(list(words.words(root)), [*source, "docs/x.md:2: 'way out'; fix: write fix"])
            (root / "docs/x.md").unlink()
            (root / "crates/a/src/lib.rs").write_text("fn way_out() {}\n")
            self.assertEqual(list(words.words(root)), [])

    def test_the_name_of_a_function_is_a_sentence_from_four_words_on(self):
        source = "fn way_out() {}\n    fn the_way_out_is_named() {}\n"
        self.assertEqual(list(words.names_in(Path("x.rs"), source)), [(2, "the way out is named")])

    def test_a_pattern_is_looked_for_where_its_prefix_says(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("crates/a/src", "docs", "scripts"):
                (root / name).mkdir(parents=True)
            subprocess.run(["git", "init", "-q", root], check=True)
            (root / "docs/glossary.md").write_text("| a | b | – |\n")
            (root / "docs/x.md").write_text("A way out.\n")
            (root / "crates/a/src/lib.rs").write_text("// A way out.\nfn the_way_out_is_named() {}\n")
            (root / "scripts/a.py").write_text("WAY_OUT = 1\n\n# A way\n# out.\nA = f'the way out'\n")
            (root / "scripts/b.sh").write_text("# A way out.\nsay 'the way out'\nway out\n")
            places = {
                "": ["lib.rs:1", "lib.rs:2", "x.md:1", "a.py:3", "a.py:5", "b.sh:1", "b.sh:2", "b.sh:3"],
                "docs: ": ["lib.rs:2", "x.md:1"],
                "said: ": ["lib.rs:1", "x.md:1", "a.py:5", "a.py:3", "b.sh:1", "b.sh:2"],
            }
            for prefix, expected in places.items():
                (root / "scripts/words.txt").write_text(prefix + LIST)
                found = [finding.split(": ")[0].split("/")[-1] for finding in words.words(root)]
                self.assertEqual(found, expected, prefix)

    def test_the_list_of_the_project_is_in_order(self):
        patterns, _, findings = words.read(Path(__file__).resolve().parents[2])
        self.assertEqual(findings, [])
        self.assertTrue(patterns)


if __name__ == "__main__":
    unittest.main()
