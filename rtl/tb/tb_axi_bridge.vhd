-- Tests of axi_bridge with slow registers: reads, writes, refusals, and accesses that wait for the reset.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_axi_bridge is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_axi_bridge is
  constant PERIOD : time := 10 ns;
  -- Registers from this word on refuse.
  constant REFUSING : natural := 256;

  signal source, clk, port_clk, gate : std_logic := '0';
  signal rst : std_logic := '1';
  signal running, port_rst, s_request, s_write, s_answer, s_refused : std_logic := '0';
  signal s_address : std_logic_vector(8 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal awvalid, awready, wvalid, wready, bvalid, arvalid, arready, rvalid : std_logic := '0';
  signal addr : std_logic_vector(10 downto 0);
  signal wdata, rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal bresp, rresp : std_logic_vector(1 downto 0) := "00";
  signal reads, writes : natural := 0;
  type words_t is array (0 to 511) of std_logic_vector(31 downto 0);
  signal words : words_t := (others => (others => '0'));
begin
  source <= not source after PERIOD / 2;
  -- Both clocks are one delta behind their source. The second starts and stops without a glitch.
  clk      <= source;
  gate     <= running when falling_edge(source);
  port_clk <= source and gate;

  unit : entity work.axi_bridge
    port map (
      clk, rst, port_clk, running, port_rst, s_request, s_write, s_address, s_wdata, s_answer, s_refused, s_rdata,
      awvalid, awready, addr, wvalid, wready, wdata, bvalid, bresp, arvalid, arready, rvalid, rdata, rresp
    );

  -- The registers: they take each half of a write, and answer, after random times.
  registers : process
    variable random : RandomPType;
    variable at     : natural;

    procedure rest is
    begin
      for i in 1 to random.RandInt(0, 4) loop
        wait until rising_edge(clk);
      end loop;
    end procedure;
  begin
    random.InitSeed("registers" & to_string(seed));
    loop
      wait until rising_edge(clk);
      if arvalid = '1' then
        rest;
        at      := to_integer(unsigned(addr(10 downto 2)));
        arready <= '1';
        wait until rising_edge(clk);
        arready <= '0';
        rest;
        rvalid <= '1';
        rdata  <= words(at);
        rresp  <= "00";
        if at >= REFUSING then
          rdata <= (others => '0');
          rresp <= "10";
        end if;
        wait until rising_edge(clk);
        rvalid <= '0';
        reads  <= reads + 1;
      elsif awvalid = '1' then
        at := to_integer(unsigned(addr(10 downto 2)));
        if random.RandInt(0, 1) = 0 then
          awready <= '1';
          wait until rising_edge(clk);
          awready <= '0';
          rest;
          wready <= '1';
        else
          wready <= '1';
          wait until rising_edge(clk);
          wready <= '0';
          rest;
          awready <= '1';
        end if;
        wait until rising_edge(clk);
        awready <= '0';
        wready  <= '0';
        rest;
        bvalid <= '1';
        bresp  <= "00";
        if at >= REFUSING then
          bresp <= "10";
        else
          words(at) <= wdata;
        end if;
        wait until rising_edge(clk);
        bvalid <= '0';
        writes <= writes + 1;
        wait until rising_edge(clk);
      end if;
    end loop;
  end process;

  main : process
    variable random   : RandomPType;
    variable expected : words_t := (others => (others => '0'));
    variable at, count : natural;
    variable word     : std_logic_vector(31 downto 0);
    variable is_write : boolean;

    procedure one(at : natural; is_write : boolean; word : std_logic_vector(31 downto 0); most : natural := 40) is
    begin
      s_request <= '1';
      s_write   <= '1' when is_write else '0';
      s_address <= std_logic_vector(to_unsigned(at, 9));
      s_wdata   <= word;
      wait until rising_edge(clk) and s_answer = '1' for most * PERIOD;
      check_equal(s_answer, '1', "an answer");
      s_request <= '0';
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("bridge" & to_string(seed));
    for i in 1 to 3 loop
      wait until rising_edge(clk);
    end loop;
    rst <= '0';
    wait until rising_edge(clk);
    while test_suite loop
      if run("while the clock stands everything is refused, and the port is in reset") then
        one(3, false, x"00000000", 4);
        check_equal(s_refused, '1', "refused");
        check_equal(port_rst, '1', "in reset");
        wait until rising_edge(clk);
        one(3, true, x"00000007", 4);
        check_equal(s_refused, '1', "refused");
        check_equal(reads + writes, 0, "accesses");

      elsif run("the first access waits for the reset, then each goes through once") then
        running <= '1';
        wait until rising_edge(clk);
        check_equal(port_rst, '1', "in reset");
        one(5, true, x"12345678");
        check_equal(s_refused, '0', "refused");
        check_equal(port_rst, '0', "in reset");
        expected(5) := x"12345678";
        for turn in 1 to 500 loop
          at       := random.RandInt(0, 300);
          word     := random.RandSlv(32);
          is_write := random.RandInt(0, 1) = 1;
          count    := reads + writes;
          one(at, is_write, word);
          check((s_refused = '1') = (at >= REFUSING), "refused, " & to_string(at));
          if at < REFUSING and is_write then
            expected(at) := word;
          elsif at < REFUSING then
            check_equal(s_rdata, expected(at), "word " & to_string(at));
          end if;
          wait until rising_edge(clk);
          check_equal(reads + writes, count + 1, "accesses");
          if random.RandInt(0, 1) = 1 then
            wait until rising_edge(clk);
          end if;
        end loop;

      elsif run("a clock that stops puts the port into its reset again") then
        running <= '1';
        one(1, true, x"00000001");
        wait until rising_edge(clk);
        running <= '0';
        wait until rising_edge(clk);
        wait until rising_edge(clk);
        check_equal(port_rst, '1', "in reset");
        one(1, false, x"00000000", 4);
        check_equal(s_refused, '1', "refused");
        wait until rising_edge(clk);
        running <= '1';
        one(1, false, x"00000000");
        check_equal(s_refused, '0', "not refused");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 2 ms);
end architecture;
