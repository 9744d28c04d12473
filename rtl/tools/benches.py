"""Runs test benches by VUnit on GHDL and prints the results as TAP, for `rtl/tb/run.py` and its own tests."""

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path

import toolchain

HAS_SEED = re.compile(r"^\s.*\bseed\s*:\s*natural\b", re.M)


def ghdl_for_vunit():
    """A folder with a program named `ghdl`, as VUnit requires; it is removed with the returned object."""
    folder = tempfile.TemporaryDirectory(prefix="wirelab-ghdl-")
    Path(folder.name, "ghdl").symlink_to(toolchain.ghdl()[0])
    os.environ["VUNIT_GHDL_PATH"] = folder.name
    return folder


def point(number, name, status):
    """One line of TAP. VUnit knows passed, failed and skipped; a bench that was not run has failed."""
    return f"{'ok' if status == 'passed' else 'not ok'} {number} - {name}"


# Lines of a failed test that are repeated above its point: VUnit prints its output among that of all others.
LAST_LINES = 20


def last_words(test):
    """The last lines that a test of VUnit printed, as comments of TAP."""
    try:
        printed = (test.path / "output.txt").read_text(errors="replace").splitlines()
    except OSError:
        printed = ["(it has printed nothing)"]
    return [f"# {line}" for line in printed[-LAST_LINES:]]


def tell(results, out):
    """Prints the results of VUnit as TAP; returns how many tests there were."""
    tests = results.get_report().tests
    for number, (name, test) in enumerate(tests.items(), 1):
        for line in last_words(test) if test.status != "passed" else ():
            out(line)
        out(f"{point(number, name, test.status)} ({test.time:.1f} s)")
    return len(tests)


def configure(library, benches, output, seeds):
    """A bench with random numbers has the generic `seed`; a tb_BLOCK.vhd that needs files has a tb_BLOCK.py beside it, whose
    `configure(bench, folder, seed)` provides them. Without seeds each bench runs once, with its default."""
    for path in benches:
        if path.with_suffix(".py").is_file():
            sys.path.insert(0, str(path.parent))
            folder = output / "files"
            folder.mkdir(parents=True, exist_ok=True)
            for seed in seeds or [0]:
                importlib.import_module(path.stem).configure(library.test_bench(path.stem), folder, seed)
        elif path.stem.startswith("tb_") and HAS_SEED.search(path.read_text()):
            for seed in seeds:
                library.test_bench(path.stem).add_config(f"seed_{seed}", generics={"seed": seed})


def replace(unit, sources, stand_ins):
    """The library `stand_ins`: all sources again, except those with a stand-in of the same name. Raises ToolError."""
    library, names = unit.add_library("stand_ins"), {path.name for path in stand_ins}
    if unknown := names - {path.name for path in sources}:
        raise toolchain.ToolError(f"{', '.join(sorted(unknown))} of rtl/tb/stand_ins has no source of that name; fix: give it the name of one")
    for path in [*(path for path in sources if path.name not in names), *stand_ins]:
        library.add_source_file(path)


def run(sources, benches, output, arguments, seeds=(), out=print, stand_ins=()):
    """Analyses `sources` (paths) into the library `wirelab`, runs all tests of `benches`; returns the exit status.

    Each of `stand_ins` replaces the source of its name in the library `stand_ins`. Each of `seeds` gives other random
    numbers. `arguments` are VUnit's own: a pattern of names, -p JOBS, -v, --list, --gtkwave-fmt and so on.
    """
    from vunit import VUnit  # Only the environment has it.

    with ghdl_for_vunit():
        if not benches:
            out("Bail out! there is no test bench")
            return 1
        words = ["--output-path", str(output), "--no-color", *arguments]
        unit = VUnit.from_argv(words, compile_builtins=False)
        unit.add_vhdl_builtins()
        unit.add_osvvm()
        library = unit.add_library("wirelab")
        for path in [*sources, *benches]:
            library.add_source_file(path)
        if stand_ins:
            replace(unit, sources, stand_ins)
        configure(library, benches, output, seeds)
        # VUnit's and OSVVM's own sources hide hundreds of names.
        unit.set_compile_option("ghdl.a_flags", ["-Wno-hide"])
        # No test uses the assertions of the standard libraries, and a table with an unknown address writes one at each clock.
        unit.set_sim_option("ghdl.sim_flags", ["--ieee-asserts=disable"])
        return judged(unit, arguments, out)


def judged(unit, arguments, out):
    """Runs VUnit, reports the result; the status is 0 only if each test passed."""
    told = []
    try:
        unit.main(post_run=lambda results: told.append(tell(results, out)))
    except SystemExit as end:
        status = int(bool(end.code))
    if told:
        out(f"1..{told[0]}")
    elif not any(word in arguments for word in ("-l", "--list", "-f", "--files", "--compile", "--elaborate")):
        out("Bail out! the benches could not be analysed (see above)")
        status = 1
    sys.stdout.flush()
    return status
