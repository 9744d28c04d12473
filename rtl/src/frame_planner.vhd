-- Decides the generator's next frame while the previous one is sent: its sequence, the first word of its LFSR part, and its
-- fault.
--
-- `start` begins a run at sequence 0. A plan waits until `take`; then the next one is made, within five clocks. A fault is due
-- at every `fault_every`-th decision (0: never), every `fault_interval` clocks (0: never), and after `fault_once`; it waits for
-- a frame that can carry it. While `pair_open`, the second half of a duplicate or a swap waits to be taken. If every frame is
-- dropped, there is no plan; sequences are used up until `stop`.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;
use work.quarter_pkg.all;

entity frame_planner is
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    start          : in  std_logic;
    stop           : in  std_logic;
    take           : in  std_logic;
    frame_count    : in  std_logic_vector(31 downto 0);
    fault_kind     : in  std_logic_vector(2 downto 0);
    fault_every    : in  std_logic_vector(31 downto 0);
    fault_interval : in  std_logic_vector(30 downto 0);
    fault_once     : in  std_logic;
    plan_valid     : out std_logic;
    plan_sequence  : out std_logic_vector(31 downto 0);
    plan_word      : out std_logic_vector(31 downto 0);
    plan_bit_error : out std_logic;
    plan_bad_fcs   : out std_logic;
    plan_truncated : out std_logic;
    pair_open      : out std_logic;
    exhausted      : out std_logic;
    used           : out std_logic;
    injected       : out std_logic
  );
end entity;

architecture rtl of frame_planner is
  type state_t is (OFF, PREPARE, DECIDE, WAITING, SECOND, ADVANCE, SETTLE, EMPTY);
  type pair_t is (NONE, SAME_AGAIN, SMALLER_ONE);
  signal state               : state_t;
  signal pair                : pair_t;
  -- The next sequence and the one after it, the words of both, and the word before. `ahead` and the counters below count up to
  -- their settings: a comparison for equality is much smaller than loading a down counter.
  signal number, ahead       : unsigned(31 downto 0);
  signal word_prior, word    : word_t;
  signal word_ahead          : word_t;
  -- The word after that of `ahead`, made in four quarters while a frame is planned.
  signal word_made           : word_t;
  signal quarters_left       : natural range 0 to 4;
  signal advances, makes     : std_logic;
  signal makes_first         : std_logic;
  signal every_clear         : std_logic;
  signal plans               : std_logic;
  -- A fault is due, and the word that it needs; both computed a clock before the decision.
  signal is_due              : std_logic;
  signal wants_ahead         : std_logic;
  signal wants_prior         : std_logic;
  signal wants_again         : std_logic;
  signal plans_ahead         : std_logic;
  -- `ahead` wrapped, so it is not a count of frames.
  signal ahead_wrapped       : std_logic;
  signal at_count            : std_logic;
  signal left_none, left_one : std_logic;
  signal twice, drops        : std_logic;
  signal faulty              : std_logic;
  signal pending             : std_logic;
  signal every_at            : unsigned(31 downto 0);
  signal every_wrapped       : std_logic;
  -- Which groups of three bits match the setting.
  signal every_same          : std_logic_vector(10 downto 0);
  signal every_due           : std_logic;
  signal interval_at         : unsigned(30 downto 0);
  signal interval_wrapped    : std_logic;
  signal interval_now        : std_logic;
  signal interval_due        : std_logic;
  -- The first clock of a run; whether the interval ends in it, and so in every clock.
  signal at_first, each_clock : std_logic;
  constant LAST_WORD         : word_t := stream_word(START_WORDS - 1);
