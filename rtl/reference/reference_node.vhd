-- The reference node: a RISC-V CPU with memory and a MAC for 100 Mbit/s, of 100 MHz, whose bus and MAC are chosen by straps.
--
-- Line 0 is the node's: capture unit and packet identifier look at it. The CPU is Verilog (riscv_cpu.v). Addresses and
-- registers are those of rtl/registers/reference_node.rdl. docs/reference-node.md tells about the whole.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity reference_node is
  generic (
    -- Of a word of the memory: 18 make 1 MiB.
    RAM_BITS : natural := 18
  );
  port (
    clk            : in  std_logic;
    -- While it is 1, the loader fills the memory, and everything else waits.
    rst            : in  std_logic;
    -- Straps, which stay as they are.
    attachment     : in  std_logic_vector(1 downto 0);
    fast_track     : in  std_logic;
    loopback_1     : in  std_logic;
    reading        : in  std_logic_vector(7 downto 0);
    writing        : in  std_logic_vector(7 downto 0);
    load_enable    : in  std_logic;
    load_address   : in  std_logic_vector(RAM_BITS - 1 downto 0);
    load_data      : in  std_logic_vector(31 downto 0);
    -- Line 0: a byte is taken, and the next one shown, at the end of a clock with line_ce, which is each eighth one.
    line_ce        : out std_logic;
    rxd            : in  std_logic_vector(7 downto 0);
    rx_dv          : in  std_logic;
    rx_er          : in  std_logic;
    txd            : out std_logic_vector(7 downto 0);
    tx_en          : out std_logic;
    tx_er          : out std_logic;
    -- Bytes of the debug link.
    uart_out_data  : out std_logic_vector(7 downto 0);
    uart_out_valid : out std_logic;
    uart_out_ready : in  std_logic;
    uart_in_data   : in  std_logic_vector(7 downto 0);
    uart_in_valid  : in  std_logic;
    uart_in_ready  : out std_logic;
    -- The program has ended; the CPU has left its memory (sticky).
    exited         : out std_logic;
    exit_status    : out std_logic_vector(31 downto 0);
    trap           : out std_logic
  );
end entity;

architecture rtl of reference_node is
  component riscv_cpu is
    port (
      clk          : in  std_logic;
      rst          : in  std_logic;
      interrupts   : in  std_logic_vector(31 downto 0);
      code_request : out std_logic;
      code_burst   : out std_logic;
      code_address : out std_logic_vector(29 downto 0);
      code_answer  : in  std_logic;
      code_rdata   : in  std_logic_vector(31 downto 0);
      data_request : out std_logic;
      data_write   : out std_logic;
      data_burst   : out std_logic;
      data_address : out std_logic_vector(29 downto 0);
      data_wdata   : out std_logic_vector(31 downto 0);
      data_bytes   : out std_logic_vector(3 downto 0);
      data_answer  : in  std_logic;
      data_rdata   : in  std_logic_vector(31 downto 0)
    );
  end component;

  -- A frame with a tag and its FCS.
  constant MAX_FRAME  : std_logic_vector(13 downto 0) := std_logic_vector(to_unsigned(1522, 14));
  -- Of IEEE Std 802.3, in bytes.
  constant GAP        : std_logic_vector(7 downto 0) := x"0C";
  constant ORDERED    : std_logic_vector(1 downto 0) := "01";
  constant DMA        : std_logic_vector(1 downto 0) := "10";

  -- The CPU's buses.
  signal interrupts                           : std_logic_vector(31 downto 0);
  signal fetch_request, fetch_burst           : std_logic;
  signal fetch_address                        : std_logic_vector(29 downto 0);
  signal fetch_answer, fetch_astray           : std_logic;
  signal fetch_rdata                          : std_logic_vector(31 downto 0);
  signal bus_request, bus_write, bus_burst    : std_logic;
  signal bus_address                          : std_logic_vector(29 downto 0);
  signal bus_wdata, bus_rdata                 : std_logic_vector(31 downto 0);
  signal bus_bytes                            : std_logic_vector(3 downto 0);
  signal bus_answer                           : std_logic;
  signal place                                : std_logic_vector(13 downto 0);
  signal fault                                : std_logic;
  signal fault_address                        : std_logic_vector(29 downto 0);

  -- The memory and who asks for it.
  signal ram_fetch, ram_fetch_answer          : std_logic;
  signal ram_bus, ram_bus_answer              : std_logic;
  signal ram_request, ram_write, ram_burst    : std_logic;
  signal ram_address                          : std_logic_vector(RAM_BITS - 1 downto 0);
  signal ram_wdata, ram_rdata                 : std_logic_vector(31 downto 0);
  signal ram_bytes                            : std_logic_vector(3 downto 0);
  signal ram_answer                           : std_logic;

  -- The blocks with registers.
  signal at_system, at_capture, at_identifier : std_logic;
  signal system_rdata, capture_rdata          : std_logic_vector(31 downto 0);
  signal identifier_rdata, slot_rdata         : std_logic_vector(31 downto 0);
  signal slot_request, slot_answer, at_slot   : std_logic;
  signal posted                               : std_logic;
  signal irq                                  : std_logic_vector(2 downto 0);
  signal mac_irq, slot_irq                    : std_logic;

  -- Line 0.
  signal line_step                            : natural range 0 to 7;
  signal line_enable, line_tx_en              : std_logic;
  signal in_tdata, tap_tdata                  : std_logic_vector(7 downto 0);
  signal in_tvalid, in_tlast, in_tuser        : std_logic;
  signal in_bad_fcs, in_rx_error              : std_logic;
  signal in_runt, in_oversize                 : std_logic;
  signal tap_tvalid, tap_start, tap_end       : std_logic;
  signal wanted, result_valid, result_wanted  : std_logic;
  signal result_rules                         : std_logic_vector(3 downto 0);
  signal slot_tdata                           : std_logic_vector(7 downto 0);
  signal slot_tvalid, slot_tready, slot_tlast : std_logic;
  signal sent                                 : std_logic;
