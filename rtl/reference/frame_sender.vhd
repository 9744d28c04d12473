-- The sending half of a MAC's frame store: two slots of 2 KiB, whose frames go to the line in the requested order.
--
-- A slot is busy from the clock after its request until the line has taken its last byte. Bytes are written up to four at a
-- time at any place of a slot, so that pieces of any length and place make a frame.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity frame_sender is
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
    -- The address is a slot's number above the place of a byte: the lowest byte of write_data goes there, the others follow.
    -- Only the bytes of write_bytes are written, none beyond the end of the slot.
    write_address : in  std_logic_vector(11 downto 0);
    write_data    : in  std_logic_vector(31 downto 0);
    write_bytes   : in  std_logic_vector(3 downto 0);
    -- A bit for each slot: sends as many of its bytes as lengths says, 14 to 1518.
    go            : in  std_logic_vector(1 downto 0);
    lengths       : in  std_logic_vector(21 downto 0);
    busy          : out std_logic_vector(1 downto 0);
    -- One clock: a request with another length, or for a busy slot, is not sent.
    refused       : out std_logic;
    -- The stream to mac_tx.
    m_tdata       : out std_logic_vector(7 downto 0);
    m_tvalid      : out std_logic;
    m_tready      : in  std_logic;
    m_tlast       : out std_logic
  );
end entity;

architecture rtl of frame_sender is
  constant SHORTEST  : natural := 14;
  constant LONGEST   : natural := 1518;
  constant WORDS     : natural := 1024;
  type memory_t is array (0 to WORDS - 1) of std_logic_vector(7 downto 0);
  type lengths_t is array (0 to 1) of unsigned(10 downto 0);

  signal waiting     : std_logic_vector(1 downto 0);
  signal slot_length : lengths_t;
  -- The slot that is being sent, its next byte, and how many are left including that.
  signal sending     : std_logic;
  signal slot        : natural range 0 to 1;
  signal place       : unsigned(10 downto 0);
  signal left        : unsigned(10 downto 0);
  signal taken       : std_logic;
  signal chosen      : natural range 0 to 1;
  signal any_written : std_logic;
  signal starts      : std_logic;
  signal read_at     : unsigned(9 downto 0);
  signal read_word   : std_logic_vector(31 downto 0);
begin
  busy     <= waiting;
  m_tvalid <= sending;
  m_tlast  <= '1' when left = 1 else '0';
  taken    <= sending and m_tready;

  with place(1 downto 0) select
    m_tdata <= read_word(7 downto 0) when "00",
               read_word(15 downto 8) when "01",
               read_word(23 downto 16) when "10",
               read_word(31 downto 24) when others;

  -- Between two frames both wait only if both were requested at once.
  chosen <= 0 when waiting(0) = '1' else 1;
  starts <= '1' when sending = '0' and waiting /= "00" else '0';

  -- Selects the word with the byte of the next clock.
  fetch : process (all)
    variable next_place : unsigned(10 downto 0);
  begin
    next_place := place;
    if taken = '1' then
      next_place := place + 1;
    end if;
    read_at <= to_unsigned(slot, 1) & next_place(10 downto 2);
    if sending = '0' then
      read_at <= to_unsigned(chosen, 1) & to_unsigned(0, 9);
    end if;
  end process;

  send : process (clk)
    variable length : unsigned(10 downto 0);
  begin
    if rising_edge(clk) then
      refused <= '0';
      if starts = '1' then
        sending <= '1';
        slot    <= chosen;
        place   <= (others => '0');
        left    <= slot_length(chosen);
      elsif taken = '1' then
        place <= place + 1;
        left  <= left - 1;
        if left = 1 then
          sending       <= '0';
          waiting(slot) <= '0';
        end if;
      end if;
      for number in 0 to 1 loop
        length := unsigned(lengths(11 * number + 10 downto 11 * number));
        if go(number) = '1' then
          if waiting(number) = '1' or length < SHORTEST or length > LONGEST then
            refused <= '1';
          else
            waiting(number)     <= '1';
            slot_length(number) <= length;
          end if;
        end if;
      end loop;
      if rst = '1' then
        refused     <= '0';
        waiting     <= "00";
        slot_length <= (others => (others => '0'));
        sending     <= '0';
        slot        <= 0;
        place       <= (others => '0');
        left        <= (others => '0');
      end if;
    end if;
  end process;

  any_written <= or write_bytes;

  -- A memory for each byte of a word, so that four bytes may begin anywhere.
  lanes : for lane in 0 to 3 generate
    signal memory  : memory_t;
    signal octet   : std_logic_vector(7 downto 0);
    signal is_written : std_logic;
    signal write_at : unsigned(9 downto 0);
  begin
    route : process (all)
      -- This lane's byte of write_data, and its place.
      variable source  : unsigned(1 downto 0);
      variable byte_at : unsigned(12 downto 0);
    begin
      source   := to_unsigned(lane, 2) - unsigned(write_address(1 downto 0));
      byte_at  := ('0' & unsigned(write_address)) + source;
      write_at <= byte_at(11 downto 2);
      case source is
        when "00" =>
          octet      <= write_data(7 downto 0);
          is_written <= write_bytes(0);
        when "01" =>
          octet      <= write_data(15 downto 8);
          is_written <= write_bytes(1);
        when "10" =>
          octet      <= write_data(23 downto 16);
          is_written <= write_bytes(2);
        when others =>
          octet      <= write_data(31 downto 24);
          is_written <= write_bytes(3);
      end case;
      -- Never into the other slot.
      if byte_at(12 downto 11) /= '0' & write_address(11) then
        is_written <= '0';
      end if;
    end process;

    process (clk)
    begin
      if rising_edge(clk) then
        -- The outer conditions only save work in a simulation, while nothing is written and no frame waits.
        if any_written = '1' and is_written = '1' then
          memory(to_integer(write_at)) <= octet;
        end if;
        if waiting /= "00" then
          read_word(8 * lane + 7 downto 8 * lane) <= memory(to_integer(read_at));
        end if;
      end if;
    end process;
  end generate;
end architecture;
