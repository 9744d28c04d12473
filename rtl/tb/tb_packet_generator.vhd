-- Test of packet_generator: does the runs of a file (tb_packet_generator.py) one after the other, and writes every frame with
-- its clocks and, at the end of each run, the counts. The script judges them afterwards. The rules of the stream are checked
-- here: a waiting byte does not change, and a frame has no gap.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.ethernet_pkg.all;

entity tb_packet_generator is
  generic (
    runner_cfg  : string;
    seed        : natural := 0;
    runs_file   : string := "";
    frames_file : string := "";
    count_bits  : natural := 32
  );
end entity;

architecture test of tb_packet_generator is
  constant CLOCK            : time := 8 ns;
  -- A value beside the percentages of m_tready: as a MAC at 1 Gbit/s, which takes no byte during FCS, gap and preamble.
  constant LIKE_A_MAC       : integer := -1;
  constant MAC_PAUSE        : natural := 24;
  signal clk                : std_logic := '0';
  signal rst                : std_logic := '1';
  signal cycles             : natural := 0;
  signal enable             : std_logic := '0';
  signal payload_bytes      : std_logic_vector(13 downto 0) := (others => '0');
  signal gap_cycles         : std_logic_vector(23 downto 0) := (others => '0');
  signal frame_count        : word_t := (others => '0');
  signal destination        : std_logic_vector(47 downto 0) := (others => '0');
  signal source             : std_logic_vector(47 downto 0) := (others => '0');
  signal udp_mode           : std_logic := '0';
  signal ipv4_source        : word_t := (others => '0');
  signal ipv4_destination   : word_t := (others => '0');
  signal udp_source         : half_t := (others => '0');
  signal udp_destination    : half_t := (others => '0');
  signal vlan_enable        : std_logic := '0';
  signal vlan_tci           : half_t := (others => '0');
  signal stream             : octet_t := (others => '0');
  signal time_valid         : std_logic := '0';
  signal time_ns            : std_logic_vector(47 downto 0);
  signal fault_kind         : fault_t := FAULT_NONE;
  signal fault_every        : word_t := (others => '0');
  signal fault_interval     : std_logic_vector(30 downto 0) := (others => '0');
  signal fault_once         : std_logic := '0';
  signal fault_position     : std_logic_vector(16 downto 0) := (others => '0');
  signal fault_cut          : std_logic_vector(13 downto 0) := (others => '0');
  signal m_tdata            : octet_t;
  signal m_tvalid, m_tlast  : std_logic;
  signal m_tready           : std_logic := '0';
  signal m_tuser            : std_logic;
  signal busy, done         : std_logic;
  signal config_error       : std_logic;
  signal underrun, overflow : std_logic;
  signal sent_frames        : word_t;
  signal sent_bytes         : std_logic_vector(47 downto 0);
  signal used_sequences     : word_t;
  signal injected_faults    : word_t;
  signal ready_percent      : integer := 100;
  signal run_ended          : natural := 0;
