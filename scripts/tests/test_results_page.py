"""The reader of results files that docs/report.md shows, on files with packed lists."""

import json
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    """A file as the function of the page reads it."""
    page = Path(ROOT, "docs/report.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names = {}
    exec(code, names)
    return names["read"](Path(ROOT, path))


def flow(file):
    return file["observations"][0]["flows"][0]


class ResultsPage(unittest.TestCase):
    def test_samples_are_those_of_the_file_before_they_were_packed(self):
        old = json.loads(Path(ROOT, "crates/trial/tests/old/version-1.json").read_text())
        file = read("spec/examples/hdl.json")
        ticks = flow(file)["series"][0]["raw_ticks"]
        self.assertEqual(len(ticks), 512)
        self.assertEqual(ticks, flow(old)["series"][0]["raw_ticks"])
        self.assertNotIn("samples", file)

    def test_differences_lead_to_samples(self):
        first, second = flow(read("fuzz/corpus/results/packed-difference.json"))["series"]
        self.assertEqual(first["raw_ticks"], second["raw_ticks"])
        self.assertEqual(len(second["raw_ticks"]), 512)

    def test_buckets_hold_all_samples_in_order(self):
        of = flow(read("fuzz/corpus/results/packed-buckets.json"))
        gap, latency = of["sender"]["value"]["gap"]["value"], of["series"][0]["histogram"]
        self.assertGreater(max(len(gap["buckets"]), len(latency["buckets"])), 16)
        for histogram in [gap, latency]:
            values, counts = zip(*histogram["buckets"])
            self.assertEqual(list(values), sorted(set(values)))
            self.assertEqual(sum(counts), histogram["count"])
            self.assertGreaterEqual(values[-1], histogram["max_ticks"])


if __name__ == "__main__":
    unittest.main()
