-- The bench of ethernet_port: its registers by AXI4-Lite with random pauses, and frames through a loopback.
--
-- The blocks have their own benches; this one tests that each register belongs to the right port of a block.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

library vunit_lib;
context vunit_lib.vunit_context;

library osvvm;
use osvvm.RandomPkg.all;

entity tb_ethernet_port is
  generic (
    runner_cfg : string;
    seed       : natural := 0;
    count_bits : natural := 32
  );
end entity;

architecture test of tb_ethernet_port is
  constant PERIOD : time := 8 ns;
  signal clk      : std_logic := '0';
  signal rst      : std_logic := '1';
  signal txd      : std_logic_vector(7 downto 0);
  signal tx_en    : std_logic;
  signal tx_er    : std_logic;
  signal damage   : std_logic := '0';
  signal spoils   : boolean := false;
  signal rxd      : std_logic_vector(7 downto 0);
  signal awvalid  : std_logic := '0';
  signal awready  : std_logic;
  signal wvalid   : std_logic := '0';
  signal wready   : std_logic;
  signal bvalid   : std_logic;
  signal bready   : std_logic := '0';
  signal bresp    : std_logic_vector(1 downto 0);
  signal arvalid  : std_logic := '0';
  signal arready  : std_logic;
  signal rvalid   : std_logic;
  signal rready   : std_logic := '0';
  signal rresp    : std_logic_vector(1 downto 0);
  signal awaddr   : std_logic_vector(10 downto 0) := (others => '0');
  signal araddr   : std_logic_vector(10 downto 0) := (others => '0');
  signal cycle    : natural := 0;
  signal wdata    : std_logic_vector(31 downto 0) := (others => '0');
  signal rdata    : std_logic_vector(31 downto 0);
