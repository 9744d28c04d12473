-- From the 4-bit MII of 10 and 100 Mbit/s to the bytes of mac_rx, at the pace of the PHY's receive clock.
--
-- The PHY's clock is sampled with its data, not used as a clock: `clk` runs at 110 to 125 MHz, so the data are still stable
-- when the edge is seen. Bytes are aligned to the SFD, whether the preamble has an even or odd number of nibbles.
-- docs/blocks/mii_rx.md has ports and times.
library ieee;
use ieee.std_logic_1164.all;

use work.ethernet_pkg.all;

entity mii_rx is
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    mii_rx_clk : in  std_logic;
    mii_rxd    : in  std_logic_vector(3 downto 0);
    mii_rx_dv  : in  std_logic;
    mii_rx_er  : in  std_logic;
    ce         : out std_logic;
    gmii_rxd   : out std_logic_vector(7 downto 0);
    gmii_rx_dv : out std_logic;
    gmii_rx_er : out std_logic;
    -- One clock: the carrier ended in the middle of a byte, which was discarded.
    dangling   : out std_logic
  );
end entity;

architecture rtl of mii_rx is
  type sample_t is record
    clock, valid, error_mark : std_logic;
    nibble                   : std_logic_vector(3 downto 0);
  end record;
  constant NOTHING : sample_t := ('0', '0', '0', x"0");

  -- Only the sampled clock can be metastable: data are stable around its rising edge.
  signal first, second : sample_t;
  signal clock_before  : std_logic;
  -- The previous nibble, and whether it waits for the other half of its byte.
  signal low       : sample_t;
  signal half      : std_logic;
  signal aligned   : std_logic;
begin
  process (clk)
    variable whole : boolean;
    variable is_sfd : boolean;
  begin
    if rising_edge(clk) then
      first        <= (mii_rx_clk, mii_rx_dv, mii_rx_er, mii_rxd);
      second       <= first;
      clock_before <= second.clock;
      ce           <= '0';
      dangling     <= '0';
      if rst = '1' then
        first        <= NOTHING;
        second       <= NOTHING;
        low          <= NOTHING;
        clock_before <= '0';
        half         <= '0';
        aligned      <= '0';
        gmii_rxd     <= (others => '0');
        gmii_rx_dv   <= '0';
        gmii_rx_er   <= '0';
      elsif second.clock = '1' and clock_before = '0' then
        low    <= second;
        is_sfd := aligned = '0' and second.valid = '1' and low.valid = '1'
                  and second.nibble & low.nibble = START_DELIMITER;
        whole  := half = '1' or is_sfd;
        half   <= '1';
        if second.valid = '1' and low.valid = '0' then
          -- The carrier begins, and a byte with it. A single nibble before it was silence.
          whole := false;
        elsif second.valid = '0' and low.valid = '1' then
          -- The carrier ends: mac_rx gets this at once.
          dangling <= half and aligned;
          whole    := true;
        end if;
        if is_sfd then
          aligned <= '1';
        elsif second.valid = '0' then
          aligned <= '0';
        end if;
        if whole then
          ce         <= '1';
          half       <= '0';
          gmii_rxd   <= second.nibble & low.nibble;
          gmii_rx_dv <= second.valid;
          gmii_rx_er <= second.error_mark or (low.error_mark and low.valid);
        end if;
      end if;
    end if;
  end process;
end architecture;
