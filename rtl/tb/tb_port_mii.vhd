-- A whole port at 10 and 100 Mbit/s: ethernet_port behind mii_tx and mii_rx, and a PHY of 4-bit MII that returns the sent
-- frames.
--
-- The PHY has its own clock, with jitter on each edge. Nothing is lost from generator to checker, and the distance of frames on
-- the MII is, to the nibble, that of the link's rate.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_port_mii is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_port_mii is
  -- Addresses from rtl/registers/ethernet_port.rdl.
  constant GENERATOR_CONTROL : natural := 16#100#;
  constant PAYLOAD_BYTES     : natural := 16#108#;
  constant FRAME_COUNT       : natural := 16#110#;
  constant MAC_CONTROL       : natural := 16#208#;
  constant MAC_SENT          : natural := 16#210#;
  constant MAC_RECEIVED      : natural := 16#218#;
  constant MAC_BAD_FCS       : natural := 16#21C#;
  constant CHECKER_CONTROL   : natural := 16#300#;
  constant CHECKER_STATUS    : natural := 16#304#;
  constant GOOD              : natural := 16#318#;
  constant LOST              : natural := 16#348#;
  constant BYTES_VERIFIED    : natural := 16#350#;
  constant RULE_WHAT         : natural := 16#530#;
  constant RULE_VALUES       : natural := 16#534#;
  constant WANTED_FRAMES     : natural := 16#564#;
  constant IDENTIFIER_CLEAR  : natural := 16#56C#;
  constant RATE_CONTROL      : natural := 16#600#;
  constant SHORTEST          : natural := 16#610#;
  constant LONGEST           : natural := 16#614#;
  constant SUM_OF_PERIODS    : natural := 16#618#;

  -- Ethernet header, FCS, preamble and gap.
  constant AROUND : natural := 38;
  -- The largest deviation of an edge of the PHY's clock.
  constant JITTER : time := 0.8 ns;

  signal clk, mii_clk, mii_rx_clk, rst : std_logic := '1';
  signal period     : time := 8 ns;
  signal phy_period : time := 40 ns;
  signal tx_ce, rx_ce, tx_en, tx_er, rx_dv, rx_er, dangling : std_logic;
  signal txd, rxd : std_logic_vector(7 downto 0);
  signal mii_txd : std_logic_vector(3 downto 0);
  signal mii_tx_en, mii_tx_er : std_logic;
  signal mii_rxd : std_logic_vector(3 downto 0) := x"0";
  signal mii_rx_dv, mii_rx_er : std_logic := '0';
  -- The nibble of the next carrier that is returned with a wrong bit; 0: none.
  signal spoilt : natural := 0;

  -- On the MII: carriers since `watched` rose, and the nibbles from the beginning of one to that of the next.
  signal watched : boolean := false;
  signal carriers, nearest, farthest : natural := 0;

  signal awvalid, wvalid, arvalid, bvalid, rvalid : std_logic := '0';
  signal address : std_logic_vector(10 downto 0) := (others => '0');
  signal wdata, rdata : std_logic_vector(31 downto 0) := (others => '0');
