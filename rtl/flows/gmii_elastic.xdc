# The clock crossing of gmii_elastic for Vivado (docs/blocks/gmii_elastic.md). Set the two names to those of your clocks; it applies to
# each instance of the block. The top level's own file creates the receive clock at its pin:
#     create_clock -name phy_rx -period 8.0 [get_ports gmii_rx_clk]
set wirelab_from [get_clocks phy_rx]
set wirelab_to [get_clocks sys]

# The pointer in Gray code, the flag and the words that have been there for a clock: all within a clock of each other.
set_max_delay -datapath_only 8.0 -from $wirelab_from -to $wirelab_to
set_property ASYNC_REG TRUE [get_cells -hierarchical -regexp {.*/(gray|up)_(first|second)_reg.*}]

# The reset of the receive side in rtl/example/line_tester.vhd: two flip-flops of the PHY's clock.
set_false_path -to [get_pins -hierarchical -regexp {(.*/)?rx_rst_first_reg.*/D}]
set_property ASYNC_REG TRUE [get_cells -hierarchical -regexp {(.*/)?rx_rst(_first)?_reg.*}]
