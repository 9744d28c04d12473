-- The packet identifier of the reference node with its registers: which frames on line 0 an application wants at once.
--
-- Registers are those of a port (rtl/registers/ethernet_port.rdl); docs/blocks/packet_identifier.md explains the rules.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity node_identifier is
  generic (
    -- Width of a count; a bench sets less than 32 to see it overflow.
    COUNT_BITS : natural := 32
  );
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
    -- The tap of mac_rx, and the identifier's results.
    tap_tdata     : in  std_logic_vector(7 downto 0);
    tap_tvalid    : in  std_logic;
    tap_start     : in  std_logic;
    tap_end       : in  std_logic;
    wanted        : out std_logic;
    result_valid  : out std_logic;
    result_wanted : out std_logic;
    result_rules  : out std_logic_vector(3 downto 0);
    -- Registers: s_access for one clock; s_rdata holds the word from the next clock on.
    s_access      : in  std_logic;
    s_write       : in  std_logic;
    s_address     : in  std_logic_vector(13 downto 0);
    s_wdata       : in  std_logic_vector(31 downto 0);
    s_rdata       : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of node_identifier is
  constant RULES     : natural := 4;
  constant UDP_PORTS : natural := 4;
  constant ADDRESSES : natural := 2;

  signal place          : natural range 0 to 2**14 - 1;
  -- The settings in the form of the identifier; a read assembles the words of the registers from them.
  signal own_mac        : std_logic_vector(47 downto 0);
  signal address_enable : std_logic_vector(ADDRESSES - 1 downto 0);
  signal own_addresses  : std_logic_vector(128 * ADDRESSES - 1 downto 0);
  signal rule_enable, rule_own, rule_typed, rule_protocolled, rule_ordered : std_logic_vector(RULES - 1 downto 0);
  signal rule_ports     : std_logic_vector(RULES * UDP_PORTS - 1 downto 0);
  signal rule_type      : std_logic_vector(16 * RULES - 1 downto 0);
  signal rule_protocol  : std_logic_vector(8 * RULES - 1 downto 0);
  signal rule_priority  : std_logic_vector(3 * RULES - 1 downto 0);
  signal ports, masks   : std_logic_vector(16 * UDP_PORTS - 1 downto 0);
  signal ended, is_wanted : std_logic;
  signal hits           : std_logic_vector(RULES - 1 downto 0);
  signal clear, counters_rst : std_logic;
  signal events, overflow : std_logic_vector(1 downto 0);
  signal counts         : std_logic_vector(63 downto 0);
