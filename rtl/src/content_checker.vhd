-- Compares the LFSR part of a frame with the content that its sequence requires, and with itself: content that follows the LFSR
-- from a wrong first word may belong to another sequence.
--
-- `start_word`, the word before the first one, is shifted in one byte a clock, like content. It must be stable in the clocks 3
-- to 6 after `request`; the first byte of content comes in the eighth at the earliest. The results follow a byte by one clock
-- and hold until the next `start`.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;
use work.quarter_pkg.all;

entity content_checker is
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    request        : in  std_logic;
    start_word     : in  std_logic_vector(31 downto 0);
    start          : in  std_logic;
    valid          : in  std_logic;
    data           : in  std_logic_vector(7 downto 0);
    is_wrong       : out std_logic;
    -- Wrong from the first word on, and consistent since.
    may_be_stale   : out std_logic;
    -- The first word is wrong; `following` is the LFSR word after the received one.
    search_request : out std_logic;
    following      : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of content_checker is
  signal index                : natural range 0 to 3;
  signal in_first             : std_logic;
  -- The clock of a request; 4 to 7 read the bytes of the start word.
  signal requested            : unsigned(2 downto 0);
  signal fetches, steps       : std_logic;
  signal start_octet          : octet_t;
  -- The expected word and the one derived from the content; each byte advances both by a quarter of a word. And byte 0 of both.
  signal wanted, own          : word_t;
  signal wanted_0, own_0      : octet_t;
  signal wanted_now, own_now  : octet_t;
  signal wrong, inconsistent  : std_logic;
  signal has_word             : std_logic;
begin
  is_wrong <= wrong;
  may_be_stale <= wrong and has_word and not inconsistent;
  following <= own;

  fetches <= requested(2);

  take_up : process (clk)
    variable taken : word_t;
  begin
    if rising_edge(clk) then
      if requested /= 0 then
        requested <= requested + 1;
      end if;
      -- 0 outside of these clocks: a synchronous reset costs no logic.
      start_octet <= byte_of(start_word, to_integer(requested(1 downto 0)));
      if fetches = '0' then
        start_octet <= x"00";
      end if;
      steps <= fetches;
      if steps = '1' or valid = '1' then
        taken := wanted;
        taken(31 downto 24) := wanted(31 downto 24) xor start_octet;
        wanted <= quarter_word(taken);
      end if;
      if request = '1' then
        requested <= to_unsigned(2, 3);
        wanted <= (others => '0');
      end if;
      if rst = '1' then
        requested <= to_unsigned(0, 3);
      end if;
    end if;
  end process;

  wanted_now <= last_byte(wanted(31 downto 24), wanted_0) when index = 3 else wanted(31 downto 24);
  own_now <= last_byte(own(31 downto 24), own_0) when index = 3 else own(31 downto 24);

  process (clk)
    variable match : boolean;
    variable taken : word_t;
  begin
    if rising_edge(clk) then
      search_request <= '0';
      if valid = '1' then
        match := data = wanted_now;
        if not match then
          wrong <= '1';
        end if;
        if in_first = '0' and data /= own_now then
          inconsistent <= '1';
        end if;
        index <= (index + 1) mod 4;
        if index = 0 then
          wanted_0 <= wanted(31 downto 24);
          own_0 <= own(31 downto 24);
        end if;
        -- A word that is shifted byte by byte into zeros becomes the word that follows it.
        taken := own;
        if in_first = '1' then
          taken(31 downto 24) := own(31 downto 24) xor data;
        end if;
        own <= quarter_word(taken);
        if index = 3 then
          in_first <= '0';
          if in_first = '1' then
            has_word <= '1';
            search_request <= to_std_logic(wrong = '1' or not match);
          end if;
        end if;
      end if;
      if rst = '1' or start = '1' then
        index <= 0;
        in_first <= '1';
        own <= (others => '0');
        wrong <= '0';
        inconsistent <= '0';
        has_word <= '0';
      end if;
    end if;
  end process;
end architecture;
