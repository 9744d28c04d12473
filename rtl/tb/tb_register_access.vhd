-- Tests of register_access before a block that answers after a clock or more: competing reads and writes take turns, one access
-- at a time, each with its own address, data, strobes and answer.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_register_access is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_register_access is
  constant PERIOD   : time    := 8 ns;
  constant ACCESSES : natural := 60;
  -- The requests to the block: whether it is a write, address, data and bits.
  constant ASKED    : queue_t := new_queue;

  signal clk, rst                           : std_logic := '1';
  signal awvalid, wvalid, arvalid           : std_logic := '0';
  signal awready, wready, arready           : std_logic;
  signal bvalid, rvalid                     : std_logic;
  signal bready, rready                     : std_logic := '0';
  signal awaddr, araddr                     : std_logic_vector(10 downto 0) := (others => '0');
  signal wdata                              : std_logic_vector(31 downto 0) := (others => '0');
  signal wstrb                              : std_logic_vector(3 downto 0) := "0000";
  signal bresp, rresp                       : std_logic_vector(1 downto 0);
  signal rdata                              : std_logic_vector(31 downto 0);
  signal request, is_write                  : std_logic;
  signal address                            : std_logic_vector(10 downto 0);
  signal write_data, write_bits             : std_logic_vector(31 downto 0);
  signal read_done, read_error              : std_logic := '0';
  signal write_done, write_error            : std_logic := '0';
  signal read_data                          : std_logic_vector(31 downto 0) := (others => '0');
  signal writes_asked, reads_asked          : boolean := false;
  signal writes, reads                      : natural := 0;
