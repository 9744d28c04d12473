-- A MAC's frame store that moves frames by DMA: a ring of descriptors in memory for each direction, frames of several buffers.
--
-- A whole frame is stored before it is moved, a word a bus beat: into memory before the interrupt, out of it before the
-- line starts. One engine serves both directions, received frames first. Registers and descriptors are those of
-- rtl/registers/reference_node.rdl. docs/blocks/ring_mac.md has the ports and times.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity ring_mac is
  generic (
    -- Address bits of a word of the memory, which lies at 0 and again at 0xC000_0000.
    RAM_BITS : natural := 10
  );
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
    -- The memory: a request holds until its answer, with which the word of a read comes.
    dma_request   : out std_logic;
    dma_write     : out std_logic;
    dma_address   : out std_logic_vector(RAM_BITS - 1 downto 0);
    dma_wdata     : out std_logic_vector(31 downto 0);
    dma_answer    : in  std_logic;
    dma_rdata     : in  std_logic_vector(31 downto 0);
    -- Registers: s_access for one clock; s_rdata holds the word from the next clock on.
    s_access      : in  std_logic;
    s_write       : in  std_logic;
    s_address     : in  std_logic_vector(13 downto 0);
    s_wdata       : in  std_logic_vector(31 downto 0);
    s_rdata       : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of ring_mac is
  -- idle lies between two frames; the others read and write descriptors and move words.
  type state_t is (idle, rx_look, rx_fetch, rx_move, rx_tell, rx_release, tx_look, tx_place, tx_move, tx_release);
  subtype word_at_t is unsigned(29 downto 0);

  signal state          : state_t;
  signal rx_at, tx_at   : word_at_t;
  -- A ring that does not begin at a multiple of a descriptor's size has no descriptor.
  signal rx_skewed, tx_skewed : std_logic;
  signal rx_ring, tx_ring : std_logic_vector(31 downto 0);
  signal rx_enable, tx_enable, any_address, clear : std_logic;
  signal events, event_enable : std_logic_vector(4 downto 0);
  signal buffer_bytes   : unsigned(11 downto 0);

  -- The bus.
  signal at             : word_at_t;
  signal asks           : std_logic;
  signal strays, astray : std_logic;

  -- The received frame that is moved: its slot, the next word, words left in the frame and in the buffer.
  signal rx_slot        : natural range 0 to 1;
  signal rx_word        : unsigned(8 downto 0);
  signal rx_left        : unsigned(9 downto 0);
  signal rx_room        : unsigned(9 downto 0);
  signal rx_first       : std_logic;
  signal rx_buffer      : std_logic_vector(31 downto 0);
  signal rx_to          : word_at_t;
  signal rx_ends        : std_logic;
  signal fetch          : std_logic;
  signal fetch_at       : std_logic_vector(9 downto 0);
  signal slot_word      : std_logic_vector(31 downto 0);
  signal full, wanted, give_back : std_logic_vector(1 downto 0);
  signal rules          : std_logic_vector(7 downto 0);
  signal rx_lengths     : std_logic_vector(21 downto 0);
  signal rx_length      : unsigned(10 downto 0);

  -- The frame that is fetched for sending: its slot, where its next byte goes, how much of the buffer is left and where.
  signal tx_pending     : std_logic;
  signal tx_slot        : natural range 0 to 1;
  signal tx_to          : unsigned(11 downto 0);
  signal tx_state       : std_logic_vector(31 downto 0);
  signal tx_left        : unsigned(13 downto 0);
  -- No more than seven bytes are left.
  signal tx_few         : std_logic;
  signal tx_from        : unsigned(31 downto 0);
  -- The bytes to the end of the word, and those of them that are the buffer's.
  signal to_word_end, tx_step : unsigned(2 downto 0);
  signal go, busy       : std_logic_vector(1 downto 0);
  signal tx_lengths     : std_logic_vector(21 downto 0);
  signal refused        : std_logic;
  -- The same as ports of piece_placer.
  signal tx_comes       : std_logic;
  signal tx_offset      : std_logic_vector(1 downto 0);
  signal tx_place_at    : std_logic_vector(11 downto 0);
  signal tx_last, word_rest, word_bytes : std_logic_vector(2 downto 0);
  signal write_address  : std_logic_vector(11 downto 0);
  signal write_data     : std_logic_vector(31 downto 0);
  signal write_bytes    : std_logic_vector(3 downto 0);

  -- After a fault, the descriptors of the frames to send are given back one by one.
  signal gives_up       : std_logic;

  signal overrun, no_buffer : std_logic;
  signal is_written     : std_logic;
  signal store_word     : std_logic_vector(31 downto 0);

  -- Whether a word is outside of the memory. Computed for each pointer before the choice among them, which takes long. The
  -- second word of a descriptor is where the first is, since a descriptor lies at a multiple of two words.
  function is_outside(word : word_at_t) return std_logic is
  begin
    if (word(29 downto 26) = x"0" or word(29 downto 26) = x"C") and word(25 downto RAM_BITS) = 0 then
      return '0';
    end if;
    return '1';
  end function;
