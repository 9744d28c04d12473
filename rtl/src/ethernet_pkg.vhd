-- Ethernet and the test frame, for all blocks: constants of the standards and of spec/test-frame.md, the byte step of the frame
-- check sequence, and the word step of the LFSR payload.
--
-- All functions are pure and can be synthesised. Bytes and words are std_logic_vector with the first bit at the left.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

package ethernet_pkg is
  subtype octet_t is std_logic_vector(7 downto 0);
  subtype half_t is std_logic_vector(15 downto 0);
  subtype word_t is std_logic_vector(31 downto 0);

  -- From IEEE Std 802.3, in bytes. A frame here runs from its destination address to its last payload byte.
  constant PREAMBLE_BYTES   : natural := 7;
  constant FCS_BYTES        : natural := 4;
  constant ADDRESS_BYTES    : natural := 6;
  constant MIN_FRAME_BYTES  : natural := 60;
  constant MIN_PAYLOAD      : natural := 46;
  constant MIN_TAGGED       : natural := 42;
  -- From spec/test-frame.md: the largest LFSR part with its header, hence the longest payload of all senders.
  constant MAX_PAYLOAD      : natural := 9216;
  constant PREAMBLE         : octet_t  := x"55";
  constant START_DELIMITER  : octet_t  := x"D5";

  -- EtherTypes and the numbers behind them.
  constant TYPE_TEST        : half_t  := x"88B5";
  constant TYPE_IPV4        : half_t  := x"0800";
  constant TYPE_IPV6        : half_t  := x"86DD";
  constant TPID_CUSTOMER    : half_t  := x"8100";
  constant TPID_SERVICE     : half_t  := x"88A8";
  constant PROTOCOL_UDP     : octet_t  := x"11";
  constant IPV4_BYTES       : natural := 20;
  constant IPV6_BYTES       : natural := 40;
  constant UDP_BYTES        : natural := 8;

  -- The frame check sequence: CRC-32 of IEEE Std 802.3, reflected. It starts from CRC_START; the complement is sent, bits 7 to
  -- 0 first. After a correct frame with its FCS the register is CRC_RESIDUE.
  constant CRC_START        : word_t  := x"FFFFFFFF";
  constant CRC_RESIDUE      : word_t  := x"DEBB20E3";
  function crc32_byte(crc : word_t; data : octet_t) return word_t;

  -- The test header.
  constant HEADER_BYTES     : natural := 18;
  constant HEADER_MAGIC     : half_t  := x"574C";
  constant HEADER_VERSION   : std_logic_vector(3 downto 0) := x"1";
  -- The flag bit of repeating frames.
  constant FLAG_REPEATING   : natural := 2;
  constant MAX_LFSR_BYTES   : natural := MAX_PAYLOAD - HEADER_BYTES;

  -- The LFSR payload: x^32 + x^7 + x^6 + x^2 + 1.
  constant START_WORDS      : natural := 4096;
  constant LFSR_SEED        : word_t  := x"FFFFFFFF";
  -- The bits that a bit shifted out on the left is added to.
  constant LFSR_TAPS        : word_t  := x"000000C5";
  -- One step in Galois form, as the specification has it.
  function lfsr_step(x : word_t) return word_t;
  -- The next word of the stream: 32 steps at once.
  function next_word(x : word_t) return word_t;
  -- Word n of the stream; only for constants, as it takes n steps.
  function stream_word(n : natural) return word_t;
  -- Byte i of a word, 0 the first on the wire.
  function byte_of(x : word_t; i : natural range 0 to 3) return octet_t;

  -- The faults that packet_generator can put into frames.
  subtype fault_t is std_logic_vector(2 downto 0);
  constant FAULT_NONE       : fault_t := "000";
  constant FAULT_BIT_ERROR  : fault_t := "001";
  constant FAULT_DROP       : fault_t := "010";
  constant FAULT_DUPLICATE  : fault_t := "011";
  constant FAULT_SWAP       : fault_t := "100";
  constant FAULT_BAD_FCS    : fault_t := "101";
  constant FAULT_STALE      : fault_t := "110";
  constant FAULT_TRUNCATED  : fault_t := "111";

  -- Verdicts of packet_checker, in the order of the specification.
  subtype verdict_t is std_logic_vector(2 downto 0);
  constant VERDICT_FOREIGN        : verdict_t := "000";
  constant VERDICT_HEADER_CORRUPT : verdict_t := "001";
  constant VERDICT_TRUNCATED      : verdict_t := "010";
  constant VERDICT_STALE          : verdict_t := "011";
  constant VERDICT_CORRUPTED      : verdict_t := "100";
  constant VERDICT_GOOD           : verdict_t := "101";

  function to_std_logic(x : boolean) return std_logic;
  -- Byte `index` of a vector, the last one 0.
  function octet_in(vector : std_logic_vector; index : natural) return octet_t;
  -- Whether x and y agree, for each group of three bits: as many as a LUT compares. Their length is a multiple of three.
  function same_threes(x, y : std_logic_vector) return std_logic_vector;
