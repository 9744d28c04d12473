-- Tests of gmii_elastic: clocks that differ by as much as the standard allows, in each direction and at any phase, and whole
-- carriers of any length; then resets of either side, clocks that differ more or stop, and the marked cuts that follow.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.line_pkg.all;

entity tb_gmii_elastic is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_gmii_elastic is
  constant PERIOD : time := 8 ns;
  -- The tolerance of either clock by clause 40.6.1 of IEEE Std 802.3: 100 ppm.
  constant FAST : time := PERIOD * 9_999 / 10_000;
  constant SLOW : time := PERIOD * 10_001 / 10_000;
  -- The longest frame that mac_rx can be set to, with its preamble.
  constant LONGEST : positive := 16_383 + 8;
  -- A frame of 9,216 bytes with its preamble.
  constant JUMBO : positive := 9_216 + 8;
  -- The most by which silence can change: the difference of the clocks within the longest carrier, and a clock at each end.
  constant GIVE : natural := 5;
  -- Clocks between a reset of the PHY's side and the first carrier that is kept.
  constant SETTLING : natural := 17;
  constant SEEN, EXPECTED : queue_t := new_queue;

  signal clk, rx_clk : std_logic := '0';
  signal period_clk, period_rx : time := PERIOD;
  -- Delays the next edge of the PHY's clock once.
  signal phase : time := 0 ns;
  signal stands : boolean := false;
  signal rst, rx_rst : std_logic;
  signal at_first, one : std_logic := '1';
  -- Resets of either side during carriers: the time after a change of `upset`, and how many clocks; 0: none.
  signal upset : boolean := false;
  signal upset_after : time := 0 ns;
  signal clk_upset, rx_upset : natural := 0;
  signal upset_rst, upset_rx_rst : std_logic := '0';
  signal clear, rx_dv, rx_er : std_logic := '0';
  signal rxd : std_logic_vector(7 downto 0) := x"00";
  signal m_rxd : std_logic_vector(7 downto 0);
  signal m_rx_dv, m_rx_er, overflow, underrun : std_logic;
  -- From the edge that reads the first byte of a carrier to the edge that outputs it.
  signal way_through : time := 0 ns;
