-- Tests of ram_arbiter with node_ram behind it: each master gets its own words, bursts stay whole, and none waits forever.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_ram_arbiter is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_ram_arbiter is
  constant PERIOD : time := 10 ns;
  constant BITS   : natural := 8;
  -- The words of a burst, as in a cache line.
  constant LINE   : natural := 8;
  -- The bursts of both others, with their overhead.
  constant LONGEST_WAIT : natural := 2 * (LINE + 2);

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal load_enable : std_logic := '0';
  signal load_address : std_logic_vector(BITS - 1 downto 0) := (others => '0');
  signal load_data : std_logic_vector(31 downto 0) := (others => '0');
  signal code_request, code_burst, code_answer : std_logic := '0';
  signal fetch_request, fetch_burst, line_request, line_burst : std_logic := '0';
  signal fetch_address, line_address : std_logic_vector(BITS - 1 downto 0) := (others => '0');
  signal data_request, data_write, data_burst, data_answer : std_logic := '0';
  signal dma_request, dma_write, dma_answer : std_logic := '0';
  signal code_address, data_address, dma_address : std_logic_vector(BITS - 1 downto 0) := (others => '0');
  signal data_wdata, dma_wdata : std_logic_vector(31 downto 0) := (others => '0');
  signal data_bytes, dma_bytes : std_logic_vector(3 downto 0) := "1111";
  signal m_request, m_write, m_burst, m_answer : std_logic;
  signal m_address : std_logic_vector(BITS - 1 downto 0);
  signal m_wdata, m_rdata : std_logic_vector(31 downto 0);
  signal m_bytes : std_logic_vector(3 downto 0);
  signal cycle : natural := 0;
  signal crowd, code_done, data_done, dma_done : boolean := false;
  signal rounds : natural := 0;

  function number(value : natural) return std_logic_vector is
  begin
    return std_logic_vector(to_unsigned(value, 32));
  end function;
