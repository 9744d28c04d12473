-- Tests of mac_rx: right frames, and frames with every damage that a line can do.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.line_pkg.all;

entity tb_mac_rx is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_mac_rx is
  constant PERIOD : time := 8 ns;
  constant SEEN, EXPECTED, TAP_SEEN, TAP_EXPECTED : queue_t := new_queue;
  -- The flags of a frame, added up, follow its bytes in the queues.
  constant BAD : natural := 1;
  constant BAD_FCS : natural := 2;
  constant RX_ERROR : natural := 4;
  constant RUNT : natural := 8;
  constant OVERSIZE : natural := 16;
  constant LIMIT : natural := 400;

  signal clk, gmii_rx_dv, gmii_rx_er : std_logic := '0';
  signal rst, ce : std_logic := '1';
  signal gmii_rxd : std_logic_vector(7 downto 0) := x"00";
  signal max_frame : std_logic_vector(13 downto 0) := std_logic_vector(to_unsigned(LIMIT, 14));
  signal m_tdata, tap_tdata : std_logic_vector(7 downto 0);
  signal m_tvalid, m_tlast, m_tuser, m_bad_fcs, m_rx_error, m_runt, m_oversize : std_logic;
  signal tap_tvalid, tap_start, tap_end, no_sfd, too_short, bad_preamble : std_logic;
  signal pace : natural := 1;
  signal cycle, no_sfds, shorts, bad_preambles : natural := 0;
