-- A packet_checker whose count of bytes begins 64 bytes below a high word; the block itself needs half a minute to reach it.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

library wirelab;

entity packet_checker is
  generic (
    COUNT_BITS : natural := 32
  );
  port (
    clk                   : in  std_logic;
    rst                   : in  std_logic;
    enable                : in  std_logic;
    clear                 : in  std_logic;
    ready                 : out std_logic;
    source                : in  std_logic_vector(47 downto 0);
    source_known          : in  std_logic;
    udp_port              : in  std_logic_vector(15 downto 0);
    stream                : in  std_logic_vector(7 downto 0);
    stream_known          : in  std_logic;
    slots                 : in  std_logic_vector(12 downto 0);
    time_ns               : in  std_logic_vector(47 downto 0);
    s_tdata               : in  std_logic_vector(7 downto 0);
    s_tvalid              : in  std_logic;
    s_tlast               : in  std_logic;
    s_tuser               : in  std_logic;
    s_bad_fcs             : in  std_logic;
    word_request          : out std_logic;
    word_number           : out std_logic_vector(11 downto 0);
    word                  : in  std_logic_vector(31 downto 0);
    verdict_valid         : out std_logic;
    verdict               : out std_logic_vector(2 downto 0);
    verdict_sequence      : out std_logic_vector(31 downto 0);
    verdict_start_word    : out std_logic_vector(11 downto 0);
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
    order_breaks          : out std_logic_vector(31 downto 0);
    mixed_frames          : out std_logic_vector(31 downto 0);
    bad_fcs_frames        : out std_logic_vector(31 downto 0);
    damaged_frames        : out std_logic_vector(31 downto 0);
    lost_sequences        : out std_logic_vector(31 downto 0);
    next_sequence         : out std_logic_vector(31 downto 0);
    verified_bytes        : out std_logic_vector(47 downto 0);
    time_valid            : out std_logic;
    first_time            : out std_logic_vector(47 downto 0);
    last_time             : out std_logic_vector(47 downto 0);
    overflow              : out std_logic_vector(15 downto 0);
    search_overrun        : out std_logic
  );
end entity;

architecture stand_in of packet_checker is
  signal inner_bytes : std_logic_vector(47 downto 0);
begin
  block_itself : entity wirelab.packet_checker
    generic map (COUNT_BITS => COUNT_BITS)
    port map (
      clk => clk, rst => rst, enable => enable, clear => clear, ready => ready, source => source,
      source_known => source_known, udp_port => udp_port, stream => stream, stream_known => stream_known, slots => slots,
      time_ns => time_ns, s_tdata => s_tdata, s_tvalid => s_tvalid, s_tlast => s_tlast, s_tuser => s_tuser,
      s_bad_fcs => s_bad_fcs, word_request => word_request, word_number => word_number, word => word,
      verdict_valid => verdict_valid, verdict => verdict, verdict_sequence => verdict_sequence,
      verdict_start_word => verdict_start_word, good_frames => good_frames,
      header_corrupt_frames => header_corrupt_frames, truncated_frames => truncated_frames, stale_frames => stale_frames,
      corrupted_frames => corrupted_frames, foreign_frames => foreign_frames, distinct_sequences => distinct_sequences,
      duplicated_frames => duplicated_frames, reordered_frames => reordered_frames, too_late_frames => too_late_frames,
      order_breaks => order_breaks, mixed_frames => mixed_frames, bad_fcs_frames => bad_fcs_frames,
      damaged_frames => damaged_frames, lost_sequences => lost_sequences, next_sequence => next_sequence,
      verified_bytes => inner_bytes, time_valid => time_valid, first_time => first_time, last_time => last_time,
      overflow => overflow, search_overrun => search_overrun
    );

  verified_bytes <= std_logic_vector(unsigned(inner_bytes) + x"9ABBFFFFFFC0");
end architecture;
