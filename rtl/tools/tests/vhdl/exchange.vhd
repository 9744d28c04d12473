-- Cases for folding: registers that exchange their values, a wide one that is read in parts, nested choices (a later one tests
-- the same value again with more arms), and a memory.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity exchange is
  port (
    clk   : in std_logic;
    rst   : in std_logic;
    go    : in std_logic;
    turn  : in std_logic;
    which : in std_logic_vector(1 downto 0);
    value : in std_logic_vector(31 downto 0);
    one   : out std_logic_vector(31 downto 0);
    other : out std_logic_vector(31 downto 0);
    low   : out std_logic_vector(7 downto 0);
    high  : out std_logic_vector(31 downto 0);
    count : out std_logic_vector(31 downto 0);
    kept  : out std_logic_vector(31 downto 0);
    found : out std_logic
  );
end entity;

architecture rtl of exchange is
  type state_t is (idle, left, right, both);
  type memory_t is array (0 to 15) of std_logic_vector(31 downto 0);

  signal state  : state_t;
  signal wide   : std_logic_vector(79 downto 0);
  signal total  : unsigned(31 downto 0);
  signal memory : memory_t;
begin
  low   <= wide(7 downto 0);
  high  <= wide(79 downto 48);
  count <= std_logic_vector(total);

  process (clk)
  begin
    if rising_edge(clk) then
      found <= '0';
      if go = '1' then
        one   <= other;
        other <= one;
        wide  <= wide(47 downto 0) & value;
        case state is
          when idle  => state <= left;
          when left  => total <= total + unsigned(value);
                        state <= right;
          when right => total <= total - unsigned(one);
                        state <= both;
          when others =>
            if turn = '1' and which = "10" then
              found <= '1';
              state <= idle;
            end if;
        end case;
      elsif turn = '1' then
        case which is
          when "00"   => one <= value;
          when "01"   => other <= value;
          when others => total <= total + 1;
        end case;
        case which is
          when "00"   => wide(79 downto 72) <= value(7 downto 0);
          when "10"   => wide(71 downto 0) <= value & value & value(7 downto 0);
          when "11"   => wide <= (others => '1');
          when others => null;
        end case;
      end if;
      if rst = '1' then
        state <= idle;
        one   <= (others => '0');
        other <= x"00000001";
        wide  <= (others => '0');
        total <= (others => '0');
        found <= '0';
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      if go = '1' and turn = '0' then
        memory(to_integer(total(3 downto 0))) <= value;
      end if;
      kept <= memory(to_integer(unsigned(value(3 downto 0))));
    end if;
  end process;
end architecture;
