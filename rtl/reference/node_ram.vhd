-- The memory of the reference node: one port of words, bursts of a word a clock, loaded from outside before the start.
--
-- A read is answered one clock after its request, and with s_burst each clock after that has the next word. A write is
-- answered one clock later, too. docs/reference-node.md describes it.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity node_ram is
  generic (
    -- The memory has 2**ADDRESS_BITS words.
    ADDRESS_BITS : natural := 10
  );
  port (
    clk          : in  std_logic;
    rst          : in  std_logic;
    -- The loader, used during the reset.
    load_enable  : in  std_logic;
    load_address : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    load_data    : in  std_logic_vector(31 downto 0);
    -- A request holds until its answer; in a burst the address advances with each answer.
    s_request    : in  std_logic;
    s_write      : in  std_logic;
    s_burst      : in  std_logic;
    s_address    : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    s_wdata      : in  std_logic_vector(31 downto 0);
    s_bytes      : in  std_logic_vector(3 downto 0);
    s_answer     : out std_logic;
    s_rdata      : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of node_ram is
  signal answer      : std_logic;
  signal read_at     : unsigned(ADDRESS_BITS - 1 downto 0);
  signal write_at    : unsigned(ADDRESS_BITS - 1 downto 0);
  signal write_word  : std_logic_vector(31 downto 0);
  signal write_bytes : std_logic_vector(3 downto 0);
begin
  s_answer <= answer;
  read_at  <= unsigned(s_address) + 1 when answer = '1' else unsigned(s_address);

  write_at   <= unsigned(load_address) when load_enable = '1' else unsigned(s_address);
  write_word <= load_data when load_enable = '1' else s_wdata;
  write_bytes <= "1111" when load_enable = '1' else
                 s_bytes when s_request = '1' and s_write = '1' and answer = '0' and rst = '0' else
                 "0000";

  process (clk)
  begin
    if rising_edge(clk) then
      answer <= s_request and (not answer or (s_burst and not s_write));
      if rst = '1' then
        answer <= '0';
      end if;
    end if;
  end process;

  -- A memory for each byte, as block RAM has them.
  lanes : for lane in 0 to 3 generate
    type memory_t is array (0 to 2**ADDRESS_BITS - 1) of std_logic_vector(7 downto 0);
    signal memory : memory_t;
  begin
    process (clk)
    begin
      if rising_edge(clk) then
        if write_bytes(lane) = '1' then
          memory(to_integer(write_at)) <= write_word(8 * lane + 7 downto 8 * lane);
        end if;
        s_rdata(8 * lane + 7 downto 8 * lane) <= memory(to_integer(read_at));
      end if;
    end process;
  end generate;
end architecture;
