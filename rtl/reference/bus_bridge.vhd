-- The bus from the CPU to the slot MAC, as slow as it is strapped: single accesses, with writes posted or answered.
--
-- An access takes `reading` or `writing` clocks, two at least, and the next one begins the clock after. The block behind
-- the bridge is reached in the first of them. A read is answered in the last; so is a write, unless writes are posted:
-- then it is answered in its second clock, and only the access after it waits. docs/blocks/bus_bridge.md shows it.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity bus_bridge is
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    posted    : in  std_logic;
    reading   : in  std_logic_vector(7 downto 0);
    writing   : in  std_logic_vector(7 downto 0);
    -- A request holds until its answer, one clock.
    s_request : in  std_logic;
    s_write   : in  std_logic;
    s_answer  : out std_logic;
    -- One clock for each access: the block takes address and data from the CPU then.
    m_access  : out std_logic
  );
end entity;

architecture rtl of bus_bridge is
  signal answer, busy : std_logic;
  signal waits        : std_logic;
  -- Clocks until the last one of this access.
  signal left         : natural range 0 to 255;
  signal starts       : std_logic;
begin
  -- In the clock of its answer a request is still set.
  starts   <= s_request and not busy and not answer;
  m_access <= starts;
  s_answer <= answer;

  process (clk)
    variable clocks : natural range 0 to 255;
  begin
    if rising_edge(clk) then
      answer <= '0';
      clocks := to_integer(unsigned(reading));
      if s_write = '1' then
        clocks := to_integer(unsigned(writing));
      end if;
      if busy = '1' then
        left <= left - 1;
        if left = 1 then
          busy   <= '0';
          answer <= waits;
        end if;
      end if;
      if starts = '1' then
        if posted = '1' and s_write = '1' then
          answer <= '1';
          waits  <= '0';
          busy   <= '1';
          left   <= 1;
          if clocks > 2 then
            left <= clocks - 1;
          end if;
        elsif clocks > 2 then
          waits <= '1';
          busy  <= '1';
          left  <= clocks - 2;
        else
          answer <= '1';
        end if;
      end if;
      if rst = '1' then
        answer <= '0';
        busy   <= '0';
        waits  <= '0';
        left   <= 0;
      end if;
    end if;
  end process;
end architecture;
