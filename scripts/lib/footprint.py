#!/usr/bin/env python3
"""The origin of an image's code and RAM: `footprint.py IMAGE.map` prints a row for each library or group of files."""

import re
import sys
from collections import defaultdict
from pathlib import Path

# A section with its address, its bytes and its file; the linker breaks the line after a long name.
PLACED = re.compile(r"^ (\.?[\w.$-]+)[ \t]+0x([0-9a-f]+)[ \t]+0x([0-9a-f]+)[ \t]+(\S.*)$", re.M)
CODE = (".text", ".rodata", ".srodata", ".vectors", ".reset", ".isr_vector", ".ARM.ex")
DATA = (".data", ".sdata")
# In the file, but not in the board's memory.
BESIDE = (".debug", ".comment", ".ARM.attributes", ".note")


def group(file):
    """The group of a file: `lib/frame`, `lwip`, `board`, `libc`."""
    archive = re.search(r"([^/]+)\.a\(", file)
    if archive:
        name = archive.group(1)
        if re.match(r"lib(c|gcc|m)(_|$)", name):
            return "libc"
        return name.replace("libwl_", "lib/").replace("liblwip", "lwip")
    source = re.search(r"\.dir/(?:.*/)?(app|glue|boards/common|boards|lib)/", file)
    return source.group(1) if source else "other"


def rows(text):
    """Bytes of code with constants, and of RAM, by group."""
    text = text[text.index("Linker script and memory map") :]
    text = re.sub(r"^( \.?[\w.$-]+)\n\s+0x", r"\1 0x", text, flags=re.M)
    taken = defaultdict(lambda: [0, 0])
    placed = [(int(at, 16), int(size, 16), name, file) for name, at, size, file in PLACED.findall(text)]
    end = 0
    for at, size, section, file in sorted(row for row in placed if row[1] and not row[2].startswith(BESIDE)):
        # Equal texts of several files are stored once and count for the first file.
        size = max(0, at + size - max(at, end))
        end = max(end, at + size)
        if section.startswith(CODE + DATA):
            taken[group(file)][0] += size
        if not section.startswith(CODE):
            taken[group(file)][1] += size
    return {name: sizes for name, sizes in taken.items() if any(sizes)}


def main():
    path = Path(sys.argv[1])
    taken = rows(path.read_text())
    print(f"{path.stem:<24}{'code and constants':>20}{'RAM':>12}  bytes")
    for name, (code, ram) in sorted(taken.items()):
        print(f"  {name:<22}{code:>20,}{ram:>12,}")
    print(f"  {'together':<22}{sum(r[0] for r in taken.values()):>20,}{sum(r[1] for r in taken.values()):>12,}")


main()