begin
  clk <= not clk after period / 2;

  phy_clock : process
    variable random : RandomPType;
    variable due    : time := 0 ns;
  begin
    random.InitSeed("phy" & to_string(seed));
    loop
      due := due + phy_period / 2;
      wait for due - now + JITTER * random.RandInt(-100, 100) / 100;
      mii_clk <= not mii_clk;
    end loop;
  end process;

  -- The receive clock is the same clock a little later, as in a PHY in loopback.
  mii_rx_clk <= transport mii_clk after 7.3 ns;

  play_back : process
    variable nibbles : natural := 0;
  begin
    wait until rising_edge(mii_clk);
    nibbles := nibbles + 1 when mii_tx_en = '1' else 0;
    wait until falling_edge(mii_rx_clk);
    mii_rxd <= mii_txd;
    if nibbles = spoilt and spoilt /= 0 then
      mii_rxd <= mii_txd xor x"4";
    end if;
    mii_rx_dv <= mii_tx_en;
    mii_rx_er <= mii_tx_er;
  end process;

  watch : process
    variable nibbles : natural := 0;
    variable before  : std_logic := '0';
  begin
    wait until rising_edge(mii_clk);
    nibbles := nibbles + 1;
    if not watched then
      carriers <= 0;
    elsif mii_tx_en = '1' and before = '0' then
      carriers <= carriers + 1;
      if carriers > 0 then
        nearest  <= nibbles when carriers = 1 else minimum(nearest, nibbles);
        farthest <= nibbles when carriers = 1 else maximum(farthest, nibbles);
      end if;
      nibbles := 0;
    end if;
    before := mii_tx_en;
  end process;

  dut : entity work.ethernet_port
    port map (
      clk => clk, rst => rst, tx_ce => tx_ce, gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er,
      rx_ce => rx_ce, gmii_rxd => rxd, gmii_rx_dv => rx_dv, gmii_rx_er => rx_er,
      decided => open, wanted => open, result_valid => open, result_wanted => open,
      word_request => open, word_number => open, word => (others => '0'),
      s_axil_awvalid => awvalid, s_axil_awready => open, s_axil_awaddr => address, s_axil_awprot => "000",
      s_axil_wvalid => wvalid, s_axil_wready => open, s_axil_wdata => wdata, s_axil_wstrb => "1111",
      s_axil_bvalid => bvalid, s_axil_bready => '1', s_axil_bresp => open,
      s_axil_arvalid => arvalid, s_axil_arready => open, s_axil_araddr => address, s_axil_arprot => "000",
      s_axil_rvalid => rvalid, s_axil_rready => '1', s_axil_rdata => rdata, s_axil_rresp => open
    );

  transmit : entity work.mii_tx
    port map (
      clk => clk, rst => rst, ce => tx_ce, gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er,
      mii_tx_clk => mii_clk, mii_txd => mii_txd, mii_tx_en => mii_tx_en, mii_tx_er => mii_tx_er
    );

  receive : entity work.mii_rx
    port map (
      clk => clk, rst => rst, mii_rx_clk => mii_rx_clk, mii_rxd => mii_rxd, mii_rx_dv => mii_rx_dv,
      mii_rx_er => mii_rx_er, ce => rx_ce, gmii_rxd => rxd, gmii_rx_dv => rx_dv, gmii_rx_er => rx_er,
      dangling => dangling
    );

  whole_bytes : process
  begin
    wait until rising_edge(clk) and dangling = '1' and rst = '0';
    check_failed("a carrier that ends in the middle of a byte");
  end process;

  main : process
    variable random : RandomPType;

    procedure clocks(count : natural) is
    begin
      for number in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write_register(at, data : natural) is
    begin
      address <= std_logic_vector(to_unsigned(at, 11));
      wdata   <= std_logic_vector(to_unsigned(data, 32));
      awvalid <= '1';
      wvalid  <= '1';
      -- The write is taken in the clock after it was seen.
      clocks(2);
      awvalid <= '0';
      wvalid  <= '0';
      wait until rising_edge(clk) and bvalid = '1';
    end procedure;

    procedure read_register(at : natural; value : out natural) is
    begin
      address <= std_logic_vector(to_unsigned(at, 11));
      arvalid <= '1';
      clocks(2);
      arvalid <= '0';
      wait until rising_edge(clk) and rvalid = '1';
      value := to_integer(unsigned(rdata));
    end procedure;

    procedure check_register(at, expected : natural; what : string; tolerance : natural := 0) is
      variable value : natural;
    begin
      read_register(at, value);
      check(abs (value - expected) <= tolerance, what & " is " & to_string(value) & ", not " & to_string(expected));
    end procedure;

    -- The clocks of so many bytes on the MII, rounded.
    impure function clocks_of(bytes : natural) return natural is
    begin
      return (bytes * 2 * phy_period + period / 2) / period;
    end function;

    -- Sends frames through the loopback, and judges the result. One may come back with a wrong bit in one nibble.
    procedure exchange(frames, payload : natural; spoilt_nibble : natural := 0) is
      constant DISTANCE : natural := payload + AROUND;
      variable status   : natural := 0;
      variable bad      : natural := 0;
    begin
      write_register(GENERATOR_CONTROL, 0);
      write_register(PAYLOAD_BYTES, payload);
      write_register(FRAME_COUNT, frames);
      write_register(MAC_CONTROL, 1);
      -- The beginnings of frames on the line, at EtherType 0x88B5.
      write_register(RATE_CONTROL, 16#103#);
      write_register(RULE_WHAT, 5);
      write_register(RULE_VALUES, 16#88B5#);
      write_register(IDENTIFIER_CLEAR, 1);
      write_register(CHECKER_CONTROL, 3);
      while status mod 2 = 0 loop
        read_register(CHECKER_STATUS, status);
      end loop;
      spoilt  <= spoilt_nibble;
      watched <= true;
      write_register(GENERATOR_CONTROL, 1);
      if spoilt_nibble > 0 then
        bad := 1;
        wait until carriers = 2;
        spoilt <= 0;
      end if;
      wait until carriers = frames for (frames + 1) * DISTANCE * 2 * phy_period;
      check_equal(carriers, frames, "carriers on the MII");
      wait for (DISTANCE + 20) * 2 * phy_period;
      check_equal(carriers, frames, "carriers on the MII, and no more");
      check_equal(nearest, 2 * DISTANCE, "the shortest distance in nibbles");
      check_equal(farthest, 2 * DISTANCE, "the longest distance in nibbles");
      check_register(SHORTEST, clocks_of(DISTANCE), "the shortest period", 1);
      check_register(LONGEST, clocks_of(DISTANCE), "the longest period", 1);
      check_register(SUM_OF_PERIODS, clocks_of((frames - 1) * DISTANCE), "the sum of the periods", 1);
      check_register(MAC_SENT, frames, "the MAC's frames sent");
      check_register(MAC_RECEIVED, frames, "the MAC's frames received");
      check_register(MAC_BAD_FCS, bad, "bad FCS");
      check_register(GOOD, frames - bad, "good");
      check_register(LOST, bad, "lost");
      check_register(BYTES_VERIFIED, (frames - bad) * payload, "the bytes verified");
      check_register(WANTED_FRAMES, frames, "what the identifier wanted");
      watched <= false;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("port_mii" & to_string(seed));
    while test_suite loop
      if run("100 Mbit/s with a clock of 125 MHz") then
        clocks(4);
        rst <= '0';
        exchange(4, 46);
        exchange(3, random.RandInt(47, 300));
      elsif run("100 Mbit/s with a clock of 110 MHz") then
        period <= 9.090909 ns;
        clocks(4);
        rst <= '0';
        exchange(3, random.RandInt(46, 300));
      elsif run("10 Mbit/s") then
        phy_period <= 400 ns;
        clocks(4);
        rst <= '0';
        exchange(2, random.RandInt(46, 60));
      elsif run("a nibble that comes back wrong is a bad FCS, and a frame that is lost") then
        clocks(4);
        rst <= '0';
        -- After the preamble and the EtherType, before the FCS.
        exchange(4, 46, random.RandInt(16 + 2 * 14 + 1, 16 + 2 * 60));
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 5 ms);
end architecture;
