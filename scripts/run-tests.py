#!/usr/bin/env python3
"""Runs every test suite of the project; `make test` calls it. See scripts/testrun/."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

if sys.version_info < (3, 11):
    sys.exit(f"run-tests.py: Python {sys.version.split()[0]} is too old; fix: install Python 3.11 or newer")

# The shell side knows which Rust is used; its PATH is taken over.
os.environ["PATH"] = subprocess.run(
    ["bash", "-c", f'. "{HERE}/lib/env.sh"; use_rust; printf %s "$PATH"'],
    check=False,
    stdout=subprocess.PIPE,
    text=True,
).stdout or os.environ["PATH"]

from testrun.main import main  # noqa: E402

sys.exit(main())
