-- Decodes the CPU's data accesses: to the memory, at its own address and again uncached, or to a block with registers.
--
-- A block gets `access` for one clock and holds its word from the next clock until its next access. Slower blocks, the bridge
-- to the slot MAC and port 1, answer themselves. Where nothing is, or an access is refused, a read gives 0, a write does
-- nothing, and the first such address is kept.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity address_decoder is
  generic (
    RAM_BITS : natural := 10
  );
  port (
    clk             : in  std_logic;
    rst             : in  std_logic;
    -- The CPU's data bus; the address is that of a word.
    s_request       : in  std_logic;
    s_address       : in  std_logic_vector(29 downto 0);
    s_answer        : out std_logic;
    s_rdata         : out std_logic_vector(31 downto 0);
    -- The first refused access since the reset.
    fault           : out std_logic;
    fault_address   : out std_logic_vector(29 downto 0);
    ram_request     : out std_logic;
    ram_answer      : in  std_logic;
    ram_rdata       : in  std_logic_vector(31 downto 0);
    system_access   : out std_logic;
    system_rdata    : in  std_logic_vector(31 downto 0);
    slot_request    : out std_logic;
    slot_answer     : in  std_logic;
    slot_rdata      : in  std_logic_vector(31 downto 0);
    ring_access     : out std_logic;
    ring_rdata      : in  std_logic_vector(31 downto 0);
    capture_access  : out std_logic;
    capture_rdata   : in  std_logic_vector(31 downto 0);
    identifier_access : out std_logic;
    identifier_rdata  : in  std_logic_vector(31 downto 0);
    port_1_request  : out std_logic;
    port_1_answer   : in  std_logic;
    port_1_refused  : in  std_logic;
    port_1_rdata    : in  std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of address_decoder is
  type target_t is (nothing, ram, system, slot, ring, capture, identifier, port_1);

  signal target      : target_t;
  -- The second clock of an access that takes two.
  signal second      : std_logic;
  signal first       : std_logic;
  signal refused     : std_logic;
  signal fault_seen  : std_logic;
begin
  decode : process (all)
    variable region : std_logic_vector(3 downto 0);
    variable block_number : std_logic_vector(11 downto 0);
  begin
    region       := s_address(29 downto 26);
    block_number := s_address(25 downto 14);
    target       <= nothing;
    if region = x"0" or region = x"C" then
      if unsigned(s_address(25 downto RAM_BITS)) = 0 then
        target <= ram;
      end if;
    elsif region = x"8" then
      case block_number is
        when x"000" => target <= system;
        when x"001" => target <= slot;
        when x"002" => target <= ring;
        when x"003" => target <= capture;
        when x"004" => target <= identifier;
        when x"010" => target <= port_1;
        when others => null;
      end case;
    end if;
  end process;

  first             <= s_request and not second;
  system_access     <= first when target = system else '0';
  ring_access       <= first when target = ring else '0';
  capture_access    <= first when target = capture else '0';
  identifier_access <= first when target = identifier else '0';
  ram_request       <= s_request when target = ram else '0';
  slot_request      <= s_request when target = slot else '0';
  port_1_request    <= s_request when target = port_1 else '0';

  answers : process (all)
  begin
    s_answer <= second;
    refused  <= '0';
    s_rdata  <= ram_rdata;
    case target is
      when ram  => s_answer <= ram_answer;
      when slot =>
        s_answer <= slot_answer;
        s_rdata  <= slot_rdata;
      when port_1 =>
        s_answer <= port_1_answer;
        refused  <= port_1_refused;
        s_rdata  <= port_1_rdata;
      when system     => s_rdata <= system_rdata;
      when ring       => s_rdata <= ring_rdata;
      when capture    => s_rdata <= capture_rdata;
      when identifier => s_rdata <= identifier_rdata;
      when others =>
        refused  <= second;
        s_rdata  <= (others => '0');
    end case;
  end process;

  fault     <= fault_seen;

  process (clk)
  begin
    if rising_edge(clk) then
      second <= first;
      if target = ram or target = slot or target = port_1 then
        second <= '0';
      end if;
      if refused = '1' and fault_seen = '0' then
        fault_seen    <= '1';
        fault_address <= s_address;
      end if;
      if rst = '1' then
        second        <= '0';
        fault_seen    <= '0';
        fault_address <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
