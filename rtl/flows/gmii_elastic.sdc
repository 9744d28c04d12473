# The clock crossing of gmii_elastic for Quartus (docs/blocks/gmii_elastic.md). It names the block's registers, by the name of the entity,
# so it needs no name of a clock. The top level's own file creates the receive clock at its pin:
#     create_clock -name phy_rx -period 8.0 [get_ports gmii_rx_clk]

# The clocks have no phase relation: no setup or hold between them, but no path longer than a clock, so that the bits of the
# pointer stay within a clock of each other.
set_max_delay -from [get_registers {*gmii_elastic:*|gray[*]}] -to [get_registers {*gmii_elastic:*|gray_first[*]}] 8.0
set_min_delay -from [get_registers {*gmii_elastic:*|gray[*]}] -to [get_registers {*gmii_elastic:*|gray_first[*]}] -8.0
set_max_delay -from [get_registers {*gmii_elastic:*|up}] -to [get_registers {*gmii_elastic:*|up_first}] 8.0
set_min_delay -from [get_registers {*gmii_elastic:*|up}] -to [get_registers {*gmii_elastic:*|up_first}] -8.0

# The words, which are registers or memory.
set_max_delay -from [get_keepers {*gmii_elastic:*|*memory*}] -to [get_registers {*gmii_elastic:*|word[*]}] 8.0
set_min_delay -from [get_keepers {*gmii_elastic:*|*memory*}] -to [get_registers {*gmii_elastic:*|word[*]}] -8.0
