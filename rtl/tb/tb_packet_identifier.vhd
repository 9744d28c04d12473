-- Tests of packet_identifier behind mac_rx: the verdicts of the rules in crates/wire, and their time before a frame's end.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use std.textio.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.line_pkg.all;

entity tb_packet_identifier is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_packet_identifier is
  constant PERIOD : time := 8 ns;
  constant RULES : natural := 4;
  constant PORTS : natural := 4;
  constant ADDRESSES : natural := 2;

  signal clk, gmii_rx_dv, gmii_rx_er : std_logic := '0';
  signal rst, ce : std_logic := '1';
  signal pace : natural := 1;
  signal gmii_rxd, tap_tdata, m_tdata : std_logic_vector(7 downto 0) := x"00";
  signal tap_tvalid, tap_start, tap_end : std_logic;
  signal m_tvalid, m_tlast, m_tuser, m_bad_fcs, m_rx_error, m_runt, m_oversize : std_logic;
  signal no_sfd, too_short, bad_preamble : std_logic;
  signal own_mac : std_logic_vector(47 downto 0) := (others => '0');
  signal address_enable : std_logic_vector(ADDRESSES - 1 downto 0) := (others => '0');
  signal own_addresses : std_logic_vector(128 * ADDRESSES - 1 downto 0) := (others => '0');
  signal rule_enable, asks_own, asks_type, asks_protocol, asks_priority : std_logic_vector(RULES - 1 downto 0)
    := (others => '0');
  signal asks_port : std_logic_vector(RULES * PORTS - 1 downto 0) := (others => '0');
  signal rule_type : std_logic_vector(16 * RULES - 1 downto 0) := (others => '0');
  signal rule_protocol : std_logic_vector(8 * RULES - 1 downto 0) := (others => '0');
  signal rule_priority : std_logic_vector(3 * RULES - 1 downto 0) := (others => '0');
  signal udp_ports : std_logic_vector(16 * PORTS - 1 downto 0) := (others => '0');
  signal udp_port_masks : std_logic_vector(16 * PORTS - 1 downto 0) := (others => '1');
  signal decided, wanted, result_valid, result_wanted : std_logic;
  signal result_rules : std_logic_vector(RULES - 1 downto 0);
  -- Of the current or last frame: cycles of its verdict, end and result, and the early verdict.
  signal cycle, results : natural := 0;
  signal decided_at, ended_at, tap_ended_at, result_at : integer := 0;
  signal early_verdict : std_logic := '0';
