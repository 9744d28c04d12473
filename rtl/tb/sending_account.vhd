-- For benches of a frame_sender: predicts the bytes on the line from the written bytes and the order of the requests, and
-- compares them with each clock of the stream.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;

use work.ethernet_pkg.to_std_logic;
use work.line_pkg.octet;

entity sending_account is
  port (
    -- The ports of frame_sender.
    clk           : in  std_logic;
    rst           : in  std_logic;
    write_address : in  std_logic_vector(11 downto 0);
    write_data    : in  std_logic_vector(31 downto 0);
    write_bytes   : in  std_logic_vector(3 downto 0);
    go            : in  std_logic_vector(1 downto 0);
    lengths       : in  std_logic_vector(21 downto 0);
    busy          : in  std_logic_vector(1 downto 0);
    refused       : in  std_logic;
    m_tdata       : in  std_logic_vector(7 downto 0);
    m_tvalid      : in  std_logic;
    m_tready      : in  std_logic;
    m_tlast       : in  std_logic;
    -- Counts: frames that were sent, frames requested while another waited, and frames refused because the slot was busy or no
    -- frame has that length.
    frames_sent   : out natural := 0;
    both_waited   : out natural := 0;
    refused_busy  : out natural := 0;
    refused_bytes : out natural := 0
  );
end entity;

architecture test of sending_account is
  constant SLOT_BYTES : natural := 2048;
  constant SHORTEST   : natural := 14;
  constant LONGEST    : natural := 1518;
  type slots_t is array (0 to 2 * SLOT_BYTES - 1) of natural range 0 to 255;
  type slot_lengths_t is array (0 to 1) of natural;
begin
  watch : process
    -- Slots in the order of their requests. The first is taken out with its first byte.
    constant ORDER           : queue_t := new_queue;
    variable slots           : slots_t := (others => 0);
    variable waiting, waited : std_logic_vector(1 downto 0) := "00";
    variable asked           : slot_lengths_t := (others => 0);
    variable slot            : natural range 0 to 1 := 0;
    variable place           : natural := 0;
    variable refuses         : std_logic;

    procedure write is
      variable at : natural;
    begin
      for byte in write_bytes'range loop
        at := to_integer(unsigned(write_address)) + byte;
        -- None beyond the end of its slot.
        if write_bytes(byte) = '1' and at / SLOT_BYTES = to_integer(unsigned(write_address)) / SLOT_BYTES then
          slots(at) := to_integer(unsigned(write_data(8 * byte + 7 downto 8 * byte)));
        end if;
      end loop;
    end procedure;

    -- A slot that waited before this clock cannot be requested in it, even if its last byte leaves now.
    procedure ask(number, bytes : natural) is
    begin
      if waited(number) = '1' then
        refuses      := '1';
        refused_busy <= refused_busy + 1;
      elsif bytes < SHORTEST or bytes > LONGEST then
        refuses       := '1';
        refused_bytes <= refused_bytes + 1;
      else
        both_waited     <= both_waited + 1 when waiting /= "00" else both_waited;
        waiting(number) := '1';
        asked(number)   := bytes;
        push(ORDER, number);
      end if;
    end procedure;

    procedure take_byte is
    begin
      if place = 0 then
        check_false(is_empty(ORDER), "a frame that nobody asked for");
        slot := pop(ORDER);
      end if;
      check_equal(m_tdata, octet(slots(SLOT_BYTES * slot + place)), "byte " & to_string(place) & " to the line");
      check_equal(m_tlast, to_std_logic(place = asked(slot) - 1), "last at byte " & to_string(place));
      place := place + 1;
      if place = asked(slot) then
        place         := 0;
        waiting(slot) := '0';
        frames_sent   <= frames_sent + 1;
      end if;
    end procedure;
  begin
    wait until rising_edge(clk);
    refuses := '0';
    waited  := waiting;
    -- Before the requests: a slot is busy from the next clock on, so this byte is of another frame.
    if m_tvalid = '1' and m_tready = '1' then
      take_byte;
    elsif place > 0 then
      check_equal(m_tvalid, '1', "a frame goes on without a bubble");
    end if;
    for number in 0 to 1 loop
      if go(number) = '1' then
        ask(number, to_integer(unsigned(lengths(11 * number + 10 downto 11 * number))));
      end if;
    end loop;
    write;
    if rst = '1' then
      waiting := "00";
      place   := 0;
      refuses := '0';
      flush(ORDER);
    end if;
    wait until falling_edge(clk);
    check_equal(busy, waiting, "busy");
    check_equal(refused, refuses, "refused");
    if waiting = "00" then
      check_equal(m_tvalid, '0', "nothing to send");
    end if;
  end process;
end architecture;
