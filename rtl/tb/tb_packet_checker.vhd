-- Test of packet_checker with its start words: each frame of a file (tb_packet_checker.py) must get the verdict in the file,
-- and the counts must match each count line of the file.
--
-- A frame is a line: clocks before it, percent of its clocks that are idle, the incident (see `incident_t`) and the byte at
-- which it happens, m_tuser and bad FCS at its end, verdict (-1: none; -2: any), sequence, start word, the end of its first
-- content word if its sequence is searched for, number of bytes, and the bytes. A line that begins with -1 holds the counts
-- instead.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.ethernet_pkg.all;

entity tb_packet_checker is
  generic (
    runner_cfg   : string;
    seed         : natural := 0;
    frames_file  : string := "";
    source_known : natural := 1;
    stream_known : natural := 0;
    slots        : natural := 0;
    count_bits   : natural := 32;
    -- The overflow bits that must have been seen.
    must_run_over : natural := 0
  );
end entity;

architecture test of tb_packet_checker is
  -- OTHER_FLOW: the settings change to those of another flow, or back. OTHER_SLOTS: to a wrong number of slots, which is
  -- corrected with a clear at the end of the frame.
  type incident_t is (NOTHING, CLEARED, RESET_IN_THE_MIDDLE, NOT_ENABLED, DISABLED_IN_THE_MIDDLE, OTHER_FLOW, OTHER_SLOTS);
  -- From s_tlast to the clock whose time is kept.
  constant TIME_LATENCY : natural := 2;
  -- From s_tlast to the verdict, and to the verdict after a search; from the last byte of the first word to the end of a
  -- search, at most.
  constant VERDICT_LATENCY : natural := 4;
  constant FOUND_LATENCY   : natural := 5;
  constant SEARCH_LATENCY  : natural := 72;
  constant NO_VERDICT   : integer := -1;
  constant ANY_VERDICT  : integer := -2;
  constant CLOCK        : time := 8 ns;
  type counts_t is array (0 to 16) of std_logic_vector(47 downto 0);
  type time_pair_t is array (0 to 1) of natural;

  signal clk                : std_logic := '0';
  signal rst                : std_logic := '1';
  signal enable             : std_logic := '1';
  signal clear              : std_logic := '0';
  signal ready              : std_logic;
  signal cycles             : natural := 0;
  signal time_ns            : std_logic_vector(47 downto 0);
  signal source_flag        : std_logic;
  signal stream_flag        : std_logic;
  signal source             : std_logic_vector(47 downto 0);
  signal udp_port           : half_t;
  signal stream             : octet_t;
  signal slot_count         : std_logic_vector(12 downto 0);
  signal is_other_flow      : boolean := false;
  signal slots_are_wrong    : boolean := false;
  signal s_tdata            : octet_t := x"00";
  signal s_tvalid, s_tlast  : std_logic := '0';
  signal s_tuser, s_bad_fcs : std_logic := '0';
  signal word_request       : std_logic;
  signal word_number        : std_logic_vector(11 downto 0);
  signal word               : word_t;
  signal verdict_valid      : std_logic;
  signal verdict            : verdict_t;
  signal verdict_sequence   : word_t;
  signal verdict_start_word : std_logic_vector(11 downto 0);
  signal counts             : counts_t := (others => (others => '0'));
  signal time_valid         : std_logic;
  signal first_time         : std_logic_vector(47 downto 0);
  signal last_time          : std_logic_vector(47 downto 0);
  signal overflow           : std_logic_vector(15 downto 0);
  signal search_overrun     : std_logic;
  signal verdicts_seen      : natural := 0;
  constant EXPECTED         : queue_t := new_queue;
  -- The earliest and the latest clock of a frame's verdict, or 0 and 0; and the least number of clocks left before the latest.
  constant DUE              : queue_t := new_queue;
  signal least_slack        : natural := natural'high;