begin
  clk <= not clk after PERIOD / 2;
  rxd <= txd xor (7 downto 1 => '0') & damage;

  cycle <= cycle + 1 when rising_edge(clk);

  -- Clocks of an access, both ends counted: from both halves of a write, or the address of a read, to the answer.
  watch_accesses : process
    variable writing_since, reading_since : natural := 0;
  begin
    wait until rising_edge(clk);
    if writing_since = 0 and awvalid = '1' and wvalid = '1' then
      writing_since := cycle;
    end if;
    if reading_since = 0 and arvalid = '1' then
      reading_since := cycle;
    end if;
    if bvalid = '1' and writing_since > 0 then
      check_equal(cycle - writing_since + 1, 4, "clocks of a write");
      writing_since := 0;
    end if;
    if rvalid = '1' and reading_since > 0 then
      check_equal(cycle - reading_since + 1, 6, "clocks of a read");
      reading_since := 0;
    end if;
  end process;

  -- Damages a byte in the middle of some frame.
  spoil : process
  begin
    wait until spoils;
    wait for 20 us;
    wait until rising_edge(tx_en);
    for byte in 1 to 40 loop
      wait until rising_edge(clk);
    end loop;
    damage <= '1';
    wait until rising_edge(clk);
    damage <= '0';
    wait;
  end process;

  dut : entity work.ethernet_port
    generic map (COUNT_BITS => count_bits)
    port map (
      clk => clk, rst => rst, tx_ce => '1', gmii_txd => txd, gmii_tx_en => tx_en, gmii_tx_er => tx_er,
      rx_ce => '1', gmii_rxd => rxd, gmii_rx_dv => tx_en, gmii_rx_er => tx_er,
      decided => open, wanted => open, result_valid => open, result_wanted => open,
      word_request => open, word_number => open, word => (others => '0'),
      s_axil_awvalid => awvalid, s_axil_awready => awready, s_axil_awaddr => awaddr, s_axil_awprot => "000",
      s_axil_wvalid => wvalid, s_axil_wready => wready, s_axil_wdata => wdata, s_axil_wstrb => "1111",
      s_axil_bvalid => bvalid, s_axil_bready => bready, s_axil_bresp => bresp,
      s_axil_arvalid => arvalid, s_axil_arready => arready, s_axil_araddr => araddr, s_axil_arprot => "000",
      s_axil_rvalid => rvalid, s_axil_rready => rready, s_axil_rdata => rdata, s_axil_rresp => rresp
    );

  main : process
    variable dice  : RandomPType;
    variable value : std_logic_vector(31 downto 0);

    procedure clocks(count : natural) is
    begin
      for number in 1 to count loop
        wait until rising_edge(clk);
      end loop;
      wait for 1 ns;
    end procedure;

    -- Address and data come in any order, and the answer waits.
    procedure write_register(
      address : natural; data : std_logic_vector(31 downto 0); response : std_logic_vector(1 downto 0) := "00") is
      variable address_at : natural;
      variable data_at    : natural;
      variable now_at     : natural := 0;
      variable address_ok : boolean := false;
      variable data_ok    : boolean := false;
    begin
      address_at := dice.RandInt(0, 3);
      data_at    := dice.RandInt(0, 3);
      awaddr     <= std_logic_vector(to_unsigned(address, 11));
      wdata      <= data;
      while not (address_ok and data_ok) loop
        awvalid <= '1' when now_at >= address_at and not address_ok else '0';
        wvalid  <= '1' when now_at >= data_at and not data_ok else '0';
        wait until falling_edge(clk);
        address_ok := address_ok or (awvalid = '1' and awready = '1');
        data_ok    := data_ok or (wvalid = '1' and wready = '1');
        clocks(1);
        now_at := now_at + 1;
      end loop;
      awvalid <= '0';
      wvalid  <= '0';
      clocks(dice.RandInt(0, 3));
      bready <= '1';
      wait until falling_edge(clk) and bvalid = '1';
      check_equal(bresp, response, "answer to a write of " & to_hstring(awaddr));
      clocks(1);
      bready <= '0';
    end procedure;

    procedure read_register(address : natural; response : std_logic_vector(1 downto 0) := "00") is
    begin
      araddr  <= std_logic_vector(to_unsigned(address, 11));
      arvalid <= '1';
      wait until falling_edge(clk) and arready = '1';
      clocks(1);
      arvalid <= '0';
      clocks(dice.RandInt(0, 3));
      rready <= '1';
      wait until falling_edge(clk) and rvalid = '1';
      check_equal(rresp, response, "answer to a read of " & to_hstring(araddr));
      value := rdata;
      clocks(1);
      rready <= '0';
    end procedure;

    procedure check_register(address : natural; expected : natural) is
    begin
      read_register(address);
      check_equal(value, std_logic_vector(to_unsigned(expected, 32)), "register " & to_hstring(to_unsigned(address, 12)));
    end procedure;

    -- Starts to send frames with this payload to the port itself.
    procedure start(frames, payload : natural) is
    begin
      write_register(16#100#, x"00000000");
      write_register(16#108#, std_logic_vector(to_unsigned(payload, 32)));
      write_register(16#110#, std_logic_vector(to_unsigned(frames, 32)));
      write_register(16#120#, x"5E100001");
      write_register(16#124#, x"00000200");
      write_register(16#310#, x"5E100001");
      write_register(16#314#, x"00000200");
      write_register(16#114#, x"00070000");
      write_register(16#308#, x"0007138B");
      write_register(16#300#, x"0000000F");
      loop
        read_register(16#304#);
        exit when value(0) = '1';
      end loop;
      write_register(16#100#, x"00000001");
    end procedure;

    -- As start, and waits until the last frame has arrived.
    procedure send(frames, payload : natural) is
    begin
      start(frames, payload);
      loop
        read_register(16#104#);
        exit when value(1) = '1';
      end loop;
      clocks(payload + 200);
    end procedure;

    -- One setting in even rounds, the other in odd ones.
    function either(round, even, odd : natural) return natural is
    begin
      if round mod 2 = 0 then
        return even;
      end if;
      return odd;
    end function;

    -- Sets the capture unit or the rate meter as their drivers do: choose, clear, enable. Then waits until a register has
    -- counted to `least`.
    procedure watch(control, setting, counted : natural; bits : std_logic_vector(31 downto 0); least : natural) is
    begin
      write_register(control, std_logic_vector(to_unsigned(setting, 32)));
      write_register(control, std_logic_vector(to_unsigned(setting + 2, 32)));
      write_register(control, std_logic_vector(to_unsigned(setting + 1, 32)));
      loop
        read_register(counted);
        exit when unsigned(value and bits) >= least;
      end loop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    dice.InitSeed("port" & to_string(seed));
    clocks(4);
    rst <= '0';
    clocks(1);

    while test_suite loop
      if run("settings are kept and what is not there refuses") then
        for round in 1 to 20 loop
          value := dice.RandSlv(32);
          write_register(16#110#, value);
          read_register(16#110#);
          check_equal(value, wdata);
        end loop;
        check_register(16#000#, 16#574C0001#);
        check_register(16#200#, 12);
        read_register(16#7F0#, "10");
        write_register(16#210#, x"00000001", "10");
        -- An access to a byte that is not the first of its word is refused.
        for byte in 1 to 3 loop
          read_register(16#200# + byte, "10");
          write_register(16#200# + byte, x"FFFFFFFF", "10");
        end loop;
        check_register(16#200#, 12);

      elsif run("frames that come back are counted by each block") then
        -- The meter on the line, the capture unit from the rise of tx_en to the fall of rx_dv, a rule for 0x88B5.
        write_register(16#600#, x"00000101");
        write_register(16#400#, x"00002301");
        write_register(16#530#, x"00000005");
        write_register(16#534#, x"000088B5");
        send(5, 66);
        check_register(16#144#, 5);
        check_register(16#148#, 5 * 66);
        check_register(16#210#, 5);
        check_register(16#218#, 5);
        check_register(16#21C#, 0);
        check_register(16#318#, 5);
        check_register(16#330#, 5);
        check_register(16#348#, 0);
        check_register(16#34C#, 5);
        check_register(16#560#, 5);
        check_register(16#564#, 5);
        check_register(16#50C#, 16#11#);
        check_register(16#608#, 4);
        check_register(16#610#, 66 + 38);
        check_register(16#614#, 66 + 38);
        check_register(16#618#, 4 * (66 + 38));
        for record_number in 1 to 5 loop
          check_register(16#408#, 8 + 14 + 66 + 4);
        end loop;
        read_register(16#404#);
        check_equal(value(9 downto 0), std_logic_vector'("0000000000"));

      elsif run("counts that run over are shown by the registers until they are cleared") then
        write_register(16#530#, x"00000005");
        write_register(16#534#, x"000088B5");
        send(3, 66);
        check_register(16#104#, 2);
        check_register(16#20C#, 0);
        check_register(16#30C#, 0);
        check_register(16#560#, 3);
        check_register(16#568#, 0);
        -- A fourth frame is wanted: both counts of two bits overflow. A fifth is not wanted.
        send(1, 66);
        write_register(16#530#, x"00000000");
        check_register(16#568#, 3);
        send(1, 66);
        check_register(16#560#, 1);
        check_register(16#564#, 0);
        check_register(16#568#, 3);
        write_register(16#56C#, x"00000001");
        check_register(16#560#, 0);
        check_register(16#568#, 0);
        -- Now only the count of frames overflows.
        send(4, 66);
        check_register(16#560#, 0);
        check_register(16#564#, 0);
        check_register(16#568#, 1);
        -- The last run had four frames: sent and used in the generator, good and distinct in the checker.
        check_register(16#104#, 2 + 16);
        check_register(16#144#, 0);
        check_register(16#318#, 0);
        check_register(16#30C#, 2**0 + 2**6);
        -- The MAC sent and received nine frames.
        check_register(16#210#, 1);
        check_register(16#20C#, 2**0 + 2**2);
        write_register(16#208#, x"00000001");
        check_register(16#20C#, 0);
        write_register(16#300#, x"0000000E");
        check_register(16#30C#, 0);

      elsif run("settings written while frames are on the line hold for the next one") then
        start(0, 200);
        for round in 0 to 5 loop
          -- Alternately from the beginning of a frame to its end, and from there to the next one.
          clocks(dice.RandInt(0, 240));
          watch(16#400#, either(round, 16#2300#, 16#3200#), 16#404#, x"000003FF", 3);
          for record_number in 1 to 3 loop
            check_register(16#408#, either(round, 8 + 14 + 200 + 4, 12));
          end loop;
          clocks(dice.RandInt(0, 240));
          watch(16#600#, 256 * dice.RandInt(0, 3), 16#608#, x"FFFFFFFF", 3);
          check_register(16#610#, 200 + 38);
          check_register(16#614#, 200 + 38);
          -- A rule for the frames on the line, or for others.
          clocks(dice.RandInt(0, 240));
          write_register(16#530#, x"00000005");
          write_register(16#534#, std_logic_vector(to_unsigned(either(round, 16#88B5#, 16#88B6#), 32)));
          clocks(2 * 238);
          check_register(16#50C#, either(round, 16#11#, 0));
          -- Frames of another stream are foreign; from the clear on all are good again.
          clocks(dice.RandInt(0, 240));
          write_register(16#308#, x"0006138B");
          clocks(2 * 238);
          read_register(16#318#);
          clocks(2 * 238);
          check_register(16#318#, to_integer(unsigned(value)));
          clocks(dice.RandInt(0, 240));
          write_register(16#308#, x"0007138B");
          write_register(16#300#, x"0000000F");
          clocks(514 + 3 * 238);
          -- Switching the time stamps takes effect at once, and damages no frame.
          for change in 1 to 4 loop
            write_register(16#100#, std_logic_vector(to_unsigned(either(change, 1, 9), 32)));
            clocks(dice.RandInt(0, 200));
          end loop;
          read_register(16#318#);
          check(unsigned(value) >= 2, "good frames");
          for count in 1 to 5 loop
            check_register(16#318# + 4 * count, 0);
          end loop;
        end loop;

      elsif run("a byte damaged on the line is a bad FCS to MAC and checker") then
        spoils <= true;
        send(40, 66);
        check_register(16#210#, 40);
        check_register(16#21C#, 1);
        check_register(16#340#, 1);
        check_register(16#318#, 39);
        write_register(16#208#, x"00000001");
        check_register(16#21C#, 0);
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 2 ms);
end architecture;
