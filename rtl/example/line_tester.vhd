-- A tester of a 1 Gbit/s line on a board with a PHY: every frame that `run` sends must come back unchanged. Plug the cable
-- back, or let a device echo frames; copy this file and enter your own addresses. See rtl/README.md.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity line_tester is
  generic (
    PAYLOAD_BYTES : natural := 1500;
    -- 0: sends until `run` falls.
    FRAMES        : natural := 0;
    -- The longest way back of a frame, in clocks: 131 us, long for an echo in hardware. A longer silence is trouble.
    BACK_CLOCKS   : natural := 16384
  );
  port (
    -- 125 MHz, which goes to the PHY with the sent bytes; rst and run are synchronous to it.
    clk         : in  std_logic;
    rst         : in  std_logic;
    run         : in  std_logic;
    -- The receive clock, which the PHY recovers from the line, and its bytes.
    gmii_rx_clk : in  std_logic;
    gmii_rxd    : in  std_logic_vector(7 downto 0);
    gmii_rx_dv  : in  std_logic;
    gmii_rx_er  : in  std_logic;
    gmii_txd    : out std_logic_vector(7 downto 0);
    gmii_tx_en  : out std_logic;
    gmii_tx_er  : out std_logic;
    -- For lamps. sending: frames are sent. finished: all FRAMES of a run were sent. all_good: every returned frame is good, and
    -- all FRAMES are back (without FRAMES, at least one). trouble: a frame changed or did not come back; it lasts until the
    -- next run.
    sending     : out std_logic;
    finished    : out std_logic;
    all_good    : out std_logic;
    trouble     : out std_logic;
    good_frames : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of line_tester is
  -- Locally administered addresses of sender and receiver.
  constant SOURCE                         : std_logic_vector(47 downto 0) := x"02574C000001";
  constant DESTINATION                    : std_logic_vector(47 downto 0) := x"02574C000002";
  constant CLOCK_NS                       : natural := 8;
  constant NONE                           : std_logic_vector(31 downto 0) := (others => '0');

  signal now_ns                           : unsigned(47 downto 0);
  signal time_ns                          : std_logic_vector(47 downto 0);
  -- Clocks until all frames of the last run must be back.
  signal rest_left                        : natural range 0 to BACK_CLOCKS;
  signal running, clear, ready, go        : std_logic;
  signal tx_tdata, rx_tdata               : std_logic_vector(7 downto 0);
  signal tx_tvalid, tx_tready, tx_tlast   : std_logic;
  signal tx_tuser, tx_left                : std_logic;
  signal rx_rst_first, rx_rst             : std_logic;
  signal rxd                              : std_logic_vector(7 downto 0);
  signal rx_dv, rx_er                     : std_logic;
  signal line_overflow, line_underrun     : std_logic;
  signal rx_tvalid, rx_tlast, rx_tuser    : std_logic;
  signal rx_bad_fcs                       : std_logic;
  signal word_request                     : std_logic;
  signal word_number                      : std_logic_vector(11 downto 0);
  signal word, sent, good                 : std_logic_vector(31 downto 0);
  -- MAC or checker call a frame bad; a frame is missing or duplicated. A late frame is missing first.
  signal verdict_valid                    : std_logic;
  signal verdict                          : std_logic_vector(2 downto 0);
  signal is_bad                           : std_logic;
  signal duplicated, too_late, lost       : std_logic_vector(31 downto 0);
  signal astray                           : std_logic_vector(31 downto 0);
  -- Whether the generator has sent as many frames as are good, a clock later.
  signal all_back                         : std_logic;
  -- Clocks until a frame must have come back since one left; 0: none is awaited.
  signal awaited                          : natural range 0 to BACK_CLOCKS;
  signal silent, has_run, any_good        : std_logic;
begin
  time_ns <= std_logic_vector(now_ns);
  good_frames <= good;

  -- A run begins after the checker was emptied, which takes 514 clocks, and after the generator has stopped and its frames are
  -- back: `run` may bounce, and frames of one run must not be judged as those of the next.
  process (clk)
  begin
    if rising_edge(clk) then
      now_ns <= now_ns + CLOCK_NS;
      clear <= '0';
      if run = '0' then
        running <= '0';
      elsif running = '0' and rest_left = 0 then
        running <= '1';
        clear <= '1';
      end if;
      if go = '1' or sending = '1' then
        rest_left <= BACK_CLOCKS;
      elsif rest_left /= 0 then
        rest_left <= rest_left - 1;
      end if;
      go <= run and running and ready and not clear;
      if rst = '1' then
        now_ns <= (others => '0');
        running <= '0';
        clear <= '0';
        rest_left <= 0;
        go <= '0';
      end if;
    end if;
  end process;

  -- The lamps.
  process (clk)
  begin
    if rising_edge(clk) then
      if tx_left = '1' and awaited = 0 then
        awaited <= BACK_CLOCKS;
      elsif rx_tvalid = '1' and rx_tlast = '1' then
        awaited <= 0;
      elsif awaited /= 0 then
        awaited <= awaited - 1;
      end if;
      silent <= '1' when awaited = 1 else '0';
      has_run <= has_run or sending;
      is_bad <= rx_tvalid and rx_tlast and rx_tuser;
      if verdict_valid = '1' and verdict /= work.ethernet_pkg.VERDICT_GOOD then
        is_bad <= '1';
      end if;
      astray <= duplicated or too_late or lost;
      all_back <= '1' when good = sent else '0';
      if good /= NONE then
        any_good <= '1';
      end if;
      if astray /= NONE or (is_bad or silent or line_overflow or line_underrun) = '1' then
        trouble <= '1';
      end if;
      -- No frame of the run can arrive any more.
      if has_run = '1' and sending = '0' and rest_left = 0 and all_back = '0' then
        trouble <= '1';
      end if;
      all_good <= any_good and not trouble;
      if FRAMES /= 0 then
        all_good <= finished and all_back and not trouble;
      end if;
      -- While the checker is emptied, its counts are those of the previous run.
      if rst = '1' or clear = '1' or ready = '0' then
        awaited <= 0;
        silent <= '0';
        has_run <= '0';
        any_good <= '0';
        is_bad <= '0';
        astray <= NONE;
        trouble <= '0';
        all_good <= '0';
      end if;
    end if;
  end process;

  -- The reset for the PHY's clock.
  process (gmii_rx_clk)
  begin
    if rising_edge(gmii_rx_clk) then
      rx_rst_first <= rst;
      rx_rst <= rx_rst_first;
    end if;
  end process;

  generator : entity work.packet_generator
    port map (
      clk => clk, rst => rst, enable => go, payload_bytes => std_logic_vector(to_unsigned(PAYLOAD_BYTES, 14)),
      gap_cycles => (others => '0'), frame_count => std_logic_vector(to_unsigned(FRAMES, 32)),
      destination => DESTINATION, source => SOURCE, udp_mode => '0', ipv4_source => NONE, ipv4_destination => NONE,
      udp_source => (others => '0'), udp_destination => (others => '0'), vlan_enable => '0', vlan_tci => (others => '0'),
      stream => x"00", time_valid => '1', time_ns => time_ns, fault_kind => "000", fault_every => NONE,
      fault_interval => (others => '0'), fault_once => '0', fault_position => (others => '0'), fault_cut => (others => '0'),
      m_tdata => tx_tdata, m_tvalid => tx_tvalid, m_tready => tx_tready, m_tlast => tx_tlast, m_tuser => tx_tuser,
      busy => sending, done => finished, config_error => open, underrun => open, overflow => open, sent_frames => sent,
      sent_bytes => open, used_sequences => open, injected_faults => open);

  transmit : entity work.mac_tx
    port map (
      clk => clk, rst => rst, ce => '1', gap => x"0C", s_tdata => tx_tdata, s_tvalid => tx_tvalid, s_tready => tx_tready,
      s_tlast => tx_tlast, s_tuser => tx_tuser, gmii_txd => gmii_txd, gmii_tx_en => gmii_tx_en, gmii_tx_er => gmii_tx_er,
      sent => tx_left, underrun => open);

  across : entity work.gmii_elastic
    port map (
      clk => clk, rst => rst, clear => clear, gmii_rx_clk => gmii_rx_clk, gmii_rx_rst => rx_rst, gmii_rxd => gmii_rxd,
      gmii_rx_dv => gmii_rx_dv, gmii_rx_er => gmii_rx_er, m_rxd => rxd, m_rx_dv => rx_dv, m_rx_er => rx_er,
      overflow => line_overflow, underrun => line_underrun);

  receive : entity work.mac_rx
    port map (
      clk => clk, rst => rst, ce => '1', max_frame => (others => '1'), gmii_rxd => rxd, gmii_rx_dv => rx_dv,
      gmii_rx_er => rx_er, m_tdata => rx_tdata, m_tvalid => rx_tvalid, m_tlast => rx_tlast, m_tuser => rx_tuser,
      m_bad_fcs => rx_bad_fcs, m_rx_error => open, m_runt => open, m_oversize => open, tap_tdata => open,
      tap_tvalid => open, tap_start => open, tap_end => open, no_sfd => open, too_short => open, bad_preamble => open);

  judge : entity work.packet_checker
    port map (
      clk => clk, rst => rst, enable => '1', clear => clear, ready => ready, source => SOURCE, source_known => '1',
      udp_port => (others => '0'), stream => x"00", stream_known => '1', slots => (others => '0'), time_ns => time_ns,
      s_tdata => rx_tdata, s_tvalid => rx_tvalid, s_tlast => rx_tlast, s_tuser => rx_tuser, s_bad_fcs => rx_bad_fcs,
      word_request => word_request, word_number => word_number, word => word, verdict_valid => verdict_valid,
      verdict => verdict, verdict_sequence => open, verdict_start_word => open, good_frames => good,
      header_corrupt_frames => open, truncated_frames => open, stale_frames => open, corrupted_frames => open,
      foreign_frames => open, distinct_sequences => open, duplicated_frames => duplicated, reordered_frames => open,
      too_late_frames => too_late, order_breaks => open, mixed_frames => open, bad_fcs_frames => open,
      damaged_frames => open, lost_sequences => lost, next_sequence => open, verified_bytes => open,
      time_valid => open, first_time => open, last_time => open, overflow => open, search_overrun => open);

  -- Its other side serves the checker of a second line.
  start_rom : entity work.start_words
    port map (
      clk => clk, a_request => word_request, a_number => word_number, a_word => word,
      b_request => '0', b_number => (others => '0'), b_word => open);
end architecture;
