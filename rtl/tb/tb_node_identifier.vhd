-- Tests of node_identifier: each setting keeps only its own bits; frames that its rules want; and their counts.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.line_pkg.all;
use work.reference_node_pkg.all;

entity tb_node_identifier is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_node_identifier is
  constant PERIOD     : time    := 10 ns;
  constant COUNT_BITS : natural := 3;

  type numbers_t is array (0 to 3) of natural;
  constant TYPES      : numbers_t := (16#1234#, 16#8765#, 16#4321#, 16#ABCD#);
  constant PROTOCOLS  : numbers_t := (16#01#, 16#82#, 16#44#, 16#28#);
  constant PRIORITIES : numbers_t := (1, 2, 4, 7);
  -- Port numbers with 0 in the bits that the masks leave out.
  constant NUMBERS    : numbers_t := (16#1001#, 16#2A02#, 16#4404#, 16#8B08#);
  type addresses_t is array (0 to 1) of std_logic_vector(127 downto 0);
  constant OWN : addresses_t := (x"20010DB8A1B2C3D41122334455667788", x"FD57004C99AABBCCDDEEFF0013579BDF");

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal tap_tdata : std_logic_vector(7 downto 0) := x"00";
  signal tap_tvalid, tap_start, tap_end, wanted, result_valid, result_wanted : std_logic := '0';
  signal result_rules : std_logic_vector(3 downto 0);
  signal s_access, s_write : std_logic := '0';
  signal s_address : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.node_identifier
    generic map (COUNT_BITS => COUNT_BITS)
    port map (
      clk, rst, tap_tdata, tap_tvalid, tap_start, tap_end, wanted, result_valid, result_wanted, result_rules,
      s_access, s_write, s_address, s_wdata, s_rdata
    );

  main : process
    variable random : RandomPType;
    variable word, expected : std_logic_vector(31 downto 0);
    variable other : natural;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write(address : natural; value : std_logic_vector(31 downto 0)) is
    begin
      s_access  <= '1';
      s_write   <= '1';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      s_wdata   <= value;
      cycles(1);
      s_access <= '0';
      cycles(1);
    end procedure;

    procedure expect(address : natural; value : std_logic_vector(31 downto 0); what : string) is
    begin
      s_access  <= '1';
      s_write   <= '0';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      cycles(1);
      s_access <= '0';
      cycles(1);
      check_equal(s_rdata, value, what);
    end procedure;

    -- Sends a frame, with an FCS added, and checks its result.
    procedure see(frame : integer_vector; rules : std_logic_vector(3 downto 0)) is
      constant WHOLE : integer_vector := with_fcs(padded(frame));
    begin
      for i in WHOLE'range loop
        tap_tdata  <= octet(WHOLE(i));
        tap_tvalid <= '1';
        tap_start  <= '1' when i = WHOLE'left else '0';
        cycles(1);
        tap_tvalid <= '0';
        tap_start  <= '0';
        cycles(7);
      end loop;
      check_equal(wanted, or rules, "verdict");
      tap_end <= '1';
      cycles(1);
      tap_end <= '0';
      wait until rising_edge(clk) and result_valid = '1' for 10 * PERIOD;
      check_equal(result_valid, '1', "a result");
      check_equal(result_wanted, or rules, "wanted");
      check_equal(result_rules, rules, "rules");
      cycles(2);
    end procedure;

    -- A packet of UDP or another protocol over IPv4 to a port of 10.0.0.1, with a right header checksum and 14 bytes of UDP
    -- payload.
    impure function datagram(udp_port : natural; protocol : natural := 17) return integer_vector is
      variable frame : integer_vector(0 to 55) := (others => 0);
      variable sum   : natural := 0;
    begin
      frame(0 to 5)   := (2, 0, 16#5E#, 16#10#, 0, 1);
      frame(6 to 11)  := (2, 0, 16#5E#, 16#10#, 0, 2);
      frame(12 to 13) := (8, 0);
      frame(14 to 33) := (16#45#, 0, 0, 42, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1);
      for i in 0 to 9 loop
        sum := sum + frame(14 + 2 * i) * 256 + frame(15 + 2 * i);
      end loop;
      sum := 65535 - (sum mod 65536 + sum / 65536);
      frame(24 to 25) := (sum / 256, sum mod 256);
      frame(34 to 41) := (16#13#, 16#8B#, udp_port / 256, udp_port mod 256, 0, 22, 0, 0);
      return frame;
    end function;

    -- To the own MAC address, with this EtherType and the bytes after it.
    function of_type(ethertype : natural; rest : integer_vector := (0, 0)) return integer_vector is
    begin
      return (2, 0, 16#5E#, 16#10#, 0, 1, 2, 0, 16#5E#, 16#10#, 0, 2, ethertype / 256, ethertype mod 256) & rest;
    end function;

    function tagged(priority : natural) return integer_vector is
    begin
      return of_type(16#8100#, (32 * priority, 5, 16#88#, 16#B5#));
    end function;

    -- A packet of IPv6 with only six bytes of payload.
    function to_address(address : std_logic_vector(127 downto 0)) return integer_vector is
      variable header : integer_vector(0 to 45) := (0 => 16#60#, 5 => 6, 6 => 59, 7 => 64, others => 0);
    begin
      for byte in 0 to 15 loop
        header(24 + byte) := to_integer(unsigned(address(127 - 8 * byte downto 120 - 8 * byte)));
      end loop;
      return of_type(16#86DD#, header);
    end function;

    -- All rules are on. One has a condition that the frame `met` fulfils and the frame `missed` does not.
    procedure ask(rule : natural; asks : std_logic_vector(31 downto 0); met, missed : integer_vector) is
      constant ON_ALONE : std_logic_vector(31 downto 0) := (IDENTIFIER_RULE0_WHAT_ENABLE => '1', others => '0');
      variable others_want : std_logic_vector(3 downto 0) := "1111";
    begin
      for number in 0 to 3 loop
        if number = rule then
          write(IDENTIFIER_RULE0_WHAT + 8 * number, ON_ALONE or asks);
        else
          write(IDENTIFIER_RULE0_WHAT + 8 * number, ON_ALONE);
        end if;
      end loop;
      others_want(rule) := '0';
      see(met, "1111");
      see(missed, others_want);
    end procedure;

    function bit_of(place : natural) return std_logic_vector is
      variable found : std_logic_vector(31 downto 0) := (others => '0');
    begin
      found(place) := '1';
      return found;
    end function;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("identifier" & to_string(seed));
    cycles(4);
    rst <= '0';
    cycles(1);
    while test_suite loop
      if run("settings hold their own bits, and no other register changes") then
        for number in 0 to 3 loop
          expect(IDENTIFIER_UDP_PORT0 + 4 * number, x"FFFF0000", "mask after a reset");
        end loop;
        for at in 0 to IDENTIFIER_UDP_PORT3 / 4 loop
          write(4 * at, x"FFFFFFFF");
          expected := x"FFFFFFFF";
          if 4 * at = IDENTIFIER_OWN + 4 then
            expected := x"0000FFFF";
          elsif 4 * at = IDENTIFIER_ADDRESS_ENABLE then
            expected := x"00000003";
          elsif 4 * at = IDENTIFIER_STATUS then
            expected := x"00000000";
          elsif 4 * at >= IDENTIFIER_RULE0_WHAT and 4 * at < IDENTIFIER_UDP_PORT0 then
            expected := x"000F071F" when at mod 2 = 0 else x"00FFFFFF";
          end if;
          expect(4 * at, expected, "word " & to_string(at));
          if at < IDENTIFIER_UDP_PORT3 / 4 then
            word := x"FFFF0000" when at + 1 >= IDENTIFIER_UDP_PORT0 / 4 else x"00000000";
            expect(4 * at + 4, word, "the next one");
          end if;
        end loop;
        write(IDENTIFIER_FRAMES, x"FFFFFFFF");
        expect(IDENTIFIER_FRAMES, x"00000000", "a count that is only read");

      elsif run("a rule wants datagrams to its port, and the counts and the last verdict say so") then
        write(IDENTIFIER_OWN, x"5E100001");
        write(IDENTIFIER_OWN + 4, x"00000200");
        write(IDENTIFIER_ADDRESS0_WORD0, x"0A000001");
        write(IDENTIFIER_ADDRESS0_WORD1, x"0000FFFF");
        write(IDENTIFIER_ADDRESS_ENABLE, x"00000001");
        write(IDENTIFIER_UDP_PORT2, x"FFFF0402");
        -- Rule 1: own address, and the third of the ports.
        word := (others => '0');
        word(IDENTIFIER_RULE0_WHAT_ENABLE)   := '1';
        word(IDENTIFIER_RULE0_WHAT_ASKS_OWN) := '1';
        word(IDENTIFIER_RULE0_WHAT_PORTS)    := "0100";
        write(IDENTIFIER_RULE1_WHAT, word);
        see(datagram(1026), "0010");
        expect(IDENTIFIER_STATUS, x"00000021", "status");
        see(datagram(1027), "0000");
        expect(IDENTIFIER_STATUS, x"00000000", "status");
        -- This address is not the own one.
        write(IDENTIFIER_ADDRESS0_WORD0, x"0A000003");
        see(datagram(1026), "0000");
        write(IDENTIFIER_ADDRESS0_WORD0, x"0A000001");
        see(datagram(1026), "0010");
        expect(IDENTIFIER_FRAMES, x"00000004", "frames");
        expect(IDENTIFIER_WANTED, x"00000002", "wanted");

      elsif run("each rule asks by its own bits for its own values, and for each port") then
        write(IDENTIFIER_OWN, x"5E100001");
        write(IDENTIFIER_OWN + 4, x"00000200");
        for rule in 0 to 3 loop
          word := std_logic_vector(to_unsigned(PROTOCOLS(rule) * 65536 + TYPES(rule), 32));
          write(IDENTIFIER_RULE0_VALUES + 8 * rule, word);
          word := std_logic_vector(not to_unsigned(2**(4 + rule), 16) & to_unsigned(NUMBERS(rule), 16));
          write(IDENTIFIER_UDP_PORT0 + 4 * rule, word);
        end loop;
        for rule in 0 to 3 loop
          other := (rule + 1) mod 4;
          ask(rule, bit_of(IDENTIFIER_RULE0_WHAT_ASKS_TYPE), of_type(TYPES(rule)), of_type(TYPES(other)));
          ask(rule, bit_of(IDENTIFIER_RULE0_WHAT_ASKS_PROTOCOL), datagram(5, PROTOCOLS(rule)), datagram(5, PROTOCOLS(other)));
          word := bit_of(IDENTIFIER_RULE0_WHAT_ASKS_PRIORITY);
          word(IDENTIFIER_RULE0_WHAT_PRIORITY) := std_logic_vector(to_unsigned(PRIORITIES(rule), 3));
          ask(rule, word, tagged(PRIORITIES(rule)), tagged(PRIORITIES(other)));
          ask(rule, bit_of(IDENTIFIER_RULE0_WHAT_ASKS_OWN), of_type(5), (3, 0, 16#5E#, 16#10#, 0, 1, 2, 0, 0, 0, 0, 0, 0, 5));
          for number in 0 to 3 loop
            other := (number + 1) mod 4;
            word  := (others => '0');
            word(IDENTIFIER_RULE0_WHAT_PORTS) := bit_of(number)(3 downto 0);
            ask(rule, word, datagram(NUMBERS(number)), datagram(NUMBERS(other)));
            -- A bit that its own mask leaves out, and one that only the next mask leaves out.
            if number = rule then
              ask(rule, word, datagram(NUMBERS(number) + 2**(4 + number)), datagram(NUMBERS(number) + 2**(4 + other)));
            end if;
          end loop;
        end loop;

      elsif run("each own address has its own bit, and its words are in their places") then
        write(IDENTIFIER_OWN, x"5E100001");
        write(IDENTIFIER_OWN + 4, x"00000200");
        write(IDENTIFIER_RULE0_WHAT, x"00000003");
        for number in OWN'range loop
          for part in 0 to 3 loop
            write(IDENTIFIER_ADDRESS0_WORD0 + 16 * number + 4 * part, OWN(number)(32 * part + 31 downto 32 * part));
          end loop;
        end loop;
        for enabled in 0 to 3 loop
          write(IDENTIFIER_ADDRESS_ENABLE, std_logic_vector(to_unsigned(enabled, 32)));
          for number in OWN'range loop
            see(to_address(OWN(number)), "000" & std_logic'(to_unsigned(enabled, 2)(number)));
            see(to_address(OWN(number) rol 32), "0000");
          end loop;
        end loop;

      elsif run("a count that runs over is told until it is cleared, and the settings stay") then
        -- A rule without a condition wants every frame.
        write(IDENTIFIER_RULE2_WHAT, x"00000001");
        for number in 1 to 2**COUNT_BITS - 1 loop
          see(datagram(1026), "0100");
        end loop;
        expect(IDENTIFIER_OVERFLOW, x"00000000", "all bits in use");
        write(IDENTIFIER_RULE2_WHAT, x"00000000");
        see(datagram(1026), "0000");
        expect(IDENTIFIER_FRAMES, x"00000000", "frames from 0 on");
        expect(IDENTIFIER_WANTED, x"00000007", "wanted");
        expect(IDENTIFIER_OVERFLOW, x"00000001", "frames ran over");
        write(IDENTIFIER_RULE2_WHAT, x"00000001");
        see(datagram(1026), "0100");
        expect(IDENTIFIER_FRAMES, x"00000001", "frames");
        expect(IDENTIFIER_OVERFLOW, x"00000003", "both ran over");
        write(IDENTIFIER_CONTROL, x"FFFFFFFE");
        expect(IDENTIFIER_OVERFLOW, x"00000003", "no clear was asked for");
        write(IDENTIFIER_CONTROL, x"00000001");
        expect(IDENTIFIER_CONTROL, x"00000000", "a bit that does not stay");
        expect(IDENTIFIER_OVERFLOW, x"00000000", "cleared");
        expect(IDENTIFIER_FRAMES, x"00000000", "cleared");
        expect(IDENTIFIER_WANTED, x"00000000", "cleared");
        see(datagram(1026), "0100");
        expect(IDENTIFIER_FRAMES, x"00000001", "frames behind the clear");
        expect(IDENTIFIER_WANTED, x"00000001", "wanted behind the clear");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 5 ms);
end architecture;
