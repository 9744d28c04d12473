-- Compares the LFSR part of a frame with what its sequence asks for, and with itself: content that goes on as the LFSR
-- does, from another word than its own, may be that of another sequence.
--
-- `start_word` stands before the first byte and through the first four. The findings are one clock behind the byte and
-- stand until the next `start`.
library ieee;
use ieee.std_logic_1164.all;
use work.ethernet_pkg.all;

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
  signal in_first             : std_logic;
  signal wanted               : word_t;
  -- The content's own word: shifted in at first, then stepped.
  signal own                  : word_t;
  signal wrong, inconsistent  : std_logic;
  signal has_word             : std_logic;
begin
  is_wrong <= wrong;
  may_be_stale <= wrong and has_word and not inconsistent;
  following <= own;

  process (clk)
    variable word  : word_t;
    variable match : boolean;
  begin
    if rising_edge(clk) then
      search_request <= '0';
      if valid = '1' then
        word := wanted;
        if in_first = '1' then
          word := start_word;
        end if;
        match := data = byte_of(word, index);
        if not match then
          wrong <= '1';
        end if;
        index <= (index + 1) mod 4;
        if index = 3 then
          wanted <= next_word(word);
          in_first <= '0';
        end if;
        if in_first = '1' then
          own <= own(23 downto 0) & data;
          if index = 3 then
            own <= next_word(own(23 downto 0) & data);
            has_word <= '1';
            search_request <= to_std_logic(wrong = '1' or not match);
          end if;
        else
          if data /= byte_of(own, index) then
            inconsistent <= '1';
          end if;
          if index = 3 then
            own <= next_word(own);
          end if;
        end if;
      end if;
      if rst = '1' or start = '1' then
        index <= 0;
        in_first <= '1';
        wrong <= '0';
        inconsistent <= '0';
        has_word <= '0';
      end if;
    end if;
  end process;
end architecture;
