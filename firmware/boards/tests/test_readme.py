"""What firmware/README.md shows is C that compiles, against lwIP as it is."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import lab  # noqa: E402

FIRMWARE = lab.TREE / "firmware"
INCLUDES = [FIRMWARE / "lib/include", FIRMWARE / "app", FIRMWARE / "glue/lwip", FIRMWARE / "glue/lwip/port",
            FIRMWARE / "boards/mps2-an385", FIRMWARE / "boards/common", lab.IMAGES / "lwip/src/include"]
LINES = 10


class Readme(unittest.TestCase):
    """The example of an lwIP project."""

    def setUp(self):
        lab.need()
        lab.build()

    def test_the_example_for_lwip_compiles_with_what_it_names(self):
        text = (FIRMWARE / "README.md").read_text()
        part = text[text.index("## Into an lwIP project") :]
        example = re.search(r"```c\n(.*?)```", part, re.S)[1]
        body = example[example.index("my_node_start") : example.index("my_node_poll")]
        statements = [line for line in body.splitlines() if line.strip().endswith(";")]
        self.assertLessEqual(len(statements), LINES)
        files = [FIRMWARE / file for name in re.search(r"`(app/.*?)` with", part, re.S)[1].split()
                 for file in sorted(FIRMWARE.glob(name))]
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "example.c")
            made.write_text("#include <string.h>\n" + example)
            for file in [made, *files]:
                command = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-std=c11", "-Wall", "-Wextra", "-Werror",
                           '-DWL_LWIP_OPTIONS_HEADER="wl_lwip_options.h"', "-c", str(file), "-o", f"{folder}/object"]
                command += [word for path in INCLUDES for word in ("-I", str(path))]
                done = subprocess.run(command, check=False, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(len(files), 9)
