-- Tests of mac_tx: every byte on the line, exact gaps, and frames whose next byte is missing.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.line_pkg.all;

entity tb_mac_tx is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_mac_tx is
  constant PERIOD : time := 8 ns;
  constant SEEN, EXPECTED : queue_t := new_queue;

  signal clk : std_logic := '0';
  signal rst, ce : std_logic := '1';
  signal gap, s_tdata : std_logic_vector(7 downto 0) := x"0C";
  signal s_tvalid, s_tready, s_tlast, s_tuser : std_logic := '0';
  signal gmii_txd : std_logic_vector(7 downto 0);
  signal gmii_tx_en, gmii_tx_er, sent, underrun : std_logic;
  -- One clock in this many, or at random if 0.
  signal pace : natural := 1;
  signal sent_count, underrun_count, cycle : natural := 0;
begin
  clk <= not clk after PERIOD / 2;

  enable_bytes(clk, seed, pace, cycle, ce);

  unit : entity work.mac_tx
    port map (clk, rst, ce, gap, s_tdata, s_tvalid, s_tready, s_tlast, s_tuser,
              gmii_txd, gmii_tx_en, gmii_tx_er, sent, underrun);

  watch_line(clk, ce, gmii_txd, gmii_tx_en, gmii_tx_er, SEEN);

  process (clk)
  begin
    if rising_edge(clk) then
      sent_count     <= sent_count + 1 when sent = '1';
      underrun_count <= underrun_count + 1 when underrun = '1';
    end if;
  end process;

  main : process
    variable random : RandomPType;
    variable start, first, cut, hole : natural;

    -- Offers a frame, without a pause unless `hole` names a byte before which there is one.
    procedure offer(frame : integer_vector; wrong_fcs : std_logic := '0'; hole : natural := natural'high) is
      variable before : natural;
    begin
      for i in 0 to frame'length - 1 loop
        if i = hole then
          before   := underrun_count;
          s_tvalid <= '0';
          wait until underrun_count > before for 500 * PERIOD;
          check_equal(underrun_count, before + 1, "underruns");
        end if;
        s_tdata  <= octet(frame(frame'low + i));
        s_tvalid <= '1';
        s_tlast  <= '1' when i = frame'length - 1 else '0';
        s_tuser  <= wrong_fcs when i = frame'length - 1 else '0';
        wait until rising_edge(clk) and s_tready = '1';
      end loop;
      s_tvalid <= '0';
      s_tlast  <= '0';
    end procedure;

    -- Offers a frame that must be on the line as the standard requires.
    procedure send(frame : integer_vector; least_gap : natural; most_gap : natural := natural'high) is
    begin
      expect_carrier(EXPECTED, PREAMBLE & with_fcs(padded(frame)), least_gap, most_gap, to_string(frame'length));
      offer(frame);
    end procedure;

    procedure rest(bytes : natural := 100) is
    begin
      for i in 1 to bytes loop
        wait until rising_edge(clk) and ce = '1';
      end loop;
    end procedure;

    procedure finish(frames, underruns : natural) is
    begin
      rest(300);
      compare(SEEN, EXPECTED);
      check_equal(sent_count, frames, "frames sent");
      check_equal(underrun_count, underruns, "underruns");
    end procedure;

    impure function random_frame(length : natural) return integer_vector is
      variable frame : integer_vector(0 to length - 1);
    begin
      for i in frame'range loop
        frame(i) := random.RandInt(0, 255);
      end loop;
      return frame;
    end function;

    impure function any_frame return integer_vector is
    begin
      case random.RandInt(0, 3) is
        when 0 => return random_frame(random.RandInt(1, 60));
        when 1 => return random_frame(random.RandInt(58, 66));
        when others => return random_frame(random.RandInt(60, 300));
      end case;
    end function;

    impure function turned(fcs : integer_vector) return integer_vector is
    begin
      return (255 - fcs(0), 255 - fcs(1), 255 - fcs(2), 255 - fcs(3));
    end function;

    constant LENGTHS : integer_vector := (1, 14, 59, 60, 61, 80, 452, 1514);
    constant GAPS    : integer_vector := (0, 1, 2, 5, 12, 13, 40, 255);
    variable cycles  : natural := 0;

    variable frame : integer_vector(0 to 99);
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("mac_tx" & to_string(seed));
    rest(5);
    rst <= '0';
    rest;

    while test_suite loop
      if run("back to back frames have a gap of exactly 12 and take length plus 24 cycles") then
        send(any_frame, 12);
        for repetition in 1 to 3 loop
          for i in LENGTHS'range loop
            -- From the end of one frame's data to that of the next.
            start := cycle;
            send(random_frame(LENGTHS(i)), 12, 12);
            cycles := maximum(LENGTHS(i), 60) + 24;
            if repetition > 1 and i > 0 and LENGTHS(i - 1) >= 60 and LENGTHS(i) >= 60 then
              check_equal(cycle - start, cycles, "cycles of a frame of " & to_string(LENGTHS(i)));
            end if;
          end loop;
        end loop;
        finish(3 * LENGTHS'length + 1, 0);

      elsif run("latency: the preamble one cycle after the first byte is offered, the byte itself nine") then
        frame := random_frame(100);
        expect_carrier(EXPECTED, PREAMBLE & with_fcs(frame), 12);
        s_tvalid <= '1';
        s_tdata  <= octet(frame(0));
        wait until rising_edge(clk);
        start := cycle;
        wait until rising_edge(clk) and gmii_tx_en = '1';
        first := cycle - start;
        wait until rising_edge(clk) and s_tready = '1';
        s_tdata <= octet(frame(1));
        check_equal(first, 1, "cycles to the preamble");
        wait until rising_edge(clk);
        check_equal(gmii_txd, octet(frame(0)), "the first byte");
        check_equal(cycle - start, 9, "cycles to the first byte");
        offer(frame(2 to 99));
        finish(1, 0);
        info("latency of mac_tx: preamble " & to_string(first) & " cycle");

      elsif run("random frames, pauses and byte enables") then
        for i in 1 to 150 loop
          pace <= random.RandInt(0, 3);
          send(any_frame, 12);
          for k in 1 to random.RandInt(-30, 60) loop
            wait until rising_edge(clk);
          end loop;
        end loop;
        finish(150, 0);

      elsif run("at a tenth of the pace") then
        pace <= 10;
        send(any_frame, 12);
        for i in 1 to 12 loop
          send(any_frame, 12, 12);
        end loop;
        finish(13, 0);

      elsif run("the gap is as long as asked") then
        send(any_frame, 12);
        for i in GAPS'range loop
          wait until rising_edge(clk) and gmii_tx_en = '1';
          gap <= octet(GAPS(i));
          send(any_frame, maximum(GAPS(i), 1), maximum(GAPS(i), 1));
        end loop;
        finish(GAPS'length + 1, 0);

      elsif run("a gap that is shortened or stretched while it runs is as long as it began") then
        send(any_frame, 12);
        for i in GAPS'range loop
          wait until rising_edge(clk) and gmii_tx_en = '1';
          gap <= x"28";
          wait until rising_edge(clk) and gmii_tx_en = '0';
          rest(20);
          gap <= octet(GAPS(i));
          send(any_frame, 40, 40);
        end loop;
        finish(GAPS'length + 1, 0);

      elsif run("a wrong FCS where asked, and only there") then
        for i in 1 to 20 loop
          cut := random.RandInt(60, 100);
          frame := random_frame(100);
          if i mod 2 = 0 then
            send(frame(0 to cut - 1), 12);
          else
            expect_carrier(EXPECTED, PREAMBLE & frame(0 to cut - 1) & turned(fcs_of(frame(0 to cut - 1))), 12);
            offer(frame(0 to cut - 1), '1');
          end if;
        end loop;
        finish(20, 0);

      elsif run("an underrun marks an error, ends the frame without FCS, and the next one is right") then
        for i in 1 to 40 loop
          pace <= i mod 3;
          frame := random_frame(100);
          hole := random.RandInt(1, 99);
          -- The error byte repeats the data of the stopped stream.
          expect_carrier(EXPECTED, PREAMBLE & frame(0 to hole - 1) & (frame(hole - 1) + ERROR_MARK), 12);
          offer(frame, hole => hole);
          send(any_frame, 12);
        end loop;
        finish(40, 40);

      elsif run("a reset within a frame ends it, and the next one keeps its distance") then
        for i in 1 to 40 loop
          pace  <= 1;
          frame := random_frame(100);
          cut   := random.RandInt(0, 110);
          s_tvalid <= '1';
          s_tdata  <= octet(frame(0));
          for k in 0 to cut loop
            wait until rising_edge(clk);
          end loop;
          rst <= '1';
          s_tvalid <= '0';
          for k in 0 to random.RandInt(0, 2) loop
            wait until rising_edge(clk);
          end loop;
          rst <= '0';
          -- The bytes sent until then are not checked.
          wait until rising_edge(clk);
          check_equal(gmii_tx_en, '0', "after the reset");
          wait until rising_edge(clk);
          wait until rising_edge(clk);
          flush(SEEN);
          send(any_frame, 12);
          rest(80);
          compare(SEEN, EXPECTED);
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
