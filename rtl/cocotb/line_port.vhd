-- Both halves of a port's MAC on AXI-Stream for the tests of cocotb, with the packet identifier behind the receiver, a capture
-- unit from the end of a received frame to the beginning of a sent one, and a rate meter on the sent stream.
library ieee;
use ieee.std_logic_1164.all;

entity line_port is
  port (
    clk, rst, ce : in std_logic;
    gap          : in std_logic_vector(7 downto 0);
    max_frame    : in std_logic_vector(13 downto 0);
    s_tdata      : in std_logic_vector(7 downto 0);
    s_tvalid     : in std_logic;
    s_tready     : out std_logic;
    s_tlast      : in std_logic;
    s_tuser      : in std_logic;
    gmii_txd     : out std_logic_vector(7 downto 0);
    gmii_tx_en   : out std_logic;
    gmii_tx_er   : out std_logic;
    sent         : out std_logic;
    underrun     : out std_logic;
    gmii_rxd     : in std_logic_vector(7 downto 0);
    gmii_rx_dv   : in std_logic;
    gmii_rx_er   : in std_logic;
    m_tdata      : out std_logic_vector(7 downto 0);
    m_tvalid     : out std_logic;
    m_tlast      : out std_logic;
    m_tuser      : out std_logic;
    bad_fcs      : out std_logic;
    rx_error     : out std_logic;
    runt         : out std_logic;
    oversize     : out std_logic;
    no_sfd       : out std_logic;
    too_short    : out std_logic;
    bad_preamble : out std_logic;
    own_mac      : in std_logic_vector(47 downto 0);
    own_address  : in std_logic_vector(127 downto 0);
    udp_port     : in std_logic_vector(15 downto 0);
    decided      : out std_logic;
    wanted       : out std_logic;
    result_valid : out std_logic;
    result       : out std_logic;
    read_next    : in std_logic;
    read_data    : out std_logic_vector(31 downto 0);
    level        : out std_logic_vector(9 downto 0);
    missed       : out std_logic_vector(31 downto 0);
    clear        : in std_logic;
    periods      : out std_logic_vector(31 downto 0);
    shortest     : out std_logic_vector(31 downto 0);
    longest      : out std_logic_vector(31 downto 0);
    total        : out std_logic_vector(47 downto 0)
  );
end entity;

architecture test of line_port is
  signal ready, valid, enable, silence : std_logic;
  signal tap_tdata : std_logic_vector(7 downto 0);
  signal tap_tvalid, tap_start, tap_end : std_logic;
begin
  s_tready   <= ready;
  gmii_tx_en <= enable;
  silence    <= not gmii_rx_dv;

  transmitter : entity work.mac_tx
    port map (clk, rst, ce, gap, s_tdata, s_tvalid, ready, s_tlast, s_tuser, gmii_txd, enable, gmii_tx_er, sent, underrun);

  receiver : entity work.mac_rx
    port map (clk, rst, ce, max_frame, gmii_rxd, gmii_rx_dv, gmii_rx_er, m_tdata, m_tvalid, m_tlast, m_tuser,
              bad_fcs, rx_error, runt, oversize, tap_tdata, tap_tvalid, tap_start, tap_end,
              no_sfd, too_short, bad_preamble);

  -- One rule: own address and UDP to one port.
  identifier : entity work.packet_identifier
    generic map (RULES => 1, PORTS => 1, ADDRESSES => 1)
    port map (clk => clk, rst => rst, tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start,
              tap_end => tap_end, own_mac => own_mac, address_enable => "1", own_addresses => own_address,
              rule_enable => "1", rule_asks_own => "1", rule_asks_type => "0", rule_asks_protocol => "0",
              rule_asks_priority => "0", rule_asks_port => "1", rule_type => x"0000", rule_protocol => x"00",
              rule_priority => "000", udp_ports => udp_port, udp_port_masks => x"FFFF", decided => decided,
              wanted => wanted, result_valid => result_valid, result_wanted => result, result_rules => open);

  capture : entity work.capture_unit
    port map (clk => clk, rst => rst, enable => '1', clear => clear, start => silence, stop => enable,
              read_data => read_data, read_next => read_next, level => level, busy => open, missed => missed,
              overflow => open, saturated => open);

  rate : entity work.rate_meter
    port map (clk => clk, rst => rst, tick => '1', enable => '1', clear => clear, line_mode => '0', at_last => '1',
              probe_tvalid => s_tvalid, probe_tready => ready, probe_tlast => s_tlast, periods => periods,
              last_period => open, shortest => shortest, longest => longest, total => total, overflow => open);
end architecture;
