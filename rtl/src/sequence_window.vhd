-- Tracks the sequences of one stream as spec/test-frame.md says, with a window of 4,096: which are new, duplicated, reordered,
-- or too late to decide.
--
-- The window is a ring of 512 words of 16 sequences in one block RAM. Each word carries the turn of the ring in which it was
-- written; a word of an older turn reads as empty. So a jump, however far, costs nothing. After a reset, emptying the words
-- takes 512 clocks; then `ready` is 1. One of the events answers a request eight clocks later; the next request may come a
-- clock after the answer.
--
-- In a flow that repeats, the sequence is a slot, and slots follow one another. Each arriving slot is new; one that does not
-- follow is also a break. Slots do not show which frames were lost: `missing` stays 0.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity sequence_window is
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
    ready         : out std_logic;
    request       : in  std_logic;
    -- Must hold for one clock after the request.
    number        : in  std_logic_vector(31 downto 0);
    -- Slots of a flow that repeats, 1 to 4,096; 0: sequences. Change it only with a reset.
    slots         : in  std_logic_vector(12 downto 0);
    is_new        : out std_logic;
    is_duplicated : out std_logic;
    is_reordered  : out std_logic;
    is_too_late   : out std_logic;
    is_break      : out std_logic;
    next_number   : out std_logic_vector(31 downto 0);
    -- Sequences below next_number that have not arrived; its overflow is sticky.
    missing       : out std_logic_vector(31 downto 0);
    overflow      : out std_logic
  );
end entity;

architecture rtl of sequence_window is
  -- 16 marks, and 20 bits of the turn.
  subtype entry_t is std_logic_vector(35 downto 0);
  type ring_t is array (511 downto 0) of entry_t;
  type state_t is (EMPTYING, WAITING, LOCATE, AIM, FETCH, ARRIVE, KEEP, MATCH, DECIDE);
  signal ring                   : ring_t;
  signal state                  : state_t;
  signal ring_at                : std_logic_vector(8 downto 0);
  signal ring_entry, kept_entry : entry_t;
  signal written                : entry_t;
  -- Its marks, and whether its turn matches, for each group of three bits: as many as a LUT compares.
  signal entry_marks            : half_t;
  signal turn_same              : std_logic_vector(6 downto 0);
  signal write                  : std_logic;
  signal empty_at               : unsigned(8 downto 0);
  -- One bit more than a sequence has, to distinguish the current turn from one 2^32 sequences ago.
  signal expected, located      : unsigned(32 downto 0);
  signal following              : unsigned(32 downto 0);
  -- The received sequence minus the expected one, or in the next clock minus the number of slots.
  signal difference             : unsigned(32 downto 0);
  signal behind                 : signed(31 downto 0);
  signal past_window            : std_logic;
  signal late, is_smaller       : std_logic;
  signal marks                  : half_t;
  signal marked                 : half_t;
  signal is_marked              : std_logic;
  signal missed                 : unsigned(31 downto 0);
  signal missed_over            : std_logic;
  -- The change of the missing count; all ones subtract one.
  signal adding                 : unsigned(31 downto 0);
  signal changing, removing     : std_logic;
  signal by_slots, begun        : std_logic;
  signal advancing, is_last     : std_logic;
  signal follows, is_known      : std_logic;
  -- Which groups of three bits of the next slot match the number of slots.
  signal last_same              : std_logic_vector(4 downto 0);
