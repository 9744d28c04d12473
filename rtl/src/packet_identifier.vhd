-- The packet identifier: decides, while a frame still arrives, whether an application wants it at once.
--
-- It reads the bytes of mac_rx's tap. Rules have the meaning of `Rule` in crates/wire/src/rule.rs for every frame, also a short
-- or damaged one. The verdict is out as soon as the headers are read; it assumes that the frame is as long as they say. The
-- result at the end of the frame includes its actual length. docs/blocks/packet_identifier.md has the ports.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.ethernet_pkg.all;

entity packet_identifier is
  generic (
    RULES     : natural := 4;
    -- UDP ports that rules may ask for.
    PORTS     : natural := 4;
    -- Own IP addresses.
    ADDRESSES : natural := 2
  );
  port (
    clk        : in  std_logic;
    rst        : in  std_logic;
    tap_tdata  : in  std_logic_vector(7 downto 0);
    tap_tvalid : in  std_logic;
    tap_start  : in  std_logic;
    tap_end    : in  std_logic;
    own_mac    : in  std_logic_vector(47 downto 0);
    -- 128 bits each, the first in the low bits; those of IPv4 mapped into IPv6 (::ffff:a.b.c.d).
    address_enable      : in  std_logic_vector(ADDRESSES - 1 downto 0);
    own_addresses       : in  std_logic_vector(128 * ADDRESSES - 1 downto 0);
    -- A rule wants a frame if all its conditions hold; the first rule is in the low bits of all these.
    rule_enable         : in  std_logic_vector(RULES - 1 downto 0);
    rule_asks_own       : in  std_logic_vector(RULES - 1 downto 0);
    rule_asks_type      : in  std_logic_vector(RULES - 1 downto 0);
    rule_asks_protocol  : in  std_logic_vector(RULES - 1 downto 0);
    rule_asks_priority  : in  std_logic_vector(RULES - 1 downto 0);
    -- A bit for each of udp_ports, any of which suffices; a rule without one also takes frames without UDP.
    rule_asks_port      : in  std_logic_vector(RULES * PORTS - 1 downto 0);
    rule_type           : in  std_logic_vector(16 * RULES - 1 downto 0);
    rule_protocol       : in  std_logic_vector(8 * RULES - 1 downto 0);
    rule_priority       : in  std_logic_vector(3 * RULES - 1 downto 0);
    udp_ports           : in  std_logic_vector(16 * PORTS - 1 downto 0);
    -- Bits of the port that must match; all ones for one port.
    udp_port_masks      : in  std_logic_vector(16 * PORTS - 1 downto 0);
    -- From the clock in which the headers are read until the next frame: whether any rule wants it.
    decided       : out std_logic;
    wanted        : out std_logic;
    -- One clock, three after tap_end; the other two hold until the next.
    result_valid  : out std_logic;
    result_wanted : out std_logic;
    result_rules  : out std_logic_vector(RULES - 1 downto 0)
  );
end entity;

