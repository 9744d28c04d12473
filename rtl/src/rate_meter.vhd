-- The rate meter: counts the ticks between frames at a point of a design, as single periods and as their sum.
--
-- A probe on a stream of bytes sees frames by their first or last byte, one on a line by the rising edge of its enable. `tick`
-- is the measuring clock: always 1, or 1 at a lower rate (in four of five clocks: 100 MHz at a clock of 125 MHz).
-- docs/blocks/rate_meter.md has ports and times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity rate_meter is
  generic (
    -- Two flip-flops on the probe, for a line of another clock.
    SYNCHRONISE : boolean := false;
    -- Width of a period and of the number of periods; the sum has MORE_BITS more. A bench sets less to see them overflow.
    BITS        : natural := 32;
    MORE_BITS   : natural := 16
  );
  port (
    clk          : in  std_logic;
    rst          : in  std_logic;
    tick         : in  std_logic;
    -- 0 ignores frames; the next frame after that opens a period.
    enable       : in  std_logic;
    -- One clock: clears all results; the next frame opens a period.
    clear        : in  std_logic;
    -- 1: a frame is a rising edge of probe_tvalid. 0: it is a byte of a stream, the last or the first of each frame.
    line_mode    : in  std_logic;
    at_last      : in  std_logic;
    probe_tvalid : in  std_logic;
    probe_tready : in  std_logic;
    probe_tlast  : in  std_logic;
    -- Number of periods, and the last, the shortest (all ones if there is none), the longest and the sum of them.
    periods      : out std_logic_vector(BITS - 1 downto 0);
    last_period  : out std_logic_vector(BITS - 1 downto 0);
    shortest     : out std_logic_vector(BITS - 1 downto 0);
    longest      : out std_logic_vector(BITS - 1 downto 0);
    total        : out std_logic_vector(BITS + MORE_BITS - 1 downto 0);
    -- Sticky: a period was 2^BITS - 1 ticks or longer, or periods or total overflowed.
    overflow     : out std_logic
  );
end entity;

architecture rtl of rate_meter is
  constant ALL_ONES : unsigned(BITS - 1 downto 0) := (others => '1');

  type probe_t is record
    valid, ready, last : std_logic;
  end record;
  constant QUIET : probe_t := (valid => '1', ready => '0', last => '0');

  signal first_stage, probe : probe_t;
  signal valid_before : std_logic;
  signal in_frame     : std_logic;
  signal frame_seen   : std_logic;
  -- A period is open; its ticks so far; `still`: none so far.
  signal running      : std_logic;
  signal ticks        : unsigned(BITS - 1 downto 0);
  signal still        : std_logic;
  -- All bits of `ticks` except the low two were ones a clock ago. That is early enough: the largest value comes three ticks
  -- after the first such one.
  signal high_full    : std_logic;
  -- The period a clock later; whether it is 0, has ended, and counts.
  signal period       : unsigned(BITS - 1 downto 0);
  signal period_zero  : std_logic;
  signal period_ended : std_logic;
  signal period_ready : std_logic;
  signal count, last, least, greatest : unsigned(BITS - 1 downto 0);
  signal sum          : unsigned(BITS + MORE_BITS - 1 downto 0);
  signal period_over, count_over, sum_over : std_logic;
  -- A period rises by one, so a value that it has met is not above it. Equality therefore shows what is shorter and longer,
  -- with a third of the LUTs of an ordered comparison. Zero is separate: a period may begin above it without meeting it.
  signal at_least, at_greatest             : std_logic;
  signal met_least, met_greatest           : std_logic;
  signal least_is_zero, greatest_not_zero  : std_logic;
