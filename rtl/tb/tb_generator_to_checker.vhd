-- Generator, MAC in both directions, and checker, as in a user's design with the cable plugged back. A frame takes exactly
-- payload + 38 clocks, or longer by the requested gap; nothing is lost, and each injected fault is found as its kind. Cable,
-- gap and most payloads are of random length.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.ethernet_pkg.all;

entity tb_generator_to_checker is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_generator_to_checker is
  constant CLOCK : time := 8 ns;
  type sizes_t is array (natural range <>) of positive;
  constant PAYLOADS                      : sizes_t := (46, 66, 438, 810, 1182, 1498, 8982);
  -- The longest cable, in clocks.
  constant LONGEST_CABLE                 : positive := 120;
  type cable_t is array (0 to LONGEST_CABLE) of std_logic_vector(9 downto 0);
  -- Ethernet header, FCS, preamble and gap.
  constant AROUND                        : natural := 38;
  signal clk                             : std_logic := '0';
  signal rst                             : std_logic := '1';
  signal cycles                          : natural := 0;
  signal time_ns                         : std_logic_vector(47 downto 0);
  signal enable, clear                   : std_logic := '0';
  signal payload                         : std_logic_vector(13 downto 0) := (others => '0');
  signal gap                             : std_logic_vector(23 downto 0) := (others => '0');
  signal frame_count                     : word_t := (others => '0');
  signal fault_position                  : std_logic_vector(16 downto 0) := (others => '0');
  signal fault_kind                      : fault_t := FAULT_NONE;
  signal fault_every                     : word_t := (others => '0');
  signal tx_data, rx_data                : octet_t;
  signal tx_valid, tx_ready, tx_last     : std_logic;
  signal tx_user, rx_valid, rx_last      : std_logic;
  signal rx_user, rx_bad_fcs             : std_logic;
  signal txd, rxd                        : octet_t;
  signal tx_en, tx_er, was_en            : std_logic;
  signal rx_dv, rx_er                    : std_logic;
  signal cable                           : cable_t := (others => (others => '0'));
  signal cable_clocks                    : natural range 0 to LONGEST_CABLE := 0;
  signal busy, done, ready               : std_logic;
  signal word_request                    : std_logic;
  signal word_number                     : std_logic_vector(11 downto 0);
  signal word                            : word_t;
  signal sent, used, injected            : word_t;
  signal sent_bytes, verified            : std_logic_vector(47 downto 0);
  signal good, stale, corrupted          : word_t;
  signal truncated, header_corrupt       : word_t;
  signal duplicated, reordered           : word_t;
  signal bad_fcs, lost, distinct         : word_t;
  signal starts, period, shortest        : natural := 0;
