-- Tests of capture_unit: exact counts, starts and stops out of order, and a full memory.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_capture_unit is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_capture_unit is
  constant PERIOD : time := 10 ns;
  constant EXPECTED : queue_t := new_queue;

  signal clk, enable, clear, start, stop, read_next : std_logic := '0';
  signal rst : std_logic := '1';
  signal read_data, missed : std_logic_vector(31 downto 0);
  signal level : std_logic_vector(9 downto 0);
  signal busy, overflow, saturated : std_logic;
  -- The signals of a unit whose counts have 6 bits.
  signal small_data, small_missed : std_logic_vector(31 downto 0);
  signal small_level : std_logic_vector(9 downto 0);
  signal small_busy, small_overflow, small_saturated : std_logic;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.capture_unit
    port map (clk, rst, enable, clear, start, stop, read_data, read_next, level, busy, missed, overflow, saturated);

  small : entity work.capture_unit
    generic map (COUNT_BITS => 6)
    port map (clk, rst, enable, clear, start, stop, small_data, read_next, small_level, small_busy, small_missed,
              small_overflow, small_saturated);

  main : process
    variable random : RandomPType;
    variable length, running, began, misses, at : integer;
    variable turn_start, turn_stop, starts, stops : boolean;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    -- One start and one stop, `length` clocks apart, each up for a while.
    procedure measure(length : natural) is
      constant START_UP : natural := random.RandInt(1, 20);
      constant STOP_UP : natural := random.RandInt(1, 20);
    begin
      for i in 0 to length + 20 loop
        start <= '1' when i < START_UP else '0';
        stop  <= '1' when i >= length and i < length + STOP_UP else '0';
        cycles(1);
      end loop;
      start <= '0';
      stop  <= '0';
      cycles(random.RandInt(2, 5));
    end procedure;

    procedure read_all(records : natural) is
    begin
      cycles(5);
      check_equal(to_integer(unsigned(level)), records, "records");
      for i in 1 to records loop
        check_equal(to_integer(unsigned(read_data)), integer'(pop(EXPECTED)), "record " & to_string(i));
        read_next <= '1';
        cycles(1);
        read_next <= '0';
        cycles(2);
      end loop;
      cycles(1);
      check_equal(to_integer(unsigned(level)), 0, "records left");
    end procedure;

    procedure expect_flags(missed_starts : natural; over : std_logic := '0') is
    begin
      check_equal(to_integer(unsigned(missed)), missed_starts, "missed starts");
      check_equal(overflow, over, "overflow");
      check_equal(saturated, '0', "saturated");
    end procedure;

    -- The oldest record of the small unit, and whether it reports saturation.
    procedure expect_small(oldest : natural; full_count : std_logic) is
    begin
      cycles(5);
      check_equal(to_integer(unsigned(small_data)), oldest, "oldest record of 6 bits");
      check_equal(small_saturated, full_count, "saturated of 6 bits");
      read_next <= '1';
      cycles(1);
      read_next <= '0';
      cycles(2);
    end procedure;

    procedure forget is
    begin
      clear <= '1';
      cycles(1);
      clear <= '0';
      cycles(2);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("capture" & to_string(seed));
    cycles(4);
    rst <= '0';
    enable <= '1';
    cycles(4);

    while test_suite loop
      if run("every count is exact, read at any time") then
        for block_number in 1 to 6 loop
          length := random.RandInt(1, 40);
          for i in 1 to length loop
            at := random.RandInt(0, 300);
            push(EXPECTED, at);
            measure(at);
          end loop;
          read_all(length);
        end loop;
        expect_flags(0);

      elsif run("512 records are kept, the next is lost and the loss seen") then
        for i in 1 to 512 loop
          push(EXPECTED, i mod 7);
          measure(i mod 7);
        end loop;
        check_equal(to_integer(unsigned(level)), 512, "records");
        expect_flags(0);
        measure(9);
        expect_flags(0, over => '1');
        read_all(512);
        expect_flags(0, over => '1');
        forget;
        expect_flags(0);
        push(EXPECTED, 5);
        measure(5);
        read_all(1);

      elsif run("signals of another clock: no count is more than one off") then
        for i in 1 to 100 loop
          length := random.RandInt(50, 4000);
          wait for random.RandInt(0, 9999) * 1 ps;
          start <= '1', '0' after 15 ns;
          wait for length * 1 ns;
          stop <= '1', '0' after 15 ns;
          cycles(8);
          at := to_integer(unsigned(read_data));
          check(at * PERIOD > (length * 1 ns) - PERIOD and at * PERIOD < (length * 1 ns) + PERIOD, to_string(at));
          read_next <= '1';
          cycles(1);
          read_next <= '0';
          cycles(3);
        end loop;

      elsif run("random starts and stops, against a count of its own") then
        running := 0;
        misses := 0;
        began := 0;
        for i in 1 to 3000 loop
          -- Only edges count, not levels.
          turn_start := random.RandInt(0, 9) = 0;
          turn_stop := random.RandInt(0, 9) = 0;
          starts := turn_start and start = '0';
          stops := turn_stop and stop = '0';
          start <= not start when turn_start;
          stop <= not stop when turn_stop;
          if stops and (starts or running = 1) then
            push(EXPECTED, (i - began) * running);
          elsif starts and running = 1 then
            misses := misses + 1;
          end if;
          if starts and (stops or running = 0) then
            began := i;
          end if;
          if starts /= stops then
            running := 1 when starts else 0;
          end if;
          cycles(1);
        end loop;
        start <= '0';
        cycles(8);
        length := to_integer(unsigned(level));
        check(length > 50, "records of the random run");
        read_all(length);
        check(is_empty(EXPECTED), "no record is missing");
        expect_flags(misses);
        check(misses > 10, "missed starts of the random run");

      elsif run("a count stays at its end, and that is seen until it is cleared") then
        -- With 6 bits, 62 is exact and 63 may be more.
        measure(62);
        expect_small(62, '0');
        measure(63);
        expect_small(63, '1');
        measure(20);
        expect_small(20, '1');
        forget;
        measure(200);
        expect_small(63, '1');
        forget;
        measure(62);
        expect_small(62, '0');
        check_equal(small_overflow, '0', "overflow of 6 bits");
        expect_flags(0);

      elsif run("missed starts stay at their end, and that is seen until it is cleared") then
        -- The first start is not missed.
        for starts in 1 to 65 loop
          start <= '1';
          cycles(3);
          start <= '0';
          cycles(3);
          if starts = 64 then
            check_equal(to_integer(unsigned(small_missed)), 63, "missed starts of 6 bits");
            check_equal(small_saturated, '0', "saturated while it is their number");
          end if;
        end loop;
        check_equal(to_integer(unsigned(small_missed)), 63, "missed starts of 6 bits, one more");
        check_equal(small_saturated, '1', "saturated by one more");
        expect_flags(64);
        forget;
        check_equal(to_integer(unsigned(small_missed)), 0, "missed starts after the clear");
        check_equal(small_saturated, '0', "saturated after the clear");

      elsif run("start and stop in the same clock") then
        push(EXPECTED, 0);
        measure(0);
        -- During a count, the stop ends it, and the start opens the next one.
        start <= '1';
        cycles(3);
        start <= '0';
        cycles(4);
        start <= '1';
        stop <= '1';
        push(EXPECTED, 7);
        cycles(2);
        start <= '0';
        stop <= '0';
        cycles(9);
        stop <= '1';
        push(EXPECTED, 11);
        cycles(2);
        stop <= '0';
        read_all(2 + 1);
        expect_flags(0);

      elsif run("nothing is counted while it is not enabled, nor after a reset within a count") then
        enable <= '0';
        measure(10);
        check_equal(busy, '0');
        enable <= '1';
        start <= '1';
        cycles(8);
        check_equal(busy, '1');
        enable <= '0';
        cycles(2);
        check_equal(busy, '0');
        enable <= '1';
        stop <= '1';
        cycles(8);
        stop <= '0';
        start <= '0';
        cycles(4);
        start <= '1';
        cycles(8);
        rst <= '1';
        cycles(1);
        rst <= '0';
        cycles(4);
        check_equal(busy, '0', "a level that was up before the reset is no edge");
        stop <= '1';
        cycles(8);
        stop <= '0';
        start <= '0';
        cycles(4);
        push(EXPECTED, 12);
        measure(12);
        read_all(1);
        expect_flags(0);

      elsif run("latency: a record can be read six clocks after the stop") then
        start <= '1';
        cycles(10);
        stop <= '1';
        at := 0;
        while level = "0000000000" and at < 20 loop
          cycles(1);
          at := at + 1;
        end loop;
        check_equal(at, 6, "clocks");
        check_equal(to_integer(unsigned(read_data)), 10);
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