begin
  periods     <= std_logic_vector(count);
  last_period <= std_logic_vector(last);
  shortest    <= std_logic_vector(least);
  longest     <= std_logic_vector(greatest);
  total       <= std_logic_vector(sum);
  overflow    <= period_over or count_over or sum_over;

  another_clock : if SYNCHRONISE generate
    process (clk)
    begin
      if rising_edge(clk) then
        first_stage <= (probe_tvalid, probe_tready, probe_tlast);
        probe       <= first_stage;
        if rst = '1' then
          first_stage <= QUIET;
          probe       <= QUIET;
        end if;
      end if;
    end process;
  else generate
    probe <= (probe_tvalid, probe_tready, probe_tlast);
  end generate;

  -- Detects frames.
  process (clk)
  begin
    if rising_edge(clk) then
      frame_seen <= '0';
      if rst = '1' then
        valid_before <= '1';
        in_frame     <= '0';
      else
        valid_before <= probe.valid;
        if probe.valid = '1' and probe.ready = '1' then
          in_frame <= not probe.last;
        end if;
        if enable = '0' then
          frame_seen <= '0';
        elsif line_mode = '1' then
          frame_seen <= probe.valid and not valid_before;
        elsif at_last = '1' then
          frame_seen <= probe.valid and probe.ready and probe.last;
        else
          frame_seen <= probe.valid and probe.ready and not in_frame;
        end if;
      end if;
    end if;
  end process;

  -- Counts the ticks between frames.
  process (clk)
    variable more : unsigned(BITS - 1 downto 0);
  begin
    if rising_edge(clk) then
      period_ended <= frame_seen;
      period_ready <= frame_seen and running;
      period_zero  <= still and not tick;
      -- The count saturates at the largest period.
      more   := ticks + unsigned'("" & (tick and not (high_full and ticks(1) and ticks(0))));
      period <= more;
      ticks  <= more;
      high_full <= and ticks(BITS - 1 downto 2);
      still <= still and not tick;
      if frame_seen = '1' then
        running <= '1';
        ticks   <= (others => '0');
        still   <= '1';
      end if;
      if rst = '1' or clear = '1' or enable = '0' then
        period_ended <= '0';
        period_ready <= '0';
        running      <= '0';
        ticks        <= (others => '0');
      end if;
    end if;
  end process;

  at_least    <= '1' when period = least else '0';
  at_greatest <= '1' when period = greatest else '0';

  compare : process (clk)
  begin
    if rising_edge(clk) then
      met_least    <= met_least or at_least;
      met_greatest <= met_greatest or at_greatest;
      if period_ended = '1' then
        met_least    <= least_is_zero or (period_ready and period_zero);
        met_greatest <= not greatest_not_zero and not (period_ready and not period_zero);
      end if;
      if period_ready = '1' then
        least_is_zero     <= least_is_zero or period_zero;
        greatest_not_zero <= greatest_not_zero or not period_zero;
      end if;
      if rst = '1' or clear = '1' then
        least_is_zero     <= '0';
        greatest_not_zero <= '0';
      end if;
    end if;
  end process;

  process (clk)
    variable longer_sum   : unsigned(BITS + MORE_BITS downto 0);
    variable longer_count : unsigned(BITS downto 0);
    variable beyond       : unsigned(BITS downto 0);
  begin
    if rising_edge(clk) then
      -- The carry of the sum shows overflow without more logic.
      beyond       := ('0' & period) + 1;
      longer_sum   := ('0' & sum) + period;
      longer_count := ('0' & count) + 1;
      if period_ready = '1' then
        count <= longer_count(BITS - 1 downto 0);
        last  <= period;
        sum   <= longer_sum(BITS + MORE_BITS - 1 downto 0);
        -- Which of two equal periods is kept does not matter, so this clock does not need its own comparison.
        if met_least = '0' then
          least <= period;
        end if;
        if met_greatest = '1' then
          greatest <= period;
        end if;
        period_over <= period_over or beyond(BITS);
        count_over  <= count_over or longer_count(BITS);
        sum_over    <= sum_over or longer_sum(BITS + MORE_BITS);
      end if;
      if rst = '1' or clear = '1' then
        count    <= (others => '0');
        last     <= (others => '0');
        least    <= ALL_ONES;
        greatest <= (others => '0');
        sum      <= (others => '0');
        period_over <= '0';
        count_over  <= '0';
        sum_over    <= '0';
      end if;
    end if;
  end process;
end architecture;
