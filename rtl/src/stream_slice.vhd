-- The output of a generator, two bytes deep, so that no path leads from m_tready back into the block. It also keeps the gap:
-- after each frame m_tvalid stays low for exactly `gap_cycles` clocks; at 0 the next frame follows at once.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity stream_slice is
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    gap_cycles : in  std_logic_vector(23 downto 0);
    s_tdata    : in  std_logic_vector(7 downto 0);
    s_tvalid   : in  std_logic;
    s_tready   : out std_logic;
    s_tlast    : in  std_logic;
    s_tuser    : in  std_logic;
    m_tdata    : out std_logic_vector(7 downto 0);
    m_tvalid   : out std_logic;
    m_tready   : in  std_logic;
    m_tlast    : out std_logic;
    m_tuser    : out std_logic
  );
end entity;

architecture rtl of stream_slice is
  -- A byte with its two marks: user, last, data.
  subtype beat_t is std_logic_vector(9 downto 0);
  signal front, spare             : beat_t;
  signal front_valid, spare_valid : std_logic;
  -- The current gap, and the number of its current clock, from 2 on.
  signal gap                      : std_logic_vector(23 downto 0);
  signal gap_at                   : unsigned(23 downto 0);
  signal waiting, gap_waits       : std_logic;
  signal arrives, leaves, frees   : std_logic;
  signal s_beat                   : beat_t;
  signal gap_wanted               : std_logic;
begin
  s_tready <= not spare_valid;
  m_tdata <= front(7 downto 0);
  m_tlast <= front(8);
  m_tuser <= front(9);
  m_tvalid <= front_valid;

  s_beat <= s_tuser & s_tlast & s_tdata;
  arrives <= s_tvalid and not spare_valid;
  leaves <= front_valid and m_tready;
  -- With a gap, the last byte of a frame leaves the front empty.
  frees <= (not front_valid and not waiting) or (leaves and not (front(8) and gap_wanted));

  process (clk)
    variable over_one : std_logic;
  begin
    if rising_edge(clk) then
      over_one := or gap_cycles(23 downto 1);
      gap_wanted <= over_one or gap_cycles(0);
      gap_waits <= over_one;
      if frees = '1' then
        front_valid <= spare_valid or arrives;
        if spare_valid = '1' then
          front <= spare;
        else
          front <= s_beat;
        end if;
        spare_valid <= '0';
      else
        if leaves = '1' then
          front_valid <= '0';
        end if;
        if arrives = '1' then
          spare <= s_beat;
          spare_valid <= '1';
        end if;
      end if;
      if waiting = '0' then
        gap <= gap_cycles;
      end if;
      gap_at <= gap_at + 1;
      -- Does not depend on m_tready: what takes the last byte may be far away, and its answer late.
      if front_valid = '1' then
        gap_at <= to_unsigned(2, 24);
        waiting <= gap_waits and front(8);
      elsif gap_at = unsigned(gap) then
        waiting <= '0';
      end if;
      if rst = '1' then
        front <= (others => '0');
        spare <= (others => '0');
        front_valid <= '0';
        spare_valid <= '0';
        waiting <= '0';
      end if;
    end if;
  end process;
end architecture;
