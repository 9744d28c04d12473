# The reset of the receive side in rtl/example/line_tester.vhd for Quartus: two flip-flops of the PHY's clock.
set_false_path -to [get_registers {*rx_rst_first}]
