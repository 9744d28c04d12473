# The reset of the receive side in rtl/example/line_tester.vhd for Vivado: two flip-flops of the PHY's clock. It is scoped to
# line_tester by flows/line_tester.tcl. Your own design has its own reset.
set_false_path -to [get_pins rx_rst_first_reg/D]
set_property ASYNC_REG TRUE [get_cells -regexp {rx_rst(_first)?_reg}]
