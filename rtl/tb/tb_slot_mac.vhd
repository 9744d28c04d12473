-- Tests of slot_mac: frames that are kept, dropped and counted, the verdict of each, and every byte that is sent.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.line_pkg.all;
use work.reference_node_pkg.all;

entity tb_slot_mac is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_slot_mac is
  constant PERIOD : time := 10 ns;
  constant OWN    : integer_vector(0 to 5) := (16#02#, 0, 16#5E#, 16#10#, 0, 1);
  constant OTHER  : integer_vector(0 to 5) := (16#02#, 0, 16#5E#, 16#10#, 0, 2);
  constant TO_ALL : integer_vector(0 to 5) := (others => 255);
  constant SENT_BYTES : queue_t := new_queue;
  -- The flags of a bad frame from the MAC: bad FCS, rx error, runt, oversize.
  constant GOOD   : std_logic_vector(3 downto 0) := "0000";

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal s_tdata, m_tdata : std_logic_vector(7 downto 0) := x"00";
  signal s_tvalid, s_tlast, s_tuser, s_bad_fcs, s_rx_error, s_runt, s_oversize : std_logic := '0';
  signal result_valid, result_wanted : std_logic := '0';
  signal result_rules : std_logic_vector(3 downto 0) := "0000";
  signal m_tvalid, m_tready, m_tlast, sent, irq : std_logic := '0';
  signal no_sfd, too_short, bad_preamble, underrun : std_logic := '0';
  signal s_access, s_write : std_logic := '0';
  signal s_address : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal s_bytes : std_logic_vector(3 downto 0) := "1111";
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.slot_mac
    port map (
      clk, rst, s_tdata, s_tvalid, s_tlast, s_tuser, s_bad_fcs, s_rx_error, s_runt, s_oversize,
      no_sfd, too_short, bad_preamble, result_valid, result_wanted, result_rules,
      m_tdata, m_tvalid, m_tready, m_tlast, sent, underrun, irq,
      s_access, s_write, s_address, s_wdata, s_bytes, s_rdata
    );

  -- The transmitter: takes bytes at random and stores them, followed by the length of the frame.
  process
    variable random : RandomPType;
    variable length : natural := 0;
  begin
    random.InitSeed("taker" & to_string(seed));
    loop
      wait until rising_edge(clk);
      if m_tvalid = '1' and m_tready = '1' then
        push(SENT_BYTES, to_integer(unsigned(m_tdata)));
        length := length + 1;
        if m_tlast = '1' then
          push(SENT_BYTES, -length);
          length := 0;
        end if;
      end if;
      m_tready <= '1' when random.RandInt(0, 2) > 0 else '0';
    end loop;
  end process;

  main : process
    variable random : RandomPType;
    variable word, length, turn, slot, at : natural;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write_word(
      address : natural; value : std_logic_vector(31 downto 0); bytes : std_logic_vector(3 downto 0) := "1111"
    ) is
    begin
      s_access  <= '1';
      s_write   <= '1';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      s_wdata   <= value;
      s_bytes   <= bytes;
      cycles(1);
      s_access <= '0';
      s_wdata  <= (others => '0');
      -- An access takes two clocks at least.
      cycles(1);
    end procedure;

    procedure write(address, value : natural; bytes : std_logic_vector(3 downto 0) := "1111") is
    begin
      write_word(address, std_logic_vector(to_unsigned(value, 32)), bytes);
    end procedure;

    procedure read(address : natural; value : out std_logic_vector(31 downto 0)) is
    begin
      s_access  <= '1';
      s_write   <= '0';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      cycles(1);
      s_access  <= '0';
      -- The word must hold, whatever is on the bus now.
      s_address <= (others => '1');
      cycles(random.RandInt(1, 4));
      value := s_rdata;
    end procedure;

    impure function payload_byte(number, index : natural) return natural is
    begin
      return (number * 37 + index * 11) mod 256;
    end function;

    -- A frame of `bytes` without FCS to a node, with the flags of the MAC and the result of the identifier.
    procedure receive(
      destination : integer_vector; bytes, number : natural; wrong : std_logic_vector(3 downto 0) := GOOD;
      rules : natural := 0
    ) is
    begin
      for i in 0 to bytes - 1 loop
        s_tvalid <= '1';
        s_tdata  <= octet(destination(i)) when i < 6 else octet(payload_byte(number, i));
        s_tlast  <= '1' when i = bytes - 1 else '0';
        s_tuser  <= (or wrong) when i = bytes - 1 else '0';
        (s_bad_fcs, s_rx_error, s_runt, s_oversize) <= wrong when i = bytes - 1 else GOOD;
        cycles(1);
        s_tvalid <= '0';
        s_tlast  <= '0';
        s_tuser  <= '0';
        (s_bad_fcs, s_rx_error, s_runt, s_oversize) <= GOOD;
        if random.RandInt(0, 3) = 0 then
          cycles(random.RandInt(1, 7));
        end if;
      end loop;
      cycles(2);
      result_valid  <= '1';
      result_wanted <= '1' when rules > 0 else '0';
      result_rules  <= std_logic_vector(to_unsigned(rules, 4));
      cycles(1);
      result_valid  <= '0';
      result_wanted <= '0';
      result_rules  <= "0000";
      cycles(3);
    end procedure;

    procedure expect_status(slot : natural; full : std_logic; bytes : natural := 0; rules : natural := 0) is
      variable status : std_logic_vector(31 downto 0);
      variable wanted : std_logic_vector(31 downto 0) := (others => '0');
    begin
      read(SLOT_MAC_RX_STATUS0 + 4 * slot, status);
      wanted(SLOT_MAC_RX_STATUS0_FULL)   := full;
      wanted(SLOT_MAC_RX_STATUS0_WANTED) := '1' when rules > 0 else '0';
      wanted(SLOT_MAC_RX_STATUS0_RULES)  := std_logic_vector(to_unsigned(rules, 4));
      wanted(SLOT_MAC_RX_STATUS0_LENGTH) := std_logic_vector(to_unsigned(bytes, 11));
      check_equal(status, wanted, "status of slot " & to_string(slot));
    end procedure;

    procedure expect_slot(slot : natural; destination : integer_vector; bytes, number : natural) is
      variable word     : std_logic_vector(31 downto 0);
      variable expected : natural;
    begin
      for i in 0 to bytes - 1 loop
        if i mod 4 = 0 then
          read(16#1000# + 16#800# * slot + i, word);
        end if;
        expected := payload_byte(number, i);
        if i < 6 then
          expected := destination(i);
        end if;
        check_equal(to_integer(unsigned(word(8 * (i mod 4) + 7 downto 8 * (i mod 4)))), expected, "byte " & to_string(i));
      end loop;
    end procedure;

    procedure expect_count(register_at, value : natural; what : string) is
      variable count : std_logic_vector(31 downto 0);
    begin
      read(register_at, count);
      check_equal(to_integer(unsigned(count)), value, what);
    end procedure;

    procedure expect_sent(number, bytes : natural) is
    begin
      for i in 0 to bytes - 1 loop
        check_equal(integer'(pop(SENT_BYTES)), payload_byte(number, i), "byte " & to_string(i) & " of " & to_string(number));
      end loop;
      check_equal(integer'(pop(SENT_BYTES)), -bytes, "length of " & to_string(number));
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("slots" & to_string(seed));
    cycles(4);
    rst <= '0';
    cycles(1);
    write(SLOT_MAC_OWN, 16#5E100001#);
    write(SLOT_MAC_OWN + 4, 16#0200#);
    write(SLOT_MAC_CONTROL, 3);

    while test_suite loop
      if run("good frames to the own address and to all are kept, in turns, with their verdict") then
        for number in 0 to 19 loop
          length := random.RandInt(60, 300);
          turn   := random.RandInt(0, 15);
          check_equal(irq, '0', "interrupt");
          if number mod 3 = 0 then
            receive(TO_ALL, length, number, GOOD, turn);
          else
            receive(OWN, length, number, GOOD, turn);
          end if;
          check_equal(irq, '1', "interrupt");
          expect_status(number mod 2, '1', length, turn);
          expect_status((number + 1) mod 2, '0');
          if number mod 3 = 0 then
            expect_slot(number mod 2, TO_ALL, length, number);
          else
            expect_slot(number mod 2, OWN, length, number);
          end if;
          write(SLOT_MAC_RX_DONE, 2**(number mod 2));
          cycles(4);
        end loop;
        expect_count(SLOT_MAC_COUNTS_RECEIVED, 20, "received");
        expect_count(SLOT_MAC_COUNTS_DROPPED, 0, "dropped");

      elsif run("a frame without a slot is dropped and counted, and the slots stay as they are") then
        receive(OWN, 60, 1, GOOD, 3);
        receive(OWN, 61, 2, GOOD, 0);
        expect_count(SLOT_MAC_COUNTS_STICKY, 0, "no overrun yet");
        receive(OTHER, 300, 9);
        receive(OWN, 300, 9, "1000");
        expect_count(SLOT_MAC_COUNTS_STICKY, 0, "frames that are not to be kept need no slot");
        receive(OWN, 300, 3, GOOD, 15);
        expect_count(SLOT_MAC_COUNTS_STICKY, 2**SLOT_MAC_COUNTS_STICKY_OVERRUN, "overrun");
        receive(TO_ALL, 300, 4, GOOD, 15);
        receive(OTHER, 300, 5);
        expect_status(0, '1', 60, 3);
        expect_status(1, '1', 61, 0);
        expect_slot(0, OWN, 60, 1);
        expect_slot(1, OWN, 61, 2);
        expect_count(SLOT_MAC_COUNTS_RECEIVED, 2, "received");
        expect_count(SLOT_MAC_COUNTS_DROPPED, 2, "dropped");
        expect_count(SLOT_MAC_COUNTS_FILTERED, 2, "filtered");
        -- It is slot 0's turn: while it is full, slot 1 does not help.
        write(SLOT_MAC_RX_DONE, 2);
        receive(OWN, 62, 6);
        expect_count(SLOT_MAC_COUNTS_DROPPED, 3, "dropped");
        write(SLOT_MAC_RX_DONE, 1);
        cycles(1);
        receive(OWN, 63, 7);
        expect_status(0, '1', 63);
        receive(OWN, 64, 8);
        expect_status(1, '1', 64);
        expect_count(SLOT_MAC_COUNTS_STICKY, 2**SLOT_MAC_COUNTS_STICKY_OVERRUN, "it stays");
        write(SLOT_MAC_CONTROL, 3 + 8);
        cycles(1);
        expect_count(SLOT_MAC_COUNTS_STICKY, 0, "cleared");
        receive(OWN, 65, 10);
        expect_count(SLOT_MAC_COUNTS_STICKY, 2**SLOT_MAC_COUNTS_STICKY_OVERRUN, "and it comes again");

      elsif run("damaged frames are not kept but counted as what they are") then
        receive(OWN, 60, 1, "1000");
        receive(OWN, 60, 2, "0100");
        receive(OWN, 59, 3, "0010");
        receive(OWN, 1600, 4, "0001");
        receive(OWN, 60, 5, "1100");
        expect_status(0, '0');
        expect_status(1, '0');
        expect_count(SLOT_MAC_COUNTS_BAD_FCS, 2, "bad FCS");
        expect_count(SLOT_MAC_COUNTS_RX_ERRORS, 2, "rx errors");
        expect_count(SLOT_MAC_COUNTS_RUNTS, 1, "runts");
        expect_count(SLOT_MAC_COUNTS_OVERSIZES, 1, "oversizes");
        expect_count(SLOT_MAC_COUNTS_RECEIVED, 0, "received");
        receive(OWN, 70, 6);
        expect_status(0, '1', 70);
        expect_slot(0, OWN, 70, 6);
        write(SLOT_MAC_CONTROL, 3 + 8);
        expect_count(SLOT_MAC_COUNTS_BAD_FCS, 0, "bad FCS after clearing");

      elsif run("frames to others are kept if that is asked, and none while it is off") then
        write(SLOT_MAC_CONTROL, 5);
        receive(OTHER, 60, 1);
        expect_status(0, '1', 60);
        check_equal(irq, '0', "an interrupt that is not enabled");
        write(SLOT_MAC_RX_DONE, 3);
        write(SLOT_MAC_CONTROL, 0);
        receive(OWN, 60, 2);
        expect_status(1, '0');
        expect_count(SLOT_MAC_COUNTS_RECEIVED, 1, "received");
        expect_count(SLOT_MAC_COUNTS_DROPPED, 0, "dropped");

      elsif run("frames are sent whole, in the order in which they were asked for") then
        for number in 0 to 11 loop
          slot   := number mod 2;
          length := random.RandInt(14, 200);
          for i in 0 to length - 1 loop
            at := 16#2000# + 16#800# * slot + i / 4 * 4;
            case i mod 4 is
              when 0      => write(at, payload_byte(number, i), "0001");
              when 1      => write(at, payload_byte(number, i) * 2**8, "0010");
              when 2      => write(at, payload_byte(number, i) * 2**16, "0100");
              -- More than a natural holds.
              when others => write_word(at, octet(payload_byte(number, i)) & x"000000", "1000");
            end case;
          end loop;
          write(SLOT_MAC_TX_LENGTH0 + 4 * slot, length);
          write(SLOT_MAC_TX_GO, 2**slot);
          expect_count(SLOT_MAC_TX_STATUS, 2**slot, "busy");
          cycles(3 * length + 50);
          expect_count(SLOT_MAC_TX_STATUS, 0, "busy");
          expect_sent(number, length);
        end loop;
        check(is_empty(SENT_BYTES), "nothing else is sent");
        -- Requested at once, they are sent in the order of their numbers; a request during a frame comes after it.
        write(SLOT_MAC_TX_LENGTH0, 20);
        write(SLOT_MAC_TX_LENGTH1, 30);
        write(SLOT_MAC_TX_GO, 3);
        cycles(200);
        write(SLOT_MAC_TX_GO, 2);
        write(SLOT_MAC_TX_GO, 1);
        cycles(200);
        for i in 1 to 4 loop
          length := 20 when i = 1 or i = 4 else 30;
          for k in 1 to length loop
            word := pop(SENT_BYTES);
          end loop;
          check_equal(integer'(pop(SENT_BYTES)), -length, "frame " & to_string(i));
        end loop;

      elsif run("a length that no frame has is refused, and told until it is cleared") then
        for bytes in 0 to 13 loop
          write(SLOT_MAC_TX_LENGTH0, bytes);
          write(SLOT_MAC_TX_GO, 1);
          cycles(3);
          expect_count(SLOT_MAC_TX_STATUS, 2**SLOT_MAC_TX_STATUS_REFUSED, "refused");
          write(SLOT_MAC_CONTROL, 8);
          cycles(1);
          expect_count(SLOT_MAC_TX_STATUS, 0, "cleared");
        end loop;
        write(SLOT_MAC_TX_LENGTH1, 1519);
        write(SLOT_MAC_TX_GO, 2);
        cycles(3);
        expect_count(SLOT_MAC_TX_STATUS, 2**SLOT_MAC_TX_STATUS_REFUSED, "refused");
        write(SLOT_MAC_CONTROL, 8);
        -- 60 bytes in the low bits, with each bit above them in turn.
        for bit_at in 11 to 30 loop
          for slot in 0 to 1 loop
            write(SLOT_MAC_TX_LENGTH0 + 4 * slot, 2**bit_at + 60);
            expect_count(SLOT_MAC_TX_LENGTH0 + 4 * slot, 2047, "the length that is kept");
            write(SLOT_MAC_TX_GO, 2**slot);
            cycles(3);
            expect_count(SLOT_MAC_TX_STATUS, 2**SLOT_MAC_TX_STATUS_REFUSED, "refused, bit " & to_string(bit_at));
            write(SLOT_MAC_CONTROL, 8);
            cycles(1);
          end loop;
        end loop;
        write_word(SLOT_MAC_TX_LENGTH0, x"8000003C");
        write(SLOT_MAC_TX_GO, 1);
        cycles(3);
        expect_count(SLOT_MAC_TX_STATUS, 2**SLOT_MAC_TX_STATUS_REFUSED, "refused, bit 31");
        cycles(100);
        check(is_empty(SENT_BYTES), "nothing is sent");
        -- And a valid length is sent.
        write(SLOT_MAC_TX_LENGTH0, 60);
        expect_count(SLOT_MAC_TX_LENGTH0, 60, "the length that is kept");
        write(SLOT_MAC_TX_GO, 1);
        cycles(300);
        for k in 1 to 60 loop
          word := pop(SENT_BYTES);
        end loop;
        check_equal(integer'(pop(SENT_BYTES)), -60, "a frame that is one");

      elsif run("a slot that is busy is not sent again, which is told, and the other one is no matter of it") then
        write(SLOT_MAC_TX_LENGTH0, 60);
        write(SLOT_MAC_TX_LENGTH1, 70);
        write(SLOT_MAC_TX_GO, 1);
        write(SLOT_MAC_TX_LENGTH0, 80);
        write(SLOT_MAC_TX_GO, 3);
        cycles(1);
        expect_count(SLOT_MAC_TX_STATUS, 3 + 2**SLOT_MAC_TX_STATUS_REFUSED, "busy and refused");
        expect_count(SLOT_MAC_COUNTS_STICKY, 2**SLOT_MAC_COUNTS_STICKY_REFUSED, "in the sticky word");
        cycles(1000);
        for i in 1 to 2 loop
          length := 60 when i = 1 else 70;
          for k in 1 to length loop
            word := pop(SENT_BYTES);
          end loop;
          check_equal(integer'(pop(SENT_BYTES)), -length, "frame " & to_string(i));
        end loop;
        check(is_empty(SENT_BYTES), "nothing else is sent");
        write(SLOT_MAC_CONTROL, 8);
        cycles(1);
        expect_count(SLOT_MAC_COUNTS_STICKY, 0, "cleared");

      elsif run("what is wrong on the line before a frame, and an underrun, are counted and stay in the sticky word") then
        for event in 0 to 3 loop
          no_sfd       <= '1' when event = 0 else '0';
          too_short    <= '1' when event = 1 else '0';
          bad_preamble <= '1' when event = 2 else '0';
          underrun     <= '1' when event = 3 else '0';
          cycles(event + 1);
          (no_sfd, too_short, bad_preamble, underrun) <= std_logic_vector'("0000");
        end loop;
        cycles(1);
        expect_count(SLOT_MAC_COUNTS_NO_SFD, 1, "no SFD");
        expect_count(SLOT_MAC_COUNTS_TOO_SHORT, 2, "too short");
        expect_count(SLOT_MAC_COUNTS_BAD_PREAMBLES, 3, "bad preambles");
        expect_count(SLOT_MAC_COUNTS_UNDERRUNS, 4, "underruns");
        expect_count(SLOT_MAC_COUNTS_STICKY, 16#1E#, "sticky");
        expect_count(SLOT_MAC_COUNTS_OVERFLOW, 0, "overflow");
        write(SLOT_MAC_CONTROL, 8);
        cycles(1);
        expect_count(SLOT_MAC_COUNTS_STICKY, 0, "cleared");
        expect_count(SLOT_MAC_COUNTS_UNDERRUNS, 0, "cleared");

      elsif run("a reset within a frame leaves nothing of it") then
        s_tvalid <= '1';
        s_tdata  <= x"02";
        cycles(20);
        s_tvalid <= '0';
        rst <= '1';
        cycles(1);
        rst <= '0';
        write(SLOT_MAC_OWN, 16#5E100001#);
        write(SLOT_MAC_OWN + 4, 16#0200#);
        write(SLOT_MAC_CONTROL, 3);
        receive(OWN, 90, 4);
        expect_status(0, '1', 90);
        expect_slot(0, OWN, 90, 4);
        expect_count(SLOT_MAC_COUNTS_RECEIVED, 1, "received");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