begin
  clk <= not clk after PERIOD / 2;

  enable_bytes(clk, seed, pace, cycle, ce);

  mac : entity work.mac_rx
    port map (clk, rst, ce, (others => '1'), gmii_rxd, gmii_rx_dv, gmii_rx_er,
              m_tdata, m_tvalid, m_tlast, m_tuser, m_bad_fcs, m_rx_error, m_runt, m_oversize,
              tap_tdata, tap_tvalid, tap_start, tap_end, no_sfd, too_short, bad_preamble);

  unit : entity work.packet_identifier
    generic map (RULES, PORTS, ADDRESSES)
    port map (clk, rst, tap_tdata, tap_tvalid, tap_start, tap_end, own_mac, address_enable, own_addresses,
              rule_enable, asks_own, asks_type, asks_protocol, asks_priority, asks_port,
              rule_type, rule_protocol, rule_priority, udp_ports, udp_port_masks,
              decided, wanted, result_valid, result_wanted, result_rules);

  watch : process
    variable was_decided, was_valid : std_logic := '0';
  begin
    wait until rising_edge(clk);
    if decided = '1' and was_decided = '0' then
      decided_at    <= cycle;
      early_verdict <= wanted;
    end if;
    if wanted = '1' and decided = '0' then
      check_failed("wanted before it is decided");
    end if;
    if gmii_rx_dv = '0' and was_valid = '1' then
      ended_at <= cycle;
    end if;
    if tap_end = '1' then
      tap_ended_at <= cycle;
    end if;
    if result_valid = '1' then
      result_at <= cycle;
      results   <= results + 1;
    end if;
    was_decided := decided;
    was_valid := gmii_rx_dv;
  end process;

  main : process
    variable random : RandomPType;
    variable frame : integer_vector(0 to 9000);
    variable length, frames, cuts, ahead : natural := 0;

    procedure configure(text : inout line) is
      variable number : natural;
      variable digit : std_logic_vector(3 downto 0);
      variable asks, protocol : std_logic_vector(7 downto 0);
      variable half : std_logic_vector(15 downto 0);
    begin
      read(text, number);
      hread(text, asks);
      rule_enable(number)   <= asks(4);
      asks_type(number)     <= asks(0);
      asks_own(number)      <= asks(1);
      asks_protocol(number) <= asks(2);
      asks_priority(number) <= asks(3);
      hread(text, half);
      rule_type(16 * number + 15 downto 16 * number) <= half;
      hread(text, protocol);
      rule_protocol(8 * number + 7 downto 8 * number) <= protocol;
      hread(text, digit);
      rule_priority(3 * number + 2 downto 3 * number) <= digit(2 downto 0);
      hread(text, digit);
      asks_port(PORTS * number + PORTS - 1 downto PORTS * number) <= digit;
    end procedure;

    procedure set_up(kind : character; text : inout line) is
      variable number : natural;
      variable mac : std_logic_vector(47 downto 0);
      variable address : std_logic_vector(127 downto 0);
      variable half : std_logic_vector(15 downto 0);
    begin
      if kind = 'o' then
        hread(text, mac);
        own_mac <= mac;
      else
        read(text, number);
        if kind = 'a' then
          hread(text, address);
          own_addresses(128 * number + 127 downto 128 * number) <= address;
          address_enable(number) <= '1';
        else
          hread(text, half);
          udp_ports(16 * number + 15 downto 16 * number) <= half;
        end if;
      end if;
    end procedure;

    procedure read_frame(text : inout line) is
      variable two : std_logic_vector(7 downto 0);
      variable good : boolean := true;
    begin
      length := 0;
      loop
        hread(text, two, good);
        exit when not good;
        frame(length) := to_integer(unsigned(two));
        length := length + 1;
      end loop;
    end procedure;

    -- Sends the frame and waits for its result.
    procedure send is
      constant BEFORE : natural := results;
    begin
      send_line(clk, ce, PREAMBLE & with_fcs(frame(0 to length - 1)), random.RandInt(1, 3), gmii_rxd, gmii_rx_dv,
                gmii_rx_er);
      if results = BEFORE then
        wait until results > BEFORE for 100 * PERIOD;
      end if;
      wait for PERIOD;
      check_equal(results, BEFORE + 1, "results");
      check_equal(result_at - tap_ended_at, 3, "clocks to the result");
    end procedure;

    -- All lines of the vectors.
    procedure replay is
      file vectors : text;
      variable content : line;
      variable word : character;
      variable is_now, starts : std_logic_vector(3 downto 0);
    begin
      file_open(vectors, tb_path(runner_cfg) & "../../spec/vectors/packet-identifier.txt", read_mode);
      while not endfile(vectors) loop
        readline(vectors, content);
        next when content'length = 0 or content(1) = '#';
        word := content(1);
        -- Skips the rest of the first word, which has no meaning.
        while content(content'low) /= ' ' loop
          content := new string'(content(content'low + 1 to content'high));
        end loop;
        case word is
          when 'o' | 'a' | 'p' => set_up(word, content);
          when 'r' => configure(content);
          when others =>
            hread(content, is_now);
            hread(content, starts);
            read_frame(content);
            send;
            frames := frames + 1;
            if result_rules /= is_now or result_wanted /= (or is_now) then
              check_equal(result_rules, is_now, "frame " & to_string(frames));
              check_equal(result_wanted, or is_now);
            end if;
            -- If the headers end before the FCS, the verdict was out at once.
            if tap_ended_at - decided_at >= 8 * maximum(pace, 1) and pace > 0 then
              ahead := ahead + 1;
              check_equal(early_verdict, or starts, "first verdict of frame " & to_string(frames));
            end if;
            if is_now /= starts then
              cuts := cuts + 1;
            end if;
        end case;
      end loop;
      check(frames > 500 and cuts > 10, "frames of the vectors");
    end procedure;

    procedure put(at : natural; bytes : integer_vector) is
    begin
      frame(at to at + bytes'length - 1) := bytes;
    end procedure;

    -- A UDP datagram over IPv4 in the smallest frame, after `tags` tags and with `options` words of options.
    procedure datagram(tags, options, ip_bytes : natural) is
      variable at : natural := 12;
      variable sum : natural := 0;
    begin
      length := 60;
      frame(0 to 99) := (others => 0);
      put(0, (16#02#, 16#57#, 16#4C#, 0, 0, 2));
      for i in 1 to tags loop
        put(at, (16#81#, 0, 16#C0#, i));
        at := at + 4;
      end loop;
      put(at, (16#08#, 0, 16#45# + options, 0, 0, ip_bytes, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2));
      for i in 0 to 9 loop
        sum := sum + frame(at + 2 + 2 * i) * 256 + frame(at + 3 + 2 * i);
      end loop;
      sum := 65535 - (sum mod 65536 + sum / 65536);
      put(at + 12, (sum / 256, sum mod 256));
      at := at + 22 + 4 * options;
      put(at, (0, 9, 4, 2, 0, ip_bytes - 20 - 4 * options, 0, 0));
    end procedure;

    impure function margin return integer is
    begin
      return ended_at - decided_at;
    end function;

    -- One rule: own address and UDP port 1026.
    procedure ask_for_1026 is
    begin
      own_mac <= x"02574C000002";
      own_addresses(127 downto 0) <= x"00000000000000000000FFFFC6120002";
      address_enable <= "01";
      rule_enable <= "0001";
      asks_own <= "0001";
      asks_port(0) <= '1';
      udp_ports(15 downto 0) <= x"0402";
    end procedure;
    -- After a delay: rule 0 wants port 1026 to address 2, or else rule 1 wants any UDP to address 3.
    procedure choose(first : boolean; later : time) is
    begin
      own_mac <= x"02574C000002" after later when first else x"02574C000003" after later;
      rule_enable <= "0001" after later when first else "0010" after later;
      asks_own <= "0001" after later when first else "0010" after later;
      asks_port <= (0 => '1', others => '0') after later when first else (others => '0') after later;
      asks_protocol <= "0000" after later when first else "0010" after later;
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("identifier" & to_string(seed));
    for i in 1 to 4 loop
      wait until rising_edge(clk);
    end loop;
    rst <= '0';
    for i in 1 to 4 loop
      wait until rising_edge(clk);
    end loop;

    while test_suite loop
      if run("the verdicts of the vectors, at 1 Gbit/s") then
        replay;
        check(ahead > 300, to_string(ahead) & " verdicts ahead of the end");
      elsif run("the verdicts of the vectors, with a byte enable at random") then
        pace <= 0;
        replay;
      elsif run("the verdicts of the vectors, at a third of the pace") then
        pace <= 3;
        replay;

      elsif run("verdict at least 150 ns before the end of an untagged minimum frame, 120 ns of a tagged one") then
        ask_for_1026;
        datagram(0, 0, 46);
        send;
        check_equal(result_wanted, '1');
        check(margin * PERIOD >= 150 ns, "untagged: " & to_string(margin) & " cycles");
        check_equal(margin, 20);
        info("untagged, 64 bytes: verdict " & to_string(margin) & " cycles before the end");
        datagram(1, 0, 42);
        send;
        check_equal(result_wanted, '1');
        check(margin * PERIOD >= 120 ns, "tagged: " & to_string(margin) & " cycles");
        check_equal(margin, 16);
        info("tagged, 64 bytes: verdict " & to_string(margin) & " cycles before the end");
        datagram(2, 0, 38);
        send;
        check_equal(result_wanted, '1');
        info("two tags, 64 bytes: verdict " & to_string(margin) & " cycles before the end");
        check_equal(margin, 12);
        datagram(0, 1, 46);
        send;
        check_equal(result_wanted, '1');
        info("one word of options, 64 bytes: verdict " & to_string(margin) & " cycles before the end");
        check_equal(margin, 16);
        -- A longer frame has its verdict equally early: 44 cycles after its first byte.
        datagram(0, 0, 46);
        frame(60 to 1513) := (others => 0);
        length := 1514;
        send;
        check_equal(margin, 20 + 1454);

      elsif run("a mask leaves bits of the port open") then
        ask_for_1026;
        for i in 1 to 60 loop
          udp_port_masks(15 downto 0) <= x"FFF0" when i mod 2 = 0 else x"F0FF";
          datagram(0, 0, 46);
          frame(36) := random.RandInt(3, 5);
          frame(37) := random.RandInt(0, 31);
          send;
          if i mod 2 = 0 then
            check_equal(result_wanted, frame(36) = 4 and frame(37) < 16, "last four bits open");
          else
            check_equal(result_wanted, frame(37) = 2, "four bits in the middle open");
          end if;
        end loop;

      elsif run("a reset within a frame leaves no verdict, and the next frame has its own") then
        ask_for_1026;
        for i in 1 to 64 loop
          datagram(0, 0, 46);
          send_line(clk, ce, PREAMBLE & frame(0 to i - 1), 0, gmii_rxd, gmii_rx_dv, gmii_rx_er);
          gmii_rx_dv <= '1';
          rst <= '1';
          wait until rising_edge(clk);
          rst <= '0';
          send_line(clk, ce, frame(0 to 50), 9, gmii_rxd, gmii_rx_dv, gmii_rx_er);
          check_equal(decided, '0');
          check_equal(result_wanted, '0');
          check_equal(results, (i - 1) * 2);
          send;
          check_equal(result_wanted, '1');
          frame(5) := 3;
          send;
          check_equal(result_wanted, '0');
        end loop;

      elsif run("rules and addresses that change within a frame hold for the next one") then
        ask_for_1026;
        rule_protocol(15 downto 8) <= x"11";
        datagram(0, 0, 46);
        -- Preamble, frame, FCS, and the clocks to the result.
        for i in 0 to 8 + 64 + 6 loop
          frame(5) := 2 + i mod 2;
          choose(i mod 2 = 1, i * PERIOD);
          send;
          for address in 2 to 3 loop
            frame(5) := address;
            send;
            check_equal(result_wanted, (address = 2) = (i mod 2 = 1), "clock " & to_string(i));
            check_equal(result_rules(0), address = 2 and i mod 2 = 1, "rule 0, clock " & to_string(i));
            check_equal(result_rules(1), address = 3 and i mod 2 = 0, "rule 1, clock " & to_string(i));
          end loop;
        end loop;

      elsif run("verdicts of frames that are one byte apart") then
        ask_for_1026;
        for i in 1 to 40 loop
          datagram(0, 0, 46);
          frame(5) := 2 + i mod 2;
          -- No preamble: the next SFD comes with the first byte of the carrier.
          send_line(clk, ce, 16#D5# & with_fcs(frame(0 to 59)), 1, gmii_rxd, gmii_rx_dv, gmii_rx_er);
          if i > 1 then
            check_equal(early_verdict, i mod 2 = 0);
            check_equal(results, i - 1);
          end if;
        end loop;
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 100 ms);
end architecture;
