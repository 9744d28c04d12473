-- Shares the memory of the reference node between the CPU's instructions, its data, and the DMA of the ring MAC.
--
-- A master keeps the memory from its request to its last answer, a whole burst. The next is the requester that had it least
-- recently. Arbitration takes no clock: an idle memory serves a request in its first clock.
library ieee;
use ieee.std_logic_1164.all;

entity ram_arbiter is
  generic (
    ADDRESS_BITS : natural := 10
  );
  port (
    clk          : in  std_logic;
    rst          : in  std_logic;
    -- Instructions are only read.
    code_request : in  std_logic;
    code_burst   : in  std_logic;
    code_address : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    code_answer  : out std_logic;
    data_request : in  std_logic;
    data_write   : in  std_logic;
    data_burst   : in  std_logic;
    data_address : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    data_wdata   : in  std_logic_vector(31 downto 0);
    data_bytes   : in  std_logic_vector(3 downto 0);
    data_answer  : out std_logic;
    dma_request  : in  std_logic;
    dma_write    : in  std_logic;
    dma_address  : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    dma_wdata    : in  std_logic_vector(31 downto 0);
    dma_bytes    : in  std_logic_vector(3 downto 0);
    dma_answer   : out std_logic;
    -- To the memory; its read data go to all masters.
    m_request    : out std_logic;
    m_write      : out std_logic;
    m_burst      : out std_logic;
    m_address    : out std_logic_vector(ADDRESS_BITS - 1 downto 0);
    m_wdata      : out std_logic_vector(31 downto 0);
    m_bytes      : out std_logic_vector(3 downto 0);
    m_answer     : in  std_logic
  );
end entity;

architecture rtl of ram_arbiter is
  type master_t is (nobody, code, data, dma);

  -- The current owner, and the two latest different owners: `older` had the memory before `newer`.
  signal owner, chosen, newer, older : master_t;
  signal burst : std_logic;
begin
  -- Least recently served first: the master that is neither newer nor older, then older, then newer.
  choose : process (all)
    variable asks_newer, asks_older : std_logic;

    function asks(master : master_t; by_code, by_data, by_dma : std_logic) return std_logic is
    begin
      case master is
        when code   => return by_code;
        when data   => return by_data;
        when dma    => return by_dma;
        when others => return '0';
      end case;
    end function;
  begin
    asks_newer := asks(newer, code_request, data_request, dma_request);
    asks_older := asks(older, code_request, data_request, dma_request);
    chosen     <= nobody;
    if owner /= nobody then
      chosen <= owner;
    elsif code_request = '1' and newer /= code and older /= code then
      chosen <= code;
    elsif data_request = '1' and newer /= data and older /= data then
      chosen <= data;
    elsif dma_request = '1' and newer /= dma and older /= dma then
      chosen <= dma;
    elsif asks_older = '1' then
      chosen <= older;
    elsif asks_newer = '1' then
      chosen <= newer;
    end if;
  end process;

  keep : process (clk)
  begin
    if rising_edge(clk) then
      owner <= chosen;
      -- The last answer of the access: the memory is free from the next clock on.
      if m_answer = '1' and burst = '0' then
        owner <= nobody;
        if owner /= newer then
          newer <= owner;
          older <= newer;
        end if;
      end if;
      if rst = '1' then
        owner <= nobody;
        newer <= nobody;
        older <= nobody;
      end if;
    end if;
  end process;

  route : process (all)
  begin
    m_request <= '0';
    m_write   <= data_write;
    burst     <= '0';
    m_address <= data_address;
    m_wdata   <= data_wdata;
    m_bytes   <= data_bytes;
    case chosen is
      when code =>
        m_request <= code_request;
        m_write   <= '0';
        burst     <= code_burst;
        m_address <= code_address;
      when data =>
        m_request <= data_request;
        burst     <= data_burst;
      when dma =>
        m_request <= dma_request;
        m_write   <= dma_write;
        m_address <= dma_address;
        m_wdata   <= dma_wdata;
        m_bytes   <= dma_bytes;
      when others => null;
    end case;
  end process;

  m_burst     <= burst;
  code_answer <= m_answer when owner = code else '0';
  data_answer <= m_answer when owner = data else '0';
  dma_answer  <= m_answer when owner = dma else '0';
end architecture;
