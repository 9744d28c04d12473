-- A complete port: generator and MAC towards the line; MAC, checker, packet identifier, capture unit and rate meter from it;
-- all settings and counts in registers behind AXI4-Lite.
--
-- The registers are generated from rtl/registers/ethernet_port.rdl. The line is GMII with byte enables: at 1 Gbit/s both stay
-- at 1; mii_tx and mii_rx drive them at 10 and 100 Mbit/s. docs/blocks/ethernet_port.md has the ports and registers.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.ethernet_port_registers_pkg.all;

entity ethernet_port is
  generic (
    -- Width of the counts of MAC, generator, checker and identifier, up to 32; a bench sets less to see them overflow.
    COUNT_BITS      : natural := 32;
    -- true: the port has its own start_words; false: two ports share one outside.
    OWN_START_WORDS : boolean := true;
    -- Not 0 only in a bench: the time reaches this high word 256 ns after the reset.
    HIGH_TIME       : natural := 0
  );
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    -- The line.
    tx_ce          : in  std_logic;
    gmii_txd       : out std_logic_vector(7 downto 0);
    gmii_tx_en     : out std_logic;
    gmii_tx_er     : out std_logic;
    rx_ce          : in  std_logic;
    gmii_rxd       : in  std_logic_vector(7 downto 0);
    gmii_rx_dv     : in  std_logic;
    gmii_rx_er     : in  std_logic;
    -- The identifier's decision on the arriving frame, and its result for the last one (packet_identifier).
    decided        : out std_logic;
    wanted         : out std_logic;
    result_valid   : out std_logic;
    result_wanted  : out std_logic;
    -- To one side of a shared start_words; with OWN_START_WORDS, `word` is ignored.
    word_request   : out std_logic;
    word_number    : out std_logic_vector(11 downto 0);
    word           : in  std_logic_vector(31 downto 0);
    -- The registers.
    s_axil_awvalid : in  std_logic;
    s_axil_awready : out std_logic;
    s_axil_awaddr  : in  std_logic_vector(10 downto 0);
    s_axil_awprot  : in  std_logic_vector(2 downto 0);
    s_axil_wvalid  : in  std_logic;
    s_axil_wready  : out std_logic;
    s_axil_wdata   : in  std_logic_vector(31 downto 0);
    s_axil_wstrb   : in  std_logic_vector(3 downto 0);
    s_axil_bvalid  : out std_logic;
    s_axil_bready  : in  std_logic;
    s_axil_bresp   : out std_logic_vector(1 downto 0);
    s_axil_arvalid : in  std_logic;
    s_axil_arready : out std_logic;
    s_axil_araddr  : in  std_logic_vector(10 downto 0);
    s_axil_arprot  : in  std_logic_vector(2 downto 0);
    s_axil_rvalid  : out std_logic;
    s_axil_rready  : in  std_logic;
    s_axil_rdata   : out std_logic_vector(31 downto 0);
    s_axil_rresp   : out std_logic_vector(1 downto 0)
  );
end entity;

