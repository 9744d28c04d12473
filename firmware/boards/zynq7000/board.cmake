# Zynq-7000: Cortex-A9, Cadence GEM; an image that runs from DDR, loaded by the first stage boot loader or a debugger.
set(WL_BOARD_TOOLCHAIN cortex-a9)
set(WL_BOARD_SOURCES start.S board.c timer.c uart.c interrupts.c memory.c gem.c gem_phy.c)
set(WL_BOARD_COMMON_SOURCES receive.c uart_ring.c)
wl_image(zynq7000 link.ld lwip)
