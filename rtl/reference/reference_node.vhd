-- The reference node: a RISC-V CPU of 100 MHz with memory and a MAC for 100 Mbit/s. Straps select its bus and its MAC.
--
-- Line 0 belongs to the node: capture units and packet identifier observe it. The CPU is Verilog (riscv_cpu.v). Addresses and
-- registers are those of rtl/registers/reference_node.rdl. docs/reference-node.md describes the whole.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity reference_node is
  generic (
    -- Address bits of a word of the memory: 18 for 1 MiB.
    RAM_BITS : natural := 18
  );
  port (
    clk            : in  std_logic;
    -- While 1, the loader fills the memory, and everything else waits.
    rst            : in  std_logic;
    -- Straps, sampled during the reset.
    attachment     : in  std_logic_vector(1 downto 0);
    fast_track     : in  std_logic;
    loopback_1     : in  std_logic;
    reading        : in  std_logic_vector(7 downto 0);
    writing        : in  std_logic_vector(7 downto 0);
    load_enable    : in  std_logic;
    load_address   : in  std_logic_vector(RAM_BITS - 1 downto 0);
    load_data      : in  std_logic_vector(31 downto 0);
    -- The clock of port 1 has the edges of clk while port_1_clock is 1, and is 0 otherwise.
    port_1_clk     : in  std_logic;
    port_1_clock   : out std_logic;
    -- Line 0: a byte is taken, and the next one shown, at the end of each clock with line_ce, one in eight.
    line_ce        : out std_logic;
    rxd            : in  std_logic_vector(7 downto 0);
    rx_dv          : in  std_logic;
    rx_er          : in  std_logic;
    txd            : out std_logic_vector(7 downto 0);
    tx_en          : out std_logic;
    tx_er          : out std_logic;
    -- Line 1: a byte each clock.
    line_1_rxd     : in  std_logic_vector(7 downto 0);
    line_1_rx_dv   : in  std_logic;
    line_1_rx_er   : in  std_logic;
    line_1_txd     : out std_logic_vector(7 downto 0);
    line_1_tx_en   : out std_logic;
    line_1_tx_er   : out std_logic;
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
    trap           : out std_logic;
    -- The CPU's activity, for counting: the last stage of its pipeline, its two buses, and the MAC's interrupt.
    trace_valid    : out std_logic;
    trace_retires  : out std_logic;
    trace_pc       : out std_logic_vector(31 downto 0);
    trace_instruction : out std_logic_vector(31 downto 0);
    trace_fetch    : out std_logic;
    trace_request  : out std_logic;
    trace_write    : out std_logic;
    trace_burst    : out std_logic;
    trace_answer   : out std_logic;
    trace_address  : out std_logic_vector(29 downto 0);
    trace_mac_irq  : out std_logic
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
      data_rdata   : in  std_logic_vector(31 downto 0);
      last_valid   : out std_logic;
      last_retires : out std_logic;
      last_pc      : out std_logic_vector(31 downto 0);
      last_instruction : out std_logic_vector(31 downto 0)
    );
  end component;

  -- A frame with a tag and its FCS.
  constant MAX_FRAME  : std_logic_vector(13 downto 0) := std_logic_vector(to_unsigned(1522, 14));
  -- From IEEE Std 802.3, in bytes.
  constant GAP        : std_logic_vector(7 downto 0) := x"0C";
  constant ORDERED    : std_logic_vector(1 downto 0) := "01";
  constant DMA        : std_logic_vector(1 downto 0) := "10";
  -- One for each capture point of a path, whether of received or of sent frames.
  constant CAPTURE_UNITS : positive := 3;
  type words_t is array (0 to CAPTURE_UNITS - 1) of std_logic_vector(31 downto 0);

  signal reset                                : std_logic;
  -- The reset of each MAC; the MAC that is not attached stays in it.
  signal slot_rst, ring_rst                   : std_logic;
  -- The sampled straps.
  signal attached                             : std_logic_vector(1 downto 0);
  signal tracks, looped                       : std_logic;
  signal read_clocks, write_clocks            : std_logic_vector(7 downto 0);

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

  -- The memory and its masters.
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
  signal unit_access                          : std_logic_vector(CAPTURE_UNITS - 1 downto 0);
  signal unit_place                           : std_logic_vector(13 downto 0);
  signal unit_rdata                           : words_t;
  signal identifier_rdata, slot_rdata         : std_logic_vector(31 downto 0);
  signal slot_request, slot_answer, at_slot   : std_logic;
  signal posted                               : std_logic;
  signal irq                                  : std_logic_vector(2 downto 0);
  signal mac_irq, slot_irq, ring_irq          : std_logic;
  signal at_ring                              : std_logic;
  signal ring_rdata                           : std_logic_vector(31 downto 0);
  signal dma_request, dma_write, dma_answer   : std_logic;
  signal dma_address                          : std_logic_vector(RAM_BITS - 1 downto 0);
  signal dma_wdata                            : std_logic_vector(31 downto 0);

  -- Port 1.
  signal port_request, port_answer, port_refused : std_logic;
  signal port_rdata                           : std_logic_vector(31 downto 0);
  signal port_running, port_rst               : std_logic;
  signal axil_awvalid, axil_awready           : std_logic;
  signal axil_wvalid, axil_wready             : std_logic;
  signal axil_bvalid                          : std_logic;
  signal axil_arvalid, axil_arready           : std_logic;
  signal axil_rvalid                          : std_logic;
  signal axil_addr                            : std_logic_vector(10 downto 0);
  signal axil_wdata, axil_rdata               : std_logic_vector(31 downto 0);
  signal axil_bresp, axil_rresp               : std_logic_vector(1 downto 0);
  signal port_rxd, port_txd                   : std_logic_vector(7 downto 0);
  signal port_rx_dv, port_rx_er               : std_logic;
  signal port_tx_en, port_tx_er               : std_logic;

  -- Line 0.
  signal line_step                            : natural range 0 to 7;
  signal line_enable, line_tx_en              : std_logic;
  signal in_tdata, tap_tdata                  : std_logic_vector(7 downto 0);
  signal in_tvalid, in_tlast, in_tuser        : std_logic;
  signal in_bad_fcs, in_rx_error              : std_logic;
  signal in_runt, in_oversize                 : std_logic;
  signal no_sfd, too_short, bad_preamble      : std_logic;
  signal tap_tvalid, tap_start, tap_end       : std_logic;
  signal wanted, result_valid, result_wanted  : std_logic;
  signal result_rules                         : std_logic_vector(3 downto 0);
  signal slot_tdata                           : std_logic_vector(7 downto 0);
  signal slot_tvalid, slot_tready, slot_tlast : std_logic;
  signal ring_tdata                           : std_logic_vector(7 downto 0);
  signal ring_tvalid, ring_tready, ring_tlast : std_logic;
  signal out_tdata                            : std_logic_vector(7 downto 0);
  signal out_tvalid, out_tready, out_tlast    : std_logic;
  signal is_dma                               : std_logic;
  signal slot_tvalid_in, ring_tvalid_in       : std_logic;
  signal slot_sent, ring_sent                 : std_logic;
  signal sent, underrun                       : std_logic;
