-- Tests of ring_mac's registers at unusual times: rings written and directions disabled while a frame is moved, the state after
-- a fault, and frames that are dropped for two reasons at once.
--
-- The memory takes a clock a word, so that moving a frame of some hundred bytes takes long enough.
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

entity tb_ring_writes is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_ring_writes is
  constant PERIOD  : time    := 10 ns;
  constant REFUSED : natural := 2**RING_MAC_STATUS_REFUSED;
  constant FAULT   : natural := 2**RING_MAC_STATUS_FAULT;
  constant BUSY    : natural := 2**RING_MAC_CONTROL_BUSY;
  -- Places in memory, in bytes: a ring for each direction, and another one.
  constant RX_RING    : natural := 16#100#;
  constant TX_RING    : natural := 16#200#;
  constant OTHER_RING : natural := 16#300#;
  constant BUFFERS    : natural := 16#1000#;
  constant OTHER_BUFFERS : natural := 16#4000#;
  constant OUTSIDE    : natural := 16#20000#;
  constant LONG       : natural := 400;

  signal clk : std_logic := '0';
  signal rst : std_logic := '1';
  signal s_tdata, m_tdata : std_logic_vector(7 downto 0) := x"00";
  signal s_tvalid, s_tlast, result_valid : std_logic := '0';
  signal m_tvalid, m_tlast, irq : std_logic;
  signal dma_request, dma_write : std_logic;
  signal dma_answer : std_logic := '0';
  signal dma_address : std_logic_vector(MEMORY_BITS - 1 downto 0);
  signal dma_wdata : std_logic_vector(31 downto 0);
  signal dma_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal s_access, s_write : std_logic := '0';
  signal s_address : std_logic_vector(13 downto 0) := (others => '0');
  signal s_wdata, s_rdata : std_logic_vector(31 downto 0) := (others => '0');
  signal frames_sent, last_length : natural := 0;
  -- The memory keeps a request waiting.
  signal holds : std_logic := '0';
  shared variable memory : memory_t;
