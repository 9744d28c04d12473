-- A MAC's frame store that the CPU reads and writes word by word: two slots in each direction, as in Xilinx' Ethernet Lite.
--
-- It interrupts when a slot holds a whole good frame; the slot's status word has the length and the packet identifier's result.
-- Addresses are those of rtl/registers/reference_node.rdl. docs/blocks/slot_mac.md has the ports.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity slot_mac is
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
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
    irq           : out std_logic;
    -- Registers and slots: s_access for one clock; s_rdata holds the word from the next clock on.
    s_access      : in  std_logic;
    s_write       : in  std_logic;
    s_address     : in  std_logic_vector(13 downto 0);
    s_wdata       : in  std_logic_vector(31 downto 0);
    s_bytes       : in  std_logic_vector(3 downto 0);
    s_rdata       : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of slot_mac is
  -- Pages of 4 KiB: registers, slots of received frames, slots of frames to send.
  constant REGISTER_PAGE : natural := 0;
  constant RX_PAGE       : natural := 1;
  constant TX_PAGE       : natural := 2;

  signal page        : natural range 0 to 15;
  signal place       : natural range 0 to 1023;
  signal enable, irq_enable, any_address, clear : std_logic;
  signal full, wanted, give_back, busy, go : std_logic_vector(1 downto 0);
  signal rules       : std_logic_vector(7 downto 0);
  signal rx_lengths, tx_lengths : std_logic_vector(21 downto 0);
  signal read_enable : std_logic;
  signal slot_word, register_word : std_logic_vector(31 downto 0);
  signal from_slot   : std_logic;
  signal write_bytes : std_logic_vector(3 downto 0);
  signal write_address : std_logic_vector(11 downto 0);
  signal refused, was_refused : std_logic;
  signal is_written  : std_logic;
  signal store_word  : std_logic_vector(31 downto 0);

  -- The status word of a slot.
  function status(index : natural; is_full, is_wanted : std_logic_vector(1 downto 0);
                  hits : std_logic_vector(7 downto 0); bytes : std_logic_vector(21 downto 0)) return std_logic_vector is
    variable word : std_logic_vector(31 downto 0);
  begin
    word := (others => '0');
    word(SLOT_MAC_RX_STATUS0_FULL) := is_full(index);
    if is_full(index) = '1' then
      word(SLOT_MAC_RX_STATUS0_WANTED) := is_wanted(index);
      word(SLOT_MAC_RX_STATUS0_RULES)  := hits(4 * index + 3 downto 4 * index);
      word(SLOT_MAC_RX_STATUS0_LENGTH) := bytes(11 * index + 10 downto 11 * index);
    end if;
    return word;
  end function;

  -- The length of a written word. One that is too large for the field becomes its maximum, which no frame has.
  function kept_length(word : std_logic_vector(31 downto 0)) return std_logic_vector is
  begin
    if (or word(31 downto 11)) = '1' then
      return 11x"7FF";
    end if;
    return word(10 downto 0);
  end function;
