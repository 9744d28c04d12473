-- All of the small test entities under one, with a memory: every construct in the translation of a block.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity faults is
  generic (
    words : natural := 16
  );
  port (
    clk       : in std_logic;
    probe_clk : in std_logic;
    rst       : in std_logic;
    s         : in std_logic_vector(1 downto 0);
    place     : in std_logic_vector(3 downto 0);
    a         : in std_logic_vector(69 downto 0);
    own       : out std_logic;
    q         : out std_logic_vector(47 downto 0);
    yz        : out std_logic_vector(79 downto 0);
    c         : out std_logic_vector(7 downto 0);
    w         : out std_logic;
    kept      : out std_logic_vector(69 downto 0);
    probed    : out std_logic
  );
end entity;

architecture rtl of faults is
  type memory_t is array (0 to words - 1) of std_logic_vector(69 downto 0);
  signal memory : memory_t;
begin
  wide_constants : entity work.wide
    generic map (inverted => true)
    port map (clk => clk, rst => rst, a => a(47 downto 0), own => own, q => q);

  cases : entity work.chosen
    port map (
      clk => clk, rst => rst, s => s, a => a(39 downto 0), y => yz(79 downto 40), z => yz(39 downto 0), c => c, w => w
    );

  process (clk)
  begin
    if rising_edge(clk) then
      if s = "11" then
        memory(to_integer(unsigned(place))) <= a;
      end if;
      kept <= memory(to_integer(unsigned(place)));
    end if;
  end process;

  process (probe_clk)
  begin
    if rising_edge(probe_clk) then
      probed <= xor a;
    end if;
  end process;
end architecture;
