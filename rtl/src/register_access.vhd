-- Connects AXI4-Lite to the bus of a register block, one access at a time, with registers on both sides.
--
-- PeakRDL's AXI4-Lite interface buffers four responses, and arbitrates, decodes and answers an access within a clock. Here the
-- block has a whole clock for decoding, and a CPU waits no longer for a single access. Competing reads and writes take turns.
-- The block's bus is PeakRDL's "passthrough": a request lasts one clock.
library ieee;
use ieee.std_logic_1164.all;

entity register_access is
  generic (ADDRESS_BITS : natural := 11);
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    s_axil_awvalid : in  std_logic;
    s_axil_awready : out std_logic;
    s_axil_awaddr  : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    s_axil_awprot  : in  std_logic_vector(2 downto 0);
    s_axil_wvalid  : in  std_logic;
    s_axil_wready  : out std_logic;
    s_axil_wdata   : in  std_logic_vector(31 downto 0);
    s_axil_wstrb   : in  std_logic_vector(3 downto 0);
    s_axil_bvalid  : out std_logic;
    s_axil_bready  : in  std_logic;
    s_axil_bresp   : out std_logic_vector(1 downto 0);
    s_axil_arvalid : in  std_logic;
    s_axil_arready : out std_logic;
    s_axil_araddr  : in  std_logic_vector(ADDRESS_BITS - 1 downto 0);
    s_axil_arprot  : in  std_logic_vector(2 downto 0);
    s_axil_rvalid  : out std_logic;
    s_axil_rready  : in  std_logic;
    s_axil_rdata   : out std_logic_vector(31 downto 0);
    s_axil_rresp   : out std_logic_vector(1 downto 0);
    -- The block.
    request        : out std_logic;
    is_write       : out std_logic;
    address        : out std_logic_vector(ADDRESS_BITS - 1 downto 0);
    write_data     : out std_logic_vector(31 downto 0);
    write_bits     : out std_logic_vector(31 downto 0);
    read_done      : in  std_logic;
    read_error     : in  std_logic;
    read_data      : in  std_logic_vector(31 downto 0);
    write_done     : in  std_logic;
    write_error    : in  std_logic
  );
end entity;

architecture rtl of register_access is
  type state_t is (IDLE, ASKED, ANSWERED);
  signal state      : state_t;
  signal wrote      : std_logic;
  signal strobes    : std_logic_vector(3 downto 0);
  signal refused    : std_logic;
  signal taken      : std_logic;
  signal ask_read   : std_logic;
  signal ask_write  : std_logic;
  signal answering  : std_logic_vector(1 downto 0);
begin
  -- Address and data of a write are taken together, and only after the previous access has been answered.
  ask_write <= s_axil_awvalid and s_axil_wvalid and not (s_axil_arvalid and wrote);
  ask_read  <= s_axil_arvalid and not ask_write;

  s_axil_bvalid <= answering(1);
  s_axil_rvalid <= answering(0);
  s_axil_bresp  <= refused & '0';
  s_axil_rresp  <= refused & '0';
  is_write      <= wrote;
  taken         <= (answering(1) and s_axil_bready) or (answering(0) and s_axil_rready);

  bits_of : for byte in 0 to 3 generate
    write_bits(8 * byte + 7 downto 8 * byte) <= (others => strobes(byte));
  end generate;

  accessing : process (clk)
  begin
    if rising_edge(clk) then
      request        <= '0';
      s_axil_arready <= '0';
      s_axil_awready <= '0';
      s_axil_wready  <= '0';
      case state is
        when IDLE =>
          -- A valid signal holds until it is taken, in the next clock.
          if ask_write = '1' or ask_read = '1' then
            request        <= '1';
            wrote          <= ask_write;
            s_axil_arready <= ask_read;
            s_axil_awready <= ask_write;
            s_axil_wready  <= ask_write;
            state          <= ASKED;
          end if;
          if ask_write = '1' then
            address <= s_axil_awaddr;
          else
            address <= s_axil_araddr;
          end if;
          write_data <= s_axil_wdata;
          strobes    <= s_axil_wstrb;
        when ASKED =>
          s_axil_rdata <= read_data;
          refused      <= (write_done and write_error) or (read_done and read_error);
          if write_done = '1' or read_done = '1' then
            answering <= wrote & not wrote;
            state     <= ANSWERED;
          end if;
        when others =>
          if taken = '1' then
            answering <= "00";
            state     <= IDLE;
          end if;
      end case;
      if rst = '1' then
        request        <= '0';
        s_axil_arready <= '0';
        s_axil_awready <= '0';
        s_axil_wready  <= '0';
        wrote          <= '0';
        answering      <= "00";
        state          <= IDLE;
      end if;
    end if;
  end process;
end architecture;