end package;

package body ethernet_pkg is
  -- The result of eight shifts for each single bit of the byte shifted out. The step is linear, so these rows suffice.
  type crc_rows_t is array (0 to 7) of word_t;
  function crc_rows return crc_rows_t is
    variable row  : word_t;
    variable rows : crc_rows_t;
  begin
    for i in rows'range loop
      row := (others => '0');
      row(i) := '1';
      for shift in 1 to 8 loop
        if row(0) = '1' then
          row := ('0' & row(31 downto 1)) xor x"EDB88320";
        else
          row := '0' & row(31 downto 1);
        end if;
      end loop;
      rows(i) := row;
    end loop;
    return rows;
  end function;
  constant ROWS : crc_rows_t := crc_rows;

  function crc32_byte(crc : word_t; data : octet_t) return word_t is
    variable next_crc : word_t;
    variable leaves   : octet_t;
  begin
    next_crc := x"00" & crc(31 downto 8);
    leaves := crc(7 downto 0) xor data;
    for i in leaves'range loop
      if leaves(i) = '1' then
        next_crc := next_crc xor ROWS(i);
      end if;
    end loop;
    return next_crc;
  end function;

  function lfsr_step(x : word_t) return word_t is
  begin
    if x(31) = '1' then
      return (x(30 downto 0) & '0') xor LFSR_TAPS;
    end if;
    return x(30 downto 0) & '0';
  end function;

  -- Multiplying by x^32 modulo the polynomial is multiplying by x^7 + x^6 + x^2 + 1; the seven bits above the word are reduced
  -- once more.
  function next_word(x : word_t) return word_t is
    variable high : std_logic_vector(6 downto 0);
    variable low  : word_t;
  begin
    high := x(31 downto 25) xor ('0' & x(31 downto 26)) xor ("00000" & x(31 downto 30));
    low := x xor (x(29 downto 0) & "00") xor (x(25 downto 0) & "000000") xor (x(24 downto 0) & "0000000");
    low(6 downto 0) := low(6 downto 0) xor high;
    low(8 downto 2) := low(8 downto 2) xor high;
    low(12 downto 6) := low(12 downto 6) xor high;
    low(13 downto 7) := low(13 downto 7) xor high;
    return low;
  end function;

  function stream_word(n : natural) return word_t is
    variable x : word_t := LFSR_SEED;
  begin
    for i in 1 to n loop
      x := next_word(x);
    end loop;
    return x;
  end function;

  function byte_of(x : word_t; i : natural range 0 to 3) return octet_t is
  begin
    case i is
      when 0 => return x(31 downto 24);
      when 1 => return x(23 downto 16);
      when 2 => return x(15 downto 8);
      when others => return x(7 downto 0);
    end case;
  end function;

  function to_std_logic(x : boolean) return std_logic is
  begin
    if x then
      return '1';
    end if;
    return '0';
  end function;

  function octet_in(vector : std_logic_vector; index : natural) return octet_t is
  begin
    return vector(8 * index + 7 downto 8 * index);
  end function;

  function same_threes(x, y : std_logic_vector) return std_logic_vector is
    variable one, other : std_logic_vector(x'length - 1 downto 0);
    variable same       : std_logic_vector(x'length / 3 - 1 downto 0);
  begin
    one := x;
    other := y;
    for i in same'range loop
      same(i) := to_std_logic(one(3 * i + 2 downto 3 * i) = other(3 * i + 2 downto 3 * i));
    end loop;
    return same;
  end function;
end package body;
