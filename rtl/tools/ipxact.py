#!/usr/bin/env python3
"""IP-XACT (IEEE 1685-2009) of the blocks that a design may use alone: `ipxact.py [-o FOLDER]` (target/rtl/ipxact).

A component has its ports with the widths of the default generics, its AXI interfaces and its files; that of ethernet_port also
has the registers with their reset values. Ports come from GHDL's netlist, registers from rtl/registers.
"""

import argparse
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import register_pages
import registers
import toolchain
import translate
import verilog

RTL = toolchain.TREE / "rtl"
NAMESPACE = "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"
VENDOR, LIBRARY, VERSION = "wirelab", "ip", "0.2.0"
BLOCKS = (
    "packet_generator packet_checker start_words mac_tx mac_rx mii_tx mii_rx gmii_elastic packet_identifier capture_unit rate_meter ethernet_port".split()
)
MAPPED = "ethernet_port"
STREAM = ("TDATA", "TVALID", "TREADY", "TLAST", "TUSER")
LITE = "AWVALID AWREADY AWADDR AWPROT WVALID WREADY WDATA WSTRB BVALID BREADY BRESP ARVALID ARREADY ARADDR ARPROT RVALID RREADY RDATA RRESP".split()
ACCESS = {"rw": "read-write", "r": "read-only", "w": "write-only"}
ADDRESS_BYTES = 2048


def element(parent, tag, text=None, /, **attributes):
    """A child in the namespace of the standard."""
    made = ElementTree.SubElement(parent, f"{{{NAMESPACE}}}{tag}", {f"{{{NAMESPACE}}}{key}": value for key, value in attributes.items()})
    if text is not None:
        made.text = str(text)
    return made


def identity(parent, name):
    """Vendor, library, name and version."""
    for key, value in (("vendor", VENDOR), ("library", LIBRARY), ("name", name), ("version", VERSION)):
        element(parent, key, value)


def interfaces(component, names, outputs):
    """The AXI interfaces among the ports: s_axil_… is AXI4-Lite, and a prefix with tvalid AXI4-Stream."""
    prefixes = sorted({name.removesuffix("tvalid") for name in names if name.endswith("_tvalid")})
    found = [(prefix, "AXI4Stream", STREAM) for prefix in prefixes if f"{prefix}tdata" in names]
    if "s_axil_awvalid" in names:
        found.append(("s_axil_", "AXI4-Lite", LITE))
    if not found:
        return
    parent = element(component, "busInterfaces")
    for prefix, bus, signals in found:
        interface = element(parent, "busInterface")
        element(interface, "name", prefix.strip("_"))
        element(interface, "busType", vendor="amba.com", library="AMBA4", name=bus, version="r0p0_1")
        element(interface, "abstractionType", vendor="amba.com", library="AMBA4", name=f"{bus}_rtl", version="r0p0_1")
        if bus == "AXI4-Lite":
            element(element(interface, "slave"), "memoryMapRef", memoryMapRef="registers")
        else:
            element(interface, "master" if f"{prefix}tvalid" in outputs else "slave")
        maps = element(interface, "portMaps")
        for signal in signals:
            if prefix + signal.lower() in names:
                pair = element(maps, "portMap")
                element(element(pair, "logicalPort"), "name", signal)
                element(element(pair, "physicalPort"), "name", prefix + signal.lower())


def words_of(name):
    """(register, its name) of each register of the map, in order."""
    return sorted(registers.registers_of(registers.MAPS / f"{name}.rdl"), key=lambda found: found[0].absolute_address)


