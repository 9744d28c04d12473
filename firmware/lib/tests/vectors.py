#!/usr/bin/env python3
"""Turns spec/vectors/test-frame.json into lines that a test program in C reads with sscanf."""

import json
import sys


def word(text):
    """A name without spaces."""
    return text.replace(" ", "_") or "-"


def main():
    """Prints a line for each vector: `header …` and `frame …`, see test_frame.c."""
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    for one in vectors["vectors"]:
        header, lfsr = one["header"], one["lfsr"]
        fields = [header[key] for key in ("flags", "stream", "sequence", "time_ns", "lfsr_len")]
        fields += [one["header_hex"], lfsr["bytes"], lfsr["crc32"], lfsr.get("hex") or "-"]
        print("header", word(one["name"]), one["verdict"], *fields)
    for one in vectors["frames"]:
        print("frame", word(one["name"]), one.get("verdict", "good"), one["hex"])


if __name__ == "__main__":
    main()
