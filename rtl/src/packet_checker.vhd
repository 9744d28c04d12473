-- Judges every received frame as spec/test-frame.md says, byte by byte, tracks the sequences of the stream, and counts.
-- See docs/blocks/packet_checker.md.
--
-- frame_parser parses the frame, content_checker compares its LFSR part, stale_search finds the sequence of a stale one,
-- sequence_window tracks; the start words come from start_words, which two checkers may share.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity packet_checker is
  generic (
    -- Width of the counts, up to 32, and 16 more of verified_bytes; the upper bits are 0. A bench sets less to see them
    -- overflow. lost_sequences and next_sequence always have 32.
    COUNT_BITS : natural := 32
  );
  port (
    clk                   : in  std_logic;
    rst                   : in  std_logic;
    -- Frames that begin while `enable` and `ready` are set are judged. `clear` forgets everything, like `rst`.
    enable                : in  std_logic;
    clear                 : in  std_logic;
    ready                 : out std_logic;
    -- The flow; change it only between frames.
    source                : in  std_logic_vector(47 downto 0);
    source_known          : in  std_logic;
    udp_port              : in  std_logic_vector(15 downto 0);
    stream                : in  std_logic_vector(7 downto 0);
    stream_known          : in  std_logic;
    -- Slots of a flow that repeats, 1 to 4,096; 0: sequences. Change it only with a clear.
    slots                 : in  std_logic_vector(12 downto 0);
    time_ns               : in  std_logic_vector(47 downto 0);
    -- The frames, as mac_rx gives them; s_tuser and s_bad_fcs are valid with s_tlast.
    s_tdata               : in  std_logic_vector(7 downto 0);
    s_tvalid              : in  std_logic;
    s_tlast               : in  std_logic;
    s_tuser               : in  std_logic;
    s_bad_fcs             : in  std_logic;
    -- One side of start_words.
    word_request          : out std_logic;
    word_number           : out std_logic_vector(11 downto 0);
    word                  : in  std_logic_vector(31 downto 0);
    -- The verdict on each frame, by the numbers of ethernet_pkg.
    verdict_valid         : out std_logic;
    verdict               : out std_logic_vector(2 downto 0);
    verdict_sequence      : out std_logic_vector(31 downto 0);
    verdict_start_word    : out std_logic_vector(11 downto 0);
    -- Frames.
    good_frames           : out std_logic_vector(31 downto 0);
    header_corrupt_frames : out std_logic_vector(31 downto 0);
    truncated_frames      : out std_logic_vector(31 downto 0);
    stale_frames          : out std_logic_vector(31 downto 0);
    corrupted_frames      : out std_logic_vector(31 downto 0);
    foreign_frames        : out std_logic_vector(31 downto 0);
    distinct_sequences    : out std_logic_vector(31 downto 0);
    duplicated_frames     : out std_logic_vector(31 downto 0);
    reordered_frames      : out std_logic_vector(31 downto 0);
    too_late_frames       : out std_logic_vector(31 downto 0);
    -- Slots that did not follow the slot before; repeating frames in a flow of sequences, or the other way round.
    order_breaks          : out std_logic_vector(31 downto 0);
    mixed_frames          : out std_logic_vector(31 downto 0);
    bad_fcs_frames        : out std_logic_vector(31 downto 0);
    damaged_frames        : out std_logic_vector(31 downto 0);
    lost_sequences        : out std_logic_vector(31 downto 0);
    next_sequence         : out std_logic_vector(31 downto 0);
    verified_bytes        : out std_logic_vector(47 downto 0);
    -- When the first and the last frame of the flow ended.
    time_valid            : out std_logic;
    first_time            : out std_logic_vector(47 downto 0);
    last_time             : out std_logic_vector(47 downto 0);
    -- Sticky: a counter overflowed, good_frames first, in the order of docs/blocks/packet_checker.md; a search was cut short.
    overflow              : out std_logic_vector(15 downto 0);
    search_overrun        : out std_logic
  );
