-- The counts of a MAC of the reference node: what mac_rx, mac_tx and the frame store tell, in the order of the registers.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity mac_tally is
  generic (
    -- Of a count; less than 32 for a bench that sees it run over.
    COUNT_BITS : natural := 32
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    clear     : in  std_logic;
    -- The end of a frame by mac_rx, and what was wrong with it.
    ended     : in  std_logic;
    bad_fcs   : in  std_logic;
    rx_error  : in  std_logic;
    runt      : in  std_logic;
    oversize  : in  std_logic;
    -- One clock each.
    received  : in  std_logic;
    dropped   : in  std_logic;
    filtered  : in  std_logic;
    sent      : in  std_logic;
    -- A register of mac_counts, by the place of its word.
    s_address : in  std_logic_vector(3 downto 0);
    s_rdata   : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of mac_tally is
  constant COUNTERS : natural := 8;
  constant BASE     : natural := SLOT_MAC_COUNTS_RECEIVED;

  signal restart  : std_logic;
  signal events   : std_logic_vector(COUNTERS - 1 downto 0);
  signal counts   : std_logic_vector(32 * COUNTERS - 1 downto 0);
  signal overflow : std_logic_vector(COUNTERS - 1 downto 0);
begin
  restart <= rst or clear;

  events((SLOT_MAC_COUNTS_RECEIVED - BASE) / 4)  <= received;
  events((SLOT_MAC_COUNTS_DROPPED - BASE) / 4)   <= dropped;
  events((SLOT_MAC_COUNTS_BAD_FCS - BASE) / 4)   <= ended and bad_fcs;
  events((SLOT_MAC_COUNTS_RX_ERRORS - BASE) / 4) <= ended and rx_error;
  events((SLOT_MAC_COUNTS_RUNTS - BASE) / 4)     <= ended and runt;
  events((SLOT_MAC_COUNTS_OVERSIZES - BASE) / 4) <= ended and oversize;
  events((SLOT_MAC_COUNTS_FILTERED - BASE) / 4)  <= filtered;
  events((SLOT_MAC_COUNTS_SENT - BASE) / 4)      <= sent;

  adders : entity work.event_counters
    generic map (COUNTERS => COUNTERS, BITS => COUNT_BITS)
    port map (clk => clk, rst => restart, events => events, counts => counts, overflow => overflow);

  process (all)
  begin
    s_rdata <= (others => '0');
    for number in 0 to COUNTERS - 1 loop
      if unsigned(s_address) = number then
        s_rdata <= counts(32 * number + 31 downto 32 * number);
      end if;
    end loop;
    if unsigned(s_address) = COUNTERS then
      s_rdata(COUNTERS - 1 downto 0) <= overflow;
    end if;
  end process;
end architecture;
