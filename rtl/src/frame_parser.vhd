-- Finds and parses the test header of a received frame: tags, IPv4 or IPv6, UDP, the 18 bytes of the header, and the place of
-- the LFSR part. It classifies the frame, except for its content; see packet_checker.
--
-- One byte a clock, no back-pressure. All outputs are one clock behind the byte; those with `end_` are valid with `end_valid`.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity frame_parser is
  port (
    clk              : in  std_logic;
    rst              : in  std_logic;
    source           : in  std_logic_vector(47 downto 0);
    source_known     : in  std_logic;
    udp_port         : in  std_logic_vector(15 downto 0);
    stream           : in  std_logic_vector(7 downto 0);
    stream_known     : in  std_logic;
    s_tdata          : in  std_logic_vector(7 downto 0);
    s_tvalid         : in  std_logic;
    s_tlast          : in  std_logic;
    -- Requests the start word of the frame.
    word_request     : out std_logic;
    frame_number     : out std_logic_vector(31 downto 0);
    frame_repeats    : out std_logic;
    -- The LFSR part; `content_start` comes before its first byte.
    content_start    : out std_logic;
    content_valid    : out std_logic;
    content_data     : out std_logic_vector(7 downto 0);
    -- With end_valid, exactly one of end_foreign to end_whole is set.
    end_valid        : out std_logic;
    end_foreign      : out std_logic;
    end_bad_header   : out std_logic;
    end_truncated    : out std_logic;
    end_too_long     : out std_logic;
    end_whole        : out std_logic;
    end_payload      : out std_logic_vector(15 downto 0)
  );
end entity;

architecture rtl of frame_parser is
  -- The section of the current byte: one of these, or the rest of the frame; `index` counts the bytes of most. One flip-flop
  -- each: a section number would depend on the conditions of all sections.
  signal in_addresses, in_type, in_tag : std_logic;
  signal in_ipv4, in_ipv6, in_udp      : std_logic;
  signal in_header, in_content         : std_logic;
  signal index                         : natural range 0 to 63;
  signal prior                         : octet_t;
  -- Computed one byte ahead: the byte ends its section, belongs to the sequence, and may belong to the source address.
  signal at_end, in_number, in_source  : std_logic;
  -- A field of this section did not match. Each field is judged one byte late, from registered properties of its bytes; every
  -- field has enough bytes after it in its section.
  signal rejected                      : std_logic;
  -- Properties of the previous byte: it is 0, differs from the high byte of the port, begins an IPv4 header of at least 20
  -- bytes or one of IPv6, is not of a fragment, and is the protocol UDP. Of the previous two: they differ from the port, or are
  -- too short a length. And the EtherTypes that the previous byte begins.
  signal prior_zero, prior_differs     : std_logic;
  signal prior_ipv4, prior_ipv6        : std_logic;
  signal prior_whole, prior_udp        : std_logic;
  signal pair_differs, pair_short      : std_logic;
  signal begins_test, begins_ipv4      : std_logic;
  signal begins_ipv6, begins_customer  : std_logic;
  signal tags                          : natural range 0 to 2;
  signal begins, is_first              : std_logic;
  signal source_octet                  : octet_t;
  -- Index into `source`, 0 for its last byte. It cycles every six bytes, so that the second cycle meets the source address.
  signal source_at                     : natural range 0 to ADDRESS_BYTES - 1;
  signal ours, located                 : std_logic;
  signal payload                       : unsigned(15 downto 0);
  signal in_payload                    : std_logic;
  -- IPv4: the byte before the last one of its header.
  signal ipv4_late                     : natural range 0 to 63;
  -- UDP: its length, and the number of the byte in the datagram, from 1 on.
  signal bounded, nothing_left         : std_logic;
  signal datagram_bytes, udp_at             : unsigned(15 downto 0);
  signal udp_ends                      : std_logic;
  -- The test header.
  signal number                        : word_t;
  signal lfsr_bytes, lfsr_at           : unsigned(15 downto 0);
  -- The LFSR part is empty; this byte is its last, computed one byte ahead.
  signal lfsr_none, content_ends       : std_logic;
  signal too_long                      : std_logic;
  signal magic_right, version_right    : std_logic;
  signal stream_right                  : std_logic;
  signal header_whole, content_whole   : std_logic;
  -- The halves of the header's sum take turns, and the carry of one goes into the other (RFC 1071).
  signal older, newer                  : unsigned(7 downto 0);
  signal carry                         : unsigned(0 downto 0);
  signal checksum_right                : std_logic;
  signal ended                         : std_logic;

