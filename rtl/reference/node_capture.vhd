-- The capture unit of the reference node with its registers: the time between two edges, on line 0 or of software.
--
-- Registers and edges are those of a port (rtl/registers/ethernet_port.rdl). docs/blocks/capture_unit.md says what the
-- unit does.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

use work.reference_node_pkg.all;

entity node_capture is
  port (
    clk       : in  std_logic;
    rst       : in  std_logic;
    -- The edges: line 0 receives, line 0 sends, the packet identifier wants the frame.
    rx_dv     : in  std_logic;
    tx_en     : in  std_logic;
    wanted    : in  std_logic;
    -- Registers: s_access for one clock; s_rdata holds the word from the next clock on.
    s_access  : in  std_logic;
    s_write   : in  std_logic;
    s_address : in  std_logic_vector(13 downto 0);
    s_wdata   : in  std_logic_vector(31 downto 0);
    s_rdata   : out std_logic_vector(31 downto 0)
  );
end entity;

architecture rtl of node_capture is
  signal control           : std_logic_vector(14 downto 0);
  signal clear, read_next  : std_logic;
  signal start, stop       : std_logic;
  signal oldest, missed    : std_logic_vector(31 downto 0);
  signal level             : std_logic_vector(9 downto 0);
  signal running           : std_logic;
  signal lost, longest     : std_logic;
  -- The word that was read. A record has its own register, since the block RAM delivers it late in the clock.
  signal from_records      : std_logic;
  signal record_word       : std_logic_vector(31 downto 0);
  signal register_word     : std_logic_vector(31 downto 0);

  -- The signal that a value of edge_t (in the registers) selects.
  function chosen(which : std_logic_vector(2 downto 0); software, receiving, sending, is_wanted : std_logic) return std_logic is
  begin
    case which is
      when "000" => return software;
      when "001" => return receiving;
      when "010" => return not receiving;
      when "011" => return sending;
      when "100" => return is_wanted;
      when others => return '0';
    end case;
  end function;
begin
  start <= chosen(control(CAPTURE_CONTROL_START), control(CAPTURE_CONTROL_SOFTWARE_START), rx_dv, tx_en, wanted);
  stop  <= chosen(control(CAPTURE_CONTROL_STOP), control(CAPTURE_CONTROL_SOFTWARE_STOP), rx_dv, tx_en, wanted);

  s_rdata   <= record_word when from_records = '1' else register_word;
  read_next <= s_access and not s_write when unsigned(s_address) = CAPTURE_OLDEST / 4 else '0';

  unit : entity work.capture_unit
    port map (
      clk => clk, rst => rst, enable => control(CAPTURE_CONTROL_ENABLE), clear => clear, start => start, stop => stop,
      read_data => oldest, read_next => read_next, level => level, busy => running, missed => missed,
      overflow => lost, saturated => longest
    );

  process (clk)
  begin
    if rising_edge(clk) then
      clear <= '0';
      if s_access = '1' and s_write = '1' and unsigned(s_address) = CAPTURE_CONTROL / 4 then
        control <= s_wdata(14 downto 0);
        clear   <= s_wdata(CAPTURE_CONTROL_CLEAR);
      end if;
      if s_access = '1' and s_write = '0' then
        from_records  <= '0';
        record_word   <= oldest;
        register_word <= (others => '0');
        case to_integer(unsigned(s_address)) is
          when CAPTURE_CONTROL / 4 =>
            register_word(14 downto 0)           <= control;
            register_word(CAPTURE_CONTROL_CLEAR) <= '0';
          when CAPTURE_STATUS / 4 =>
            register_word(CAPTURE_STATUS_WAITING)   <= level;
            register_word(CAPTURE_STATUS_BUSY)      <= running;
            register_word(CAPTURE_STATUS_OVERFLOW)  <= lost;
            register_word(CAPTURE_STATUS_SATURATED) <= longest;
          when CAPTURE_OLDEST / 4 => from_records <= '1';
          when CAPTURE_MISSED / 4 => register_word <= missed;
          when others => null;
        end case;
      end if;
      if rst = '1' then
        control <= (others => '0');
        clear   <= '0';
        from_records  <= '0';
        register_word <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
