-- An elastic buffer: carriers from the PHY's recovered receive clock to the clock of a design, both of 125 MHz, within 100 ppm.
--
-- The silence between frames compensates the difference of the clocks: the block shortens or lengthens only silence. It drops
-- the signals of a PHY between frames (rx_er without rx_dv). A carrier passes whole, or is cut and marked by rx_er.
-- docs/blocks/gmii_elastic.md has ports and times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.gray_pkg.all;

entity gmii_elastic is
  port (
    -- The design's side.
    clk         : in  std_logic;
    rst         : in  std_logic;
    -- One clock: sets both flags to 0.
    clear       : in  std_logic;
    -- The PHY's side; its reset is synchronous to its clock.
    gmii_rx_clk : in  std_logic;
    gmii_rx_rst : in  std_logic;
    gmii_rxd    : in  std_logic_vector(7 downto 0);
    gmii_rx_dv  : in  std_logic;
    gmii_rx_er  : in  std_logic;
    -- To mac_rx, in `clk`.
    m_rxd       : out std_logic_vector(7 downto 0);
    m_rx_dv     : out std_logic;
    m_rx_er     : out std_logic;
    -- Sticky, in `clk`: a carrier was cut, because the clocks differ by more than allowed, or one of them stopped.
    overflow    : out std_logic;
    underrun    : out std_logic
  );
end entity;

architecture rtl of gmii_elastic is
  constant ADDRESS_BITS : natural := 5;
  -- A pointer has one bit more than an address, so that a full or overfull buffer does not look empty.
  constant POINTER_BITS : natural := ADDRESS_BITS + 1;
  -- Output of a carrier starts when START of its words are in the memory, or after PATIENCE clocks for a shorter carrier.
  constant START        : natural := 6;
  constant PATIENCE     : natural := 12;
  -- With more words than this, some are about to be overwritten: the writer is up to five words ahead of its known pointer.
  constant MOST         : natural := 24;
  -- Clocks after a reset of the PHY's side: the design's side sees the reset before the pointer is cleared, and the cleared
  -- pointer before writing resumes.
  constant POINTER_AT   : natural := 4;
  constant MARK_AT      : natural := 8;
  constant UP_AT        : natural := 15;

  subtype pointer_t is unsigned(POINTER_BITS - 1 downto 0);
  type memory_t is array (0 to 2**ADDRESS_BITS - 1) of std_logic_vector(9 downto 0);
  type state_t is (down, skip, idle, carrier);

  -- A word has a valid bit, an error bit and data. A word without the valid bit follows each carrier.
  signal memory                  : memory_t;

  -- In gmii_rx_clk: the inputs of the last clock, and whether the last written word is a byte of a carrier.
  signal valid, error_mark       : std_logic;
  signal data                    : std_logic_vector(7 downto 0);
  signal open_carrier            : std_logic;
  -- The rest of a carrier that began before the reset is dropped.
  signal ignored                 : std_logic;
  signal settled                 : natural range 0 to UP_AT;
  signal store, up               : std_logic;
  signal write_at, gray          : pointer_t;

  -- In clk: the synchronized copies of the above, at least one clock after the word was written.
  signal gray_first, gray_second : pointer_t;
  signal up_first, up_second     : std_logic;
  signal newest, seen            : pointer_t;
  -- The address of the next word, and that word, if it was written.
  signal read_at, read_after     : pointer_t;
  signal next_read               : pointer_t;
  signal word                    : std_logic_vector(9 downto 0);
  signal there                   : std_logic;
  -- From the last clock: so many words are stored that some are about to be lost.
  signal filled                  : pointer_t;
  signal too_full, take          : std_logic;
  signal state                   : state_t;
  signal waited                  : natural range 0 to PATIENCE;
begin
  store <= '1' when settled = MARK_AT else up and not ignored and (valid or open_carrier);

  write : process (gmii_rx_clk)
  begin
    if rising_edge(gmii_rx_clk) then
      data       <= gmii_rxd;
      valid      <= gmii_rx_dv;
      error_mark <= gmii_rx_er;
      if store = '1' then
        memory(to_integer(write_at(ADDRESS_BITS - 1 downto 0))) <= (valid and up) & error_mark & data;
        write_at     <= write_at + 1;
        gray         <= gray_of(write_at + 1);
        open_carrier <= valid and up;
      end if;
      if valid = '0' then
        ignored <= '0';
      end if;
      if settled /= UP_AT then
        settled <= settled + 1;
        ignored <= '1';
      else
        up <= '1';
      end if;
      if settled = POINTER_AT then
        write_at <= (others => '0');
        gray     <= (others => '0');
      end if;
      if gmii_rx_rst = '1' then
        settled <= 0;
        up      <= '0';
        ignored <= '1';
      end if;
    end if;
  end process;

  filled <= seen - read_at;
  take   <= there when state = skip or state = carrier else '0';
  newest <= pointer_of(gray_second);

  -- After a loss, reading starts at the newest word. It shows whether a carrier is in progress, whose rest is then dropped.
  next_read <= seen - 1 when state = down or too_full = '1' else
               read_after when take = '1' else
               read_at;

  read : process (clk)
  begin
    if rising_edge(clk) then
      gray_first  <= gray;
      gray_second <= gray_first;
      seen        <= newest;
      up_first    <= up;
      up_second   <= up_first;
      read_at     <= next_read;
      read_after  <= next_read + 1;
      word        <= memory(to_integer(next_read(ADDRESS_BITS - 1 downto 0)));
      there       <= '0';
      if newest /= next_read then
        there <= '1';
      end if;
      too_full <= '0';
      if filled > MOST and state /= down then
        too_full <= '1';
      end if;
      m_rxd       <= (others => '0');
      m_rx_dv     <= '0';
      m_rx_er     <= '0';
      waited      <= 0;
      if clear = '1' then
        overflow <= '0';
        underrun <= '0';
      end if;
      case state is
        when skip =>
          if there = '1' and word(9) = '0' then
            state <= idle;
          end if;

        when idle =>
          if filled >= START or waited = PATIENCE then
            state <= carrier;
          elsif there = '1' then
            waited <= waited + 1;
          end if;

        when carrier =>
          if up_second = '0' or too_full = '1' or there = '0' then
            -- The rest of the carrier is lost.
            m_rx_dv <= '1';
            m_rx_er <= '1';
            state   <= skip;
          elsif word(9) = '1' then
            m_rxd   <= word(7 downto 0);
            m_rx_dv <= '1';
            m_rx_er <= word(8);
          else
            state <= idle;
          end if;
          if up_second = '1' and there = '0' then
            underrun <= '1';
          end if;

        when others =>
          state <= skip;
      end case;
      if too_full = '1' then
        overflow <= '1';
        state    <= skip;
      end if;
      if up_second = '0' then
        state <= down;
      end if;
      if rst = '1' then
        state    <= down;
        m_rx_dv  <= '0';
        m_rx_er  <= '0';
        overflow <= '0';
        underrun <= '0';
      end if;
    end if;
  end process;
end architecture;
