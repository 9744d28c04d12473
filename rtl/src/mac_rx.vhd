-- The receiving half of a MAC: frames from GMII onto a byte stream without preamble and FCS, with their errors.
--
-- Each clock with `ce` is one byte on the line, as in mac_tx. A line does not wait, so neither does the stream: there is
-- no tready. The tap gives the bytes five earlier, FCS included, to the packet identifier. Ports and times:
-- docs/blocks/mac_rx.md.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.ethernet_pkg.all;

entity mac_rx is
  port (
    clk         : in  std_logic;
    rst         : in  std_logic;
    ce          : in  std_logic;
    -- The longest frame, FCS included, sampled when a frame begins; a longer one is cut there and marked m_oversize. 0 counts
    -- as 1.
    max_frame   : in  std_logic_vector(13 downto 0);
    gmii_rxd    : in  std_logic_vector(7 downto 0);
    gmii_rx_dv  : in  std_logic;
    gmii_rx_er  : in  std_logic;
    -- At m_tlast, m_tuser marks a bad frame, and the four signals after it show why.
    m_tdata     : out std_logic_vector(7 downto 0);
    m_tvalid    : out std_logic;
    m_tlast     : out std_logic;
    m_tuser     : out std_logic;
    m_bad_fcs   : out std_logic;
    m_rx_error  : out std_logic;
    m_runt      : out std_logic;
    m_oversize  : out std_logic;
    tap_tdata   : out std_logic_vector(7 downto 0);
    tap_tvalid  : out std_logic;
    tap_start   : out std_logic;
    tap_end     : out std_logic;
    -- One clock each: a carrier without an SFD; a carrier with fewer than five bytes after its SFD, too short to give a byte; a
    -- frame whose preamble had an error or a byte other than 0x55.
    no_sfd      : out std_logic;
    too_short   : out std_logic;
    bad_preamble : out std_logic
  );
end entity;

architecture rtl of mac_rx is
  type delay_t is array (0 to FCS_BYTES) of std_logic_vector(7 downto 0);

  -- The state of the line: before an SFD, in a frame, or (neither) in the rest of a frame until its carrier ends. One flip-flop
  -- each, since all outputs derive directly from them.
  signal in_hunt, in_data : std_logic;
  -- The latest bytes, 0 the newest. When the carrier ends, the newest FCS_BYTES of them are the FCS.
  signal latest : delay_t;
  -- The number of the byte after the next one; whether the next one is the last within the limit.
  signal count     : unsigned(13 downto 0);
  signal is_last   : std_logic;
  signal begins    : std_logic;
  signal limit     : unsigned(13 downto 0);
  signal filled    : std_logic;
  signal at_limit  : std_logic;
  signal long_enough : std_logic;
  signal crc       : std_logic_vector(31 downto 0);
  signal any_error : std_logic;
  -- Before the SFD: there was a carrier; a byte was not preamble; the last byte, if any, was preamble.
  signal carrier    : std_logic;
  signal damaged    : std_logic;
  signal sfd_may_come : std_logic;
  -- A byte of a frame, and the clock after the last one.
  signal goes_on, is_over : std_logic;
