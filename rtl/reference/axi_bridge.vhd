-- From the CPU's bus to a port's registers behind AXI4-Lite; while the port's clock is stopped, accesses are refused.
--
-- The port's clock, while it runs, has the edges of `clk`. The port is in reset while its clock is stopped and for RESET_CLOCKS
-- after that; an access then waits. All signals of the port's bus change with its clock.
library ieee;
use ieee.std_logic_1164.all;

entity axi_bridge is
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    port_clk       : in  std_logic;
    -- The port's clock runs; it may stop while no access waits.
    running        : in  std_logic;
    port_rst       : out std_logic;
    -- A request holds until its answer, one clock. Refused: nothing was read or written.
    s_request      : in  std_logic;
    s_write        : in  std_logic;
    s_address      : in  std_logic_vector(8 downto 0);
    s_wdata        : in  std_logic_vector(31 downto 0);
    s_answer       : out std_logic;
    s_refused      : out std_logic;
    s_rdata        : out std_logic_vector(31 downto 0);
    -- The registers.
    m_axil_awvalid : out std_logic;
    m_axil_awready : in  std_logic;
    m_axil_addr    : out std_logic_vector(10 downto 0);
    m_axil_wvalid  : out std_logic;
    m_axil_wready  : in  std_logic;
    m_axil_wdata   : out std_logic_vector(31 downto 0);
    m_axil_bvalid  : in  std_logic;
    m_axil_bresp   : in  std_logic_vector(1 downto 0);
    m_axil_arvalid : out std_logic;
    m_axil_arready : in  std_logic;
    m_axil_rvalid  : in  std_logic;
    m_axil_rdata   : in  std_logic_vector(31 downto 0);
    m_axil_rresp   : in  std_logic_vector(1 downto 0)
  );
end entity;

architecture rtl of axi_bridge is
  -- Enough to reset PeakRDL's block and the blocks behind it.
  constant RESET_CLOCKS : natural := 8;

  signal waiting, answer, refused : std_logic;
  signal refuses                  : std_logic;
  signal warming                  : natural range 0 to RESET_CLOCKS;
  signal cold                     : std_logic;
  signal word                     : std_logic_vector(31 downto 0);
begin
  -- Before the port's reset, the registers of its clock are not valid.
  s_answer  <= (answer and not cold) or refuses;
  s_refused <= (refused and not cold) or refuses;
  s_rdata   <= word when cold = '0' else (others => '0');
  cold      <= '0' when warming = 0 else '1';
  port_rst  <= cold;

  process (clk)
  begin
    if rising_edge(clk) then
      refuses <= s_request and not running and not refuses;
      if warming /= 0 then
        warming <= warming - 1;
      end if;
      if rst = '1' or running = '0' then
        warming <= RESET_CLOCKS;
      end if;
      if rst = '1' then
        refuses <= '0';
      end if;
    end if;
  end process;

  process (port_clk)
  begin
    if rising_edge(port_clk) then
      answer  <= '0';
      refused <= '0';
      word    <= (others => '0');
      if m_axil_awready = '1' then
        m_axil_awvalid <= '0';
      end if;
      if m_axil_wready = '1' then
        m_axil_wvalid <= '0';
      end if;
      if m_axil_arready = '1' then
        m_axil_arvalid <= '0';
      end if;
      if waiting = '1' and m_axil_rvalid = '1' then
        waiting <= '0';
        answer  <= '1';
        word    <= m_axil_rdata;
        refused <= m_axil_rresp(1);
      elsif waiting = '1' and m_axil_bvalid = '1' then
        waiting <= '0';
        answer  <= '1';
        refused <= m_axil_bresp(1);
      elsif waiting = '0' and answer = '0' and s_request = '1' and refuses = '0' then
        waiting        <= '1';
        m_axil_addr    <= s_address & "00";
        m_axil_wdata   <= s_wdata;
        m_axil_awvalid <= s_write;
        m_axil_wvalid  <= s_write;
        m_axil_arvalid <= not s_write;
      end if;
      if cold = '1' then
        waiting        <= '0';
        answer         <= '0';
        refused        <= '0';
        m_axil_awvalid <= '0';
        m_axil_wvalid  <= '0';
        m_axil_arvalid <= '0';
        m_axil_addr    <= (others => '0');
        m_axil_wdata   <= (others => '0');
        word           <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
