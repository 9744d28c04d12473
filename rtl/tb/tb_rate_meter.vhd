-- Tests of rate_meter: periods of a random stream against sums of its own, with ticks of its clock and of a slower probe.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_rate_meter is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_rate_meter is
  constant PERIOD : time := 8 ns;

  signal clk, enable, clear, line_mode, at_last, valid, ready, last : std_logic := '0';
  signal rst, tick : std_logic := '1';
  signal periods, last_period, shortest, longest : std_logic_vector(31 downto 0);
  signal total : std_logic_vector(47 downto 0);
  signal overflow, small_overflow : std_logic;
  signal small_periods, small_last, small_shortest, small_longest : std_logic_vector(5 downto 0);
  signal small_total : std_logic_vector(21 downto 0);
  -- The signals of a meter whose sum has no more bits than a period.
  signal sum_periods, sum_last, sum_shortest, sum_longest, sum_total : std_logic_vector(5 downto 0);
  signal sum_overflow : std_logic;
  -- The signals of a meter for a line of another clock.
  signal far_periods, far_last, far_shortest, far_longest : std_logic_vector(31 downto 0);
  signal far_total : std_logic_vector(47 downto 0);
  signal far_overflow : std_logic;
  signal cycle : natural := 0;
  -- The probe of 100 MHz: four clocks in five.
  signal slow_probe : boolean := false;