begin
  page    <= to_integer(unsigned(s_address(13 downto 10)));
  place   <= to_integer(unsigned(s_address(9 downto 0)));
  s_rdata <= slot_word when from_slot = '1' else register_word;

  read_enable   <= s_access and not s_write when page = RX_PAGE else '0';
  write_bytes   <= s_bytes when s_access = '1' and s_write = '1' and page = TX_PAGE else "0000";
  write_address <= s_address(9 downto 0) & "00";
  is_written    <= s_access and s_write when page = REGISTER_PAGE else '0';

  store : entity work.mac_store
    port map (
      clk => clk, rst => rst, enable => enable, any_address => any_address, clear => clear,
      s_tdata => s_tdata, s_tvalid => s_tvalid, s_tlast => s_tlast, s_tuser => s_tuser, s_bad_fcs => s_bad_fcs,
      s_rx_error => s_rx_error, s_runt => s_runt, s_oversize => s_oversize, no_sfd => no_sfd, too_short => too_short,
      bad_preamble => bad_preamble, result_valid => result_valid, result_wanted => result_wanted,
      result_rules => result_rules, m_tdata => m_tdata, m_tvalid => m_tvalid, m_tready => m_tready, m_tlast => m_tlast,
      sent => sent, underrun => underrun, full => full, wanted => wanted, rules => rules, rx_lengths => rx_lengths,
      give_back => give_back, read_enable => read_enable, read_address => s_address(9 downto 0), read_data => slot_word,
      overrun => open, dropped => '0', write_address => write_address, write_data => s_wdata, write_bytes => write_bytes,
      go => go, tx_lengths => tx_lengths, busy => busy, refused => refused,
      had_no_buffer => '0', had_refused => was_refused, had_fault => '0',
      s_write => is_written, s_address => s_address, s_wdata => s_wdata, s_rdata => store_word
    );

  process (clk)
  begin
    if rising_edge(clk) then
      clear     <= '0';
      give_back <= "00";
      go        <= "00";
      irq       <= irq_enable and (full(0) or full(1));
      if refused = '1' then
        was_refused <= '1';
      end if;

      if is_written = '1' then
        case place is
          when SLOT_MAC_CONTROL / 4 =>
            enable      <= s_wdata(SLOT_MAC_CONTROL_ENABLE);
            irq_enable  <= s_wdata(SLOT_MAC_CONTROL_IRQ_ENABLE);
            any_address <= s_wdata(SLOT_MAC_CONTROL_ANY_ADDRESS);
            clear       <= s_wdata(SLOT_MAC_CONTROL_CLEAR);
            if s_wdata(SLOT_MAC_CONTROL_CLEAR) = '1' then
              was_refused <= '0';
            end if;
          when SLOT_MAC_RX_DONE / 4    => give_back <= s_wdata(1 downto 0);
          when SLOT_MAC_TX_LENGTH0 / 4 => tx_lengths(10 downto 0) <= kept_length(s_wdata);
          when SLOT_MAC_TX_LENGTH1 / 4 => tx_lengths(21 downto 11) <= kept_length(s_wdata);
          when SLOT_MAC_TX_GO / 4      => go <= s_wdata(1 downto 0);
          when others => null;
        end case;
      end if;

      if s_access = '1' and s_write = '0' then
        from_slot     <= '0';
        register_word <= (others => '0');
        if page = RX_PAGE then
          from_slot <= '1';
        elsif page = REGISTER_PAGE then
          case place is
            when SLOT_MAC_CONTROL / 4 =>
              register_word(SLOT_MAC_CONTROL_ENABLE)      <= enable;
              register_word(SLOT_MAC_CONTROL_IRQ_ENABLE)  <= irq_enable;
              register_word(SLOT_MAC_CONTROL_ANY_ADDRESS) <= any_address;
            when SLOT_MAC_RX_STATUS0 / 4 => register_word <= status(0, full, wanted, rules, rx_lengths);
            when SLOT_MAC_RX_STATUS1 / 4 => register_word <= status(1, full, wanted, rules, rx_lengths);
            when SLOT_MAC_TX_STATUS / 4 =>
              register_word(SLOT_MAC_TX_STATUS_BUSY)    <= busy or go;
              register_word(SLOT_MAC_TX_STATUS_REFUSED) <= was_refused;
            when SLOT_MAC_TX_LENGTH0 / 4 => register_word(10 downto 0) <= tx_lengths(10 downto 0);
            when SLOT_MAC_TX_LENGTH1 / 4 => register_word(10 downto 0) <= tx_lengths(21 downto 11);
            when others => register_word <= store_word;
          end case;
        end if;
      end if;

      if rst = '1' then
        clear         <= '0';
        give_back     <= "00";
        go            <= "00";
        irq           <= '0';
        was_refused   <= '0';
        enable        <= '0';
        irq_enable    <= '0';
        any_address   <= '0';
        tx_lengths    <= (others => '0');
        from_slot     <= '0';
        register_word <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
