-- Moves the frame's bytes of a word, which the ring MAC has fetched from a buffer, to their place in a slot.
--
-- A buffer may begin and end at any byte of a word. The bytes go to the slot one clock later.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity piece_placer is
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
    -- One clock: s_data is a word to write.
    s_valid       : in  std_logic;
    s_data        : in  std_logic_vector(31 downto 0);
    -- The first byte of the buffer in that word. `few`: at most seven bytes are left from there, `left` of them.
    offset        : in  std_logic_vector(1 downto 0);
    few           : in  std_logic;
    left          : in  std_logic_vector(2 downto 0);
    -- Where that byte goes: a slot's number above the place.
    place         : in  std_logic_vector(11 downto 0);
    -- The number of bytes from the first one to the end of the word, and of those in the buffer; in the same clock.
    to_word_end   : out std_logic_vector(2 downto 0);
    step          : out std_logic_vector(2 downto 0);
    -- To frame_sender, a clock later.
    write_address : out std_logic_vector(11 downto 0);
    write_data    : out std_logic_vector(31 downto 0);
    write_bytes   : out std_logic_vector(3 downto 0)
  );
end entity;

architecture rtl of piece_placer is
  signal come_data   : std_logic_vector(31 downto 0);
  signal come_bytes  : std_logic_vector(3 downto 0);
  signal rest, count : unsigned(2 downto 0);
begin
  to_word_end <= std_logic_vector(rest);
  step        <= std_logic_vector(count);

  process (all)
    variable skipped : natural range 0 to 3;
  begin
    skipped := to_integer(unsigned(offset));
    rest  <= to_unsigned(4 - skipped, 3);
    count <= rest;
    if few = '1' and unsigned(left) < rest then
      count <= unsigned(left);
    end if;
    come_data  <= std_logic_vector(shift_right(unsigned(s_data), 8 * skipped));
    come_bytes <= "0000";
    if s_valid = '1' then
      for number in 0 to 3 loop
        if number < count then
          come_bytes(number) <= '1';
        end if;
      end loop;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      write_address <= place;
      write_data    <= come_data;
      write_bytes   <= come_bytes;
      if rst = '1' then
        write_address <= (others => '0');
        write_data    <= (others => '0');
        write_bytes   <= "0000";
      end if;
    end if;
  end process;
end architecture;
