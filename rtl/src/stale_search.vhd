-- Finds the start word that precedes a given word: the number n of 0 to 4095 with next_word(start word n) = `following`, or
-- that there is none.
--
-- Giant steps are stored: a block RAM holds the words 64, 128, … 4096 of the stream, addressed by nine of their bits, in which
-- no two of them agree. From `following` the search takes small steps of one word; the first that hits a giant gives the
-- number. It takes at most 69 clocks; frames with a word that may be stale are at least 84 apart.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity stale_search is
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    request   : in  std_logic;
    following : in  std_logic_vector(31 downto 0);
    busy      : out std_logic;
    found     : out std_logic;
    number    : out std_logic_vector(11 downto 0)
  );
end entity;

architecture rtl of stale_search is
  constant GIANTS : natural := 64;
  constant STEPS  : natural := START_WORDS / GIANTS;
  -- Valid, the giant's number, and the bits of the word that are not its address.
  subtype entry_t is std_logic_vector(29 downto 0);
  type giants_t is array (511 downto 0) of entry_t;

  function address_of(x : word_t) return std_logic_vector is
  begin
    return x(20 downto 13) & x(2);
  end function;

  function rest_of(x : word_t) return std_logic_vector is
  begin
    return x(31 downto 21) & x(12 downto 3) & x(1 downto 0);
  end function;

  function giants_content return giants_t is
    variable entries : giants_t := (others => (others => '0'));
    variable x       : word_t := LFSR_SEED;
  begin
    for giant in 0 to GIANTS - 1 loop
      for step in 1 to STEPS loop
        x := next_word(x);
      end loop;
      assert entries(to_integer(unsigned(address_of(x))))(29) = '0'
        report "two giant steps have one address" severity failure;
      entries(to_integer(unsigned(address_of(x)))) := '1' & std_logic_vector(to_unsigned(giant, 6)) & rest_of(x);
    end loop;
    return entries;
  end function;
  constant GIANT_AT : giants_t := giants_content;

  signal word               : word_t;
  -- Small steps left from the word that is judged, which is LAG clocks behind the lookup.
  constant LAG              : natural := 3;
  signal steps_left         : unsigned(5 downto 0);
  -- The other bits of the looked-up word, delayed like the entry.
  signal rest_read, rest    : std_logic_vector(22 downto 0);
  -- Which groups of three bits match, and the giant.
  signal same               : std_logic_vector(7 downto 0);
  signal giant              : std_logic_vector(5 downto 0);
  signal asking             : std_logic;
  signal reading            : std_logic;
  signal comparing          : std_logic;
  signal judging            : std_logic;
  signal read_entry, entry  : entry_t;
  signal searching          : std_logic;
begin
  busy <= searching;

  lookup : process (clk)
  begin
    if rising_edge(clk) then
      read_entry <= GIANT_AT(to_integer(unsigned(address_of(word))));
      rest_read <= rest_of(word);
      -- The block RAM delivers late in the clock: an entry is registered before the comparison.
      entry <= read_entry;
      rest <= rest_read;
      same <= same_threes(entry(29) & entry(22 downto 0), '1' & rest);
      giant <= entry(28 downto 23);
      -- The reset keeps these bits flip-flops; as a shift register of the FPGA, each would take a LUT.
      if rst = '1' then
        rest <= (others => '0');
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      reading <= asking;
      comparing <= reading;
      judging <= comparing;
      steps_left <= steps_left - 1;
      if asking = '1' then
        word <= next_word(word);
        if steps_left = LAG then
          asking <= '0';
        end if;
      end if;
      if judging = '1' and searching = '1' then
        if (and same) = '1' then
          found <= '1';
          -- In the first step the word is start word n + 1, and a hit of giant g says n + 1 = 64 (g + 1), so n = 64 g + 63.
          number <= giant & std_logic_vector(steps_left);
          asking <= '0';
          searching <= '0';
        elsif comparing = '0' then
          searching <= '0';
        end if;
      end if;
      if request = '1' then
        word <= following;
        steps_left <= to_unsigned((STEPS - 1 + LAG) mod STEPS, 6);
        asking <= '1';
        reading <= '0';
        comparing <= '0';
        judging <= '0';
        searching <= '1';
        found <= '0';
      end if;
      if rst = '1' then
        asking <= '0';
        reading <= '0';
        comparing <= '0';
        judging <= '0';
        searching <= '0';
        found <= '0';
        steps_left <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
