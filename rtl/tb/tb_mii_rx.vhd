-- Tests of mii_rx: bytes from the nibbles of a PHY with its own clock, for any length of the preamble.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.ethernet_pkg.to_std_logic;
use work.line_pkg.all;

entity tb_mii_rx is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_mii_rx is
  constant SEEN, EXPECTED : queue_t := new_queue;
  -- At 110 MHz.
  constant SLOWEST : time := 9.090909 ns;

  signal clk, mii_rx_clk, mii_rx_dv, mii_rx_er : std_logic := '0';
  signal rst : std_logic := '1';
  signal period : time := 8 ns;
  signal phy_period : time := 40 ns;
  signal early : time := 0 ns;
  signal mii_rxd : std_logic_vector(3 downto 0) := x"0";
  signal ce, gmii_rx_dv, gmii_rx_er, dangling : std_logic;
  signal gmii_rxd : std_logic_vector(7 downto 0);
  signal danglings : natural := 0;
begin
  clk <= not clk after period / 2;

  unit : entity work.mii_rx
    port map (clk, rst, mii_rx_clk, mii_rxd, mii_rx_dv, mii_rx_er, ce, gmii_rxd, gmii_rx_dv, gmii_rx_er, dangling);

  watch_line(clk, ce, gmii_rxd, gmii_rx_dv, gmii_rx_er, SEEN);
  danglings <= danglings + 1 when rising_edge(clk) and dangling = '1';

  main : process
    variable random : RandomPType;
    variable frame : integer_vector(0 to 63);
    variable fives, more, place : natural;

    -- A nibble around the rising edge of the PHY's clock: clause 22.3.2 grants only 10 ns before and after it. `early` shifts
    -- it by the skew of the pins.
    procedure nibble(value : natural; valid, error : std_logic := '0') is
    begin
      mii_rxd   <= std_logic_vector(to_unsigned(value, 4));
      mii_rx_dv <= valid;
      mii_rx_er <= error;
      wait for 10 ns + early;
      mii_rx_clk <= '1';
      wait for 10 ns - early;
      mii_rxd   <= std_logic_vector(to_unsigned(random.RandInt(0, 15), 4));
      mii_rx_dv <= not valid;
      mii_rx_er <= not error;
      wait for phy_period / 2 * random.RandInt(960, 1040) / 1000 - 10 ns;
      mii_rx_clk <= '0';
      wait for phy_period / 2 - 10 ns;
    end procedure;

    procedure silence(nibbles : natural) is
    begin
      for i in 1 to nibbles loop
        nibble(random.RandInt(0, 15));
      end loop;
    end procedure;

    -- `fives` nibbles of 5, the D, then the bytes, and `left` more nibbles.
    procedure carrier(fives : natural; bytes : integer_vector; left : natural := 0) is
    begin
      for i in 1 to fives loop
        nibble(5, '1');
      end loop;
      nibble(13, '1');
      for i in bytes'range loop
        nibble(bytes(i) mod 16, '1', to_std_logic(bytes(i) >= ERROR_MARK));
        nibble(bytes(i) / 16 mod 16, '1');
      end loop;
      for i in 1 to left loop
        nibble(9, '1');
      end loop;
    end procedure;

    -- The preamble gives one byte of 0x55 for each two nibbles before the last.
    procedure expect(fives : natural; bytes : integer_vector) is
    begin
      expect_carrier(EXPECTED, preamble_of((fives - 1) / 2 + (1 - fives mod 2)) & bytes, 1, what => to_string(fives));
    end procedure;

    procedure new_frame is
    begin
      for i in frame'range loop
        frame(i) := random.RandInt(0, 255);
      end loop;
    end procedure;

    procedure exchange(frames : natural) is
    begin
      silence(6);
      rst <= '0';
      silence(random.RandInt(6, 20));
      for i in 1 to frames loop
        new_frame;
        expect(15, frame);
        carrier(15, frame);
        silence(random.RandInt(2, 25));
      end loop;
      silence(6);
      compare(SEEN, EXPECTED);
      check_equal(danglings, 0, "nibbles left over");
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("mii_rx" & to_string(seed));
    while test_suite loop
      if run("100 Mbit/s with a clock of 125 MHz") then
        exchange(30);
      elsif run("100 Mbit/s with the slowest clock, 110 MHz") then
        period <= SLOWEST;
        exchange(200);
      elsif run("100 Mbit/s with the slowest clock and pins that are 0.9 ns apart") then
        period <= SLOWEST;
        early <= 0.9 ns;
        exchange(200);
      elsif run("10 Mbit/s") then
        phy_period <= 400 ns;
        exchange(6);
      elsif run("preambles of any number of nibbles") then
        exchange(1);
        for fives in 1 to 40 loop
          new_frame;
          expect(fives, frame);
          carrier(fives, frame);
          silence(random.RandInt(2, 25));
        end loop;
        silence(6);
        compare(SEEN, EXPECTED);
      elsif run("a nibble that is left over is told and thrown away") then
        exchange(1);
        for i in 1 to 10 loop
          new_frame;
          expect(15, frame);
          carrier(15, frame, i mod 2);
          silence(random.RandInt(2, 25));
        end loop;
        silence(6);
        compare(SEEN, EXPECTED);
        check_equal(danglings, 5, "nibbles left over");
      elsif run("an error in one nibble is one of its byte") then
        exchange(1);
        for i in 1 to 20 loop
          new_frame;
          place := random.RandInt(0, 63);
          frame(place) := frame(place) + ERROR_MARK;
          expect(15, frame);
          carrier(15, frame);
          silence(random.RandInt(2, 25));
        end loop;
        silence(6);
        compare(SEEN, EXPECTED);
      elsif run("a reset in the middle of a frame") then
        exchange(1);
        for i in 1 to 10 loop
          new_frame;
          carrier(15, frame(0 to random.RandInt(0, 63)));
          rst <= '1';
          wait for 3 * period;
          rst <= '0';
          silence(random.RandInt(6, 25));
          flush(SEEN);
          expect(15, frame);
          carrier(15, frame);
          silence(6);
          compare(SEEN, EXPECTED);
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
