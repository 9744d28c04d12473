-- Tests of mac_store: both halves of the frame store, the counts and the registers, in each clock against the bench's own
-- account.
--
-- `account` keeps the received frames, the counts and the written registers; sending_account predicts the line. A register is
-- read in every clock, in parallel with everything else.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.ethernet_pkg.to_std_logic;
use work.line_pkg.octet;
use work.reference_node_pkg.all;

entity tb_mac_store is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_mac_store is
  constant PERIOD     : time    := 10 ns;
  constant SLOT_BYTES : natural := 2048;
  constant SHORTEST   : natural := 14;
  constant LONGEST    : natural := 1518;
  -- The least number of clocks without a byte between two frames.
  constant PAUSE      : natural := 4;

  -- The counts, in the order of their words.
  type counted_t is (IN_RECEIVED, IN_DROPPED, IN_BAD_FCS, IN_RX_ERROR, IN_RUNT, IN_OVERSIZE, IN_FILTERED, OUT_SENT,
    IN_NO_SFD, IN_TOO_SHORT, IN_BAD_PREAMBLE, OUT_UNDERRUN);
  type counts_t is array (counted_t) of natural;
  constant WORDS : counts_t := (SLOT_MAC_COUNTS_RECEIVED / 4, SLOT_MAC_COUNTS_DROPPED / 4, SLOT_MAC_COUNTS_BAD_FCS / 4,
    SLOT_MAC_COUNTS_RX_ERRORS / 4, SLOT_MAC_COUNTS_RUNTS / 4, SLOT_MAC_COUNTS_OVERSIZES / 4, SLOT_MAC_COUNTS_FILTERED / 4,
    SLOT_MAC_COUNTS_SENT / 4, SLOT_MAC_COUNTS_NO_SFD / 4, SLOT_MAC_COUNTS_TOO_SHORT / 4, SLOT_MAC_COUNTS_BAD_PREAMBLES / 4,
    SLOT_MAC_COUNTS_UNDERRUNS / 4);
  type destination_t is (TO_OWN, TO_ALL, NEARLY_OWN, NEARLY_ALL);
  type bytes_t is array (0 to 1) of integer_vector(0 to SLOT_BYTES - 1);
  type lengths_t is array (0 to 1) of natural;

  signal clk                        : std_logic := '0';
  signal rst                        : std_logic := '1';
  signal enable                     : std_logic := '1';
  signal any_address, clear         : std_logic := '0';
  signal s_tdata                    : std_logic_vector(7 downto 0) := x"00";
  signal s_tvalid, s_tlast, s_tuser : std_logic := '0';
  -- Bad FCS, rx error, runt, oversize.
  signal wrong                      : std_logic_vector(3 downto 0) := "0000";
  -- No SFD, too short, bad preamble, underrun, sent.
  signal line_told                  : std_logic_vector(4 downto 0) := "00000";
  -- No buffer, refused, fault.
  signal had                        : std_logic_vector(2 downto 0) := "000";
  signal result_valid, result_wanted : std_logic := '0';
  signal result_rules               : std_logic_vector(3 downto 0) := "0000";
  signal m_tdata                    : std_logic_vector(7 downto 0);
  signal m_tvalid, m_tlast          : std_logic;
  signal m_tready                   : std_logic := '0';
  signal full, wanted, busy         : std_logic_vector(1 downto 0);
  signal rules                      : std_logic_vector(7 downto 0);
  signal rx_lengths                 : std_logic_vector(21 downto 0);
  signal give_back, read_back       : std_logic_vector(1 downto 0) := "00";
  signal put_back, go               : std_logic_vector(1 downto 0) := "00";
  signal read_enable                : std_logic := '0';
  signal read_address               : std_logic_vector(9 downto 0) := (others => '0');
  signal read_data                  : std_logic_vector(31 downto 0);
  signal overrun, refused           : std_logic;
  signal dropped, gives_up, gives_both_up : std_logic := '0';
  signal write_address              : std_logic_vector(11 downto 0) := (others => '0');
  signal write_data                 : std_logic_vector(31 downto 0) := (others => '0');
  signal write_bytes                : std_logic_vector(3 downto 0) := "0000";
  signal tx_lengths                 : std_logic_vector(21 downto 0) := (others => '0');
  signal s_write                    : std_logic := '0';
  signal s_address                  : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata           : std_logic_vector(31 downto 0) := (others => '0');

  -- Settings of a test for the other processes.
  signal reads, clears : boolean := true;
  -- From the account: the own address, the frames in the slots, and the events so far.
  signal own_address  : std_logic_vector(47 downto 0) := (others => '0');
  signal kept_bytes   : bytes_t := (others => (others => 0));
  signal kept_lengths : lengths_t := (others => 0);
  signal happened     : counts_t := (others => 0);
  signal frames_read, both_dropped, one_dropped : natural := 0;
  signal frames_sent, refused_busy, refused_bytes : natural;