begin
  clk <= not clk after PERIOD / 2;

  unit : entity work.ring_mac
    generic map (RAM_BITS => MEMORY_BITS)
    port map (
      clk, rst, s_tdata, s_tvalid, s_tlast, '0', '0', '0', '0', '0', '0', '0', '0', result_valid, '0', "0000",
      m_tdata, m_tvalid, '1', m_tlast, '0', '0', irq,
      dma_request, dma_write, dma_address, dma_wdata, dma_answer, dma_rdata,
      s_access, s_write, s_address, s_wdata, s_rdata
    );

  serve : process
  begin
    wait until rising_edge(clk);
    dma_answer <= '0';
    if dma_request = '1' and dma_answer = '0' and holds = '0' then
      dma_answer <= '1';
      dma_rdata  <= memory.get(to_integer(unsigned(dma_address)));
      if dma_write = '1' then
        memory.set(to_integer(unsigned(dma_address)), dma_wdata);
      end if;
    end if;
  end process;

  take : process
    variable length : natural := 0;
  begin
    wait until rising_edge(clk);
    if m_tvalid = '1' then
      length := length + 1;
      if m_tlast = '1' then
        frames_sent <= frames_sent + 1;
        last_length <= length;
        length := 0;
      end if;
    end if;
  end process;

  main : process
    variable random : RandomPType;

    procedure cycles(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure write(address, value : natural) is
    begin
      s_access  <= '1';
      s_write   <= '1';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      s_wdata   <= std_logic_vector(to_unsigned(value, 32));
      cycles(1);
      s_access <= '0';
      cycles(1);
    end procedure;

    procedure read(address : natural; value : out natural) is
    begin
      s_access  <= '1';
      s_write   <= '0';
      s_address <= std_logic_vector(to_unsigned(address / 4, 14));
      cycles(1);
      s_access <= '0';
      cycles(1);
      value := to_integer(unsigned(s_rdata));
    end procedure;

    procedure expect(address, value : natural; what : string) is
      variable seen : natural;
    begin
      read(address, seen);
      check_equal(seen, value, what);
    end procedure;

    procedure wait_until_idle is
      variable control : natural := BUSY;
    begin
      while (control / BUSY) mod 2 = 1 loop
        read(RING_MAC_CONTROL, control);
      end loop;
    end procedure;

    -- A frame of bytes `value`, to any address.
    procedure receive(bytes, value : natural) is
    begin
      for i in 1 to bytes loop
        s_tvalid <= '1';
        s_tdata  <= octet(value);
        s_tlast  <= '1' when i = bytes else '0';
        cycles(1);
      end loop;
      s_tvalid <= '0';
      s_tlast  <= '0';
      cycles(2);
      result_valid <= '1';
      cycles(1);
      result_valid <= '0';
    end procedure;

    procedure describe(ring, place, address, state : natural) is
    begin
      memory.set(ring / 4 + 2 * place, std_logic_vector(to_unsigned(address, 32)));
      memory.set(ring / 4 + 2 * place + 1, std_logic_vector(to_unsigned(state, 32)));
    end procedure;

    -- Four descriptors of free buffers, the last with wrap.
    procedure make_rx_ring(ring, buffers_at : natural) is
    begin
      for place in 0 to 3 loop
        describe(ring, place, buffers_at + 1024 * place + (place / 3) * 2**RX_DESCRIPTOR_BUFFER_WRAP, 0);
      end loop;
    end procedure;

    impure function is_used(ring, place : natural) return boolean is
    begin
      return memory.get(ring / 4 + 2 * place)(RX_DESCRIPTOR_BUFFER_USED) = '1';
    end function;

    impure function is_given_back(ring, place : natural) return boolean is
    begin
      return memory.get(ring / 4 + 2 * place + 1)(TX_DESCRIPTOR_STATE_USED) = '1';
    end function;

    procedure expect_received(ring, place, buffers_at, bytes, value : natural) is
      constant AT   : natural := (buffers_at + 1024 * place) / 4;
      constant WORD : std_logic_vector(31 downto 0) := octet(value) & octet(value) & octet(value) & octet(value);
    begin
      check(is_used(ring, place), "used, descriptor " & to_string(place));
      check_equal(
        to_integer(unsigned(memory.get(ring / 4 + 2 * place + 1)(RX_DESCRIPTOR_STATE_LENGTH))), bytes, "length"
      );
      for i in 0 to bytes / 4 - 1 loop
        check_equal(memory.get(AT + i), WORD, "word " & to_string(i));
      end loop;
    end procedure;

    -- Two descriptors of one frame, and where it ends.
    procedure make_frame(ring, first_bytes, second_bytes : natural) is
    begin
      describe(ring, 0, BUFFERS, first_bytes);
      describe(ring, 1, BUFFERS, second_bytes + 2**TX_DESCRIPTOR_STATE_LAST);
      describe(ring, 2, BUFFERS, 0);
      memory.set(ring / 4 + 5, x"80000000");
    end procedure;

    procedure enable(also : natural := 0) is
    begin
      write(
        RING_MAC_CONTROL,
        2**RING_MAC_CONTROL_RX_ENABLE + 2**RING_MAC_CONTROL_TX_ENABLE + 2**RING_MAC_CONTROL_ANY_ADDRESS + also
      );
    end procedure;

    procedure send is
    begin
      enable(2**RING_MAC_CONTROL_TX_START);
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("writes" & to_string(seed));
    cycles(4);
    rst <= '0';
    cycles(1);
    make_rx_ring(RX_RING, BUFFERS);
    make_rx_ring(OTHER_RING, OTHER_BUFFERS);
    write(RING_MAC_RX_BUFFER_BYTES, 1024);
    write(RING_MAC_RX_RING, RX_RING);
    write(RING_MAC_TX_RING, TX_RING);
    enable;
    expect(RING_MAC_CONTROL, 7, "control");

    while test_suite loop
      if run("a ring of received frames that is written while one is moved is lost and told, and taken once it is over") then
        for round in 0 to 9 loop
          make_rx_ring(RX_RING, BUFFERS);
          make_rx_ring(OTHER_RING, OTHER_BUFFERS);
          write(RING_MAC_RX_RING, RX_RING);
          receive(LONG, 16#11#);
          cycles(2 + random.RandInt(0, 180));
          expect(RING_MAC_CONTROL, 7 + BUSY, "busy");
          write(RING_MAC_RX_RING, OTHER_RING);
          expect(RING_MAC_RX_RING, RX_RING, "the ring that stays");
          expect(RING_MAC_STATUS, REFUSED, "told");
          expect(RING_MAC_COUNTS_STICKY, 2**RING_MAC_COUNTS_STICKY_REFUSED, "told in the sticky word");
          wait_until_idle;
          expect_received(RX_RING, 0, BUFFERS, LONG, 16#11#);
          check(not is_used(OTHER_RING, 0), "the other ring was not touched");
          write(RING_MAC_STATUS, 31);
          write(RING_MAC_RX_RING, OTHER_RING);
          receive(60, 16#22#);
          cycles(3);
          wait_until_idle;
          expect_received(OTHER_RING, 0, OTHER_BUFFERS, 60, 16#22#);
          check(not is_used(RX_RING, 1), "the first ring was not touched");
          write(RING_MAC_STATUS, 31);
        end loop;

      elsif run("a ring of frames to send that is written while one is moved is lost and told, and that frame goes") then
        for round in 1 to 10 loop
          make_frame(TX_RING, 300, 100);
          make_frame(OTHER_RING, 20, 30);
          send;
          cycles(random.RandInt(0, 150));
          expect(RING_MAC_CONTROL, 7 + BUSY, "busy");
          write(RING_MAC_TX_RING, OTHER_RING);
          expect(RING_MAC_TX_RING, TX_RING, "the ring that stays");
          expect(RING_MAC_STATUS, REFUSED, "told");
          -- While enabled, it is not busy for a clock between two frames.
          write(RING_MAC_CONTROL, 0);
          wait_until_idle;
          check(is_given_back(TX_RING, 0) and is_given_back(TX_RING, 1), "both buffers were given back");
          check(not is_given_back(OTHER_RING, 0), "the other ring was not touched");
          write(RING_MAC_TX_RING, OTHER_RING);
          send;
          cycles(1500);
          check_equal(frames_sent, 2 * round, "frames");
          check_equal(last_length, 50, "the frame of the other ring");
          write(RING_MAC_CONTROL, 0);
          wait_until_idle;
          write(RING_MAC_TX_RING, TX_RING);
          write(RING_MAC_STATUS, 31);
        end loop;

      elsif run("once both directions are disabled and busy is over, no descriptor and no buffer is touched any more") then
        for round in 1 to 10 loop
          make_rx_ring(RX_RING, BUFFERS);
          write(RING_MAC_RX_RING, RX_RING);
          enable;
          receive(LONG, 16#33#);
          receive(60, 16#44#);
          cycles(random.RandInt(0, 60));
          expect(RING_MAC_CONTROL, 7 + BUSY, "busy");
          write(RING_MAC_CONTROL, 2**RING_MAC_CONTROL_ANY_ADDRESS);
          wait_until_idle;
          expect_received(RX_RING, 0, BUFFERS, LONG, 16#33#);
          cycles(500);
          expect(RING_MAC_CONTROL, 2**RING_MAC_CONTROL_ANY_ADDRESS, "not busy");
          check(not is_used(RX_RING, 1), "the frame behind it waits in the store");
          -- The buffers belong to software: a new ring gets that frame first.
          make_rx_ring(OTHER_RING, OTHER_BUFFERS);
          write(RING_MAC_RX_RING, OTHER_RING);
          enable;
          cycles(3);
          wait_until_idle;
          expect_received(OTHER_RING, 0, OTHER_BUFFERS, 60, 16#44#);
          write(RING_MAC_STATUS, 31);
          expect(RING_MAC_STATUS, 0, "nothing was refused");
        end loop;

      elsif run("a fault gives back all that was to be sent, unsent, up to a used descriptor, and it goes on afterwards") then
        for first in 0 to 1 loop
          write(RING_MAC_TX_RING, TX_RING);
          make_frame(TX_RING, 300, 100);
          describe(TX_RING, first, OUTSIDE, 60 + first * 2**TX_DESCRIPTOR_STATE_LAST);
          -- A second frame after it.
          describe(TX_RING, 2, BUFFERS, 70 + 2**TX_DESCRIPTOR_STATE_LAST);
          describe(TX_RING, 3, BUFFERS, 0);
          memory.set(TX_RING / 4 + 7, x"80000000");
          send;
          cycles(2000);
          for place in 0 to 2 loop
            check(is_given_back(TX_RING, place), "given back, descriptor " & to_string(place));
          end loop;
          check_equal(frames_sent, first, "frames");
          expect(RING_MAC_STATUS, FAULT, "status");
          expect(RING_MAC_COUNTS_STICKY, 2**RING_MAC_COUNTS_STICKY_FAULT, "sticky word");
          expect(RING_MAC_CONTROL, 4, "both directions are disabled, and nothing is under way");
          write(RING_MAC_STATUS, 31);
          make_frame(TX_RING, 20, 30);
          write(RING_MAC_TX_RING, TX_RING);
          send;
          cycles(300);
          check_equal(frames_sent, first + 1, "frames");
          check_equal(last_length, 50, "a frame behind the fault");
        end loop;

      elsif run("a fault of a received frame gives back what was to be sent, and one of the ring itself ends at once") then
        describe(RX_RING, 0, OUTSIDE, 0);
        make_frame(TX_RING, 300, 100);
        receive(60, 16#55#);
        send;
        cycles(1000);
        check(is_given_back(TX_RING, 0) and is_given_back(TX_RING, 1), "given back");
        check_equal(frames_sent, 0, "frames");
        expect(RING_MAC_STATUS, FAULT, "status");
        expect(RING_MAC_CONTROL, 4, "control");
        write(RING_MAC_STATUS, 31);
        -- The ring begins outside of the memory; the received frame still waits, and is moved later.
        make_rx_ring(RX_RING, BUFFERS);
        write(RING_MAC_TX_RING, OUTSIDE);
        send;
        cycles(500);
        expect(RING_MAC_STATUS, FAULT + 2**RING_MAC_STATUS_RECEIVED, "status");
        expect(RING_MAC_CONTROL, 4, "control");
        expect_received(RX_RING, 0, BUFFERS, 60, 16#55#);

      elsif run("two frames that are dropped in one clock, without a slot and without a buffer, are both counted and told") then
        for delay in 0 to 40 loop
          make_rx_ring(RX_RING, BUFFERS);
          describe(RX_RING, 0, BUFFERS + 2**RX_DESCRIPTOR_BUFFER_USED, 0);
          write(RING_MAC_RX_RING, RX_RING);
          holds <= '1';
          receive(60, 16#66#);
          receive(60, 16#77#);
          cycles(4);
          expect(RING_MAC_COUNTS_DROPPED, 0, "both are in the store");
          expect(RING_MAC_COUNTS_STICKY, 0, "and nothing has happened");
          -- The first is dropped around the end of a third frame of 60 bytes, which finds no slot.
          holds <= '0' after (40 + delay) * PERIOD;
          receive(60, 16#88#);
          cycles(60);
          wait_until_idle;
          expect(RING_MAC_COUNTS_DROPPED, 3, "dropped, " & to_string(delay) & " clocks");
          expect(
            RING_MAC_COUNTS_STICKY, 2**RING_MAC_COUNTS_STICKY_OVERRUN + 2**RING_MAC_COUNTS_STICKY_NO_BUFFER, "sticky word"
          );
          write(RING_MAC_STATUS, 31);
          enable(2**RING_MAC_CONTROL_CLEAR);
          cycles(1);
          expect(RING_MAC_COUNTS_STICKY, 0, "cleared");
        end loop;
        -- A frame with a slot but no buffer is not an overrun.
        receive(60, 16#99#);
        cycles(60);
        expect(RING_MAC_COUNTS_DROPPED, 1, "dropped");
        expect(RING_MAC_COUNTS_STICKY, 2**RING_MAC_COUNTS_STICKY_NO_BUFFER, "sticky word");
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;

  test_runner_watchdog(runner, 50 ms);
end architecture;
