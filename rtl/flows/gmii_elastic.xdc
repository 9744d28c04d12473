# The clock crossing of gmii_elastic for Vivado (docs/blocks/gmii_elastic.md). It is scoped to the block by
# flows/gmii_elastic.tcl, so get_ports gives the block's pins, and the clock is the one at each instance, whatever its name.
# Other paths between the clocks of a design are not affected. The top level's own file creates the receive clock at its pin:
#     create_clock -name phy_rx -period 8.0 [get_ports gmii_rx_clk]

# The pointer in Gray code, the flag, and words written at least a clock before: all within a clock of each other.
set_max_delay -datapath_only 8.0 -from [get_clocks -of_objects [get_ports gmii_rx_clk]] -to [get_cells -regexp {((gray|up)_first|word)_reg.*}]
set_property ASYNC_REG TRUE [get_cells -regexp {(gray|up)_(first|second)_reg.*}]
