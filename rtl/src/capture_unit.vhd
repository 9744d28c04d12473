-- The capture unit: counts clocks between the rising edges of a start and a stop signal, and keeps 512 of the counts.
--
-- Start and stop may be asynchronous: both pass two flip-flops, and the delays cancel. Records are read oldest first; new ones
-- may be added meanwhile. docs/blocks/capture_unit.md has the ports and times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity capture_unit is
  generic (
    -- Width of a count and of missed, up to 32; the upper bits are 0. A bench sets less to see them saturate.
    COUNT_BITS : natural := 32
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    -- 0 ignores edges and aborts a running count.
    enable    : in  std_logic;
    -- One clock: discards the records, missed and the sticky bits.
    clear     : in  std_logic;
    start     : in  std_logic;
    stop      : in  std_logic;
    -- The oldest record, valid while level is not 0. read_next removes it; the next one is there after at most two clocks.
    read_data : out std_logic_vector(31 downto 0);
    read_next : in  std_logic;
    -- Stored records, 0 to 512.
    level     : out std_logic_vector(9 downto 0);
    busy      : out std_logic;
    -- Starts during a running count, which continues from its first start. It saturates at 2^COUNT_BITS - 1.
    missed    : out std_logic_vector(31 downto 0);
    -- Sticky: a record was lost, because all 512 places were taken.
    overflow  : out std_logic;
    -- Sticky: a record is 2^COUNT_BITS - 1 (its time was that or longer), or missed was that and lost a start.
    saturated : out std_logic
  );
end entity;

architecture rtl of capture_unit is
  constant PLACES : natural := 512;
  subtype count_t is unsigned(COUNT_BITS - 1 downto 0);
  type memory_t is array (0 to PLACES - 1) of count_t;

  signal memory : memory_t;
  signal write_at, read_at, reads_at : unsigned(8 downto 0);
  signal waiting : unsigned(9 downto 0);
  signal start_seen, stop_seen : std_logic_vector(2 downto 0);
  signal started, stopped : std_logic;
  signal running : std_logic;
  signal count  : count_t;
  signal longer : unsigned(COUNT_BITS downto 0);
  signal misses : count_t;
  -- A finished count on its way into the memory.
  signal record_ready : std_logic;
  signal record_value : count_t;
  signal record_full  : std_logic;
  signal store, take  : std_logic;
  -- A record was added or removed in the previous clock.
  signal moved        : std_logic;
  signal oldest       : count_t;
begin
  busy      <= running;
  missed    <= std_logic_vector(resize(misses, 32));
  read_data <= std_logic_vector(resize(oldest, 32));
  started <= start_seen(1) and not start_seen(2) and enable;
  stopped <= stop_seen(1) and not stop_seen(2) and enable;
  store   <= record_ready and not waiting(9);
  take    <= read_next when waiting /= 0 else '0';

  -- The carry of the sum shows saturation without more logic.
  longer <= ('0' & count) + 1;

  process (clk)
    variable more_misses : unsigned(COUNT_BITS downto 0);
  begin
    if rising_edge(clk) then
      more_misses := ('0' & misses) + 1;
      start_seen   <= start_seen(1 downto 0) & start;
      stop_seen    <= stop_seen(1 downto 0) & stop;
      record_ready <= '0';
      if rst = '1' then
        start_seen   <= (others => '1');
        stop_seen    <= (others => '1');
        running      <= '0';
        count        <= (others => '0');
        misses       <= (others => '0');
        saturated    <= '0';
      else
        if longer(COUNT_BITS) = '0' then
          count <= longer(COUNT_BITS - 1 downto 0);
        end if;
        if stopped = '1' and (running = '1' or started = '1') then
          record_ready <= '1';
          running      <= '0';
        end if;
        if started = '1' and (running = '0' or stopped = '1') then
          count   <= to_unsigned(1, COUNT_BITS);
          running <= running or not stopped;
        end if;
        if enable = '0' then
          running <= '0';
        end if;
        if clear = '1' then
          misses    <= (others => '0');
          saturated <= '0';
        else
          if started = '1' and stopped = '0' and running = '1' then
            if more_misses(COUNT_BITS) = '0' then
              misses <= more_misses(COUNT_BITS - 1 downto 0);
            else
              saturated <= '1';
            end if;
          end if;
          if record_ready = '1' and record_full = '1' then
            saturated <= '1';
          end if;
        end if;
      end if;
    end if;
  end process;

  -- Start and stop in the same clock while no count ran are zero clocks apart.
  process (clk)
  begin
    if rising_edge(clk) then
      record_value <= count;
      record_full  <= longer(COUNT_BITS);
      if running = '0' then
        record_value <= (others => '0');
        record_full  <= '0';
      end if;
    end if;
  end process;

  -- The records, in block RAM. Edges never follow each other in consecutive clocks, so neither do writes: the clock after a
  -- write reads, and what a simultaneous read returns does not matter.
  process (clk)
  begin
    if rising_edge(clk) then
      if store = '1' then
        memory(to_integer(write_at)) <= record_value;
      end if;
      -- No `else`: with it, GHDL's synthesis (2.0) takes the condition of the write for the read.
      if store = '0' then
        oldest <= memory(to_integer(reads_at));
      end if;
    end if;
  end process;

  reads_at <= read_at + unsigned'("" & take);

  process (clk)
  begin
    if rising_edge(clk) then
      moved <= record_ready or read_next;
      if rst = '1' or clear = '1' then
        write_at <= (others => '0');
        read_at  <= (others => '0');
        waiting  <= (others => '0');
        level    <= (others => '0');
        overflow <= '0';
      elsif record_ready = '1' or read_next = '1' or moved = '1' then
        -- One clock after the memory is written, together with the data.
        level <= std_logic_vector(waiting);
        if store = '1' then
          write_at <= write_at + 1;
        end if;
        read_at <= reads_at;
        if store = '1' and take = '0' then
          waiting <= waiting + 1;
        elsif store = '0' and take = '1' then
          waiting <= waiting - 1;
        end if;
        if record_ready = '1' and store = '0' then
          overflow <= '1';
        end if;
      end if;
    end if;
  end process;
end architecture;
