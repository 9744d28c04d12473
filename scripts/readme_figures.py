#!/usr/bin/env python3
"""The performance figures of README.md are those of docs/benchmarks.md: `readme_figures.py --check`, or `--write` to copy them.

A row of a table of README.md names its row of docs/benchmarks.md in a comment, `<!-- benchmarks: NAME -->`. The first
cell says in README.md's words what was measured; the others are copied. `rules.py` has the check as the rule `figures`.
"""

import argparse
import re
import sys
from pathlib import Path

README = "README.md"
SOURCE = "docs/benchmarks.md"
HEAD = ["what", "requirement", "goal", "wirelab, median", "peer, median", "ratio or range (95 %)", "verdict"]
MARK = re.compile(r"<!-- benchmarks: (.+?) -->")
# A speed or a ratio. Code blocks show the output of one run, which the tests of the pages check.
FIGURE = re.compile(
    r"\d[\d.,]*(?:\s*(?:[kMGT]|million|billion))?\s*(?:frames|datagrams|packets|events|bits?|bytes?|B)/s"
    r"|\d[\d.,]*\s*[kMGT](?:bit|B)/s|\d[\d.,]*\s*(?:×|(?:times|x)\b)"
)
FIX = "fix: scripts/readme_figures.py --write"


class FiguresError(Exception):
    """Why a page cannot be read."""


def cells(line):
    """The cells of a row; a bar behind a backslash is part of its cell."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def benchmarks(root):
    """The rows of the first table of docs/benchmarks.md, by name."""
    try:
        text = Path(root, SOURCE).read_text(encoding="utf-8")
    except OSError as error:
        raise FiguresError(f"{SOURCE} cannot be read: {error.strerror}; fix: restore it from git") from error
    lines = iter(text.split("\n"))
    if not any(line.startswith("|") and cells(line) == HEAD for line in lines):
        raise FiguresError(f"{SOURCE} has no table with the columns {', '.join(HEAD)}; fix: restore it from git")
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        if not re.fullmatch(r"\|[\s:|-]+\|", line):
            rows.setdefault(cells(line)[0], []).append(dict(zip(HEAD, cells(line))))
    return rows


def copied(label, name, rows):
    """The row of README.md with the figures of docs/benchmarks.md."""
    found = rows.get(name, [])
    if len(found) != 1:
        raise FiguresError(f"{SOURCE} has {len(found)} rows with the name '{name}'; fix: name a row that occurs once")
    row = found[0]
    ratio = row["ratio or range (95 %)"]
    if row["peer, median"] != "–":
        # A bare number beside a peer is a ratio.
        ratio = re.sub(r"^([\d.,]+)(?= \()", r"\1 ×", ratio)
    shown = [label, row["wirelab, median"], row["peer, median"], ratio, f"{row['verdict']} <!-- benchmarks: {name} -->"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in shown) + " |"


def renewed(root):
    """README.md line by line: number, line, expected line, and whether other tests check its figures."""
    rows = benchmarks(root)
    fenced = False
    for number, line in enumerate(Path(root, README).read_text(encoding="utf-8").split("\n"), 1):
        mark = MARK.search(line)
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if mark and not line.startswith("|"):
            raise FiguresError(f"{README}:{number}: a marker outside of a table; fix: move it into the row of its figure")
        try:
            wanted = copied(cells(line)[0], mark[1].replace("\\|", "|"), rows) if mark else line
        except FiguresError as error:
            raise FiguresError(f"{README}:{number}: {error}") from error
        yield number, line, wanted, fenced or fence or bool(mark)


def figures(root):
    """Each speed and ratio in README.md is in docs/benchmarks.md, with the same value."""
    try:
        marked = 0
        for number, line, wanted, held in renewed(root):
            marked += MARK.search(line) is not None
            if line != wanted:
                yield f"{README}:{number}: differs from {SOURCE}, which has: {wanted}; {FIX}"
            elif not held and (found := FIGURE.search(line)):
                yield f"{README}:{number}: '{found[0]}' names no row of {SOURCE}; fix: a row with <!-- benchmarks: NAME -->"
        if marked == 0:
            yield f"{README}: no row names one of {SOURCE}; fix: a row with <!-- benchmarks: NAME -->"
    except (FiguresError, OSError) as error:
        yield str(error)


def write(root):
    """Copies the figures into README.md."""
    text = "\n".join(wanted for _, _, wanted, _ in renewed(root))
    Path(root, README).write_text(text, encoding="utf-8")


def main():
    """Checks or copies; the status says whether anything was found."""
    parser = argparse.ArgumentParser(description="Holds the figures of README.md to docs/benchmarks.md.")
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="say which differ")
    what.add_argument("--write", action="store_true", help="copy them")
    options = parser.parse_args()
    if options.write:
        try:
            write(options.root)
        except FiguresError as error:
            print(f"figures: {error}", file=sys.stderr)
            return 1
        return 0
    found = list(figures(options.root))
    for finding in found:
        print(f"figures: {finding}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
