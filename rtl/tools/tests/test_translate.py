"""Tests of the translation: each fault of GHDL 2.0 is repaired, and the result has the function of the source."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import lockstep
import toolchain
import translate
import verilog

HERE = Path(__file__).resolve().parent
SOURCES = sorted((HERE / "vhdl").glob("*.vhd"))

# The output of GHDL 2.0, to test the repair with a newer GHDL, too.
VERILOG = """module chosen
  (input  [1:0] s,
   input  [39:0] a,
   output [39:0] y);
  wire [1:0] n10_o;
  reg [39:0] n12_o;
  localparam [39:0] n3_o = "0000000000000000000000000000000011111111";
  assign y = n12_o;
  assign n10_o = {n8_o, n6_o};
  always @*
    case (n10_o)
      2'b10: n12_o <= "00000000000000000000000000000000111111X-";
      2'b01: n12_o <= n3_o;
    endcase
  always @(posedge clk)
    n13_q <= n12_o;
endmodule
"""
VHDL = """architecture rtl of other is
begin
  with n10_o select n12_o <=
    n3_o when "10",
    n77_o when others;
end rtl;

architecture rtl of chosen is
begin
  with n10_o select n12_o <=
    "00000000000000000000000000000000111111X-" when "10",
    n3_o when "01",
    wrap_a when others;
end rtl;
"""


class Repair(unittest.TestCase):
    """The three faults, in text."""

    def repaired(self, vhdl=VHDL, verilog_text=VERILOG):
        """The sample, repaired."""
        return translate.repair(verilog_text, lambda: vhdl)

    def test_a_string_becomes_a_constant_of_its_width(self):
        self.assertIn(f"localparam [39:0] n3_o = 40'b{'0' * 32}11111111;", self.repaired())
        # Metavalues are unknown in Verilog as well.
        self.assertIn(f"n12_o = 40'b{'0' * 32}111111xx;", self.repaired())

    def test_a_combinational_process_assigns_at_once_and_a_clocked_one_later(self):
        text = self.repaired()
        self.assertIn("2'b01: n12_o = n3_o;", text)
        self.assertIn("n13_q <= n12_o;", text)

    def test_the_others_come_from_the_same_net_of_the_same_module(self):
        self.assertIn("      2'b01: n12_o = n3_o;\n      default: n12_o = a;\n    endcase", self.repaired())
        constant = VHDL.replace("wrap_a when", f"\"{'01' * 20}\" when")
        self.assertIn(f"default: n12_o = 40'b{'01' * 20};", self.repaired(constant))
        repeated = VHDL.replace("wrap_a when", "(39 downto 0 => 'X') when")
        self.assertIn(f"default: n12_o = 40'b{'x' * 40};", self.repaired(repeated))

    def test_sound_verilog_is_left_as_it_is_and_needs_no_vhdl(self):
        sound = self.repaired()
        self.assertEqual(translate.repair(sound, lambda: self.fail("asked for the VHDL")), sound)

    def test_tables_of_the_same_content_are_one_and_memories_that_are_written_stay(self):
        def memory(name, word):
            return f"  reg [3:0] {name}[1:0] ; // memory\n  initial begin\n    {name}[1] = 4'b{word};\n    {name}[0] = 4'b0001;\n    end\n"

        def read(name, data):
            return f"  always @(posedge clk)\n    if (e)\n      {data} <= {name}[a];\n"

        write = "  always @(posedge clk)\n    if (w)\n      n5[a] <= d;\n"
        names, words = ["n1", "n2", "n30", "n5", "n6"], ["1111", "1010", "1111", "1111", "1111"]
        parts = [memory(name, word) + read(name, f"{name}_q") for name, word in zip(names, words)]
        expected = [*parts[:2], read("n1", "n30_q"), parts[3], read("n1", "n6_q"), write]
        self.assertEqual(translate.one_of_each_table("".join([*parts, write])), "".join(expected))

    def test_two_checkers_share_one_table_of_start_words(self):
        text = translate.translate("start_words", verilog.sources())
        self.assertEqual(len(translate.MEMORY.findall(text)), 1)
        self.assertRegex(text, r"(?s)if \(a_request\)\n *\w+ <= (\w+)\[a_number\];.*if \(b_request\)\n *\w+ <= \1\[b_number\];")

    def test_what_cannot_be_repaired_is_an_error(self):
        cases = {
            "no `when others` for n12_o": dict(vhdl=VHDL.replace("chosen", "another")),
            "neither a constant nor a net": dict(vhdl=VHDL.replace("wrap_a when", "a + 1 when")),
            "a line of an unknown form": dict(verilog_text=VERILOG.replace("2'b01: n12_o", "2'b01: if (s) n12_o")),
            "also a signal's name: n10_o": dict(verilog_text=VERILOG.replace("  reg [39:0]", "  wire n10_o;\n  reg [39:0]")),
            "a string is left": dict(verilog_text=VERILOG.replace("assign y = n12_o", 'assign y = "hello"')),
            "process of GHDL's Verilog has an unknown form": dict(verilog_text=VERILOG.replace("case (n10_o)", "if (s)")),
        }
        for said, arguments in cases.items():
            with self.subTest(said), self.assertRaisesRegex(toolchain.ToolError, f"^chosen: .*{re.escape(said)}"):
                self.repaired(**arguments)


class Translation(unittest.TestCase):
    """GHDL, the repair and Verilator together."""

    @classmethod
    def setUpClass(cls):
        cls.text = translate.translate("faults", SOURCES)

    def test_the_translation_lints_without_a_word(self):
        for name in verilog.entities(SOURCES):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "it.v")
                path.write_text(translate.translate(name, SOURCES))
                self.assertEqual(verilog.lint(path, name), "")

    def test_the_lint_finds_a_latch(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it.v")
            path.write_text(re.sub(r" *default: [^\n]*\n", "", self.text))
            self.assertRegex(verilog.lint(path, "faults"), "LATCH|CASEINCOMPLETE")

    def test_generics_are_passed_on(self):
        plain = translate.translate("wide", SOURCES, {"inverted": "false"})
        self.assertIn("1'b1 : 1'b0", plain)
        self.assertNotIn(" ^ 48'b", plain)
        self.assertIn(" ^ 48'b", translate.translate("wide", SOURCES))

    def test_an_entity_that_is_not_there_is_named(self):
        words = [sys.executable, "-B", HERE.parent / "translate.py", "nothing", *SOURCES]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("nothing", done.stderr)

    def test_translation_and_source_give_the_same_in_every_cycle(self):
        outcome = lockstep.compare("faults", SOURCES, 3000, 7, self.text)
        self.assertEqual(outcome.differing, 0)
        # Before the first clock no value is known, and a memory is unknown until it is written.
        self.assertGreater(outcome.compared, 3000 * 2 * 180)

    def test_the_comparison_finds_each_fault_if_it_is_not_repaired(self):
        faults = {
            "others": (r"(default: \w+) = a;", r"\1 = ~a;"),
            "constant": (r" \^ 48'b0", " ^ 48'b1"),
        }
        for name, (pattern, by) in faults.items():
            with self.subTest(name):
                text = re.sub(pattern, by, self.text, count=1)
                self.assertNotEqual(text, self.text)
                told = []
                outcome = lockstep.compare("faults", SOURCES, 300, 7, text, told.append)
                self.assertGreater(outcome.differing, 0)
                self.assertRegex(told[0], r"^# cycle \d+, (before|after) its edge: \w+ is ")


if __name__ == "__main__":
    unittest.main()
