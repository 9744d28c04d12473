-- Tests of bus_bridge: each access takes exactly the strapped clocks, posted or answered, and reaches the block once.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_bus_bridge is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_bus_bridge is
  constant PERIOD : time := 10 ns;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal posted, s_request, s_write, s_answer, m_access : std_logic := '0';
  signal reading, writing : std_logic_vector(7 downto 0) := x"05";
  signal cycle, accesses : natural := 0;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.bus_bridge
    port map (clk, rst, posted, reading, writing, s_request, s_write, s_answer, m_access);

  process (clk)
  begin
    if rising_edge(clk) then
      cycle    <= cycle + 1;
      accesses <= accesses + 1 when m_access = '1';
    end if;
  end process;

  main : process
    variable random : RandomPType;
    variable began, before, least, longer, waits : natural;
    variable is_write : boolean;
    variable is_posted : std_logic;

    -- One access; `clocks` is from its first clock to its answer, both counted.
    procedure one(is_write : boolean; clocks : out natural) is
      variable first : natural;
    begin
      s_request <= '1';
      s_write   <= '1' when is_write else '0';
      wait for 0 ns;
      first := cycle;
      wait until rising_edge(clk) and s_answer = '1';
      clocks    := cycle - first + 1;
      s_request <= '0';
    end procedure;

    procedure idle(clocks : natural) is
    begin
      for i in 1 to clocks loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure set(read_clocks, write_clocks : natural; is_posted : std_logic) is
    begin
      reading <= std_logic_vector(to_unsigned(read_clocks, 8));
      writing <= std_logic_vector(to_unsigned(write_clocks, 8));
      posted  <= is_posted;
      idle(300);
    end procedure;

    -- A row of accesses: the first takes exactly `first` clocks, each other `clocks`.
    procedure row(is_write : boolean; first, clocks : natural; what : string) is
      variable taken : natural;
      variable expected : natural;
      variable seen  : natural;
    begin
      seen := accesses;
      for i in 1 to 10 loop
        one(is_write, taken);
        expected := first when i = 1 else clocks;
        check_equal(taken, expected, what & ", access " & to_string(i));
      end loop;
      idle(1);
      check_equal(accesses, seen + 10, what & ": accesses of the block");
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("bridge" & to_string(seed));
    idle(4);
    rst <= '0';
    idle(1);

    while test_suite loop
      if run("answered accesses take their clocks") then
        for clocks in 2 to 255 loop
          set(clocks, 257 - clocks, '0');
          row(false, clocks, clocks, "reads of " & to_string(clocks));
          idle(2);
          row(true, 257 - clocks, 257 - clocks, "writes of " & to_string(257 - clocks));
        end loop;

      elsif run("posted writes are answered at once, and the next one waits") then
        for clocks in 2 to 255 loop
          set(5, clocks, '1');
          -- From the second one on, each waits for the write before it, two clocks of which have passed.
          row(true, 2, clocks, "writes of " & to_string(clocks));
          idle(300);
          row(false, 5, 5, "reads");
        end loop;

      elsif run("a read behind a posted write waits for it") then
        for clocks in 3 to 40 loop
          set(7, clocks, '1');
          one(true, waits);
          check_equal(waits, 2, "posted write");
          one(false, waits);
          check_equal(waits, clocks - 2 + 7, "read behind a write of " & to_string(clocks));
        end loop;

      elsif run("0 and 1 count as 2") then
        for clocks in 0 to 1 loop
          set(clocks, clocks, '0');
          row(false, 2, 2, "reads");
          row(true, 2, 2, "writes");
          set(clocks, clocks, '1');
          row(true, 2, 2, "posted writes");
        end loop;

      elsif run("random accesses with pauses and resets") then
        for round in 1 to 200 loop
          least  := random.RandInt(2, 20);
          longer := random.RandInt(2, 20);
          is_posted := '1' when random.RandInt(0, 1) = 1 else '0';
          set(least, longer, is_posted);
          before := accesses;
          for i in 1 to 20 loop
            is_write := random.RandInt(0, 1) = 1;
            one(is_write, waits);
            if is_write and posted = '1' then
              check(waits >= 2 and waits <= longer, "posted write: " & to_string(waits));
            elsif is_write then
              check_equal(waits, longer, "write");
            else
              check(waits >= least and waits <= least + longer, "read: " & to_string(waits));
            end if;
            idle(random.RandInt(0, 3));
          end loop;
          idle(1);
          check_equal(accesses, before + 20, "accesses of the block");
          rst <= '1';
          idle(1);
          rst <= '0';
          idle(1);
          check_equal(s_answer, '0', "after a reset");
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 100 ms);
end architecture;
