-- Tests of node_capture: each edge of edge_t, counts read through the registers, and the effects of control.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

library stand_ins;

use work.reference_node_pkg.all;

entity tb_node_capture is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_node_capture is
  constant PERIOD : time := 10 ns;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal rx_dv, tx_en, wanted, s_access, s_write : std_logic := '0';
  signal s_address : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
  -- The signal of a unit whose counts stay at 63 clocks.
  signal small_rdata : std_logic_vector(31 downto 0);
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.node_capture
    port map (clk, rst, rx_dv, tx_en, wanted, s_access, s_write, s_address, s_wdata, s_rdata);

  small : entity stand_ins.node_capture
    port map (clk, rst, rx_dv, tx_en, wanted, s_access, s_write, s_address, s_wdata, small_rdata);

  main : process
    variable random : RandomPType;
    variable length : natural;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write(value : natural) is
    begin
      s_access  <= '1';
      s_write   <= '1';
      s_address <= std_logic_vector(to_unsigned(CAPTURE_CONTROL / 4, 14));
      s_wdata   <= std_logic_vector(to_unsigned(value, 32));
      cycles(1);
      s_access <= '0';
      cycles(1);
    end procedure;

    procedure expect(address, value : natural; what : string) is
    begin
      s_access  <= '1';
      s_write   <= '0';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      cycles(1);
      s_access <= '0';
      cycles(1);
      check_equal(to_integer(unsigned(s_rdata)), value, what);
    end procedure;

    -- Makes one of the edges of edge_t; that of software is a write, whose bit rises a clock later.
    procedure make(edge, control : natural; software : natural) is
    begin
      case edge is
        when 0 => write(control + 2**software);
        when 1 => rx_dv <= '1';
        when 2 => rx_dv <= '0';
        when 3 => tx_en <= '1';
        when others => wanted <= '1';
      end case;
    end procedure;

    procedure rest(edge, control : natural) is
    begin
      case edge is
        when 0 => write(control);
        when 1 => rx_dv <= '0';
        when 2 => rx_dv <= '1';
        when 3 => tx_en <= '0';
        when others => wanted <= '0';
      end case;
    end procedure;

    procedure measure(start, stop, control, length : natural) is
    begin
      -- A write is on the bus for a clock before its bit is set, and its procedure takes two.
      make(start, control, CAPTURE_CONTROL_SOFTWARE_START);
      if start = 0 then
        cycles(length - 1);
      else
        cycles(length);
      end if;
      make(stop, control, CAPTURE_CONTROL_SOFTWARE_STOP);
      cycles(8);
      rest(start, control);
      if stop /= start then
        rest(stop, control);
      end if;
      cycles(8);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("capture" & to_string(seed));
    cycles(4);
    rst <= '0';
    cycles(4);
    while test_suite loop
      if run("from every edge to every other, exact") then
        for start in 0 to 4 loop
          for stop in 0 to 4 loop
            next when start = stop or (start = 1 and stop = 2) or (start = 2 and stop = 1);
            write(start * 2**8 + stop * 2**12);
            rest(start, start * 2**8 + stop * 2**12);
            rest(stop, start * 2**8 + stop * 2**12);
            cycles(8);
            write(2**CAPTURE_CONTROL_CLEAR + start * 2**8 + stop * 2**12);
            write(2**CAPTURE_CONTROL_ENABLE + start * 2**8 + stop * 2**12);
            for turn in 1 to 5 loop
              length := random.RandInt(5, 300);
              measure(start, stop, 1 + start * 2**8 + stop * 2**12, length);
              expect(CAPTURE_STATUS, 1, "status");
              -- The bit of software is there a clock after the write: earlier as a start, later as a stop.
              if start = 0 then
                expect(CAPTURE_OLDEST, length, "from software to " & to_string(stop));
              elsif stop = 0 then
                expect(CAPTURE_OLDEST, length + 1, "from " & to_string(start) & " to software");
              else
                expect(CAPTURE_OLDEST, length, "from " & to_string(start) & " to " & to_string(stop));
              end if;
              cycles(3);
              expect(CAPTURE_STATUS, 0, "status");
            end loop;
            expect(CAPTURE_MISSED, 0, "missed");
          end loop;
        end loop;

      elsif run("from one edge of a frame to the other one, and back") then
        for start in 1 to 2 loop
          write(2**CAPTURE_CONTROL_CLEAR + start * 2**8 + (3 - start) * 2**12);
          rx_dv <= '1' when start = 2 else '0';
          cycles(8);
          write(2**CAPTURE_CONTROL_ENABLE + start * 2**8 + (3 - start) * 2**12);
          length := random.RandInt(5, 300);
          rx_dv  <= not rx_dv;
          cycles(length);
          rx_dv <= not rx_dv;
          cycles(8);
          expect(CAPTURE_STATUS, 1, "status");
          expect(CAPTURE_OLDEST, length, "from " & to_string(start) & " to " & to_string(3 - start));
        end loop;

      elsif run("the record that finds no place is told, and none that was kept is lost") then
        write(1 + 2**8 * 3 + 2**12 * 4);
        for turn in 1 to 513 loop
          tx_en <= '1';
          cycles(1 + turn mod 4);
          wanted <= '1';
          cycles(3);
          tx_en  <= '0';
          wanted <= '0';
          cycles(3);
          if turn >= 512 then
            cycles(4);
            expect(CAPTURE_STATUS, 512 + (turn - 512) * 2**CAPTURE_STATUS_OVERFLOW, "status");
          end if;
        end loop;
        for turn in 1 to 512 loop
          expect(CAPTURE_OLDEST, 1 + turn mod 4, "record " & to_string(turn));
        end loop;
        cycles(3);
        expect(CAPTURE_STATUS, 2**CAPTURE_STATUS_OVERFLOW, "status");
        write(2**CAPTURE_CONTROL_CLEAR);
        cycles(3);
        expect(CAPTURE_STATUS, 0, "status");

      elsif run("a count that stays at its end is told") then
        write(1 + 2**8 * 3 + 2**12 * 4);
        measure(3, 4, 0, 62);
        expect(CAPTURE_STATUS, 1, "status");
        check_equal(to_integer(unsigned(small_rdata)), 1, "status of the small one");
        measure(3, 4, 0, 63);
        expect(CAPTURE_STATUS, 2, "status");
        check_equal(to_integer(unsigned(small_rdata)), 2 + 2**CAPTURE_STATUS_SATURATED, "status of the small one");

      elsif run("records are taken in order, one a read, and control is read as it was written") then
        write(2**8 * 3 + 2**12 * 4);
        write(1 + 2**8 * 3 + 2**12 * 4);
        expect(CAPTURE_CONTROL, 1 + 2**8 * 3 + 2**12 * 4, "control");
        for turn in 1 to 20 loop
          measure(3, 4, 1 + 2**8 * 3 + 2**12 * 4, 10 * turn);
        end loop;
        expect(CAPTURE_STATUS, 20, "status");
        for turn in 1 to 20 loop
          expect(CAPTURE_OLDEST, 10 * turn, "record " & to_string(turn));
        end loop;
        cycles(3);
        expect(CAPTURE_STATUS, 0, "status");
        -- A start during a count.
        tx_en <= '1';
        cycles(4);
        tx_en <= '0';
        cycles(4);
        tx_en <= '1';
        cycles(4);
        expect(CAPTURE_MISSED, 1, "missed");
        expect(CAPTURE_STATUS, 2**CAPTURE_STATUS_BUSY, "status");
        write(2 + 2**8 * 3 + 2**12 * 4);
        cycles(4);
        expect(CAPTURE_MISSED, 0, "missed");
        expect(CAPTURE_STATUS, 0, "status");
        expect(CAPTURE_CONTROL, 2**8 * 3 + 2**12 * 4, "control");
        -- A clear lasts one clock, whether it is written again or not.
        tx_en <= '0';
        write(1 + 2 + 2**8 * 3 + 2**12 * 4);
        cycles(8);
        measure(3, 4, 0, 30);
        expect(CAPTURE_STATUS, 1, "status behind a clear");
        expect(CAPTURE_OLDEST, 30, "the record behind a clear");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 5 ms);
end architecture;
