-- Compares the LFSR part of a frame with what its sequence asks for, and with itself: content that goes on as the LFSR
-- does, from another word than its own, may be that of another sequence.
--
-- `start_word` stands in the clock before the first byte. The findings are one clock behind the byte and
-- stand until the next `start`.
library ieee;
use ieee.std_logic_1164.all;
use work.ethernet_pkg.all;
use work.quarter_pkg.all;

entity content_checker is
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    start          : in  std_logic;
    start_word     : in  std_logic_vector(31 downto 0);
    valid          : in  std_logic;
    data           : in  std_logic_vector(7 downto 0);
    is_wrong       : out std_logic;
    -- Wrong from the first word on, and consistent since.
    may_be_stale   : out std_logic;
    -- The first word is wrong: `following` is the word that comes after the one that was received.
    search_request : out std_logic;
    following      : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of content_checker is
  signal index                : natural range 0 to 3;
  signal begun, in_first      : std_logic;
  -- The word that is asked for and the content's own, a quarter of the way to the next with each byte; and byte 0 of both.
  signal wanted, own          : word_t;
  signal wanted_0, own_0      : octet_t;
  signal wanted_now, own_now  : octet_t;
  signal wrong, inconsistent  : std_logic;
  signal has_word             : std_logic;
begin
  is_wrong <= wrong;
  may_be_stale <= wrong and has_word and not inconsistent;
  following <= own;

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
        begun <= '1';
        -- A word whose bytes come in at the top, into nothing, is the word that follows it when the last is in.
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
      if begun = '0' and valid = '0' then
        wanted <= start_word;
      elsif valid = '1' then
        wanted <= quarter_word(wanted);
      end if;
      if rst = '1' or start = '1' then
        index <= 0;
        begun <= '0';
        in_first <= '1';
        own <= (others => '0');
        wrong <= '0';
        inconsistent <= '0';
        has_word <= '0';
      end if;
    end if;
  end process;
end architecture;
