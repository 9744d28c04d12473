-- Tests of the package: published values, and each fast form against the slow one that it replaces.
library ieee;
use ieee.std_logic_1164.all;
library vunit_lib;
context vunit_lib.vunit_context;
use work.ethernet_pkg.all;

entity tb_ethernet_pkg is
  generic (runner_cfg : string);
end entity;

architecture test of tb_ethernet_pkg is
  -- The frame check sequence bit by bit, as clause 3.2.9 of IEEE Std 802.3 reads.
  function crc_slow(crc : word_t; data : octet_t) return word_t is
    variable c : word_t := crc;
    variable f : std_logic;
  begin
    for i in 0 to 7 loop
      f := c(0) xor data(i);
      c := '0' & c(31 downto 1);
      if f = '1' then
        c := c xor x"EDB88320";
      end if;
    end loop;
    return c;
  end function;

  -- One LFSR step, literally that of spec/test-frame.md.
  function step_of_specification(x : word_t) return word_t is
    variable y : word_t;
  begin
    if x(31) = '1' then
      y := x xor x"00000062";
      return y(30 downto 0) & '1';
    end if;
    return x(30 downto 0) & '0';
  end function;
begin
  process
    constant CHECK_TEXT : string := "123456789";
    variable crc, x, y  : word_t;
    variable threes     : octet_t;
  begin
    test_runner_setup(runner, runner_cfg);
    while test_suite loop
      if run("crc of the check string, and its residue") then
        crc := CRC_START;
        for i in CHECK_TEXT'range loop
          crc := crc32_byte(crc, std_logic_vector(ieee.numeric_std.to_unsigned(character'pos(CHECK_TEXT(i)), 8)));
        end loop;
        check_equal(not crc, std_logic_vector'(x"CBF43926"));
        y := not crc;
        for i in 0 to 3 loop
          crc := crc32_byte(crc, byte_of(y, 3 - i));
        end loop;
        check_equal(crc, CRC_RESIDUE);
      elsif run("crc equals its bit by bit form") then
        x := LFSR_SEED;
        for i in 1 to 2000 loop
          check_equal(crc32_byte(x, x(19 downto 12)), crc_slow(x, x(19 downto 12)));
          x := next_word(x);
        end loop;
      elsif run("next word is 32 steps") then
        x := LFSR_SEED;
        for i in 1 to 5000 loop
          y := x;
          for bit_number in 1 to 32 loop
            check_equal(lfsr_step(y), step_of_specification(y));
            y := step_of_specification(y);
          end loop;
          check_equal(next_word(x), y);
          x := y;
        end loop;
      elsif run("stream begins as the vectors do") then
        check_equal(stream_word(0), std_logic_vector'(x"FFFFFFFF"));
        check_equal(stream_word(1), std_logic_vector'(x"0000304C"));
        check_equal(stream_word(6), std_logic_vector'(x"A82EE3B3"));
        check_equal(byte_of(x"01020304", 0), std_logic_vector'(x"01"));
        check_equal(byte_of(x"01020304", 3), std_logic_vector'(x"04"));
      elsif run("threes of bits are the same but for those with a difference") then
        for i in 0 to 23 loop
          x := (others => '0');
          x(i) := '1';
          threes := x"FF";
          threes(i / 3) := '0';
          check_equal(same_threes(x(23 downto 0), x"000000"), threes);
          check_equal(same_threes(not x(23 downto 0), x"FFFFFF"), threes);
        end loop;
        check_equal(same_threes(x"A5C3E1", x"A5C3E1"), std_logic_vector'(x"FF"));
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
end architecture;