def memory_map(component, name):
    """The registers with access, fields and reset values."""
    parent = element(element(component, "memoryMaps"), "memoryMap")
    element(parent, "name", "registers")
    block = element(parent, "addressBlock")
    element(block, "name", "registers")
    element(block, "baseAddress", "0x0")
    element(block, "range", f"{ADDRESS_BYTES:#x}")
    element(block, "width", 32)
    for node, label in words_of(name):
        register = element(block, "register")
        element(register, "name", label.lower())
        element(register, "description", register_pages.meaning(node))
        element(register, "addressOffset", f"{node.absolute_address:#x}")
        element(register, "size", node.get_property("regwidth"))
        element(register, "access", ACCESS[register_pages.access(node.has_sw_readable, node.has_sw_writable)])
        value = register_pages.at_reset(node)
        if value != "–":
            element(element(register, "reset"), "value", hex(int(value, 0)))
        for field in node.fields():
            part = element(register, "field")
            element(part, "name", field.inst_name)
            element(part, "bitOffset", field.lsb)
            element(part, "bitWidth", field.width)
            element(part, "access", ACCESS[register_pages.access(field.is_sw_readable, field.is_sw_writable)])


def model(component, name, ports):
    """The view for synthesis and simulation, and the ports."""
    parent = element(component, "model")
    view = element(element(parent, "views"), "view")
    element(view, "name", "rtl")
    element(view, "envIdentifier", ":*Synthesis:")
    element(view, "envIdentifier", ":*Simulation:")
    element(view, "language", "vhdl")
    element(view, "modelName", name)
    element(element(view, "fileSetRef"), "localName", "rtl")
    parent = element(parent, "ports")
    for way, high, label in ports:
        port = element(parent, "port")
        element(port, "name", label)
        wire = element(port, "wire")
        element(wire, "direction", {"input": "in", "output": "out"}[way])
        if high:
            vector = element(wire, "vector")
            element(vector, "left", high)
            element(vector, "right", 0)


def files(component, name, folder, sources):
    """The block's sources, each after those that it uses."""
    parent = element(element(component, "fileSets"), "fileSet")
    element(parent, "name", "rtl")
    for path in used(name, sources):
        file = element(parent, "file")
        element(file, "name", os.path.relpath(path, folder))
        element(file, "userFileType", "vhdlSource-2008")
        element(file, "logicalName", "work")


def used(name, sources):
    """The files of a block, each after those that it uses."""
    at = {Path(path).stem: Path(path) for path in sources}
    order = []

    def visit(stem):
        if stem in at and at[stem] not in order:
            for other in re.findall(r"\bwork\.(\w+)", at[stem].read_text().lower()):
                if other != stem:
                    visit(other)
            order.append(at[stem])

    visit(name)
    return order


def component_of(name, folder, sources):
    """A block's component. Raises ToolError."""
    ports = verilog.declared(translate.translate(name, sources), name)
    if not ports:
        raise toolchain.ToolError(f"GHDL's netlist has no ports of {name}")
    made = ElementTree.Element(f"{{{NAMESPACE}}}component")
    identity(made, name)
    interfaces(made, {label for _, _, label in ports}, {label for way, _, label in ports if way == "output"})
    if name == MAPPED:
        memory_map(made, name)
    model(made, name, ports)
    files(made, name, folder, sources)
    element(made, "description", f"docs/blocks/{name}.md")
    ElementTree.indent(made)
    return ElementTree.tostring(made, encoding="unicode", xml_declaration=True) + "\n"


def generate(folder):
    """Writes all components; their paths. Raises ToolError."""
    ElementTree.register_namespace("spirit", NAMESPACE)
    folder.mkdir(parents=True, exist_ok=True)
    sources, made = verilog.sources(), []
    for name in BLOCKS:
        made.append(folder / f"{name}.xml")
        made[-1].write_text(component_of(name, folder.resolve(), sources))
    return made


def main():
    """Entry point."""
    toolchain.enter()
    parser = argparse.ArgumentParser(description="Makes IP-XACT of the blocks.")
    parser.add_argument("-o", dest="folder", type=Path, default=toolchain.TREE / "target/rtl/ipxact", help="write here (target/rtl/ipxact)")
    try:
        print(*generate(parser.parse_args().folder), sep="\n")
    except toolchain.ToolError as error:
        print(f"ipxact.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
