"""Tests of the comparison of source and translation: the stimuli get past the headers, and no difference is missed."""

import tempfile
import unittest
from pathlib import Path

import lockstep
import stimuli
import toolchain
import translate
import verilog

# An output without a driver, beside a correct one.
SILENT = """library ieee;
use ieee.std_logic_1164.all;
entity silent is
  port (clk, a : in std_logic; y, never : out std_logic);
end entity;
architecture rtl of silent is
begin
  y <= a when rising_edge(clk);
end architecture;
"""

# A single output of one bit.
LONE = SILENT.replace("silent", "lone").replace("y, never", "y")

# In its second clock, it detects an SFD after a byte of preamble.
SECOND = """library ieee;
use ieee.std_logic_1164.all;
entity second is
  port (clk, gmii_rx_clk : in std_logic; gmii_rxd : in std_logic_vector(7 downto 0); gmii_rx_dv, gmii_rx_er : in std_logic;
        y : out std_logic_vector(1 downto 0));
end entity;
architecture rtl of second is
  signal last_byte : std_logic_vector(7 downto 0);
  signal found : std_logic;
begin
  process (gmii_rx_clk)
  begin
    if rising_edge(gmii_rx_clk) then
      last_byte <= gmii_rxd;
      found <= '0';
      if last_byte = x"55" and gmii_rxd = x"D5" and gmii_rx_dv = '1' and gmii_rx_er = '0' then
        found <= '1';
      end if;
    end if;
  end process;
  y <= found & not found when rising_edge(clk);
end architecture;
"""


class Planted(unittest.TestCase):
    """A difference of the translation that shows only after the Ethernet header."""

    def differing(self, entity, file, old, new):
        """The differing bits if the translated source has `new` instead of `old`."""
        sources = verilog.sources()
        with tempfile.TemporaryDirectory() as folder:
            (path,) = (source for source in sources if source.name == file)
            text = path.read_text()
            self.assertEqual(text.count(old), 1, f"{file} has not once what is to be changed: {old}")
            other = Path(folder, file)
            other.write_text(text.replace(old, new))
            changed = translate.translate(entity, [other if source == path else source for source in sources])
            return lockstep.compare(entity, sources, 2000, 1, changed, lambda line: None).differing

    def test_a_difference_in_the_test_header_is_found(self):
        word = 'HEADER_VERSION   : std_logic_vector(3 downto 0) := x"%d"'
        self.assertGreater(self.differing("frame_parser", "ethernet_pkg.vhd", word % 1, word % 2), 0)

    def test_a_difference_in_what_is_too_long_is_found(self):
        word = "lfsr_bytes > MAX_LFSR_BYTES"
        self.assertGreater(self.differing("frame_parser", "frame_parser.vhd", word, f"{word} + 1"), 0)

    def test_a_difference_behind_the_ip_header_is_found(self):
        word = 'PROTOCOL_UDP     : octet_t  := x"%d"'
        self.assertGreater(self.differing("packet_identifier", "ethernet_pkg.vhd", word % 11, word % 13), 0)

    def test_a_difference_in_what_is_stale_is_found_in_a_checker(self):
        word = "may_be_stale <= wrong and has_word"
        self.assertGreater(self.differing("packet_checker", "content_checker.vhd", f"{word} and not inconsistent", word), 0)


class TwoClocks(unittest.TestCase):
    """A block of two clocks."""

    def test_the_second_clock_has_an_edge_in_each_cycle_in_which_frames_are_played(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "second.vhd")
            path.write_text(SECOND)
            outcome = lockstep.compare("second", [path], stimuli.SILENT_CYCLES + 100, 1)
        self.assertEqual((outcome.differing, outcome.moved), (0, 2))


class Unseen(unittest.TestCase):
    """Runs that would compare nothing."""

    def test_an_output_that_is_never_known_fails_and_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "silent.vhd")
            path.write_text(SILENT)
            outcome = lockstep.compare("silent", [path], 50, 1, translate.translate("silent", [path]))
        self.assertEqual((outcome.differing, outcome.unseen), (0, ["never"]))
        well, said = lockstep.judged(outcome)
        self.assertFalse(well)
        self.assertIn("never known: never", said)
        self.assertTrue(lockstep.judged(outcome._replace(unseen=[]))[0])

    def test_one_output_of_one_bit_is_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "lone.vhd")
            path.write_text(LONE)
            outcome = lockstep.compare("lone", [path], 50, 1)
        self.assertEqual((outcome.differing, outcome.moved, outcome.unseen), (0, 1, []))

    def test_each_output_that_differs_is_counted_and_the_first_is_named(self):
        outputs = [verilog.Port("a", False, 1, False), verilog.Port("b", False, 3, True)]
        before = ["UUUU"] * 2 * stimuli.RESET_CYCLES
        told = []
        outcome = lockstep.differences([*before, "1U01", "0U11"], [*before, "1101", "0100"], outputs, told.append)
        self.assertEqual(outcome, (2, 6, 2, []))
        self.assertEqual(told, [f"# cycle {stimuli.RESET_CYCLES}, after its edge: b is U11 and 100"])

    def test_lines_that_are_missing_are_an_error(self):
        with self.assertRaisesRegex(toolchain.ToolError, "2 lines of the source and 1"):
            lockstep.differences(["1", "0"], ["1"], [verilog.Port("a", False, 1, False)], print)


if __name__ == "__main__":
    unittest.main()
