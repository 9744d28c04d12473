-- Tests of start_words shared by two whole ports: both send to each other at line rate, and each checker gives every frame the
-- right verdict.
--
-- The cable is longer in one direction, so that both request words at several distances from each other. Payloads, gaps and
-- stale frames are random as well. The registers of both are written at once.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

library vunit_lib;
context vunit_lib.vunit_context;

library osvvm;
use osvvm.RandomPkg.all;

entity tb_shared_words is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_shared_words is
  constant PERIOD : time := 8 ns;
  -- A frame of 46 bytes of payload takes 84 clocks.
  constant LONGEST_CABLE : natural := 84;
  type pair_of_bytes_t is array (0 to 1) of std_logic_vector(7 downto 0);
  type pair_of_numbers_t is array (0 to 1) of std_logic_vector(11 downto 0);
  type pair_of_words_t is array (0 to 1) of std_logic_vector(31 downto 0);
  type cable_t is array (0 to LONGEST_CABLE) of std_logic_vector(9 downto 0);

  signal clk, rst : std_logic := '1';
  signal txd, rxd : pair_of_bytes_t;
  signal tx_en, tx_er, rx_dv, rx_er : std_logic_vector(0 to 1);
  signal word_request : std_logic_vector(0 to 1);
  signal word_number : pair_of_numbers_t;
  signal word, rdata : pair_of_words_t;
  signal cable : cable_t := (others => (others => '0'));
  signal cable_clocks : natural range 0 to LONGEST_CABLE := 0;
  signal together : natural := 0;

  signal awvalid, wvalid, arvalid : std_logic := '0';
  signal bvalid, rvalid : std_logic_vector(0 to 1);
  signal address : std_logic_vector(10 downto 0) := (others => '0');
  signal wdata : std_logic_vector(31 downto 0) := (others => '0');
begin
  clk <= not clk after PERIOD / 2;

  words : entity work.start_words
    port map (
      clk => clk, a_request => word_request(0), a_number => word_number(0), a_word => word(0),
      b_request => word_request(1), b_number => word_number(1), b_word => word(1)
    );

  ports : for number in 0 to 1 generate
    port_of : entity work.ethernet_port
      generic map (OWN_START_WORDS => false)
      port map (
        clk => clk, rst => rst, tx_ce => '1', gmii_txd => txd(number), gmii_tx_en => tx_en(number),
        gmii_tx_er => tx_er(number), rx_ce => '1', gmii_rxd => rxd(number), gmii_rx_dv => rx_dv(number),
        gmii_rx_er => rx_er(number), decided => open, wanted => open, result_valid => open, result_wanted => open,
        word_request => word_request(number), word_number => word_number(number), word => word(number),
        s_axil_awvalid => awvalid, s_axil_awready => open, s_axil_awaddr => address, s_axil_awprot => "000",
        s_axil_wvalid => wvalid, s_axil_wready => open, s_axil_wdata => wdata, s_axil_wstrb => "1111",
        s_axil_bvalid => bvalid(number), s_axil_bready => '1', s_axil_bresp => open,
        s_axil_arvalid => arvalid, s_axil_arready => open, s_axil_araddr => address, s_axil_arprot => "000",
        s_axil_rvalid => rvalid(number), s_axil_rready => '1', s_axil_rdata => rdata(number), s_axil_rresp => open
      );
  end generate;

  (rx_er(1), rx_dv(1), rxd(1)) <= std_logic_vector'(tx_er(0) & tx_en(0) & txd(0));
  (rx_er(0), rx_dv(0), rxd(0)) <= cable(cable_clocks);

  lay_cable : process (all)
  begin
    cable(0) <= tx_er(1) & tx_en(1) & txd(1);
    if rising_edge(clk) then
      cable(1 to LONGEST_CABLE) <= cable(0 to LONGEST_CABLE - 1);
      if word_request = "11" and word_number(0) /= word_number(1) then
        together <= together + 1;
      end if;
    end if;
  end process;

  main : process
    variable random : RandomPType;

    procedure clocks(count : natural) is
    begin
      for number in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    -- Both ports answer in the same clock.
    procedure write_both(at : natural; data : std_logic_vector(31 downto 0)) is
    begin
      address <= std_logic_vector(to_unsigned(at, 11));
      wdata   <= data;
      awvalid <= '1';
      wvalid  <= '1';
      clocks(1);
      awvalid <= '0';
      wvalid  <= '0';
      wait until falling_edge(clk) and bvalid = "11";
      clocks(1);
    end procedure;

    procedure expect_of_both(at, expected : natural; what : string) is
    begin
      address <= std_logic_vector(to_unsigned(at, 11));
      arvalid <= '1';
      clocks(1);
      arvalid <= '0';
      wait until falling_edge(clk) and rvalid = "11";
      for number in 0 to 1 loop
        check_equal(to_integer(unsigned(rdata(number))), expected, what & " of port " & to_string(number));
      end loop;
      clocks(1);
    end procedure;

    procedure write_both(at, data : natural) is
    begin
      write_both(at, std_logic_vector(to_unsigned(data, 32)));
    end procedure;

    -- Frames from each port to the other, some of them with the LFSR part of the previous frame; checks the result.
    procedure exchange(distance, frames, payload, gap, stale_every : natural) is
      constant STALE : natural := frames / stale_every;
    begin
      cable_clocks <= distance;
      write_both(16#100#, 0);
      write_both(16#108#, payload);
      write_both(16#10C#, gap);
      write_both(16#110#, frames);
      write_both(16#134#, stale_every);
      write_both(16#308#, 16#138B#);
      write_both(16#300#, 3);
      clocks(600);
      write_both(16#100#, 16#601#);
      clocks((payload + 14 + maximum(24, gap + 8)) * frames + LONGEST_CABLE + 300);
      expect_of_both(16#318#, frames - STALE, "good");
      expect_of_both(16#324#, STALE, "stale");
      expect_of_both(16#328#, 0, "corrupted");
      expect_of_both(16#348#, 0, "lost");
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("shared_words" & to_string(seed));
    clocks(4);
    rst <= '0';
    clocks(2);
    while test_suite loop
      if run("two ports share one table, at several distances of their frames") then
        for distance in 0 to 2 loop
          exchange(42 * distance, 9, 46, 0, 3);
        end loop;
        for round in 1 to 2 loop
          exchange(random.RandInt(0, LONGEST_CABLE), random.RandInt(4, 9), random.RandInt(46, 80), random.RandInt(0, 40),
                   random.RandInt(2, 4));
        end loop;
        check(together > 0, "two words were asked for in one clock");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 5 ms);
end architecture;
