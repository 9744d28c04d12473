-- The receiving half of a MAC's frame store: two slots of 2 KiB, filled in turn with the good frames to this node.
--
-- A slot is full once its whole frame is known to be good and the packet identifier has said whether it is wanted, three
-- clocks after the frame's end; it stays until it is given back. A frame that finds its slot full is dropped and reported.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity frame_receiver is
  port (
    clk           : in  std_logic;
    rst           : in  std_logic;
    -- 0 keeps no frame that begins, and neither keeps nor reports a frame that ends.
    enable        : in  std_logic;
    -- Frames to any node are kept, not only those to own_mac and to all.
    any_address   : in  std_logic;
    own_mac       : in  std_logic_vector(47 downto 0);
    -- The stream of mac_rx; s_tuser with s_tlast marks a bad frame. Before a frame there are four clocks without a byte, after
    -- a reset at least one.
    s_tdata       : in  std_logic_vector(7 downto 0);
    s_tvalid      : in  std_logic;
    s_tlast       : in  std_logic;
    s_tuser       : in  std_logic;
    -- The packet identifier's result for the frame that has ended.
    result_valid  : in  std_logic;
    result_wanted : in  std_logic;
    result_rules  : in  std_logic_vector(3 downto 0);
    -- The slots, slot 0 in the low bits; lengths are without FCS.
    full          : out std_logic_vector(1 downto 0);
    wanted        : out std_logic_vector(1 downto 0);
    rules         : out std_logic_vector(7 downto 0);
    lengths       : out std_logic_vector(21 downto 0);
    give_back     : in  std_logic_vector(1 downto 0);
    -- Reads a word of a slot, the first byte lowest; it comes one clock later. The address is the slot's number above the place
    -- of the word.
    read_enable   : in  std_logic;
    read_address  : in  std_logic_vector(9 downto 0);
    read_data     : out std_logic_vector(31 downto 0);
    -- One clock each: a frame was kept; a good one to this node found no slot; a good one was to another node.
    received      : out std_logic;
    dropped       : out std_logic;
    filtered      : out std_logic
  );
end entity;

architecture rtl of frame_receiver is
  constant SLOT_BYTES        : natural := 2048;
  constant LAST_ADDRESS_BYTE : natural := 5;
  type memory_t is array (0 to SLOT_BYTES / 2 - 1) of std_logic_vector(31 downto 0);
  type lengths_t is array (0 to 1) of unsigned(10 downto 0);

  signal memory     : memory_t;
  signal slot_full, slot_wanted : std_logic_vector(1 downto 0);
  signal slot_rules : std_logic_vector(7 downto 0);
  signal slot_length : lengths_t;
  -- The slot of the current frame, or of the next one.
  signal fill       : natural range 0 to 1;
  signal place      : unsigned(10 downto 0);
  -- The next byte is the first of a frame, or one of its destination address; computed one byte ahead.
  signal begins, in_address : std_logic;
  signal room       : std_logic;
  signal to_own, to_all : std_logic;
  signal own_left   : std_logic_vector(47 downto 0);
  signal word       : std_logic_vector(31 downto 0);
  -- A word on its way into the memory.
  signal store      : std_logic;
  signal store_at   : unsigned(9 downto 0);
  -- A good frame waits for the identifier's result.
  signal closing    : std_logic;
begin
  full    <= slot_full;
  wanted  <= slot_wanted;
  rules   <= slot_rules;
  lengths <= std_logic_vector(slot_length(1)) & std_logic_vector(slot_length(0));

  keep : process (clk)
    variable has_room, own_so_far, all_so_far, for_us : std_logic;
  begin
    if rising_edge(clk) then
      received <= '0';
      dropped  <= '0';
      filtered <= '0';
      store    <= '0';
      slot_full <= slot_full and not give_back;

      if s_tvalid = '1' then
        has_room   := room;
        own_so_far := to_own;
        all_so_far := to_all;
        if begins = '1' then
          has_room   := enable and not slot_full(fill);
          own_so_far := '1';
          all_so_far := '1';
        end if;
        if in_address = '1' then
          if s_tdata /= own_left(47 downto 40) then
            own_so_far := '0';
          end if;
          if s_tdata /= x"FF" then
            all_so_far := '0';
          end if;
          own_left <= own_left(39 downto 0) & own_left(47 downto 40);
        end if;
        room   <= has_room;
        to_own <= own_so_far;
        to_all <= all_so_far;
        case place(1 downto 0) is
          when "00"   => word(7 downto 0) <= s_tdata;
          when "01"   => word(15 downto 8) <= s_tdata;
          when "10"   => word(23 downto 16) <= s_tdata;
          when others => word(31 downto 24) <= s_tdata;
        end case;
        store_at <= to_unsigned(fill, 1) & place(10 downto 2);
        if place(1 downto 0) = "11" or s_tlast = '1' then
          store <= has_room;
        end if;
        if place /= SLOT_BYTES - 1 then
          place <= place + 1;
        end if;
        begins <= '0';
        if place(2 downto 0) = LAST_ADDRESS_BYTE then
          in_address <= '0';
        end if;

        if s_tlast = '1' then
          place      <= (others => '0');
          begins     <= '1';
          in_address <= '1';
          own_left   <= own_mac;
          for_us   := any_address or own_so_far or all_so_far;
          if s_tuser = '0' and enable = '1' then
            filtered <= not for_us;
            dropped  <= for_us and not has_room;
            closing  <= for_us and has_room;
          end if;
          -- Also if the frame is not kept: the length counts only in a full slot.
          if has_room = '1' then
            slot_length(fill) <= place + 1;
          end if;
        end if;
      elsif begins = '1' then
        own_left <= own_mac;
      end if;

      if closing = '1' and result_valid = '1' then
        closing           <= '0';
        received          <= '1';
        slot_full(fill)   <= '1';
        slot_wanted(fill) <= result_wanted;
        slot_rules(4 * fill + 3 downto 4 * fill) <= result_rules;
        fill              <= 1 - fill;
      end if;

      if rst = '1' then
        received    <= '0';
        dropped     <= '0';
        filtered    <= '0';
        store       <= '0';
        store_at    <= (others => '0');
        slot_full   <= "00";
        slot_wanted <= "00";
        slot_rules  <= x"00";
        slot_length <= (others => (others => '0'));
        fill        <= 0;
        place       <= (others => '0');
        begins      <= '1';
        in_address  <= '1';
        room        <= '0';
        to_own      <= '0';
        to_all      <= '0';
        own_left    <= (others => '0');
        word        <= (others => '0');
        closing     <= '0';
      end if;
    end if;
  end process;

  slots : process (clk)
  begin
    if rising_edge(clk) then
      if store = '1' then
        memory(to_integer(store_at)) <= word;
      end if;
      if read_enable = '1' then
        read_data <= memory(to_integer(unsigned(read_address)));
      end if;
    end if;
  end process;
end architecture;