begin
  clk <= not clk after CLOCK / 2;
  cycles <= cycles + 1 when rising_edge(clk);
  time_ns <= std_logic_vector(to_unsigned(cycles, 48));
  source_flag <= to_std_logic(source_known = 1);
  stream_flag <= to_std_logic(stream_known = 1);
  source <= x"02574C000009" when is_other_flow else x"02574C000001";
  udp_port <= x"138C" when is_other_flow else x"138B";
  stream <= x"05" when is_other_flow else x"03";
  slot_count <= (others => '1') when slots_are_wrong else std_logic_vector(to_unsigned(slots, 13));

  checker : entity work.packet_checker
    generic map (COUNT_BITS => count_bits)
    port map (
      clk => clk, rst => rst, enable => enable, clear => clear, ready => ready,
      source => source, source_known => source_flag, udp_port => udp_port,
      stream => stream, stream_known => stream_flag, slots => slot_count, time_ns => time_ns,
      s_tdata => s_tdata, s_tvalid => s_tvalid, s_tlast => s_tlast, s_tuser => s_tuser, s_bad_fcs => s_bad_fcs,
      word_request => word_request, word_number => word_number, word => word,
      verdict_valid => verdict_valid, verdict => verdict, verdict_sequence => verdict_sequence,
      verdict_start_word => verdict_start_word,
      good_frames => counts(0)(31 downto 0), header_corrupt_frames => counts(1)(31 downto 0),
      truncated_frames => counts(2)(31 downto 0), stale_frames => counts(3)(31 downto 0),
      corrupted_frames => counts(4)(31 downto 0), foreign_frames => counts(5)(31 downto 0),
      distinct_sequences => counts(6)(31 downto 0), duplicated_frames => counts(7)(31 downto 0),
      reordered_frames => counts(8)(31 downto 0), too_late_frames => counts(9)(31 downto 0),
      bad_fcs_frames => counts(10)(31 downto 0), damaged_frames => counts(11)(31 downto 0),
      lost_sequences => counts(12)(31 downto 0), next_sequence => counts(13)(31 downto 0),
      verified_bytes => counts(14),
      order_breaks => counts(15)(31 downto 0), mixed_frames => counts(16)(31 downto 0),
      time_valid => time_valid, first_time => first_time, last_time => last_time,
      overflow => overflow, search_overrun => search_overrun);

  -- The other side of the start words requests as often as it can.
  words : entity work.start_words
    port map (
      clk => clk,
      a_request => word_request, a_number => word_number, a_word => word,
      b_request => '1', b_number => time_ns(11 downto 0), b_word => open);

  watch : process
    variable wanted_verdict : integer;
    variable earliest       : natural;
    variable latest         : natural;
    variable wanted_number  : word_t;
    variable wanted_start   : std_logic_vector(11 downto 0);
  begin
    wait until rising_edge(clk) and verdict_valid = '1';
    check_false(is_empty(EXPECTED), "a verdict without a frame");
    wanted_verdict := pop(EXPECTED);
    wanted_number := pop(EXPECTED);
    wanted_start := pop(EXPECTED);
    earliest := pop(DUE);
    latest := pop(DUE);
    if wanted_verdict /= ANY_VERDICT then
      check_equal(to_integer(unsigned(verdict)), wanted_verdict, "verdict " & to_string(verdicts_seen));
    end if;
    if latest > 0 then
      check(cycles >= earliest and cycles <= latest, "verdict " & to_string(verdicts_seen) & " came at clock "
        & to_string(cycles) & ", it was due from " & to_string(earliest) & " to " & to_string(latest));
    end if;
    if latest > earliest then
      least_slack <= minimum(least_slack, latest - cycles);
    end if;
    if wanted_verdict >= to_integer(unsigned(VERDICT_TRUNCATED)) then
      check_equal(verdict_sequence, wanted_number, "sequence of verdict " & to_string(verdicts_seen));
    end if;
    if verdict = VERDICT_STALE and wanted_verdict /= ANY_VERDICT then
      check_equal(verdict_start_word, wanted_start, "start word of verdict " & to_string(verdicts_seen));
    end if;
    verdicts_seen <= verdicts_seen + 1;
  end process;

  stimulate : process
    file frames            : text;
    variable l             : line;
    variable random        : RandomPType;
    variable idle, percent : integer;
    variable incident, at  : integer;
    variable word_end      : integer;
    variable word_at       : natural;
    variable user, bad_fcs : integer;
    variable wanted        : integer;
    variable length        : integer;
    variable number        : word_t;
    variable start         : std_logic_vector(11 downto 0);
    variable octet         : octet_t;
    variable count         : std_logic_vector(47 downto 0);
    variable ran_over      : half_t;
    variable ever_over     : half_t := x"0000";
    variable timed         : natural := 0;
    variable times         : time_pair_t;
    variable count_lines   : natural := 0;

    procedure clocks(number_of : natural) is
    begin
      for i in 1 to number_of loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    -- The byte of the previous clock was the last one.
    procedure tell_when_due is
    begin
      if word_end > 0 then
        push(DUE, cycles + FOUND_LATENCY);
        push(DUE, maximum(cycles + FOUND_LATENCY, word_at + SEARCH_LATENCY));
      elsif wanted >= 0 and wanted /= to_integer(unsigned(VERDICT_CORRUPTED)) then
        push(DUE, cycles + VERDICT_LATENCY);
        push(DUE, cycles + VERDICT_LATENCY);
      elsif wanted /= NO_VERDICT then
        push(DUE, 0);
        push(DUE, 0);
      end if;
    end procedure;

    procedure send_frame is
      variable dropped : boolean := false;
    begin
      enable <= to_std_logic(incident /= incident_t'pos(NOT_ENABLED));
      for i in 1 to length loop
        hread(l, octet);
        while random.RandInt(1, 100) <= percent loop
          wait until rising_edge(clk);
        end loop;
        if i = at then
          clear <= to_std_logic(incident = incident_t'pos(CLEARED));
          rst <= to_std_logic(incident = incident_t'pos(RESET_IN_THE_MIDDLE));
          dropped := incident = incident_t'pos(RESET_IN_THE_MIDDLE);
          if incident = incident_t'pos(DISABLED_IN_THE_MIDDLE) then
            enable <= '0';
          end if;
          if incident = incident_t'pos(OTHER_FLOW) then
            is_other_flow <= not is_other_flow;
          end if;
          slots_are_wrong <= incident = incident_t'pos(OTHER_SLOTS);
        end if;
        if not dropped then
          s_tvalid <= '1';
          s_tdata <= octet;
          s_tlast <= to_std_logic(i = length);
          s_tuser <= to_std_logic(i = length and user = 1);
          s_bad_fcs <= to_std_logic(i = length and bad_fcs = 1);
        end if;
        wait until rising_edge(clk);
        s_tvalid <= '0';
        s_tlast <= '0';
        s_tuser <= '0';
        s_bad_fcs <= '0';
        clear <= '0';
        rst <= '0';
        if i = word_end then
          word_at := cycles;
        end if;
      end loop;
      tell_when_due;
      if wanted > 0 then
        -- The byte was sent in the previous clock.
        times(1) := cycles;
        if timed = 0 then
          times(0) := cycles;
        end if;
        timed := 1;
      end if;
      enable <= '1';
    end procedure;

    procedure put_slots_right is
    begin
      slots_are_wrong <= false;
      clear <= '1';
      clocks(1);
      clear <= '0';
      clocks(2);
      wait until rising_edge(clk) and ready = '1';
    end procedure;

    procedure compare_counts is
    begin
      clocks(150);
      check_true(is_empty(EXPECTED), "frames without a verdict");
      for i in counts'range loop
        hread(l, count);
        check_equal(counts(i), count, "count " & to_string(i) & " of count line " & to_string(count_lines));
      end loop;
      hread(l, ran_over);
      check_equal(overflow, ran_over, "overflow of count line " & to_string(count_lines));
      ever_over := ever_over or ran_over;
      check_equal(time_valid, timed = 1);
      if timed = 1 then
        check_equal(to_integer(unsigned(first_time)), times(0) + TIME_LATENCY, "first time");
        check_equal(to_integer(unsigned(last_time)), times(1) + TIME_LATENCY, "last time");
      end if;
      count_lines := count_lines + 1;
    end procedure;

    procedure play is
    begin
      file_open(frames, frames_file, read_mode);
      while not endfile(frames) loop
        readline(frames, l);
        read(l, idle);
        if idle < 0 then
          compare_counts;
        else
          read(l, percent);
          read(l, incident);
          read(l, at);
          read(l, user);
          read(l, bad_fcs);
          read(l, wanted);
          hread(l, number);
          hread(l, start);
          read(l, word_end);
          read(l, length);
          clocks(idle);
          if wanted /= NO_VERDICT then
            push(EXPECTED, wanted);
            push(EXPECTED, number);
            push(EXPECTED, start);
          end if;
          send_frame;
          if incident = incident_t'pos(CLEARED) or incident = incident_t'pos(RESET_IN_THE_MIDDLE) then
            timed := 0;
            wait until rising_edge(clk) and ready = '1';
          elsif incident = incident_t'pos(OTHER_SLOTS) then
            -- A clear would discard the pending verdict.
            clocks(SEARCH_LATENCY);
            put_slots_right;
            timed := 0;
          end if;
        end if;
      end loop;
      file_close(frames);
      check_true(count_lines > 0, "the file has no counts");
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("checker" & to_string(seed));
    clocks(5);
    rst <= '0';
    wait until rising_edge(clk) and ready = '1';
    while test_suite loop
      if run("verdicts and counts are those of the model") then
        play;
        check_equal(search_overrun, '0', "overrun of the search");
        -- Long jumps have more sequences missing than a word counts.
        check_equal(ever_over and x"EFFF", half_t'(x"0000"), "overflow");
      elsif run("counts that run over say so until they are cleared") then
        play;
        check_equal(ever_over and std_logic_vector(to_unsigned(must_run_over, 16)), must_run_over, "counts that ran over");
        clear <= '1';
        clocks(1);
        clear <= '0';
        clocks(2);
        check_equal(overflow, half_t'(x"0000"), "overflow after the clear");
      elsif run("a search is over 72 clocks behind the first word at the latest") then
        play;
        check_equal(least_slack, 0, "clocks before the latest");
      elsif run("settings that change within a frame hold for the next one") then
        play;
      elsif run("frames without a gap between them") then
        play;
        check_equal(search_overrun, '0', "overrun of the search");
      elsif run("a search that is cut short is seen") then
        play;
        check_equal(search_overrun, '1', "overrun of the search");
        clear <= '1';
        clocks(1);
        clear <= '0';
        clocks(2);
        check_equal(search_overrun, '0', "overrun after the clear");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
  test_runner_watchdog(runner, 100 ms);
end architecture;