begin
  clk <= not clk after CLOCK / 2;
  cycles <= cycles + 1 when rising_edge(clk);
  time_ns <= std_logic_vector(to_unsigned(8 * cycles, 48));

  generator : entity work.packet_generator
    port map (
      clk => clk, rst => rst, enable => enable, payload_bytes => payload, gap_cycles => gap,
      frame_count => frame_count, destination => x"02574C000002", source => x"02574C000001", udp_mode => '0',
      ipv4_source => (others => '0'), ipv4_destination => (others => '0'),
      udp_source => (others => '0'), udp_destination => (others => '0'), vlan_enable => '0', vlan_tci => (others => '0'),
      stream => x"01", time_valid => '1', time_ns => time_ns,
      fault_kind => fault_kind, fault_every => fault_every, fault_interval => (others => '0'), fault_once => '0',
      fault_position => fault_position, fault_cut => "00000000000101",
      m_tdata => tx_data, m_tvalid => tx_valid, m_tready => tx_ready, m_tlast => tx_last, m_tuser => tx_user,
      busy => busy, done => done, config_error => open, underrun => open, overflow => open,
      sent_frames => sent, sent_bytes => sent_bytes, used_sequences => used, injected_faults => injected);

  transmit : entity work.mac_tx
    port map (
      clk => clk, rst => rst, ce => '1', gap => x"0C", s_tdata => tx_data, s_tvalid => tx_valid, s_tready => tx_ready,
      s_tlast => tx_last, s_tuser => tx_user, gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er,
      sent => open, underrun => open);

  receive : entity work.mac_rx
    port map (
      clk => clk, rst => rst, ce => '1', max_frame => (others => '1'), gmii_rxd => rxd, gmii_rx_dv => rx_dv,
      gmii_rx_er => rx_er, m_tdata => rx_data, m_tvalid => rx_valid, m_tlast => rx_last, m_tuser => rx_user,
      m_bad_fcs => rx_bad_fcs, m_rx_error => open, m_runt => open, m_oversize => open, tap_tdata => open,
      tap_tvalid => open, tap_start => open, tap_end => open, no_sfd => open, too_short => open, bad_preamble => open);

  checker : entity work.packet_checker
    port map (
      clk => clk, rst => rst, enable => '1', clear => clear, ready => ready,
      source => x"02574C000001", source_known => '1', udp_port => x"138B", stream => x"01", stream_known => '1',
      slots => (others => '0'), time_ns => time_ns, s_tdata => rx_data, s_tvalid => rx_valid, s_tlast => rx_last,
      s_tuser => rx_user, s_bad_fcs => rx_bad_fcs, word_request => word_request, word_number => word_number, word => word,
      verdict_valid => open, verdict => open, verdict_sequence => open, verdict_start_word => open,
      good_frames => good, header_corrupt_frames => header_corrupt, truncated_frames => truncated, stale_frames => stale,
      corrupted_frames => corrupted, foreign_frames => open, distinct_sequences => distinct,
      duplicated_frames => duplicated, reordered_frames => reordered, too_late_frames => open,
      order_breaks => open, mixed_frames => open, bad_fcs_frames => bad_fcs, damaged_frames => open, lost_sequences => lost,
      next_sequence => open, verified_bytes => verified, time_valid => open, first_time => open, last_time => open,
      overflow => open, search_overrun => open);

  words : entity work.start_words
    port map (
      clk => clk, a_request => word_request, a_number => word_number, a_word => word,
      b_request => '0', b_number => (others => '0'), b_word => open);

  (rx_er, rx_dv, rxd) <= cable(cable_clocks);

  lay_cable : process (all)
  begin
    cable(0) <= tx_er & tx_en & txd;
    if rising_edge(clk) then
      cable(1 to LONGEST_CABLE) <= cable(0 to LONGEST_CABLE - 1);
    end if;
  end process;

  -- Clocks from the beginning of a frame on the line to that of the next: the longest and the shortest.
  watch : process
    variable last : natural;
  begin
    wait until rising_edge(clk);
    was_en <= tx_en;
    if enable = '0' then
      starts <= 0;
    elsif tx_en = '1' and was_en = '0' then
      if starts = 1 then
        period <= cycles - last;
        shortest <= cycles - last;
      elsif starts > 1 then
        period <= maximum(period, cycles - last);
        shortest <= minimum(shortest, cycles - last);
      end if;
      last := cycles;
      starts <= starts + 1;
    end if;
  end process;

  process
    variable random : RandomPType;

    -- Sends frames over a cable of another length each time.
    procedure go(frames, bytes, idle : natural; kind : fault_t) is
    begin
      clear <= '1';
      cable_clocks <= random.RandInt(0, LONGEST_CABLE);
      wait until rising_edge(clk);
      clear <= '0';
      wait until rising_edge(clk) and ready = '1';
      frame_count <= std_logic_vector(to_unsigned(frames, 32));
      payload <= std_logic_vector(to_unsigned(bytes, 14));
      gap <= std_logic_vector(to_unsigned(idle, 24));
      fault_kind <= kind;
      enable <= '1';
      wait until rising_edge(clk) and busy = '1';
      wait until rising_edge(clk) and done = '1';
      for i in 1 to 200 + cable_clocks loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure stop is
    begin
      enable <= '0';
      wait until rising_edge(clk) and busy = '0';
    end procedure;

    procedure expect(what : string; count : word_t; wanted : natural) is
    begin
      check_equal(to_integer(unsigned(count)), wanted, what & " with fault " & to_string(fault_kind));
    end procedure;

    procedure exchange(frames, bytes, idle : natural) is
      -- A MAC takes no byte for 24 clocks after a frame; docs/blocks/packet_generator.md.
      constant DISTANCE : natural := bytes + AROUND - 24 + maximum(24, idle + 8);
      constant WHAT : string := to_string(bytes) & " bytes, a gap of " & to_string(idle) & ": ";
    begin
      go(frames, bytes, idle, FAULT_NONE);
      check_equal(starts, frames, WHAT & "frames on the line");
      check_equal(period, DISTANCE, WHAT & "the longest period");
      check_equal(shortest, DISTANCE, WHAT & "the shortest period");
      expect("good", good, frames);
      expect("lost", lost, 0);
      check_equal(verified, sent_bytes, "bytes");
      check_equal(to_integer(unsigned(verified)), frames * bytes, "bytes");
      stop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("generator_to_checker" & to_string(seed));
    for i in 1 to 5 loop
      wait until rising_edge(clk);
    end loop;
    rst <= '0';
    wait until rising_edge(clk) and ready = '1';
    while test_suite loop
      if run("a frame takes exactly payload and 38 clocks") then
        for i in PAYLOADS'range loop
          exchange(3, PAYLOADS(i), 0);
        end loop;
      elsif run("frames of any size over a cable of any length, with a gap or none") then
        for round in 1 to 10 loop
          exchange(random.RandInt(3, 8), random.RandInt(46, 300), random.RandInt(0, 1) * random.RandInt(0, 60));
        end loop;
      elsif run("each fault is found under its name") then
        fault_every <= x"00000004";
        for kind in 1 to 7 loop
          -- A bit of the LFSR part that also a truncated frame has, outside of the padding.
          fault_position <= std_logic_vector(to_unsigned(random.RandInt(8 * 32, 8 * 60 - 1), 17));
          go(10, random.RandInt(51, 130), random.RandInt(0, 40), std_logic_vector(to_unsigned(kind, 3)));
          expect("injected", injected, 2);
          expect("used", used, 10);
          expect("corrupted", corrupted, 2 * boolean'pos(fault_kind = FAULT_BIT_ERROR));
          expect("stale", stale, 2 * boolean'pos(fault_kind = FAULT_STALE));
          expect("truncated", truncated, 2 * boolean'pos(fault_kind = FAULT_TRUNCATED));
          expect("duplicated", duplicated, 2 * boolean'pos(fault_kind = FAULT_DUPLICATE));
          expect("reordered", reordered, 2 * boolean'pos(fault_kind = FAULT_SWAP));
          expect("bad FCS", bad_fcs, 2 * boolean'pos(fault_kind = FAULT_BAD_FCS));
          expect("lost", lost, 2 * boolean'pos(fault_kind = FAULT_DROP or fault_kind = FAULT_BAD_FCS));
          expect("distinct", distinct, 10 - 2 * boolean'pos(fault_kind = FAULT_DROP or fault_kind = FAULT_BAD_FCS));
          expect("header-corrupt", header_corrupt, 0);
          stop;
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
  test_runner_watchdog(runner, 10 ms);
end architecture;
