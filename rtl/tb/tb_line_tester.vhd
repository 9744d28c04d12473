-- The example of rtl/README.md: a line that returns the sent frames lights the one lamp, a line with a fault the other.
--
-- The PHY's receive clock is the design's own with another phase, as with a cable plugged back, or that of a device that echoes
-- frames, 100 ppm off.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;
use work.line_pkg.all;

entity tb_line_tester is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_line_tester is
  constant FRAMES                                 : positive := 20;
  -- The clocks of a frame of 100 bytes of payload on the line.
  constant PERIOD                                 : positive := 138;
  -- More than a frame and its way back, so that a single lost frame does not yet count as silence.
  constant BACK                                   : positive := 200;
  constant LONG_FRAMES                            : positive := 6;
  -- A broadcast frame of an EtherType that nothing here uses.
  constant OTHER_FRAME                            : integer_vector(0 to 59) :=
    (0 to 5 => 16#FF#, 6 => 2, 7 to 11 => 7, 12 => 16#88#, 13 => 16#B6#, 14 to 59 => 0);
  signal clk                                      : std_logic := '0';
  signal rst                                      : std_logic := '1';
  signal run_it                                   : std_logic := '0';
  signal txd, rxd                                 : std_logic_vector(7 downto 0);
  signal tx_en, tx_er, rx_dv, rx_er               : std_logic;
  signal sending, finished, all_good, trouble     : std_logic;
  signal good                                     : std_logic_vector(31 downto 0);
  -- Bytes on the line since the last reset; the one to damage, and whether the line is unplugged.
  signal bytes, damage                            : natural := 0;
  signal is_plugged                               : boolean := true;
  -- Frames of another host on that line while it is silent.
  signal other_rxd                                : std_logic_vector(7 downto 0) := x"00";
  signal other_rx_dv, other_rx_er                 : std_logic := '0';
  signal one                                      : std_logic := '1';
  -- The signals of a tester of long frames, and the delay after which its line returns them.
  signal long_run                                 : std_logic := '0';
  signal long_txd, long_rxd                       : std_logic_vector(7 downto 0);
  signal long_tx_en, long_tx_er                   : std_logic;
  signal long_rx_dv, long_rx_er                   : std_logic;
  signal long_sending, long_finished              : std_logic;
  signal long_all_good, long_trouble              : std_logic;
  signal long_good                                : std_logic_vector(31 downto 0);
  signal way_back                                 : time := 0 ns;
  signal echo_txd                                 : std_logic_vector(7 downto 0);
  signal echo_tx_en, echo_tx_er                   : std_logic;
  -- The signals of a tester with default generics except BACK_CLOCKS.
  signal endless_run                              : std_logic := '0';
  signal endless_txd, endless_rxd                 : std_logic_vector(7 downto 0);
  signal endless_tx_en, endless_tx_er             : std_logic;
  signal endless_rx_dv                            : std_logic;
  signal endless_sending, endless_all_good        : std_logic;
  signal endless_trouble                          : std_logic;
  signal endless_good                             : std_logic_vector(31 downto 0);
  constant ENDLESS_BACK                           : positive := 2000;
  -- The clocks of the PHYs, and the delay of the first one to the design's.
  signal phy_clk                                  : std_logic;
  signal echo_clk                                 : std_logic := '0';
  signal phase                                    : time := 1 ns;
begin
  clk <= not clk after 4 ns;
  phy_clk <= transport clk after phase;
  echo_clk <= not echo_clk after 4.0004 ns;

  unit : entity work.line_tester
    generic map (PAYLOAD_BYTES => 100, FRAMES => FRAMES, BACK_CLOCKS => BACK)
    port map (clk, rst, run_it, phy_clk, rxd, rx_dv, rx_er, txd, tx_en, tx_er, sending, finished, all_good, trouble, good);

  rxd <= transport other_rxd after phase when other_rx_dv = '1' else
         not txd after phase when damage /= 0 and bytes = damage else
         txd after phase;
  rx_dv <= transport other_rx_dv or tx_en after phase when is_plugged else '0';
  rx_er <= transport tx_er after phase;
  bytes <= bytes + 1 when rising_edge(clk) and tx_en = '1';

  long_unit : entity work.line_tester
    generic map (FRAMES => LONG_FRAMES, BACK_CLOCKS => 2000)
    port map (clk, rst, long_run, echo_clk, long_rxd, long_rx_dv, long_rx_er, long_txd, long_tx_en, long_tx_er, long_sending,
              long_finished, long_all_good, long_trouble, long_good);

  -- The echo has a clock of its own.
  echo : entity work.gmii_elastic
    port map (echo_clk, rst, '0', clk, rst, long_txd, long_tx_en, long_tx_er, echo_txd, echo_tx_en, echo_tx_er, open, open);

  long_rxd <= transport echo_txd after way_back;
  long_rx_dv <= transport echo_tx_en after way_back;
  long_rx_er <= transport echo_tx_er after way_back;

  endless_unit : entity work.line_tester
    generic map (BACK_CLOCKS => ENDLESS_BACK)
    port map (clk, rst, endless_run, phy_clk, endless_rxd, endless_rx_dv, '0', endless_txd, endless_tx_en, endless_tx_er,
              endless_sending, open, endless_all_good, endless_trouble, endless_good);

  endless_rxd <= transport endless_txd after phase;
  endless_rx_dv <= transport endless_tx_en after phase when is_plugged else '0';

  process
    variable random : RandomPType;

    procedure clocks(count : natural) is
    begin
      for i in 1 to count loop
        wait until rising_edge(clk);
      end loop;
    end procedure;

    procedure begin_run is
    begin
      clocks(5);
      rst <= '0';
      run_it <= '1';
    end procedure;

    -- The last frame is still on its way when the generator is done.
    procedure finish_run is
    begin
      wait until rising_edge(clk) and finished = '1';
      clocks(BACK + 100);
    end procedure;

    -- In the tester of long frames `run` falls for so many clocks.
    procedure bounce(low : positive) is
    begin
      long_run <= '0';
      clocks(low);
      long_run <= '1';
    end procedure;

    procedure finish_long_run is
    begin
      wait until rising_edge(clk) and long_finished = '1';
      wait for way_back;
      clocks(200);
      check_equal(to_integer(unsigned(long_good)), LONG_FRAMES, "good frames");
      check_equal(long_trouble, '0', "trouble");
      check_equal(long_all_good, '1', "all good");
    end procedure;

    -- Wherever a frame is: at the generator, on the line, on its way back.
    procedure bounce_often is
    begin
      for i in 1 to 6 loop
        wait until rising_edge(clk) and long_sending = '1';
        clocks(random.RandInt(1, 4000));
        bounce(random.RandInt(1, 3));
      end loop;
      finish_long_run;
    end procedure;

    procedure begin_endless_run is
    begin
      clocks(5);
      rst <= '0';
      endless_run <= '1';
      wait until rising_edge(clk) and endless_sending = '1';
    end procedure;

    procedure expect_endless(is_good, is_bad : std_logic) is
    begin
      check_equal(endless_all_good, is_good, "all good");
      check_equal(endless_trouble, is_bad, "trouble");
    end procedure;

    procedure expect(is_good, is_bad : std_logic; frames_good : natural) is
    begin
      check_equal(all_good, is_good, "all good");
      check_equal(trouble, is_bad, "trouble");
      check_equal(to_integer(unsigned(good)), frames_good, "good frames");
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("line" & to_string(seed));
    phase <= 8 ns * random.RandInt(0, 999) / 1000;
    while test_suite loop
      if run("all that was sent came back") then
        begin_run;
        wait until rising_edge(clk) and sending = '1';
        finish_run;
        expect('1', '0', FRAMES);
        check_equal(sending, '0', "sending");
      elsif run("a run after another begins at nothing") then
        begin_run;
        finish_run;
        run_it <= '0';
        wait until rising_edge(clk) and finished = '0' for 2000 * 8 ns;
        run_it <= '1';
        wait until rising_edge(clk) and sending = '1';
        check_equal(to_integer(unsigned(good)), 0, "good frames");
        finish_run;
        expect('1', '0', FRAMES);
      elsif run("a byte that changed on the line is trouble") then
        -- In the payload of the third frame, whose preamble begins after two frames of 126 bytes.
        damage <= 2 * 126 + 8 + 60;
        begin_run;
        finish_run;
        expect('0', '1', FRAMES - 1);
      elsif run("frames that were lost are trouble as soon as one comes again") then
        begin_run;
        wait until unsigned(good) = 5;
        -- Between two frames, so that none is cut.
        wait until falling_edge(tx_en);
        is_plugged <= false;
        wait until falling_edge(tx_en);
        is_plugged <= true;
        check_equal(trouble, '0', "trouble before the next one");
        wait for 2 * PERIOD * 8 ns;
        check_equal(finished, '0', "finished");
        check_equal(trouble, '1', "trouble");
        finish_run;
        expect('0', '1', FRAMES - 1);
      elsif run("a run that falls for three clocks within a frame begins anew") then
        clocks(5);
        rst <= '0';
        long_run <= '1';
        wait until rising_edge(clk) and unsigned(long_good) = 2;
        clocks(700);
        check_equal(long_tx_en, '1', "within a frame");
        bounce(3);
        finish_long_run;
      elsif run("a run that bounces at any time begins anew") then
        clocks(5);
        rst <= '0';
        long_run <= '1';
        bounce_often;
      elsif run("a run that bounces does not judge what comes back late of the one before") then
        way_back <= 1700 * 8 ns;
        clocks(5);
        rst <= '0';
        long_run <= '1';
        bounce_often;
      elsif run("a frame of another EtherType is trouble, and be its FCS right") then
        begin_run;
        finish_run;
        expect('1', '0', FRAMES);
        send_line(clk, one, PREAMBLE & with_fcs(OTHER_FRAME), 60, other_rxd, other_rx_dv, other_rx_er);
        expect('0', '1', FRAMES);
      elsif run("a frame with a wrong FCS is trouble, whosever it was") then
        begin_run;
        finish_run;
        send_line(clk, one, PREAMBLE & OTHER_FRAME & (1 to 4 => 0), 60, other_rxd, other_rx_dv, other_rx_er);
        expect('0', '1', FRAMES);
      elsif run("a line that gives nothing back is trouble") then
        is_plugged <= false;
        begin_run;
        finish_run;
        expect('0', '1', 0);
      elsif run("the last frame that does not come back is trouble, until the next run") then
        begin_run;
        wait until rising_edge(clk) and unsigned(good) = FRAMES - 1;
        is_plugged <= false;
        finish_run;
        expect('0', '1', FRAMES - 1);
        is_plugged <= true;
        run_it <= '0';
        clocks(200);
        run_it <= '1';
        wait until rising_edge(clk) and sending = '1';
        expect('0', '0', 0);
        finish_run;
        expect('1', '0', FRAMES);
      elsif run("a run without an end is good from its first frame on, and when it was ended") then
        begin_endless_run;
        expect_endless('0', '0');
        wait until rising_edge(clk) and unsigned(endless_good) = 1;
        clocks(5);
        expect_endless('1', '0');
        for i in 1 to 6 loop
          clocks(1000);
          expect_endless('1', '0');
        end loop;
        endless_run <= '0';
        wait until rising_edge(clk) and endless_sending = '0';
        clocks(ENDLESS_BACK + 100);
        expect_endless('1', '0');
      elsif run("a run without an end on a line that gives nothing back is trouble") then
        is_plugged <= false;
        begin_endless_run;
        -- A frame of 1,538 clocks, and the way back.
        clocks(1538 + ENDLESS_BACK + 100);
        expect_endless('0', '1');
      elsif run("a cable that is unplugged in a run without an end is trouble, until the next run") then
        begin_endless_run;
        wait until rising_edge(clk) and unsigned(endless_good) = 3;
        clocks(random.RandInt(1, 1538));
        expect_endless('1', '0');
        is_plugged <= false;
        clocks(2 * 1538 + ENDLESS_BACK + 100);
        expect_endless('0', '1');
        is_plugged <= true;
        clocks(4 * 1538);
        expect_endless('0', '1');
        endless_run <= '0';
        wait until rising_edge(clk) and endless_sending = '0';
        clocks(ENDLESS_BACK + 100);
        endless_run <= '1';
        wait until rising_edge(clk) and endless_sending = '1';
        expect_endless('0', '0');
        clocks(4 * 1538);
        expect_endless('1', '0');
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
  test_runner_watchdog(runner, 10 ms);
end architecture;