begin
  goes_on <= ce and in_data and gmii_rx_dv and not at_limit;
  is_over <= ce and in_data and (at_limit or not gmii_rx_dv);

  -- Outside of frames these registers are set to their first values, whatever the line does: a synchronous reset.
  content : process (clk)
  begin
    if rising_edge(clk) then
      if goes_on = '1' then
        crc       <= crc32_byte(crc, gmii_rxd);
        any_error <= any_error or gmii_rx_er;
        count     <= count + 1;
        begins    <= '0';
        -- The flags stay set, so the low bits of the count suffice.
        if count(2 downto 0) = FCS_BYTES + 2 then
          filled <= '1';
        end if;
        if count(5 downto 0) = (MIN_FRAME_BYTES + FCS_BYTES + 1) mod 64 then
          long_enough <= '1';
        end if;
        is_last   <= to_std_logic(count = limit);
        at_limit  <= is_last;
      end if;
      if in_data = '0' then
        crc         <= CRC_START;
        any_error   <= '0';
        count       <= to_unsigned(2, 14);
        begins      <= '1';
        filled      <= '0';
        long_enough <= '0';
        at_limit    <= '0';
        -- The first byte is the last one for a limit of 0 or 1.
        is_last     <= to_std_logic(max_frame(13 downto 1) = (12 downto 0 => '0'));
        -- Sampled for the whole frame: a limit lowered within it could already be passed.
        limit       <= unsigned(max_frame);
      end if;
    end if;
  end process;

  hunting : process (clk)
    variable is_sfd, is_preamble : std_logic;
  begin
    if rising_edge(clk) then
      is_sfd := sfd_may_come and not gmii_rx_er and to_std_logic(gmii_rxd = START_DELIMITER);
      is_preamble := not gmii_rx_er and to_std_logic(gmii_rxd = PREAMBLE);
      no_sfd       <= '0';
      bad_preamble <= '0';
      if rst = '1' then
        -- As if within a frame: the rest of one must not be taken for a new frame.
        in_hunt      <= '0';
        in_data      <= '0';
        carrier      <= '0';
        damaged      <= '0';
        sfd_may_come <= '1';
      elsif ce = '1' and in_hunt = '1' and gmii_rx_dv = '1' and is_sfd = '0' then
        carrier      <= '1';
        sfd_may_come <= is_preamble;
        damaged      <= damaged or not is_preamble;
      elsif ce = '1' then
        -- The SFD may be the first byte: a PHY may take some of the preamble, or all of it.
        carrier      <= '0';
        damaged      <= '0';
        sfd_may_come <= '1';
        if gmii_rx_dv = '0' then
          no_sfd  <= in_hunt and carrier;
          in_hunt <= '1';
          in_data <= '0';
        elsif in_hunt = '1' then
          bad_preamble <= damaged;
          in_hunt      <= '0';
          in_data      <= '1';
        elsif at_limit = '1' then
          in_data <= '0';
        end if;
      end if;
    end if;
  end process;

  outputs : process (clk)
    variable wrong_fcs, ends : std_logic;
  begin
    if rising_edge(clk) then
      wrong_fcs := to_std_logic(crc /= CRC_RESIDUE);
      ends := is_over and filled and not gmii_rx_dv;
      m_tvalid   <= ce and in_data and filled;
      m_tlast    <= is_over and filled;
      m_tuser    <= is_over and filled and (gmii_rx_dv or wrong_fcs or any_error or not long_enough);
      m_bad_fcs  <= ends and wrong_fcs;
      m_rx_error <= is_over and filled and any_error;
      m_runt     <= ends and not long_enough;
      m_oversize <= is_over and filled and gmii_rx_dv;
      too_short  <= is_over and not filled;
      tap_tvalid <= goes_on;
      tap_start  <= goes_on and begins;
      tap_end    <= is_over;
      if ce = '1' and in_data = '1' then
        m_tdata <= latest(FCS_BYTES);
      end if;
      if goes_on = '1' then
        latest    <= gmii_rxd & latest(0 to FCS_BYTES - 1);
        tap_tdata <= gmii_rxd;
      end if;
      if rst = '1' then
        m_tvalid   <= '0';
        m_tlast    <= '0';
        m_tuser    <= '0';
        m_bad_fcs  <= '0';
        m_rx_error <= '0';
        m_runt     <= '0';
        m_oversize <= '0';
        m_tdata    <= x"00";
        too_short  <= '0';
        tap_tvalid <= '0';
        tap_start  <= '0';
        tap_end    <= '0';
        tap_tdata  <= x"00";
        latest     <= (others => x"00");
      end if;
    end if;
  end process;
end architecture;
