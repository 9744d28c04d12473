-- The transmitting half of a MAC: frames from a byte stream onto GMII, with preamble, padding, FCS and gap.
--
-- The stream carries destination address to last payload byte. Each clock with `ce` is one byte on the line: `ce` stays
-- at 1 for 1 Gbit/s, and mii_tx makes it for 10 and 100 Mbit/s. docs/blocks/mac_tx.md has the ports and times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.ethernet_pkg.all;

entity mac_tx is
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    ce         : in  std_logic;
    -- Bytes between the FCS and the next preamble, sampled when a gap begins; 12 by IEEE 802.3, 0 counts as 1.
    gap        : in  std_logic_vector(7 downto 0);
    -- With s_tlast, s_tuser asks for a wrong FCS.
    s_tdata    : in  std_logic_vector(7 downto 0);
    s_tvalid   : in  std_logic;
    s_tready   : out std_logic;
    s_tlast    : in  std_logic;
    s_tuser    : in  std_logic;
    gmii_txd   : out std_logic_vector(7 downto 0);
    gmii_tx_en : out std_logic;
    gmii_tx_er : out std_logic;
    -- One clock each: a frame has left with its FCS; a frame was broken off because its next byte was not there.
    sent       : out std_logic;
    underrun   : out std_logic
  );
end entity;

architecture rtl of mac_tx is
  type state_t is (gap_time, idle, lead_in, data, padding, fcs, drain);

  signal state : state_t;
  -- Counts preamble bytes, frame bytes up to the minimum, or FCS bytes, depending on the state.
  signal place     : natural range 0 to MIN_FRAME_BYTES;
  -- The number of the gap's next byte, the length of the gap, and whether this byte is its last.
  signal gap_at    : unsigned(7 downto 0);
  signal gap_wanted : unsigned(7 downto 0);
  signal gap_over  : std_logic;
  signal crc       : std_logic_vector(31 downto 0);
  signal wrong_fcs : std_logic;
  -- The next byte for the line, which also updates the CRC. In state fcs it is the low byte of the CRC, so the CRC only shifts.
  signal octet     : std_logic_vector(7 downto 0);
begin
  octet <= s_tdata when state = data else
           crc(7 downto 0) when state = fcs else
           x"00";

  -- Each register is set to its first value outside of its gap or frame: a synchronous reset costs no logic.
  count : process (clk)
  begin
    if rising_edge(clk) then
      if ce = '1' then
        gap_at <= gap_at + 1;
        gap_over <= to_std_logic(gap_at = gap_wanted);
      end if;
      if rst = '1' or state /= gap_time then
        gap_at <= to_unsigned(2, 8);
        gap_over <= not (or gap(7 downto 1));
        -- Sampled for the whole gap: a gap shortened while it runs could already be over.
        gap_wanted <= unsigned(gap);
      end if;
      if ce = '1' then
        crc <= crc32_byte(crc, octet);
      end if;
      if state = lead_in then
        crc <= CRC_START;
      end if;
    end if;
  end process;

  s_tready <= (ce and not rst) when state = data else
              not rst when state = drain else
              '0';

  process (clk)
  begin
    if rising_edge(clk) then
      sent     <= '0';
      underrun <= '0';
      if rst = '1' then
        state      <= gap_time;
        place      <= 0;
        wrong_fcs  <= '0';
        gmii_txd   <= (others => '0');
        gmii_tx_en <= '0';
        gmii_tx_er <= '0';
      else
        if ce = '1' then
          gmii_tx_en <= '0';
          gmii_tx_er <= '0';
          gmii_txd   <= (others => '0');
          case state is
            when gap_time =>
              if gap_over = '1' then
                state <= idle;
              end if;

            when idle =>
              place <= 1;
              if s_tvalid = '1' then
                gmii_txd   <= PREAMBLE;
                gmii_tx_en <= '1';
                state      <= lead_in;
              end if;

            when lead_in =>
              gmii_tx_en <= '1';
              if place = PREAMBLE_BYTES then
                gmii_txd <= START_DELIMITER;
                place    <= 0;
                state    <= data;
              else
                gmii_txd <= PREAMBLE;
                place    <= place + 1;
              end if;

            when data | padding =>
              gmii_tx_en <= '1';
              gmii_txd   <= octet;
              if place < MIN_FRAME_BYTES - 1 then
                place <= place + 1;
              end if;
              if state = data then
                wrong_fcs <= s_tuser;
              end if;
              if state = data and s_tvalid = '0' then
                -- The byte on the line is marked as an error, and no FCS follows.
                gmii_tx_er <= '1';
                underrun   <= '1';
                state      <= drain;
              elsif state = padding or s_tlast = '1' then
                state <= padding;
                if place >= MIN_FRAME_BYTES - 1 then
                  place <= 0;
                  state <= fcs;
                end if;
              end if;

            when fcs =>
              gmii_tx_en <= '1';
              -- A wrong FCS is the inverted right one.
              gmii_txd <= octet xor (7 downto 0 => not wrong_fcs);
              if place = FCS_BYTES - 1 then
                sent <= '1';
                state <= gap_time;
              else
                place <= place + 1;
              end if;

            when others => null;
          end case;
        end if;
        -- The rest of a frame that was broken off is taken at once and discarded.
        if state = drain and s_tvalid = '1' and s_tlast = '1' then
          state <= gap_time;
        end if;
      end if;
    end if;
  end process;
end architecture;
