-- Tests of frame_sender: pieces of any length at any place make frames, which go to the line whole and in order.
--
-- The line takes bytes at random. sending_account compares each clock of the stream with its own copy of the slots.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.ethernet_pkg.to_std_logic;
use work.line_pkg.octet;

entity tb_frame_sender is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_frame_sender is
  constant PERIOD     : time := 10 ns;
  constant SLOT_BYTES : natural := 2048;
  constant SHORTEST   : natural := 14;
  constant LONGEST    : natural := 1518;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal write_address : std_logic_vector(11 downto 0) := (others => '0');
  signal write_data : std_logic_vector(31 downto 0) := (others => '0');
  signal write_bytes : std_logic_vector(3 downto 0) := "0000";
  signal go, busy : std_logic_vector(1 downto 0) := "00";
  signal lengths : std_logic_vector(21 downto 0) := (others => '0');
  signal refused : std_logic;
  signal m_tdata : std_logic_vector(7 downto 0);
  signal m_tvalid, m_tready, m_tlast : std_logic := '0';

  -- Clocks in which the line takes a byte, in percent.
  signal pace : natural := 70;
  signal frames_sent, both_waited, refused_busy : natural;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.frame_sender
    port map (
      clk, rst, write_address, write_data, write_bytes, go, lengths, busy, refused, m_tdata, m_tvalid, m_tready, m_tlast
    );

  take : process
    variable random : RandomPType;
  begin
    random.InitSeed("taker" & to_string(seed));
    loop
      wait until falling_edge(clk);
      m_tready <= to_std_logic(random.RandInt(1, 100) <= pace);
    end loop;
  end process;

  sending : entity work.sending_account
    port map (
      clk, rst, write_address, write_data, write_bytes, go, lengths, busy, refused, m_tdata, m_tvalid, m_tready, m_tlast,
      frames_sent, both_waited, refused_busy, open
    );

  main : process
    variable random : RandomPType;
    variable slots_asked : natural;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    -- Four random bytes at a place; only those of the mask are written, none beyond the slot.
    procedure put(address : natural; mask : std_logic_vector(3 downto 0)) is
    begin
      write_address <= std_logic_vector(to_unsigned(address, 12));
      write_bytes   <= mask;
      for i in 0 to 3 loop
        write_data(8 * i + 7 downto 8 * i) <= octet(random.RandInt(0, 255));
      end loop;
    end procedure;

    procedure stop_writing is
    begin
      write_bytes <= "0000";
      write_data  <= (others => '1');
    end procedure;

    -- New content in all of a slot's first bytes, in pieces of one to four. The clock of the last piece is still to come.
    procedure fill(slot, bytes : natural) is
      variable at, piece : natural;
    begin
      at := 0;
      while at < bytes loop
        piece := random.RandInt(1, 4);
        put(SLOT_BYTES * slot + at, std_logic_vector(to_unsigned(2**piece - 1, 4)));
        at := at + piece;
        if at < bytes then
          cycles(1);
          stop_writing;
          cycles(random.RandInt(0, 1) * random.RandInt(0, 3));
        end if;
      end loop;
    end procedure;

    -- Requests in the clock in which the last byte is written.
    procedure ask(which : std_logic_vector(1 downto 0); first_bytes, second_bytes : natural := 14) is
    begin
      lengths <= std_logic_vector(to_unsigned(second_bytes, 11)) & std_logic_vector(to_unsigned(first_bytes, 11));
      go      <= which;
      cycles(1);
      go      <= "00";
      lengths <= (others => '1');
      stop_writing;
    end procedure;

    impure function some_length return natural is
    begin
      if random.RandInt(0, 9) = 0 then
        return random.RandInt(SHORTEST, LONGEST);
      end if;
      return random.RandInt(SHORTEST, 90);
    end function;

    procedure wait_until_idle is
    begin
      -- A request of the previous clock shows from now on.
      cycles(1);
      while busy /= "00" loop
        cycles(1);
      end loop;
    end procedure;

    procedure send_at_random(frames : natural; resets : boolean) is
      variable slot, bytes : natural;
    begin
      for number in 1 to frames loop
        pace <= 100 when random.RandInt(0, 2) = 0 else random.RandInt(5, 100);
        slot := random.RandInt(0, 1);
        wait until rising_edge(clk) and busy(slot) = '0';
        bytes := some_length;
        fill(slot, bytes);
        if resets and random.RandInt(0, 4) = 0 then
          ask(std_logic_vector(to_unsigned(2**slot, 2)), bytes, bytes);
          cycles(random.RandInt(0, bytes));
          rst <= '1';
          -- A request during the reset is neither sent nor refused.
          ask("11", SHORTEST - random.RandInt(0, 1), LONGEST + random.RandInt(0, 1));
          cycles(random.RandInt(0, 1));
          rst <= '0';
          -- The bytes written before the reset are still there.
          cycles(random.RandInt(0, 2));
        end if;
        if busy(slot) = '0' then
          ask(std_logic_vector(to_unsigned(2**slot, 2)), bytes, bytes);
        end if;
        cycles(random.RandInt(0, 1) * random.RandInt(0, 40));
      end loop;
      wait_until_idle;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("sender" & to_string(seed));
    cycles(3);
    rst <= '0';
    cycles(1);
    while test_suite loop
      if run("frames of pieces at random, both slots in turns, a line that takes when it likes") then
        send_at_random(300, resets => false);
        check_equal(frames_sent, 300, "frames");
        check(both_waited > 20, "one was asked for while the other went");
      elsif run("resets at any time stop a frame and leave what was written") then
        send_at_random(200, resets => true);
        check(frames_sent >= 150, "frames were sent");
      elsif run("slots asked for at any time go once, those that are busy are refused and go as they were") then
        fill(0, 90);
        cycles(1);
        fill(1, 90);
        cycles(1);
        stop_writing;
        for round in 1 to 3000 loop
          pace <= random.RandInt(50, 100);
          slots_asked := random.RandInt(1, 3);
          ask(std_logic_vector(to_unsigned(slots_asked, 2)), random.RandInt(SHORTEST, 90), random.RandInt(SHORTEST, 90));
          cycles(random.RandInt(0, 60));
        end loop;
        wait_until_idle;
        check(frames_sent > 500 and refused_busy > 500 and both_waited > 100, "all of it came to pass");
      elsif run("both asked for at once go in the order of their numbers") then
        for round in 1 to 5 loop
          fill(0, 60);
          cycles(1);
          fill(1, 61);
          ask("11", 60, 61);
          wait_until_idle;
        end loop;
        check_equal(frames_sent, 10, "frames");
      elsif run("pieces with gaps in them, and over the end of a slot, change their own bytes alone") then
        fill(0, SLOT_BYTES);
        cycles(1);
        fill(1, SLOT_BYTES);
        cycles(1);
        for i in 1 to 2000 loop
          put(random.RandInt(0, 2 * SLOT_BYTES - 1), std_logic_vector(to_unsigned(random.RandInt(0, 15), 4)));
          cycles(1);
        end loop;
        -- The last bytes of slot 0 are next to the first of slot 1, and those of slot 1 next to the first of slot 0.
        for address in SLOT_BYTES - 4 to SLOT_BYTES - 1 loop
          put(address, "1111");
          cycles(1);
          put(SLOT_BYTES + address, "1111");
          cycles(1);
        end loop;
        stop_writing;
        pace <= 100;
        ask("11", LONGEST, LONGEST);
        wait_until_idle;
        check_equal(frames_sent, 2, "frames");
      elsif run("the shortest and the longest go, and no other length does, whatever the other slot does") then
        fill(0, LONGEST);
        cycles(1);
        fill(1, LONGEST);
        cycles(1);
        stop_writing;
        for bytes in 0 to SLOT_BYTES - 1 loop
          if bytes <= SHORTEST or bytes >= LONGEST then
            ask("10", 0, 40);
            ask("01", bytes, 0);
            wait_until_idle;
            ask("11", bytes, 20);
            wait_until_idle;
          end if;
        end loop;
        -- Each round sends two frames of slot 1; the two valid lengths send two of slot 0 as well.
        check_equal(frames_sent, 2 * (SHORTEST + 1 + SLOT_BYTES - LONGEST) + 2 * 2, "frames");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
