-- Lines for benches: frames as vectors of bytes, a frame check sequence of their own, a watcher and a sender.
--
-- A line is data, valid and error with a byte enable, as in GMII. The watcher writes into a queue: the enabled bytes of
-- silence, the length of the carrier, then its bytes, plus 256 where the error was raised.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

package line_pkg is
  constant ERROR_MARK : natural := 256;

  -- The FCS of a frame, first byte first, bit by bit as clause 3.2.9 of IEEE Std 802.3 reads.
  function fcs_of(frame : integer_vector) return integer_vector;
  function with_fcs(frame : integer_vector) return integer_vector;
  -- A frame padded with zeros to 60 bytes.
  function padded(frame : integer_vector) return integer_vector;
  -- Seven 0x55 and the SFD; the function gives as many 0x55 as requested, and the SFD.
  constant PREAMBLE : integer_vector(0 to 7) := (16#55#, 16#55#, 16#55#, 16#55#, 16#55#, 16#55#, 16#55#, 16#D5#);
  function preamble_of(bytes : natural) return integer_vector;
  function octet(value : integer) return std_logic_vector;

  -- Counts the clocks. Enables a byte every `pace` clocks; with 0, at random in one clock of three.
  procedure enable_bytes(
    signal clk : in std_logic;
    seed : natural;
    signal pace : in natural;
    signal cycle : inout natural;
    signal ce : out std_logic);

  procedure watch_line(
    signal clk, ce : in std_logic;
    signal data : in std_logic_vector(7 downto 0);
    signal valid, error : in std_logic;
    seen : queue_t);

  -- Sends a carrier byte by byte, then lets `silence` bytes pass. Bytes of ERROR_MARK and more raise the error.
  procedure send_line(
    signal clk, ce : in std_logic;
    carrier : integer_vector;
    silence : natural;
    signal data : out std_logic_vector(7 downto 0);
    signal valid, error : out std_logic);

  -- Expects a carrier, and bounds the silence before it.
  procedure expect_carrier(
    expected : queue_t;
    carrier : integer_vector;
    least_silence : natural;
    most_silence : natural := natural'high;
    what : string := "");

  -- Empties both queues, and fails unless exactly the expected was seen.
  procedure compare(seen, expected : queue_t);
end package;

package body line_pkg is
  function fcs_of(frame : integer_vector) return integer_vector is
    variable crc : std_logic_vector(31 downto 0) := (others => '1');
    variable bits : std_logic_vector(7 downto 0);
    variable turn : std_logic;
    variable fcs : integer_vector(0 to 3);
  begin
    for i in frame'range loop
      bits := octet(frame(i));
      for k in 0 to 7 loop
        turn := crc(0) xor bits(k);
        crc := '0' & crc(31 downto 1);
        if turn = '1' then
          crc := crc xor x"EDB88320";
        end if;
      end loop;
    end loop;
    for i in fcs'range loop
      fcs(i) := to_integer(unsigned(not crc(8 * i + 7 downto 8 * i)));
    end loop;
    return fcs;
  end function;

  function with_fcs(frame : integer_vector) return integer_vector is
  begin
    return frame & fcs_of(frame);
  end function;

  function padded(frame : integer_vector) return integer_vector is
    constant ZEROS : integer_vector(1 to 60) := (others => 0);
  begin
    if frame'length >= 60 then
      return frame;
    end if;
    return frame & ZEROS(frame'length + 1 to 60);
  end function;

  function preamble_of(bytes : natural) return integer_vector is
    constant FIVES : integer_vector(1 to bytes) := (others => 16#55#);
  begin
    return FIVES & 16#D5#;
  end function;

  function octet(value : integer) return std_logic_vector is
  begin
    return std_logic_vector(to_unsigned(value mod 256, 8));
  end function;

  procedure enable_bytes(
    signal clk : in std_logic;
    seed : natural;
    signal pace : in natural;
    signal cycle : inout natural;
    signal ce : out std_logic) is
    variable random : RandomPType;
  begin
    random.InitSeed("enable" & to_string(seed));
    loop
      wait until rising_edge(clk);
      cycle <= cycle + 1;
      if pace = 0 then
        ce <= '1' when random.RandInt(0, 2) = 0 else '0';
      else
        ce <= '1' when cycle mod pace = 0 else '0';
      end if;
    end loop;
  end procedure;

  procedure watch_line(
    signal clk, ce : in std_logic;
    signal data : in std_logic_vector(7 downto 0);
    signal valid, error : in std_logic;
    seen : queue_t) is
    variable silence, length : natural := 0;
    variable carrier : integer_vector(0 to 20000);
  begin
    loop
      wait until rising_edge(clk) and ce = '1';
      if valid = '1' then
        carrier(length) := to_integer(unsigned(data));
        if error = '1' then
          carrier(length) := carrier(length) + ERROR_MARK;
        end if;
        length := length + 1;
      else
        if length > 0 then
          push(seen, silence);
          push(seen, length);
          for i in 0 to length - 1 loop
            push(seen, carrier(i));
          end loop;
          length := 0;
          silence := 0;
        end if;
        silence := silence + 1;
      end if;
    end loop;
  end procedure;

  procedure send_line(
    signal clk, ce : in std_logic;
    carrier : integer_vector;
    silence : natural;
    signal data : out std_logic_vector(7 downto 0);
    signal valid, error : out std_logic) is
  begin
    for i in carrier'range loop
      data <= octet(carrier(i));
      valid <= '1';
      error <= '0';
      if carrier(i) >= ERROR_MARK then
        error <= '1';
      end if;
      wait until rising_edge(clk) and ce = '1';
    end loop;
    data <= x"00";
    valid <= '0';
    error <= '0';
    for i in 1 to silence loop
      wait until rising_edge(clk) and ce = '1';
    end loop;
  end procedure;

  procedure expect_carrier(
    expected : queue_t;
    carrier : integer_vector;
    least_silence : natural;
    most_silence : natural := natural'high;
    what : string := "") is
  begin
    push(expected, what);
    push(expected, least_silence);
    push(expected, most_silence);
    push(expected, carrier'length);
    for i in carrier'range loop
      push(expected, carrier(i));
    end loop;
  end procedure;

  procedure compare_one(seen, expected : queue_t) is
    constant WHAT : string := pop(expected);
    constant LEAST : integer := pop(expected);
    constant MOST : integer := pop(expected);
    constant LENGTH : integer := pop(expected);
    variable silence, seen_length, value, wanted, wrong : integer := 0;
  begin
    check(not is_empty(seen), "a carrier was seen: " & WHAT);
    silence := pop(seen);
    check(silence >= LEAST and silence <= MOST, "silence of " & to_string(silence) & " bytes: " & WHAT);
    seen_length := pop(seen);
    check_equal(seen_length, LENGTH, "bytes of the carrier: " & WHAT);
    for i in 0 to LENGTH - 1 loop
      wanted := pop(expected);
      value := pop(seen);
      if value /= wanted and wrong = 0 then
        wrong := 1;
        check_equal(value, wanted, "byte " & to_string(i) & " of the carrier: " & WHAT);
      end if;
    end loop;
  end procedure;

  procedure compare(seen, expected : queue_t) is
  begin
    while not is_empty(expected) loop
      compare_one(seen, expected);
    end loop;
    check(is_empty(seen), "nothing else was seen");
  end procedure;
end package body;