architecture rtl of ethernet_port is
  constant RULES     : natural := 4;
  constant UDP_PORTS : natural := 4;
  constant ADDRESSES : natural := 2;

  signal seen : ethernet_port_registers_in_t;
  signal set  : ethernet_port_registers_out_t;

  -- One access at a time, so the register block never stalls.
  signal register_request, register_is_write              : std_logic;
  signal register_address                                 : std_logic_vector(10 downto 0);
  signal register_write_data, register_write_bits         : std_logic_vector(31 downto 0);
  signal register_read_done, register_read_error          : std_logic;
  signal register_read_data                               : std_logic_vector(31 downto 0);
  signal register_write_done, register_write_error        : std_logic;

  constant FIRST_TIME : unsigned(47 downto 0) := shift_left(to_unsigned(HIGH_TIME, 48), 32) - 256 * boolean'pos(HIGH_TIME > 0);
  signal time_ns      : unsigned(47 downto 0);

  -- Generator to MAC, and MAC to the receiving blocks.
  signal out_tdata                      : std_logic_vector(7 downto 0);
  signal out_tvalid, out_tready         : std_logic;
  signal out_tlast, out_tuser           : std_logic;
  signal in_tdata                       : std_logic_vector(7 downto 0);
  signal in_tvalid, in_tlast, in_tuser  : std_logic;
  signal in_bad_fcs, in_rx_error        : std_logic;
  signal in_runt, in_oversize           : std_logic;
  signal tap_tdata                      : std_logic_vector(7 downto 0);
  signal tap_tvalid, tap_start, tap_end : std_logic;
  signal line_tx_en                     : std_logic;

  -- The MAC's events, one clock each, and its counts.
  signal sent, underrun, no_sfd, too_short, bad_preamble : std_logic;
  signal mac_rst                                         : std_logic;
  signal mac_events                                      : std_logic_vector(9 downto 0);
  signal mac_counts                                      : std_logic_vector(319 downto 0);

  signal start_word : std_logic_vector(31 downto 0);

  -- The identifier's settings, side by side.
  signal own_addresses                                                     : std_logic_vector(128 * ADDRESSES - 1 downto 0);
  signal rule_enable, rule_own, rule_typed, rule_protocolled, rule_ordered : std_logic_vector(RULES - 1 downto 0);
  signal rule_ports                                                        : std_logic_vector(RULES * UDP_PORTS - 1 downto 0);
  signal rule_type                                                         : std_logic_vector(16 * RULES - 1 downto 0);
  signal rule_protocol                                                     : std_logic_vector(8 * RULES - 1 downto 0);
  signal rule_priority                                                     : std_logic_vector(3 * RULES - 1 downto 0);
  signal ports, masks                                                      : std_logic_vector(16 * UDP_PORTS - 1 downto 0);
  signal identifier_rst                                                    : std_logic;
  signal identifier_events                                                 : std_logic_vector(1 downto 0);
  signal identifier_counts                                                 : std_logic_vector(63 downto 0);
  signal found_wanted                                                      : std_logic;
  signal found_rules                                                       : std_logic_vector(RULES - 1 downto 0);

  signal capture_start, capture_stop : std_logic;
  signal oldest                      : std_logic_vector(31 downto 0);
  signal oldest_taken                : std_logic;
  signal slow_step                   : natural range 0 to 4;
  signal tick                        : std_logic;
  signal probe_tvalid, probe_tready  : std_logic;
  signal probe_tlast                 : std_logic;

  -- The signal that a value of edge_t (in the registers) selects.
  function chosen(which : std_logic_vector(2 downto 0); software, rx_dv, tx_en, is_wanted : std_logic) return std_logic is
  begin
    case which is
      when "000" => return software;
      when "001" => return rx_dv;
      when "010" => return not rx_dv;
      when "011" => return tx_en;
      when "100" => return is_wanted;
      when others => return '0';
    end case;
  end function;
