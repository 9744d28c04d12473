-- Each register and flag of ethernet_port is wired to its own signal: a script of accesses and carriers gives each its own
-- value, and lists what registers, line and outputs of the identifier must then show.
--
-- The blocks have their own benches. tb_port_wiring.py writes the scripts with port_script.py.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;

library vunit_lib;
context vunit_lib.vunit_context;

library stand_ins;

use work.line_pkg.all;

entity tb_port_wiring is
  generic (
    runner_cfg : string;
    script     : string  := "";
    count_bits : natural := 32;
    -- The port from the library in which rtl/tb/stand_ins replaces generator, checker, capture unit and rate meter.
    stands_in  : boolean := false
  );
end entity;

architecture test of tb_port_wiring is
  constant PERIOD   : time    := 8 ns;
  constant SEEN     : queue_t := new_queue;
  constant EXPECTED : queue_t := new_queue;
  constant RESULTS  : queue_t := new_queue;

  -- The last time of each edge of edge_t (rtl/registers/ethernet_port.rdl), by its number.
  type edges_t is array (0 to 4) of natural;
  constant SOFTWARE     : natural := 0;
  constant RECEIVING    : natural := 1;
  constant RECEIVED     : natural := 2;
  constant TRANSMITTING : natural := 3;
  constant WANTED_FRAME : natural := 4;
  -- Clocks from the change of a written bit to the one in which its answer is seen.
  constant ANSWER_CLOCKS : natural := 0;

  signal clk, rst             : std_logic := '1';
  signal txd, rxd             : std_logic_vector(7 downto 0) := x"00";
  signal tx_en, tx_er         : std_logic;
  signal rx_dv, rx_er         : std_logic := '0';
  signal always               : std_logic := '1';
  signal decided, wanted      : std_logic;
  signal result_valid         : std_logic;
  signal result_wanted        : std_logic;
  signal awvalid, wvalid      : std_logic := '0';
  signal arvalid              : std_logic := '0';
  signal awready, arready     : std_logic;
  signal bvalid, rvalid       : std_logic;
  signal bresp, rresp         : std_logic_vector(1 downto 0);
  signal address              : std_logic_vector(10 downto 0) := (others => '0');
  signal wdata                : std_logic_vector(31 downto 0) := (others => '0');
  signal wstrb                : std_logic_vector(3 downto 0) := "0000";
  signal rdata                : std_logic_vector(31 downto 0);
  signal edges                : edges_t := (others => 0);