architecture rtl of packet_identifier is
  type octets_t is array (natural range <>) of octet_t;

  -- State from the bytes so far. One of the first five is set while headers are read; `place` is the byte within this layer.
  -- One flip-flop each: a layer number would depend on the conditions of all layers.
  signal in_ethernet, in_tag, in_ipv4, in_ipv6, in_udp : std_logic;
  signal in_header    : std_logic;
  signal begun        : std_logic;
  signal place        : natural range 0 to 63;
  signal tags         : natural range 0 to 2;
  signal mac_same     : std_logic;
  -- The previous byte.
  signal high_byte    : octet_t;
  -- It is the high byte of such an EtherType.
  signal high_of_service, high_of_customer, high_of_ipv4, high_of_ipv6 : std_logic;
  signal begins       : std_logic;
  signal ether_type   : half_t;
  signal typed        : std_logic;
  -- Bytes since the EtherType: once there are four, the EtherType was not part of the FCS.
  signal since_type   : natural range 0 to FCS_BYTES;
  signal is_ip, is_ipv6 : std_logic;
  signal has_priority : std_logic;
  signal tag_priority : std_logic_vector(2 downto 0);
  -- The byte before the last one of an IPv4 header.
  signal header_late  : natural range 0 to 63;
  signal header_read  : std_logic;
  signal header_fault : std_logic;
  -- Bytes that the frame still needs for its whole packet and the FCS; its values one and two bytes ago. IPv4: the length is
  -- read after four bytes of the packet, and the FCS adds four. IPv6: the length counts from the end of the header; the first
  -- four bytes there are not counted, for the FCS.
  signal missing      : unsigned(15 downto 0);
  signal missing_one, missing_two : unsigned(15 downto 0);
  signal uncounted    : natural range 0 to FCS_BYTES;
  signal tells_size   : std_logic;
  -- Properties of the next byte, computed one byte ahead: `place` has a high fan-out, and decoding it takes long.
  signal in_mac       : std_logic;
  signal mac_octet    : octet_t;
  signal ends_type, ends_ip : std_logic;
  signal is_port_high, is_port_low : std_logic;
  -- An IPv4 header that ends with the next byte is longer than its packet.
  signal over_packet  : std_logic;
  -- The header checksum (RFC 1071), byte by byte: the halves of the sum take turns, and the carry of one goes into the
  -- other.
  signal sum_older, sum_newer : unsigned(7 downto 0);
  signal sum_carry    : unsigned(0 downto 0);
  signal protocol     : octet_t;
  signal is_udp       : std_logic;
  -- The next byte of each own address, fetched with the byte before it.
  signal address_at    : unsigned(3 downto 0);
  signal address_octet : octets_t(ADDRESSES - 1 downto 0);
  signal address_same : std_logic_vector(ADDRESSES - 1 downto 0);
  signal address_fetched, address_begun : std_logic;
  signal address_zeros, address_ones : std_logic;
  signal address_value : octet_t;
  signal udp_size     : unsigned(15 downto 0);
  -- The UDP length is complete: for one clock, and from then on.
  signal udp_comes, udp_read : std_logic;
  -- A byte of a port differs, found a clock before port_same uses it; enough clocks remain before the headers end.
  signal port_differs, port_same : std_logic_vector(PORTS - 1 downto 0);

  -- A header byte is compared, and the result is judged a clock later. After the headers nothing changes until the frame ends.
  signal comparing, judging : std_logic;

  -- Facts about the bytes, one clock later.
  signal ended        : std_logic;
  signal facts_done, facts_end : std_logic;
  signal found, ip_good, udp_good, is_own : std_logic;
  signal type_same, protocol_same, priority_same, udp_same : std_logic_vector(RULES - 1 downto 0);

  -- The rules that match, two clocks later.
  signal hits         : std_logic_vector(RULES - 1 downto 0);
  signal hits_done, hits_end : std_logic;

  -- Byte `index` of an address, the first one on the left.
  function octet_of(address : std_logic_vector(127 downto 0); index : unsigned(3 downto 0)) return octet_t is
    variable eight : std_logic_vector(63 downto 0);
    variable four  : std_logic_vector(31 downto 0);
    variable two   : std_logic_vector(15 downto 0);
  begin
    eight := address(127 downto 64);
    if index(3) = '1' then
      eight := address(63 downto 0);
    end if;
    four := eight(63 downto 32);
    if index(2) = '1' then
      four := eight(31 downto 0);
    end if;
    two := four(31 downto 16);
    if index(1) = '1' then
      two := four(15 downto 0);
    end if;
    if index(0) = '1' then
      return two(7 downto 0);
    end if;
    return two(15 downto 8);
  end function;
