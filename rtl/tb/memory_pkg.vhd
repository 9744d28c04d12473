-- The memory of the ring MAC's benches: words that both the bench and the block (by dma_request) access.
library ieee;
use ieee.std_logic_1164.all;

package memory_pkg is
  constant MEMORY_BITS : natural := 13;

  type memory_t is protected
    impure function get(word : natural) return std_logic_vector;
    procedure set(word : natural; value : std_logic_vector(31 downto 0));
  end protected;
end package;

package body memory_pkg is
  type words_t is array (0 to 2**MEMORY_BITS - 1) of std_logic_vector(31 downto 0);

  type memory_t is protected body
    variable words : words_t := (others => (others => '0'));

    impure function get(word : natural) return std_logic_vector is
    begin
      return words(word);
    end function;

    procedure set(word : natural; value : std_logic_vector(31 downto 0)) is
    begin
      words(word) := value;
    end procedure;
  end protected body;
end package body;
