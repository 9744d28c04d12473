-- Writes a test frame up to its LFSR part, byte by byte: addresses, tag, EtherType, IPv4 and UDP header, test header, and the
-- two checksums in them.
--
-- `position` counts through a frame with all parts; the generator skips the parts that its frames do not have. `octet` is
-- combinational from the registers of the first step; the generator registers it in the second. One adder sums both checksums
-- byte by byte (RFC 1071): that of the test header during the frame, that of the IPv4 header before the run. For the latter,
-- after a clock of `start`, `sum_ipv4` is 1 while `position` takes 20, 21, 28 to 37, 44 and 45.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ethernet_pkg.all;

entity header_writer is
  port (
    clk         : in  std_logic;
    rst         : in  std_logic;
    step        : in  std_logic;
    position    : in  std_logic_vector(5 downto 0);
    destination : in  std_logic_vector(47 downto 0);
    source      : in  std_logic_vector(47 downto 0);
    vlan_tci    : in  std_logic_vector(15 downto 0);
    udp         : in  std_logic;
    ipv4_from   : in  std_logic_vector(31 downto 0);
    ipv4_to     : in  std_logic_vector(31 downto 0);
    port_from   : in  std_logic_vector(15 downto 0);
    port_to     : in  std_logic_vector(15 downto 0);
    ipv4_bytes  : in  std_logic_vector(15 downto 0);
    udp_bytes   : in  std_logic_vector(15 downto 0);
    lfsr_bytes  : in  std_logic_vector(15 downto 0);
    stream      : in  std_logic_vector(7 downto 0);
    number      : in  std_logic_vector(31 downto 0);
    time_valid  : in  std_logic;
    time_ns     : in  std_logic_vector(47 downto 0);
    start       : in  std_logic;
    sum_ipv4    : in  std_logic;
    octet       : out std_logic_vector(7 downto 0)
  );
end entity;

architecture rtl of header_writer is
  -- Constant words of an IPv4 header: no options; do not fragment; time to live 64 and UDP. And their sum.
  constant IPV4_FIRST  : half_t := x"4500";
  constant IPV4_FLAGS  : half_t := x"4000";
  constant IPV4_TTL    : half_t := x"4011";
  constant IPV4_SUM    : half_t := x"C511";

  -- Byte `at` of sixteen: a tree of two-way selectors, which becomes much smaller than an indexed array.
  subtype sixteen_t is std_logic_vector(127 downto 0);
  function octet_at(octets : sixteen_t; at : std_logic_vector(3 downto 0)) return octet_t is
    variable v : sixteen_t := octets;
  begin
    if at(3) = '0' then
      v(63 downto 0) := v(127 downto 64);
    end if;
    if at(2) = '0' then
      v(31 downto 0) := v(63 downto 32);
    end if;
    if at(1) = '0' then
      v(15 downto 0) := v(31 downto 16);
    end if;
    if at(0) = '0' then
      v(7 downto 0) := v(15 downto 8);
    end if;
    return v(7 downto 0);
  end function;

  type quarters_t is array (0 to 3) of octet_t;
  signal header                 : std_logic_vector(511 downto 0);
  signal quarters               : quarters_t;
  signal quarter                : std_logic_vector(1 downto 0);
  signal plain                  : octet_t;
  signal ether_type             : half_t;
  signal ipv4_checksum          : half_t;
  -- The halves of the sum take turns, and the carry of one goes into the other. Two zeros after the last byte let the carries
  -- settle; then the adder gives the sum. A third carry would need a sum of 0xFFFF with a carry. Only adding 0xFFFF to such a
  -- sum gives that, and the first sum is 0.
  signal older, newer           : unsigned(7 downto 0);
  signal carry                  : unsigned(0 downto 0);
  signal sum                    : unsigned(8 downto 0);
  signal checksum               : octet_t;
  signal in_sum, at_checksum    : std_logic;
  signal of_ipv4                : std_logic;
begin
  ether_type <= TYPE_IPV4 when udp = '1' else TYPE_TEST;

  -- The adder supplies the test header's checksum. Until the IPv4 checksum is known, ipv4_checksum holds the constant sum.
  header <= destination & source & TPID_CUSTOMER & vlan_tci & ether_type
            & IPV4_FIRST & ipv4_bytes & x"0000" & IPV4_FLAGS & IPV4_TTL & ipv4_checksum & ipv4_from & ipv4_to
            & port_from & port_to & udp_bytes & x"0000"
            & HEADER_MAGIC & HEADER_VERSION & "000" & time_valid & stream & number & time_ns & lfsr_bytes & x"0000";

  plain <= quarters(to_integer(unsigned(quarter)));
  -- The bytes in the place of a checksum are 0: they need not be added.
  checksum <= not std_logic_vector(older + carry);
  octet <= checksum when at_checksum = '1' else plain;

  first_step : process (clk)
  begin
    if rising_edge(clk) then
      if step = '1' then
        for i in quarters'range loop
          quarters(i) <= octet_at(header(511 - 128 * i downto 384 - 128 * i), position(3 downto 0));
        end loop;
        quarter <= position(5 downto 4);
        in_sum <= sum_ipv4 or (position(5) and (position(4) or and position(3 downto 1)));
        at_checksum <= (sum_ipv4 and to_std_logic(position(5 downto 1) = "10110"))
                       or to_std_logic(position(5 downto 1) = "11111");
        of_ipv4 <= sum_ipv4;
      end if;
      if rst = '1' or start = '1' then
        in_sum <= '0';
        at_checksum <= '0';
        of_ipv4 <= '0';
      end if;
    end if;
  end process;

  sum <= resize(older, 9) + unsigned(plain) + carry;

  second_step : process (clk)
  begin
    if rising_edge(clk) then
      if step = '1' then
        older <= newer;
        newer <= sum(7 downto 0);
        carry <= sum(8 downto 8);
        if of_ipv4 = '1' and at_checksum = '1' then
          ipv4_checksum <= ipv4_checksum(7 downto 0) & checksum;
        end if;
      end if;
      if in_sum = '0' then
        older <= x"00";
        newer <= x"00";
        carry <= "0";
      end if;
      if rst = '1' or start = '1' then
        ipv4_checksum <= IPV4_SUM;
      end if;
    end if;
  end process;
end architecture;