begin
  clk <= not clk after CLOCK / 2;
  cycles <= cycles + 1 when rising_edge(clk);
  time_ns <= std_logic_vector(to_unsigned(cycles, 48));

  generator : entity work.packet_generator
    generic map (COUNT_BITS => count_bits)
    port map (
      clk => clk, rst => rst, enable => enable, payload_bytes => payload_bytes, gap_cycles => gap_cycles,
      frame_count => frame_count, destination => destination, source => source, udp_mode => udp_mode,
      ipv4_source => ipv4_source, ipv4_destination => ipv4_destination, udp_source => udp_source,
      udp_destination => udp_destination,
      vlan_enable => vlan_enable, vlan_tci => vlan_tci, stream => stream, time_valid => time_valid, time_ns => time_ns,
      fault_kind => fault_kind, fault_every => fault_every, fault_interval => fault_interval, fault_once => fault_once,
      fault_position => fault_position, fault_cut => fault_cut,
      m_tdata => m_tdata, m_tvalid => m_tvalid, m_tready => m_tready, m_tlast => m_tlast, m_tuser => m_tuser,
      busy => busy, done => done, config_error => config_error, underrun => underrun, overflow => overflow,
      sent_frames => sent_frames, sent_bytes => sent_bytes, used_sequences => used_sequences,
      injected_faults => injected_faults);

  accept : process
    variable random : RandomPType;
    variable pause  : natural := 0;
  begin
    random.InitSeed("generator" & to_string(seed));
    loop
      wait until rising_edge(clk);
      if m_tvalid = '1' and m_tready = '1' and m_tlast = '1' and ready_percent = LIKE_A_MAC then
        pause := MAC_PAUSE;
      end if;
      m_tready <= to_std_logic(pause = 0 and (ready_percent = LIKE_A_MAC or random.RandInt(1, 100) <= ready_percent));
      if pause > 0 then
        pause := pause - 1;
      end if;
    end loop;
  end process;

  -- A frame is a line: clock of its first m_tvalid, of its first byte, of byte 14, of its last byte; m_tuser; bytes. An
  -- empty line ends a run.
  record_frames : process
    file frames        : text;
    variable l, octets : line;
    variable bytes     : natural := 0;
    variable shown     : boolean := false;
    variable first     : natural;
    variable runs      : natural := 0;
    variable kept      : std_logic_vector(9 downto 0);
    variable must_stay : boolean := false;
  begin
    wait for 1 ps;
    file_open(frames, frames_file, write_mode);
    loop
      wait until rising_edge(clk);
      if rst = '1' then
        deallocate(l);
        deallocate(octets);
        bytes := 0;
        shown := false;
      else
        if must_stay then
          check_equal(m_tvalid, '1', "m_tvalid fell before m_tready");
          check_equal(std_logic_vector'(m_tlast & m_tuser & m_tdata), kept, "the byte changed before m_tready");
        end if;
        if bytes > 0 then
          check_equal(m_tvalid, '1', "a bubble in a frame");
        end if;
        if m_tvalid = '1' and not shown then
          first := cycles;
          shown := true;
        end if;
        if m_tvalid = '1' and m_tready = '1' then
          if bytes = 0 then
            write(l, to_string(first) & " " & to_string(cycles));
          elsif bytes = 14 then
            write(l, " " & to_string(cycles));
          end if;
          hwrite(octets, m_tdata);
          bytes := bytes + 1;
          if m_tlast = '1' then
            write(l, " " & to_string(cycles) & " " & to_string(m_tuser) & " " & octets.all);
            writeline(frames, l);
            deallocate(octets);
            bytes := 0;
            shown := false;
          end if;
        end if;
        if runs /= run_ended then
          runs := run_ended;
          check_equal(bytes, 0, "the run ended within a frame");
          write(l, string'(""));
          writeline(frames, l);
        end if;
      end if;
      must_stay := m_tvalid = '1' and m_tready = '0' and rst = '0';
      kept := m_tlast & m_tuser & m_tdata;
    end loop;
  end process;

  -- A run is a line of numbers in the order of the ports, then the events of the run. The results have the same order.
  stimulate : process
    file runs, results : text;
    variable l         : line;
    variable value     : integer;
    variable stop      : integer;
    variable refused   : std_logic;
    variable began     : natural;

    procedure clocks(number_of : natural) is
    begin
      for i in 1 to number_of loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure get(signal target : out std_logic_vector) is
    begin
      read(l, value);
      target <= std_logic_vector(to_unsigned(value, target'length));
    end procedure;

    procedure get(signal target : out std_logic) is
    begin
      read(l, value);
      target <= to_std_logic(value = 1);
    end procedure;

    procedure put(value : std_logic_vector) is
    begin
      write(l, to_string(to_integer(unsigned(value))) & " ");
    end procedure;

    -- stop: 0 waits for the end; N > 0 clears `enable` after N clocks; -N resets then.
    procedure one_run is
    begin
      get(payload_bytes);
      get(gap_cycles);
      get(frame_count);
      get(udp_mode);
      get(vlan_enable);
      get(vlan_tci);
      get(stream);
      get(time_valid);
      get(fault_kind);
      get(fault_every);
      get(fault_interval);
      get(fault_position);
      get(fault_cut);
      read(l, value);
      ready_percent <= value;
      read(l, stop);
      read(l, value);
      destination <= x"02574C000002";
      source <= x"02574C000001";
      ipv4_source <= x"C6120001";
      ipv4_destination <= x"C6120002";
      udp_source <= x"138B";
      udp_destination <= x"138B";
      enable <= '1';
      began := cycles + 1;
      clocks(2);
      -- Changes from now on must have no effect.
      payload_bytes <= not payload_bytes;
      gap_cycles <= not gap_cycles;
      frame_count <= not frame_count;
      destination <= not destination;
      source <= not source;
      udp_mode <= not udp_mode;
      ipv4_source <= not ipv4_source;
      ipv4_destination <= not ipv4_destination;
      udp_source <= not udp_source;
      udp_destination <= not udp_destination;
      vlan_enable <= not vlan_enable;
      vlan_tci <= not vlan_tci;
      stream <= not stream;
      fault_kind <= not fault_kind;
      fault_every <= not fault_every;
      fault_interval <= not fault_interval;
      fault_position <= not fault_position;
      fault_cut <= not fault_cut;
      if value > 0 then
        clocks(value);
        fault_once <= '1';
        clocks(1);
        fault_once <= '0';
      end if;
      if stop = 0 then
        wait until rising_edge(clk) and (done = '1' or config_error = '1');
      else
        clocks(abs stop);
      end if;
      if stop < 0 then
        rst <= '1';
        clocks(1);
        rst <= '0';
        enable <= '0';
        clocks(1);
        check_equal(busy, '0', "busy after the reset");
        check_equal(m_tvalid, '0', "a byte after the reset");
      end if;
      refused := config_error;
      enable <= '0';
      wait until rising_edge(clk) and busy = '0';
      clocks(3);
      write(l, to_string(began) & " ");
      write(l, to_string(done) & " " & to_string(refused) & " " & to_string(underrun) & " " & to_string(overflow) & " ");
      put(sent_frames);
      put(sent_bytes);
      put(used_sequences);
      put(injected_faults);
      writeline(results, l);
      run_ended <= run_ended + 1;
      clocks(3);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    file_open(runs, runs_file, read_mode);
    file_open(results, frames_file & ".results", write_mode);
    clocks(5);
    rst <= '0';
    clocks(2);
    while test_suite loop
      if run("frames") then
        while not endfile(runs) loop
          readline(runs, l);
          one_run;
        end loop;
      end if;
    end loop;
    file_close(results);
    test_runner_cleanup(runner);
  end process;
  test_runner_watchdog(runner, 100 ms);
end architecture;