begin
  frame_number <= number;

  -- The first byte clears the findings of the previous frame, in the last clock that needs them: a synchronous reset costs no
  -- logic.
  begins <= s_tvalid and is_first;

  parse : process (clk)
    variable pair   : half_t;
    variable longer : unsigned(16 downto 0);
  begin
    if rising_edge(clk) then
      word_request <= '0';
      content_start <= '0';
      content_valid <= '0';
      ended <= '0';
      pair := prior & s_tdata;

      if s_tvalid = '1' then
        prior <= s_tdata;
        prior_zero <= to_std_logic(s_tdata = x"00");
        prior_differs <= to_std_logic(s_tdata /= udp_port(15 downto 8));
        prior_ipv4 <= to_std_logic(s_tdata(7 downto 4) = x"4") and (s_tdata(3) or (s_tdata(2) and (s_tdata(1) or s_tdata(0))));
        prior_ipv6 <= to_std_logic(s_tdata(7 downto 4) = x"6");
        prior_whole <= to_std_logic(s_tdata(5 downto 0) = "000000");
        prior_udp <= to_std_logic(s_tdata = PROTOCOL_UDP);
        pair_differs <= prior_differs or to_std_logic(s_tdata /= udp_port(7 downto 0));
        -- Less than UDP_BYTES.
        pair_short <= prior_zero and to_std_logic(s_tdata(7 downto 3) = "00000");
        begins_test <= to_std_logic(s_tdata = TYPE_TEST(15 downto 8));
        begins_ipv4 <= to_std_logic(s_tdata = TYPE_IPV4(15 downto 8));
        begins_ipv6 <= to_std_logic(s_tdata = TYPE_IPV6(15 downto 8));
        begins_customer <= to_std_logic(s_tdata = TPID_CUSTOMER(15 downto 8));
        content_data <= s_tdata;
        ended <= s_tlast;
        index <= (index + 1) mod 64;
        rejected <= '0';
        longer := ('0' & payload) + 1;
        if in_payload = '1' and longer(16) = '0' then
          payload <= longer(15 downto 0);
        end if;

        if at_end = '1' then
          index <= 0;
        end if;

        if in_addresses = '1' then
          if in_source = '1' and s_tdata /= source_octet then
            ours <= '0';
          end if;
          if at_end = '1' then
            in_addresses <= '0';
            in_type <= '1';
          end if;
        end if;

        if in_type = '1' and at_end = '1' then
          in_type <= '0';
          in_payload <= '1';
          if begins_test = '1' and s_tdata = TYPE_TEST(7 downto 0) then
            in_header <= '1';
            located <= '1';
          end if;
          if begins_ipv4 = '1' and s_tdata = TYPE_IPV4(7 downto 0) then
            in_ipv4 <= '1';
          end if;
          if begins_ipv6 = '1' and s_tdata = TYPE_IPV6(7 downto 0) then
            in_ipv6 <= '1';
          end if;
          if ((begins_customer = '1' and s_tdata = TPID_CUSTOMER(7 downto 0))
              or (begins_test = '1' and s_tdata = TPID_SERVICE(7 downto 0))) and tags < 2 then
            in_tag <= '1';
            in_payload <= '0';
          end if;
        end if;

        if in_tag = '1' and at_end = '1' then
          in_tag <= '0';
          in_type <= '1';
          tags <= tags + 1;
        end if;

        if in_ipv4 = '1' then
          case index is
            when 1 => rejected <= not prior_ipv4;
            when 7 => rejected <= not prior_whole;
            when 8 => rejected <= not prior_zero;
            when 10 => rejected <= not prior_udp;
            when others => null;
          end case;
          if index = 0 then
            ipv4_late <= to_integer((unsigned(s_tdata(3 downto 0)) - 1) & "10");
          end if;
        end if;

        if in_ipv6 = '1' then
          case index is
            when 1 => rejected <= not prior_ipv6;
            when 7 => rejected <= not prior_udp;
            when others => null;
          end case;
        end if;

        if (in_ipv4 = '1' or in_ipv6 = '1') and (rejected = '1' or at_end = '1') then
          in_ipv4 <= '0';
          in_ipv6 <= '0';
          in_udp <= not rejected;
        end if;

        if in_udp = '1' then
          case index is
            when 4 => rejected <= pair_differs;
            when 5 => datagram_bytes <= unsigned(pair);
            when 6 => rejected <= pair_short;
            when others => null;
          end case;
          if rejected = '1' then
            in_udp <= '0';
          elsif at_end = '1' then
            in_udp <= '0';
            in_header <= '1';
            bounded <= '1';
            nothing_left <= udp_ends;
            located <= '1';
          end if;
        end if;

        if in_header = '1' then
          nothing_left <= bounded and udp_ends;
          if (index = 0 and s_tdata /= HEADER_MAGIC(15 downto 8))
            or (index = 1 and s_tdata /= HEADER_MAGIC(7 downto 0)) then
            magic_right <= '0';
          end if;
          case index is
            when 2 =>
              frame_repeats <= s_tdata(FLAG_REPEATING);
              version_right <= to_std_logic(s_tdata(7 downto 4) = HEADER_VERSION);
            when 3 =>
              stream_right <= not stream_known or to_std_logic(s_tdata = stream);
            when 7 =>
              word_request <= '1';
            when 15 =>
              lfsr_bytes <= unsigned(pair);
            when 16 =>
              lfsr_none <= to_std_logic(lfsr_bytes = 0);
              too_long <= to_std_logic(lfsr_bytes > MAX_LFSR_BYTES);
              content_start <= '1';
            when others =>
              null;
          end case;
          if at_end = '1' then
            in_header <= '0';
            in_content <= not lfsr_none;
            header_whole <= '1';
            content_whole <= lfsr_none;
          end if;
          if nothing_left = '1' then
            -- The datagram ends before the test header does.
            in_header <= '0';
            in_content <= '0';
            header_whole <= '0';
          end if;
        end if;

        if in_content = '1' then
          nothing_left <= bounded and udp_ends;
          if nothing_left = '1' then
            in_content <= '0';
          else
            content_valid <= '1';
            if content_ends = '1' then
              content_whole <= '1';
              in_content <= '0';
            end if;
          end if;
        end if;

        if in_number = '1' then
          number <= number(23 downto 0) & s_tdata;
        end if;

      end if;
      if rst = '1' or (s_tvalid = '1' and s_tlast = '1') then
        in_addresses <= '1';
        in_type <= '0';
        in_tag <= '0';
        in_ipv4 <= '0';
        in_ipv6 <= '0';
        in_udp <= '0';
        in_header <= '0';
        in_content <= '0';
        index <= 0;
        in_payload <= '0';
      end if;
      if begins = '1' then
        ours <= source_known;
        located <= '0';
        tags <= 0;
        payload <= (others => '0');
        bounded <= '0';
        nothing_left <= '0';
        header_whole <= '0';
        content_whole <= '0';
        magic_right <= '1';
      end if;
      if rst = '1' then
        ended <= '0';
        located <= '0';
        ipv4_late <= 62;
      end if;
    end if;
  end process;

  count : process (clk)
  begin
    if rising_edge(clk) then
      if s_tvalid = '1' then
        udp_at <= udp_at + 1;
        if in_udp = '0' and in_header = '0' and in_content = '0' then
          udp_at <= to_unsigned(1, 16);
        end if;
        lfsr_at <= lfsr_at + 1;
        if in_content = '0' and not (in_header = '1' and at_end = '1') then
          lfsr_at <= to_unsigned(1, 16);
        end if;
      end if;
    end if;
  end process;

  udp_ends <= to_std_logic(udp_at = datagram_bytes);

  -- Classifies the next byte. A byte that begins a section does not end one.
  foresee : process (clk)
  begin
    if rising_edge(clk) then
      if s_tvalid = '1' then
        at_end <= (in_addresses and to_std_logic(index = 10))
                  or ((in_type or in_tag) and to_std_logic(index = 0))
                  or (in_ipv4 and to_std_logic(index = ipv4_late))
                  or (in_ipv6 and to_std_logic(index = IPV6_BYTES - 2))
                  or (in_udp and to_std_logic(index = UDP_BYTES - 2))
                  or (in_header and to_std_logic(index = HEADER_BYTES - 2));
        if at_end = '1' or s_tlast = '1' then
          at_end <= '0';
        end if;
        is_first <= s_tlast;
        in_number <= in_header and to_std_logic(index >= 3 and index < 7) and not s_tlast;
        in_source <= in_addresses and to_std_logic(index >= ADDRESS_BYTES - 1);
        source_octet <= octet_in(source, source_at);
        if source_at = 0 then
          source_at <= ADDRESS_BYTES - 1;
        else
          source_at <= source_at - 1;
        end if;
        if s_tlast = '1' then
          source_at <= ADDRESS_BYTES - 2;
        end if;
        content_ends <= to_std_logic(lfsr_at = lfsr_bytes);
      end if;
      if rst = '1' then
        at_end <= '0';
        is_first <= '1';
        in_number <= '0';
        source_at <= ADDRESS_BYTES - 2;
      end if;
    end if;
  end process;

  -- The sum of the header with its checksum.
  add : process (clk)
    variable sum : unsigned(8 downto 0);
  begin
    if rising_edge(clk) then
      if s_tvalid = '1' and in_addresses = '1' then
        older <= x"00";
        newer <= x"00";
        carry <= "0";
      elsif s_tvalid = '1' and in_header = '1' then
        sum := resize(older, 9) + unsigned(s_tdata) + carry;
        older <= newer;
        newer <= sum(7 downto 0);
        carry <= sum(8 downto 8);
      end if;
    end if;
  end process;

  -- A correct header leaves no carry. With one, 0xFE and 0xFF also sum to all ones, but only if the other fields alone do; the
  -- checksum must then be 0.
  checksum_right <= to_std_logic(older = x"FF" and newer = x"FF" and carry = "0");

  -- The order of these is the precedence of spec/test-frame.md.
  judge : process (all)
  begin
    end_valid <= ended;
    end_payload <= std_logic_vector(payload);
    end_foreign <= '0';
    end_bad_header <= '0';
    end_truncated <= '0';
    end_too_long <= '0';
    end_whole <= '0';
    if located = '0' then
      end_foreign <= '1';
    elsif header_whole = '0' or magic_right = '0' then
      end_foreign <= not ours;
      end_bad_header <= ours;
    elsif checksum_right = '0' then
      end_bad_header <= '1';
    elsif version_right = '0' or stream_right = '0' then
      end_foreign <= '1';
    elsif content_whole = '0' then
      end_truncated <= '1';
    elsif too_long = '1' then
      end_too_long <= '1';
    else
      end_whole <= '1';
    end if;
  end process;
end architecture;