begin
  -- Reset and straps are registered: nothing inside depends on them between two clocks, in an FPGA or in a simulation.
  process (clk)
  begin
    if rising_edge(clk) then
      reset    <= rst;
      slot_rst <= rst or is_dma;
      ring_rst <= rst or not is_dma;
      if rst = '1' then
        attached     <= attachment;
        tracks       <= fast_track;
        looped       <= loopback_1;
        read_clocks  <= reading;
        write_clocks <= writing;
      end if;
    end if;
  end process;

  interrupts <= (31 downto 3 => '0') & irq;

  cpu : component riscv_cpu
    port map (
      clk => clk, rst => reset, interrupts => interrupts,
      code_request => fetch_request, code_burst => fetch_burst, code_address => fetch_address,
      code_answer => fetch_answer, code_rdata => fetch_rdata,
      data_request => bus_request, data_write => bus_write, data_burst => bus_burst, data_address => bus_address,
      data_wdata => bus_wdata, data_bytes => bus_bytes, data_answer => bus_answer, data_rdata => bus_rdata,
      last_valid => trace_valid, last_retires => trace_retires, last_pc => trace_pc,
      last_instruction => trace_instruction
    );

  trace_fetch   <= fetch_request;
  trace_request <= bus_request;
  trace_write   <= bus_write;
  trace_burst   <= bus_burst;
  trace_answer  <= bus_answer;
  trace_address <= bus_address;
  trace_mac_irq <= mac_irq;

  -- There are no instructions outside of the memory: a fetch there reads zeros, which are illegal, so the CPU takes an
  -- exception.
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
      if reset = '1' then
        trap <= '0';
      end if;
    end if;
  end process;

  place <= bus_address(13 downto 0);

  decoder : entity work.address_decoder
    generic map (RAM_BITS => RAM_BITS)
    port map (
      clk => clk, rst => reset, s_request => bus_request, s_address => bus_address, s_answer => bus_answer,
      s_rdata => bus_rdata, fault => fault, fault_address => fault_address,
      ram_request => ram_bus, ram_answer => ram_bus_answer, ram_rdata => ram_rdata,
      system_access => at_system, system_rdata => system_rdata,
      slot_request => slot_request, slot_answer => slot_answer, slot_rdata => slot_rdata,
      ring_access => at_ring, ring_rdata => ring_rdata,
      capture_access => at_capture, capture_rdata => capture_rdata,
      identifier_access => at_identifier, identifier_rdata => identifier_rdata,
      port_1_request => port_request, port_1_answer => port_answer, port_1_refused => port_refused,
      port_1_rdata => port_rdata
    );

  arbiter : entity work.ram_arbiter
    generic map (ADDRESS_BITS => RAM_BITS)
    port map (
      clk => clk, rst => reset,
      code_request => ram_fetch, code_burst => fetch_burst, code_address => fetch_address(RAM_BITS - 1 downto 0),
      code_answer => ram_fetch_answer,
      data_request => ram_bus, data_write => bus_write, data_burst => bus_burst,
      data_address => bus_address(RAM_BITS - 1 downto 0), data_wdata => bus_wdata, data_bytes => bus_bytes,
      data_answer => ram_bus_answer,
      dma_request => dma_request, dma_write => dma_write, dma_address => dma_address, dma_wdata => dma_wdata,
      dma_bytes => "1111", dma_answer => dma_answer,
      m_request => ram_request, m_write => ram_write, m_burst => ram_burst, m_address => ram_address,
      m_wdata => ram_wdata, m_bytes => ram_bytes, m_answer => ram_answer
    );

  memory : entity work.node_ram
    generic map (ADDRESS_BITS => RAM_BITS)
    port map (
      clk => clk, rst => reset, load_enable => load_enable, load_address => load_address, load_data => load_data,
      s_request => ram_request, s_write => ram_write, s_burst => ram_burst, s_address => ram_address,
      s_wdata => ram_wdata, s_bytes => ram_bytes, s_answer => ram_answer, s_rdata => ram_rdata
    );

  system : entity work.node_system
    port map (
      clk => clk, rst => reset, attachment => attached, fast_track => tracks, loopback_1 => looped,
      reading => read_clocks, writing => write_clocks, fault => fault, fault_address => fault_address, mac_irq => mac_irq,
      s_access => at_system, s_write => bus_write, s_address => place, s_wdata => bus_wdata, s_rdata => system_rdata,
      irq => irq, uart_out_data => uart_out_data, uart_out_valid => uart_out_valid, uart_out_ready => uart_out_ready,
      uart_in_data => uart_in_data, uart_in_valid => uart_in_valid, uart_in_ready => uart_in_ready,
      port_1_clock => port_running, exited => exited, exit_status => exit_status
    );

  -- The MAC that is not attached receives and sends nothing, and its registers read 0.
  is_dma         <= '1' when attached = DMA else '0';
  mac_irq        <= ring_irq when is_dma = '1' else slot_irq;
  slot_tvalid_in <= in_tvalid and not is_dma;
  ring_tvalid_in <= in_tvalid and is_dma;
  out_tdata      <= ring_tdata when is_dma = '1' else slot_tdata;
  out_tvalid     <= ring_tvalid when is_dma = '1' else slot_tvalid;
  out_tlast      <= ring_tlast when is_dma = '1' else slot_tlast;
  slot_tready    <= out_tready and not is_dma;
  ring_tready    <= out_tready and is_dma;
  slot_sent      <= sent and not is_dma;
  ring_sent      <= sent and is_dma;

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
      if reset = '1' then
        line_step   <= 0;
        line_enable <= '0';
      end if;
    end if;
  end process;

  line_ce <= line_enable;
  tx_en   <= line_tx_en;

  receiver : entity work.mac_rx
    port map (
      clk => clk, rst => reset, ce => line_enable, max_frame => MAX_FRAME,
      gmii_rxd => rxd, gmii_rx_dv => rx_dv, gmii_rx_er => rx_er,
      m_tdata => in_tdata, m_tvalid => in_tvalid, m_tlast => in_tlast, m_tuser => in_tuser, m_bad_fcs => in_bad_fcs,
      m_rx_error => in_rx_error, m_runt => in_runt, m_oversize => in_oversize,
      tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start, tap_end => tap_end,
      no_sfd => no_sfd, too_short => too_short, bad_preamble => bad_preamble
    );

  transmitter : entity work.mac_tx
    port map (
      clk => clk, rst => reset, ce => line_enable, gap => GAP,
      s_tdata => out_tdata, s_tvalid => out_tvalid, s_tready => out_tready, s_tlast => out_tlast, s_tuser => '0',
      gmii_txd => txd, gmii_tx_en => line_tx_en, gmii_tx_er => tx_er, sent => sent, underrun => underrun
    );

  identifier : entity work.node_identifier
    port map (
      clk => clk, rst => reset, tap_tdata => tap_tdata, tap_tvalid => tap_tvalid, tap_start => tap_start,
      tap_end => tap_end, wanted => wanted, result_valid => result_valid, result_wanted => result_wanted,
      result_rules => result_rules, s_access => at_identifier, s_write => bus_write, s_address => place,
      s_wdata => bus_wdata, s_rdata => identifier_rdata
    );

  -- 4 KiB of registers each.
  unit_place <= (13 downto 10 => '0') & place(9 downto 0);

  captures : for n in 0 to CAPTURE_UNITS - 1 generate
    unit_access(n) <= at_capture when unsigned(place(13 downto 10)) = n else '0';

    capture : entity work.node_capture
      port map (
        clk => clk, rst => reset, rx_dv => rx_dv, tx_en => line_tx_en, wanted => wanted, s_access => unit_access(n),
        s_write => bus_write, s_address => unit_place, s_wdata => bus_wdata, s_rdata => unit_rdata(n)
      );
  end generate;

  process (all)
  begin
    capture_rdata <= (others => '0');
    for n in words_t'range loop
      if unsigned(place(13 downto 10)) = n then
        capture_rdata <= unit_rdata(n);
      end if;
    end loop;
  end process;

  posted <= '0' when attached = ORDERED else '1';

  bridge : entity work.bus_bridge
    port map (
      clk => clk, rst => reset, posted => posted, reading => read_clocks, writing => write_clocks,
      s_request => slot_request, s_write => bus_write, s_answer => slot_answer, m_access => at_slot
    );

  slots : entity work.slot_mac
    port map (
      clk => clk, rst => slot_rst,
      s_tdata => in_tdata, s_tvalid => slot_tvalid_in, s_tlast => in_tlast, s_tuser => in_tuser,
      s_bad_fcs => in_bad_fcs, s_rx_error => in_rx_error, s_runt => in_runt, s_oversize => in_oversize,
      no_sfd => no_sfd, too_short => too_short, bad_preamble => bad_preamble,
      result_valid => result_valid, result_wanted => result_wanted, result_rules => result_rules,
      m_tdata => slot_tdata, m_tvalid => slot_tvalid, m_tready => slot_tready, m_tlast => slot_tlast, sent => slot_sent,
      underrun => underrun, irq => slot_irq,
      s_access => at_slot, s_write => bus_write, s_address => place, s_wdata => bus_wdata,
      s_bytes => bus_bytes, s_rdata => slot_rdata
    );

  rings : entity work.ring_mac
    generic map (RAM_BITS => RAM_BITS)
    port map (
      clk => clk, rst => ring_rst,
      s_tdata => in_tdata, s_tvalid => ring_tvalid_in, s_tlast => in_tlast, s_tuser => in_tuser,
      s_bad_fcs => in_bad_fcs, s_rx_error => in_rx_error, s_runt => in_runt, s_oversize => in_oversize,
      no_sfd => no_sfd, too_short => too_short, bad_preamble => bad_preamble,
      result_valid => result_valid, result_wanted => result_wanted, result_rules => result_rules,
      m_tdata => ring_tdata, m_tvalid => ring_tvalid, m_tready => ring_tready, m_tlast => ring_tlast, sent => ring_sent,
      underrun => underrun, irq => ring_irq, dma_request => dma_request, dma_write => dma_write, dma_address => dma_address,
      dma_wdata => dma_wdata, dma_answer => dma_answer, dma_rdata => ram_rdata,
      s_access => at_ring, s_write => bus_write, s_address => place, s_wdata => bus_wdata, s_rdata => ring_rdata
    );

  -- Port 1, a tester's port within the node.
  port_1_clock <= port_running;

  to_port : entity work.axi_bridge
    port map (
      clk => clk, rst => reset, port_clk => port_1_clk, running => port_running, port_rst => port_rst,
      s_request => port_request, s_write => bus_write, s_address => bus_address(8 downto 0), s_wdata => bus_wdata,
      s_answer => port_answer, s_refused => port_refused, s_rdata => port_rdata,
      m_axil_awvalid => axil_awvalid, m_axil_awready => axil_awready, m_axil_addr => axil_addr,
      m_axil_wvalid => axil_wvalid, m_axil_wready => axil_wready, m_axil_wdata => axil_wdata,
      m_axil_bvalid => axil_bvalid, m_axil_bresp => axil_bresp,
      m_axil_arvalid => axil_arvalid, m_axil_arready => axil_arready, m_axil_rvalid => axil_rvalid,
      m_axil_rdata => axil_rdata, m_axil_rresp => axil_rresp
    );

  port_rxd     <= port_txd when looped = '1' else line_1_rxd;
  port_rx_dv   <= port_tx_en when looped = '1' else line_1_rx_dv;
  port_rx_er   <= port_tx_er when looped = '1' else line_1_rx_er;
  line_1_txd   <= port_txd;
  line_1_tx_en <= port_tx_en;
  line_1_tx_er <= port_tx_er;

  tester : entity work.ethernet_port
    port map (
      clk => port_1_clk, rst => port_rst,
      tx_ce => '1', gmii_txd => port_txd, gmii_tx_en => port_tx_en, gmii_tx_er => port_tx_er,
      rx_ce => '1', gmii_rxd => port_rxd, gmii_rx_dv => port_rx_dv, gmii_rx_er => port_rx_er,
      decided => open, wanted => open, result_valid => open, result_wanted => open,
      word_request => open, word_number => open, word => (others => '0'),
      s_axil_awvalid => axil_awvalid, s_axil_awready => axil_awready, s_axil_awaddr => axil_addr, s_axil_awprot => "000",
      s_axil_wvalid => axil_wvalid, s_axil_wready => axil_wready, s_axil_wdata => axil_wdata, s_axil_wstrb => "1111",
      s_axil_bvalid => axil_bvalid, s_axil_bready => '1', s_axil_bresp => axil_bresp,
      s_axil_arvalid => axil_arvalid, s_axil_arready => axil_arready, s_axil_araddr => axil_addr, s_axil_arprot => "000",
      s_axil_rvalid => axil_rvalid, s_axil_rready => '1', s_axil_rdata => axil_rdata, s_axil_rresp => axil_rresp
    );
end architecture;
