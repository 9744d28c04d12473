"""Tests of folding: conditions tested once, saved values, refused forms, and the same function as the source."""

import re
import unittest
from pathlib import Path

import fold
import lockstep
import toolchain
import translate

SOURCES = sorted((Path(__file__).resolve().parent / "vhdl").glob("*.vhd"))

# As GHDL writes it: two registers exchange their values if `go` is 1, and their `sum` is used in one arm only.
VERILOG = """module swap
  (input  clk,
   input  go,
   input  [7:0] value,
   output [7:0] a,
   output [7:0] seen);
  wire [7:0] b;
  wire [7:0] n1_o;
  wire [7:0] n2_o;
  wire [7:0] n3_o;
  wire [7:0] n4_o;
  reg [7:0] n5_q;
  reg [7:0] n6_q;
  reg [7:0] n7_q;
  assign a = n5_q;
  assign seen = n7_q;
  assign b = n6_q; // (signal)
  assign n1_o = n5_q + b;
  assign n2_o = go ? b : n5_q;
  assign n3_o = go ? n5_q : b;
  assign n4_o = go ? n1_o : value;
  always @(posedge clk)
    n5_q <= n2_o;
  always @(posedge clk)
    n6_q <= n3_o;
  always @(posedge clk)
    n7_q <= n4_o;
endmodule
"""


class Text(unittest.TestCase):
    """A small module, folded."""

    def process(self, text=VERILOG):
        """The lines of its process, without indentation."""
        folded = fold.fold(text, "swap").text()
        return [line.strip() for line in re.search(r"always @\(posedge clk\)\n(.*?)\n    end\n", folded, re.S)[1].splitlines()]

    def test_a_choice_is_asked_once_and_what_one_arm_needs_is_computed_there(self):
        lines = self.process()
        self.assertEqual([line for line in lines if line.startswith("if")], ["if (go) begin"])
        arm = lines[lines.index("if (go) begin") : lines.index("else begin")]
        self.assertIn("step0__n1_o = n5_q + n6_q;", arm)
        # The other arm changes only the value that is read.
        self.assertEqual(lines[lines.index("else begin") :], ["else begin", "n7_q = value;", "end"])

    def test_what_is_needed_after_its_change_is_kept_before(self):
        lines = self.process()
        kept = [line for line in lines if line.startswith("old__")]
        self.assertEqual(len(kept), 1)
        (name,) = re.findall(r"^old__(\w+) = \1;$", kept[0])
        changed = lines.index(next(line for line in lines if line.startswith(f"{name} = ")))
        self.assertTrue(any(f"= old__{name};" in line for line in lines[changed:]))
        self.assertFalse(any(re.search(rf"= {name}\b", line) for line in lines[changed + 1 :]))

    def test_a_part_of_a_constant_is_that_part(self):
        parts = "  localparam [7:0] n8_o = 8'b00000001;\n  wire [6:0] n9_o;\n  wire n10_o;\n  wire [7:0] n11_o;\n"
        parts += "  assign n9_o = n8_o[7:1];\n  assign n10_o = n8_o[0];\n  assign n11_o = {n9_o, n10_o};\n"
        text = VERILOG.replace("  assign a", parts + "  assign a").replace("n1_o : value", "n1_o : n11_o")
        self.assertIn("n7_q = 8'b00000001;", self.process(text))

    def test_a_case_asks_for_the_value_that_its_bits_compare(self):
        parts = "  wire n8_o;\n  wire n9_o;\n  wire n10_o;\n  wire [1:0] n11_o;\n  reg [7:0] n12_o;\n  assign n8_o = value == 8'b00000001;\n"
        parts += "  assign n9_o = value == 8'b00000011;\n  assign n10_o = b == 8'b00000011;\n  assign n11_o = {n9_o, n8_o};\n  always @*\n"
        parts += "    case (n11_o)\n      2'b10: n12_o = b;\n      2'b01: n12_o = 8'b00000111;\n      default: n12_o = n5_q;\n    endcase\n"
        text = VERILOG.replace("  assign a", parts + "  assign a").replace("n1_o : value", "n1_o : n12_o")
        lines = " ".join(self.process(text))
        self.assertRegex(lines, r"case \(value\) 8'b00000011: \w+ = n6_q; 8'b00000001: \w+ = 8'b00000111; default: \w+ = n5_q; endcase")
        # Bits that compare two values may both be 1.
        self.assertNotIn("case (value)", " ".join(self.process(text.replace("{n9_o, n8_o}", "{n10_o, n8_o}"))))

    def test_an_output_that_hangs_on_an_input_is_named(self):
        self.assertEqual(fold.fold(VERILOG, "swap").hanging(), [])
        hanging = VERILOG.replace("assign seen = n7_q;", "assign seen = n4_o;")
        self.assertEqual(sorted(fold.fold(hanging, "swap").hanging()), ["go", "value"])

    def test_what_is_not_known_is_an_error(self):
        cases = {
            "a statement of an unknown form: always @(negedge clk)": ("always @(posedge clk)\n    n5_q", "always @(negedge clk)\n    n5_q"),
            "an instance it of other, which is not there": ("  assign seen", "  other it (\n    .x(go));\n  assign seen"),
        }
        for said, (old, new) in cases.items():
            with self.subTest(said), self.assertRaisesRegex(toolchain.ToolError, re.escape(said)):
                fold.fold(VERILOG.replace(old, new), "swap")
        with self.assertRaisesRegex(toolchain.ToolError, "no module nothing"):
            fold.fold(VERILOG, "nothing")


class Cycles(unittest.TestCase):
    """The source compared with the folded translation."""

    @classmethod
    def setUpClass(cls):
        cls.text = fold.fold(translate.translate("exchange", SOURCES), "exchange").text()

    def differing(self, text, cycles=3000):
        """The bits that differ, of those that are compared."""
        outcome = lockstep.compare("exchange", SOURCES, cycles, 11, text, lambda line: None)
        self.assertGreater(outcome.compared, cycles * 2 * 100)
        return outcome.differing

    def test_the_folded_translation_and_the_source_give_the_same_in_every_cycle(self):
        self.assertEqual(self.differing(self.text), 0)

    def test_the_comparison_finds_a_value_that_is_not_kept_and_an_arm_that_is_lost(self):
        faults = {
            "kept": (r"= old__(\w+)", r"= \1"),
            "arm": (r"(case \(\w+\)\s+\d'b\d+: begin\n)(.*?)(\n *end)", r"\1\3"),
            "memory": (r"\n *memory\[\S+ <= \w+;", ""),
        }
        for name, (pattern, by) in faults.items():
            with self.subTest(name):
                text = re.sub(pattern, by, self.text, flags=re.S)
                self.assertFalse(text == self.text, "nothing was broken")
                self.assertGreater(self.differing(text), 0)


if __name__ == "__main__":
    unittest.main()
