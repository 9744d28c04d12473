"""The column `reset` of the tables of registers against the hardware: each register of a port is read after a reset."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

import register_pages
import registers
import toolchain

PAGES = register_pages.PAGES
ROW = re.compile(r"^\| (0x[0-9A-F]+)((?: \+ 0x[0-9a-f]+ [ij])*) \| `([\w.\[\]]+)`(, two words)? \| (\w+) \| (\S+) \|", re.M)
MARK = re.compile(r"<!-- registers: [\w, ]+ of ethernet_port -->(.*?)<!-- /registers -->", re.S)
# These count on after the reset.
RUNS = "now", "clock.now"
BENCH = """
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.env.all;
use std.textio.all;
entity bench is end entity;
architecture bench of bench is
  type list_t is array (natural range <>) of natural;
  constant LIST : list_t := ({list});
  signal clk, arvalid, arready, rvalid : std_logic := '0';
  signal rst : std_logic := '1';
  signal araddr : std_logic_vector(10 downto 0) := (others => '0');
  signal rdata : std_logic_vector(31 downto 0);
begin
  clk <= not clk after 4 ns;
  port_0 : entity work.ethernet_port port map (
    clk => clk, rst => rst, tx_ce => '1', gmii_txd => open, gmii_tx_en => open, gmii_tx_er => open, rx_ce => '1',
    gmii_rxd => x"00", gmii_rx_dv => '0', gmii_rx_er => '0', decided => open, wanted => open, result_valid => open,
    result_wanted => open, word_request => open, word_number => open, word => x"00000000", s_axil_awvalid => '0',
    s_axil_awready => open, s_axil_awaddr => (others => '0'), s_axil_awprot => "000", s_axil_wvalid => '0', s_axil_wready => open,
    s_axil_wdata => x"00000000", s_axil_wstrb => "0000", s_axil_bvalid => open, s_axil_bready => '1', s_axil_bresp => open,
    s_axil_arvalid => arvalid, s_axil_arready => arready, s_axil_araddr => araddr, s_axil_arprot => "000", s_axil_rvalid => rvalid,
    s_axil_rready => '1', s_axil_rdata => rdata, s_axil_rresp => open);
  process
    variable text : line;
  begin
    wait until rising_edge(clk);
    wait until rising_edge(clk);
    rst <= '0';
    for n in LIST'range loop
      araddr <= std_logic_vector(to_unsigned(LIST(n), 11));
      arvalid <= '1';
      wait until rising_edge(clk) and arready = '1';
      arvalid <= '0';
      if rvalid /= '1' then
        wait until rising_edge(clk) and rvalid = '1';
      end if;
      write(text, "read " & integer'image(LIST(n)) & " " & to_hstring(rdata));
      writeline(output, text);
      wait until rising_edge(clk);
    end loop;
    stop(0);
  end process;
end architecture;
"""


def tables():
    """(offset, name, reset) of each word that software reads, from the pages."""
    for path in sorted(PAGES.glob("*.md")):
        for table in MARK.findall(path.read_text()):
            for offset, steps, name, wide, may, reset in ROW.findall(table):
                counts = [int(count) for count in re.findall(r"\[(\d+)\]", name)]
                places = [int(offset, 16)]
                for step, count in zip(re.findall(r"0x[0-9a-f]+", steps), counts, strict=True):
                    places = [place + int(step, 16) * n for place in places for n in range(count)]
                for place in places:
                    word = 0 if reset == "–" else int(reset, 0)
                    if "r" in may:
                        yield place, name, None if reset == "–" else word & 0xFFFFFFFF
                        if wide:
                            yield place + 4, name, word >> 32


def read(offsets):
    """The words of the hardware after its reset, as text, by offset."""
    ghdl, _ = toolchain.ghdl()
    with tempfile.TemporaryDirectory(prefix="wirelab-reset-") as name:
        folder = Path(name)
        (folder / "bench.vhd").write_text(BENCH.format(list=", ".join(map(str, offsets))))
        made = [path for path in registers.sources() if "reference" not in path.name]
        sources = [*sorted((toolchain.TREE / "rtl/src").glob("*.vhd")), *made, folder / "bench.vhd"]
        for words in (["-i"], ["-m"]):
            files = [str(path) for path in sources] if words == ["-i"] else ["bench"]
            toolchain.run([ghdl, *words, "--std=08", f"--workdir={folder}", *files], cwd=folder)
        out = toolchain.run([ghdl, "-r", "--std=08", f"--workdir={folder}", "bench", "--ieee-asserts=disable"], cwd=folder)
    return {int(place): word for place, word in re.findall(r"^read (\d+) (\w+)$", out, re.M)}


class ResetValues(unittest.TestCase):
    """Pages and hardware."""

    def test_each_register_reads_after_a_reset_as_its_table_says(self):
        wanted = list(tables())
        self.assertGreater(len(wanted), 100)
        found = read([place for place, _, _ in wanted])
        for place, name, reset in wanted:
            with self.subTest(f"{place:#05x} {name}"):
                if reset is None:
                    self.assertIn("X", found[place])
                elif name not in RUNS:
                    self.assertEqual(found[place], f"{reset:08X}")


if __name__ == "__main__":
    sys.exit(unittest.main())
