-- Tests of event_counters: counters of four bits against a count of the bench, through many overflows, with resets at any time.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.ethernet_pkg.all;

entity tb_event_counters is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_event_counters is
  constant PERIOD   : time    := 8 ns;
  constant COUNTERS : natural := 3;
  constant BITS     : natural := 4;

  signal clk      : std_logic := '0';
  signal rst      : std_logic := '1';
  signal events   : std_logic_vector(COUNTERS - 1 downto 0) := (others => '0');
  signal counts   : std_logic_vector(32 * COUNTERS - 1 downto 0);
  signal overflow : std_logic_vector(COUNTERS - 1 downto 0);
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.event_counters
    generic map (COUNTERS => COUNTERS, BITS => BITS)
    port map (clk, rst, events, counts, overflow);

  main : process
    variable random : RandomPType;
    type numbers_t is array (0 to COUNTERS - 1) of natural;
    variable seen   : numbers_t := (others => 0);
    variable over   : natural := 0;

    -- One clock with these inputs; their effect is checked after it.
    procedure step(happens : std_logic_vector(COUNTERS - 1 downto 0); reset : std_logic) is
    begin
      events <= happens;
      rst    <= reset;
      wait until rising_edge(clk);
      wait until falling_edge(clk);
      for i in seen'range loop
        if reset = '1' then
          seen(i) := 0;
        elsif happens(i) = '1' then
          seen(i) := seen(i) + 1;
        end if;
        check_equal(unsigned(counts(32 * i + 31 downto 32 * i)), seen(i) mod 2**BITS, "count " & to_string(i));
        check_equal(overflow(i) = '1', seen(i) >= 2**BITS, "overflow " & to_string(i));
      end loop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("counters" & to_string(seed));
    wait until falling_edge(clk);
    step("000", '1');
    while test_suite loop
      if run("a counter that runs over says so until the reset, and the others do not") then
        for i in 1 to 2**BITS - 1 loop
          step("010", '0');
        end loop;
        check_equal(overflow, std_logic_vector'("000"), "all of its bits are in use");
        step("010", '0');
        check_equal(overflow, std_logic_vector'("010"), "one more");
        for i in 1 to 3 * 2**BITS loop
          step("000", '0');
        end loop;
        step("000", '1');
        check_equal(overflow, std_logic_vector'("000"), "reset");
      elsif run("events and resets at random") then
        for i in 1 to 3000 loop
          step(std_logic_vector(to_unsigned(random.RandInt(0, 7), COUNTERS)), to_std_logic(random.RandInt(0, 99) = 0));
          if overflow /= "000" then
            over := over + 1;
          end if;
        end loop;
        check(over > 100, "counters ran over");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 1 ms);
end architecture;