begin
  store : entity work.mac_store
    port map (
      clk => clk, rst => rst, enable => rx_enable, any_address => any_address, clear => clear,
      s_tdata => s_tdata, s_tvalid => s_tvalid, s_tlast => s_tlast, s_tuser => s_tuser, s_bad_fcs => s_bad_fcs,
      s_rx_error => s_rx_error, s_runt => s_runt, s_oversize => s_oversize, no_sfd => no_sfd, too_short => too_short,
      bad_preamble => bad_preamble, result_valid => result_valid, result_wanted => result_wanted,
      result_rules => result_rules, m_tdata => m_tdata, m_tvalid => m_tvalid, m_tready => m_tready, m_tlast => m_tlast,
      sent => sent, underrun => underrun, full => full, wanted => wanted, rules => rules, rx_lengths => rx_lengths,
      give_back => give_back, read_enable => fetch, read_address => fetch_at, read_data => slot_word,
      overrun => overrun, dropped => no_buffer, write_address => write_address, write_data => write_data,
      write_bytes => write_bytes, go => go, tx_lengths => tx_lengths, busy => busy, refused => refused,
      had_no_buffer => events(RING_MAC_STATUS_NO_BUFFER), had_refused => events(RING_MAC_STATUS_REFUSED),
      had_fault => events(RING_MAC_STATUS_FAULT),
      s_write => is_written, s_address => s_address, s_wdata => s_wdata, s_rdata => store_word
    );

  is_written <= s_access and s_write;

  -- The bus access of each state.
  bus_side : process (all)
  begin
    at        <= rx_at;
    asks      <= '1';
    strays    <= is_outside(rx_at) or rx_skewed;
    dma_write <= '0';
    dma_wdata <= slot_word;
    case state is
      when rx_move =>
        at        <= rx_to;
        strays    <= is_outside(rx_to);
        dma_write <= '1';
      when rx_tell =>
        at(0)     <= '1';
        dma_write <= '1';
        dma_wdata <= (others => '0');
        dma_wdata(RX_DESCRIPTOR_STATE_START)  <= rx_first;
        dma_wdata(RX_DESCRIPTOR_STATE_FINISH) <= rx_ends;
        dma_wdata(RX_DESCRIPTOR_STATE_WANTED) <= wanted(rx_slot);
        dma_wdata(RX_DESCRIPTOR_STATE_RULES)  <= rules(4 * rx_slot + 3 downto 4 * rx_slot);
        if rx_ends = '1' then
          dma_wdata(RX_DESCRIPTOR_STATE_LENGTH) <= std_logic_vector(resize(rx_length, 14));
        end if;
      when rx_release =>
        dma_write <= '1';
        dma_wdata <= rx_buffer;
        dma_wdata(RX_DESCRIPTOR_BUFFER_USED) <= '1';
      when rx_look  => null;
      when tx_look =>
        at     <= tx_at(29 downto 1) & '1';
        strays <= is_outside(tx_at) or tx_skewed;
      when tx_place =>
        at     <= tx_at;
        strays <= is_outside(tx_at) or tx_skewed;
      when tx_move =>
        at     <= tx_from(31 downto 2);
        strays <= is_outside(tx_from(31 downto 2));
      when tx_release =>
        at        <= tx_at(29 downto 1) & '1';
        strays    <= is_outside(tx_at) or tx_skewed;
        dma_write <= '1';
        dma_wdata <= tx_state;
        dma_wdata(TX_DESCRIPTOR_STATE_USED) <= '1';
      when others => asks <= '0';
    end case;
    astray      <= asks and strays;
    dma_request <= asks and not astray;
    dma_address <= std_logic_vector(at(RAM_BITS - 1 downto 0));
  end process;

  -- Fetches the next word of the slot while the current one is written.
  fetch <= '1' when state = rx_fetch or (state = rx_move and dma_answer = '1') else '0';
  fetch_at <= std_logic_vector(to_unsigned(rx_slot, 1) & (rx_word + 1)) when state = rx_move else
              std_logic_vector(to_unsigned(rx_slot, 1) & rx_word);

  rx_length <= unsigned(rx_lengths(11 * rx_slot + 10 downto 11 * rx_slot));
  rx_ends   <= '1' when rx_left = 0 else '0';

  tx_comes    <= dma_answer when state = tx_move and tx_to(11) = '0' else '0';
  tx_place_at <= std_logic_vector(to_unsigned(tx_slot, 1) & tx_to(10 downto 0));
  tx_offset   <= std_logic_vector(tx_from(1 downto 0));
  tx_last     <= std_logic_vector(tx_left(2 downto 0));
  to_word_end <= unsigned(word_rest);
  tx_step     <= unsigned(word_bytes);

  placer : entity work.piece_placer
    port map (
      clk => clk, rst => rst, s_valid => tx_comes, s_data => dma_rdata, offset => tx_offset, few => tx_few, left => tx_last,
      place => tx_place_at, to_word_end => word_rest, step => word_bytes,
      write_address => write_address, write_data => write_data, write_bytes => write_bytes
    );

  engine : process (clk)
    variable is_answered : boolean;

    -- The next descriptor.
    impure function following(now : word_at_t; ring : std_logic_vector(31 downto 0); wrap : std_logic) return word_at_t is
    begin
      if wrap = '1' then
        return unsigned(ring(31 downto 2));
      end if;
      return now + 2;
    end function;
  begin
    if rising_edge(clk) then
      is_answered := dma_answer = '1';
      give_back <= "00";
      go        <= "00";
      clear     <= '0';
      irq       <= or (events and event_enable);
      -- Waits for a clock without overrun, which is counted alone.
      if overrun = '0' then
        no_buffer <= '0';
      end if;
      -- Before all assignments that set a bit: an event of this clock stays.
      if is_written = '1' and unsigned(s_address) = RING_MAC_STATUS / 4 then
        events <= events and not s_wdata(4 downto 0);
      end if;
      if sent = '1' then
        events(RING_MAC_STATUS_SENT) <= '1';
      end if;
      if refused = '1' then
        events(RING_MAC_STATUS_REFUSED) <= '1';
      end if;

      case state is
        when idle =>
          rx_word  <= (others => '0');
          rx_first <= '1';
          rx_left  <= resize((rx_length + 3) / 4, 10);
          tx_to    <= (others => '0');
          if rx_enable = '1' and full(rx_slot) = '1' and give_back = "00" then
            state <= rx_look;
          elsif tx_enable = '1' and tx_pending = '1' and busy(tx_slot) = '0' then
            state <= tx_look;
          end if;

        when rx_look =>
          rx_buffer <= dma_rdata;
          rx_to     <= unsigned(dma_rdata(31 downto 2));
          rx_room   <= buffer_bytes(11 downto 2);
          if is_answered and (dma_rdata(RX_DESCRIPTOR_BUFFER_USED) = '1' or buffer_bytes = 0) then
            events(RING_MAC_STATUS_NO_BUFFER) <= '1';
            no_buffer          <= '1';
            give_back(rx_slot) <= '1';
            rx_slot            <= 1 - rx_slot;
            state              <= idle;
          elsif is_answered then
            state <= rx_fetch;
          end if;

        when rx_fetch => state <= rx_move;

        when rx_move =>
          if is_answered then
            rx_word <= rx_word + 1;
            rx_to   <= rx_to + 1;
            rx_left <= rx_left - 1;
            rx_room <= rx_room - 1;
            if rx_left = 1 or rx_room = 1 then
              state <= rx_tell;
            end if;
          end if;

        when rx_tell =>
          if is_answered then
            state <= rx_release;
          end if;

        when rx_release =>
          if is_answered then
            rx_at    <= following(rx_at, rx_ring, rx_buffer(RX_DESCRIPTOR_BUFFER_WRAP));
            rx_first <= '0';
            state    <= rx_look;
            if rx_ends = '1' then
              events(RING_MAC_STATUS_RECEIVED) <= '1';
              give_back(rx_slot) <= '1';
              rx_slot            <= 1 - rx_slot;
              state              <= idle;
            end if;
          end if;

        when tx_look =>
          tx_state <= dma_rdata;
          tx_left  <= unsigned(dma_rdata(TX_DESCRIPTOR_STATE_LENGTH));
          if is_answered and dma_rdata(TX_DESCRIPTOR_STATE_USED) = '1' then
            tx_pending <= '0';
            gives_up   <= '0';
            state      <= idle;
            -- The rest of a frame is missing.
            if tx_to /= 0 then
              events(RING_MAC_STATUS_REFUSED) <= '1';
            end if;
          elsif is_answered and gives_up = '1' then
            state <= tx_release;
          elsif is_answered then
            state <= tx_place;
          end if;

        when tx_place =>
          tx_from <= unsigned(dma_rdata);
          tx_few  <= nor tx_left(13 downto 3);
          if is_answered and tx_left = 0 then
            state <= tx_release;
          elsif is_answered then
            state <= tx_move;
          end if;

        when tx_move =>
          if is_answered then
            -- After its first word a buffer continues at the beginning of a word. In the last word tx_left may fall below zero,
            -- but nothing reads it then.
            tx_from(31 downto 2) <= tx_from(31 downto 2) + 1;
            tx_from(1 downto 0)  <= "00";
            tx_left <= tx_left - to_word_end;
            if tx_left(13 downto 4) = 0 and tx_left(2 downto 0) < to_word_end then
              tx_few <= '1';
            end if;
            -- A frame longer than a slot is refused at its end.
            if tx_to(11) = '0' then
              tx_to <= tx_to + tx_step;
            end if;
            if tx_few = '1' and tx_left(2 downto 0) <= to_word_end then
              state <= tx_release;
            end if;
          end if;

        when tx_release =>
          if is_answered then
            tx_at <= following(tx_at, tx_ring, tx_state(TX_DESCRIPTOR_STATE_WRAP));
            state <= tx_look;
            if tx_state(TX_DESCRIPTOR_STATE_LAST) = '1' and gives_up = '0' then
              state <= idle;
              tx_lengths <= std_logic_vector(tx_to(10 downto 0)) & std_logic_vector(tx_to(10 downto 0));
              if tx_to(11) = '1' then
                events(RING_MAC_STATUS_REFUSED) <= '1';
              else
                go(tx_slot) <= '1';
                tx_slot     <= 1 - tx_slot;
              end if;
            end if;
          end if;

        when others => state <= idle;
      end case;

      if astray = '1' then
        events(RING_MAC_STATUS_FAULT) <= '1';
        rx_enable  <= '0';
        tx_enable  <= '0';
        tx_pending <= '0';
        state      <= idle;
        -- Give back the frames to send, so that software does not wait for them forever.
        gives_up   <= tx_enable and tx_pending;
        if tx_enable = '1' and tx_pending = '1' then
          tx_to <= (others => '0');
          state <= tx_look;
        end if;
      end if;

      if is_written = '1' then
        case to_integer(unsigned(s_address)) is
          -- A transfer ends in the ring in which it began.
          when RING_MAC_RX_RING / 4 =>
            if state = idle then
              rx_ring   <= s_wdata;
              rx_at     <= unsigned(s_wdata(31 downto 2));
              rx_skewed <= or s_wdata(2 downto 0);
            else
              events(RING_MAC_STATUS_REFUSED) <= '1';
            end if;
          when RING_MAC_TX_RING / 4 =>
            if state = idle then
              tx_ring   <= s_wdata;
              tx_at     <= unsigned(s_wdata(31 downto 2));
              tx_skewed <= or s_wdata(2 downto 0);
            else
              events(RING_MAC_STATUS_REFUSED) <= '1';
            end if;
          when RING_MAC_CONTROL / 4 =>
            rx_enable   <= s_wdata(RING_MAC_CONTROL_RX_ENABLE);
            tx_enable   <= s_wdata(RING_MAC_CONTROL_TX_ENABLE);
            any_address <= s_wdata(RING_MAC_CONTROL_ANY_ADDRESS);
            clear       <= s_wdata(RING_MAC_CONTROL_CLEAR);
            if s_wdata(RING_MAC_CONTROL_TX_START) = '1' then
              tx_pending <= '1';
            end if;
          when RING_MAC_IRQ_ENABLE / 4      => event_enable <= s_wdata(4 downto 0);
          when RING_MAC_RX_BUFFER_BYTES / 4 => buffer_bytes <= unsigned(s_wdata(11 downto 2)) & "00";
          when others => null;
        end case;
      end if;

      if rst = '1' then
        state        <= idle;
        give_back    <= "00";
        go           <= "00";
        clear        <= '0';
        irq          <= '0';
        no_buffer    <= '0';
        events       <= (others => '0');
        event_enable <= (others => '0');
        rx_enable    <= '0';
        tx_enable    <= '0';
        any_address  <= '0';
        tx_pending   <= '0';
        buffer_bytes <= (others => '0');
        gives_up     <= '0';
        rx_ring      <= (others => '0');
        tx_ring      <= (others => '0');
        rx_at        <= (others => '0');
        tx_at        <= (others => '0');
        rx_skewed    <= '0';
        tx_skewed    <= '0';
        rx_slot      <= 0;
        rx_word      <= (others => '0');
        rx_left      <= (others => '0');
        rx_room      <= (others => '0');
        rx_first     <= '0';
        rx_buffer    <= (others => '0');
        rx_to        <= (others => '0');
        tx_slot      <= 0;
        tx_to        <= (others => '0');
        tx_state     <= (others => '0');
        tx_left      <= (others => '0');
        tx_few       <= '0';
        tx_from      <= (others => '0');
        tx_lengths   <= (others => '0');
      end if;
    end if;
  end process;

  read_registers : process (clk)
  begin
    if rising_edge(clk) then
      if s_access = '1' and s_write = '0' then
        s_rdata <= (others => '0');
        case to_integer(unsigned(s_address)) is
          when RING_MAC_RX_RING / 4 => s_rdata <= rx_ring;
          when RING_MAC_TX_RING / 4 => s_rdata <= tx_ring;
          when RING_MAC_CONTROL / 4 =>
            s_rdata(RING_MAC_CONTROL_RX_ENABLE)   <= rx_enable;
            s_rdata(RING_MAC_CONTROL_TX_ENABLE)   <= tx_enable;
            s_rdata(RING_MAC_CONTROL_ANY_ADDRESS) <= any_address;
            if state /= idle then
              s_rdata(RING_MAC_CONTROL_BUSY) <= '1';
            end if;
          when RING_MAC_STATUS / 4          => s_rdata(4 downto 0) <= events;
          when RING_MAC_IRQ_ENABLE / 4      => s_rdata(4 downto 0) <= event_enable;
          when RING_MAC_RX_BUFFER_BYTES / 4 => s_rdata(11 downto 0) <= std_logic_vector(buffer_bytes);
          when others => s_rdata <= store_word;
        end case;
      end if;
      if rst = '1' then
        s_rdata <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
