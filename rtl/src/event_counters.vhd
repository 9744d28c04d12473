-- Counters of 32 bits with an overflow bit each: an event bit adds one to its counter; the overflow bit of a counter that
-- wrapped stays set until the reset.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity event_counters is
  generic (
    COUNTERS : natural := 1;
    -- Width of a counter, up to 32; the upper bits are 0. A bench sets less to see it overflow.
    BITS     : natural := 32
  );
  port (
    clk      : in  std_logic;
    rst      : in  std_logic;
    events   : in  std_logic_vector(COUNTERS - 1 downto 0);
    counts   : out std_logic_vector(32 * COUNTERS - 1 downto 0);
    overflow : out std_logic_vector(COUNTERS - 1 downto 0)
  );
end entity;

architecture rtl of event_counters is
  type counts_t is array (COUNTERS - 1 downto 0) of unsigned(BITS - 1 downto 0);
  signal count      : counts_t;
  signal overflowed : std_logic_vector(COUNTERS - 1 downto 0);
begin
  overflow <= overflowed;

  flat : for i in count'range generate
    counts(32 * i + 31 downto 32 * i) <= std_logic_vector(resize(count(i), 32));
  end generate;

  process (clk)
    variable sum : unsigned(BITS downto 0);
  begin
    if rising_edge(clk) then
      if rst = '1' then
        count <= (others => (others => '0'));
        overflowed <= (others => '0');
      else
        for i in count'range loop
          if events(i) = '1' then
            sum := ('0' & count(i)) + 1;
            count(i) <= sum(BITS - 1 downto 0);
            overflowed(i) <= overflowed(i) or sum(BITS);
          end if;
        end loop;
      end if;
    end if;
  end process;
end architecture;
