-- The 4,096 start words of the LFSR payload in block RAM, for two checkers. Each is stored as the word before it, from which
-- content_checker derives it.
--
-- `request` samples the number; the word is valid two clocks later and holds until the next request of that side. Each side has
-- its own port of the memory.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity start_words is
  port (
    clk       : in  std_logic;
    a_request : in  std_logic;
    a_number  : in  std_logic_vector(11 downto 0);
    a_word    : out std_logic_vector(31 downto 0);
    b_request : in  std_logic;
    b_number  : in  std_logic_vector(11 downto 0);
    b_word    : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of start_words is
  -- The full name: the entity hides the constant of the same name.
  type rom_t is array (work.ethernet_pkg.START_WORDS - 1 downto 0) of word_t;

  -- The word from which next_word leads to `x`: 32 steps of the LFSR back.
  function word_before(x : word_t) return word_t is
    variable prior : word_t := x;
  begin
    for i in x'range loop
      if prior(0) = '1' then
        prior := prior xor LFSR_TAPS;
        prior := '1' & prior(31 downto 1);
      else
        prior := '0' & prior(31 downto 1);
      end if;
    end loop;
    return prior;
  end function;

  function rom_content return rom_t is
    variable rom : rom_t;
    variable x   : word_t := word_before(LFSR_SEED);
  begin
    for i in 0 to rom'high loop
      rom(i) := x;
      x := next_word(x);
    end loop;
    return rom;
  end function;
  constant ROM : rom_t := rom_content;

  signal a_read, b_read : word_t;
begin
  process (clk)
  begin
    if rising_edge(clk) then
      if a_request = '1' then
        a_read <= ROM(to_integer(unsigned(a_number)));
      end if;
      if b_request = '1' then
        b_read <= ROM(to_integer(unsigned(b_number)));
      end if;
      -- The block RAM delivers late in the clock: a word is registered before it leaves.
      a_word <= a_read;
      b_word <= b_read;
    end if;
  end process;
end architecture;
