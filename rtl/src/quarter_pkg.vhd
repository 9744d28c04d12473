-- The LFSR payload of spec/test-frame.md byte by byte: a quarter of the step from one word to the next, and the bytes of the
-- word on the way. A quarter is a shift and a few gates; the whole step takes fifty.
library ieee;
use ieee.std_logic_1164.all;
use work.ethernet_pkg.all;

package quarter_pkg is
  -- Eight steps, a quarter of the way to the next word. In turn, the top byte is byte 0, 1 and 2 of the word. For byte 3,
  -- last_byte removes from it what the first quarter added, which depends on byte 0.
  function quarter_word(x : word_t) return word_t;
  function last_byte(first_now, byte_0 : octet_t) return octet_t;
end package;

package body quarter_pkg is
  -- Multiplies by x^8: the bits shifted out are at most x^7; they come in again times x^7 + x^6 + x^2 + 1, below x^15.
  function quarter_word(x : word_t) return word_t is
    variable leaves : octet_t;
    variable low    : word_t;
  begin
    leaves := x(31 downto 24);
    low := x(23 downto 0) & leaves;
    low(9 downto 2) := low(9 downto 2) xor leaves;
    low(13 downto 6) := low(13 downto 6) xor leaves;
    low(14 downto 7) := low(14 downto 7) xor leaves;
    return low;
  end function;

  function last_byte(first_now, byte_0 : octet_t) return octet_t is
    variable stepped : word_t;
  begin
    stepped := quarter_word(byte_0 & x"000000");
    return first_now xor stepped(15 downto 8);
  end function;
end package body;
