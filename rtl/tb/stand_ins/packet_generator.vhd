-- A packet_generator that withholds a byte of each frame for a clock, which the block itself never does, so that the MAC
-- underruns.
--
-- Its count of bytes begins where the high word is not 0.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

library wirelab;

entity packet_generator is
  generic (
    COUNT_BITS : natural := 32
  );
  port (
    clk              : in  std_logic;
    rst              : in  std_logic;
    enable           : in  std_logic;
    payload_bytes    : in  std_logic_vector(13 downto 0);
    gap_cycles       : in  std_logic_vector(23 downto 0);
    frame_count      : in  std_logic_vector(31 downto 0);
    destination      : in  std_logic_vector(47 downto 0);
    source           : in  std_logic_vector(47 downto 0);
    udp_mode         : in  std_logic;
    ipv4_source      : in  std_logic_vector(31 downto 0);
    ipv4_destination : in  std_logic_vector(31 downto 0);
    udp_source       : in  std_logic_vector(15 downto 0);
    udp_destination  : in  std_logic_vector(15 downto 0);
    vlan_enable      : in  std_logic;
    vlan_tci         : in  std_logic_vector(15 downto 0);
    stream           : in  std_logic_vector(7 downto 0);
    time_valid       : in  std_logic;
    time_ns          : in  std_logic_vector(47 downto 0);
    fault_kind       : in  std_logic_vector(2 downto 0);
    fault_every      : in  std_logic_vector(31 downto 0);
    fault_interval   : in  std_logic_vector(30 downto 0);
    fault_once       : in  std_logic;
    fault_position   : in  std_logic_vector(16 downto 0);
    fault_cut        : in  std_logic_vector(13 downto 0);
    m_tdata          : out std_logic_vector(7 downto 0);
    m_tvalid         : out std_logic;
    m_tready         : in  std_logic;
    m_tlast          : out std_logic;
    m_tuser          : out std_logic;
    busy             : out std_logic;
    done             : out std_logic;
    config_error     : out std_logic;
    underrun         : out std_logic;
    overflow         : out std_logic;
    sent_frames      : out std_logic_vector(31 downto 0);
    sent_bytes       : out std_logic_vector(47 downto 0);
    used_sequences   : out std_logic_vector(31 downto 0);
    injected_faults  : out std_logic_vector(31 downto 0)
  );
end entity;

architecture stand_in of packet_generator is
  -- Bytes before the withheld one.
  constant AT : natural := 20;
  signal inner_valid, inner_ready, inner_last, inner_underrun : std_logic;
  signal inner_bytes : std_logic_vector(47 downto 0);
  signal given       : natural range 0 to AT + 1;
  signal withheld    : std_logic;
begin
  block_itself : entity wirelab.packet_generator
    generic map (COUNT_BITS => COUNT_BITS)
    port map (
      clk => clk, rst => rst, enable => enable, payload_bytes => payload_bytes, gap_cycles => gap_cycles,
      frame_count => frame_count, destination => destination, source => source, udp_mode => udp_mode,
      ipv4_source => ipv4_source, ipv4_destination => ipv4_destination, udp_source => udp_source,
      udp_destination => udp_destination, vlan_enable => vlan_enable, vlan_tci => vlan_tci, stream => stream,
      time_valid => time_valid, time_ns => time_ns, fault_kind => fault_kind, fault_every => fault_every,
      fault_interval => fault_interval, fault_once => fault_once, fault_position => fault_position,
      fault_cut => fault_cut, m_tdata => m_tdata, m_tvalid => inner_valid, m_tready => inner_ready,
      m_tlast => inner_last, m_tuser => m_tuser, busy => busy, done => done, config_error => config_error,
      underrun => inner_underrun, overflow => overflow, sent_frames => sent_frames, sent_bytes => inner_bytes,
      used_sequences => used_sequences, injected_faults => injected_faults
    );

  withheld    <= '1' when given = AT else '0';
  m_tvalid    <= inner_valid and not withheld;
  inner_ready <= m_tready and not withheld;
  m_tlast     <= inner_last;
  sent_bytes  <= std_logic_vector(unsigned(inner_bytes) + x"123400000000");

  withhold : process (clk)
  begin
    if rising_edge(clk) then
      if m_tready = '1' and withheld = '1' then
        given    <= AT + 1;
        underrun <= '1';
      elsif inner_valid = '1' and m_tready = '1' then
        if inner_last = '1' then
          given <= 0;
        elsif given < AT then
          given <= given + 1;
        end if;
      end if;
      if rst = '1' then
        given    <= 0;
        underrun <= '0';
      end if;
    end if;
  end process;
end architecture;
