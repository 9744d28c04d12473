-- The example design with a cable from its line back to it, for `fusesoc run --target sim`: sixteen frames, and the lamps.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.env.all;

entity line_tester_demo is
end entity;

architecture bench of line_tester_demo is
  constant FRAMES                       : natural := 16;
  signal clk, run                       : std_logic := '0';
  signal rst                            : std_logic := '1';
  signal txd                            : std_logic_vector(7 downto 0);
  signal tx_en, tx_er                   : std_logic;
  signal sending, finished              : std_logic;
  signal all_good, trouble              : std_logic;
  signal good_frames                    : std_logic_vector(31 downto 0);
begin
  clk <= not clk after 4 ns;

  tester : entity work.line_tester
    generic map (PAYLOAD_BYTES => 46, FRAMES => FRAMES)
    port map (
      clk => clk, rst => rst, run => run, gmii_rx_clk => clk, gmii_rxd => txd, gmii_rx_dv => tx_en, gmii_rx_er => tx_er,
      gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er, sending => sending, finished => finished,
      all_good => all_good, trouble => trouble, good_frames => good_frames);

  process
  begin
    wait for 100 ns;
    wait until rising_edge(clk);
    rst <= '0';
    run <= '1';
    wait until all_good = '1' and finished = '1' for 1 ms;
    wait for 2 us;
    if all_good = '1' and trouble = '0' and unsigned(good_frames) = FRAMES then
      report "16 frames came back, every byte right";
      stop(0);
    else
      report "good frames: " & integer'image(to_integer(unsigned(good_frames))) severity error;
      stop(1);
    end if;
    wait;
  end process;
end architecture;