begin
  exhausted <= to_std_logic(state = EMPTY);
  at_count <= to_std_logic(ahead = unsigned(frame_count)) and not ahead_wrapped;
  interval_now <= to_std_logic(interval_at = unsigned(fault_interval)) and not interval_wrapped;

  advances <= to_std_logic((state = PREPARE or state = ADVANCE) and quarters_left = 0);
  makes <= advances or to_std_logic(quarters_left /= 0);
  -- The word after the last one is the first.
  makes_first <= to_std_logic(quarters_left = 1 and ahead(11 downto 0) = START_WORDS - 1);
  every_clear <= start or (to_std_logic(state = DECIDE) and every_due);

  words : process (clk)
  begin
    if rising_edge(clk) then
      if start = '1' or makes_first = '1' then
        word_made <= LFSR_SEED;
      elsif makes = '1' then
        word_made <= quarter_word(word_made);
      end if;
      if start = '1' then
        word <= LAST_WORD;
        word_ahead <= LFSR_SEED;
      elsif advances = '1' then
        word_prior <= word;
        word <= word_ahead;
        word_ahead <= word_made;
      end if;
      if start = '1' then
        quarters_left <= 4;
      elsif advances = '1' then
        quarters_left <= 3;
      elsif quarters_left /= 0 then
        quarters_left <= quarters_left - 1;
      end if;
      if rst = '1' then
        quarters_left <= 0;
      end if;
    end if;
  end process;

  -- A counter that wrapped is past its setting and must not match it again.
  faults : process (clk)
    variable sum : unsigned(32 downto 0);
  begin
    if rising_edge(clk) then
      if every_clear = '1' then
        every_at <= to_unsigned(1, 32);
        every_wrapped <= '0';
      elsif state = DECIDE then
        sum := ('0' & every_at) + 1;
        every_at <= sum(31 downto 0);
        every_wrapped <= every_wrapped or sum(32);
      end if;
      -- The wide comparison takes a clock of its own, so the next interval starts at its second clock.
      at_first <= start;
      if at_first = '1' then
        each_clock <= interval_now;
      end if;
      interval_due <= interval_now or (each_clock and not at_first);
      if start = '1' or interval_due = '1' then
        interval_at <= to_unsigned(2, 31);
        interval_at(0) <= start;
        interval_at(1) <= not start;
        interval_wrapped <= '0';
      else
        sum := ("00" & interval_at) + 1;
        interval_at <= sum(30 downto 0);
        interval_wrapped <= interval_wrapped or sum(31);
      end if;
      if start = '1' then
        interval_due <= '0';
      end if;
    end if;
  end process;

  -- A swapped pair sends the later sequence first; a stale frame has the word of the previous sequence.
  plans_ahead <= wants_ahead and not left_one;
  plans <= to_std_logic(state = DECIDE or state = SECOND);

  frame : process (clk)
  begin
    if rising_edge(clk) then
      if plans = '1' then
        plan_sequence <= std_logic_vector(number);
        plan_word <= word;
        if plans_ahead = '1' then
          plan_sequence <= std_logic_vector(ahead);
          plan_word <= word_ahead;
        end if;
        if wants_prior = '1' then
          plan_word <= word_prior;
        end if;
      end if;
    end if;
  end process;

  plan : process (clk)
    variable sum : unsigned(32 downto 0);
  begin
    if rising_edge(clk) then
      used <= '0';
      injected <= '0';
      -- Computed a clock before their use; enough clocks lie between two decisions.
      left_one <= at_count;
      every_same <= same_threes('0' & std_logic_vector(every_at), '0' & fault_every);
      every_due <= (and every_same) and not every_wrapped;
      is_due <= pending or every_due;
      wants_ahead <= to_std_logic(state = SETTLE and fault_kind = FAULT_SWAP) and (pending or every_due);
      wants_prior <= to_std_logic(state = SETTLE and fault_kind = FAULT_STALE) and (pending or every_due);
      wants_again <= to_std_logic(state = SETTLE and fault_kind = FAULT_DUPLICATE) and (pending or every_due);

      case state is
        when DECIDE =>
          plan_bit_error <= '0';
          plan_bad_fcs <= '0';
          plan_truncated <= '0';
          plan_valid <= not left_none;
          faulty <= '0';
          twice <= '0';
          drops <= '0';
          state <= WAITING;
          if left_none = '1' then
            state <= EMPTY;
          elsif is_due = '1' then
            -- If a counted fault and a pending one are both due, one waits for the next decision.
            pending <= pending and every_due;
            faulty <= '1';
            case fault_kind is
              when FAULT_BIT_ERROR =>
                plan_bit_error <= '1';
              when FAULT_DROP =>
                plan_valid <= '0';
                drops <= '1';
              when FAULT_SWAP =>
                if left_one = '1' then
                  pending <= '1';
                  faulty <= '0';
                end if;
              when FAULT_BAD_FCS =>
                plan_bad_fcs <= '1';
              when FAULT_DUPLICATE | FAULT_STALE =>
                null;
              when FAULT_TRUNCATED =>
                plan_truncated <= '1';
              when others =>
                faulty <= '0';
            end case;
          end if;

        when WAITING =>
          if take = '1' or drops = '1' then
            plan_valid <= '0';
            pair_open <= '0';
            -- A fault counts only once its frame is taken.
            injected <= faulty;
            faulty <= '0';
            if pair = NONE then
              state <= ADVANCE;
            else
              state <= SECOND;
            end if;
          end if;

        when SECOND =>
          plan_valid <= '1';
          pair_open <= '1';
          twice <= to_std_logic(pair = SMALLER_ONE);
          state <= WAITING;

        when PREPARE | ADVANCE =>
          if advances = '1' then
            number <= ahead;
            sum := ('0' & ahead) + 1;
            ahead <= sum(31 downto 0);
            ahead_wrapped <= sum(32);
            left_none <= left_one;
            used <= to_std_logic(state = ADVANCE);
            twice <= '0';
            if twice = '0' then
              state <= SETTLE;
            end if;
          end if;

        when SETTLE =>
          state <= DECIDE;

        when others =>
          null;
      end case;

      -- The wants_ signals are set only in the clock of the decision.
      if wants_again = '1' then
        pair <= SAME_AGAIN;
      elsif plans_ahead = '1' then
        pair <= SMALLER_ONE;
      elsif state = SECOND then
        pair <= NONE;
      end if;

      if state /= OFF and (interval_due = '1' or fault_once = '1') then
        pending <= '1';
      end if;

      if start = '1' then
        -- One sequence before the first: marked as wrapped, so that it does not match a frame_count of 0 (endless).
        state <= PREPARE;
        ahead <= (others => '0');
        ahead_wrapped <= '1';
        pending <= '0';
        twice <= '0';
      end if;
      if rst = '1' or stop = '1' then
        state <= OFF;
      end if;
      if rst = '1' then
        used <= '0';
        injected <= '0';
      end if;
      if rst = '1' or start = '1' or stop = '1' then
        pair <= NONE;
        pair_open <= '0';
        plan_valid <= '0';
      end if;
    end if;
  end process;
end architecture;
