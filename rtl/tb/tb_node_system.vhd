-- Tests of node_system: straps and clocks read as set, each byte crosses once, interrupts rise and fall.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.reference_node_pkg.all;

entity tb_node_system is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_node_system is
  constant PERIOD : time := 10 ns;
  constant HEARD  : queue_t := new_queue;
  -- A second system reaches this high word of its clocks 256 clocks after the reset.
  constant HIGH   : natural := 16#5A3C96E1#;
  constant SHORT  : natural := 256;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal attachment : std_logic_vector(1 downto 0) := "10";
  signal fast_track : std_logic := '1';
  signal loopback_1, fault, mac_irq : std_logic := '0';
  signal reading : std_logic_vector(7 downto 0) := x"0F";
  signal writing : std_logic_vector(7 downto 0) := x"12";
  signal fault_address : std_logic_vector(29 downto 0) := (others => '0');
  signal s_access, s_write : std_logic := '0';
  signal s_address : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal irq : std_logic_vector(2 downto 0);
  signal uart_out_data, uart_in_data : std_logic_vector(7 downto 0) := x"00";
  signal uart_out_valid, uart_out_ready, uart_in_valid, uart_in_ready, port_1_clock, exited : std_logic := '0';
  signal exit_status : std_logic_vector(31 downto 0);
  signal late_rdata : std_logic_vector(31 downto 0);
  signal cycle : natural := 0;
  -- The other side of the link is ready in one of `pace` clocks.
  signal pace : positive := 1;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.node_system
    port map (
      clk, rst, attachment, fast_track, loopback_1, reading, writing, fault, fault_address, mac_irq,
      s_access, s_write, s_address, s_wdata, s_rdata, irq, uart_out_data, uart_out_valid, uart_out_ready,
      uart_in_data, uart_in_valid, uart_in_ready, port_1_clock, exited, exit_status
    );

  late : entity work.node_system
    generic map (HIGH_CYCLES => HIGH)
    port map (
      clk, rst, attachment, fast_track, loopback_1, reading, writing, fault, fault_address, mac_irq,
      s_access, s_write, s_address, s_wdata, late_rdata, open, open, open, uart_out_ready,
      uart_in_data, uart_in_valid, open, open, open, open
    );

  process (clk)
  begin
    if rising_edge(clk) then
      cycle <= cycle + 1 when rst = '0' else 0;
      uart_out_ready <= '1' when cycle mod pace = 0 else '0';
      if uart_out_valid = '1' and uart_out_ready = '1' then
        push(HEARD, to_integer(unsigned(uart_out_data)));
      end if;
    end if;
  end process;

  main : process
    variable random : RandomPType;
    variable word : std_logic_vector(31 downto 0);
    variable sent, read_bytes, before : natural;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write(address, value : natural) is
    begin
      s_access  <= '1';
      s_write   <= '1';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      s_wdata   <= std_logic_vector(to_unsigned(value, 32));
      cycles(1);
      s_access <= '0';
      cycles(1);
    end procedure;

    procedure read(address : natural; value : out std_logic_vector(31 downto 0)) is
    begin
      s_access  <= '1';
      s_write   <= '0';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      cycles(1);
      s_access <= '0';
      cycles(1);
      value := s_rdata;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("system" & to_string(seed));
    cycles(4);
    rst <= '0';
    cycles(1);
    while test_suite loop
      if run("what the node is, and how it is strapped") then
        read(SYSTEM_ID, word);
        check_equal(word, std_logic_vector'(x"57520001"), "id");
        read(SYSTEM_CLOCK_HZ, word);
        check_equal(to_integer(unsigned(word)), 100_000_000, "clock");
        read(SYSTEM_STRAPS, word);
        check_equal(word, std_logic_vector'(x"00000012"), "straps");
        read(SYSTEM_WAIT_STATES, word);
        check_equal(word, std_logic_vector'(x"0000120F"), "wait states");
        attachment <= "01";
        fast_track <= '0';
        loopback_1 <= '1';
        read(SYSTEM_STRAPS, word);
        check_equal(word, std_logic_vector'(x"00000021"), "other straps");
        fault_address <= (others => '1');
        read(SYSTEM_FAULT, word);
        check_equal(word, std_logic_vector'(x"FFFFFFFC"), "no fault yet");
        fault         <= '1';
        fault_address <= (29 => '1', 0 => '1', others => '0');
        read(SYSTEM_FAULT, word);
        check_equal(word, std_logic_vector'(x"80000005"), "fault");

      elsif run("clocks are counted, and read as of one moment") then
        read(SYSTEM_CYCLES, word);
        before := to_integer(unsigned(word));
        cycles(1000);
        read(SYSTEM_CYCLES, word);
        check_equal(to_integer(unsigned(word)), before + 1002, "clocks");
        read(SYSTEM_CYCLES + 4, word);
        check_equal(to_integer(unsigned(word)), 0, "high word");

      elsif run("the high word of the clocks is that of the moment in which the low one was read") then
        read(SYSTEM_CYCLES + 4, word);
        check_equal(to_integer(unsigned(late_rdata)), 0, "no low word was read");
        write(SYSTEM_TIMER_COMPARE, 2 * SHORT);
        write(SYSTEM_TIMER_COMPARE + 4, HIGH);
        read(SYSTEM_CYCLES, word);
        check_equal(unsigned(late_rdata), unsigned(word) - SHORT, "low word");
        cycles(SHORT);
        for turn in 1 to 2 loop
          read(SYSTEM_CYCLES + 4, word);
          check_equal(to_integer(unsigned(late_rdata)), HIGH - 1, "high word of that moment");
        end loop;
        read(SYSTEM_IRQ_PENDING, word);
        check_equal(to_integer(unsigned(late_rdata)), 0, "the timer's time is not come");
        read(SYSTEM_CYCLES, word);
        check_equal(unsigned(late_rdata), unsigned(word) - SHORT, "low word");
        check(unsigned(late_rdata) < 2 * SHORT, "it began again");
        read(SYSTEM_CYCLES + 4, word);
        check_equal(to_integer(unsigned(late_rdata)), HIGH, "high word");
        check_equal(to_integer(unsigned(word)), 0, "high word of the other system");
        cycles(3 * SHORT - cycle + 3);
        read(SYSTEM_IRQ_PENDING, word);
        check_equal(to_integer(unsigned(late_rdata)), 4, "the timer's time");
        check_equal(to_integer(unsigned(word)), 0, "not the other system's");

      elsif run("each byte crosses once, whichever side is slow") then
        for speed in 1 to 5 loop
          pace <= speed;
          sent := 0;
          while sent < 100 loop
            read(SYSTEM_UART_TX, word);
            if word(SYSTEM_UART_TX_FULL) = '0' then
              write(SYSTEM_UART_TX, sent * 7 mod 256);
              sent := sent + 1;
            end if;
          end loop;
          cycles(20);
          for i in 0 to 99 loop
            check_equal(integer'(pop(HEARD)), i * 7 mod 256, "byte " & to_string(i));
          end loop;
          check(is_empty(HEARD), "no other byte");
        end loop;

      elsif run("a byte that comes while the register is read is not lost") then
        for turn in 0 to 299 loop
          -- The tester offers the byte until it is taken; the program polls meanwhile.
          cycles(random.RandInt(0, 4));
          uart_in_data  <= std_logic_vector(to_unsigned(turn mod 256, 8));
          uart_in_valid <= '1';
          read_bytes    := 0;
          while read_bytes = 0 loop
            s_access  <= '1';
            s_write   <= '0';
            s_address <= std_logic_vector(to_unsigned(SYSTEM_UART_RX / 4, 14));
            for clock in 0 to 1 loop
              wait until rising_edge(clk);
              s_access <= '0';
              if uart_in_ready = '1' then
                uart_in_valid <= '0';
              end if;
            end loop;
            if s_rdata(SYSTEM_UART_RX_NOTHING) = '0' then
              check_equal(to_integer(unsigned(s_rdata(SYSTEM_UART_RX_DATA))), turn mod 256, "byte");
              read_bytes := 1;
            end if;
          end loop;
          check_equal(uart_in_valid, '0', "the byte was taken");
        end loop;

      elsif run("each setting is read as it was written, and a byte that is written while one waits is lost") then
        write(SYSTEM_TIMER_COMPARE, 16#1234567#);
        write(SYSTEM_TIMER_COMPARE + 4, 16#89ABCDE#);
        write(SYSTEM_IRQ_ENABLE, 6);
        write(SYSTEM_CLOCKS, 1);
        read(SYSTEM_TIMER_COMPARE, word);
        check_equal(word, std_logic_vector'(x"01234567"), "compare");
        read(SYSTEM_TIMER_COMPARE + 4, word);
        check_equal(word, std_logic_vector'(x"089ABCDE"), "compare, high word");
        read(SYSTEM_IRQ_ENABLE, word);
        check_equal(word, std_logic_vector'(x"00000006"), "enabled");
        read(SYSTEM_CLOCKS, word);
        check_equal(word, std_logic_vector'(x"00000001"), "clocks");
        read(SYSTEM_IRQ_PENDING, word);
        check_equal(word, std_logic_vector'(x"00000000"), "pending");
        -- The timer expires, as if 2^32 clocks had passed.
        write(SYSTEM_TIMER_COMPARE + 4, 0);
        write(SYSTEM_TIMER_COMPARE, 0);
        read(SYSTEM_IRQ_PENDING, word);
        check_equal(word, std_logic_vector'(x"00000004"), "pending");
        pace <= 1000;
        cycles(1);
        read(SYSTEM_UART_TX, word);
        check_equal(word(SYSTEM_UART_TX_FULL), '0', "full");
        write(SYSTEM_UART_TX, 16#5A#);
        read(SYSTEM_UART_TX, word);
        check_equal(word(SYSTEM_UART_TX_FULL), '1', "full");
        write(SYSTEM_UART_TX, 16#A5#);
        pace <= 1;
        cycles(1100);
        check_equal(integer'(pop(HEARD)), 16#5A#, "the byte that waited");
        check(is_empty(HEARD), "no other byte");

      elsif run("interrupts pend whether enabled or not") then
        write(SYSTEM_TIMER_COMPARE + 4, 0);
        write(SYSTEM_TIMER_COMPARE, cycle + 200);
        mac_irq <= '1';
        cycles(3);
        read(SYSTEM_IRQ_PENDING, word);
        check_equal(to_integer(unsigned(word)), 1, "pending");
        check_equal(irq, std_logic_vector'("000"), "enabled");
        write(SYSTEM_IRQ_ENABLE, 5);
        check_equal(irq, std_logic_vector'("001"), "enabled");
        mac_irq <= '0';
        wait until irq = "100" for 300 * PERIOD;
        read(SYSTEM_TIMER_COMPARE, word);
        check(cycle - to_integer(unsigned(word)) < 8, "the timer's time");
        write(SYSTEM_TIMER_COMPARE + 4, 1);
        cycles(3);
        check_equal(irq, std_logic_vector'("000"), "enabled");
        uart_in_valid <= '1';
        cycles(1);
        uart_in_valid <= '0';
        cycles(3);
        read(SYSTEM_IRQ_PENDING, word);
        check_equal(to_integer(unsigned(word)), 2, "pending");
        write(SYSTEM_IRQ_ENABLE, 2);
        check_equal(irq, std_logic_vector'("010"), "enabled");
        read(SYSTEM_UART_RX, word);
        cycles(3);
        check_equal(irq, std_logic_vector'("000"), "enabled");

      elsif run("the end of a program and the clock of port 1") then
        check_equal(exited, '0', "exited");
        check_equal(port_1_clock, '0', "clock");
        write(SYSTEM_CLOCKS, 1);
        check_equal(port_1_clock, '1', "clock");
        write(SYSTEM_LEAVE, 77);
        check_equal(exited, '1', "exited");
        check_equal(to_integer(unsigned(exit_status)), 77, "status");
        rst <= '1';
        cycles(1);
        rst <= '0';
        cycles(1);
        check_equal(exited, '0', "exited");
        check_equal(port_1_clock, '0', "clock");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 2 ms);
end architecture;
