-- The receiving half of a MAC: frames from GMII onto a byte stream without preamble and FCS, and what is wrong with them.
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
    -- The longest frame, FCS included, taken as a frame begins; what goes on after it is cut off and marked m_oversize. 0
    -- counts as 1.
    max_frame   : in  std_logic_vector(13 downto 0);
    gmii_rxd    : in  std_logic_vector(7 downto 0);
    gmii_rx_dv  : in  std_logic;
    gmii_rx_er  : in  std_logic;
    -- At m_tlast, m_tuser says that the frame is bad, and the four beside it why.
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
    -- One clock each: a carrier without an SFD; one that ended within five bytes of it, too short to give a byte; a
    -- frame whose preamble held anything but 0x55.
    no_sfd      : out std_logic;
    too_short   : out std_logic;
    bad_preamble : out std_logic
  );
end entity;

architecture rtl of mac_rx is
  type state_t is (wait_end, hunt, data);
  type delay_t is array (0 to FCS_BYTES) of std_logic_vector(7 downto 0);

  signal state : state_t;
  -- The latest bytes, 0 the newest: FCS_BYTES of them are the FCS where the carrier ends.
  signal latest : delay_t;
  -- Bytes behind the SFD so far, with the next one.
  signal count     : unsigned(13 downto 0);
  signal begins    : std_logic;
  signal limit     : unsigned(13 downto 0);
  signal filled    : std_logic;
  signal at_limit  : std_logic;
  signal long_enough : std_logic;
  signal crc       : std_logic_vector(31 downto 0);
  signal any_error : std_logic;
  -- In front of the SFD: whether there was a carrier, a byte that is no preamble, and whether the last one was.
  signal carrier    : std_logic;
  signal damaged    : std_logic;
  signal sfd_may_come : std_logic;
  -- A byte of a frame.
  signal goes_on    : std_logic;
begin
  goes_on <= ce and gmii_rx_dv and not at_limit when state = data else '0';

  -- What a frame begins with is set outside of frames, whatever the line does: so it is the reset of these registers.
  content : process (clk)
  begin
    if rising_edge(clk) then
      if goes_on = '1' then
        crc       <= crc32_byte(crc, gmii_rxd);
        any_error <= any_error or gmii_rx_er;
        count     <= count + 1;
        begins    <= '0';
        -- The first time alone tells, so that the low bits of the count do.
        if count(2 downto 0) = FCS_BYTES + 1 then
          filled <= '1';
        end if;
        if count(5 downto 0) = (MIN_FRAME_BYTES + FCS_BYTES) mod 64 then
          long_enough <= '1';
        end if;
        -- The first byte is at a limit of 0 as well as of 1.
        if count(13 downto 1) = limit(13 downto 1) and (count(0) = limit(0) or begins = '1') then
          at_limit <= '1';
        end if;
      end if;
      if state /= data then
        crc         <= CRC_START;
        any_error   <= '0';
        count       <= to_unsigned(1, 14);
        begins      <= '1';
        filled      <= '0';
        long_enough <= '0';
        at_limit    <= '0';
        -- For the whole frame: one that is lowered within it could be passed already.
        limit       <= unsigned(max_frame);
      end if;
    end if;
  end process;

  process (clk)
    variable good_byte : boolean;
    variable wrong_fcs : std_logic;
  begin
    if rising_edge(clk) then
      m_tvalid     <= '0';
      m_tlast      <= '0';
      m_tuser      <= '0';
      m_bad_fcs    <= '0';
      m_rx_error   <= '0';
      m_runt       <= '0';
      m_oversize   <= '0';
      tap_tvalid   <= '0';
      tap_start    <= '0';
      tap_end      <= '0';
      no_sfd       <= '0';
      too_short    <= '0';
      bad_preamble <= '0';
      if rst = '1' then
        -- Within a frame: the rest of it must not be taken for a new one.
        state        <= wait_end;
        latest       <= (others => x"00");
        m_tdata      <= x"00";
        tap_tdata    <= x"00";
        carrier      <= '0';
        damaged      <= '0';
        sfd_may_come <= '1';
      elsif ce = '1' then
        good_byte := gmii_rx_dv = '1' and gmii_rx_er = '0';
        case state is
          when hunt =>
            if good_byte and gmii_rxd = START_DELIMITER and sfd_may_come = '1' then
              state        <= data;
              bad_preamble <= damaged;
            elsif gmii_rx_dv = '1' then
              carrier      <= '1';
              sfd_may_come <= '0';
              if good_byte and gmii_rxd = PREAMBLE then
                sfd_may_come <= '1';
              else
                damaged <= '1';
              end if;
            else
              -- The SFD may be the first byte: a PHY may take some of the preamble, or all of it.
              no_sfd       <= carrier;
              carrier      <= '0';
              damaged      <= '0';
              sfd_may_come <= '1';
            end if;

          when data =>
            carrier      <= '0';
            damaged      <= '0';
            sfd_may_come <= '1';
            wrong_fcs    := '0';
            if crc /= CRC_RESIDUE then
              wrong_fcs := '1';
            end if;
            m_tdata <= latest(FCS_BYTES);
            if gmii_rx_dv = '0' or at_limit = '1' then
              state     <= hunt;
              tap_end   <= '1';
              too_short <= not filled;
              m_tvalid  <= filled;
              m_tlast   <= filled;
              if gmii_rx_dv = '1' then
                state      <= wait_end;
                m_tuser    <= filled;
                m_oversize <= filled;
              else
                m_tuser    <= filled and (wrong_fcs or any_error or not long_enough);
                m_bad_fcs  <= filled and wrong_fcs;
                m_runt     <= filled and not long_enough;
              end if;
              m_rx_error <= filled and any_error;
            else
              latest     <= gmii_rxd & latest(0 to FCS_BYTES - 1);
              m_tvalid   <= filled;
              tap_tdata  <= gmii_rxd;
              tap_tvalid <= '1';
              tap_start  <= begins;
            end if;

          when others =>
            carrier      <= '0';
            damaged      <= '0';
            sfd_may_come <= '1';
            if gmii_rx_dv = '0' then
              state <= hunt;
            end if;
        end case;
      end if;
    end if;
  end process;
end architecture;
