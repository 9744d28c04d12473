# The clock crossing of gmii_elastic for tools that read SDC, as Quartus (docs/blocks/gmii_elastic.md). Set the two names to those of
# your clocks. The top level's own file creates the receive clock at its pin:
#     create_clock -name phy_rx -period 8.0 [get_ports gmii_rx_clk]
set wirelab_from phy_rx
set wirelab_to sys

# The clocks have no phase to each other: no setup or hold between them, but no path longer than a clock, so that the bits of the
# pointer stay within a clock of each other.
set_max_delay -from [get_clocks $wirelab_from] -to [get_clocks $wirelab_to] 8.0
set_min_delay -from [get_clocks $wirelab_from] -to [get_clocks $wirelab_to] -8.0

# The reset of the receive side in rtl/example/line_tester.vhd: two flip-flops of the PHY's clock.
set_false_path -to [get_registers *rx_rst_first*]
