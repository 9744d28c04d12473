#!/usr/bin/env python3
"""Runs the test benches of all blocks: `rtl/tb/run.py [--seeds FIRST,LAST] [VUnit's arguments]`, as `run.py '*mac_tx*' -v`,
`run.py --list`, or `run.py --seeds 1,8` for eight runs with other random numbers.

Every rtl/tb/tb_*.vhd is a bench, every *.vhd of rtl/src, rtl/reference and rtl/example and the registers are sources;
other rtl/tb/*.vhd are shared by benches. rtl/tb/stand_ins has blocks in states that those of rtl/src do not reach from outside,
or not in time: they replace these in the library `stand_ins`.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import benches  # noqa: E402
import toolchain  # noqa: E402
import verilog  # noqa: E402


def main():
    """Entry point."""
    toolchain.enter()
    rtl = toolchain.TREE / "rtl"
    built = verilog.built() / "vunit"
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--seeds", type=lambda text: tuple(map(int, text.split(","))))
    options, arguments = parser.parse_known_args()
    seeds = range(options.seeds[0], options.seeds[-1] + 1) if options.seeds else ()
    if not any(word.startswith(("-p", "--num-threads")) for word in arguments):
        arguments = ["-p", str(os.cpu_count() or 1), *arguments]
    try:
        stand_ins = sorted(rtl.glob("tb/stand_ins/*.vhd"))
        return benches.run(verilog.sources(), sorted(rtl.glob("tb/*.vhd")), built, arguments, seeds, stand_ins=stand_ins)
    except toolchain.ToolError as error:
        print(f"Bail out! {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