begin
  read_headers : process (clk)
    variable kind : half_t;
    variable sum  : unsigned(8 downto 0);

    procedure compare_ports is
      variable port_octet, mask : octet_t;
    begin
      for i in port_same'range loop
        port_octet := octet_in(udp_ports, 2 * i);
        mask       := octet_in(udp_port_masks, 2 * i);
        if is_port_high = '1' then
          port_octet := octet_in(udp_ports, 2 * i + 1);
          mask       := octet_in(udp_port_masks, 2 * i + 1);
        end if;
        if ((tap_tdata xor port_octet) and mask) /= x"00" then
          port_differs(i) <= '1';
        end if;
      end loop;
    end procedure;
  begin
    if rising_edge(clk) then
      udp_comes    <= '0';
      port_differs <= (others => '0');
      port_same    <= port_same and not port_differs;
      if rst = '1' then
        in_ethernet  <= '0';
        in_tag       <= '0';
        in_ipv4      <= '0';
        in_ipv6      <= '0';
        in_udp       <= '0';
        begun        <= '0';
        ends_type    <= '0';
        ends_ip      <= '0';
        place        <= 0;
        tags         <= 0;
        mac_same     <= '0';
        high_byte    <= (others => '0');
        ether_type   <= (others => '0');
        typed        <= '0';
        since_type   <= 0;
        is_ip        <= '0';
        is_ipv6      <= '0';
        has_priority <= '0';
        tag_priority <= (others => '0');
        header_late  <= 63;
        header_read  <= '0';
        header_fault <= '0';
        sum_older    <= (others => '0');
        sum_newer    <= (others => '0');
        sum_carry    <= "0";
        protocol     <= (others => '0');
        udp_size     <= (others => '0');
        udp_read     <= '0';
        port_same    <= (others => '0');
      elsif tap_tvalid = '1' and tap_start = '1' then
        in_ethernet  <= '1';
        in_tag       <= '0';
        in_ipv4      <= '0';
        in_ipv6      <= '0';
        in_udp       <= '0';
        begun        <= '1';
        place        <= 1;
        in_mac       <= '1';
        mac_octet    <= octet_in(own_mac, 4);
        ends_type    <= '0';
        ends_ip      <= '0';
        is_port_high <= '0';
        is_port_low  <= '0';
        tags         <= 0;
        mac_same     <= to_std_logic(tap_tdata = own_mac(47 downto 40));
        typed        <= '0';
        since_type   <= 0;
        is_ip        <= '0';
        is_ipv6      <= '0';
        has_priority <= '0';
        header_read  <= '0';
        header_fault <= '0';
        sum_older    <= (others => '0');
        sum_newer    <= (others => '0');
        sum_carry    <= "0";
        udp_read     <= '0';
        port_same    <= (others => '1');
      elsif tap_tvalid = '1' then
        -- It wraps when no header is read any more.
        place        <= (place + 1) mod 64;
        if ends_type = '1' or ends_ip = '1' then
          place <= 0;
        end if;
        in_mac       <= in_mac and to_std_logic(place /= ADDRESS_BYTES - 1);
        ends_type    <= (in_ethernet and to_std_logic(place = 12)) or (in_tag and to_std_logic(place = 2));
        ends_ip      <= (in_ipv4 and to_std_logic(place = header_late)) or (in_ipv6 and to_std_logic(place = IPV6_BYTES - 2));
        is_port_high <= in_udp and to_std_logic(place = 1);
        is_port_low  <= is_port_high;
        if typed = '1' and since_type < FCS_BYTES then
          since_type <= since_type + 1;
        end if;
        high_byte <= tap_tdata;
        high_of_service  <= to_std_logic(tap_tdata = TPID_SERVICE(15 downto 8));
        high_of_customer <= to_std_logic(tap_tdata = TPID_CUSTOMER(15 downto 8));
        high_of_ipv4     <= to_std_logic(tap_tdata = TYPE_IPV4(15 downto 8));
        high_of_ipv6     <= to_std_logic(tap_tdata = TYPE_IPV6(15 downto 8));
        kind := high_byte & tap_tdata;
        mac_octet <= octet_in(own_mac, (4 - place) mod 4);
        if (in_ipv4 = '1' and place = 9) or (in_ipv6 = '1' and place = 6) then
          protocol     <= tap_tdata;
          is_udp   <= to_std_logic(tap_tdata = PROTOCOL_UDP);
        end if;
        if in_mac = '1' and tap_tdata /= mac_octet then
          mac_same <= '0';
        end if;
        if is_port_high = '1' or is_port_low = '1' then
          compare_ports;
        end if;
        if in_tag = '1' and place = 0 and tags = 1 then
          has_priority <= '1';
          tag_priority <= tap_tdata(7 downto 5);
        end if;
        if ends_type = '1' then
          ether_type  <= kind;
          in_ethernet <= '0';
          in_tag      <= '0';
          if ((high_of_customer = '1' and tap_tdata = TPID_CUSTOMER(7 downto 0))
              or (high_of_service = '1' and tap_tdata = TPID_SERVICE(7 downto 0))) and tags < 2 then
            tags   <= tags + 1;
            in_tag <= '1';
          else
            typed <= '1';
          end if;
          if high_of_ipv4 = '1' and tap_tdata = TYPE_IPV4(7 downto 0) then
            is_ip   <= '1';
            in_ipv4 <= '1';
          end if;
          if high_of_ipv6 = '1' and tap_tdata = TYPE_IPV6(7 downto 0) then
            is_ip   <= '1';
            is_ipv6 <= '1';
            in_ipv6 <= '1';
          end if;
        end if;

        if in_ipv4 = '1' then
          sum       := resize(sum_older, 9) + unsigned(tap_tdata) + sum_carry;
          sum_older <= sum_newer;
          sum_newer <= sum(7 downto 0);
          sum_carry <= sum(8 downto 8);
          case place is
            when 0 =>
              header_late <= to_integer((unsigned(tap_tdata(3 downto 0)) - 1) & "10");
              if tap_tdata(7 downto 4) /= x"4" or unsigned(tap_tdata(3 downto 0)) < 5 then
                header_fault <= '1';
                in_ipv4      <= '0';
              end if;
            when 6 | 7 =>
              -- More fragments, or an offset. "Don't fragment" is allowed.
              if (place = 6 and tap_tdata(5 downto 0) /= "000000") or (place = 7 and tap_tdata /= x"00") then
                header_fault <= '1';
              end if;
            when others => null;
          end case;
          if ends_ip = '1' and over_packet = '1' then
            header_fault <= '1';
          end if;
        end if;

        if in_ipv6 = '1' and place = 0 and tap_tdata(7 downto 4) /= x"6" then
          header_fault <= '1';
          in_ipv6      <= '0';
        end if;

        -- After an IP header, only UDP is read.
        if ends_ip = '1' then
          in_ipv4     <= '0';
          in_ipv6     <= '0';
          in_udp      <= is_udp;
          header_read <= '1';
        end if;

        if in_udp = '1' and place = 5 then
          udp_size  <= unsigned(kind);
          udp_comes <= '1';
          udp_read  <= '1';
          in_udp    <= '0';
        end if;
      end if;
    end if;
  end process;

  begins     <= tap_tvalid and tap_start;
  tells_size <= (in_ipv4 and to_std_logic(place = 3)) or (in_ipv6 and to_std_logic(place = 5));
  in_header  <= in_ethernet or in_tag or in_ipv4 or in_ipv6 or in_udp;

  count_missing : process (clk)
  begin
    if rising_edge(clk) then
      if tap_tvalid = '1' then
        missing_one <= missing;
        missing_two <= missing_one;
        -- A packet that ends with its header needs six bytes here: the last two of the header and the FCS.
        over_packet <= to_std_logic(missing(15 downto 3) = 0 and missing(2 downto 1) /= "11");
        -- IPv4: four bytes of the packet have arrived, and the FCS adds four.
        if tells_size = '1' then
          missing <= unsigned(std_logic_vector'(high_byte & tap_tdata));
        elsif in_ipv6 = '0' and uncounted = 0 and missing /= 0 then
          missing <= missing - 1;
        end if;
        if tells_size = '1' and in_ipv6 = '1' then
          uncounted <= FCS_BYTES;
        elsif in_ipv6 = '0' and uncounted /= 0 then
          uncounted <= uncounted - 1;
        end if;
      end if;
      if rst = '1' or begins = '1' then
        missing   <= (others => '0');
        uncounted <= 0;
      end if;
    end if;
  end process;

  -- An address of IPv4 is compared as the one of IPv6 that it maps to: ten zeros and two ones come before it.
  address_value <= x"00" when address_zeros = '1' else
                   x"FF" when address_ones = '1' else
                   tap_tdata;

  compare_addresses : process (clk)
  begin
    if rising_edge(clk) then
      if tap_tvalid = '1' then
        address_begun <= address_fetched;
        -- IPv4: from byte 3 on; the zeros end with byte 13, the ones with byte 15. IPv6: from byte 23 on.
        if in_ipv4 = '1' then
          case place is
            when 2 =>
              address_fetched <= '1';
              address_zeros   <= '1';
              address_ones    <= '1';
            when 13 => address_zeros <= '0';
            when 15 => address_ones <= '0';
            when 19 => address_fetched <= '0';
            when others => null;
          end case;
        elsif in_ipv6 = '1' and (place = 22 or place = IPV6_BYTES - 1) then
          address_fetched <= to_std_logic(place = 22);
        end if;
        if address_fetched = '1' then
          address_at <= address_at + 1;
        end if;
        for i in address_octet'range loop
          address_octet(i) <= octet_of(own_addresses(128 * i + 127 downto 128 * i), address_at);
          if address_fetched = '1' and address_begun = '1' and address_value /= address_octet(i) then
            address_same(i) <= '0';
          end if;
        end loop;
      end if;
      if rst = '1' or begins = '1' then
        address_begun   <= '0';
        address_fetched <= '0';
        address_zeros   <= '0';
        address_ones    <= '0';
        address_at      <= x"0";
        address_same    <= (others => '1');
      end if;
    end if;
  end process;

  know : process (clk)
    variable over  : std_logic;
    variable whole : boolean;
    variable good  : boolean;
    variable own   : std_logic;
  begin
    if rising_edge(clk) then
      -- Until its end a frame counts as whole.
      over  := tap_end or ended;
      ended <= over and not tap_tvalid and not rst;
      whole := over = '0' or (missing = 0 and uncounted = 0);
      good  := header_read = '1' and header_fault = '0' and whole;
      if is_ipv6 = '0' then
        good := good and sum_newer = x"FF"
                and ((sum_carry = "0" and sum_older = x"FF") or (sum_carry = "1" and sum_older = x"FE"));
      end if;
      own := '0';
      for i in address_same'range loop
        own := own or (address_same(i) and address_enable(i));
      end loop;

      comparing  <= rst or (tap_tvalid and (tap_start or in_header));
      judging    <= rst or comparing or tap_end;
      facts_done <= (begun and not in_header) or over;
      facts_end  <= tap_end and not rst;
      if comparing = '1' or tap_end = '1' then
        found   <= typed and (not over or to_std_logic(since_type = FCS_BYTES));
        ip_good <= is_ip and to_std_logic(good);
        is_own  <= mac_same and (not is_ip or (own and to_std_logic(good)));
      end if;
      if comparing = '1' then
        -- `missing` includes the FCS, and six bytes of UDP are read: two bytes ago it was the length of the IP payload.
        if udp_read = '0' then
          udp_good <= '0';
        elsif udp_comes = '1' then
          udp_good <= to_std_logic(udp_size >= UDP_BYTES and udp_size <= missing_two);
        end if;
        for i in rule_enable'range loop
          type_same(i)     <= to_std_logic(ether_type = rule_type(16 * i + 15 downto 16 * i));
          protocol_same(i) <= to_std_logic(protocol = octet_in(rule_protocol, i));
          priority_same(i) <= has_priority and to_std_logic(tag_priority = rule_priority(3 * i + 2 downto 3 * i));
          udp_same(i)      <= or (port_same
                                  and rule_asks_port(PORTS * i + PORTS - 1 downto PORTS * i));
        end loop;
      end if;
    end if;
  end process;

  judge : process (clk)
  begin
    if rising_edge(clk) then
      if judging = '1' then
        for i in hits'range loop
          hits(i) <= rule_enable(i) and found
                     and (type_same(i) or not rule_asks_type(i))
                     and (priority_same(i) or not rule_asks_priority(i))
                     and ((protocol_same(i) and ip_good) or not rule_asks_protocol(i))
                     and ((udp_same(i) and udp_good and ip_good)
                          or not (or rule_asks_port(PORTS * i + PORTS - 1 downto PORTS * i)))
                     and (is_own or not rule_asks_own(i));
        end loop;
      end if;
      hits_done    <= facts_done and not rst;
      hits_end     <= facts_end and not rst;
      decided      <= hits_done and not rst;
      wanted       <= hits_done and (or hits) and not rst;
      result_valid <= hits_end and not rst;
      if rst = '1' then
        result_wanted <= '0';
        result_rules  <= (others => '0');
      elsif hits_end = '1' then
        result_wanted <= or hits;
        result_rules  <= hits;
      end if;
    end if;
  end process;
end architecture;
