-- A capture_unit whose counts saturate at 63 clocks; those of the block itself do at 2^32 - 1, after half a minute.
library ieee;
use ieee.std_logic_1164.all;

library wirelab;

entity capture_unit is
  generic (
    COUNT_BITS : natural := 32
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    enable    : in  std_logic;
    clear     : in  std_logic;
    start     : in  std_logic;
    stop      : in  std_logic;
    read_data : out std_logic_vector(31 downto 0);
    read_next : in  std_logic;
    level     : out std_logic_vector(9 downto 0);
    busy      : out std_logic;
    missed    : out std_logic_vector(31 downto 0);
    overflow  : out std_logic;
    saturated : out std_logic
  );
end entity;

architecture stand_in of capture_unit is
begin
  block_itself : entity wirelab.capture_unit
    generic map (COUNT_BITS => 6)
    port map (
      clk => clk, rst => rst, enable => enable, clear => clear, start => start, stop => stop, read_data => read_data,
      read_next => read_next, level => level, busy => busy, missed => missed, overflow => overflow, saturated => saturated
    );
end architecture;
