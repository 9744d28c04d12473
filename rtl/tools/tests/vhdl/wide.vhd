-- Constants wider than 32 bits, and of more than two values: GHDL 2.0 prints them as strings.
library ieee;
use ieee.std_logic_1164.all;

entity wide is
  generic (
    inverted : boolean := true
  );
  port (
    clk : in std_logic;
    rst : in std_logic;
    a   : in std_logic_vector(47 downto 0);
    own : out std_logic;
    q   : out std_logic_vector(47 downto 0)
  );
end entity;

architecture rtl of wide is
begin
  -- Only two bits are compared, so that random inputs meet it.
  own <= '1' when (a and x"800000000001") = x"800000000001" else '0';

  process (clk)
  begin
    if rising_edge(clk) then
      if rst = '1' then
        q <= x"FFFFFFFFFFFF";
      elsif inverted then
        q <= a xor x"0123456789AB";
      else
        q <= a;
      end if;
    end if;
  end process;
end architecture;