begin
  clk <= not clk after PERIOD / 2;

  port_of : if stands_in generate
    dut : entity stand_ins.ethernet_port
      generic map (HIGH_TIME => 16#1234#)
      port map (
        clk => clk, rst => rst, tx_ce => '1', gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er,
        rx_ce => '1', gmii_rxd => rxd, gmii_rx_dv => rx_dv, gmii_rx_er => rx_er,
        decided => decided, wanted => wanted, result_valid => result_valid, result_wanted => result_wanted,
        word_request => open, word_number => open, word => (others => '0'),
        s_axil_awvalid => awvalid, s_axil_awready => awready, s_axil_awaddr => address, s_axil_awprot => "000",
        s_axil_wvalid => wvalid, s_axil_wready => open, s_axil_wdata => wdata, s_axil_wstrb => wstrb,
        s_axil_bvalid => bvalid, s_axil_bready => '1', s_axil_bresp => bresp,
        s_axil_arvalid => arvalid, s_axil_arready => arready, s_axil_araddr => address, s_axil_arprot => "000",
        s_axil_rvalid => rvalid, s_axil_rready => '1', s_axil_rdata => rdata, s_axil_rresp => rresp
      );
  else generate
    dut : entity work.ethernet_port
      generic map (COUNT_BITS => count_bits)
      port map (
        clk => clk, rst => rst, tx_ce => '1', gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er,
        rx_ce => '1', gmii_rxd => rxd, gmii_rx_dv => rx_dv, gmii_rx_er => rx_er,
        decided => decided, wanted => wanted, result_valid => result_valid, result_wanted => result_wanted,
        word_request => open, word_number => open, word => (others => '0'),
        s_axil_awvalid => awvalid, s_axil_awready => awready, s_axil_awaddr => address, s_axil_awprot => "000",
        s_axil_wvalid => wvalid, s_axil_wready => open, s_axil_wdata => wdata, s_axil_wstrb => wstrb,
        s_axil_bvalid => bvalid, s_axil_bready => '1', s_axil_bresp => bresp,
        s_axil_arvalid => arvalid, s_axil_arready => arready, s_axil_araddr => address, s_axil_arprot => "000",
        s_axil_rvalid => rvalid, s_axil_rready => '1', s_axil_rdata => rdata, s_axil_rresp => rresp
      );
  end generate;

  watch_line(clk, always, txd, tx_en, tx_er, SEEN);

  watch_edges : process
    variable cycle  : natural := 0;
    variable before : std_logic_vector(0 to 4) := (others => '0');
    variable level  : std_logic_vector(0 to 4);
  begin
    wait until rising_edge(clk);
    cycle := cycle + 1;
    level := bvalid & rx_dv & not rx_dv & tx_en & wanted;
    for edge in level'range loop
      if level(edge) = '1' and before(edge) = '0' then
        edges(edge) <= cycle;
      end if;
    end loop;
    if bvalid = '1' then
      edges(SOFTWARE) <= cycle - ANSWER_CLOCKS;
    end if;
    before := level;
  end process;

  -- At each frame's result: how often each output rose since the last one, and the outputs beside it.
  watch_results : process
    variable decided_before, wanted_before : std_logic := '0';
    variable decisions, wishes             : natural := 0;
  begin
    wait until rising_edge(clk) and rst = '0';
    decisions := decisions + 1 when decided = '1' and decided_before = '0' else decisions;
    wishes    := wishes + 1 when wanted = '1' and wanted_before = '0' else wishes;
    if result_valid = '1' then
      push(RESULTS, decisions);
      push(RESULTS, wishes);
      push(RESULTS, decided);
      push(RESULTS, wanted);
      push(RESULTS, result_wanted);
      decisions := 0;
      wishes    := 0;
    end if;
    decided_before := decided;
    wanted_before  := wanted;
  end process;

  main : process
    file words              : text;
    variable row            : line;
    variable word           : character;
    variable number         : natural := 0;
    variable start_at       : natural := 0;
    variable stop_at        : natural := 0;
    variable value          : std_logic_vector(31 downto 0);

    procedure clocks(count : natural) is
    begin
      for clock in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    impure function place return string is
    begin
      return "line " & to_string(number) & " of " & script & ": ";
    end function;

    impure function next_number return natural is
      variable found : natural;
    begin
      read(row, found);
      return found;
    end function;

    impure function next_word return std_logic_vector is
      variable found : std_logic_vector(31 downto 0);
    begin
      hread(row, found);
      return found;
    end function;

    -- The next bytes of the row; from ERROR_MARK on they carry an error.
    impure function next_bytes return integer_vector is
      constant LENGTH : natural := next_number;
      variable found  : std_logic_vector(11 downto 0);
      variable bytes  : integer_vector(0 to LENGTH - 1);
    begin
      for byte in bytes'range loop
        hread(row, found);
        bytes(byte) := to_integer(unsigned(found));
      end loop;
      return bytes;
    end function;

    procedure write_register is
    begin
      address <= std_logic_vector(to_unsigned(next_number, 11));
      wdata   <= next_word;
      wstrb   <= next_word(3 downto 0);
      awvalid <= '1';
      wvalid  <= '1';
      wait until rising_edge(clk) and awready = '1';
      awvalid <= '0';
      wvalid  <= '0';
      wait until rising_edge(clk) and bvalid = '1';
      check_equal(bresp, std_logic_vector'("00"), place & "answer");
    end procedure;

    procedure read_register(at : natural) is
    begin
      address <= std_logic_vector(to_unsigned(at, 11));
      arvalid <= '1';
      wait until rising_edge(clk) and arready = '1';
      arvalid <= '0';
      wait until rising_edge(clk) and rvalid = '1';
      check_equal(rresp, std_logic_vector'("00"), place & "answer");
      value := rdata;
    end procedure;

    procedure check_register is
      constant AT       : natural := next_number;
      constant BITS     : std_logic_vector(31 downto 0) := next_word;
      constant EXPECTED : std_logic_vector(31 downto 0) := next_word;
    begin
      read_register(AT);
      check_equal(value and BITS, EXPECTED, place & row.all);
    end procedure;

    procedure wait_for_register is
      constant AT       : natural := next_number;
      constant BITS     : std_logic_vector(31 downto 0) := next_word;
      constant EXPECTED : std_logic_vector(31 downto 0) := next_word;
    begin
      for turn in 1 to 2000 loop
        read_register(AT);
        if (value and BITS) = EXPECTED then
          return;
        end if;
      end loop;
      check_failed(place & row.all & " does not come: " & to_hstring(value));
    end procedure;

    procedure expect_carrier is
      constant LEAST : natural := next_number;
      constant MOST  : natural := next_number;
    begin
      expect_carrier(EXPECTED, next_bytes, LEAST, MOST, place);
    end procedure;

    procedure check_result is
      constant IS_WANTED : natural := next_number;
    begin
      clocks(8);
      check_equal(length(RESULTS) > 0, true, place & "a result came");
      check_equal(integer'(pop(RESULTS)), 1, place & "times that the frame was decided");
      check_equal(integer'(pop(RESULTS)), IS_WANTED, place & "times that the frame was wanted");
      check_equal(std_logic'(pop(RESULTS)), '1', place & "decided");
      check_equal(std_logic'(pop(RESULTS)), IS_WANTED = 1, place & "wanted");
      check_equal(std_logic'(pop(RESULTS)), IS_WANTED = 1, place & "result_wanted");
      check_equal(length(RESULTS), 0, place & "bytes of further results");
    end procedure;

    procedure mark_edges is
    begin
      clocks(8);
      start_at := edges(next_number);
    end procedure;

    procedure check_record is
      constant AT : natural := next_number;
    begin
      clocks(8);
      stop_at := edges(next_number);
      read_register(AT);
      check_equal(to_integer(unsigned(value)), stop_at - start_at, place & row.all);
    end procedure;

    procedure play is
      variable silence : natural;
    begin
      file_open(words, script, read_mode);
      while not endfile(words) loop
        readline(words, row);
        number := number + 1;
        read(row, word);
        case word is
          when 'w' => write_register;
          when 'r' => check_register;
          when 'u' => wait_for_register;
          when 'c' => clocks(next_number);
          when 's' =>
            silence := next_number;
            send_line(clk, always, next_bytes, silence, rxd, rx_dv, rx_er);
          when 't' => expect_carrier;
          when 'k' => compare(SEEN, EXPECTED);
          when 'f' => flush(SEEN);
          when 'i' => check_result;
          when 'm' => mark_edges;
          when 'd' => check_record;
          when others => check_failed(place & "no word of a script");
        end case;
      end loop;
      file_close(words);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    clocks(4);
    rst <= '0';
    clocks(4);
    while test_suite loop
      if run("script") then
        play;
        check(number > 0, "a script was played");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 2 ms);
end architecture;
