-- From the bytes of mac_tx to the 4-bit MII of 10 and 100 Mbit/s, at the pace of the PHY's transmit clock.
--
-- The PHY's clock is sampled, not used as a clock: `ce` shows mac_tx when the next byte may come. Nibbles change after
-- the falling edge of the PHY's clock, which puts the change just behind its rising edge at 100 Mbit/s (clause 22.3.1
-- of IEEE 802.3 allows 25 ns). `clk` runs at 100 to 125 MHz. Ports and times: docs/blocks/mii_tx.md.
library ieee;
use ieee.std_logic_1164.all;

entity mii_tx is
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    ce         : out std_logic;
    gmii_txd   : in  std_logic_vector(7 downto 0);
    gmii_tx_en : in  std_logic;
    gmii_tx_er : in  std_logic;
    mii_tx_clk : in  std_logic;
    mii_txd    : out std_logic_vector(3 downto 0);
    mii_tx_en  : out std_logic;
    mii_tx_er  : out std_logic
  );
end entity;

architecture rtl of mii_tx is
  -- The sampled clock of the PHY: one stage may be metastable, one is stable, and two delay the nibbles to three to four clocks
  -- after the falling edge.
  signal sampled     : std_logic_vector(3 downto 0);
  signal falls       : std_logic;
  signal high_nibble : std_logic;
begin
  falls <= sampled(3) and not sampled(2);
  ce    <= falls and high_nibble;

  process (clk)
  begin
    if rising_edge(clk) then
      sampled <= sampled(2 downto 0) & mii_tx_clk;
      if rst = '1' then
        sampled     <= (others => '0');
        high_nibble <= '0';
        mii_txd     <= (others => '0');
        mii_tx_en   <= '0';
        mii_tx_er   <= '0';
      elsif falls = '1' then
        high_nibble <= not high_nibble;
        mii_tx_en   <= gmii_tx_en;
        mii_tx_er   <= gmii_tx_er;
        mii_txd     <= gmii_txd(3 downto 0);
        if high_nibble = '1' then
          mii_txd <= gmii_txd(7 downto 4);
        end if;
      end if;
    end if;
  end process;
end architecture;