begin
  ready <= to_std_logic(state /= EMPTYING);
  next_number <= std_logic_vector(expected(31 downto 0));
  missing <= std_logic_vector(missed);
  overflow <= missed_over;

  memory : process (clk)
    variable turn_kept, turn_wanted : std_logic_vector(20 downto 0);
  begin
    if rising_edge(clk) then
      if write = '1' then
        ring(to_integer(unsigned(ring_at))) <= written;
      end if;
      if write = '0' then
        ring_entry <= ring(to_integer(unsigned(ring_at)));
      end if;
      -- The block RAM delivers late in the clock: an entry is registered before the comparison.
      kept_entry <= ring_entry;
      entry_marks <= kept_entry(15 downto 0);
      turn_kept := '0' & kept_entry(35 downto 16);
      turn_wanted := '0' & std_logic_vector(located(32 downto 13));
      for i in turn_same'range loop
        turn_same(i) <= to_std_logic(turn_kept(3 * i + 2 downto 3 * i) = turn_wanted(3 * i + 2 downto 3 * i));
      end loop;
      marks <= entry_marks;
      if (and turn_same) = '0' then
        marks <= (others => '0');
      end if;
    end if;
  end process;

  is_marked <= marks(to_integer(located(3 downto 0)));

  mark : for i in marked'range generate
    marked(i) <= marks(i) or to_std_logic(located(3 downto 0) = i);
  end generate;

  following <= located + 1;

  -- One subtraction for both uses: it is as wide as a sequence.
  subtract : process (all)
    variable from : unsigned(31 downto 0);
  begin
    from := expected(31 downto 0);
    if state /= WAITING then
      from := resize(unsigned(slots), 32);
    end if;
    difference <= ('0' & unsigned(number)) - ('0' & from);
  end process;

  track : process (clk)
  begin
    if rising_edge(clk) then
      write <= '0';
      is_new <= '0';
      is_duplicated <= '0';
      is_reordered <= '0';
      is_too_late <= '0';
      is_break <= '0';
      changing <= '0';
      removing <= '0';
      advancing <= '0';
      case state is
        when EMPTYING =>
          write <= '1';
          ring_at <= std_logic_vector(empty_at);
          empty_at <= empty_at + 1;
          if empty_at = 511 then
            state <= WAITING;
          end if;

        when WAITING =>
          if request = '1' then
            behind <= signed(difference(31 downto 0));
            is_smaller <= difference(32);
            located(31 downto 0) <= unsigned(number);
            state <= LOCATE;
          end if;

        when LOCATE =>
          -- Bit 32 flips if the way to the sequence crosses the largest one, forwards or backwards.
          located(32) <= expected(32) xor behind(31) xor is_smaller;
          is_known <= difference(32);
          state <= AIM;

        when AIM =>
          ring_at <= std_logic_vector(located(12 downto 4));
          -- More than 4,096 behind, or before sequence 0.
          late <= behind(31) and (to_std_logic(behind(31 downto 12) /= x"FFFFF")
                                  or (located(31) and not past_window));
          state <= FETCH;

        when FETCH =>
          state <= ARRIVE;

        when ARRIVE =>
          state <= KEEP;

        when KEEP =>
          state <= MATCH;

        when MATCH =>
          state <= DECIDE;

        when others =>
          state <= WAITING;
          if by_slots = '1' then
            is_new <= '1';
            is_break <= not is_known or (begun and not follows);
            advancing <= is_known;
          elsif behind(31) = '0' then
            is_new <= '1';
            write <= '1';
            changing <= '1';
            advancing <= '1';
            past_window <= past_window or to_std_logic(located(31 downto 12) /= x"00000");
          elsif late = '1' then
            is_too_late <= '1';
          elsif is_marked = '1' then
            is_duplicated <= '1';
          else
            is_new <= '1';
            is_reordered <= '1';
            write <= '1';
            changing <= '1';
            removing <= '1';
          end if;
      end case;
      if rst = '1' then
        state <= EMPTYING;
        empty_at <= (others => '0');
        past_window <= '0';
        advancing <= '0';
      end if;
    end if;
  end process;

  -- Separate from the states, so that the return to slot 0 is a synchronous reset and not logic for each bit.
  advance : process (clk)
  begin
    if rising_edge(clk) then
      if advancing = '1' then
        expected <= following;
        begun <= '1';
      end if;
      if rst = '1' or (advancing = '1' and is_last = '1') then
        expected <= (others => '0');
      end if;
      if rst = '1' then
        begun <= '0';
      end if;
    end if;
  end process;

  -- Properties of a slot, computed long before the decision.
  know_slot : process (clk)
    variable behind_it, all_slots : unsigned(14 downto 0);
  begin
    if rising_edge(clk) then
      by_slots <= or slots;
      behind_it := "00" & following(12 downto 0);
      all_slots := "00" & unsigned(slots);
      for i in last_same'range loop
        last_same(i) <= to_std_logic(behind_it(3 * i + 2 downto 3 * i) = all_slots(3 * i + 2 downto 3 * i));
      end loop;
      is_last <= by_slots and (and last_same);
      follows <= to_std_logic(behind(12 downto 0) = 0);
    end if;
  end process;

  -- Separate from the states, where each choice would be logic for each bit and not a synchronous reset.
  carry : process (clk)
  begin
    if rising_edge(clk) then
      adding <= unsigned(behind);
      if behind(31) = '1' then
        adding <= (others => '1');
      end if;
      if state = DECIDE then
        written <= std_logic_vector(located(32 downto 13)) & marked;
      end if;
      if state = EMPTYING then
        written <= (others => '0');
      end if;
    end if;
  end process;

  -- One clock later: this sum is as wide as the subtraction.
  account : process (clk)
    variable sum : unsigned(32 downto 0);
  begin
    if rising_edge(clk) then
      sum := ('0' & missed) + adding;
      if changing = '1' then
        missed <= sum(31 downto 0);
        missed_over <= missed_over or (sum(32) and not removing);
      end if;
      if rst = '1' then
        missed <= (others => '0');
        missed_over <= '0';
      end if;
    end if;
  end process;
end architecture;
