"""Tests of fuzz-list.sh: registering the fuzz targets in fuzz/Cargo.toml."""

import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "fuzz-list.sh"
MARKER = "# The targets below are written by scripts/fuzz-list.sh --write.\n"


class FuzzList(unittest.TestCase):
    """A tree with two targets, one of them registered, and with a registered one that is gone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        (self.tree / "scripts").mkdir()
        (self.tree / "fuzz/fuzz_targets").mkdir(parents=True)
        shutil.copy(SCRIPT, self.tree / "scripts")
        self.manifest = self.tree / "fuzz/Cargo.toml"
        self.manifest.write_text('[package]\nname = "f"\n' + MARKER + '[[bin]]\nname = "gone"\n')
        for name in ("fuzz_a", "fuzz_b"):
            (self.tree / f"fuzz/fuzz_targets/{name}.rs").touch()

    def run_script(self, *arguments):
        """The finished process."""
        command = ["bash", self.tree / "scripts/fuzz-list.sh", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_lists_the_targets(self):
        self.assertEqual(self.run_script().stdout, "fuzz_a\nfuzz_b\n")

    def test_writes_exactly_the_targets_and_again_the_same(self):
        for _ in range(2):
            self.assertEqual(self.run_script("--write").returncode, 0)
            manifest = tomllib.loads(self.manifest.read_text())
            self.assertEqual([entry["name"] for entry in manifest["bin"]], ["fuzz_a", "fuzz_b"])
            self.assertEqual(manifest["package"], {"name": "f"})

    def test_refuses_a_manifest_without_the_marker(self):
        self.manifest.write_text('[package]\nname = "f"\n')
        done = self.run_script("--write")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has lost the line", done.stderr)
        self.assertEqual(self.manifest.read_text(), '[package]\nname = "f"\n')


if __name__ == "__main__":
    unittest.main()