begin
  place         <= to_integer(unsigned(s_address));
  result_valid  <= ended;
  result_wanted <= is_wanted;
  result_rules  <= hits;

  unit : entity work.packet_identifier
    generic map (RULES => RULES, PORTS => UDP_PORTS, ADDRESSES => ADDRESSES)
    port map (
      clk => clk, rst => rst,
      tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start, tap_end => tap_end,
      own_mac => own_mac, address_enable => address_enable, own_addresses => own_addresses,
      rule_enable => rule_enable, rule_asks_own => rule_own, rule_asks_type => rule_typed,
      rule_asks_protocol => rule_protocolled, rule_asks_priority => rule_ordered, rule_asks_port => rule_ports,
      rule_type => rule_type, rule_protocol => rule_protocol, rule_priority => rule_priority,
      udp_ports => ports, udp_port_masks => masks,
      decided => open, wanted => wanted,
      result_valid => ended, result_wanted => is_wanted, result_rules => hits
    );

  events       <= (ended and is_wanted) & ended;
  counters_rst <= rst or clear;

  counters : entity work.event_counters
    generic map (COUNTERS => 2, BITS => COUNT_BITS)
    port map (clk => clk, rst => counters_rst, events => events, counts => counts, overflow => overflow);

  process (clk)
  begin
    if rising_edge(clk) then
      clear <= '0';
      if s_access = '1' and s_write = '1' then
        case place is
          when IDENTIFIER_OWN / 4            => own_mac(31 downto 0) <= s_wdata;
          when IDENTIFIER_OWN / 4 + 1        => own_mac(47 downto 32) <= s_wdata(15 downto 0);
          when IDENTIFIER_ADDRESS_ENABLE / 4 => address_enable <= s_wdata(ADDRESSES - 1 downto 0);
          when IDENTIFIER_CONTROL / 4        => clear <= s_wdata(0);
          when others => null;
        end case;
        for number in 0 to 4 * ADDRESSES - 1 loop
          if place = IDENTIFIER_ADDRESS0_WORD0 / 4 + number then
            own_addresses(32 * number + 31 downto 32 * number) <= s_wdata;
          end if;
        end loop;
        for rule in 0 to RULES - 1 loop
          if place = IDENTIFIER_RULE0_WHAT / 4 + 2 * rule then
            rule_enable(rule)      <= s_wdata(IDENTIFIER_RULE0_WHAT_ENABLE);
            rule_own(rule)         <= s_wdata(IDENTIFIER_RULE0_WHAT_ASKS_OWN);
            rule_typed(rule)       <= s_wdata(IDENTIFIER_RULE0_WHAT_ASKS_TYPE);
            rule_protocolled(rule) <= s_wdata(IDENTIFIER_RULE0_WHAT_ASKS_PROTOCOL);
            rule_ordered(rule)     <= s_wdata(IDENTIFIER_RULE0_WHAT_ASKS_PRIORITY);
            rule_priority(3 * rule + 2 downto 3 * rule) <= s_wdata(IDENTIFIER_RULE0_WHAT_PRIORITY);
            rule_ports(UDP_PORTS * rule + UDP_PORTS - 1 downto UDP_PORTS * rule) <= s_wdata(IDENTIFIER_RULE0_WHAT_PORTS);
          end if;
          if place = IDENTIFIER_RULE0_VALUES / 4 + 2 * rule then
            rule_type(16 * rule + 15 downto 16 * rule)  <= s_wdata(IDENTIFIER_RULE0_VALUES_ETHERTYPE);
            rule_protocol(8 * rule + 7 downto 8 * rule) <= s_wdata(IDENTIFIER_RULE0_VALUES_PROTOCOL);
          end if;
        end loop;
        for number in 0 to UDP_PORTS - 1 loop
          if place = IDENTIFIER_UDP_PORT0 / 4 + number then
            ports(16 * number + 15 downto 16 * number) <= s_wdata(IDENTIFIER_UDP_PORT0_PORT_NUMBER);
            masks(16 * number + 15 downto 16 * number) <= s_wdata(IDENTIFIER_UDP_PORT0_MASK);
          end if;
        end loop;
      end if;

      if s_access = '1' and s_write = '0' then
        s_rdata <= (others => '0');
        case place is
          when IDENTIFIER_OWN / 4            => s_rdata <= own_mac(31 downto 0);
          when IDENTIFIER_OWN / 4 + 1        => s_rdata(15 downto 0) <= own_mac(47 downto 32);
          when IDENTIFIER_ADDRESS_ENABLE / 4 => s_rdata(ADDRESSES - 1 downto 0) <= address_enable;
          when IDENTIFIER_STATUS / 4 =>
            s_rdata(IDENTIFIER_STATUS_WANTED) <= is_wanted;
            s_rdata(IDENTIFIER_STATUS_RULES)  <= hits;
          when IDENTIFIER_FRAMES / 4   => s_rdata <= counts(31 downto 0);
          when IDENTIFIER_WANTED / 4   => s_rdata <= counts(63 downto 32);
          when IDENTIFIER_OVERFLOW / 4 => s_rdata(1 downto 0) <= overflow;
          when others => null;
        end case;
        for number in 0 to 4 * ADDRESSES - 1 loop
          if place = IDENTIFIER_ADDRESS0_WORD0 / 4 + number then
            s_rdata <= own_addresses(32 * number + 31 downto 32 * number);
          end if;
        end loop;
        for rule in 0 to RULES - 1 loop
          if place = IDENTIFIER_RULE0_WHAT / 4 + 2 * rule then
            s_rdata(IDENTIFIER_RULE0_WHAT_ENABLE)        <= rule_enable(rule);
            s_rdata(IDENTIFIER_RULE0_WHAT_ASKS_OWN)      <= rule_own(rule);
            s_rdata(IDENTIFIER_RULE0_WHAT_ASKS_TYPE)     <= rule_typed(rule);
            s_rdata(IDENTIFIER_RULE0_WHAT_ASKS_PROTOCOL) <= rule_protocolled(rule);
            s_rdata(IDENTIFIER_RULE0_WHAT_ASKS_PRIORITY) <= rule_ordered(rule);
            s_rdata(IDENTIFIER_RULE0_WHAT_PRIORITY)      <= rule_priority(3 * rule + 2 downto 3 * rule);
            s_rdata(IDENTIFIER_RULE0_WHAT_PORTS)
              <= rule_ports(UDP_PORTS * rule + UDP_PORTS - 1 downto UDP_PORTS * rule);
          end if;
          if place = IDENTIFIER_RULE0_VALUES / 4 + 2 * rule then
            s_rdata(IDENTIFIER_RULE0_VALUES_ETHERTYPE) <= rule_type(16 * rule + 15 downto 16 * rule);
            s_rdata(IDENTIFIER_RULE0_VALUES_PROTOCOL)  <= rule_protocol(8 * rule + 7 downto 8 * rule);
          end if;
        end loop;
        for number in 0 to UDP_PORTS - 1 loop
          if place = IDENTIFIER_UDP_PORT0 / 4 + number then
            s_rdata(IDENTIFIER_UDP_PORT0_PORT_NUMBER) <= ports(16 * number + 15 downto 16 * number);
            s_rdata(IDENTIFIER_UDP_PORT0_MASK)        <= masks(16 * number + 15 downto 16 * number);
          end if;
        end loop;
      end if;
      if rst = '1' then
        own_mac          <= (others => '0');
        address_enable   <= (others => '0');
        own_addresses    <= (others => '0');
        rule_enable      <= (others => '0');
        rule_own         <= (others => '0');
        rule_typed       <= (others => '0');
        rule_protocolled <= (others => '0');
        rule_ordered     <= (others => '0');
        rule_ports       <= (others => '0');
        rule_type        <= (others => '0');
        rule_protocol    <= (others => '0');
        rule_priority    <= (others => '0');
        ports            <= (others => '0');
        masks            <= (others => '1');
        clear            <= '0';
        s_rdata          <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
