-- Tests of gray_pkg: each step of a pointer changes one bit of its code, and the code gives the pointer back.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
use work.gray_pkg.all;

entity tb_gray_pkg is
  generic (runner_cfg : string);
end entity;

architecture test of tb_gray_pkg is
begin
  main : process
    -- All pointers of this width, and around their end.
    procedure go_around(bits : positive) is
      variable pointer, following, changed : unsigned(bits - 1 downto 0);
      variable ones : natural;
    begin
      for number in 0 to 2**bits - 1 loop
        pointer := to_unsigned(number, bits);
        following := pointer + 1;
        changed := gray_of(pointer) xor gray_of(following);
        ones := 0;
        for i in changed'range loop
          if changed(i) = '1' then
            ones := ones + 1;
          end if;
        end loop;
        check_equal(ones, 1, "bits that change behind " & to_string(pointer));
        check_equal(pointer_of(gray_of(pointer)), pointer, "the pointer of a code");
      end loop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    while test_suite loop
      if run("one bit changes with each step, and the pointer is found again") then
        for bits in 1 to 9 loop
          go_around(bits);
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
end architecture;
