-- The rate meter: how many ticks lie between frames at a point of a design, single periods and their sum.
--
-- A probe on a stream of bytes sees frames by their first or last byte, one on a line by the rising edge of its enable.
-- `tick` is the measuring clock: 1 for each clock, or as often as a probe of another rate has edges (four clocks in
-- five at 125 MHz are a probe of 100 MHz). docs/blocks/rate_meter.md has ports and times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity rate_meter is
  generic (
    -- Two flip-flops on the probe, for a line of another clock.
    SYNCHRONISE : boolean := false;
    -- Of a period and of their number; the sum has 16 more.
    BITS        : natural := 32
  );
  port (
    clk          : in  std_logic;
    rst          : in  std_logic;
    tick         : in  std_logic;
    -- While 0, frames are not looked at; the next one opens a period.
    enable       : in  std_logic;
    -- One clock: sets all results to nothing; the next frame opens a period.
    clear        : in  std_logic;
    -- 1: a frame is a rising edge of probe_tvalid. 0: it is a byte of a stream, the last or the first of each frame.
    line_mode    : in  std_logic;
    at_last      : in  std_logic;
    probe_tvalid : in  std_logic;
    probe_tready : in  std_logic;
    probe_tlast  : in  std_logic;
    -- Periods so far, and of these the last, the shortest (all ones where there is none), the longest and the sum.
    periods      : out std_logic_vector(BITS - 1 downto 0);
    last_period  : out std_logic_vector(BITS - 1 downto 0);
    shortest     : out std_logic_vector(BITS - 1 downto 0);
    longest      : out std_logic_vector(BITS - 1 downto 0);
    total        : out std_logic_vector(BITS + 15 downto 0);
    -- Sticky: a period was 2^BITS - 1 ticks or longer, or periods or total went over.
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
  -- Whether a frame opened the period that runs, and its ticks so far.
  signal running      : std_logic;
  signal ticks        : unsigned(BITS - 1 downto 0);
  -- A period on its way into the results.
  signal period       : unsigned(BITS - 1 downto 0);
  signal period_ready : std_logic;
  signal count, last, least, greatest : unsigned(BITS - 1 downto 0);
  signal sum          : unsigned(BITS + 15 downto 0);
begin
  periods     <= std_logic_vector(count);
  last_period <= std_logic_vector(last);
  shortest    <= std_logic_vector(least);
  longest     <= std_logic_vector(greatest);
  total       <= std_logic_vector(sum);

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

  -- Where the frames are.
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

  -- What lies between them.
  process (clk)
    variable now : unsigned(BITS - 1 downto 0);
  begin
    if rising_edge(clk) then
      period_ready <= '0';
      if rst = '1' or clear = '1' or enable = '0' then
        running <= '0';
        ticks   <= (others => '0');
        period  <= (others => '0');
      else
        now := ticks;
        if tick = '1' and ticks /= ALL_ONES then
          now := ticks + 1;
        end if;
        ticks <= now;
        if frame_seen = '1' then
          running      <= '1';
          period_ready <= running;
          period       <= now;
          ticks        <= (others => '0');
        end if;
      end if;
    end if;
  end process;

  process (clk)
    variable longer_sum : unsigned(BITS + 16 downto 0);
  begin
    if rising_edge(clk) then
      if rst = '1' or clear = '1' then
        count    <= (others => '0');
        last     <= (others => '0');
        least    <= ALL_ONES;
        greatest <= (others => '0');
        sum      <= (others => '0');
        overflow <= '0';
      elsif period_ready = '1' then
        longer_sum := resize(sum, BITS + 17) + period;
        count      <= count + 1;
        last       <= period;
        sum        <= longer_sum(BITS + 15 downto 0);
        if period < least then
          least <= period;
        end if;
        if period > greatest then
          greatest <= period;
        end if;
        if period = ALL_ONES or count = ALL_ONES or longer_sum(BITS + 16) = '1' then
          overflow <= '1';
        end if;
      end if;
    end if;
  end process;
end architecture;
