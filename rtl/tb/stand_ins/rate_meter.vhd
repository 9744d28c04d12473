-- A rate_meter whose periods saturate at 63 ticks; those of the block itself do at 2^32 - 1, after half a minute.
--
-- Its sum begins where the high word is not 0.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

library wirelab;

entity rate_meter is
  generic (
    SYNCHRONISE : boolean := false;
    BITS        : natural := 32;
    MORE_BITS   : natural := 16
  );
  port (
    clk          : in  std_logic;
    rst          : in  std_logic;
    tick         : in  std_logic;
    enable       : in  std_logic;
    clear        : in  std_logic;
    line_mode    : in  std_logic;
    at_last      : in  std_logic;
    probe_tvalid : in  std_logic;
    probe_tready : in  std_logic;
    probe_tlast  : in  std_logic;
    periods      : out std_logic_vector(BITS - 1 downto 0);
    last_period  : out std_logic_vector(BITS - 1 downto 0);
    shortest     : out std_logic_vector(BITS - 1 downto 0);
    longest      : out std_logic_vector(BITS - 1 downto 0);
    total        : out std_logic_vector(BITS + MORE_BITS - 1 downto 0);
    overflow     : out std_logic
  );
end entity;

architecture stand_in of rate_meter is
  constant FEW : natural := 6;
  signal few_periods, few_last, few_shortest, few_longest : std_logic_vector(FEW - 1 downto 0);
  signal few_total : std_logic_vector(FEW + MORE_BITS - 1 downto 0);
begin
  block_itself : entity wirelab.rate_meter
    generic map (SYNCHRONISE => SYNCHRONISE, BITS => FEW, MORE_BITS => MORE_BITS)
    port map (
      clk => clk, rst => rst, tick => tick, enable => enable, clear => clear, line_mode => line_mode, at_last => at_last,
      probe_tvalid => probe_tvalid, probe_tready => probe_tready, probe_tlast => probe_tlast,
      periods => few_periods, last_period => few_last, shortest => few_shortest, longest => few_longest,
      total => few_total, overflow => overflow
    );

  periods     <= std_logic_vector(resize(unsigned(few_periods), BITS));
  last_period <= std_logic_vector(resize(unsigned(few_last), BITS));
  shortest    <= std_logic_vector(resize(unsigned(few_shortest), BITS));
  longest     <= std_logic_vector(resize(unsigned(few_longest), BITS));
  total       <= std_logic_vector(resize(unsigned(few_total), BITS + MORE_BITS) + x"567800000000");
end architecture;
