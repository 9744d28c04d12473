#!/usr/bin/env python3
"""The rooms of docs/architecture.md, from the Cargo.toml of each crate: `rooms.py --write` writes them.

`[package.metadata.room]` has a crate's layer, its description and where to start reading. `rules.py` has the check as the
rule `rooms`.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

MAP = "docs/architecture.md"
# A box of the picture: `kinds["node types: agent, board, hdl"]`.
BOX = re.compile(r'^(?P<head>\s*\w+\["(?P<layer>[^":]+)): (?P<crates>[^"]*)"\]$')
ROW = re.compile(r"^\| `crates/[\w-]+/` \|")
KEYS = {"layer": str, "is": str, "start": list}


def rooms(root):
    """docs/architecture.md has the layer and the room of each crate as in its Cargo.toml."""
    found, findings = read(root)
    yield from findings
    path = Path(root, MAP)
    if findings or not path.is_file():
        return
    page = path.read_text()
    layers = {box["layer"] for line in page.split("\n") if (box := BOX.match(line))}
    for crate, room in found.items():
        if room["layer"] not in layers:
            yield f"crates/{crate}/Cargo.toml: the picture of {MAP} has no layer '{room['layer']}'; fix: name one of {', '.join(sorted(layers))}"
            return
    if written(page, found) != page:
        yield f"{MAP}: the rooms differ from those of the crates; fix: run scripts/rooms.py --write"


def read(root):
    """The room of each crate by its folder's name, and the findings."""
    found, findings = {}, []
    for path in sorted(Path(root, "crates").glob("*/Cargo.toml")):
        room = tomllib.loads(path.read_text())["package"].get("metadata", {}).get("room", {})
        for key, kind in KEYS.items():
            if not isinstance(room.get(key), kind):
                value = '["src/lib.rs"]' if kind is list else '"…"'
                findings.append(f"{path.relative_to(root)}: its [package.metadata.room] has no {key}; fix: write {key} = {value}")
        found[path.parent.name] = room
    return found, findings


def written(page, found):
    """The page with the boxes and the rows of these crates, the lowest layer first."""
    lines, order = [], []
    for line in page.split("\n"):
        if box := BOX.match(line):
            crates = [crate for crate, room in found.items() if room["layer"] == box["layer"]]
            order = crates + order
            line = f'{box["head"]}: {", ".join(crates)}"]'
        if ROW.match(line):
            # The first row stands for all of them.
            lines.extend(row(crate, found[crate]) for crate in order)
            order = []
            continue
        lines.append(line)
    return "\n".join(lines)


def row(crate, room):
    """The row of a crate in the table of the rooms."""
    starts = ", ".join(f"`crates/{crate}/{start}`" for start in room["start"])
    return f"| `crates/{crate}/` | {room['is']} | {starts} |"


def main():
    """Writes the page, or reports the findings."""
    parser = argparse.ArgumentParser(description="The rooms of docs/architecture.md, from the Cargo.toml of each crate.")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--root", default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    found, findings = read(options.root)
    if options.write and not findings:
        path = Path(options.root, MAP)
        path.write_text(written(path.read_text(), found))
    findings = list(rooms(options.root))
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
