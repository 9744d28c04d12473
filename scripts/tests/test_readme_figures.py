"""scripts/readme_figures.py: the figures that it copies into README.md, and the text that it does not touch."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import readme_figures  # noqa: E402

BENCHMARKS = """# Benchmarks

| what | requirement | goal | wirelab, median | peer, median | ratio or range (95 %) | verdict |
|---|---|---|---|---|---|---|
| frames | ≥ 4 × | – | 3.80 M frames/s | peer 0.54 M frames/s | 7.03 (5.43 to 7.39) | met |
| a \\| b | – | – | 4.35 ms | – | 4.14 to 4.69 ms | met |

| what | who | unit | runs |
|---|---|---|---|
| frames | wirelab | M frames/s | 3.8 |
"""
README = """# wirelab

| test | wirelab | peer | ratio or range | verdict |
|---|---|---|---|---|
| Frames, verified | 9.2 M frames/s | – | 5.8 × | met <!-- benchmarks: frames --> |
| Time | | | | <!-- benchmarks: a | b --> |

```
47 Gbit/s in a block
```
"""
WRITTEN = """# wirelab

| test | wirelab | peer | ratio or range | verdict |
|---|---|---|---|---|
| Frames, verified | 3.80 M frames/s | peer 0.54 M frames/s | 7.03 × (5.43 to 7.39) | met <!-- benchmarks: frames --> |
| Time | 4.35 ms | – | 4.14 to 4.69 ms | met <!-- benchmarks: a \\| b --> |

```
47 Gbit/s in a block
```
"""


class Figures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        (self.root / "docs").mkdir()
        (self.root / "docs/benchmarks.md").write_text(BENCHMARKS)
        (self.root / "README.md").write_text(README)

    def tearDown(self):
        self.folder.cleanup()

    def findings(self):
        return list(readme_figures.figures(self.root))

    def test_figures_are_copied_and_nothing_else_changes(self):
        self.assertEqual(len(self.findings()), 2)
        readme_figures.write(self.root)
        self.assertEqual((self.root / "README.md").read_text(), WRITTEN)
        self.assertEqual(self.findings(), [])
        readme_figures.write(self.root)
        self.assertEqual((self.root / "README.md").read_text(), WRITTEN)

    def test_a_finding_names_the_place_the_figures_and_the_fix(self):
        found = self.findings()[0]
        for words in ("README.md:5:", "3.80 M frames/s", "7.03 × (5.43 to 7.39)", "scripts/readme_figures.py --write"):
            self.assertIn(words, found)

    def test_speeds_and_ratios_in_prose_are_found_in_each_form(self):
        readme_figures.write(self.root)
        for text in ("9.2 million frames/s", "47 Gbit/s", "5.8 x", "5.8 × as fast", "12 times", "3 GB/s", "7 packets/s"):
            (self.root / "README.md").write_text(f"{WRITTEN}\nIt does {text}.\n")
            self.assertEqual(len(self.findings()), 1, text)
        for text in ("32 datagrams in one piece", "two minutes", "100 bytes", "IPv4 x86"):
            (self.root / "README.md").write_text(f"{WRITTEN}\nIt takes {text}.\n")
            self.assertEqual(self.findings(), [], text)

    def test_a_row_that_is_gone_is_not_written(self):
        (self.root / "docs/benchmarks.md").write_text(BENCHMARKS.replace("| frames | ≥", "| other | ≥"))
        with self.assertRaisesRegex(readme_figures.FiguresError, "README.md:5: docs/benchmarks.md has 0 rows"):
            readme_figures.write(self.root)
        self.assertEqual((self.root / "README.md").read_text(), README)


if __name__ == "__main__":
    unittest.main()
