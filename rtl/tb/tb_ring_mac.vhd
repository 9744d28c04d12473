-- Tests of ring_mac with a memory that answers after random times: wrapping, frames of many buffers, and errors.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

use work.line_pkg.all;
use work.memory_pkg.all;
use work.reference_node_pkg.all;

entity tb_ring_mac is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_ring_mac is
  constant PERIOD : time := 10 ns;
  constant OWN    : integer_vector(0 to 5) := (16#02#, 0, 16#5E#, 16#10#, 0, 1);
  constant SENT_BYTES : queue_t := new_queue;
  -- Places in memory, in bytes.
  constant RX_RING : natural := 16#100#;
  constant TX_RING : natural := 16#200#;
  constant RX_BUFFERS : natural := 16#1000#;
  constant TX_BUFFERS : natural := 16#5000#;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal s_tdata, m_tdata : std_logic_vector(7 downto 0) := x"00";
  signal s_tvalid, s_tlast, s_tuser, s_bad_fcs : std_logic := '0';
  signal result_valid, result_wanted : std_logic := '0';
  signal result_rules : std_logic_vector(3 downto 0) := "0000";
  signal m_tvalid, m_tready, m_tlast, sent, irq : std_logic := '0';
  signal dma_request, dma_write : std_logic;
  signal dma_answer : std_logic := '0';
  signal dma_address : std_logic_vector(MEMORY_BITS - 1 downto 0);
  signal dma_wdata : std_logic_vector(31 downto 0);
  signal dma_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal s_access, s_write : std_logic := '0';
  signal s_address : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal beats : natural := 0;

  shared variable memory : memory_t;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.ring_mac
    generic map (RAM_BITS => MEMORY_BITS)
    port map (
      clk, rst, s_tdata, s_tvalid, s_tlast, s_tuser, s_bad_fcs, '0', '0', '0', '0', '0', '0', result_valid, result_wanted,
      result_rules, m_tdata, m_tvalid, m_tready, m_tlast, sent, '0', irq,
      dma_request, dma_write, dma_address, dma_wdata, dma_answer, dma_rdata,
      s_access, s_write, s_address, s_wdata, s_rdata
    );

  -- The memory: answers a clock later, or after more clocks at random.
  process
    variable random : RandomPType;
  begin
    random.InitSeed("memory" & to_string(seed));
    loop
      wait until rising_edge(clk);
      dma_answer <= '0';
      if dma_request = '1' and dma_answer = '0' and random.RandInt(0, 3) > 0 then
        dma_answer <= '1';
        dma_rdata  <= memory.get(to_integer(unsigned(dma_address)));
        if dma_write = '1' then
          memory.set(to_integer(unsigned(dma_address)), dma_wdata);
          beats <= beats + 1;
        end if;
      end if;
    end loop;
  end process;

  process
    variable random : RandomPType;
    variable length : natural := 0;
  begin
    random.InitSeed("taker" & to_string(seed));
    loop
      wait until rising_edge(clk);
      sent <= '0';
      if m_tvalid = '1' and m_tready = '1' then
        push(SENT_BYTES, to_integer(unsigned(m_tdata)));
        length := length + 1;
        if m_tlast = '1' then
          push(SENT_BYTES, -length);
          length := 0;
          sent   <= '1';
        end if;
      end if;
      m_tready <= '1' when random.RandInt(0, 2) > 0 else '0';
    end loop;
  end process;

  main : process
    variable random : RandomPType;
    variable length, place, pieces, bytes, at, flags : natural;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write(address : natural; value : std_logic_vector(31 downto 0)) is
    begin
      s_access  <= '1';
      s_write   <= '1';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      s_wdata   <= value;
      cycles(1);
      s_access <= '0';
      cycles(1);
    end procedure;

    procedure write(address, value : natural) is
    begin
      write(address, std_logic_vector(to_unsigned(value, 32)));
    end procedure;

    procedure expect(address, value : natural; what : string) is
    begin
      s_access  <= '1';
      s_write   <= '0';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      cycles(1);
      s_access <= '0';
      cycles(1);
      check_equal(to_integer(unsigned(s_rdata)), value, what);
    end procedure;

    impure function content(number, index : natural) return natural is
    begin
      if index < 6 then
        return OWN(index);
      end if;
      return (number * 37 + index * 11) mod 256;
    end function;

    impure function byte_at(address : natural) return natural is
      constant WORD : std_logic_vector(31 downto 0) := memory.get(address / 4);
    begin
      return to_integer(unsigned(WORD(8 * (address mod 4) + 7 downto 8 * (address mod 4))));
    end function;

    procedure set_byte(address, value : natural) is
      variable word : std_logic_vector(31 downto 0);
    begin
      word := memory.get(address / 4);
      word(8 * (address mod 4) + 7 downto 8 * (address mod 4)) := octet(value);
      memory.set(address / 4, word);
    end procedure;

    procedure receive(bytes, number : natural; rules : natural := 0) is
    begin
      for i in 0 to bytes - 1 loop
        s_tvalid <= '1';
        s_tdata  <= octet(content(number, i));
        s_tlast  <= '1' when i = bytes - 1 else '0';
        cycles(1);
        s_tvalid <= '0';
        s_tlast  <= '0';
        cycles(random.RandInt(0, 2));
      end loop;
      cycles(2);
      result_valid  <= '1';
      result_wanted <= '1' when rules > 0 else '0';
      result_rules  <= std_logic_vector(to_unsigned(rules, 4));
      cycles(1);
      result_valid  <= '0';
      result_wanted <= '0';
    end procedure;

    -- `count` descriptors of free buffers.
    procedure make_rx_ring(count, buffer_bytes : natural) is
      variable word : std_logic_vector(31 downto 0);
    begin
      for i in 0 to count - 1 loop
        word := std_logic_vector(to_unsigned(RX_BUFFERS + i * 2048, 32));
        word(RX_DESCRIPTOR_BUFFER_WRAP) := '1' when i = count - 1 else '0';
        memory.set(RX_RING / 4 + 2 * i, word);
        memory.set(RX_RING / 4 + 2 * i + 1, x"FFFFFFFF");
      end loop;
      write(RING_MAC_RX_BUFFER_BYTES, buffer_bytes);
      write(RING_MAC_RX_RING, RX_RING);
    end procedure;

    procedure free(place : natural) is
      variable word : std_logic_vector(31 downto 0);
    begin
      word := memory.get(RX_RING / 4 + 2 * place);
      check_equal(word(RX_DESCRIPTOR_BUFFER_USED), '1', "used, descriptor " & to_string(place));
      word(RX_DESCRIPTOR_BUFFER_USED) := '0';
      memory.set(RX_RING / 4 + 2 * place, word);
      memory.set(RX_RING / 4 + 2 * place + 1, x"FFFFFFFF");
    end procedure;

    -- Checks a descriptor, and the bytes of its buffer, from byte `first` of the frame on.
    procedure expect_buffer(place, number, first, bytes : natural; start, finish : std_logic; length, rules : natural) is
      variable state, expected : std_logic_vector(31 downto 0);
    begin
      state    := memory.get(RX_RING / 4 + 2 * place + 1);
      expected := (others => '0');
      expected(RX_DESCRIPTOR_STATE_START)  := start;
      expected(RX_DESCRIPTOR_STATE_FINISH) := finish;
      expected(RX_DESCRIPTOR_STATE_WANTED) := '1' when rules > 0 else '0';
      expected(RX_DESCRIPTOR_STATE_RULES)  := std_logic_vector(to_unsigned(rules, 4));
      if finish = '1' then
        expected(RX_DESCRIPTOR_STATE_LENGTH) := std_logic_vector(to_unsigned(length, 14));
      end if;
      check_equal(state, expected, "state of descriptor " & to_string(place));
      for i in 0 to bytes - 1 loop
        check_equal(byte_at(RX_BUFFERS + 2048 * place + i), content(number, first + i), "byte " & to_string(first + i));
      end loop;
    end procedure;

    procedure give(place, address, bytes : natural; last, wrap : std_logic) is
      variable state : std_logic_vector(31 downto 0);
    begin
      state := (others => '0');
      state(TX_DESCRIPTOR_STATE_LENGTH) := std_logic_vector(to_unsigned(bytes, 14));
      state(TX_DESCRIPTOR_STATE_LAST)   := last;
      state(TX_DESCRIPTOR_STATE_WRAP)   := wrap;
      memory.set(TX_RING / 4 + 2 * place, std_logic_vector(to_unsigned(address, 32)));
      memory.set(TX_RING / 4 + 2 * place + 1, state);
    end procedure;

    procedure expect_sent(number, bytes : natural) is
    begin
      for i in 0 to bytes - 1 loop
        check_equal(integer'(pop(SENT_BYTES)), content(number, i), "byte " & to_string(i) & " of " & to_string(number));
      end loop;
      check_equal(integer'(pop(SENT_BYTES)), -bytes, "length of " & to_string(number));
    end procedure;

    procedure wait_for_irq is
    begin
      if irq /= '1' then
        wait until irq = '1' for 10000 * PERIOD;
      end if;
      check_equal(irq, '1', "interrupt");
      cycles(1);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("rings" & to_string(seed));
    cycles(4);
    rst <= '0';
    cycles(1);
    write(RING_MAC_OWN, 16#5E100001#);
    write(RING_MAC_OWN + 4, 16#0200#);
    write(RING_MAC_CONTROL, 3);
    write(RING_MAC_IRQ_ENABLE, 1);

    while test_suite loop
      if run("frames go round the ring, each in its buffer, with an interrupt behind its last word") then
        make_rx_ring(3, 2048);
        for number in 0 to 9 loop
          length := random.RandInt(14, 400);
          at     := beats;
          receive(length, number, number);
          check_equal(irq, '0', "interrupt");
          wait_for_irq;
          -- The words of the frame, its state and its release.
          check_equal(beats - at, (length + 3) / 4 + 2, "words that were written");
          expect_buffer(number mod 3, number, 0, length, '1', '1', length, number);
          free(number mod 3);
          write(RING_MAC_STATUS, 1);
          cycles(2);
          check_equal(irq, '0', "interrupt that was cleared");
        end loop;
        expect(RING_MAC_STATUS, 0, "status");
        expect(RING_MAC_COUNTS_RECEIVED, 10, "received");

      elsif run("a frame fills as many buffers as it needs") then
        make_rx_ring(5, 64);
        place := 0;
        for number in 1 to 12 loop
          length := random.RandInt(60, 300);
          receive(length, number, number mod 16);
          wait_for_irq;
          pieces := (length + 63) / 64;
          for piece in 0 to pieces - 1 loop
            bytes := minimum(64, length - 64 * piece);
            flags := 0;
            if piece = 0 then
              flags := 1;
            end if;
            if piece = pieces - 1 then
              flags := flags + 2;
            end if;
            expect_buffer(
              (place + piece) mod 5, number, 64 * piece, bytes, to_unsigned(flags, 2)(0), to_unsigned(flags, 2)(1), length,
              number mod 16
            );
            free((place + piece) mod 5);
          end loop;
          place := (place + pieces) mod 5;
          write(RING_MAC_STATUS, 1);
          cycles(2);
        end loop;

      elsif run("a frame without a buffer is counted, and told until it is cleared") then
        make_rx_ring(2, 64);
        receive(60, 1);
        cycles(300);
        -- One buffer is left for a frame that needs two.
        receive(100, 2);
        cycles(300);
        expect(RING_MAC_STATUS, 1 + 4, "status");
        expect_buffer(0, 1, 0, 60, '1', '1', 60, 0);
        expect_buffer(1, 2, 0, 64, '1', '0', 0, 0);
        receive(60, 3);
        cycles(300);
        expect(RING_MAC_COUNTS_DROPPED, 2, "dropped");
        expect(RING_MAC_COUNTS_RECEIVED, 3, "received into the store");
        write(RING_MAC_STATUS, 4);
        expect(RING_MAC_STATUS, 1, "status");
        free(0);
        free(1);
        receive(70, 4);
        cycles(300);
        expect_buffer(0, 4, 0, 64, '1', '0', 0, 0);
        expect_buffer(1, 4, 64, 6, '0', '1', 70, 0);
        expect(RING_MAC_COUNTS_DROPPED, 2, "dropped");

      elsif run("without a size of buffers nothing is written") then
        make_rx_ring(2, 0);
        at := beats;
        receive(60, 1);
        cycles(300);
        expect(RING_MAC_STATUS, 4, "status");
        check_equal(beats, at, "words that were written");

      elsif run("a frame is put together from pieces of any size at any place") then
        write(RING_MAC_TX_RING, TX_RING);
        place := 0;
        for number in 1 to 30 loop
          length := 0;
          pieces := random.RandInt(1, 4);
          for piece in 0 to pieces - 1 loop
            bytes := random.RandInt(0, 40);
            if piece = 0 then
              bytes := random.RandInt(14, 50);
            end if;
            at := TX_BUFFERS + 512 * piece + random.RandInt(0, 7);
            for i in 0 to bytes - 1 loop
              set_byte(at + i, content(number, length + i));
            end loop;
            flags := 0;
            if piece = pieces - 1 then
              flags := 1;
            end if;
            if place = 6 then
              flags := flags + 2;
            end if;
            give(place, at, bytes, to_unsigned(flags, 2)(0), to_unsigned(flags, 2)(1));
            length := length + bytes;
            place  := (place + 1) mod 7;
          end loop;
          -- Where it ends.
          memory.set(TX_RING / 4 + 2 * place + 1, x"80000000");
          write(RING_MAC_CONTROL, 3 + 16);
          cycles(20 * pieces + 5 * length + 200);
          expect_sent(number, length);
          expect(RING_MAC_STATUS, 2, "status");
          write(RING_MAC_STATUS, 2);
        end loop;
        check(is_empty(SENT_BYTES), "nothing else is sent");

      elsif run("frames that lie ready go one after the other, and each buffer is given back") then
        write(RING_MAC_TX_RING, TX_RING);
        for number in 0 to 5 loop
          for i in 0 to 99 loop
            set_byte(TX_BUFFERS + 128 * number + i, content(number, i));
          end loop;
          give(number, TX_BUFFERS + 128 * number, 60 + number, '1', '0');
        end loop;
        memory.set(TX_RING / 4 + 12 + 1, x"80000000");
        write(RING_MAC_CONTROL, 3 + 16);
        cycles(3000);
        for number in 0 to 5 loop
          expect_sent(number, 60 + number);
          check_equal(memory.get(TX_RING / 4 + 2 * number + 1)(TX_DESCRIPTOR_STATE_USED), '1', "given back");
        end loop;
        expect(RING_MAC_COUNTS_SENT, 6, "sent");

      elsif run("what is no frame is refused, and told") then
        for turn in 0 to 2 loop
          write(RING_MAC_TX_RING, TX_RING);
          case turn is
            when 0 =>
              give(0, TX_BUFFERS, 13, '1', '0');
              memory.set(TX_RING / 4 + 3, x"80000000");
            when 1 =>
              give(0, TX_BUFFERS, 1500, '0', '0');
              give(1, TX_BUFFERS, 1500, '1', '0');
              memory.set(TX_RING / 4 + 5, x"80000000");
            when others =>
              give(0, TX_BUFFERS, 60, '0', '0');
              memory.set(TX_RING / 4 + 3, x"80000000");
          end case;
          write(RING_MAC_CONTROL, 3 + 16);
          cycles(4000);
          expect(RING_MAC_STATUS, 8, "status, turn " & to_string(turn));
          write(RING_MAC_STATUS, 8);
        end loop;
        check(is_empty(SENT_BYTES), "nothing is sent");
        -- And it goes on.
        write(RING_MAC_TX_RING, TX_RING);
        for i in 0 to 59 loop
          set_byte(TX_BUFFERS + i, content(9, i));
        end loop;
        give(0, TX_BUFFERS, 60, '1', '0');
        memory.set(TX_RING / 4 + 3, x"80000000");
        write(RING_MAC_CONTROL, 3 + 16);
        cycles(1000);
        expect_sent(9, 60);

      elsif run("an address outside of the memory or of descriptors stops both directions, and the alias is none") then
        make_rx_ring(2, 64);
        memory.set(RX_RING / 4, x"40001000");
        receive(60, 1);
        cycles(200);
        expect(RING_MAC_STATUS, 16, "status");
        expect(RING_MAC_CONTROL, 0, "control");
        write(RING_MAC_STATUS, 16);
        memory.set(RX_RING / 4, x"00008000");
        write(RING_MAC_CONTROL, 3);
        cycles(200);
        expect(RING_MAC_STATUS, 16, "status");
        write(RING_MAC_STATUS, 16);
        write(RING_MAC_TX_RING, x"20000000");
        write(RING_MAC_CONTROL, 2 + 16);
        cycles(20);
        expect(RING_MAC_STATUS, 16, "status");
        write(RING_MAC_STATUS, 16);
        -- Rings that begin between two descriptors; the received frame still waits.
        memory.set(RX_RING / 4, x"00001000");
        memory.set(RX_RING / 4 + 1, x"00001000");
        for skew in 1 to 7 loop
          write(RING_MAC_TX_RING, std_logic_vector(to_unsigned(TX_RING + skew, 32)));
          write(RING_MAC_CONTROL, 2 + 16);
          cycles(20);
          expect(RING_MAC_STATUS, 16, "status");
          write(RING_MAC_STATUS, 16);
          write(RING_MAC_RX_RING, std_logic_vector(to_unsigned(RX_RING + skew, 32)));
          write(RING_MAC_CONTROL, 1);
          cycles(200);
          expect(RING_MAC_STATUS, 16, "status");
          expect(RING_MAC_CONTROL, 0, "control");
          write(RING_MAC_STATUS, 16);
        end loop;
        memory.set(RX_RING / 4, x"C0001000");
        write(RING_MAC_RX_RING, x"C0000100");
        write(RING_MAC_CONTROL, 1);
        cycles(300);
        expect(RING_MAC_STATUS, 1, "status");
        expect_buffer(0, 1, 0, 60, '1', '1', 60, 0);
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
