-- Tracks the sequences of one stream as spec/test-frame.md says, with a window of 4,096: which are new, came twice, came
-- after a larger one, or so late that nobody can tell.
--
-- The window is a ring of 512 words of 16 sequences in one block RAM. Each word carries the turn of the ring it was
-- written in; a word of an older turn reads as empty. So a jump, however far, costs nothing. The words are emptied
-- after a reset, which takes 512 clocks; `ready` says when. A request is answered by one of the events nine clocks
-- later; the next may come a clock behind the answer.
--
-- Of a flow that repeats, the sequence is a slot, and slots follow one another: each that comes is new, and one that does
-- not follow is a break besides. Which were lost a slot cannot tell: `missing` stays 0.
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
    -- It stays for a clock behind the request.
    number        : in  std_logic_vector(31 downto 0);
    -- Slots of a flow that repeats, 1 to 4,096; 0: sequences. It changes with a reset alone.
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
  -- Its marks, and whether its turn is the one that is looked for, by three bits of it: as many as a LUT compares.
  signal entry_marks            : half_t;
  signal turn_same              : std_logic_vector(6 downto 0);
  signal write                  : std_logic;
  signal empty_at               : unsigned(8 downto 0);
  -- One bit more than a sequence has, so that a turn that is 2^32 sequences old is told from this one.
  signal expected, located      : unsigned(32 downto 0);
  signal following              : unsigned(32 downto 0);
  -- From the expected one, or in the next clock from the number of slots, to the one that came.
  signal difference             : unsigned(32 downto 0);
  signal behind                 : signed(31 downto 0);
  signal past_window            : std_logic;
  signal late, is_smaller       : std_logic;
  signal marks                  : half_t;
  signal marked                 : half_t;
  signal is_marked              : std_logic;
  signal missed                 : unsigned(31 downto 0);
  signal missed_over            : std_logic;
  -- What the count of the missing changes by; all ones take one away.
  signal adding                 : unsigned(31 downto 0);
  signal changing, removing     : std_logic;
  signal by_slots, begun        : std_logic;
  signal advancing, is_last     : std_logic;
  signal follows, is_known      : std_logic;
  -- Which three bits of the slot behind are those of their number.
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
      -- Out of a block RAM an entry comes late in the clock: it is kept close by, and compared from there.
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

  -- One subtraction for both: it is as wide as a sequence.
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
          -- The sequence itself, and whether the way to it goes over the largest one, forwards or back.
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

  -- Apart from the states, so that the way back to slot 0 is the reset of a register and not logic for each bit.
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

  -- What a slot is: there long before it is decided on.
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

  -- Apart from the states, where what is chosen by one is logic for each bit and not the reset of a register.
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

  -- A clock behind: this sum is as wide as its neighbour's.
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
