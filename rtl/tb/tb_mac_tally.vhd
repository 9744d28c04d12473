-- Tests of mac_tally: each event in its register only, bad frames under each of their reasons, counts of three bits that
-- overflow, and the sticky word.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;

use work.reference_node_pkg.all;

entity tb_mac_tally is
  generic (runner_cfg : string);
end entity;

architecture test of tb_mac_tally is
  constant PERIOD     : time    := 10 ns;
  constant COUNT_BITS : natural := 3;
  constant COUNTERS   : natural := 12;
  -- The inputs in the order of their registers.
  subtype told_t is std_logic_vector(0 to COUNTERS - 1);

  signal clk            : std_logic := '0';
  signal rst            : std_logic := '1';
  signal clear, ended, overrun : std_logic := '0';
  signal told           : told_t := (others => '0');
  signal s_address      : std_logic_vector(3 downto 0) := (others => '0');
  signal s_rdata        : std_logic_vector(31 downto 0);
  -- Fault, refused, no buffer.
  signal kept           : std_logic_vector(2 downto 0) := "000";
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.mac_tally
    generic map (COUNT_BITS => COUNT_BITS)
    port map (
      clk => clk, rst => rst, clear => clear, ended => ended, received => told(0), dropped => told(1), bad_fcs => told(2),
      overrun => overrun, rx_error => told(3), runt => told(4), oversize => told(5), filtered => told(6), sent => told(7),
      no_sfd => told(8), too_short => told(9), bad_preamble => told(10), underrun => told(11),
      fault => kept(2), refused => kept(1), no_buffer => kept(0),
      s_address => s_address, s_rdata => s_rdata);

  main : process
    constant FIRST    : natural := SLOT_MAC_COUNTS_RECEIVED / 4;
    constant OVERFLOW : natural := SLOT_MAC_COUNTS_OVERFLOW / 4 - FIRST;
    constant STICKY   : natural := SLOT_MAC_COUNTS_STICKY / 4 - FIRST;
    -- The first count after the word of the overflows; from there on, events are also in the sticky word.
    constant LATER    : natural := OVERFLOW;

    procedure tell(what : told_t; ends : std_logic; times : natural) is
    begin
      told  <= what;
      ended <= ends;
      for i in 1 to times loop
        wait until rising_edge(clk);
      end loop;
      told  <= (others => '0');
      ended <= '0';
      wait until rising_edge(clk);
    end procedure;

    procedure expect(number : natural; value : natural; what : string) is
    begin
      s_address <= std_logic_vector(to_unsigned(number, 4));
      wait until falling_edge(clk);
      check_equal(to_integer(unsigned(s_rdata)), value, what & ", word " & to_string(number));
    end procedure;

    -- The word of a count.
    function place(event : natural) return natural is
    begin
      if event < LATER then
        return event;
      end if;
      return event + 1;
    end function;

    -- The bit of an event in the sticky word, or 0.
    function stays(event : natural) return natural is
    begin
      if event < LATER then
        return 0;
      end if;
      return 2**(event - LATER + SLOT_MAC_COUNTS_STICKY_NO_SFD);
    end function;

    procedure clean is
    begin
      clear <= '1';
      wait until rising_edge(clk);
      clear <= '0';
      wait until rising_edge(clk);
    end procedure;

    variable only : told_t;
  begin
    test_runner_setup(runner, runner_cfg);
    wait until rising_edge(clk);
    wait until rising_edge(clk);
    rst <= '0';
    while test_suite loop
      if run("each event is counted in its register alone") then
        check_equal(SLOT_MAC_COUNTS_UNDERRUNS / 4 - FIRST, COUNTERS, "registers of counts");
        for event in told_t'range loop
          clean;
          only := (others => '0');
          only(event) := '1';
          tell(only, '1', 5);
          for number in told_t'range loop
            if number = event then
              expect(place(number), 5, "event " & to_string(event));
            else
              expect(place(number), 0, "not event " & to_string(event));
            end if;
          end loop;
          expect(OVERFLOW, 0, "no overflow");
          expect(STICKY, stays(event), "sticky word of event " & to_string(event));
        end loop;
      elsif run("what was wrong with a frame counts at its end, every reason of it") then
        clean;
        tell("001111000000", '0', 3);
        tell("001111000000", '1', 2);
        for number in 2 to 5 loop
          expect(number, 2, "reasons");
        end loop;
      elsif run("a count that runs over is told until it is cleared") then
        for event in told_t'range loop
          clean;
          only := (others => '0');
          only(event) := '1';
          tell(only, '1', 2**COUNT_BITS - 1);
          expect(OVERFLOW, 0, "all bits in use");
          tell(only, '1', 3);
          expect(place(event), 2, "from 0 on");
          expect(OVERFLOW, 2**event, "overflow");
          expect(STICKY, stays(event) + 1, "sticky word");
          tell(only, '1', 3);
          expect(OVERFLOW, 2**event, "overflow stays");
          clean;
          expect(OVERFLOW, 0, "cleared");
          expect(STICKY, 0, "cleared");
          expect(place(event), 0, "cleared");
        end loop;
      elsif run("what the block keeps itself stands in the sticky word as long as it does") then
        clean;
        for number in 0 to 7 loop
          kept <= std_logic_vector(to_unsigned(number, 3));
          expect(STICKY, number * 2**SLOT_MAC_COUNTS_STICKY_NO_BUFFER, "kept");
        end loop;
        check_equal(SLOT_MAC_COUNTS_STICKY_REFUSED, SLOT_MAC_COUNTS_STICKY_NO_BUFFER + 1, "refused");
        check_equal(SLOT_MAC_COUNTS_STICKY_FAULT, SLOT_MAC_COUNTS_STICKY_NO_BUFFER + 2, "fault");
      elsif run("an overrun stays in the sticky word until it is cleared, and is no count of its own") then
        clean;
        overrun <= '1';
        tell("000000000000", '0', 1);
        overrun <= '0';
        for again in 1 to 3 loop
          tell("111111110000", '0', 2);
          expect(STICKY, 2**SLOT_MAC_COUNTS_STICKY_OVERRUN, "overrun");
          expect(1, 2 * again, "dropped");
        end loop;
        clean;
        expect(STICKY, 0, "cleared");
        tell("010000000000", '0', 1);
        expect(STICKY, 0, "dropped for another reason");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 1 ms);
end architecture;
