-- Tests of mii_tx behind mac_tx: a PHY with its own clock reads every nibble and checks set-up and hold times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.line_pkg.all;

entity tb_mii_tx is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_mii_tx is
  constant SEEN, EXPECTED : queue_t := new_queue;
  -- The time that clause 22.3.1 of IEEE Std 802.3 leaves before the rising edge of the PHY's clock: 40 ns less 25 ns.
  constant SETUP : time := 15 ns;

  signal clk, mii_tx_clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal period : time := 8 ns;
  signal phy_period : time := 40 ns;
  signal ce, s_tvalid, s_tready, s_tlast : std_logic := '0';
  signal s_tdata : std_logic_vector(7 downto 0) := x"00";
  signal gmii_txd : std_logic_vector(7 downto 0);
  signal gmii_tx_en, gmii_tx_er, sent, underrun, mii_tx_en, mii_tx_er : std_logic;
  signal mii_txd : std_logic_vector(3 downto 0);
  -- The bytes of the PHY, two nibbles each, aligned to the beginning of the carrier.
  signal phy_ce, phy_valid, phy_error : std_logic := '0';
  signal phy_data : std_logic_vector(7 downto 0) := x"00";
  signal earliest : time := 25 ns;
  signal latest : time := 0 ns;
begin
  clk <= not clk after period / 2;

  phy_clock : process
    variable random : RandomPType;
  begin
    random.InitSeed("phy" & to_string(seed));
    wait for 3.1 ns;
    loop
      -- Half a period, with 4 % of jitter.
      wait for phy_period / 2 * random.RandInt(960, 1040) / 1000;
      mii_tx_clk <= not mii_tx_clk;
    end loop;
  end process;

  mac : entity work.mac_tx
    port map (clk, rst, ce, x"0C", s_tdata, s_tvalid, s_tready, s_tlast, '0',
              gmii_txd, gmii_tx_en, gmii_tx_er, sent, underrun);
  unit : entity work.mii_tx
    port map (clk, rst, ce, gmii_txd, gmii_tx_en, gmii_tx_er, mii_tx_clk, mii_txd, mii_tx_en, mii_tx_er);

  phy : process
    variable low : std_logic_vector(3 downto 0);
    variable second, carrier : boolean := false;
  begin
    wait until rising_edge(mii_tx_clk) and rst = '0';
    check(mii_txd'last_event >= SETUP and mii_tx_en'last_event >= SETUP and mii_tx_er'last_event >= SETUP, "set-up");
    phy_ce <= '0';
    if (mii_tx_en = '1') /= carrier then
      check(mii_tx_en = '1' or not second, "a carrier of whole bytes");
      -- The first nibble of a carrier is a lower half; the end of a carrier is noted at once.
      second  := mii_tx_en = '0';
      carrier := mii_tx_en = '1';
    end if;
    if second then
      phy_data  <= mii_txd & low;
      phy_valid <= mii_tx_en;
      phy_error <= mii_tx_er;
      phy_ce    <= '1';
    end if;
    low := mii_txd;
    second := not second;
  end process;

  -- Nibbles change after the rising edge, not before it or with it.
  hold : process
    variable behind : time;
  begin
    wait on mii_txd, mii_tx_en, mii_tx_er;
    if rst = '0' and phy_period = 40 ns then
      behind := mii_tx_clk'last_event;
      if mii_tx_clk = '0' then
        behind := behind + phy_period / 2;
      end if;
      check(behind > 0 ns and behind <= 25 ns, "hold: a change " & to_string(behind) & " behind the clock");
      earliest <= minimum(earliest, behind);
      latest   <= maximum(latest, behind);
    end if;
  end process;

  watch_line(mii_tx_clk, phy_ce, phy_data, phy_valid, phy_error, SEEN);

  main : process
    variable random : RandomPType;

    procedure send(length : natural; most_gap : natural) is
      variable frame : integer_vector(0 to length - 1);
    begin
      for i in frame'range loop
        frame(i) := random.RandInt(0, 255);
      end loop;
      expect_carrier(EXPECTED, PREAMBLE & with_fcs(padded(frame)), 12, most_gap);
      for i in frame'range loop
        s_tdata  <= octet(frame(i));
        s_tvalid <= '1';
        s_tlast  <= '1' when i = frame'high else '0';
        wait until rising_edge(clk) and s_tready = '1';
      end loop;
      s_tvalid <= '0';
    end procedure;

    procedure exchange(frames : natural) is
    begin
      wait for 40 * phy_period;
      wait until rising_edge(clk);
      rst <= '0';
      wait for 40 * phy_period;
      wait until rising_edge(clk);
      send(60, natural'high);
      for i in 2 to frames loop
        send(random.RandInt(1, 150), 12);
      end loop;
      wait for 200 * phy_period;
      compare(SEEN, EXPECTED);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("mii_tx" & to_string(seed));
    while test_suite loop
      if run("100 Mbit/s with a clock of 125 MHz") then
        exchange(20);
      elsif run("100 Mbit/s with a clock of 100 MHz") then
        period <= 10 ns;
        exchange(20);
      elsif run("10 Mbit/s") then
        phy_period <= 400 ns;
        exchange(4);
      end if;
      if phy_period = 40 ns then
        info("nibbles change " & to_string(earliest) & " to " & to_string(latest) & " behind the PHY's clock");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 20 ms);
end architecture;
