"""Tests of the VHDL style: a source that keeps all rules, and each rule broken in it."""

import tempfile
import unittest
from pathlib import Path

import style

GOOD = """-- A block.
library ieee;
use ieee.std_logic_1164.all;

entity block_a is
  generic (
    depth : natural := 4;
    fast  : boolean := false
  );
  port (
    clk, rst : in  std_logic;
    data     : in  std_logic_vector(7 downto 0) := (others => '0');
    seen     : out std_logic
  );
end entity;

architecture rtl of block_a is
  constant limit : natural := 3; -- the word: "signal x : bit := '1';"
  signal count : natural range 0 to 7;
begin
  process (clk)
  begin
    if rising_edge(clk) then
      case count is
        when 0 => count <= 1;
        when others =>
          case data(0) is
            when '1' => count <= 0;
            when others => null;
          end case;
      end case;
      seen <= '1' when count = limit else '0';
      if rst = '1' then
        count <= 0;
      end if;
    end if;
  end process;
end architecture;
"""


class Style(unittest.TestCase):
    """Each rule of style.py."""

    def findings(self, old="", new="", folder="src"):
        """The findings after one change."""
        self.assertIn(old, GOOD)
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, folder, "block_a.vhd")
            path.parent.mkdir()
            path.write_text(GOOD.replace(old, new, 1))
            return [line.split("block_a.vhd:")[1] for line in style.findings(path)]

    def test_a_good_source_has_no_finding(self):
        self.assertEqual(self.findings(), [])

    def test_each_broken_rule_is_found_at_its_line(self):
        cases = [
            ("  signal count", "\tsignal count", "19: a tab"),
            ("begin\n", "begin  \n", "20: spaces at the end"),
            ("-- A block.", f"-- {'A' * 140}", "1: 143 columns"),
            ("entity block_a is", "entity another is", "5: declares another"),
            ("-- A block.", "entity second is\nend entity;", "6: declares second, block_a"),
            ("range 0 to 7;", "range 0 to 7 := 0;", "19: an initial value"),
            ("  signal count", "  signal small, last : std_logic;\n  signal count", "19: the name small"),
            ("    seen     :", "    final    :", "13: the name final"),
            ("constant limit", "constant logic", "18: the name logic"),
            ("depth : natural", "depth : positive", "7: the type positive"),
            ("data     : in  std_logic_vector(7 downto 0) := (others => '0');", "data : in unsigned(7 downto 0);", "12: the type unsigned"),
            ("rising_edge(clk)", "falling_edge(clk)", "23: clocks"),
            ("rising_edge(clk)", "clk'event and clk = '1'", "23: clocks"),
            ("            when others => null;\n", "", "27: a case without"),
            ("        when others =>\n", "        when 1 =>\n", "24: a case without"),
        ]
        for old, new, said in cases:
            with self.subTest(said):
                found = self.findings(old, new)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(said), found)

    def test_benches_may_have_what_is_never_translated(self):
        self.assertEqual(self.findings("range 0 to 7;", "range 0 to 7 := 0;", folder="tb"), [])
        self.assertEqual(len(self.findings("begin\n", "begin  \n", folder="tb")), 1)

    def test_random_numbers_of_a_bench_have_its_seed(self):
        found = self.findings("  begin\n", '  begin\n    random.InitSeed("name");\n', folder="tb")
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("23: the same random numbers"), found)
        self.assertEqual(self.findings("  begin\n", '  begin\n    random.InitSeed("name" & to_string(seed));\n', folder="tb"), [])


if __name__ == "__main__":
    unittest.main()