begin
  clk <= not clk after period_clk / 2;

  phy_clock : process
  begin
    wait for period_rx / 2 + phase;
    if stands then
      wait until not stands;
    end if;
    rx_clk <= not rx_clk;
  end process;

  unit : entity work.gmii_elastic
    port map (clk, rst, clear, rx_clk, rx_rst, rxd, rx_dv, rx_er, m_rxd, m_rx_dv, m_rx_er, overflow, underrun);

  watch_line(clk, one, m_rxd, m_rx_dv, m_rx_er, SEEN);

  rst    <= at_first or upset_rst;
  rx_rst <= at_first or upset_rx_rst;

  upset_design : process
  begin
    wait on upset;
    wait for upset_after;
    for i in 1 to clk_upset loop
      wait until rising_edge(clk);
      upset_rst <= '1';
    end loop;
    wait until rising_edge(clk);
    upset_rst <= '0';
  end process;

  upset_phy : process
  begin
    wait on upset;
    wait for upset_after;
    for i in 1 to rx_upset loop
      wait until rising_edge(rx_clk);
      upset_rx_rst <= '1';
    end loop;
    wait until rising_edge(rx_clk);
    upset_rx_rst <= '0';
  end process;

  measure : process
    variable began : time;
  begin
    wait until rising_edge(rx_dv);
    wait until rising_edge(rx_clk);
    began := now;
    wait until rising_edge(m_rx_dv);
    way_through <= now - began;
  end process;

  main : process
    variable random : RandomPType;
    variable place : natural;

    impure function bytes(length : natural) return integer_vector is
      variable carrier : integer_vector(0 to length - 1);
    begin
      for i in carrier'range loop
        carrier(i) := random.RandInt(0, 255);
      end loop;
      return carrier;
    end function;

    procedure line(carrier : integer_vector; gap : natural) is
    begin
      send_line(rx_clk, one, carrier, gap, rxd, rx_dv, rx_er);
    end procedure;

    -- A carrier that must come whole, and the silence after it, which must appear before the next one.
    variable gap_before : natural := 0;
    procedure whole(carrier : integer_vector; gap : natural; give : natural := GIVE) is
    begin
      if gap_before = 0 then
        expect_carrier(EXPECTED, carrier, 1);
      else
        expect_carrier(EXPECTED, carrier, maximum(gap_before, give + 2) - give, gap_before + give, to_string(gap_before));
      end if;
      line(carrier, gap);
      gap_before := gap;
    end procedure;

    procedure quiet(clocks : natural) is
    begin
      line((1 to 0 => 0), clocks);
      gap_before := 0;
    end procedure;

    procedure finish(over, under : std_logic := '0') is
    begin
      quiet(60);
      compare(SEEN, EXPECTED);
      check_equal(overflow, over, "overflow");
      check_equal(underrun, under, "underrun");
    end procedure;

    impure function a_gap return natural is
    begin
      -- Half of the gaps are the shortest that a receiver may see.
      if random.RandInt(0, 1) = 0 then
        return 8;
      end if;
      return random.RandInt(12, 40);
    end function;

    procedure clocks(of_clk, of_rx : time) is
    begin
      quiet(60);
      period_clk <= of_clk;
      period_rx <= of_rx;
      phase <= 8 ns * random.RandInt(0, 999) / 1000;
      wait for 2 * PERIOD;
      phase <= 0 ns;
      quiet(60);
    end procedure;

    -- The received carrier is whole, or one piece that ends with a mark (`marked`) or anywhere.
    procedure at_most_cut(carrier : integer_vector; marked : boolean) is
      variable silent, got, value : integer;
    begin
      if is_empty(SEEN) then
        return;
      end if;
      silent := pop(SEEN);
      got := pop(SEEN);
      check(silent > 0 and got <= carrier'length + 1, "bytes of a carrier that was cut: " & to_string(got));
      for i in 0 to got - 1 loop
        value := pop(SEEN);
        if i = got - 1 and got /= carrier'length and marked then
          check_equal(value / ERROR_MARK, 1, "the end of what was cut is marked, byte " & to_string(i));
        elsif i < got - 1 or value < ERROR_MARK then
          check_equal(value, carrier(i), "byte " & to_string(i) & " of what was cut");
        end if;
      end loop;
      check(is_empty(SEEN), "nothing else is left of what was cut");
    end procedure;

    -- A carrier with resets at any time from its beginning to well after it, then a whole one.
    procedure be_upset(of_clk, of_rx : natural) is
      variable carrier : integer_vector(0 to random.RandInt(1, 120) - 1);
    begin
      carrier := bytes(carrier'length);
      clk_upset <= of_clk;
      rx_upset <= of_rx;
      upset_after <= PERIOD * random.RandInt(0, 1000 * (carrier'length + 20)) / 1000;
      upset <= not upset;
      line(carrier, 20 + maximum(of_clk, of_rx) + SETTLING);
      at_most_cut(carrier, of_clk = 0);
      gap_before := 0;
      whole(bytes(random.RandInt(1, 100)), 30, give => 30);
      finish;
    end procedure;

    -- A carrier that is cut and marked, and the carriers after it.
    procedure cut(length : natural; over, under : std_logic) is
      variable carrier : integer_vector(0 to length - 1);
    begin
      carrier := bytes(length);
      line(carrier, 60);
      check(not is_empty(SEEN), "the part in front of the cut came");
      at_most_cut(carrier, true);
      check_equal(overflow, over, "overflow");
      check_equal(underrun, under, "underrun");
      -- The flags are sticky.
      gap_before := 0;
      whole(bytes(64), 60);
      finish(over, under);
      clear <= '1';
      wait until rising_edge(clk);
      clear <= '0';
      wait until rising_edge(clk);
      whole(bytes(64), 60);
      finish;
    end procedure;

    -- Sets one of the nine pairs of clocks.
    procedure pair(number : natural) is
      type periods_t is array (0 to 2) of time;
      constant PERIODS : periods_t := (FAST, PERIOD, SLOW);
    begin
      clocks(PERIODS(number mod 3), PERIODS(number / 3 mod 3));
    end procedure;

    variable carrier : integer_vector(0 to 199);
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("elastic" & to_string(seed));
    quiet(5);
    at_first <= '0';
    quiet(SETTLING);
    while test_suite loop
      if run("frames of random sizes, gaps and phases, clocks up to 100 ppm off either way") then
        for i in 0 to 26 loop
          pair(i);
          for k in 1 to 20 loop
            whole(bytes(random.RandInt(72, 300)), a_gap);
          end loop;
          whole(bytes(1526), a_gap);
        end loop;
        finish;

      elsif run("jumbo frames back to back at the shortest gap, clocks up to 100 ppm off either way") then
        for i in 0 to 8 loop
          pair(i);
          whole(bytes(JUMBO), 8);
          whole(bytes(random.RandInt(72, 2000)), 8);
        end loop;
        finish;

      elsif run("the longest frame of mac_rx, at many phases of the clocks that are farthest apart") then
        for i in 1 to 3 loop
          clocks(FAST, SLOW);
          whole(bytes(LONGEST), 8);
          clocks(SLOW, FAST);
          whole(bytes(LONGEST), 8);
          whole(bytes(LONGEST), 8);
        end loop;
        finish;

      elsif run("carriers of any length, however short") then
        for i in 0 to 8 loop
          pair(i);
          for length in 1 to 24 loop
            whole(bytes(length), random.RandInt(8, 40), give => 14);
          end loop;
          for length in 1 to 100 loop
            whole(bytes(random.RandInt(1, 9)), random.RandInt(8, 12), give => 14);
          end loop;
        end loop;
        finish;

      elsif run("a few gaps that are shorter than a receiver sees cost nothing") then
        for i in 0 to 8 loop
          pair(i);
          for gap in 2 to 8 loop
            whole(bytes(random.RandInt(64, 200)), gap, give => 7);
          end loop;
        end loop;
        finish;

      elsif run("latency: ten to eleven clocks at any phase") then
        for i in 1 to 200 loop
          clocks(PERIOD, PERIOD);
          whole(bytes(64), 20);
          quiet(20);
          check(way_through >= 10 * PERIOD and way_through <= 11 * PERIOD, to_string(way_through) & " from byte to byte");
        end loop;
        finish;

      elsif run("rx_er within a carrier is carried with its byte, and not without one") then
        for i in 0 to 8 loop
          pair(i);
          for k in 1 to 20 loop
            carrier := bytes(200);
            for marks in 1 to random.RandInt(1, 4) loop
              place := random.RandInt(0, 199);
              carrier(place) := carrier(place) mod ERROR_MARK + ERROR_MARK;
            end loop;
            whole(carrier, 12);
            rx_er <= '1';
            rxd <= x"0E";
            quiet(random.RandInt(1, 20));
          end loop;
        end loop;
        finish;

      elsif run("resets of the design's side at any time") then
        for i in 1 to 300 loop
          pair(i);
          be_upset(random.RandInt(1, 5), 0);
        end loop;

      elsif run("resets of the PHY's side at any time") then
        for i in 1 to 300 loop
          pair(i);
          be_upset(0, random.RandInt(1, 5));
        end loop;

      elsif run("resets of both sides at any time") then
        for i in 1 to 300 loop
          pair(i);
          be_upset(random.RandInt(1, 5), random.RandInt(1, 5));
        end loop;

      elsif run("clocks that are too far apart cut a carrier, which is marked and told") then
        for i in 1 to 10 loop
          clocks(PERIOD, PERIOD * 102 / 100);
          cut(random.RandInt(500, 1500), '0', '1');
          clocks(PERIOD * 102 / 100, PERIOD);
          cut(random.RandInt(1500, 2500), '1', '0');
        end loop;

      elsif run("a clock that stands cuts a carrier, which is marked and told") then
        for i in 1 to 50 loop
          clocks(PERIOD, PERIOD);
          stands <= true after PERIOD * random.RandInt(20, 60), false after PERIOD * 100;
          cut(100, '0', '1');
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
