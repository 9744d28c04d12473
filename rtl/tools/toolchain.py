"""Finds the tools of the hardware: GHDL from the distribution, the others from the environment that set-up makes.

A tool that is missing, or has faults that nothing here repairs, is named with the fix.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
ENVIRONMENT = TREE / ".cache/tools/hdl"
FIX = "fix: scripts/setup.sh test"
OLDEST_GHDL = (2, 0)


class ToolError(Exception):
    """A tool is missing, unsuitable, or failed; the text has the fix."""


def enter():
    """Continues in the environment's Python, if this is another one; ends the program if there is none."""
    python = ENVIRONMENT / "bin/python3"
    if Path(sys.prefix) == ENVIRONMENT:
        return
    if not (ENVIRONMENT / "complete").is_file():
        sys.exit(f"the hardware's tools are not in {ENVIRONMENT.relative_to(TREE)}; {FIX}")
    os.execv(python, [str(python), "-B", *sys.argv])


def tool(name):
    """The path of a program of the environment. Raises ToolError."""
    path = ENVIRONMENT / "bin" / name
    if not path.is_file():
        raise ToolError(f"{name} is not in {ENVIRONMENT.relative_to(TREE)}/bin; {FIX}")
    return str(path)


def installed(pattern):
    """The file or folder of the environment's Python packages that matches a pattern. Raises ToolError."""
    found = list((ENVIRONMENT / "lib").glob(f"python3*/site-packages/{pattern}"))
    if len(found) != 1:
        raise ToolError(f"{pattern} is not in {ENVIRONMENT}; {FIX}")
    return found[0]


def version_of(text):
    """The version that `ghdl --version` prints in its first line, as (major, minor). Raises ToolError."""
    if not (found := re.match(r"GHDL (\d+)\.(\d+)", text)):
        raise ToolError(f"this is not GHDL: its --version says {text.splitlines()[:1]}; {FIX}")
    return int(found[1]), int(found[2])


@functools.cache
def ghdl():
    """The path of GHDL, preferably with the mcode generator, and its version. Raises ToolError."""
    path = os.environ.get("GHDL") or shutil.which("ghdl-mcode") or shutil.which("ghdl")
    if not path:
        raise ToolError(f"there is no GHDL (package ghdl-mcode); {FIX}")
    version = version_of(run([path, "--version"]))
    if version < OLDEST_GHDL:
        raise ToolError(
            f"{path} is GHDL {version[0]}.{version[1]}, which has no synthesis to Verilog; "
            f"{OLDEST_GHDL[0]}.{OLDEST_GHDL[1]} or newer is needed; fix: install a newer ghdl-mcode, or set GHDL to one"
        )
    return path, version


def run(command, cwd=None, env=None):
    """The output of a program. Raises ToolError with its output if it fails."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
        )
    except OSError as error:
        raise ToolError(f"{command[0]}: {error.strerror}; {FIX}") from error
    if done.returncode != 0:
        shown = " ".join(map(str, command))
        raise ToolError(f"{shown} ended with status {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout
