/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The settings of one MPS2 with AN385: clocks, address, sizes. The clocks are those of Arm's application note DAI0385 and of
 * QEMU's mps2-an385.
 */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

/* An emulator shows in board_emulated(). */
#define BOARD_TELLS_EMULATION 1

#define BOARD_CORE_HZ 25000000u
#define BOARD_TIMER_HZ 25000000u
#define BOARD_UART_HZ 25000000u
#define BOARD_UART_BAUD 115200u
/* For shorter waits the core stays awake. On a busy host an emulated core wakes this late, hardware within microseconds. */
#define BOARD_LEAST_SLEEP_PS 200000000u
/* Interfaces and memory of the set-up tables. */
#define BOARD_INTERFACE_TEXT "LAN9118 (static memory bus)"
#define BOARD_MEMORY_TEXT "ZBT SSRAM"

/* The MAC's address if neither an EEPROM nor the image's loader has set one; the last four bytes are the IPv4 address. */
#define BOARD_MAC                                                                                            \
	{                                                                                                    \
		0x02, 0x00, 0x0A, 0x37, 0x00, 0x03                                                           \
	}

/* Frames that the interrupt takes out of the MAC's FIFO ahead of the main loop; a power of two. */
#define BOARD_RX_BUFFERS 128

#define BOARD_LWIP_MEM_BYTES (128 * 1024)
#define BOARD_LWIP_PBUFS 96
/* The FIFO holds seven full frames. Flow control is off, because it would hide a node's losses. */
#define BOARD_LWIP_TCP_WINDOW_BYTES (4 * 1460)
#define BOARD_LWIP_TCP_SEND_BYTES (16 * 1460)
#define BOARD_LWIP_TCP_SEGMENTS 96

#endif