begin
  interrupts <= (31 downto 3 => '0') & irq;

  cpu : component riscv_cpu
    port map (
      clk => clk, rst => rst, interrupts => interrupts,
      code_request => fetch_request, code_burst => fetch_burst, code_address => fetch_address,
      code_answer => fetch_answer, code_rdata => fetch_rdata,
      data_request => bus_request, data_write => bus_write, data_burst => bus_burst, data_address => bus_address,
      data_wdata => bus_wdata, data_bytes => bus_bytes, data_answer => bus_answer, data_rdata => bus_rdata
    );

  -- Outside of the memory there are no instructions; zeros are illegal ones, so that the CPU takes its exception.
  fetch_astray <= '1' when unsigned(fetch_address(29 downto RAM_BITS)) /= 0 else '0';
  ram_fetch    <= fetch_request and not fetch_astray;
  fetch_answer <= ram_fetch_answer or (fetch_request and fetch_astray);
  fetch_rdata  <= ram_rdata when fetch_astray = '0' else (others => '0');

  process (clk)
  begin
    if rising_edge(clk) then
      if fetch_request = '1' and fetch_astray = '1' then
        trap <= '1';
      end if;
      if rst = '1' then
        trap <= '0';
      end if;
    end if;
  end process;

  place <= bus_address(13 downto 0);

  decoder : entity work.address_decoder
    generic map (RAM_BITS => RAM_BITS)
    port map (
      clk => clk, rst => rst, s_request => bus_request, s_address => bus_address, s_answer => bus_answer,
      s_rdata => bus_rdata, fault => fault, fault_address => fault_address,
      ram_request => ram_bus, ram_answer => ram_bus_answer, ram_rdata => ram_rdata,
      system_access => at_system, system_rdata => system_rdata,
      slot_request => slot_request, slot_answer => slot_answer, slot_rdata => slot_rdata,
      capture_access => at_capture, capture_rdata => capture_rdata,
      identifier_access => at_identifier, identifier_rdata => identifier_rdata
    );

  arbiter : entity work.ram_arbiter
    generic map (ADDRESS_BITS => RAM_BITS)
    port map (
      clk => clk, rst => rst,
      code_request => ram_fetch, code_burst => fetch_burst, code_address => fetch_address(RAM_BITS - 1 downto 0),
      code_answer => ram_fetch_answer,
      data_request => ram_bus, data_write => bus_write, data_burst => bus_burst,
      data_address => bus_address(RAM_BITS - 1 downto 0), data_wdata => bus_wdata, data_bytes => bus_bytes,
      data_answer => ram_bus_answer,
      dma_request => '0', dma_write => '0', dma_address => (others => '0'), dma_wdata => (others => '0'),
      dma_bytes => "0000", dma_answer => open,
      m_request => ram_request, m_write => ram_write, m_burst => ram_burst, m_address => ram_address,
      m_wdata => ram_wdata, m_bytes => ram_bytes, m_answer => ram_answer
    );

  memory : entity work.node_ram
    generic map (ADDRESS_BITS => RAM_BITS)
    port map (
      clk => clk, rst => rst, load_enable => load_enable, load_address => load_address, load_data => load_data,
      s_request => ram_request, s_write => ram_write, s_burst => ram_burst, s_address => ram_address,
      s_wdata => ram_wdata, s_bytes => ram_bytes, s_answer => ram_answer, s_rdata => ram_rdata
    );

  system : entity work.node_system
    port map (
      clk => clk, rst => rst, attachment => attachment, fast_track => fast_track, loopback_1 => loopback_1,
      reading => reading, writing => writing, fault => fault, fault_address => fault_address, mac_irq => mac_irq,
      s_access => at_system, s_write => bus_write, s_address => place, s_wdata => bus_wdata, s_rdata => system_rdata,
      irq => irq, uart_out_data => uart_out_data, uart_out_valid => uart_out_valid, uart_out_ready => uart_out_ready,
      uart_in_data => uart_in_data, uart_in_valid => uart_in_valid, uart_in_ready => uart_in_ready,
      port_1_clock => open, exited => exited, exit_status => exit_status
    );

  mac_irq <= slot_irq;

  -- Line 0: a byte each eighth clock.
  process (clk)
  begin
    if rising_edge(clk) then
      line_enable <= '0';
      if line_step = 7 then
        line_step   <= 0;
        line_enable <= '1';
      else
        line_step <= line_step + 1;
      end if;
      if rst = '1' then
        line_step   <= 0;
        line_enable <= '0';
      end if;
    end if;
  end process;

  line_ce <= line_enable;
  tx_en   <= line_tx_en;

  receiver : entity work.mac_rx
    port map (
      clk => clk, rst => rst, ce => line_enable, max_frame => MAX_FRAME,
      gmii_rxd => rxd, gmii_rx_dv => rx_dv, gmii_rx_er => rx_er,
      m_tdata => in_tdata, m_tvalid => in_tvalid, m_tlast => in_tlast, m_tuser => in_tuser, m_bad_fcs => in_bad_fcs,
      m_rx_error => in_rx_error, m_runt => in_runt, m_oversize => in_oversize,
      tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start, tap_end => tap_end,
      no_sfd => open, too_short => open, bad_preamble => open
    );

  transmitter : entity work.mac_tx
    port map (
      clk => clk, rst => rst, ce => line_enable, gap => GAP,
      s_tdata => slot_tdata, s_tvalid => slot_tvalid, s_tready => slot_tready, s_tlast => slot_tlast, s_tuser => '0',
      gmii_txd => txd, gmii_tx_en => line_tx_en, gmii_tx_er => tx_er, sent => sent, underrun => open
    );

  identifier : entity work.node_identifier
    port map (
      clk => clk, rst => rst, tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start,
      tap_end => tap_end, wanted => wanted, result_valid => result_valid, result_wanted => result_wanted,
      result_rules => result_rules, s_access => at_identifier, s_write => bus_write, s_address => place,
      s_wdata => bus_wdata, s_rdata => identifier_rdata
    );

  capture : entity work.node_capture
    port map (
      clk => clk, rst => rst, rx_dv => rx_dv, tx_en => line_tx_en, wanted => wanted,
      s_access => at_capture, s_write => bus_write, s_address => place, s_wdata => bus_wdata, s_rdata => capture_rdata
    );

  posted <= '0' when attachment = ORDERED else '1';

  bridge : entity work.bus_bridge
    port map (
      clk => clk, rst => rst, posted => posted, reading => reading, writing => writing,
      s_request => slot_request, s_write => bus_write, s_answer => slot_answer, m_access => at_slot
    );

  slots : entity work.slot_mac
    port map (
      clk => clk, rst => rst,
      s_tdata => in_tdata, s_tvalid => in_tvalid, s_tlast => in_tlast, s_tuser => in_tuser,
      s_bad_fcs => in_bad_fcs, s_rx_error => in_rx_error, s_runt => in_runt, s_oversize => in_oversize,
      result_valid => result_valid, result_wanted => result_wanted, result_rules => result_rules,
      m_tdata => slot_tdata, m_tvalid => slot_tvalid, m_tready => slot_tready, m_tlast => slot_tlast, sent => sent,
      irq => slot_irq, s_access => at_slot, s_write => bus_write, s_address => place, s_wdata => bus_wdata,
      s_bytes => bus_bytes, s_rdata => slot_rdata
    );
end architecture;