begin
  clk <= not clk after PERIOD / 2;
  cycle <= cycle + 1 when rising_edge(clk);
  -- Cycle k lasts from 8 k ns; an edge of 10 ns falls into it unless k is 4 modulo 5.
  tick <= '0' when slow_probe and cycle mod 5 = 4 else '1';

  unit : entity work.rate_meter
    port map (clk, rst, tick, enable, clear, line_mode, at_last, valid, ready, last,
              periods, last_period, shortest, longest, total, overflow);

  small : entity work.rate_meter
    generic map (BITS => 6)
    port map (clk, rst, tick, enable, clear, line_mode, at_last, valid, ready, last,
              small_periods, small_last, small_shortest, small_longest, small_total, small_overflow);

  short_sum : entity work.rate_meter
    generic map (BITS => 6, MORE_BITS => 0)
    port map (clk, rst, tick, enable, clear, line_mode, at_last, valid, ready, last,
              sum_periods, sum_last, sum_shortest, sum_longest, sum_total, sum_overflow);

  far : entity work.rate_meter
    generic map (SYNCHRONISE => true)
    port map (clk, rst, tick, enable, clear, line_mode, at_last, valid, ready, last,
              far_periods, far_last, far_shortest, far_longest, far_total, far_overflow);

  main : process
    variable random : RandomPType;
    -- Of the stream: cycles of the first and last bytes of frames.
    variable first_at, last_at, seen, least, most, sum, latest : integer;
    variable length, before, now, ticks : integer;
    variable apart : time;
    variable in_frame : boolean;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure note(value : integer) is
    begin
      seen := seen + 1;
      latest := value;
      sum := sum + value;
      least := minimum(least, value);
      most := maximum(most, value);
    end procedure;

    procedure compare is
    begin
      cycles(4);
      check_equal(to_integer(unsigned(periods)), seen, "periods");
      check_equal(to_integer(unsigned(last_period)), latest, "last");
      check_equal(to_integer(unsigned(shortest)), least, "shortest");
      check_equal(to_integer(unsigned(longest)), most, "longest");
      check_equal(to_integer(unsigned(total(30 downto 0))), sum, "total");
      check_equal(overflow, '0', "overflow");
    end procedure;

    -- Ticks up to the end of a cycle.
    impure function ticks_of(cycle : integer) return integer is
    begin
      if slow_probe then
        return cycle + 1 - (cycle + 1) / 5;
      end if;
      return cycle;
    end function;

    procedure clean is
    begin
      clear <= '1';
      cycles(1);
      clear <= '0';
      cycles(2);
      seen := 0;
      sum := 0;
      least := integer'high;
      most := 0;
      before := -1;
    end procedure;

    -- A frame on the line, and the time until the next.
    procedure edge(length : natural) is
    begin
      valid <= '1';
      cycles(1);
      valid <= '0';
      cycles(length - 1);
    end procedure;

    -- The second frame is on the line since this clock; the meters show its period `near` and `far` clocks later.
    procedure expect_latency(near, far : natural) is
    begin
      for clocks in 1 to far + 2 loop
        cycles(1);
        wait for 1 ps;
        check_equal(unsigned(periods) = 1, clocks >= near, to_string(clocks) & " clocks");
        check_equal(unsigned(far_periods) = 1, clocks >= far, to_string(clocks) & " clocks, synchronised");
      end loop;
    end procedure;

    -- Frames of random lengths with pauses; the period is taken at the first or the last byte.
    procedure stream(frames : natural) is
    begin
      for i in 1 to frames loop
        length := random.RandInt(1, 12);
        for k in 1 to length loop
          valid <= '1' when random.RandInt(0, 3) > 0 else '0';
          ready <= '1' when random.RandInt(0, 3) > 0 else '0';
          last  <= '1' when k = length else '0';
          cycles(1);
          while not (valid = '1' and ready = '1') loop
            valid <= '1';
            ready <= '1' when random.RandInt(0, 3) > 0 else '0';
            cycles(1);
          end loop;
          if (at_last = '1' and k = length) or (at_last = '0' and k = 1) then
            -- The unit uses the ticks of the cycle after the byte.
            now := ticks_of(cycle + 1);
            if before >= 0 then
              note(now - before);
            end if;
            before := now;
          end if;
        end loop;
        valid <= '0';
        cycles(random.RandInt(0, 9));
      end loop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("rate" & to_string(seed));
    cycles(4);
    rst <= '0';
    enable <= '1';
    cycles(4);
    while test_suite loop
      if run("first bytes") then
        for i in 1 to 20 loop
          clean;
          stream(random.RandInt(2, 40));
          compare;
        end loop;
      elsif run("last bytes") then
        at_last <= '1';
        clean;
        stream(300);
        compare;
      elsif run("a probe of 100 MHz on a clock of 125 MHz") then
        slow_probe <= true;
        for i in 1 to 20 loop
          clean;
          stream(random.RandInt(2, 40));
          compare;
        end loop;
        -- Frames of 104 cycles, 832 ns: a probe of 10 ns sees 83 and 84 ticks, and their mean is right.
        clean;
        ready <= '1';
        last <= '0';
        line_mode <= '1';
        for i in 1 to 101 loop
          valid <= '1';
          cycles(60);
          valid <= '0';
          cycles(44);
        end loop;
        cycles(4);
        check_equal(to_integer(unsigned(shortest)), 83);
        check_equal(to_integer(unsigned(longest)), 84);
        check_equal(to_integer(unsigned(total(30 downto 0))), 8320);
        check_equal(to_integer(unsigned(periods)), 100);
      elsif run("rising edges of a line") then
        line_mode <= '1';
        clean;
        for i in 1 to 100 loop
          length := random.RandInt(1, 40);
          valid <= '1';
          cycles(1);
          if before >= 0 then
            note(cycle - before);
          end if;
          before := cycle;
          cycles(length);
          valid <= '0';
          cycles(random.RandInt(1, 20));
        end loop;
        compare;
        cycles(2);
        check_equal(far_periods, periods, "periods, synchronised");
        check_equal(far_last, last_period, "last, synchronised");
        check_equal(far_shortest, shortest, "shortest, synchronised");
        check_equal(far_longest, longest, "longest, synchronised");
        check_equal(far_total, total, "total, synchronised");
        check_equal(far_overflow, '0', "overflow, synchronised");
      elsif run("latency: results show a frame three clocks after its byte, five if it is synchronised") then
        line_mode <= '1';
        clean;
        edge(10);
        valid <= '1';
        expect_latency(3, 5);
      elsif run("a line of another clock: no period is more than one off") then
        line_mode <= '1';
        clean;
        for i in 1 to 100 loop
          valid <= '1', '0' after 20 ns;
          wait for 60 ns;
          if i > 1 then
            ticks := to_integer(unsigned(far_last));
            check(ticks * PERIOD > apart - PERIOD and ticks * PERIOD < apart + PERIOD, to_string(ticks) & " ticks");
          end if;
          apart := random.RandInt(100_000, 4_000_000) * 1 ps;
          wait for apart - 60 ns;
        end loop;
        check_equal(to_integer(unsigned(far_periods)), 99, "periods");
      elsif run("nothing while it is not enabled, and no period across the pause") then
        clean;
        stream(10);
        compare;
        enable <= '0';
        valid <= '1';
        ready <= '1';
        last <= '1';
        cycles(50);
        valid <= '0';
        compare;
        cycles(1);
        enable <= '1';
        before := -1;
        stream(10);
        compare;
        rst <= '1';
        cycles(1);
        rst <= '0';
        cycles(2);
        check_equal(periods, std_logic_vector'(x"00000000"));
        check_equal(shortest, std_logic_vector'(x"FFFFFFFF"));
      elsif run("a count that goes over stays seen until it is cleared") then
        -- The small meter has 6 bits: 63 periods, and periods of up to 62 ticks.
        line_mode <= '1';
        clean;
        for i in 1 to 64 loop
          edge(10);
        end loop;
        check_equal(small_overflow, '0');
        check_equal(small_periods, std_logic_vector'("111111"));
        edge(10);
        check_equal(small_overflow, '1', "periods went over");
        edge(10);
        check_equal(small_overflow, '1', "still");
        clean;
        check_equal(small_overflow, '0', "cleared");
        edge(62);
        edge(10);
        edge(10);
        check_equal(small_overflow, '0');
        check_equal(small_longest, std_logic_vector'("111110"));
        edge(200);
        edge(10);
        check_equal(small_overflow, '1', "a period was too long");
        check_equal(small_last, std_logic_vector'("111111"));
        check_equal(overflow, '0', "the large one");
        -- Only the sum overflows: two periods of 30 and one of 10 with 6 bits.
        clean;
        edge(30);
        edge(30);
        edge(10);
        check_equal(sum_total, std_logic_vector'("111100"));
        check_equal(sum_overflow, '0', "the sum fits");
        edge(10);
        check_equal(sum_overflow, '1', "the sum went over");
        check_equal(sum_periods, std_logic_vector'("000011"));
        check_equal(small_overflow, '0', "the sum of more bits");
        clean;
        check_equal(sum_overflow, '0', "cleared");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
