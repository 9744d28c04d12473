-- The example of rtl/README.md: a line that gives back what was sent lights the one lamp, a line with a fault the other.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
library vunit_lib;
context vunit_lib.vunit_context;
library osvvm;
use osvvm.RandomPkg.all;

entity tb_line_tester is
  generic (runner_cfg : string; seed : natural := 0);
end entity;

architecture test of tb_line_tester is
  constant FRAMES                                 : positive := 20;
  -- The clocks of a frame of 100 bytes of payload on the line.
  constant PERIOD                                 : positive := 138;
  constant LONG_FRAMES                            : positive := 6;
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
  -- Of a tester of long frames, and the time after which its line gives back what it got.
  signal long_run                                 : std_logic := '0';
  signal long_txd, long_rxd                       : std_logic_vector(7 downto 0);
  signal long_tx_en, long_tx_er                   : std_logic;
  signal long_rx_dv, long_rx_er                   : std_logic;
  signal long_sending, long_finished              : std_logic;
  signal long_all_good, long_trouble              : std_logic;
  signal long_good                                : std_logic_vector(31 downto 0);
  signal way_back                                 : time := 0 ns;
begin
  clk <= not clk after 4 ns;

  unit : entity work.line_tester
    generic map (PAYLOAD_BYTES => 100, FRAMES => FRAMES, BACK_CLOCKS => 100)
    port map (clk, rst, run_it, rxd, rx_dv, rx_er, txd, tx_en, tx_er, sending, finished, all_good, trouble, good);

  rxd <= not txd when damage /= 0 and bytes = damage else txd;
  rx_dv <= tx_en when is_plugged else '0';
  rx_er <= tx_er;
  bytes <= bytes + 1 when rising_edge(clk) and tx_en = '1';

  long_unit : entity work.line_tester
    generic map (FRAMES => LONG_FRAMES, BACK_CLOCKS => 2000)
    port map (clk, rst, long_run, long_rxd, long_rx_dv, long_rx_er, long_txd, long_tx_en, long_tx_er, long_sending,
              long_finished, long_all_good, long_trouble, long_good);

  long_rxd <= transport long_txd after way_back;
  long_rx_dv <= transport long_tx_en after way_back;
  long_rx_er <= transport long_tx_er after way_back;

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
      clocks(200);
    end procedure;

    -- Of the tester of long frames: `run` falls for so many clocks.
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

    procedure expect(is_good, is_bad : std_logic; frames_good : natural) is
    begin
      check_equal(all_good, is_good, "all good");
      check_equal(trouble, is_bad, "trouble");
      check_equal(to_integer(unsigned(good)), frames_good, "good frames");
    end procedure;
  begin
    test_runner_setup(runner, runner_cfg);
    random.InitSeed("line" & to_string(seed));
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
        -- In the payload of the third frame, whose preamble begins behind two frames of 126 bytes.
        damage <= 2 * 126 + 8 + 60;
        begin_run;
        finish_run;
        expect('0', '1', FRAMES - 1);
      elsif run("frames that were lost are trouble as soon as one comes again") then
        begin_run;
        wait until rising_edge(clk) and unsigned(good) = 5;
        is_plugged <= false;
        wait for 3 * PERIOD * 8 ns;
        is_plugged <= true;
        finish_run;
        check_equal(all_good, '0', "all good");
        check_equal(trouble, '1', "trouble");
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
      elsif run("a line that gives nothing back is not good") then
        is_plugged <= false;
        begin_run;
        finish_run;
        expect('0', '0', 0);
      end if;
    end loop;
    test_runner_cleanup(runner);
  end process;
  test_runner_watchdog(runner, 10 ms);
end architecture;
