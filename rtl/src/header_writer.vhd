-- Everything of a test frame before its LFSR part, byte by byte: addresses, tag, EtherType, IPv4 and UDP header, test
-- header, and the two checksums in them.
--
-- `position` counts through a frame that has it all; the generator leaves out what its frames do not have. The byte
-- comes two steps later: `octet` is combinational from what the first step registered. Both checksums go through one
-- adder: `sum_ipv4` starts that of the IPv4 header, `sum_test` that of the test header, each is ready in 11 clocks.
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
    sum_ipv4    : in  std_logic;
    sum_test    : in  std_logic;
    octet       : out std_logic_vector(7 downto 0)
  );
end entity;

architecture rtl of header_writer is
  -- What the first word of an IPv4 header without options, its flags, time to live and protocol are: do not fragment, 64, UDP.
  constant IPV4_FIRST  : half_t := x"4500";
  constant IPV4_FLAGS  : half_t := x"4000";
  constant IPV4_TTL    : half_t := x"4011";

  -- Half number `at` of sixteen: a tree of two-way selectors, which becomes much smaller than an indexed array.
  subtype sixteen_t is std_logic_vector(255 downto 0);
  function half_of(halves : sixteen_t; at : std_logic_vector(3 downto 0)) return half_t is
    variable v : sixteen_t := halves;
  begin
    if at(3) = '0' then
      v(127 downto 0) := v(255 downto 128);
    end if;
    if at(2) = '0' then
      v(63 downto 0) := v(127 downto 64);
    end if;
    if at(1) = '0' then
      v(31 downto 0) := v(63 downto 32);
    end if;
    if at(0) = '0' then
      v(15 downto 0) := v(31 downto 16);
    end if;
    return v(15 downto 0);
  end function;

  signal header                 : std_logic_vector(511 downto 0);
  signal early, late            : half_t;
  signal in_late, second_octet  : std_logic;
  signal ether_type             : half_t;
  signal test_first             : half_t;
  signal ipv4_checksum          : half_t;
  signal test_checksum          : half_t;
  -- The adder: eight words, then two clocks for the carries.
  signal halves                 : sixteen_t;
  signal of_test, adding        : std_logic;
  signal count                  : natural range 0 to 10;
  signal half_number            : unsigned(3 downto 0);
  signal addend                 : half_t;
  signal total                  : unsigned(16 downto 0);
begin
  ether_type <= TYPE_IPV4 when udp = '1' else TYPE_TEST;
  test_first <= HEADER_VERSION & "000" & time_valid & stream;

  header <= destination & source & TPID_CUSTOMER & vlan_tci & ether_type
            & IPV4_FIRST & ipv4_bytes & x"0000" & IPV4_FLAGS & IPV4_TTL & ipv4_checksum & ipv4_from & ipv4_to
            & port_from & port_to & udp_bytes & x"0000"
            & HEADER_MAGIC & test_first & number & time_ns & lfsr_bytes & test_checksum;

  select_octet : process (all)
    variable half : half_t;
  begin
    half := early;
    if in_late = '1' then
      half := late;
    end if;
    octet <= half(15 downto 8);
    if second_octet = '1' then
      octet <= half(7 downto 0);
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      if step = '1' then
        early <= half_of(header(511 downto 256), position(4 downto 1));
        late <= half_of(header(255 downto 0), position(4 downto 1));
        in_late <= position(5);
        second_octet <= position(0);
      end if;
    end if;
  end process;

  halves <= HEADER_MAGIC & test_first & number & time_ns & lfsr_bytes
            & IPV4_FIRST & ipv4_bytes & IPV4_FLAGS & IPV4_TTL & ipv4_from & ipv4_to;

  process (clk)
  begin
    if rising_edge(clk) then
      if adding = '1' then
        total <= ('0' & total(15 downto 0)) + unsigned(addend) + total(16 downto 16);
        addend <= (others => '0');
        if count < 7 then
          addend <= half_of(halves, std_logic_vector(half_number));
          half_number <= half_number + 1;
        end if;
        if count /= 10 then
          count <= count + 1;
        else
          adding <= '0';
          if of_test = '1' then
            test_checksum <= not std_logic_vector(total(15 downto 0));
          else
            ipv4_checksum <= not std_logic_vector(total(15 downto 0));
          end if;
        end if;
      elsif sum_ipv4 = '1' or sum_test = '1' then
        adding <= '1';
        of_test <= sum_test;
        count <= 0;
        total <= (others => '0');
        if sum_test = '1' then
          addend <= HEADER_MAGIC;
          half_number <= x"1";
        else
          addend <= IPV4_FIRST;
          half_number <= x"9";
        end if;
      end if;
      if rst = '1' then
        adding <= '0';
        count <= 0;
        half_number <= x"0";
        ipv4_checksum <= (others => '0');
        test_checksum <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
