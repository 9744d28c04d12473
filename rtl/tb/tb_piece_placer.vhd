-- Tests of piece_placer: each clock against the bench's account of bytes, and whole buffers that must arrive in a slot.
--
-- `watch` judges every clock, for any stimulus: all values of offset, few, left and valid; buffers of every length, fetched as
-- by the ring MAC; and resets.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.ethernet_pkg.to_std_logic;
use work.line_pkg.octet;

entity tb_piece_placer is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_piece_placer is
  constant PERIOD     : time    := 10 ns;
  constant WORD_BYTES : natural := 4;
  constant PLACES      : natural := 2**12;
  -- The largest value of `left`.
  constant MOST_LEFT  : natural := 7;
  -- No byte: marks a place that was not written.
  constant NO_BYTE    : integer := -1;
  subtype memory_t is integer_vector(0 to PLACES - 1);

  signal clk           : std_logic := '0';
  signal rst           : std_logic := '1';
  signal s_valid       : std_logic := '0';
  signal s_data        : std_logic_vector(31 downto 0) := (others => '0');
  signal offset        : std_logic_vector(1 downto 0) := "00";
  signal few           : std_logic := '0';
  signal left          : std_logic_vector(2 downto 0) := "000";
  signal place         : std_logic_vector(11 downto 0) := (others => '0');
  signal to_word_end   : std_logic_vector(2 downto 0);
  signal step          : std_logic_vector(2 downto 0);
  signal write_address : std_logic_vector(11 downto 0);
  signal write_data    : std_logic_vector(31 downto 0);
  signal write_bytes   : std_logic_vector(3 downto 0);

  -- The slots as written by the block; a test empties them.
  signal written : memory_t := (others => NO_BYTE);
  signal forget  : boolean := false;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.piece_placer
    port map (
      clk => clk, rst => rst, s_valid => s_valid, s_data => s_data, offset => offset, few => few, left => left, place => place,
      to_word_end => to_word_end, step => step,
      write_address => write_address, write_data => write_data, write_bytes => write_bytes
    );

  watch : process
    variable first, ends, pieces : natural;
    variable bytes               : std_logic_vector(3 downto 0);
    variable word                : std_logic_vector(31 downto 0);
    variable at                  : std_logic_vector(11 downto 0);
    variable resets              : std_logic;
  begin
    wait until rising_edge(clk);
    first  := to_integer(unsigned(offset));
    ends   := WORD_BYTES - first;
    pieces := minimum(ends, to_integer(unsigned(left))) when few = '1' else ends;
    check_equal(to_integer(unsigned(to_word_end)), ends, "bytes to the end of the word");
    check_equal(to_integer(unsigned(step)), pieces, "bytes of the buffer");
    at     := place;
    word   := s_data;
    resets := rst;
    bytes  := "0000";
    for byte in 0 to pieces - 1 loop
      bytes(byte) := s_valid;
    end loop;
    if resets = '1' then
      at    := (others => '0');
      bytes := "0000";
    end if;
    wait until falling_edge(clk);
    check_equal(write_bytes, bytes, "bytes that are written");
    check_equal(write_address, at, "where the first of them goes");
    for byte in bytes'range loop
      if bytes(byte) = '1' then
        check_equal(write_data(8 * byte + 7 downto 8 * byte), word(8 * (first + byte) + 7 downto 8 * (first + byte)),
          "byte " & to_string(byte));
      end if;
    end loop;
    if resets = '1' then
      check_equal(write_data, std_logic_vector'(x"00000000"), "nothing is left of a word behind a reset");
    end if;
  end process;

  -- Stores the bytes as frame_sender does.
  keep : process (clk)
  begin
    if rising_edge(clk) then
      for byte in write_bytes'range loop
        if write_bytes(byte) = '1' then
          written((to_integer(unsigned(write_address)) + byte) mod PLACES)
            <= to_integer(unsigned(write_data(8 * byte + 7 downto 8 * byte)));
        end if;
      end loop;
      if forget then
        written <= (others => NO_BYTE);
      end if;
    end if;
  end process;

  main : process
    variable random : RandomPType;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure drive_at_random is
    begin
      for byte in 0 to WORD_BYTES - 1 loop
        s_data(8 * byte + 7 downto 8 * byte) <= octet(random.RandInt(0, 255));
      end loop;
      place   <= std_logic_vector(to_unsigned(random.RandInt(0, PLACES - 1), 12));
      s_valid <= to_std_logic(random.RandInt(0, 1) = 1);
      few     <= to_std_logic(random.RandInt(0, 1) = 1);
      left    <= std_logic_vector(to_unsigned(random.RandInt(0, MOST_LEFT), 3));
      offset  <= std_logic_vector(to_unsigned(random.RandInt(0, 3), 2));
    end procedure;

    -- Fetches a buffer word by word, as the ring MAC does: in the steps that the block outputs.
    procedure place_buffer(buffer_at, bytes, slot_at : natural; content : integer_vector) is
      variable taken  : natural := 0;
      variable number : natural;
    begin
      while taken < bytes loop
        drive_at_random;
        s_valid <= '1';
        offset  <= std_logic_vector(to_unsigned((buffer_at + taken) mod WORD_BYTES, 2));
        place   <= std_logic_vector(to_unsigned(slot_at + taken, 12));
        few     <= to_std_logic(bytes - taken <= MOST_LEFT);
        left    <= std_logic_vector(to_unsigned((bytes - taken) mod (MOST_LEFT + 1), 3));
        for byte in 0 to WORD_BYTES - 1 loop
          -- Other data surround the buffer.
          number := (buffer_at + taken) / WORD_BYTES * WORD_BYTES + byte;
          if number >= buffer_at and number < buffer_at + bytes then
            s_data(8 * byte + 7 downto 8 * byte) <= octet(content(content'low + number - buffer_at));
          end if;
        end loop;
        cycles(1);
        taken := taken + to_integer(unsigned(step));
        -- The next word may take any time.
        if random.RandInt(0, 2) = 0 then
          drive_at_random;
          s_valid <= '0';
          cycles(random.RandInt(1, 3));
        end if;
      end loop;
      s_valid <= '0';
      check_equal(taken, bytes, "the steps of a buffer of " & to_string(bytes) & " bytes");
    end procedure;

    -- Two buffers, the second directly after the first, and nothing written around them.
    procedure check_buffers(buffer_at, bytes : natural) is
      constant SECOND  : natural := random.RandInt(1, 9);
      constant SLOT_AT : natural := random.RandInt(0, PLACES - bytes - SECOND);
      variable content : integer_vector(0 to bytes + SECOND - 1);
    begin
      forget <= true;
      cycles(1);
      forget <= false;
      for byte in content'range loop
        content(byte) := random.RandInt(0, 255);
      end loop;
      place_buffer(buffer_at, bytes, SLOT_AT, content(0 to bytes - 1));
      place_buffer(random.RandInt(0, 3), SECOND, SLOT_AT + bytes, content(bytes to bytes + SECOND - 1));
      cycles(2);
      for at in written'range loop
        if at >= SLOT_AT and at < SLOT_AT + content'length then
          check_equal(written(at), content(at - SLOT_AT), "byte " & to_string(at - SLOT_AT) & " of " & to_string(bytes));
        elsif written(at) /= NO_BYTE then
          check_failed("place " & to_string(at) & " is in none of the buffers");
        end if;
      end loop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("pieces" & to_string(seed));
    cycles(3);
    rst <= '0';
    while test_suite loop
      if run("every place in a word, every rest and either state, in front of other data and places") then
        for what in 0 to 2**7 - 1 loop
          for turn in 1 to 8 loop
            drive_at_random;
            (s_valid, few, offset(1), offset(0), left(2), left(1), left(0)) <= std_logic_vector(to_unsigned(what, 7));
            cycles(1);
          end loop;
        end loop;
      elsif run("buffers of every length from every byte of a word come whole to any place, and nothing beside them") then
        for bytes in 1 to 20 loop
          for first in 0 to 3 loop
            check_buffers(first, bytes);
          end loop;
        end loop;
        for turn in 1 to 10 loop
          check_buffers(random.RandInt(0, 3), random.RandInt(21, 300));
        end loop;
      elsif run("a reset takes away the word of its clock, and no other") then
        for turn in 1 to 4000 loop
          drive_at_random;
          rst <= to_std_logic(random.RandInt(0, 3) = 0);
          cycles(1);
        end loop;
        rst <= '0';
        cycles(2);
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 5 ms);
end architecture;
