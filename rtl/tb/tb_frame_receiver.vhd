-- Tests of frame_receiver: in every clock the slots and events, and every byte that is kept.
--
-- Bytes come with random idle clocks, and frames as close as the block allows. Slots are read and given back at any time.
-- `expect` is the account of the frames; `read_out` reads them as a MAC would.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.ethernet_pkg.to_std_logic;
use work.line_pkg.octet;

entity tb_frame_receiver is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_frame_receiver is
  constant PERIOD    : time := 10 ns;
  constant OWN       : std_logic_vector(47 downto 0) := x"025E10004201";
  -- The least number of clocks without a byte between two frames.
  constant SHORTEST_PAUSE : natural := 4;
  constant SLOT_BYTES     : natural := 2048;

  type destination_t is (TO_OWN, TO_ALL, NEARLY_OWN, NEARLY_ALL);
  type slot_bytes_t is array (0 to 1) of integer_vector(0 to SLOT_BYTES - 1);
  type slot_numbers_t is array (0 to 1) of natural;
  type event_counts_t is record
    received, dropped, filtered, damaged : natural;
  end record;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal enable : std_logic := '1';
  signal any_address : std_logic := '0';
  signal s_tdata : std_logic_vector(7 downto 0) := x"00";
  signal s_tvalid, s_tlast, s_tuser : std_logic := '0';
  signal result_valid, result_wanted : std_logic := '0';
  signal result_rules : std_logic_vector(3 downto 0) := "0000";
  signal full, wanted, give_back : std_logic_vector(1 downto 0) := "00";
  -- Slots that the reader gives back, and slots that a test gives back.
  signal read_back, put_back : std_logic_vector(1 downto 0) := "00";
  signal rules : std_logic_vector(7 downto 0);
  signal lengths : std_logic_vector(21 downto 0);
  signal read_enable : std_logic := '0';
  signal read_address : std_logic_vector(9 downto 0) := (others => '0');
  signal read_data : std_logic_vector(31 downto 0);
  signal received, dropped, filtered : std_logic;

  -- Whether the reader takes frames out; how long it leaves them, in clocks at most.
  signal reading : boolean := false;
  signal leisure : natural := 0;
  -- The content of the slots in the bench's account.
  signal kept_bytes : slot_bytes_t := (others => (others => 0));
  signal kept_lengths : slot_numbers_t := (others => 0);
  signal seen : event_counts_t := (others => 0);
  signal frames_read : natural := 0;
