#!/usr/bin/env python3
"""Runs the tests of the hardware's tools in the environment of these tools: `run.py [unittest's arguments]`."""

import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS.parent))

import toolchain  # noqa: E402

if __name__ == "__main__":
    toolchain.enter()
    unittest.main(module=None, argv=["run.py", "discover", "-v", "-s", str(TESTS), *sys.argv[1:]])