begin
  clk       <= not clk after PERIOD / 2;
  give_back <= read_back or put_back;
  -- Sometimes in the clock of an overrun, which is one dropped frame.
  dropped   <= gives_up or (overrun and gives_both_up);

  unit : entity work.mac_store
    port map (
      clk => clk, rst => rst, enable => enable, any_address => any_address, clear => clear,
      s_tdata => s_tdata, s_tvalid => s_tvalid, s_tlast => s_tlast, s_tuser => s_tuser, s_bad_fcs => wrong(3),
      s_rx_error => wrong(2), s_runt => wrong(1), s_oversize => wrong(0), no_sfd => line_told(4), too_short => line_told(3),
      bad_preamble => line_told(2), result_valid => result_valid, result_wanted => result_wanted,
      result_rules => result_rules, m_tdata => m_tdata, m_tvalid => m_tvalid, m_tready => m_tready, m_tlast => m_tlast,
      sent => line_told(0), underrun => line_told(1), full => full, wanted => wanted, rules => rules,
      rx_lengths => rx_lengths, give_back => give_back, read_enable => read_enable, read_address => read_address,
      read_data => read_data, overrun => overrun, dropped => dropped, write_address => write_address,
      write_data => write_data, write_bytes => write_bytes, go => go, tx_lengths => tx_lengths, busy => busy,
      refused => refused, had_no_buffer => had(2), had_refused => had(1), had_fault => had(0),
      s_write => s_write, s_address => s_address, s_wdata => s_wdata, s_rdata => s_rdata
    );

  account : process
    variable frame              : integer_vector(0 to SLOT_BYTES - 1);
    variable length             : natural := 0;
    variable turn               : natural range 0 to 1 := 0;
    variable has_room, waits    : boolean := false;
    variable holds, says_wanted : std_logic_vector(1 downto 0) := "00";
    variable says_rules         : std_logic_vector(7 downto 0) := x"00";
    -- The address as written, and as sampled by the receiver after the last frame.
    variable own, own_taken     : std_logic_vector(47 downto 0) := (others => '0');
    -- Outputs after this clock, which are counted in the next one.
    variable shows_received, shows_overrun, shows_filtered : std_logic := '0';
    variable counts             : counts_t := (others => 0);
    variable sticky             : std_logic_vector(31 downto 0) := (others => '0');

    procedure count(event : counted_t; comes : std_logic) is
    begin
      if comes = '1' then
        counts(event)   := counts(event) + 1;
        happened(event) <= happened(event) + 1;
        if event >= IN_NO_SFD then
          sticky(SLOT_MAC_COUNTS_STICKY_NO_SFD + counted_t'pos(event) - counted_t'pos(IN_NO_SFD)) := '1';
        end if;
      end if;
    end procedure;

    procedure count_all is
      constant ENDS : std_logic := s_tvalid and s_tlast;
    begin
      count(IN_RECEIVED, shows_received);
      count(IN_DROPPED, shows_overrun or dropped);
      count(IN_BAD_FCS, ENDS and wrong(3));
      count(IN_RX_ERROR, ENDS and wrong(2));
      count(IN_RUNT, ENDS and wrong(1));
      count(IN_OVERSIZE, ENDS and wrong(0));
      count(IN_FILTERED, shows_filtered);
      count(OUT_SENT, line_told(0));
      count(IN_NO_SFD, line_told(4));
      count(IN_TOO_SHORT, line_told(3));
      count(IN_BAD_PREAMBLE, line_told(2));
      count(OUT_UNDERRUN, line_told(1));
      both_dropped <= both_dropped + 1 when (shows_overrun and dropped) = '1' else both_dropped;
      one_dropped  <= one_dropped + 1 when (shows_overrun and not dropped) = '1' else one_dropped;
      sticky(SLOT_MAC_COUNTS_STICKY_OVERRUN) := sticky(SLOT_MAC_COUNTS_STICKY_OVERRUN) or shows_overrun;
      if rst = '1' or clear = '1' then
        counts := (others => 0);
        sticky := (others => '0');
      end if;
    end procedure;

    procedure end_frame is
      variable address : std_logic_vector(47 downto 0);
      variable for_us  : boolean;
    begin
      for i in 0 to 5 loop
        address(47 - 8 * i downto 40 - 8 * i) := octet(frame(i));
      end loop;
      for_us := any_address = '1' or address = own_taken or address = x"FFFFFFFFFFFF";
      if s_tuser = '0' and enable = '1' then
        waits          := for_us and has_room;
        shows_overrun  := to_std_logic(for_us and not has_room);
        shows_filtered := to_std_logic(not for_us);
      end if;
      if waits then
        kept_bytes(turn)   <= frame;
        kept_lengths(turn) <= length;
      end if;
      length := 0;
    end procedure;

    procedure receive is
    begin
      (shows_received, shows_overrun, shows_filtered) := std_logic_vector'("000");
      if s_tvalid = '1' then
        if length = 0 then
          has_room := enable = '1' and holds(turn) = '0';
        end if;
        if length < SLOT_BYTES then
          frame(length) := to_integer(unsigned(s_tdata));
        end if;
        length := length + 1;
      end if;
      holds := holds and not give_back;
      if waits and result_valid = '1' then
        waits             := false;
        holds(turn)       := '1';
        says_wanted(turn) := result_wanted;
        says_rules(4 * turn + 3 downto 4 * turn) := result_rules;
        turn              := 1 - turn;
        shows_received    := '1';
      end if;
      if s_tvalid = '1' and s_tlast = '1' then
        end_frame;
      end if;
      if length = 0 then
        own_taken := own;
      end if;
    end procedure;

    procedure take_register is
    begin
      if s_write = '1' and to_integer(unsigned(s_address)) = SLOT_MAC_OWN / 4 then
        own(31 downto 0) := s_wdata;
      elsif s_write = '1' and to_integer(unsigned(s_address)) = SLOT_MAC_OWN / 4 + 1 then
        own(47 downto 32) := s_wdata(15 downto 0);
      end if;
    end procedure;

    procedure forget is
    begin
      length    := 0;
      turn      := 0;
      waits     := false;
      holds     := "00";
      own       := (others => '0');
      own_taken := (others => '0');
      (shows_received, shows_overrun, shows_filtered) := std_logic_vector'("000");
    end procedure;

    impure function word_at(place : natural) return std_logic_vector is
    begin
      for event in counted_t loop
        if place = WORDS(event) then
          return std_logic_vector(to_unsigned(counts(event), 32));
        end if;
      end loop;
      if place = SLOT_MAC_COUNTS_STICKY / 4 then
        sticky(SLOT_MAC_COUNTS_STICKY_NO_BUFFER) := had(2);
        sticky(SLOT_MAC_COUNTS_STICKY_REFUSED)   := had(1);
        sticky(SLOT_MAC_COUNTS_STICKY_FAULT)     := had(0);
        return sticky;
      elsif place = SLOT_MAC_OWN / 4 then
        return own(31 downto 0);
      elsif place = SLOT_MAC_OWN / 4 + 1 then
        return x"0000" & own(47 downto 32);
      end if;
      -- No register, or the overflows, which no test causes.
      return x"00000000";
    end function;

    procedure compare is
      constant PLACE : natural := to_integer(unsigned(s_address));
    begin
      check_equal(full & overrun, holds & shows_overrun, "full and overrun");
      for slot in 0 to 1 loop
        if holds(slot) = '1' then
          check_equal(rx_lengths(11 * slot + 10 downto 11 * slot) & wanted(slot) & rules(4 * slot + 3 downto 4 * slot),
            std_logic_vector(to_unsigned(kept_lengths(slot), 11)) & says_wanted(slot)
            & says_rules(4 * slot + 3 downto 4 * slot), "length, verdict and rules of slot " & to_string(slot));
        end if;
      end loop;
      -- A check costs more simulation time than the block.
      if s_rdata /= word_at(PLACE) then
        check_failed("word " & to_string(PLACE) & " is " & to_hstring(s_rdata) & ", not " & to_hstring(word_at(PLACE)));
      end if;
    end procedure;
  begin
    wait until rising_edge(clk);
    count_all;
    receive;
    take_register;
    if rst = '1' then
      forget;
    end if;
    own_address <= own;
    wait until falling_edge(clk);
    compare;
  end process;

  sending : entity work.sending_account
    port map (
      clk => clk, rst => rst, write_address => write_address, write_data => write_data, write_bytes => write_bytes, go => go,
      lengths => tx_lengths, busy => busy, refused => refused, m_tdata => m_tdata, m_tvalid => m_tvalid,
      m_tready => m_tready, m_tlast => m_tlast, frames_sent => frames_sent, both_waited => open,
      refused_busy => refused_busy, refused_bytes => refused_bytes
    );

  -- Drives the registers, and the events that belong to no frame.
  touch : process
    variable random : RandomPType;
  begin
    random.InitSeed("registers" & to_string(seed));
    loop
      wait until rising_edge(clk);
      -- One address in four has a bit above those of the registers.
      s_address <= std_logic_vector(to_unsigned(random.RandInt(0, 31), 14));
      if random.RandInt(0, 3) = 0 then
        s_address(random.RandInt(5, 13)) <= '1';
      end if;
      s_wdata   <= random.RandSlv(32);
      s_write   <= to_std_logic(random.RandInt(0, 9) = 0);
      m_tready  <= to_std_logic(random.RandInt(0, 4) > 0);
      line_told <= random.RandSlv(5) and random.RandSlv(5) and random.RandSlv(5);
      gives_up  <= to_std_logic(random.RandInt(0, 19) = 0);
      gives_both_up <= to_std_logic(random.RandInt(0, 1) = 0);
      clear     <= to_std_logic(clears and random.RandInt(0, 299) = 0);
      if random.RandInt(0, 9) = 0 then
        had <= random.RandSlv(3);
      end if;
    end loop;
  end process;

  -- Reads full slots word by word, in any order, and gives them back.
  read_out : process
    variable random : RandomPType;
    variable slot, at, last : natural;
  begin
    random.InitSeed("reader" & to_string(seed));
    loop
      wait until rising_edge(clk);
      next when not reads or full = "00";
      slot := random.RandInt(0, 1) when full = "11" else 1 when full(1) = '1' else 0;
      last := (kept_lengths(slot) - 1) / 4;
      for word in 0 to last + 3 loop
        at := word when word <= last else random.RandInt(0, last);
        read_enable  <= '1';
        read_address <= std_logic_vector(to_unsigned(512 * slot + at, 10));
        wait until rising_edge(clk);
        read_enable  <= '0';
        read_address <= random.RandSlv(10);
        for i in 0 to random.RandInt(0, 2) loop
          wait until falling_edge(clk);
        end loop;
        for i in 0 to 3 loop
          if 4 * at + i < kept_lengths(slot) and full(slot) = '1' then
            check_equal(read_data(8 * i + 7 downto 8 * i), octet(kept_bytes(slot)(4 * at + i)), "byte " & to_string(4 * at));
          end if;
        end loop;
      end loop;
      wait until rising_edge(clk);
      read_back(slot) <= '1';
      wait until rising_edge(clk);
      read_back <= "00";
      frames_read <= frames_read + 1;
    end loop;
  end process;

  -- Writes frames into idle slots in pieces and requests them; sometimes requests a frame that is refused.
  offer : process
    variable random          : RandomPType;
    variable slot, at, bytes : natural;

    procedure ask(length : natural) is
    begin
      tx_lengths <= random.RandSlv(22);
      tx_lengths(11 * slot + 10 downto 11 * slot) <= std_logic_vector(to_unsigned(length, 11));
      go(slot)    <= '1';
      wait until rising_edge(clk);
      go          <= "00";
      write_bytes <= "0000";
    end procedure;
  begin
    random.InitSeed("offers" & to_string(seed));
    loop
      wait until rising_edge(clk);
      slot := random.RandInt(0, 1);
      next when busy(slot) = '1';
      bytes := random.RandInt(SHORTEST, 80);
      if random.RandInt(0, 9) = 0 then
        bytes := LONGEST when random.RandInt(0, 1) = 0 else SHORTEST;
      end if;
      -- Pieces that overlap; the last one is written in the clock of the request.
      at := 0;
      loop
        write_address <= std_logic_vector(to_unsigned(SLOT_BYTES * slot + at, 12));
        write_data    <= random.RandSlv(32);
        write_bytes   <= "1111";
        at := at + random.RandInt(1, 4);
        exit when at >= bytes;
        wait until rising_edge(clk);
        write_bytes <= "0000";
      end loop;
      if random.RandInt(0, 3) = 0 then
        ask(SHORTEST - 1 + random.RandInt(0, 1) * (LONGEST + 2 - SHORTEST));
      end if;
      ask(bytes);
      -- The slot is busy now, so this is refused.
      if random.RandInt(0, 3) = 0 then
        ask(bytes);
      end if;
    end loop;
  end process;

  main : process
    variable random : RandomPType;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    impure function address(destination : destination_t) return std_logic_vector is
      variable bits   : std_logic_vector(47 downto 0) := own_address;
      variable bit_at : natural := random.RandInt(0, 47);
    begin
      if destination = TO_ALL or destination = NEARLY_ALL then
        bits := (others => '1');
      end if;
      if destination = NEARLY_OWN or destination = NEARLY_ALL then
        bits(bit_at) := not bits(bit_at);
      end if;
      return bits;
    end function;

    -- A frame with mac_rx's flags at its end; before it they are random.
    procedure send(destination : destination_t; bytes : natural; faults : std_logic_vector(3 downto 0) := "0000") is
      constant ADDRESSED : std_logic_vector(47 downto 0) := address(destination);
      constant PERCENT   : natural := random.RandInt(0, 1) * random.RandInt(0, 60);
    begin
      for i in 0 to bytes - 1 loop
        while random.RandInt(1, 100) <= PERCENT loop
          cycles(1);
        end loop;
        s_tvalid <= '1';
        s_tdata  <= ADDRESSED(47 - 8 * i downto 40 - 8 * i) when i < 6 else random.RandSlv(8);
        s_tlast  <= to_std_logic(i = bytes - 1);
        s_tuser  <= (or faults) when i = bytes - 1 else to_std_logic(random.RandInt(0, 1) = 1);
        wrong    <= faults when i = bytes - 1 else random.RandSlv(4);
        cycles(1);
        s_tvalid <= '0';
        s_tlast  <= to_std_logic(random.RandInt(0, 1) = 1);
        wrong    <= random.RandSlv(4);
      end loop;
    end procedure;

    -- The identifier's result, three clocks after the end, and the pause to the next frame.
    procedure tell is
    begin
      for clock in 1 to PAUSE loop
        result_valid  <= to_std_logic(clock = 3);
        result_wanted <= to_std_logic(random.RandInt(0, 1) = 1);
        result_rules  <= random.RandSlv(4);
        cycles(1);
      end loop;
      cycles(random.RandInt(0, 1) * random.RandInt(0, 60));
    end procedure;

    procedure some_frame is
      variable bytes  : natural                      := random.RandInt(SHORTEST, 90);
      variable faults : std_logic_vector(3 downto 0) := "0000";
    begin
      enable      <= to_std_logic(random.RandInt(0, 15) > 0);
      any_address <= to_std_logic(random.RandInt(0, 5) = 0);
      if random.RandInt(0, 5) = 0 then
        faults := random.RandSlv(4);
      elsif random.RandInt(0, 20) = 0 then
        bytes := LONGEST;
      elsif random.RandInt(0, 20) = 0 then
        -- Lengths around the size of a slot.
        bytes  := random.RandInt(SLOT_BYTES - 5, SLOT_BYTES + 3);
        faults := "0001" when bytes >= SLOT_BYTES else "0000";
      end if;
      send(destination_t'val(random.RandInt(0, 3)), bytes, faults);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("frames" & to_string(seed));
    cycles(3);
    rst <= '0';
    cycles(1);
    while test_suite loop
      if run("frames of every kind in and out at any time, and registers that are written meanwhile") then
        for number in 1 to 300 loop
          clears <= number > 150;
          some_frame;
          tell;
        end loop;
        for event in counted_t loop
          check(happened(event) > 8, "counted: " & to_string(event));
        end loop;
        check(frames_read > 30 and both_dropped > 3 and one_dropped > 3, "frames were read and dropped");
        check(frames_sent > 100 and refused_busy > 20 and refused_bytes > 20, "frames were sent and refused");
      elsif run("a reset at any time leaves nothing but what was written into slots") then
        for number in 1 to 100 loop
          reads <= random.RandInt(0, 3) > 0;
          some_frame;
          cycles(random.RandInt(0, 3));
          rst <= '1';
          cycles(1);
          rst <= '0';
          cycles(random.RandInt(1, 120));
          some_frame;
          tell;
        end loop;
        check(happened(IN_RECEIVED) > 30 and frames_sent > 30, "frames came between resets");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
