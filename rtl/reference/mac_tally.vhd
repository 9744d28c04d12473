-- The counts of a MAC of the reference node, in the order of the registers, from the events of mac_rx, mac_tx and the frame
-- store; and a word of the events that stay until they are cleared.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity mac_tally is
  generic (
    -- Width of a count; a bench sets less than 32 to see it overflow.
    COUNT_BITS : natural := 32
  );
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    clear     : in  std_logic;
    -- The end of a frame from mac_rx, and its errors.
    ended     : in  std_logic;
    bad_fcs   : in  std_logic;
    rx_error  : in  std_logic;
    runt      : in  std_logic;
    oversize  : in  std_logic;
    -- One clock each. A frame dropped because of an overrun is reported as both.
    received  : in  std_logic;
    overrun   : in  std_logic;
    dropped   : in  std_logic;
    filtered  : in  std_logic;
    sent      : in  std_logic;
    no_sfd    : in  std_logic;
    too_short : in  std_logic;
    bad_preamble : in std_logic;
    underrun  : in  std_logic;
    -- Events that the MAC keeps until they are cleared there.
    no_buffer : in  std_logic;
    refused   : in  std_logic;
    fault     : in  std_logic;
    -- A register of mac_counts, by the place of its word.
    s_address : in  std_logic_vector(3 downto 0);
    s_rdata   : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of mac_tally is
  constant COUNTERS : natural := 12;
  constant BASE     : natural := SLOT_MAC_COUNTS_RECEIVED;
  -- The word of the overflows lies between two counts.
  constant OVERFLOW_WORD : natural := (SLOT_MAC_COUNTS_OVERFLOW - BASE) / 4;
  constant STICKY_WORD   : natural := (SLOT_MAC_COUNTS_STICKY - BASE) / 4;

  signal restart  : std_logic;
  signal events   : std_logic_vector(COUNTERS - 1 downto 0);
  signal counts   : std_logic_vector(32 * COUNTERS - 1 downto 0);
  signal overflow : std_logic_vector(COUNTERS - 1 downto 0);
  -- The events that belong to no frame, and have happened.
  signal happened : std_logic_vector(3 downto 0);
  signal had_overrun : std_logic;
begin
  restart <= rst or clear;

  events((SLOT_MAC_COUNTS_RECEIVED - BASE) / 4)  <= received;
  events((SLOT_MAC_COUNTS_DROPPED - BASE) / 4)   <= dropped;
  events((SLOT_MAC_COUNTS_BAD_FCS - BASE) / 4)   <= ended and bad_fcs;
  events((SLOT_MAC_COUNTS_RX_ERRORS - BASE) / 4) <= ended and rx_error;
  events((SLOT_MAC_COUNTS_RUNTS - BASE) / 4)     <= ended and runt;
  events((SLOT_MAC_COUNTS_OVERSIZES - BASE) / 4) <= ended and oversize;
  events((SLOT_MAC_COUNTS_FILTERED - BASE) / 4)  <= filtered;
  events((SLOT_MAC_COUNTS_SENT - BASE) / 4)      <= sent;
  events(COUNTERS - 1 downto OVERFLOW_WORD)      <= underrun & bad_preamble & too_short & no_sfd;

  adders : entity work.event_counters
    generic map (COUNTERS => COUNTERS, BITS => COUNT_BITS)
    port map (clk => clk, rst => restart, events => events, counts => counts, overflow => overflow);

  process (clk)
  begin
    if rising_edge(clk) then
      happened    <= happened or events(COUNTERS - 1 downto OVERFLOW_WORD);
      had_overrun <= had_overrun or overrun;
      if restart = '1' then
        happened    <= (others => '0');
        had_overrun <= '0';
      end if;
    end if;
  end process;

  process (all)
    variable word : natural range 0 to COUNTERS;
  begin
    s_rdata <= (others => '0');
    for number in 0 to COUNTERS - 1 loop
      word := number;
      if number >= OVERFLOW_WORD then
        word := number + 1;
      end if;
      if unsigned(s_address) = word then
        s_rdata <= counts(32 * number + 31 downto 32 * number);
      end if;
    end loop;
    if unsigned(s_address) = OVERFLOW_WORD then
      s_rdata(COUNTERS - 1 downto 0) <= overflow;
    end if;
    if unsigned(s_address) = STICKY_WORD then
      s_rdata(SLOT_MAC_COUNTS_STICKY_OVERFLOW)     <= or overflow;
      s_rdata(SLOT_MAC_COUNTS_STICKY_NO_SFD)       <= happened(0);
      s_rdata(SLOT_MAC_COUNTS_STICKY_TOO_SHORT)    <= happened(1);
      s_rdata(SLOT_MAC_COUNTS_STICKY_BAD_PREAMBLE) <= happened(2);
      s_rdata(SLOT_MAC_COUNTS_STICKY_UNDERRUN)     <= happened(3);
      s_rdata(SLOT_MAC_COUNTS_STICKY_NO_BUFFER)    <= no_buffer;
      s_rdata(SLOT_MAC_COUNTS_STICKY_REFUSED)      <= refused;
      s_rdata(SLOT_MAC_COUNTS_STICKY_FAULT)        <= fault;
      s_rdata(SLOT_MAC_COUNTS_STICKY_OVERRUN)      <= had_overrun;
    end if;
  end process;
end architecture;
