#!/usr/bin/env python3
"""The words of the pages and crates, against the list in scripts/words.txt: `words.py`, `words.py --lower`.

`rules.py` has the check as the rule `words`. `--lower` writes how many places are left where fewer are than are listed.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

LIST = "scripts/words.txt"
NOT_YET = re.compile(r"not yet: (\S+) (\d+)$")
# What is skipped, a string, or a comment, in this order at each place. A quote of one character is no string.
TOKENS = re.compile(
    r"""'(?:\\(?:x[0-9a-fA-F]+|u\{\w+\}|.)|[^'\\])'
    |(?P<raw>\br(?P<hashes>\#+)".*?"(?P=hashes)|\b[bc]?r"[^"]*")
    |(?P<string>"(?:\\.|[^"\\])*")
    |(?P<line>(?://[^\n]*(?:\n[ \t]*)?)+)
    |(?P<block>/\*.*?\*/)""",
    re.S | re.X,
)


def words(root):
    """No page, string or comment has a word of scripts/words.txt, but for as many as it lists as not mended yet."""
    try:
        patterns, left, findings = read(root)
    except OSError as error:
        yield f"{LIST} cannot be read: {error.strerror}"
        return
    yield from findings
    found = places(root, patterns)
    for part, there in found.items():
        if len(there) > left.get(part, 0):
            if part in left:
                yield f"{part}: {len(there)} places, and {LIST} allows {left[part]}:"
            yield from there
    for part in sorted(set(left) - set(found)):
        if not Path(root, part).exists():
            yield f"{LIST}: there is no {part}; fix: leave the line out"


def summary(root):
    """How many places are not mended yet, and where fewer are left than the list has; empty without any."""
    patterns, left, _ = read(root)
    found = places(root, patterns)
    if not left:
        return ""
    fewer = [part for part in left if len(found.get(part, ())) < left[part]]
    more = f"; {', '.join(sorted(fewer))} have fewer, fix: scripts/words.py --lower" if fewer else ""
    return f"words: {sum(left.values())} places are not mended yet, in {len(left)} parts{more}"


def read(root):
    """The patterns with what to write instead, the parts not mended yet with their counts, and what is wrong with the list."""
    patterns, left, findings = [], {}, []
    for number, line in enumerate(Path(root, LIST).read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if listed := NOT_YET.match(line):
            left[listed[1]] = int(listed[2])
            continue
        pattern, arrow, instead = (part.strip() for part in line.partition(" => "))
        docs_only = pattern.startswith("docs:")
        try:
            # Comments and pages are wrapped anywhere.
            found = re.compile(pattern.removeprefix("docs:").strip().replace(" ", r"\s+"), re.I)
        except re.error as error:
            findings.append(f"{LIST}:{number}: '{pattern}' is not a regular expression: {error}")
            continue
        if not arrow or not instead:
            findings.append(f"{LIST}:{number}: nothing to write instead; fix: PATTERN => INSTEAD")
        patterns.append((found, instead, docs_only))
    return patterns, left, findings


def places(root, patterns):
    """Each place with a word of the list, by part: a crate, or a page."""
    found = {}
    names = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z", "crates", "*.md"],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    for path in sorted({Path(name.decode()) for name in names.split(b"\0") if name}):
        is_page = path.suffix == ".md" and path.parts[0] != "crates"
        is_source = path.suffix in {".rs", ".c", ".h"} and path.parts[0] == "crates"
        if not (is_page or is_source) or not Path(root, path).is_file():
            continue
        text = Path(root, path).read_text(encoding="utf-8")
        part = path.as_posix() if is_page else "/".join(path.parts[:2])
        for line, piece in prose(text) if is_page else said(text):
            for pattern, instead, docs_only in patterns:
                if docs_only and not is_page:
                    continue
                for hit in pattern.finditer(piece):
                    at = line + piece.count("\n", 0, hit.start())
                    shown = " ".join(hit[0].split())
                    found.setdefault(part, []).append(f"{path}:{at}: '{shown}'; fix: write {instead}")
    return found


def prose(text):
    """A page without its code blocks, whose lines stay as empty ones."""
    kept, fenced = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        kept.append("" if fenced or fence or line.startswith("    ") else line)
    yield 1, "\n".join(kept)


def said(source):
    """The strings and comments of Rust or C, each with its line; neighbouring line comments are one."""
    for token in TOKENS.finditer(source):
        piece = token[0]
        if token["string"]:
            # A backslash at the end of a line joins it with the next.
            piece = piece.replace("\\\n", " \n")
        elif token["line"]:
            piece = re.sub(r"(?m)^([ \t]*)//[/!]?", r"\1", piece)
        elif token["block"]:
            piece = re.sub(r"(?m)^([ \t]*)\*", r"\1", piece)
        elif not token["raw"]:
            continue
        yield source.count("\n", 0, token.start()) + 1, piece


def lower(root):
    """Writes the counts that are there where the list has more."""
    patterns, left, _ = read(root)
    found = places(root, patterns)
    kept = []
    for line in Path(root, LIST).read_text(encoding="utf-8").split("\n"):
        listed = NOT_YET.match(line)
        count = len(found.get(listed[1], ())) if listed else 0
        if listed and count < left[listed[1]]:
            line = f"not yet: {listed[1]} {count}"
        if not listed or count:
            kept.append(line)
    Path(root, LIST).write_text("\n".join(kept), encoding="utf-8")


def main():
    """Checks or lowers; the status says whether anything was found."""
    parser = argparse.ArgumentParser(description="Holds the words of pages and crates to scripts/words.txt.")
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent))
    parser.add_argument("--lower", action="store_true", help="write the counts of what is left where they are lower")
    options = parser.parse_args()
    if options.lower:
        lower(options.root)
    found = list(words(options.root))
    for finding in found:
        print(f"words: {finding}")
    if not found and (said_of := summary(options.root)):
        print(said_of)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
