-- Cases with a `when others`, which GHDL 2.0 drops: an input, a net, a constant, and a state.
library ieee;
use ieee.std_logic_1164.all;

entity chosen is
  port (
    clk : in std_logic;
    rst : in std_logic;
    s   : in std_logic_vector(1 downto 0);
    a   : in std_logic_vector(39 downto 0);
    y   : out std_logic_vector(39 downto 0);
    z   : out std_logic_vector(39 downto 0);
    c   : out std_logic_vector(7 downto 0);
    w   : out std_logic
  );
end entity;

architecture rtl of chosen is
  type state_t is (idle, one, two, three);
  signal state : state_t;
begin
  process (all)
  begin
    case s is
      when "00" => y <= not a;
      when "01" => y <= x"00000000FF";
      when others => y <= a;
    end case;
    case s is
      when "10" => z <= a;
      when "11" => z <= x"FF00000000";
      when others => z <= not a;
    end case;
  end process;

  with s select c <=
    a(7 downto 0) when "10",
    x"5A" when "11",
    x"A5" when others;

  process (clk)
  begin
    if rising_edge(clk) then
      w <= '0';
      case state is
        when idle =>
          if s = "01" then
            state <= one;
          end if;
        when one =>
          state <= two;
          w <= '1';
        when two =>
          state <= three;
        when others =>
          state <= idle;
          w <= a(0);
      end case;
      if rst = '1' then
        state <= idle;
        w <= '0';
      end if;
    end if;
  end process;
end architecture;
