/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sizes and clocks of the reference node. */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

#define BOARD_CORE_HZ 100000000u
#define BOARD_LINK_BITS_PER_S 100000000u
/* The core sleeps by looking at a flag, so that it wakes within clocks. */
#define BOARD_LEAST_SLEEP_PS 20000000u

/* The MAC's address if the image's loader has set none; the last four bytes are the IPv4 address. */
#define BOARD_MAC                                                                                            \
	{                                                                                                    \
		0x02, 0x00, 0x0A, 0x37, 0x00, 0x02                                                           \
	}

/* Buffers of received frames: those of the ring, those that wait for the stack, and those that lwIP still holds. */
#define BOARD_RX_BUFFERS 64
#define BOARD_RX_DESCRIPTORS 16
#define BOARD_TX_DESCRIPTORS 16

#define BOARD_LWIP_MEM_BYTES (64 * 1024)
#define BOARD_LWIP_PBUFS 16
#define BOARD_LWIP_TCP_WINDOW_BYTES (8 * 1460)
#define BOARD_LWIP_TCP_SEND_BYTES (8 * 1460)
#define BOARD_LWIP_TCP_SEGMENTS 32
/* Received frames stay in the buffer they came in. */
#define LWIP_SUPPORT_CUSTOM_PBUF 1

#endif
