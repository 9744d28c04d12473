#!/usr/bin/env python3
"""Lints the translation of each entity by Verilator: `lint.py [SOURCE.vhd…]` (all); prints nothing if there is no finding."""

import concurrent.futures
import os
import sys
import tempfile
from pathlib import Path

import registers
import toolchain
import translate
import verilog



def lint(entity, sources):
    """The findings in the translation of an entity."""
    with tempfile.TemporaryDirectory(prefix="wirelab-lint-") as folder:
        path = Path(folder, f"{entity}.v")
        try:
            path.write_text(translate.translate(entity, sources))
        except toolchain.ToolError as error:
            return f"{entity}: {error}"
        return verilog.lint(path, entity)


def main():
    """Entry point; the status says whether anything was found."""
    toolchain.enter()
    named = [Path(word) for word in sys.argv[1:]] or verilog.written()
    sources = [*named, *registers.sources()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(filter(None, pool.map(lambda entity: lint(entity, sources), verilog.entities(named))))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
