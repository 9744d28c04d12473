-- Gray code of a pointer that crosses from one clock to another.
--
-- One bit changes when a pointer advances by one, also when it wraps: a sample during the change is the old or the new pointer,
-- never a third value.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

package gray_pkg is
  function gray_of(pointer : unsigned) return unsigned;
  -- The pointer that has this code.
  function pointer_of(gray : unsigned) return unsigned;
end package;

package body gray_pkg is
  function gray_of(pointer : unsigned) return unsigned is
  begin
    return pointer xor shift_right(pointer, 1);
  end function;

  function pointer_of(gray : unsigned) return unsigned is
    variable pointer : unsigned(gray'length - 1 downto 0) := gray;
  begin
    for i in pointer'high - 1 downto 0 loop
      pointer(i) := pointer(i + 1) xor pointer(i);
    end loop;
    return pointer;
  end function;
end package body;
