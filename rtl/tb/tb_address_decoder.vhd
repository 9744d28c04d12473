-- Tests of address_decoder: every page goes where the map says, each access reaches its block once, and an access outside of
-- the map is reported.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_address_decoder is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_address_decoder is
  constant PERIOD : time := 10 ns;
  constant RAM_BITS : natural := 12;
  -- Blocks in the order of the signals below, and their words.
  constant BLOCKS : natural := 7;
  type words_t is array (0 to BLOCKS - 1) of std_logic_vector(31 downto 0);
  constant WORDS : words_t := (x"000000AA", x"11111111", x"22222222", x"33333333", x"44444444", x"55555555", x"66666666");
  constant NOTHING : integer := -1;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal s_request, s_answer, fault, refuses : std_logic := '0';
  signal s_address, fault_address : std_logic_vector(29 downto 0) := (others => '0');
  signal s_rdata : std_logic_vector(31 downto 0);
  -- RAM, system, slot, ring, capture, identifier, port 1.
  signal asked, answers : std_logic_vector(0 to BLOCKS - 1) := (others => '0');
  type counts_t is array (0 to BLOCKS - 1) of natural;
  signal clocks : counts_t := (others => 0);
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.address_decoder
    generic map (RAM_BITS => RAM_BITS)
    port map (
      clk => clk, rst => rst, s_request => s_request, s_address => s_address, s_answer => s_answer, s_rdata => s_rdata,
      fault => fault, fault_address => fault_address,
      ram_request => asked(0), ram_answer => answers(0), ram_rdata => WORDS(0),
      system_access => asked(1), system_rdata => WORDS(1),
      slot_request => asked(2), slot_answer => answers(2), slot_rdata => WORDS(2),
      ring_access => asked(3), ring_rdata => WORDS(3),
      capture_access => asked(4), capture_rdata => WORDS(4),
      identifier_access => asked(5), identifier_rdata => WORDS(5),
      port_1_request => asked(6), port_1_answer => answers(6), port_1_refused => refuses, port_1_rdata => WORDS(6)
    );

  -- Memory, slot MAC and port 1 answer themselves, three clocks after a request.
  process (clk)
  begin
    if rising_edge(clk) then
      for number in asked'range loop
        clocks(number) <= clocks(number) + 1 when asked(number) = '1' and answers(number) = '0';
        answers(number) <= '0';
        if asked(number) = '1' and answers(number) = '0' and clocks(number) mod 3 = 2 then
          answers(number) <= '1';
        end if;
      end loop;
    end if;
  end process;

  refuses <= answers(6) when s_address(13) = '1' else '0';

  main : process
    variable random : RandomPType;
    variable before : counts_t;
    variable target : integer;
    variable taken  : natural;
    variable address : std_logic_vector(31 downto 0);

    -- The block at a byte address, by the map.
    function block_of(address : std_logic_vector(31 downto 0)) return integer is
    begin
      case address(31 downto 28) is
        when x"0" | x"C" =>
          if unsigned(address(27 downto RAM_BITS + 2)) = 0 then
            return 0;
          end if;
        when x"8" =>
          case address(27 downto 16) is
            when x"000" => return 1;
            when x"001" => return 2;
            when x"002" => return 3;
            when x"003" => return 4;
            when x"004" => return 5;
            when x"010" => return 6;
            when others => return NOTHING;
          end case;
        when others => null;
      end case;
      return NOTHING;
    end function;

    procedure one(address : std_logic_vector(31 downto 0); clocks_taken : out natural) is
      variable count : natural := 1;
    begin
      s_request <= '1';
      s_address <= address(31 downto 2);
      wait until rising_edge(clk);
      while s_answer = '0' loop
        count := count + 1;
        check(count < 20, "an answer to " & to_hstring(address));
        wait until rising_edge(clk);
      end loop;
      s_request    <= '0';
      clocks_taken := count;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("decoder" & to_string(seed));
    wait until rising_edge(clk);
    wait until rising_edge(clk);
    rst <= '0';
    wait until rising_edge(clk);
    while test_suite loop
      if run("every page of the blocks and many others, back to back and with pauses") then
        for turn in 0 to 4000 loop
          address := random.RandSlv(32);
          if turn mod 4 > 0 then
            address(31 downto 28) := x"8";
            address(27 downto 21) := "0000000";
            address(19) := '0';
          end if;
          if turn mod 4 = 1 then
            address(31 downto 30) := (others => random.RandSlv(1)(1));
            address(29 downto 28) := "00";
          end if;
          target := block_of(address);
          before := clocks;
          one(address, taken);
          if target = NOTHING then
            check_equal(s_rdata, std_logic_vector'(x"00000000"), "where nothing is");
            check_equal(taken, 2, "clocks");
          else
            check_equal(s_rdata, WORDS(target), to_hstring(address));
          end if;
          if random.RandInt(0, 1) = 0 then
            wait until rising_edge(clk);
          end if;
          wait for 0 ns;
          for number in clocks'range loop
            if number /= target then
              check_equal(clocks(number), before(number), "another block, " & to_string(number));
            elsif number = 0 or number = 2 or number = 6 then
              check_equal(clocks(number), before(number) + 3, "a request that stands");
            else
              check_equal(clocks(number), before(number) + 1, "one access");
            end if;
          end loop;
        end loop;

      elsif run("the first access that nothing answered is kept") then
        one(x"80000010", taken);
        one(x"00000010", taken);
        wait until rising_edge(clk);
        check_equal(fault, '0', "fault");
        one(x"90000004", taken);
        one(x"00100000", taken);
        wait until rising_edge(clk);
        check_equal(fault, '1', "fault");
        check_equal(fault_address & "00", std_logic_vector'(x"90000004"), "address");
        rst <= '1';
        wait until rising_edge(clk);
        rst <= '0';
        wait until rising_edge(clk);
        check_equal(fault, '0', "fault");
        one(x"80108000", taken);
        wait until rising_edge(clk);
        wait until rising_edge(clk);
        check_equal(fault_address & "00", std_logic_vector'(x"80108000"), "what the port refused");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
