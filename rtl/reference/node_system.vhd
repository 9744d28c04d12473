-- The reference node's own registers: straps, clocks, interrupts, a timer, and bytes to and from the tester.
--
-- The UART has no baud rate: a byte crosses in the clock in which both sides are ready, as on a debug link. The places
-- are those of rtl/registers/reference_node.rdl. docs/reference-node.md describes it.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity node_system is
  generic (
    -- Not 0 only in a bench: `cycles` reaches this high word 256 clocks after the reset.
    HIGH_CYCLES : natural := 0
  );
  port (
    clk            : in  std_logic;
    rst            : in  std_logic;
    attachment     : in  std_logic_vector(1 downto 0);
    fast_track     : in  std_logic;
    loopback_1     : in  std_logic;
    reading        : in  std_logic_vector(7 downto 0);
    writing        : in  std_logic_vector(7 downto 0);
    fault          : in  std_logic;
    fault_address  : in  std_logic_vector(29 downto 0);
    mac_irq        : in  std_logic;
    -- Registers: s_access for one clock; s_rdata holds the word from the next clock on.
    s_access       : in  std_logic;
    s_write        : in  std_logic;
    s_address      : in  std_logic_vector(13 downto 0);
    s_wdata        : in  std_logic_vector(31 downto 0);
    s_rdata        : out std_logic_vector(31 downto 0);
    -- Pending and enabled: MAC, UART, timer.
    irq            : out std_logic_vector(2 downto 0);
    uart_out_data  : out std_logic_vector(7 downto 0);
    uart_out_valid : out std_logic;
    uart_out_ready : in  std_logic;
    uart_in_data   : in  std_logic_vector(7 downto 0);
    uart_in_valid  : in  std_logic;
    uart_in_ready  : out std_logic;
    port_1_clock   : out std_logic;
    exited         : out std_logic;
    exit_status    : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of node_system is
  constant CLOCK_HZ : natural := 100_000_000;
  constant MAGIC    : std_logic_vector(15 downto 0) := x"5752";
  constant FIRST    : unsigned(63 downto 0) :=
    shift_left(to_unsigned(HIGH_CYCLES, 64), 32) - 256 * boolean'pos(HIGH_CYCLES > 0);

  -- A signal, since GHDL's synthesis takes wrong parts of a constant that is assigned whole where other arms assign parts.
  signal clock_word   : std_logic_vector(31 downto 0);
  signal place        : natural range 0 to 2**14 - 1;
  signal cycles       : unsigned(63 downto 0);
  signal cycles_high  : unsigned(31 downto 0);
  signal compare      : unsigned(63 downto 0);
  signal out_byte, in_byte : std_logic_vector(7 downto 0);
  signal out_full, in_full : std_logic;
  signal pending, enabled  : std_logic_vector(2 downto 0);
begin
  clock_word     <= std_logic_vector(to_unsigned(CLOCK_HZ, 32));
  place          <= to_integer(unsigned(s_address));
  uart_out_data  <= out_byte;
  uart_out_valid <= out_full;
  uart_in_ready  <= not in_full;
  irq            <= pending and enabled;

  process (clk)
  begin
    if rising_edge(clk) then
      cycles     <= cycles + 1;
      pending(0) <= mac_irq;
      pending(1) <= in_full;
      pending(2) <= '0';
      if cycles >= compare then
        pending(2) <= '1';
      end if;
      if uart_out_ready = '1' then
        out_full <= '0';
      end if;
      if uart_in_valid = '1' and in_full = '0' then
        in_byte <= uart_in_data;
        in_full <= '1';
      end if;

      if s_access = '1' and s_write = '1' then
        case place is
          when SYSTEM_UART_TX / 4 =>
            if out_full = '0' then
              out_byte <= s_wdata(SYSTEM_UART_TX_DATA);
              out_full <= '1';
            end if;
          when SYSTEM_IRQ_ENABLE / 4        => enabled <= s_wdata(2 downto 0);
          when SYSTEM_TIMER_COMPARE / 4     => compare(31 downto 0) <= unsigned(s_wdata);
          when SYSTEM_TIMER_COMPARE / 4 + 1 => compare(63 downto 32) <= unsigned(s_wdata);
          when SYSTEM_LEAVE / 4 =>
            exited      <= '1';
            exit_status <= s_wdata;
          when SYSTEM_CLOCKS / 4 => port_1_clock <= s_wdata(0);
          when others => null;
        end case;
      end if;

      if s_access = '1' and s_write = '0' then
        s_rdata <= (others => '0');
        case place is
          when SYSTEM_ID / 4 =>
            s_rdata(SYSTEM_ID_MAGIC)   <= MAGIC;
            s_rdata(SYSTEM_ID_VERSION) <= x"01";
          when SYSTEM_CLOCK_HZ / 4 => s_rdata <= clock_word;
          when SYSTEM_STRAPS / 4 =>
            s_rdata(SYSTEM_STRAPS_ATTACHMENT) <= attachment;
            s_rdata(SYSTEM_STRAPS_FAST_TRACK) <= fast_track;
            s_rdata(SYSTEM_STRAPS_LOOPBACK_1) <= loopback_1;
          when SYSTEM_WAIT_STATES / 4 =>
            s_rdata(SYSTEM_WAIT_STATES_READING) <= reading;
            s_rdata(SYSTEM_WAIT_STATES_WRITING) <= writing;
          when SYSTEM_CYCLES / 4 =>
            s_rdata     <= std_logic_vector(cycles(31 downto 0));
            cycles_high <= cycles(63 downto 32);
          when SYSTEM_CYCLES / 4 + 1 => s_rdata <= std_logic_vector(cycles_high);
          when SYSTEM_UART_TX / 4    => s_rdata(SYSTEM_UART_TX_FULL) <= out_full;
          when SYSTEM_UART_RX / 4 =>
            s_rdata(SYSTEM_UART_RX_NOTHING) <= not in_full;
            s_rdata(SYSTEM_UART_RX_DATA)    <= in_byte;
            -- A byte that arrives in this clock stays.
            if in_full = '1' then
              in_full <= '0';
            end if;
          when SYSTEM_IRQ_PENDING / 4       => s_rdata(2 downto 0) <= pending;
          when SYSTEM_IRQ_ENABLE / 4        => s_rdata(2 downto 0) <= enabled;
          when SYSTEM_TIMER_COMPARE / 4     => s_rdata <= std_logic_vector(compare(31 downto 0));
          when SYSTEM_TIMER_COMPARE / 4 + 1 => s_rdata <= std_logic_vector(compare(63 downto 32));
          when SYSTEM_CLOCKS / 4            => s_rdata(0) <= port_1_clock;
          when SYSTEM_FAULT / 4 =>
            s_rdata(SYSTEM_FAULT_WORD)     <= fault_address;
            s_rdata(SYSTEM_FAULT_HAPPENED) <= fault;
          when others => null;
        end case;
      end if;

      if rst = '1' then
        cycles       <= FIRST;
        cycles_high  <= (others => '0');
        -- No timer interrupt before software sets the register.
        compare      <= (others => '1');
        out_byte     <= x"00";
        in_byte      <= x"00";
        out_full     <= '0';
        in_full      <= '0';
        pending      <= "000";
        enabled      <= "000";
        port_1_clock <= '0';
        exited       <= '0';
        exit_status  <= (others => '0');
        s_rdata      <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
