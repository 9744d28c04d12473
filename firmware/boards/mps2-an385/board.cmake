# MPS2+ with the image AN385: Cortex-M3, LAN9118 (on the board itself a LAN9220); an image that runs from SSRAM 1.
set(WL_BOARD_TOOLCHAIN cortex-m3)
set(WL_BOARD_SOURCES start.c board.c timer.c uart.c lan9118.c lan9118_setup.c lan9118_send.c)
set(WL_BOARD_COMMON_SOURCES receive.c uart_ring.c)
wl_image(mps2-an385 link.ld lwip)
