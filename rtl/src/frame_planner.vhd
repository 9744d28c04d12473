-- Decides what the generator's next frame is, while the frame before it is being sent: its sequence, the first word of
-- its LFSR part, and the fault that goes into it.
--
-- `start` begins a run at sequence 0. A plan waits until `take`; then the next one is made, within five clocks.
-- A fault is due at every `fault_every`-th decision (0: never), every `fault_interval` clocks (0: never), and after
-- `fault_once`; it waits for a frame that can carry it. While `pair_open` the second half of a duplicate or a swap waits
-- to be taken. Where every frame is dropped no plan comes, only sequences are used up, until `stop`.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

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
  type state_t is (OFF, DECIDE, WAITING, SECOND, ADVANCE, SETTLE, EMPTY);
  type pair_t is (NONE, SAME_AGAIN, SMALLER_ONE);
  signal state               : state_t;
  signal pair                : pair_t;
  signal number, left      : unsigned(31 downto 0);
  signal word, word_prior    : word_t;
  signal word_next           : word_t;
  signal endless             : std_logic;
  signal left_none, left_one : std_logic;
  signal twice, drops        : std_logic;
  signal faulty              : std_logic;
  signal pending             : std_logic;
  signal every_left          : unsigned(31 downto 0);
  signal every_on, every_due : std_logic;
  signal interval_left       : natural;
  signal interval_on         : std_logic;
  signal interval_due        : std_logic;
  constant LAST_WORD         : word_t := stream_word(START_WORDS - 1);
begin
  word_next <= LFSR_SEED when number(11 downto 0) = START_WORDS - 1 else next_word(word);
  exhausted <= to_std_logic(state = EMPTY);

  plan : process (clk)
  begin
    if rising_edge(clk) then
      used <= '0';
      injected <= '0';
      -- Known a clock ahead of their use: there are clocks enough between two decisions.
      left_none <= not endless and to_std_logic(left = 0);
      left_one <= not endless and to_std_logic(left = 1);
      every_due <= every_on and to_std_logic(every_left = 1);

      case state is
        when DECIDE =>
          plan_sequence <= std_logic_vector(number);
          plan_word <= word;
          plan_bit_error <= '0';
          plan_bad_fcs <= '0';
          plan_truncated <= '0';
          plan_valid <= not left_none;
          faulty <= '0';
          twice <= '0';
          drops <= '0';
          state <= WAITING;
          if every_due = '1' then
            every_left <= unsigned(fault_every);
          else
            every_left <= every_left - 1;
          end if;
          if left_none = '1' then
            state <= EMPTY;
          elsif pending = '1' or every_due = '1' then
            pending <= pending and every_due;
            faulty <= '1';
            case fault_kind is
              when FAULT_BIT_ERROR =>
                plan_bit_error <= '1';
              when FAULT_DROP =>
                plan_valid <= '0';
                drops <= '1';
              when FAULT_DUPLICATE =>
                pair <= SAME_AGAIN;
              when FAULT_SWAP =>
                if left_one = '1' then
                  pending <= '1';
                  faulty <= '0';
                else
                  plan_sequence <= std_logic_vector(number + 1);
                  plan_word <= word_next;
                  pair <= SMALLER_ONE;
                end if;
              when FAULT_BAD_FCS =>
                plan_bad_fcs <= '1';
              when FAULT_STALE =>
                plan_word <= word_prior;
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
            -- A fault that was planned in vain, for a frame that nobody took, is none.
            injected <= faulty;
            faulty <= '0';
            if pair = NONE then
              state <= ADVANCE;
            else
              state <= SECOND;
            end if;
          end if;

        when SECOND =>
          plan_sequence <= std_logic_vector(number);
          plan_word <= word;
          plan_valid <= '1';
          pair_open <= '1';
          twice <= to_std_logic(pair = SMALLER_ONE);
          pair <= NONE;
          state <= WAITING;

        when ADVANCE =>
          number <= number + 1;
          word <= word_next;
          word_prior <= word;
          left <= left - 1;
          used <= '1';
          twice <= '0';
          if twice = '0' then
            state <= SETTLE;
          end if;

        when SETTLE =>
          state <= DECIDE;

        when others =>
          null;
      end case;

      if interval_due = '1' then
        interval_left <= to_integer(unsigned(fault_interval));
      elsif interval_on = '1' then
        interval_left <= interval_left - 1;
      end if;
      interval_due <= interval_on and to_std_logic(interval_left <= 2);
      if state /= OFF and (interval_due = '1' or fault_once = '1') then
        pending <= '1';
      end if;

      if start = '1' then
        state <= SETTLE;
        number <= (others => '0');
        word <= LFSR_SEED;
        word_prior <= LAST_WORD;
        left <= unsigned(frame_count);
        endless <= to_std_logic(unsigned(frame_count) = 0);
        every_left <= unsigned(fault_every);
        every_on <= to_std_logic(unsigned(fault_every) /= 0);
        interval_left <= to_integer(unsigned(fault_interval));
        interval_on <= to_std_logic(unsigned(fault_interval) /= 0);
        interval_due <= '0';
        pending <= '0';
      end if;
      if rst = '1' or stop = '1' then
        state <= OFF;
        interval_on <= '0';
        interval_left <= 0;
        every_on <= '0';
      end if;
      if rst = '1' then
        number <= (others => '0');
        left <= (others => '0');
        every_left <= (others => '0');
        endless <= '0';
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
