#!/usr/bin/env python3
"""FuseSoC's generator of the port's register block: it calls rtl/tools/registers.py, and writes a core with the files."""

import re
import subprocess
import sys
from pathlib import Path

MADE = Path("made")
TOOL = Path(__file__).resolve().parents[1] / "tools/registers.py"


def main():
    """Entry point: FuseSoC gives a file with the name of the core; the working folder is that of the core."""
    name = re.search(r"^vlnv: *[\"']?([^\s\"']+)", Path(sys.argv[1]).read_text(), re.M)[1]
    subprocess.run([sys.executable, "-B", TOOL, "-o", MADE], check=True)
    files = sorted(MADE.glob("*.vhd"), key=lambda path: (path.stem != "reg_utils", "_pkg" not in path.stem, path.name))
    files = [f"{MADE}/{path.name}" for path in files if "reference" not in path.name]
    lines = "".join(f"      - {file}\n" for file in files)
    Path("registers.core").write_text(
        f"CAPI=2:\nname: {name}\nfilesets:\n  registers:\n    file_type: vhdlSource-2008\n    files:\n{lines}"
        "targets:\n  default:\n    filesets: [registers]\n"
    )


if __name__ == "__main__":
    main()