begin
  clk <= not clk after PERIOD / 2;

  enable_bytes(clk, seed, pace, cycle, ce);

  unit : entity work.mac_rx
    port map (clk, rst, ce, max_frame, gmii_rxd, gmii_rx_dv, gmii_rx_er,
              m_tdata, m_tvalid, m_tlast, m_tuser, m_bad_fcs, m_rx_error, m_runt, m_oversize,
              tap_tdata, tap_tvalid, tap_start, tap_end, no_sfd, too_short, bad_preamble);

  watch : process
    variable bytes, tap_bytes : queue_t := new_queue;

    procedure close(queue, bytes : queue_t; count, flags : natural) is
    begin
      push(queue, 0);
      push(queue, count + 1);
      while not is_empty(bytes) loop
        push(queue, integer'(pop(bytes)));
      end loop;
      push(queue, flags);
    end procedure;

    variable count, tap_count, flags : natural := 0;
  begin
    wait until rising_edge(clk);
    no_sfds       <= no_sfds + 1 when no_sfd = '1';
    shorts        <= shorts + 1 when too_short = '1';
    bad_preambles <= bad_preambles + 1 when bad_preamble = '1';
    flags := to_integer(unsigned'(m_oversize & m_runt & m_rx_error & m_bad_fcs & m_tuser));
    if m_tvalid = '1' then
      push(bytes, to_integer(unsigned(m_tdata)));
      count := count + 1;
      if m_tlast = '1' then
        close(SEEN, bytes, count, flags);
        count := 0;
      end if;
    end if;
    if rst = '0' and (m_tvalid and m_tlast) /= '1' and flags /= 0 then
      check_failed("flags come with tlast alone");
    end if;
    if tap_tvalid = '1' then
      if (tap_start = '1') /= (tap_count = 0) then
        check_failed("the tap's start is its first byte");
      end if;
      push(tap_bytes, to_integer(unsigned(tap_tdata)));
      tap_count := tap_count + 1;
    end if;
    if tap_end = '1' then
      close(TAP_SEEN, tap_bytes, tap_count, 0);
      tap_count := 0;
    end if;
    if rst = '1' then
      flush(bytes);
      flush(tap_bytes);
      count := 0;
      tap_count := 0;
    end if;
  end process;

  main : process
    variable random : RandomPType;
    variable length, place, start, first, last : natural;
    variable frames : natural := 0;

    impure function random_frame(length : natural) return integer_vector is
      variable frame : integer_vector(0 to length - 1);
    begin
      for i in frame'range loop
        frame(i) := random.RandInt(0, 255);
      end loop;
      return frame;
    end function;

    procedure line(carrier : integer_vector; silence : natural := 12) is
    begin
      send_line(clk, ce, carrier, silence, gmii_rxd, gmii_rx_dv, gmii_rx_er);
    end procedure;

    procedure expect(frame : integer_vector; flags : natural := 0; what : string := "") is
    begin
      expect_carrier(EXPECTED, frame & flags, 0, what => what);
      frames := frames + 1;
    end procedure;

    procedure expect_tap(frame : integer_vector) is
    begin
      expect_carrier(TAP_EXPECTED, frame & 0, 0);
    end procedure;

    procedure good(frame : integer_vector; before : natural := 7; silence : natural := 12) is
    begin
      expect(frame, what => to_string(frame'length));
      expect_tap(with_fcs(frame));
      line(preamble_of(before) & with_fcs(frame), silence);
    end procedure;

    procedure finish(no_sfd, too_short, bad_preamble : natural := 0) is
    begin
      line((1 to 0 => 0), 20);
      compare(SEEN, EXPECTED);
      compare(TAP_SEEN, TAP_EXPECTED);
      check_equal(no_sfds, no_sfd, "carriers without SFD");
      check_equal(shorts, too_short, "too short");
      check_equal(bad_preambles, bad_preamble, "damaged preambles");
    end procedure;

    -- A frame of `length` bytes with FCS, unchanged or with one wrong bit.
    impure function received(length : natural; broken : boolean := false) return integer_vector is
      variable frame : integer_vector(0 to length - 1) := with_fcs(random_frame(length - 4));
      variable at, mask : natural;
    begin
      if broken then
        at := random.RandInt(0, length - 1);
        mask := 2 ** random.RandInt(0, 7);
        frame(at) := to_integer(unsigned(octet(frame(at)) xor octet(mask)));
      end if;
      return frame;
    end function;

    variable frame : integer_vector(0 to 2000);
    variable carrier : integer_vector(0 to 100);
    variable any : boolean;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("mac_rx" & to_string(seed));
    line((1 to 0 => 0), 4);
    rst <= '0';
    line((1 to 0 => 0), 4);

    while test_suite loop
      if run("right frames of random sizes at every pace, down to a gap of one") then
        for i in 1 to 150 loop
          pace <= random.RandInt(0, 3);
          good(random_frame(random.RandInt(60, 200)), silence => random.RandInt(1, 30));
        end loop;
        good(random_frame(60));
        good(random_frame(LIMIT - 4));
        finish;

      elsif run("latency: a byte six cycles after it is on the wire, the last one after the carrier") then
        frame(0 to 99) := random_frame(100);
        expect(frame(0 to 99));
        expect_tap(with_fcs(frame(0 to 99)));
        send_line(clk, ce, PREAMBLE, 0, gmii_rxd, gmii_rx_dv, gmii_rx_er);
        start := cycle;
        line(with_fcs(frame(0 to 99))(0 to 4), 0);
        check_equal(m_tvalid, '0', "nothing yet");
        gmii_rx_dv <= '1';
        line(with_fcs(frame(0 to 99))(5 to 5), 0);
        gmii_rx_dv <= '1';
        -- The first byte was read by the edge after `start`.
        line(with_fcs(frame(0 to 99))(6 to 6), 0);
        check_equal(m_tvalid, '1', "the first byte");
        check_equal(cycle - start, 7);
        line(with_fcs(frame(0 to 99))(7 to 103), 0);
        wait until rising_edge(clk);
        start := cycle;
        wait until rising_edge(clk) and m_tlast = '1';
        check_equal(cycle - start, 1, "cycles from the fall of rx_dv");
        finish;

      elsif run("a preamble may be short, long or missing") then
        for before in 0 to 40 loop
          good(random_frame(60 + before), before);
        end loop;
        finish;

      elsif run("damage in the preamble is counted, and the frame found if the SFD and the byte before it are right") then
        for at in 0 to 6 loop
          frame(0 to 67) := PREAMBLE & random_frame(60);
          frame(at) := 16#54# when random.RandInt(0, 1) = 0 else 16#55# + ERROR_MARK;
          if at < 6 then
            expect(frame(8 to 67), what => "damage at " & to_string(at));
            expect_tap(with_fcs(frame(8 to 67)));
            line(frame(0 to 7) & with_fcs(frame(8 to 67)));
          else
            -- No byte after it may be taken for an SFD.
            line(frame(0 to 7) & (8 to 71 => 16#33#));
          end if;
        end loop;
        line(PREAMBLE(0 to 6) & 16#D4# & (8 to 71 => 16#11#));
        line(PREAMBLE(0 to 6) & (16#D5# + ERROR_MARK) & (8 to 71 => 16#11#));
        line((0 => 16#55#));
        good(random_frame(60));
        finish(no_sfd => 4, bad_preamble => 6);

      elsif run("rx_er anywhere in a frame makes it bad") then
        for i in 1 to 100 loop
          length := random.RandInt(64, 100);
          frame(0 to length - 1) := received(length);
          place := random.RandInt(0, length - 1);
          expect(frame(0 to length - 5), BAD + RX_ERROR, to_string(place));
          expect_tap(frame(0 to length - 1));
          carrier(0 to length - 1) := frame(0 to length - 1);
          carrier(place) := carrier(place) + ERROR_MARK;
          line(PREAMBLE & carrier(0 to length - 1));
          good(random_frame(60));
        end loop;
        -- Outside of a frame rx_er has no effect.
        gmii_rx_er <= '1';
        for i in 1 to 10 loop
          wait until rising_edge(clk) and ce = '1';
        end loop;
        good(random_frame(60));
        finish;

      elsif run("a wrong bit anywhere makes the FCS wrong") then
        for i in 1 to 200 loop
          length := random.RandInt(64, 100);
          frame(0 to length - 1) := received(length, true);
          expect(frame(0 to length - 5), BAD + BAD_FCS);
          expect_tap(frame(0 to length - 1));
          line(PREAMBLE & frame(0 to length - 1));
        end loop;
        good(random_frame(60));
        finish;

      elsif run("runts are bad whatever their FCS says, and those without a byte are counted") then
        for bytes in 0 to 63 loop
          any := bytes mod 2 = 1;
          if bytes < 5 then
            expect_tap((1 to bytes => 7));
            line(PREAMBLE & (1 to bytes => 7));
          else
            frame(0 to bytes - 1) := received(bytes, any);
            if any then
              expect(frame(0 to bytes - 5), BAD + BAD_FCS + RUNT, to_string(bytes));
            else
              expect(frame(0 to bytes - 5), BAD + RUNT, to_string(bytes));
            end if;
            expect_tap(frame(0 to bytes - 1));
            line(PREAMBLE & frame(0 to bytes - 1));
          end if;
        end loop;
        good(random_frame(60));
        finish(too_short => 5);

      elsif run("what is too long is cut off, and the next frame is right") then
        for over in 1 to 20 loop
          good(random_frame(LIMIT - 4));
          length := LIMIT + over * over;
          frame(0 to length - 1) := received(length);
          expect(frame(0 to LIMIT - 5), BAD + OVERSIZE, to_string(length));
          expect_tap(frame(0 to LIMIT - 1));
          line(PREAMBLE & frame(0 to length - 1));
        end loop;
        good(random_frame(60));
        max_frame <= (others => '1');
        good(random_frame(1514));
        finish;

      elsif run("a limit that changes within a frame holds from the next one on") then
        frame(0 to LIMIT - 5) := random_frame(LIMIT - 4);
        expect(frame(0 to LIMIT - 5));
        expect_tap(with_fcs(frame(0 to LIMIT - 5)));
        line(PREAMBLE & frame(0 to 299), 0);
        gmii_rx_dv <= '1';
        max_frame  <= std_logic_vector(to_unsigned(100, 14));
        line(frame(300 to LIMIT - 5) & fcs_of(frame(0 to LIMIT - 5)));
        expect(frame(0 to 95), BAD + OVERSIZE);
        expect_tap(frame(0 to 99));
        line(PREAMBLE & frame(0 to 49), 0);
        gmii_rx_dv <= '1';
        max_frame  <= std_logic_vector(to_unsigned(LIMIT, 14));
        line(frame(50 to LIMIT - 5));
        good(random_frame(LIMIT - 4));
        finish;

      elsif run("a limit of 0 is one of 1") then
        for i in 0 to 1 loop
          max_frame <= std_logic_vector(to_unsigned(i, 14));
          frame(0 to 199) := random_frame(200);
          expect_tap(frame(0 to 0));
          line(PREAMBLE & frame(0 to 199));
        end loop;
        finish(too_short => 2);

      elsif run("after a reset the rest of a frame is no frame") then
        for i in 1 to 60 loop
          place := random.RandInt(1, 70);
          -- A preamble in the middle, which must not be found.
          frame(0 to 71) := PREAMBLE & random_frame(56) & PREAMBLE;
          line(frame(0 to place), 0);
          gmii_rx_dv <= '1';
          rst <= '1';
          for k in 0 to random.RandInt(0, 2) loop
            wait until rising_edge(clk);
          end loop;
          rst <= '0';
          line(PREAMBLE & with_fcs(random_frame(60)), random.RandInt(1, 20));
          good(random_frame(60));
          line((1 to 0 => 0), 4);
          compare(SEEN, EXPECTED);
          compare(TAP_SEEN, TAP_EXPECTED);
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