begin
  clk <= not clk after PERIOD / 2;
  cycle <= cycle + 1 when rising_edge(clk);

  unit : entity work.ram_arbiter
    generic map (ADDRESS_BITS => BITS)
    port map (
      clk, rst, code_request, code_burst, code_address, code_answer,
      data_request, data_write, data_burst, data_address, data_wdata, data_bytes, data_answer,
      dma_request, dma_write, dma_address, dma_wdata, dma_bytes, dma_answer,
      m_request, m_write, m_burst, m_address, m_wdata, m_bytes, m_answer
    );

  memory : entity work.node_ram
    generic map (ADDRESS_BITS => BITS)
    port map (
      clk, rst, load_enable, load_address, load_data,
      m_request, m_write, m_burst, m_address, m_wdata, m_bytes, m_answer, m_rdata
    );

  -- From the process of the crowd, or the process of a single master.
  code_request <= fetch_request or line_request;
  code_address <= line_address when line_request = '1' else fetch_address;
  code_burst   <= line_burst when line_request = '1' else fetch_burst;

  -- Only a master with a request is answered, and only one at a time.
  process (clk)
    variable answers : natural;
  begin
    if rising_edge(clk) and rst = '0' then
      answers := 0;
      if code_answer = '1' then
        check_equal(code_request, '1', "code has asked");
        answers := answers + 1;
      end if;
      if data_answer = '1' then
        check_equal(data_request, '1', "data has asked");
        answers := answers + 1;
      end if;
      if dma_answer = '1' then
        check_equal(dma_request, '1', "DMA has asked");
        answers := answers + 1;
      end if;
      check(answers <= 1, "one answer at a time");
    end if;
  end process;

  -- Cache lines of the first quarter, whose words are their addresses.
  code : process
    variable random : RandomPType;
    variable first, began : natural;
  begin
    random.InitSeed("code" & to_string(seed));
    wait until crowd;
    for turn in 1 to rounds loop
      first := random.RandInt(0, 7) * LINE;
      fetch_request <= '1';
      wait for 0 ns;
      began := cycle;
      for i in 0 to LINE - 1 loop
        fetch_address <= std_logic_vector(to_unsigned(first + i, BITS));
        fetch_burst   <= '1' when i < LINE - 1 else '0';
        wait until rising_edge(clk) and code_answer = '1';
        check_equal(m_rdata, number(first + i), "code");
      end loop;
      check(cycle - began <= LINE + 1 + LONGEST_WAIT, "code waited " & to_string(cycle - began));
      fetch_request <= '0';
      for i in 1 to random.RandInt(0, 12) loop
        wait until rising_edge(clk);
      end loop;
    end loop;
    code_done <= true;
    wait;
  end process;

  -- Single reads and writes, by bytes, of the second quarter.
  data : process
    variable random : RandomPType;
    type words_t is array (0 to 63) of std_logic_vector(31 downto 0);
    variable words : words_t;
    variable at, began : natural;
  begin
    random.InitSeed("data" & to_string(seed));
    for i in words'range loop
      words(i) := number(64 + i);
    end loop;
    wait until crowd;
    for turn in 1 to 3 * rounds loop
      at := random.RandInt(0, 63);
      data_request <= '1';
      data_address <= std_logic_vector(to_unsigned(64 + at, BITS));
      data_write   <= '1' when random.RandInt(0, 1) = 1 else '0';
      data_bytes   <= random.RandSlv(4);
      data_wdata   <= random.RandSlv(32);
      wait for 0 ns;
      began := cycle;
      wait until rising_edge(clk) and data_answer = '1';
      check(cycle - began <= 1 + LONGEST_WAIT, "data waited " & to_string(cycle - began));
      if data_write = '1' then
        for lane in 0 to 3 loop
          if data_bytes(lane) = '1' then
            words(at)(8 * lane + 7 downto 8 * lane) := data_wdata(8 * lane + 7 downto 8 * lane);
          end if;
        end loop;
      else
        check_equal(m_rdata, words(at), "data");
      end if;
      data_request <= '0';
      for i in 1 to random.RandInt(0, 5) loop
        wait until rising_edge(clk);
      end loop;
    end loop;
    data_done <= true;
    wait;
  end process;

  -- Words one after the other, written and read again, of the third quarter.
  dma : process
    variable random : RandomPType;
    variable began : natural;
    variable word : std_logic_vector(31 downto 0);
  begin
    random.InitSeed("dma" & to_string(seed));
    wait until crowd;
    for turn in 1 to rounds loop
      for pass in 0 to 1 loop
        for i in 0 to 15 loop
          word        := number(turn * 1000 + i);
          dma_request <= '1';
          dma_write   <= '1' when pass = 0 else '0';
          dma_address <= std_logic_vector(to_unsigned(128 + i, BITS));
          dma_wdata   <= word;
          wait for 0 ns;
          began := cycle;
          wait until rising_edge(clk) and dma_answer = '1';
          check(cycle - began <= 1 + LONGEST_WAIT, "DMA waited " & to_string(cycle - began));
          if pass = 1 then
            check_equal(m_rdata, word, "DMA");
          end if;
        end loop;
      end loop;
      dma_request <= '0';
      for i in 1 to random.RandInt(0, 20) loop
        wait until rising_edge(clk);
      end loop;
    end loop;
    dma_done <= true;
    wait;
  end process;

  main : process
    procedure one(turn : natural) is
      variable began : natural;
    begin
      line_request <= '1';
      wait for 0 ns;
      began := cycle;
      for i in 0 to LINE - 1 loop
        line_address <= std_logic_vector(to_unsigned(LINE * turn + i, BITS));
        line_burst   <= '1' when i < LINE - 1 else '0';
        wait until rising_edge(clk) and code_answer = '1';
        check_equal(m_rdata, number(LINE * turn + i), "word");
        check_equal(cycle - began, 1 + i, "clocks");
      end loop;
      line_request <= '0';
      wait until rising_edge(clk);
    end procedure;

    procedure load is
    begin
      for i in 0 to 2**BITS - 1 loop
        load_enable  <= '1';
        load_address <= std_logic_vector(to_unsigned(i, BITS));
        load_data    <= number(i);
        wait until rising_edge(clk);
      end loop;
      load_enable <= '0';
      wait until rising_edge(clk);
      rst <= '0';
      wait until rising_edge(clk);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    load;
    while test_suite loop
      if run("three masters at random get their own words, and none waits longer than for the two others") then
        rounds <= 400;
        wait for 0 ns;
        crowd <= true;
        wait until code_done and data_done and dma_done;
      elsif run("an idle memory answers one clock later, and gives a burst a word a clock") then
        for turn in 1 to 3 loop
          one(turn);
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