begin
  clk <= not clk after PERIOD / 2;

  dut : entity work.register_access
    port map (
      clk => clk, rst => rst,
      s_axil_awvalid => awvalid, s_axil_awready => awready, s_axil_awaddr => awaddr, s_axil_awprot => "000",
      s_axil_wvalid => wvalid, s_axil_wready => wready, s_axil_wdata => wdata, s_axil_wstrb => wstrb,
      s_axil_bvalid => bvalid, s_axil_bready => bready, s_axil_bresp => bresp,
      s_axil_arvalid => arvalid, s_axil_arready => arready, s_axil_araddr => araddr, s_axil_arprot => "000",
      s_axil_rvalid => rvalid, s_axil_rready => rready, s_axil_rdata => rdata, s_axil_rresp => rresp,
      request => request, is_write => is_write, address => address, write_data => write_data, write_bits => write_bits,
      read_done => read_done, read_error => read_error, read_data => read_data,
      write_done => write_done, write_error => write_error
    );

  -- Answers each request: an address with bit 10 set is refused; a read returns the address twice.
  block_behind : process
    variable random : RandomPType;
  begin
    random.InitSeed("block" & to_string(seed));
    loop
      wait until rising_edge(clk) and request = '1' and rst = '0';
      push(ASKED, is_write);
      push(ASKED, address);
      push(ASKED, write_data);
      push(ASKED, write_bits);
      for clock in 1 to random.RandInt(0, 3) loop
        wait until rising_edge(clk);
        check_equal(request, '0', "a request before the answer to the one before");
      end loop;
      write_done  <= is_write;
      write_error <= is_write and address(10);
      read_done   <= not is_write;
      read_error  <= not is_write and address(10);
      read_data   <= x"00" & '0' & address & "0" & address when is_write = '0' else x"00000000";
      wait until rising_edge(clk);
      write_done  <= '0';
      write_error <= '0';
      read_done   <= '0';
      read_error  <= '0';
    end loop;
  end process;

  -- Each has its next access waiting from the clock of its answer on, as long as accesses are requested.
  writer : process
    variable random : RandomPType;
    variable bits   : std_logic_vector(31 downto 0);
  begin
    random.InitSeed("writer" & to_string(seed));
    loop
      wait until rising_edge(clk) and writes_asked;
      while writes_asked loop
        awaddr  <= random.RandSlv(11);
        wdata   <= random.RandSlv(32);
        wstrb   <= random.RandSlv(4);
        awvalid <= '1';
        wvalid  <= '1';
        wait until rising_edge(clk) and awready = '1';
        check_equal(wready, '1', "both halves of a write are taken together");
        awvalid <= '0';
        wvalid  <= '0';
        for clock in 1 to random.RandInt(0, 2) loop
          wait until rising_edge(clk);
        end loop;
        bready <= '1';
        wait until rising_edge(clk) and bvalid = '1';
        bready <= '0';
        for byte in 0 to 3 loop
          bits(8 * byte + 7 downto 8 * byte) := (others => wstrb(byte));
        end loop;
        check_equal(std_logic'(pop(ASKED)), '1', "a write was asked for");
        check_equal(std_logic_vector'(pop(ASKED)), awaddr, "address of a write");
        check_equal(std_logic_vector'(pop(ASKED)), wdata, "data of a write");
        check_equal(std_logic_vector'(pop(ASKED)), bits, "bits of a write");
        check_equal(bresp, std_logic_vector'(awaddr(10) & '0'), "answer to a write");
        writes <= writes + 1;
      end loop;
    end loop;
  end process;

  reader : process
    variable random : RandomPType;
    variable unused : std_logic_vector(31 downto 0);
  begin
    random.InitSeed("reader" & to_string(seed));
    loop
      wait until rising_edge(clk) and reads_asked;
      while reads_asked loop
        araddr  <= random.RandSlv(11);
        arvalid <= '1';
        wait until rising_edge(clk) and arready = '1';
        arvalid <= '0';
        for clock in 1 to random.RandInt(0, 2) loop
          wait until rising_edge(clk);
        end loop;
        rready <= '1';
        wait until rising_edge(clk) and rvalid = '1';
        rready <= '0';
        check_equal(std_logic'(pop(ASKED)), '0', "a read was asked for");
        check_equal(std_logic_vector'(pop(ASKED)), araddr, "address of a read");
        unused := pop(ASKED);
        unused := pop(ASKED);
        check_equal(rdata, std_logic_vector'(x"00" & '0' & araddr & "0" & araddr), "data of a read");
        check_equal(rresp, std_logic_vector'(araddr(10) & '0'), "answer to a read");
        reads <= reads + 1;
      end loop;
    end loop;
  end process;

  main : process
    -- Whether the previous access was a write; the numbers of accesses at one time.
    variable was_write      : std_logic;
    variable writes_at, reads_at : natural;
  begin
    test_runner_setup(runner, runner_cfg);
    wait until rising_edge(clk);
    wait until rising_edge(clk);
    rst <= '0';
    while test_suite loop
      if run("reads and writes that wait for each other take turns") then
        writes_asked <= true;
        reads_asked  <= true;
        wait until rising_edge(clk) and request = '1';
        was_write := is_write;
        for access_number in 2 to ACCESSES loop
          wait until rising_edge(clk) and request = '1';
          check_equal(is_write, not was_write, "turn of access " & to_string(access_number));
          was_write := is_write;
        end loop;

      elsif run("one alone does not wait for the other") then
        writes_asked <= true;
        wait until writes = ACCESSES;
        check_equal(reads, 0, "reads");
        writes_asked <= false;
        wait until rising_edge(clk) and bvalid = '1';
        writes_at   := writes + 1;
        reads_asked <= true;
        wait until reads = ACCESSES;
        check_equal(writes, writes_at, "writes");

      elsif run("each access has its own address, data, strobes and answer") then
        for round in 1 to 10 loop
          writes_asked <= round mod 3 /= 0;
          reads_asked  <= round mod 2 = 0 or round mod 3 = 0;
          wait for 100 * PERIOD;
        end loop;
        writes_at := writes;
        reads_at  := reads;
        check(writes_at > 30 and reads_at > 30, "accesses: " & to_string(writes_at) & ", " & to_string(reads_at));
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 1 ms);
end architecture;
