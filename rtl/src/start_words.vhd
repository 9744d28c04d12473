-- The 4,096 start words of the LFSR payload for two checkers: every fourth lies in block RAM, the up to three steps to
-- the words between are made one a clock.
--
-- `request` takes the number; the word stands ten clocks later at the latest and stays until the next request of that
-- side. The two sides read in turns, so that neither has to wait for the other.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity start_words is
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    a_request : in  std_logic;
    a_number  : in  std_logic_vector(11 downto 0);
    a_word    : out std_logic_vector(31 downto 0);
    b_request : in  std_logic;
    b_number  : in  std_logic_vector(11 downto 0);
    b_word    : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of start_words is
  -- The entity has the name of the package's constant.
  constant STRIDE : natural := 4;
  constant ENTRIES : natural := work.ethernet_pkg.START_WORDS / STRIDE;
  type rom_t is array (ENTRIES - 1 downto 0) of word_t;
  function rom_content return rom_t is
    variable rom : rom_t;
    variable x   : word_t := LFSR_SEED;
  begin
    for i in 0 to ENTRIES - 1 loop
      rom(i) := x;
      for between in 1 to STRIDE loop
        x := next_word(x);
      end loop;
    end loop;
    return rom;
  end function;
  constant ROM : rom_t := rom_content;

  type numbers_t is array (0 to 1) of std_logic_vector(11 downto 0);
  type words_t is array (0 to 1) of word_t;
  type steps_t is array (0 to 1) of natural range 0 to STRIDE - 1;
  signal requests, pending : std_logic_vector(0 to 1);
  signal numbers, wanted   : numbers_t;
  signal words             : words_t;
  signal steps             : steps_t;
  -- Whose turn it is to give an address, and whose the word is that was read.
  signal turn              : natural range 0 to 1;
  signal reading, arriving : natural range 0 to 1;
  signal read_valid        : std_logic;
  signal arrived           : std_logic;
  signal address           : std_logic_vector(9 downto 0);
  signal rom_word          : word_t;
  signal read_word         : word_t;
begin
  requests <= a_request & b_request;
  numbers(0) <= a_number;
  numbers(1) <= b_number;
  a_word <= words(0);
  b_word <= words(1);
  address <= wanted(0)(11 downto 2) when turn = 0 else wanted(1)(11 downto 2);

  process (clk)
  begin
    if rising_edge(clk) then
      rom_word <= ROM(to_integer(unsigned(address)));
      -- Out of a block RAM a word comes late in the clock.
      read_word <= rom_word;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      turn <= 1 - turn;
      reading <= turn;
      read_valid <= pending(turn);
      arriving <= reading;
      arrived <= read_valid;
      for side in 0 to 1 loop
        if turn = side then
          pending(side) <= '0';
        end if;
        if requests(side) = '1' then
          wanted(side) <= numbers(side);
          pending(side) <= '1';
        end if;
        if arrived = '1' and arriving = side then
          words(side) <= read_word;
          steps(side) <= to_integer(unsigned(wanted(side)(1 downto 0)));
        elsif steps(side) /= 0 then
          words(side) <= next_word(words(side));
          steps(side) <= steps(side) - 1;
        end if;
      end loop;
      if rst = '1' then
        turn <= 0;
        reading <= 0;
        arriving <= 0;
        read_valid <= '0';
        arrived <= '0';
        pending <= "00";
        steps <= (others => 0);
      end if;
    end if;
  end process;
end architecture;
