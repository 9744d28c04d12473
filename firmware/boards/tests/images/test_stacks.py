"""The images of other stacks that can be built from registries alone, and the errors of their scripts if something is missing.

crates/wirelab/tests/stacks_rows.rs counts them.
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import lab  # noqa: E402

SCRIPTS = lab.TREE / "scripts/stacks"


def script(name, **variables):
    """Runs a script with these variables, without the caller's own for stacks."""
    own = {key: value for key, value in os.environ.items() if key not in ("NUTTX", "FREERTOS_KERNEL", "FREERTOS_PLUS_TCP")}
    return subprocess.run([SCRIPTS / name], check=False, capture_output=True, text=True, env=own | variables)


class Stacks(unittest.TestCase):
    """target/stacks."""

    def test_lwip_builds_by_its_lock_file(self):
        lab.need("arm-none-eabi-gcc")
        done = script("lwip.sh")
        self.assertEqual(done.returncode, 0, done.stderr)
        for image in ("lwip-raw.elf", "lwip-client.elf"):
            self.assertIn(image, done.stdout)
        self.assertIn("fix: FREERTOS_KERNEL=FOLDER", done.stderr)

    def test_smoltcp_builds_where_rust_has_the_processor(self):
        lab.need("arm-none-eabi-gcc")
        done = script("smoltcp.sh")
        if "rustup target add" in done.stderr:
            self.skipTest("rust-thumb: Rust has no library for thumbv7m-none-eabi")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("smoltcp.elf", done.stdout)

    def test_a_script_names_the_folder_that_lacks_and_what_to_do(self):
        for name, variables, said in [
            ("nuttx.sh", {}, "NUTTX is not set; fix: NUTTX=FOLDER with the sources of github.com/apache/nuttx"),
            ("nuttx.sh", {"NUTTX": "/"}, "NUTTX: / has no tools/configure.sh; fix:"),
            ("freertos-plus-tcp.sh", {}, "FREERTOS_PLUS_TCP is not set; fix:"),
            ("lwip.sh", {"FREERTOS_KERNEL": "/nowhere"}, "FREERTOS_KERNEL: /nowhere has no portable/GCC/ARM_CM3/port.c; fix:"),
        ]:
            done = script(name, **variables)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