begin
  access_to_registers : entity work.register_access
    generic map (ADDRESS_BITS => 11)
    port map (
      clk => clk, rst => rst,
      s_axil_awvalid => s_axil_awvalid, s_axil_awready => s_axil_awready, s_axil_awaddr => s_axil_awaddr,
      s_axil_awprot => s_axil_awprot, s_axil_wvalid => s_axil_wvalid, s_axil_wready => s_axil_wready,
      s_axil_wdata => s_axil_wdata, s_axil_wstrb => s_axil_wstrb, s_axil_bvalid => s_axil_bvalid,
      s_axil_bready => s_axil_bready, s_axil_bresp => s_axil_bresp, s_axil_arvalid => s_axil_arvalid,
      s_axil_arready => s_axil_arready, s_axil_araddr => s_axil_araddr, s_axil_arprot => s_axil_arprot,
      s_axil_rvalid => s_axil_rvalid, s_axil_rready => s_axil_rready, s_axil_rdata => s_axil_rdata,
      s_axil_rresp => s_axil_rresp,
      request => register_request, is_write => register_is_write, address => register_address,
      write_data => register_write_data, write_bits => register_write_bits,
      read_done => register_read_done, read_error => register_read_error, read_data => register_read_data,
      write_done => register_write_done, write_error => register_write_error
    );

  registers : entity work.ethernet_port_registers
    port map (
      clk => clk, rst => rst, hwif_in => seen, hwif_out => set,
      s_cpuif_req => register_request, s_cpuif_req_is_wr => register_is_write, s_cpuif_addr => register_address,
      s_cpuif_wr_data => register_write_data, s_cpuif_wr_biten => register_write_bits,
      s_cpuif_req_stall_wr => open, s_cpuif_req_stall_rd => open,
      s_cpuif_rd_ack => register_read_done, s_cpuif_rd_err => register_read_error, s_cpuif_rd_data => register_read_data,
      s_cpuif_wr_ack => register_write_done, s_cpuif_wr_err => register_write_error
    );

  timekeeper : process (clk)
  begin
    if rising_edge(clk) then
      time_ns <= time_ns + unsigned(set.clock.step.value.value);
      if rst = '1' or set.clock.control.clear.value = '1' then
        time_ns <= FIRST_TIME;
      end if;
    end if;
  end process;

  seen.clock.now.value.next_q <= std_logic_vector(time_ns);

  generator : entity work.packet_generator
    generic map (COUNT_BITS => COUNT_BITS)
    port map (
      clk => clk, rst => rst,
      enable => set.generator.control.enable.value,
      payload_bytes => set.generator.payload_bytes.value.value,
      gap_cycles => set.generator.gap_cycles.value.value,
      frame_count => set.generator.frame_count.value.value,
      destination => set.generator.destination.high.value & set.generator.destination.low.value,
      source => set.generator.source.high.value & set.generator.source.low.value,
      udp_mode => set.generator.control.udp_mode.value,
      ipv4_source => set.generator.ipv4_source.value.value,
      ipv4_destination => set.generator.ipv4_destination.value.value,
      udp_source => set.generator.udp_ports.source.value,
      udp_destination => set.generator.udp_ports.destination.value,
      vlan_enable => set.generator.control.vlan_enable.value,
      vlan_tci => set.generator.flow.vlan_tci.value,
      stream => set.generator.flow.stream.value,
      time_valid => set.generator.control.time_valid.value,
      time_ns => std_logic_vector(time_ns),
      fault_kind => set.generator.control.fault_kind.value,
      fault_every => set.generator.fault_every.value.value,
      fault_interval => set.generator.fault_interval.value.value,
      fault_once => set.generator.control.fault_once.value,
      fault_position => set.generator.fault_position.value.value,
      fault_cut => set.generator.fault_cut.value.value,
      m_tdata => out_tdata, m_tvalid => out_tvalid, m_tready => out_tready, m_tlast => out_tlast, m_tuser => out_tuser,
      busy => seen.generator.status.busy.next_q,
      done => seen.generator.status.finished.next_q,
      config_error => seen.generator.status.config_error.next_q,
      underrun => seen.generator.status.underrun.next_q,
      overflow => seen.generator.status.overflow.next_q,
      sent_frames => seen.generator.sent_frames.value.next_q,
      sent_bytes => seen.generator.sent_bytes.value.next_q,
      used_sequences => seen.generator.used_sequences.value.next_q,
      injected_faults => seen.generator.injected_faults.value.next_q
    );

  transmitter : entity work.mac_tx
    port map (
      clk => clk, rst => rst, ce => tx_ce, gap => set.mac.gap.value.value,
      s_tdata => out_tdata, s_tvalid => out_tvalid, s_tready => out_tready, s_tlast => out_tlast, s_tuser => out_tuser,
      gmii_txd => gmii_txd, gmii_tx_en => line_tx_en, gmii_tx_er => gmii_tx_er, sent => sent, underrun => underrun
    );

  gmii_tx_en <= line_tx_en;

  receiver : entity work.mac_rx
    port map (
      clk => clk, rst => rst, ce => rx_ce, max_frame => set.mac.max_frame.value.value,
      gmii_rxd => gmii_rxd, gmii_rx_dv => gmii_rx_dv, gmii_rx_er => gmii_rx_er,
      m_tdata => in_tdata, m_tvalid => in_tvalid, m_tlast => in_tlast, m_tuser => in_tuser, m_bad_fcs => in_bad_fcs,
      m_rx_error => in_rx_error, m_runt => in_runt, m_oversize => in_oversize,
      tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start, tap_end => tap_end,
      no_sfd => no_sfd, too_short => too_short, bad_preamble => bad_preamble
    );

  mac_rst <= rst or set.mac.control.clear.value;

  counting : process (clk)
    variable ended : std_logic;
  begin
    if rising_edge(clk) then
      ended := in_tvalid and in_tlast;
      mac_events <= bad_preamble & too_short & no_sfd & (ended and in_oversize) & (ended and in_runt)
        & (ended and in_rx_error) & (ended and in_bad_fcs) & ended & underrun & sent;
      if rst = '1' then
        mac_events <= (others => '0');
      end if;
    end if;
  end process;

  mac_counters : entity work.event_counters
    generic map (COUNTERS => 10, BITS => COUNT_BITS)
    port map (
      clk => clk, rst => mac_rst, events => mac_events, counts => mac_counts, overflow => seen.mac.overflow.value.next_q
    );

  seen.mac.sent.value.next_q          <= mac_counts(31 downto 0);
  seen.mac.underruns.value.next_q     <= mac_counts(63 downto 32);
  seen.mac.received.value.next_q      <= mac_counts(95 downto 64);
  seen.mac.bad_fcs.value.next_q       <= mac_counts(127 downto 96);
  seen.mac.rx_errors.value.next_q     <= mac_counts(159 downto 128);
  seen.mac.runts.value.next_q         <= mac_counts(191 downto 160);
  seen.mac.oversizes.value.next_q     <= mac_counts(223 downto 192);
  seen.mac.without_sfd.value.next_q   <= mac_counts(255 downto 224);
  seen.mac.too_short.value.next_q     <= mac_counts(287 downto 256);
  seen.mac.bad_preambles.value.next_q <= mac_counts(319 downto 288);

  words_here : if OWN_START_WORDS generate
    start_word_table : entity work.start_words
      port map (
        clk => clk, a_request => word_request, a_number => word_number, a_word => start_word,
        b_request => '0', b_number => (others => '0'), b_word => open
      );
  end generate;

  words_shared : if not OWN_START_WORDS generate
    start_word <= word;
  end generate;

  judge : entity work.packet_checker
    generic map (COUNT_BITS => COUNT_BITS)
    port map (
      clk => clk, rst => rst,
      enable => set.checker.control.enable.value,
      clear => set.checker.control.clear.value,
      ready => seen.checker.status.checking.next_q,
      source => set.checker.source.high.value & set.checker.source.low.value,
      source_known => set.checker.control.source_known.value,
      udp_port => set.checker.flow.udp_port.value,
      stream => set.checker.flow.stream.value,
      stream_known => set.checker.control.stream_known.value,
      slots => set.checker.slots.value.value,
      time_ns => std_logic_vector(time_ns),
      s_tdata => in_tdata, s_tvalid => in_tvalid, s_tlast => in_tlast, s_tuser => in_tuser, s_bad_fcs => in_bad_fcs,
      word_request => word_request, word_number => word_number, word => start_word,
      verdict_valid => open, verdict => open, verdict_sequence => open, verdict_start_word => open,
      good_frames => seen.checker.good.value.next_q,
      header_corrupt_frames => seen.checker.header_corrupt.value.next_q,
      truncated_frames => seen.checker.truncated.value.next_q,
      stale_frames => seen.checker.stale.value.next_q,
      corrupted_frames => seen.checker.corrupted.value.next_q,
      foreign_frames => seen.checker.foreign.value.next_q,
      distinct_sequences => seen.checker.distinct.value.next_q,
      duplicated_frames => seen.checker.duplicated.value.next_q,
      reordered_frames => seen.checker.reordered.value.next_q,
      too_late_frames => seen.checker.too_late.value.next_q,
      order_breaks => seen.checker.order_breaks.value.next_q,
      mixed_frames => seen.checker.mixed.value.next_q,
      bad_fcs_frames => seen.checker.bad_fcs.value.next_q,
      damaged_frames => seen.checker.damaged.value.next_q,
      lost_sequences => seen.checker.lost.value.next_q,
      next_sequence => seen.checker.next_sequence.value.next_q,
      verified_bytes => seen.checker.verified_bytes.value.next_q,
      time_valid => seen.checker.status.times.next_q,
      first_time => seen.checker.first_time.value.next_q,
      last_time => seen.checker.last_time.value.next_q,
      overflow => seen.checker.overflow.value.next_q,
      search_overrun => seen.checker.status.search_overrun.next_q
    );

  addresses_of : for address in 0 to ADDRESSES - 1 generate
    words_of : for number in 0 to 3 generate
      own_addresses(128 * address + 32 * number + 31 downto 128 * address + 32 * number)
        <= set.identifier.address(address).word(number).value.value;
    end generate;
  end generate;

  rules_of : for rule in 0 to RULES - 1 generate
    rule_enable(rule)                                                  <= set.identifier.rule(rule).what.enable.value;
    rule_own(rule)                                                     <= set.identifier.rule(rule).what.asks_own.value;
    rule_typed(rule)                                                   <= set.identifier.rule(rule).what.asks_type.value;
    rule_protocolled(rule)                                             <= set.identifier.rule(rule).what.asks_protocol.value;
    rule_ordered(rule)                                                 <= set.identifier.rule(rule).what.asks_priority.value;
    rule_ports(UDP_PORTS * rule + UDP_PORTS - 1 downto UDP_PORTS * rule) <= set.identifier.rule(rule).what.ports.value;
    rule_priority(3 * rule + 2 downto 3 * rule)                        <= set.identifier.rule(rule).what.priority.value;
    rule_type(16 * rule + 15 downto 16 * rule)                         <= set.identifier.rule(rule).values.ethertype.value;
    rule_protocol(8 * rule + 7 downto 8 * rule)                        <= set.identifier.rule(rule).values.protocol.value;
  end generate;

  ports_of : for number in 0 to UDP_PORTS - 1 generate
    ports(16 * number + 15 downto 16 * number) <= set.identifier.udp_port(number).port_number.value;
    masks(16 * number + 15 downto 16 * number) <= set.identifier.udp_port(number).mask.value;
  end generate;

  identifier : entity work.packet_identifier
    generic map (RULES => RULES, PORTS => UDP_PORTS, ADDRESSES => ADDRESSES)
    port map (
      clk => clk, rst => rst,
      tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start, tap_end => tap_end,
      own_mac => set.identifier.own.high.value & set.identifier.own.low.value,
      address_enable => set.identifier.address_enable.value.value, own_addresses => own_addresses,
      rule_enable => rule_enable, rule_asks_own => rule_own, rule_asks_type => rule_typed,
      rule_asks_protocol => rule_protocolled, rule_asks_priority => rule_ordered, rule_asks_port => rule_ports,
      rule_type => rule_type, rule_protocol => rule_protocol, rule_priority => rule_priority,
      udp_ports => ports, udp_port_masks => masks,
      decided => decided, wanted => wanted,
      result_valid => identifier_events(0), result_wanted => found_wanted, result_rules => found_rules
    );

  identifier_events(1) <= identifier_events(0) and found_wanted;
  result_valid         <= identifier_events(0);
  result_wanted        <= found_wanted;

  identifier_rst <= rst or set.identifier.control.clear.value;

  identifier_counters : entity work.event_counters
    generic map (COUNTERS => 2, BITS => COUNT_BITS)
    port map (
      clk => clk, rst => identifier_rst, events => identifier_events, counts => identifier_counts,
      overflow => seen.identifier.overflow.value.next_q
    );

  seen.identifier.frames.value.next_q  <= identifier_counts(31 downto 0);
  seen.identifier.wanted.value.next_q  <= identifier_counts(63 downto 32);
  seen.identifier.status.wanted.next_q <= found_wanted;
  seen.identifier.status.rules.next_q  <= found_rules;

  capture_start <= chosen(
    set.capture.control.start.value, set.capture.control.software_start.value, gmii_rx_dv, line_tx_en, wanted);
  capture_stop <= chosen(
    set.capture.control.stop.value, set.capture.control.software_stop.value, gmii_rx_dv, line_tx_en, wanted);

  capture : entity work.capture_unit
    port map (
      clk => clk, rst => rst, enable => set.capture.control.enable.value, clear => set.capture.control.clear.value,
      start => capture_start, stop => capture_stop,
      read_data => oldest, read_next => oldest_taken,
      level => seen.capture.status.waiting.next_q, busy => seen.capture.status.busy.next_q,
      missed => seen.capture.missed.value.next_q,
      overflow => seen.capture.status.overflow.next_q, saturated => seen.capture.status.saturated.next_q
    );

  -- The block RAM delivers a record late in the clock, and the register block reports its reading late: both are registered. An
  -- access takes longer than the next record needs.
  keeping : process (clk)
  begin
    if rising_edge(clk) then
      seen.capture.oldest.value.next_q <= oldest;
      oldest_taken <= set.capture.oldest.value.swacc and not rst;
    end if;
  end process;

  -- Ticks in four of five clocks.
  slowing : process (clk)
  begin
    if rising_edge(clk) then
      if slow_step = 4 then
        slow_step <= 0;
      else
        slow_step <= slow_step + 1;
      end if;
      if rst = '1' then
        slow_step <= 0;
      end if;
    end if;
  end process;

  -- The meter sees ticks and frames one clock late, both alike: a register before its 32-bit counts.
  probing : process (clk)
  begin
    if rising_edge(clk) then
      tick <= '0' when set.rate.control.slow.value = '1' and slow_step = 4 else '1';
      probe_tready <= '1';
      probe_tlast  <= '0';
      case set.rate.control.probe.value is
        when "00" =>
          probe_tvalid <= out_tvalid;
          probe_tready <= out_tready;
          probe_tlast  <= out_tlast;
        when "10" =>
          probe_tvalid <= in_tvalid;
          probe_tlast  <= in_tlast;
        when "01" => probe_tvalid <= line_tx_en;
        when others => probe_tvalid <= gmii_rx_dv;
      end case;
    end if;
  end process;

  meter : entity work.rate_meter
    generic map (SYNCHRONISE => false, BITS => 32)
    port map (
      clk => clk, rst => rst, tick => tick, enable => set.rate.control.enable.value,
      clear => set.rate.control.clear.value, line_mode => set.rate.control.probe.value(0),
      at_last => set.rate.control.at_last.value,
      probe_tvalid => probe_tvalid, probe_tready => probe_tready, probe_tlast => probe_tlast,
      periods => seen.rate.periods.value.next_q, last_period => seen.rate.last_period.value.next_q,
      shortest => seen.rate.shortest.value.next_q, longest => seen.rate.longest.value.next_q,
      total => seen.rate.total.value.next_q, overflow => seen.rate.status.overflow.next_q
    );
end architecture;