end entity;

architecture rtl of packet_checker is
  signal inner_rst                                  : std_logic;
  signal mid_frame, taking                          : std_logic;
  signal in_data                                    : octet_t;
  signal in_valid, in_last, in_bad, in_bad_fcs      : std_logic;
  signal bad, bad_fcs                               : std_logic;

  signal number                                     : word_t;
  signal requested                                  : std_logic;
  signal repeats                                    : std_logic;
  signal content_start, content_valid               : std_logic;
  signal content_data                               : octet_t;
  signal end_valid, end_foreign, end_bad_header     : std_logic;
  signal end_truncated, end_too_long, end_whole     : std_logic;
  signal end_payload                                : half_t;

  signal is_wrong, may_be_stale                     : std_logic;
  signal search_request, searching, search_found    : std_logic;
  signal following                                  : word_t;
  signal search_number                              : std_logic_vector(11 downto 0);

  -- The frame that ended a clock before.
  signal is_ended, is_foreign, is_bad_header        : std_logic;
  signal is_truncated, is_too_long, is_whole        : std_logic;
  signal ended_number                               : word_t;
  signal is_mixed                                   : std_logic;
  signal ended_payload                              : half_t;

  -- A stale or corrupted frame; the search decides which.
  signal undecided                                  : std_logic;
  signal undecided_number                           : word_t;

  signal window_ready, is_ready, track              : std_logic;
  signal is_new, is_duplicated, is_reordered        : std_logic;
  signal is_too_late, is_break                      : std_logic;
  signal missing_over                               : std_logic;

  subtype event_t is natural range 0 to 13;
  constant GOOD           : event_t := 0;
  constant HEADER_CORRUPT : event_t := 1;
  constant TRUNCATED      : event_t := 2;
  constant STALE          : event_t := 3;
  constant CORRUPTED      : event_t := 4;
  constant FOREIGN        : event_t := 5;
  constant DISTINCT       : event_t := 6;
  constant DUPLICATED     : event_t := 7;
  constant REORDERED      : event_t := 8;
  constant TOO_LATE       : event_t := 9;
  constant BAD_FCS_SEEN   : event_t := 10;
  constant DAMAGED        : event_t := 11;
  constant ORDER_BREAK    : event_t := 12;
  constant MIXED          : event_t := 13;
  signal events                                     : std_logic_vector(13 downto 0);
  signal states                                     : std_logic_vector(FOREIGN downto 0);
  signal counts                                     : std_logic_vector(14 * 32 - 1 downto 0);
  signal counts_over                                : std_logic_vector(13 downto 0);
  signal bytes                                      : unsigned(COUNT_BITS + 15 downto 0);
  signal bytes_over                                 : std_logic;
  signal more_bytes                                 : unsigned(15 downto 0);
  signal end_time                                   : std_logic_vector(47 downto 0);
  signal timed                                      : std_logic;
