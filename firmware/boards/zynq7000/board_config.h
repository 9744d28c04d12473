/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The settings of one Zynq-7000 board: clocks, address, sizes. The clocks are those of QEMU's
 * xilinx-zynq-a9; on hardware the global and private timers run at half the core's clock (UG585, 8.1).
 */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

#define BOARD_CORE_HZ 667000000u
#define BOARD_TIMER_HZ 100000000u
#define BOARD_UART_HZ 50000000u
#define BOARD_UART_BAUD 115200u
/* An emulator shows in board_emulated(). */
#define BOARD_TELLS_EMULATION 1
/* For shorter waits the core stays awake. On a busy host an emulated core wakes this late, hardware within microseconds. */
#define BOARD_LEAST_SLEEP_PS 200000000u
#define BOARD_IO_PLL_HZ 1000000000u
/* Interfaces and memory of the set-up tables. */
#define BOARD_INTERFACE_TEXT "RGMII"
#define BOARD_PHY_TEXT "Marvell 88E1111"
#define BOARD_MEMORY_TEXT "DDR3"

/* The MAC's address if the image's loader has set none; the last four bytes are the IPv4 address. */
#define BOARD_MAC                                                                                            \
	{                                                                                                    \
		0x02, 0x00, 0x0A, 0x37, 0x00, 0x02                                                           \
	}

#define BOARD_RX_DESCRIPTORS 256
#define BOARD_TX_DESCRIPTORS 128

#define BOARD_LWIP_MEM_BYTES (512 * 1024)
#define BOARD_LWIP_PBUFS 256
#define BOARD_LWIP_TCP_WINDOW_BYTES (44 * 1460)
#define BOARD_LWIP_TCP_SEND_BYTES (44 * 1460)
#define BOARD_LWIP_TCP_SEGMENTS 256

#endif