begin
  clk <= not clk after PERIOD / 2;
  give_back <= read_back or put_back;

  unit : entity work.frame_receiver
    port map (
      clk, rst, enable, any_address, OWN, s_tdata, s_tvalid, s_tlast, s_tuser, result_valid, result_wanted, result_rules,
      full, wanted, rules, lengths, give_back, read_enable, read_address, read_data, received, dropped, filtered
    );

  -- Judges whole frames, unlike the block: a frame is kept if the slot whose turn it is was empty at its first byte.
  expect : process
    variable frame              : integer_vector(0 to SLOT_BYTES - 1);
    variable length             : natural := 0;
    variable turn               : natural range 0 to 1 := 0;
    variable holds, says_wanted : std_logic_vector(1 downto 0) := "00";
    variable says_rules         : std_logic_vector(7 downto 0) := x"00";
    variable has_room, waits    : boolean := false;
    variable own_address        : std_logic_vector(47 downto 0);
    variable for_us             : boolean;
    -- The events after this clock: received, dropped, filtered.
    variable events             : std_logic_vector(2 downto 0);

    procedure take_byte is
    begin
      if length = 0 then
        has_room := enable = '1' and holds(turn) = '0';
      end if;
      if length < SLOT_BYTES then
        frame(length) := to_integer(unsigned(s_tdata));
      end if;
      length := length + 1;
    end procedure;

    procedure end_frame is
    begin
      for i in 0 to 5 loop
        own_address(47 - 8 * i downto 40 - 8 * i) := octet(frame(i));
      end loop;
      for_us := any_address = '1' or own_address = OWN or own_address = x"FFFFFFFFFFFF";
      if s_tuser = '0' and enable = '1' then
        waits  := for_us and has_room;
        events := '0' & to_std_logic(for_us and not has_room) & to_std_logic(not for_us);
      elsif s_tuser = '1' then
        seen.damaged <= seen.damaged + 1;
      end if;
      if waits then
        kept_bytes(turn)   <= frame;
        kept_lengths(turn) <= length;
      end if;
      length := 0;
    end procedure;

    procedure compare is
    begin
      check_equal(full, holds, "full");
      check_equal(std_logic_vector'(received & dropped & filtered), events, "received, dropped, filtered");
      for slot in 0 to 1 loop
        if holds(slot) = '1' then
          check_equal(to_integer(unsigned(lengths(11 * slot + 10 downto 11 * slot))), kept_lengths(slot), "length");
          check_equal(wanted(slot), says_wanted(slot), "wanted");
          check_equal(rules(4 * slot + 3 downto 4 * slot), says_rules(4 * slot + 3 downto 4 * slot), "rules");
        end if;
      end loop;
      seen.received <= seen.received + to_integer(unsigned'("" & received));
      seen.dropped  <= seen.dropped + to_integer(unsigned'("" & dropped));
      seen.filtered <= seen.filtered + to_integer(unsigned'("" & filtered));
    end procedure;
  begin
    wait until rising_edge(clk);
    events := "000";
    if s_tvalid = '1' then
      take_byte;
    end if;
    holds := holds and not give_back;
    if waits and result_valid = '1' then
      waits             := false;
      holds(turn)       := '1';
      says_wanted(turn) := result_wanted;
      says_rules(4 * turn + 3 downto 4 * turn) := result_rules;
      turn              := 1 - turn;
      events            := "100";
    end if;
    if s_tvalid = '1' and s_tlast = '1' then
      end_frame;
    end if;
    if rst = '1' then
      length := 0;
      turn   := 0;
      waits  := false;
      holds  := "00";
      events := "000";
    end if;
    wait until falling_edge(clk);
    compare;
  end process;

  -- Reads a full slot word by word, some words in random order and twice, and gives it back; a reset starts it again.
  read_out : process
    variable random : RandomPType;
    variable slot   : natural range 0 to 1 := 0;
    variable at     : natural;
    variable bytes  : natural;
  begin
    random.InitSeed("reader" & to_string(seed));
    loop
      wait until rising_edge(clk);
      next when not reading or full = "00";
      slot := random.RandInt(0, 1) when full = "11" else 1 when full(1) = '1' else 0;
      for i in 1 to random.RandInt(0, leisure) loop
        wait until rising_edge(clk);
      end loop;
      bytes := kept_lengths(slot);
      for word in 0 to (bytes - 1) / 4 + 3 loop
        at := word when word <= (bytes - 1) / 4 else random.RandInt(0, (bytes - 1) / 4);
        read_enable  <= '1';
        read_address <= std_logic_vector(to_unsigned(512 * slot + at, 10));
        wait until rising_edge(clk);
        read_enable  <= '0';
        read_address <= (others => '1');
        for i in 0 to random.RandInt(0, 2) loop
          wait until falling_edge(clk);
        end loop;
        for i in 0 to 3 loop
          if 4 * at + i < bytes and full(slot) = '1' then
            check_equal(read_data(8 * i + 7 downto 8 * i), octet(kept_bytes(slot)(4 * at + i)),
              "byte " & to_string(4 * at + i));
          end if;
        end loop;
      end loop;
      wait until rising_edge(clk);
      read_back <= std_logic_vector(to_unsigned(2**slot, 2));
      wait until rising_edge(clk);
      read_back <= "00";
      frames_read <= frames_read + 1;
    end loop;
  end process;

  main : process
    variable random : RandomPType;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    impure function address(destination : destination_t) return std_logic_vector is
      variable bits : std_logic_vector(47 downto 0) := OWN;
      variable bit_at : natural := random.RandInt(0, 47);
    begin
      if destination = TO_ALL or destination = NEARLY_ALL then
        bits := (others => '1');
      end if;
      if destination = NEARLY_OWN or destination = NEARLY_ALL then
        bits(bit_at) := not bits(bit_at);
      end if;
      return bits;
    end function;

    -- The first `bytes` of a frame; `percent` of the clocks are idle.
    procedure send(destination : destination_t; bytes, percent : natural; bad : boolean; whole : boolean := true) is
      constant ADDRESSED : std_logic_vector(47 downto 0) := address(destination);
    begin
      for i in 0 to bytes - 1 loop
        while random.RandInt(1, 100) <= percent loop
          cycles(1);
        end loop;
        s_tvalid <= '1';
        s_tdata  <= ADDRESSED(47 - 8 * i downto 40 - 8 * i) when i < 6 else octet(random.RandInt(0, 255));
        s_tlast  <= to_std_logic(whole and i = bytes - 1);
        -- Without meaning before the end.
        s_tuser  <= to_std_logic(bad) when i = bytes - 1 else to_std_logic(random.RandInt(0, 1) = 1);
        cycles(1);
        s_tvalid <= '0';
        s_tlast  <= to_std_logic(random.RandInt(0, 1) = 1);
        s_tdata  <= octet(random.RandInt(0, 255));
      end loop;
    end procedure;

    -- The identifier's result, three clocks after the end, and the rest of the pause to the next frame.
    procedure tell(pause : natural) is
    begin
      cycles(2);
      result_valid  <= '1';
      result_wanted <= to_std_logic(random.RandInt(0, 1) = 1);
      result_rules  <= std_logic_vector(to_unsigned(random.RandInt(0, 15), 4));
      cycles(1);
      result_valid  <= '0';
      result_wanted <= to_std_logic(random.RandInt(0, 1) = 1);
      result_rules  <= std_logic_vector(to_unsigned(random.RandInt(0, 15), 4));
      cycles(pause - 3);
    end procedure;

    impure function some_destination return destination_t is
    begin
      return destination_t'val(random.RandInt(0, 3));
    end function;

    procedure receive_at_random(frames : natural; resets : boolean) is
      variable bytes : natural;
      variable bad   : boolean;
    begin
      for number in 1 to frames loop
        bytes := random.RandInt(14, 120);
        bad   := random.RandInt(0, 5) = 0;
        if random.RandInt(0, 20) = 0 then
          bytes := random.RandInt(121, 1518);
        elsif random.RandInt(0, 30) = 0 then
          -- Only a bad frame is longer than a slot.
          bytes := random.RandInt(2045, 2300);
          bad   := true;
        end if;
        if random.RandInt(0, 20) = 0 then
          enable <= not enable;
        elsif random.RandInt(0, 3) = 0 then
          enable <= '1';
        end if;
        any_address <= to_std_logic(random.RandInt(0, 3) = 0);
        if resets then
          put_back <= std_logic_vector(to_unsigned(random.RandInt(0, 3), 2));
          cycles(1);
          put_back <= "00";
        end if;
        if resets and random.RandInt(0, 3) = 0 then
          send(some_destination, bytes, 20, bad, whole => random.RandInt(0, 1) = 0);
          cycles(random.RandInt(0, 2));
          rst <= '1';
          cycles(1);
          rst <= '0';
          -- The block samples its own address in a clock without a byte.
          cycles(random.RandInt(1, 5));
        else
          send(some_destination, bytes, random.RandInt(0, 1) * random.RandInt(0, 80), bad);
          tell(SHORTEST_PAUSE + random.RandInt(0, 1) * random.RandInt(0, 60));
        end if;
      end loop;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("frames" & to_string(seed));
    cycles(3);
    rst <= '0';
    cycles(1);
    while test_suite loop
      if run("frames of every kind, read and given back at any time") then
        reading <= true;
        for speed in 0 to 4 loop
          leisure <= 100 * speed;
          receive_at_random(150, resets => false);
        end loop;
        check(seen.received > 50 and seen.dropped > 20 and seen.filtered > 20 and seen.damaged > 20, "all kinds came");
        check(frames_read > 50, "frames were read");
      elsif run("a reset within a frame, behind it and before its verdict leaves nothing") then
        -- Slots are given back unread; the account is compared with the block in every clock.
        receive_at_random(400, resets => true);
        check(seen.received > 50 and seen.dropped > 0, "frames came between resets");
      elsif run("frames as close as can be fill both slots, and the third is dropped") then
        for number in 1 to 3 loop
          send(TO_OWN, 60 + number, 0, false);
          tell(SHORTEST_PAUSE);
        end loop;
        check_equal(full, std_logic_vector'("11"), "full");
        check_equal(seen.received, 2, "received");
        check_equal(seen.dropped, 1, "dropped");
        -- A slot given back in the clock of a first byte is too late for that frame, and in time for the next.
        send(TO_OWN, 1, 0, false, whole => false);
        put_back <= "01";
        cycles(1);
        put_back <= "00";
        send(TO_OWN, 59, 0, false);
        tell(SHORTEST_PAUSE);
        check_equal(full, std_logic_vector'("10"), "full");
        send(TO_ALL, 60, 0, false);
        tell(SHORTEST_PAUSE);
        check_equal(full, std_logic_vector'("11"), "full");
      elsif run("a frame that is longer than a slot leaves the other slot alone") then
        send(TO_OWN, 1518, 0, false);
        tell(SHORTEST_PAUSE);
        for bytes in 2046 to 2052 loop
          send(TO_OWN, bytes, 0, true);
          tell(SHORTEST_PAUSE);
        end loop;
        check_equal(full, std_logic_vector'("01"), "full");
        reading <= true;
        wait until frames_read = 1 for 100 us;
        check_equal(frames_read, 1, "the frame was read");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