begin
  -- Also 0 in the clock between a clear and the reset of the window.
  is_ready <= window_ready and not inner_rst;
  ready <= is_ready;

  -- Passes only frames that begin and end between two resets.
  gate : process (clk)
  begin
    if rising_edge(clk) then
      inner_rst <= rst or clear;
      in_valid <= '0';
      if s_tvalid = '1' then
        mid_frame <= not s_tlast;
        if mid_frame = '0' then
          taking <= enable and is_ready;
          in_valid <= enable and is_ready;
        else
          in_valid <= taking;
        end if;
      end if;
      in_data <= s_tdata;
      in_last <= s_tlast;
      in_bad <= s_tuser;
      in_bad_fcs <= s_bad_fcs;
      bad <= in_bad;
      bad_fcs <= in_bad_fcs;
      if rst = '1' or clear = '1' then
        taking <= '0';
        in_valid <= '0';
      end if;
      if rst = '1' then
        mid_frame <= '0';
      end if;
    end if;
  end process;

  parser : entity work.frame_parser
    port map (
      clk => clk, rst => inner_rst,
      source => source, source_known => source_known, udp_port => udp_port,
      stream => stream, stream_known => stream_known,
      s_tdata => in_data, s_tvalid => in_valid, s_tlast => in_last,
      word_request => requested, frame_number => number, frame_repeats => repeats,
      content_start => content_start, content_valid => content_valid, content_data => content_data,
      end_valid => end_valid, end_foreign => end_foreign, end_bad_header => end_bad_header,
      end_truncated => end_truncated, end_too_long => end_too_long, end_whole => end_whole,
      end_payload => end_payload);

  word_request <= requested;
  word_number <= number(11 downto 0);

  comparer : entity work.content_checker
    port map (
      clk => clk, rst => inner_rst, request => requested, start_word => word, start => content_start,
      valid => content_valid, data => content_data,
      is_wrong => is_wrong, may_be_stale => may_be_stale,
      search_request => search_request, following => following);

  finder : entity work.stale_search
    port map (
      clk => clk, rst => inner_rst, request => search_request, following => following,
      busy => searching, found => search_found, number => search_number);

  tracker : entity work.sequence_window
    port map (
      clk => clk, rst => inner_rst, ready => window_ready, request => track, number => ended_number, slots => slots,
      is_new => is_new, is_duplicated => is_duplicated, is_reordered => is_reordered, is_too_late => is_too_late,
      is_break => is_break, next_number => next_sequence, missing => lost_sequences, overflow => missing_over);

  track <= is_ended and (is_truncated or is_too_long or is_whole);

  -- The results of content_checker come a clock after the frame's end.
  ending : process (clk)
  begin
    if rising_edge(clk) then
      is_ended <= end_valid and not bad;
      is_foreign <= end_foreign;
      is_bad_header <= end_bad_header;
      is_truncated <= end_truncated;
      is_too_long <= end_too_long;
      is_whole <= end_whole;
      ended_number <= number;
      is_mixed <= repeats xor (or slots);
      ended_payload <= end_payload;
      -- The time is kept for a clock: whether a frame counts is known late in the clock, and many registers depend on it.
      end_time <= time_ns;
      if is_ended = '1' and is_foreign = '0' then
        timed <= '1';
        last_time <= end_time;
        if timed = '0' then
          first_time <= end_time;
        end if;
      end if;
      if inner_rst = '1' then
        is_ended <= '0';
        timed <= '0';
        first_time <= (others => '0');
        last_time <= (others => '0');
      end if;
    end if;
  end process;

  time_valid <= timed;

  judge : process (clk)
    variable candidate, decided : std_logic;
  begin
    if rising_edge(clk) then
      verdict_valid <= '0';
      states <= (others => '0');
      more_bytes <= (others => '0');
      candidate := is_ended and is_whole and may_be_stale;
      decided := undecided and not searching and not is_ended;

      if decided = '1' then
        undecided <= '0';
        verdict_valid <= '1';
        verdict_sequence <= undecided_number;
        verdict_start_word <= search_number;
        states(STALE) <= search_found;
        states(CORRUPTED) <= not search_found;
        verdict <= VERDICT_CORRUPTED;
        if search_found = '1' then
          verdict <= VERDICT_STALE;
        end if;
      elsif undecided = '1' and search_request = '1' then
        -- Frames follow closer than the line allows: one whose search is not finished counts as corrupted.
        undecided <= '0';
        search_overrun <= '1';
        states(CORRUPTED) <= '1';
        verdict_valid <= '1';
        verdict <= VERDICT_CORRUPTED;
        verdict_sequence <= undecided_number;
      end if;

      if is_ended = '1' and candidate = '0' then
        verdict_valid <= '1';
        verdict_sequence <= ended_number;
        if is_foreign = '1' then
          verdict <= VERDICT_FOREIGN;
          states(FOREIGN) <= '1';
        elsif is_bad_header = '1' then
          verdict <= VERDICT_HEADER_CORRUPT;
          states(HEADER_CORRUPT) <= '1';
        elsif is_truncated = '1' then
          verdict <= VERDICT_TRUNCATED;
          states(TRUNCATED) <= '1';
        elsif is_too_long = '1' or is_wrong = '1' then
          verdict <= VERDICT_CORRUPTED;
          states(CORRUPTED) <= '1';
        else
          verdict <= VERDICT_GOOD;
          states(GOOD) <= '1';
          more_bytes <= unsigned(ended_payload);
        end if;
      end if;
      if candidate = '1' then
        undecided <= '1';
        undecided_number <= ended_number;
      end if;

      if inner_rst = '1' then
        undecided <= '0';
        search_overrun <= '0';
        verdict_valid <= '0';
        verdict <= VERDICT_FOREIGN;
        verdict_sequence <= (others => '0');
        verdict_start_word <= (others => '0');
        states <= (others => '0');
      end if;
    end if;
  end process;

  accounts : process (clk)
    variable sum : unsigned(COUNT_BITS + 16 downto 0);
  begin
    if rising_edge(clk) then
      events <= (others => '0');
      events(FOREIGN downto GOOD) <= states;
      events(DISTINCT) <= is_new;
      events(DUPLICATED) <= is_duplicated;
      events(REORDERED) <= is_reordered;
      events(TOO_LATE) <= is_too_late;
      events(ORDER_BREAK) <= is_break;
      events(MIXED) <= track and is_mixed;
      events(BAD_FCS_SEEN) <= end_valid and bad and bad_fcs;
      events(DAMAGED) <= end_valid and bad and not bad_fcs;
      if states(GOOD) = '1' then
        sum := ('0' & bytes) + more_bytes;
        bytes <= sum(COUNT_BITS + 15 downto 0);
        bytes_over <= bytes_over or sum(COUNT_BITS + 16);
      end if;
      if inner_rst = '1' then
        events <= (others => '0');
        bytes <= (others => '0');
        bytes_over <= '0';
      end if;
    end if;
  end process;

  counters : entity work.event_counters
    generic map (COUNTERS => 14, BITS => COUNT_BITS)
    port map (clk => clk, rst => inner_rst, events => events, counts => counts, overflow => counts_over);

  good_frames <= counts(32 * GOOD + 31 downto 32 * GOOD);
  header_corrupt_frames <= counts(32 * HEADER_CORRUPT + 31 downto 32 * HEADER_CORRUPT);
  truncated_frames <= counts(32 * TRUNCATED + 31 downto 32 * TRUNCATED);
  stale_frames <= counts(32 * STALE + 31 downto 32 * STALE);
  corrupted_frames <= counts(32 * CORRUPTED + 31 downto 32 * CORRUPTED);
  foreign_frames <= counts(32 * FOREIGN + 31 downto 32 * FOREIGN);
  distinct_sequences <= counts(32 * DISTINCT + 31 downto 32 * DISTINCT);
  duplicated_frames <= counts(32 * DUPLICATED + 31 downto 32 * DUPLICATED);
  reordered_frames <= counts(32 * REORDERED + 31 downto 32 * REORDERED);
  too_late_frames <= counts(32 * TOO_LATE + 31 downto 32 * TOO_LATE);
  bad_fcs_frames <= counts(32 * BAD_FCS_SEEN + 31 downto 32 * BAD_FCS_SEEN);
  damaged_frames <= counts(32 * DAMAGED + 31 downto 32 * DAMAGED);
  order_breaks <= counts(32 * ORDER_BREAK + 31 downto 32 * ORDER_BREAK);
  mixed_frames <= counts(32 * MIXED + 31 downto 32 * MIXED);
  verified_bytes <= std_logic_vector(resize(bytes, 48));
  overflow <= counts_over(MIXED downto ORDER_BREAK) & bytes_over & missing_over & counts_over(DAMAGED downto GOOD);
end architecture;
