-- The part that both MACs of the reference node share: the two halves of a frame store, the counts, and the registers with the
-- same address in both, counts and own address.
--
-- slot_mac.vhd lets the CPU read and write the slots, ring_mac.vhd moves them by DMA.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity mac_store is
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
    enable        : in  std_logic;
    any_address   : in  std_logic;
    -- One clock: sets the counts to 0.
    clear         : in  std_logic;
    -- mac_rx and the packet identifier.
    s_tdata       : in  std_logic_vector(7 downto 0);
    s_tvalid      : in  std_logic;
    s_tlast       : in  std_logic;
    s_tuser       : in  std_logic;
    s_bad_fcs     : in  std_logic;
    s_rx_error    : in  std_logic;
    s_runt        : in  std_logic;
    s_oversize    : in  std_logic;
    no_sfd        : in  std_logic;
    too_short     : in  std_logic;
    bad_preamble  : in  std_logic;
    result_valid  : in  std_logic;
    result_wanted : in  std_logic;
    result_rules  : in  std_logic_vector(3 downto 0);
    -- mac_tx.
    m_tdata       : out std_logic_vector(7 downto 0);
    m_tvalid      : out std_logic;
    m_tready      : in  std_logic;
    m_tlast       : out std_logic;
    sent          : in  std_logic;
    underrun      : in  std_logic;
    -- The slots of received frames, as in frame_receiver. overrun, one clock: a frame found none.
    full          : out std_logic_vector(1 downto 0);
    wanted        : out std_logic_vector(1 downto 0);
    rules         : out std_logic_vector(7 downto 0);
    rx_lengths    : out std_logic_vector(21 downto 0);
    give_back     : in  std_logic_vector(1 downto 0);
    read_enable   : in  std_logic;
    read_address  : in  std_logic_vector(9 downto 0);
    read_data     : out std_logic_vector(31 downto 0);
    overrun       : out std_logic;
    -- One clock: a frame in a slot was dropped after all; counted only in a clock without overrun.
    dropped       : in  std_logic;
    -- The slots of frames to send, as in frame_sender.
    write_address : in  std_logic_vector(11 downto 0);
    write_data    : in  std_logic_vector(31 downto 0);
    write_bytes   : in  std_logic_vector(3 downto 0);
    go            : in  std_logic_vector(1 downto 0);
    tx_lengths    : in  std_logic_vector(21 downto 0);
    busy          : out std_logic_vector(1 downto 0);
    refused       : out std_logic;
    -- Events that the MAC keeps until they are cleared.
    had_no_buffer : in  std_logic;
    had_refused   : in  std_logic;
    had_fault     : in  std_logic;
    -- Registers: s_write for one clock; s_rdata is the word at s_address in the same clock, 0 if there is none.
    s_write       : in  std_logic;
    s_address     : in  std_logic_vector(13 downto 0);
    s_wdata       : in  std_logic_vector(31 downto 0);
    s_rdata       : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of mac_store is
  signal place      : natural range 0 to 2**14 - 1;
  signal own        : std_logic_vector(47 downto 0);
  signal ended, received, found_none, dropped_any, filtered : std_logic;
  signal count_at   : std_logic_vector(3 downto 0);
  signal count_word : std_logic_vector(31 downto 0);
begin
  receiver : entity work.frame_receiver
    port map (
      clk => clk, rst => rst, enable => enable, any_address => any_address, own_mac => own,
      s_tdata => s_tdata, s_tvalid => s_tvalid, s_tlast => s_tlast, s_tuser => s_tuser,
      result_valid => result_valid, result_wanted => result_wanted, result_rules => result_rules,
      full => full, wanted => wanted, rules => rules, lengths => rx_lengths, give_back => give_back,
      read_enable => read_enable, read_address => read_address, read_data => read_data,
      received => received, dropped => found_none, filtered => filtered
    );

  sender : entity work.frame_sender
    port map (
      clk => clk, rst => rst, write_address => write_address, write_data => write_data, write_bytes => write_bytes,
      go => go, lengths => tx_lengths, busy => busy, refused => refused,
      m_tdata => m_tdata, m_tvalid => m_tvalid, m_tready => m_tready, m_tlast => m_tlast
    );

  overrun     <= found_none;
  dropped_any <= found_none or dropped;
  ended       <= s_tvalid and s_tlast;
  count_at    <= std_logic_vector(unsigned(s_address(3 downto 0)) - SLOT_MAC_COUNTS_RECEIVED / 4);

  tally : entity work.mac_tally
    port map (
      clk => clk, rst => rst, clear => clear, ended => ended, bad_fcs => s_bad_fcs, rx_error => s_rx_error,
      runt => s_runt, oversize => s_oversize, received => received, overrun => found_none, dropped => dropped_any,
      filtered => filtered, sent => sent, no_sfd => no_sfd, too_short => too_short, bad_preamble => bad_preamble,
      underrun => underrun, no_buffer => had_no_buffer, refused => had_refused, fault => had_fault,
      s_address => count_at, s_rdata => count_word
    );

  place <= to_integer(unsigned(s_address));

  process (clk)
  begin
    if rising_edge(clk) then
      if s_write = '1' and place = SLOT_MAC_OWN / 4 then
        own(SLOT_MAC_OWN_LOW) <= s_wdata;
      end if;
      if s_write = '1' and place = SLOT_MAC_OWN / 4 + 1 then
        own(SLOT_MAC_OWN_HIGH) <= s_wdata(15 downto 0);
      end if;
      if rst = '1' then
        own <= (others => '0');
      end if;
    end if;
  end process;

  process (all)
  begin
    s_rdata <= (others => '0');
    case place is
      when SLOT_MAC_COUNTS_RECEIVED / 4 to SLOT_MAC_COUNTS_STICKY / 4 => s_rdata <= count_word;
      when SLOT_MAC_OWN / 4     => s_rdata <= own(SLOT_MAC_OWN_LOW);
      when SLOT_MAC_OWN / 4 + 1 => s_rdata(15 downto 0) <= own(SLOT_MAC_OWN_HIGH);
      when others => null;
    end case;
  end process;
end architecture;
