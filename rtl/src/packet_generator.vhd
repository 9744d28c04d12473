-- Sends test frames of spec/test-frame.md as a byte stream, one byte a clock without a bubble between frames, and puts faults
-- into them on demand. See docs/blocks/packet_generator.md.
--
-- Three steps make a byte: its position (here), its value (header_writer; the LFSR here), and its fault; a fourth
-- (stream_slice) decouples m_tready. All four move together while the slice has space.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;
use work.quarter_pkg.all;

entity packet_generator is
  generic (
    -- Width of the counts, up to 32, and 16 more of sent_bytes; the upper bits are 0. A bench sets less to see them overflow.
    COUNT_BITS : natural := 32
  );
  port (
    clk              : in  std_logic;
    rst              : in  std_logic;
    -- What to send; taken when `enable` rises.
    enable           : in  std_logic;
    payload_bytes    : in  std_logic_vector(13 downto 0);
    gap_cycles       : in  std_logic_vector(23 downto 0);
    frame_count      : in  std_logic_vector(31 downto 0);
    destination      : in  std_logic_vector(47 downto 0);
    source           : in  std_logic_vector(47 downto 0);
    udp_mode         : in  std_logic;
    ipv4_source      : in  std_logic_vector(31 downto 0);
    ipv4_destination : in  std_logic_vector(31 downto 0);
    udp_source       : in  std_logic_vector(15 downto 0);
    udp_destination  : in  std_logic_vector(15 downto 0);
    vlan_enable      : in  std_logic;
    vlan_tci         : in  std_logic_vector(15 downto 0);
    stream           : in  std_logic_vector(7 downto 0);
    -- The clock that stamps the frames.
    time_valid       : in  std_logic;
    time_ns          : in  std_logic_vector(47 downto 0);
    -- Faults, by the numbers of ethernet_pkg; also taken when `enable` rises, except fault_once.
    fault_kind       : in  std_logic_vector(2 downto 0);
    fault_every      : in  std_logic_vector(31 downto 0);
    fault_interval   : in  std_logic_vector(30 downto 0);
    fault_once       : in  std_logic;
    fault_position   : in  std_logic_vector(16 downto 0);
    fault_cut        : in  std_logic_vector(13 downto 0);
    -- The frames.
    m_tdata          : out std_logic_vector(7 downto 0);
    m_tvalid         : out std_logic;
    m_tready         : in  std_logic;
    m_tlast          : out std_logic;
    m_tuser          : out std_logic;
    -- The results, counted from the last rise of `enable`.
    busy             : out std_logic;
    done             : out std_logic;
    config_error     : out std_logic;
    underrun         : out std_logic;
    overflow         : out std_logic;
    sent_frames      : out std_logic_vector(31 downto 0);
    sent_bytes       : out std_logic_vector(47 downto 0);
    used_sequences   : out std_logic_vector(31 downto 0);
    injected_faults  : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of packet_generator is
  type state_t is (IDLE, LENGTHS, CHECKSUM, RUNNING, STOPPED, REFUSED);
  type section_t is (NOTHING, HEAD, CONTENT);
  -- Positions in header_writer where a frame may leave something out, and where the test header lies.
  constant LAST_ADDRESS  : natural := 11;
  constant FIRST_TYPE    : natural := 16;
  constant LAST_TYPE     : natural := 17;
  constant IPV4_LENGTH   : natural := 20;
  constant IPV4_CHECKSUM : natural := 28;
  constant LAST_IPV4     : natural := 37;
  constant UDP_CHECKSUM  : natural := 44;
  constant FIRST_TEST    : natural := 46;
  constant LAST_TEST     : natural := 63;

  -- The configuration, as it was when the run began.
  signal cfg_payload                        : natural range 0 to 16383;
  signal cfg_gap                            : std_logic_vector(23 downto 0);
  signal cfg_count                          : std_logic_vector(31 downto 0);
  signal cfg_destination, cfg_source        : std_logic_vector(47 downto 0);
  signal cfg_udp, cfg_vlan                  : std_logic;
  signal cfg_ipv4_from, cfg_ipv4_to         : std_logic_vector(31 downto 0);
  signal cfg_port_from, cfg_port_to         : half_t;
  signal cfg_tci                            : half_t;
  signal cfg_stream                         : octet_t;
  signal cfg_kind                           : fault_t;
  signal cfg_every                          : std_logic_vector(31 downto 0);
  signal cfg_interval                       : std_logic_vector(30 downto 0);
  signal cfg_flip_byte                      : unsigned(13 downto 0);
  signal cfg_flip_first                     : std_logic;
  signal cfg_flip_mask                      : octet_t;
  signal cfg_cut                            : natural range 0 to 16383;

  -- Derived from the configuration, and the state of the run.
  signal in_limits                          : boolean;
  signal state                              : state_t;
  signal wait_left                          : natural range 0 to 15;
  signal all_headers                        : natural range 0 to 63;
  signal lfsr_bytes, short_bytes            : natural range 0 to 16383;
  signal ipv4_half, udp_half, lfsr_half     : half_t;
  signal start, stop, summing               : std_logic;

  signal plan_valid, take, pair_open        : std_logic;
  signal exhausted, used, injected          : std_logic;
  signal plan_sequence, plan_word           : word_t;
  signal plan_bit_error, plan_bad_fcs       : std_logic;
  signal plan_truncated                     : std_logic;

  -- The byte that is next.
  signal section                            : section_t;
  signal position                           : natural range 0 to 63;
  signal position_bits                      : std_logic_vector(5 downto 0);
  signal last_here                          : std_logic;
  -- The number of the LFSR byte after the next one, and the number of all. Computed in the header: the part has none, or one.
  signal content_at                         : unsigned(13 downto 0);
  signal content_bytes                      : unsigned(13 downto 0);
  signal content_ends                       : std_logic;
  signal content_none, content_one          : std_logic;
  signal word                               : word_t;
  signal word_byte                          : natural range 0 to 3;
  signal byte_0                             : octet_t;
  signal number                             : word_t;
  signal bad_fcs, truncated                 : std_logic;
  signal flip_at                            : unsigned(13 downto 0);
  signal flip_here, flip_armed              : std_logic;
  signal stamp                              : std_logic_vector(47 downto 0);
  signal stamp_valid                        : std_logic;
  signal may_go                             : std_logic;

  -- The byte one and two steps on.
  signal step                               : std_logic;
  signal one_valid, one_last, one_user      : std_logic;
  signal one_content, one_flip              : std_logic;
  signal one_payload                        : std_logic;
  signal one_octet, header_octet            : octet_t;
  signal two_valid, two_last, two_user      : std_logic;
  signal two_octet                          : octet_t;

  signal out_valid, out_last                : std_logic;
  signal frame_left, mid_frame              : std_logic;
  signal in_flight                          : natural range 0 to 3;
  -- Payload bytes that have passed, and their number when the last frame had left.
  signal passing_bytes, bytes               : unsigned(COUNT_BITS + 15 downto 0);
  signal passing_over, bytes_over           : std_logic;
  signal counters_rst                       : std_logic;
  signal count_events                       : std_logic_vector(2 downto 0);
  signal counts                             : std_logic_vector(95 downto 0);
  signal counts_over                        : std_logic_vector(2 downto 0);
begin
  in_limits <= unsigned(payload_bytes) <= MAX_PAYLOAD
               and ((or payload_bytes(13 downto 6)) = '1' or unsigned(payload_bytes(5 downto 0)) >= MIN_PAYLOAD
                    or (vlan_enable = '1' and udp_mode = '0' and unsigned(payload_bytes(5 downto 0)) >= MIN_TAGGED));

  all_headers <= HEADER_BYTES + IPV4_BYTES + UDP_BYTES when cfg_udp = '1' else HEADER_BYTES;

  control : process (clk)
    variable difference : signed(14 downto 0);
  begin
    if rising_edge(clk) then
      start <= '0';
      stop <= '0';
      case state is
        when IDLE =>
          if enable = '1' then
            state <= LENGTHS;
            if not in_limits then
              state <= REFUSED;
            end if;
            start <= to_std_logic(in_limits);
            done <= '0';
            cfg_payload <= to_integer(unsigned(payload_bytes));
            cfg_gap <= gap_cycles;
            cfg_count <= frame_count;
            cfg_destination <= destination;
            cfg_source <= source;
            cfg_udp <= udp_mode;
            cfg_vlan <= vlan_enable;
            cfg_ipv4_from <= ipv4_source;
            cfg_ipv4_to <= ipv4_destination;
            cfg_port_from <= udp_source;
            cfg_port_to <= udp_destination;
            cfg_tci <= vlan_tci;
            cfg_stream <= stream;
            cfg_kind <= fault_kind;
            cfg_every <= fault_every;
            cfg_interval <= fault_interval;
            cfg_flip_byte <= unsigned(fault_position(16 downto 3));
            cfg_flip_first <= to_std_logic(unsigned(fault_position(16 downto 3)) = 0);
            cfg_flip_mask <= (others => '0');
            cfg_flip_mask(7 - to_integer(unsigned(fault_position(2 downto 0)))) <= '1';
            cfg_cut <= to_integer(unsigned(fault_cut));
          end if;

        when LENGTHS =>
          lfsr_bytes <= cfg_payload - all_headers;
          udp_half <= std_logic_vector(to_unsigned(cfg_payload, 16) - IPV4_BYTES);
          wait_left <= 15;
          state <= CHECKSUM;

        when CHECKSUM =>
          lfsr_half <= std_logic_vector(to_unsigned(lfsr_bytes, 16));
          difference := to_signed(lfsr_bytes, 15) - to_signed(cfg_cut, 15);
          short_bytes <= to_integer(unsigned(difference(13 downto 0)));
          if difference(14) = '1' then
            short_bytes <= 0;
          end if;
          wait_left <= wait_left - 1;
          if wait_left = 1 then
            state <= RUNNING;
          end if;

        when RUNNING =>
          if (enable = '0' or exhausted = '1') and section = NOTHING and in_flight = 0 and may_go = '0' then
            stop <= '1';
            done <= exhausted;
            state <= STOPPED;
          end if;

        when others =>
          if enable = '0' then
            state <= IDLE;
          end if;
      end case;
      if rst = '1' then
        state <= IDLE;
        wait_left <= 0;
        done <= '0';
        cfg_gap <= (others => '0');
      end if;
    end if;
  end process;

  ipv4_half <= std_logic_vector(to_unsigned(cfg_payload, 16));
  summing <= to_std_logic(state = CHECKSUM);
  busy <= to_std_logic(state = LENGTHS or state = CHECKSUM or state = RUNNING);
  config_error <= to_std_logic(state = REFUSED);

  planner : entity work.frame_planner
    port map (
      clk => clk, rst => rst, start => start, stop => stop, take => take,
      frame_count => cfg_count, fault_kind => cfg_kind, fault_every => cfg_every, fault_interval => cfg_interval,
      fault_once => fault_once,
      plan_valid => plan_valid, plan_sequence => plan_sequence, plan_word => plan_word,
      plan_bit_error => plan_bit_error, plan_bad_fcs => plan_bad_fcs, plan_truncated => plan_truncated,
      pair_open => pair_open, exhausted => exhausted, used => used, injected => injected);

  -- When `enable` falls, the current frame is finished, and so is an open pair.
  may_go <= plan_valid and not take and (enable or pair_open) when state = RUNNING else '0';

  content_bytes <= to_unsigned(short_bytes, 14) when truncated = '1' else to_unsigned(lfsr_bytes, 14);
  content_ends <= to_std_logic(content_at = content_bytes);

  sequencer : process (clk)
    variable flips, ends : std_logic;
  begin
    if rising_edge(clk) then
      take <= '0';
      if step = '1' then
        flips := flip_armed and (flip_here or last_here);
        ends := last_here;
        one_valid <= to_std_logic(section /= NOTHING);
        one_last <= last_here;
        one_user <= last_here and bad_fcs;
        one_content <= to_std_logic(section = CONTENT);
        one_payload <= to_std_logic(section = CONTENT or (section = HEAD and position > LAST_TYPE));
        one_octet <= word(31 downto 24);
        if word_byte = 3 then
          one_octet <= last_byte(word(31 downto 24), byte_0);
        end if;
        one_flip <= flips;
        flip_armed <= flip_armed and not flips;
        flip_here <= to_std_logic(flip_at = cfg_flip_byte);
        flip_at <= flip_at + 1;
        last_here <= '0';

        case section is
          when HEAD =>
            content_one <= content_ends;
            if position = 0 then
              content_none <= content_ends;
            end if;
            if position = 0 or position = LAST_TEST then
              content_at <= content_at + 1;
            end if;
            if position = FIRST_TEST then
              -- Late enough that the MAC already takes bytes of this frame: the stamp has a constant distance to the wire.
              stamp_valid <= time_valid;
              stamp <= (others => '0');
              if time_valid = '1' then
                stamp <= time_ns;
              end if;
            end if;
            if position = LAST_TEST then
              section <= CONTENT;
              last_here <= content_one and not ends;
            else
              position <= position + 1;
              last_here <= content_none and to_std_logic(position = LAST_TEST - 1);
            end if;
            if position = LAST_ADDRESS and cfg_vlan = '0' then
              position <= FIRST_TYPE;
            elsif position = LAST_TYPE and cfg_udp = '0' then
              position <= FIRST_TEST;
            end if;

          when CONTENT =>
            content_at <= content_at + 1;
            last_here <= content_ends;
            if word_byte = 3 then
              word_byte <= 0;
            else
              word_byte <= word_byte + 1;
            end if;
            if word_byte = 0 then
              byte_0 <= word(31 downto 24);
            end if;
            word <= quarter_word(word);

          when others =>
            ends := '1';
            -- Before the first frame, the IPv4 checksum is summed over the fields that are not constant and two zeros.
            if start = '1' then
              position <= IPV4_LENGTH;
            elsif position = IPV4_LENGTH + 1 then
              position <= IPV4_CHECKSUM;
            elsif position = LAST_IPV4 then
              position <= UDP_CHECKSUM;
            elsif position /= LAST_TEST then
              position <= position + 1;
            end if;
        end case;

        if ends = '1' then
          section <= NOTHING;
          -- Between frames these follow the plan: they matter from the first byte on, and whether a frame starts is known late.
          number <= plan_sequence;
          word <= plan_word;
          word_byte <= 0;
          bad_fcs <= plan_bad_fcs;
          truncated <= plan_truncated;
          content_at <= to_unsigned(0, 14);
          flip_at <= to_unsigned(1, 14);
          flip_here <= cfg_flip_first;
          if may_go = '1' then
            take <= '1';
            section <= HEAD;
            position <= 0;
            flip_armed <= plan_bit_error;
          end if;
        end if;
      end if;
      if rst = '1' then
        section <= NOTHING;
        position <= 0;
        last_here <= '0';
        flip_armed <= '0';
        one_valid <= '0';
      end if;
    end if;
  end process;

  position_bits <= std_logic_vector(to_unsigned(position, 6));

  headers : entity work.header_writer
    port map (
      clk => clk, rst => rst, step => step, position => position_bits,
      destination => cfg_destination, source => cfg_source, vlan_tci => cfg_tci, udp => cfg_udp,
      ipv4_from => cfg_ipv4_from, ipv4_to => cfg_ipv4_to, port_from => cfg_port_from, port_to => cfg_port_to,
      ipv4_bytes => ipv4_half, udp_bytes => udp_half, lfsr_bytes => lfsr_half, stream => cfg_stream,
      number => number, time_valid => stamp_valid, time_ns => stamp,
      start => start, sum_ipv4 => summing, octet => header_octet);

  second_step : process (clk)
    variable octet : octet_t;
  begin
    if rising_edge(clk) then
      if step = '1' then
        octet := header_octet;
        if one_content = '1' then
          octet := one_octet;
        end if;
        if one_flip = '1' then
          octet := octet xor cfg_flip_mask;
        end if;
        two_octet <= octet;
        two_valid <= one_valid;
        two_last <= one_last;
        two_user <= one_user;
      end if;
      if rst = '1' then
        two_valid <= '0';
      end if;
    end if;
  end process;

  slice : entity work.stream_slice
    port map (
      clk => clk, rst => rst, gap_cycles => cfg_gap,
      s_tdata => two_octet, s_tvalid => two_valid, s_tready => step, s_tlast => two_last, s_tuser => two_user,
      m_tdata => m_tdata, m_tvalid => out_valid, m_tready => m_tready, m_tlast => out_last, m_tuser => m_tuser);

  m_tvalid <= out_valid;
  m_tlast <= out_last;

  accounts : process (clk)
    variable sum : unsigned(COUNT_BITS + 16 downto 0);
  begin
    if rising_edge(clk) then
      frame_left <= out_valid and m_tready and out_last;
      if out_valid = '1' and m_tready = '1' then
        mid_frame <= not out_last;
      elsif mid_frame = '1' and m_tready = '1' then
        underrun <= '1';
      end if;
      if take = '1' and frame_left = '0' then
        in_flight <= in_flight + 1;
      elsif take = '0' and frame_left = '1' then
        in_flight <= in_flight - 1;
      end if;
      -- A frame has left before the payload of the next one passes here: a header lies between.
      sum := ('0' & passing_bytes) + 1;
      if step = '1' and one_payload = '1' then
        passing_bytes <= sum(COUNT_BITS + 15 downto 0);
        passing_over <= passing_over or sum(COUNT_BITS + 16);
      end if;
      if frame_left = '1' then
        bytes <= passing_bytes;
        bytes_over <= passing_over;
      end if;
      if rst = '1' or start = '1' then
        frame_left <= '0';
        mid_frame <= '0';
        underrun <= '0';
        in_flight <= 0;
        passing_bytes <= (others => '0');
        passing_over <= '0';
        bytes <= (others => '0');
        bytes_over <= '0';
      end if;
    end if;
  end process;

  counters_rst <= rst or start;
  count_events <= injected & used & frame_left;

  counters : entity work.event_counters
    generic map (COUNTERS => 3, BITS => COUNT_BITS)
    port map (clk => clk, rst => counters_rst, events => count_events, counts => counts, overflow => counts_over);

  sent_frames <= counts(31 downto 0);
  used_sequences <= counts(63 downto 32);
  injected_faults <= counts(95 downto 64);
  sent_bytes <= std_logic_vector(resize(bytes, 48));
  overflow <= bytes_over or counts_over(0) or counts_over(1) or counts_over(2);
end architecture;
