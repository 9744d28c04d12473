/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers of GEM0, the Cadence Gigabit Ethernet MAC (UG585, B.18). */
#ifndef GEM_H
#define GEM_H

#include "zynq.h"

#define GEM(offset) REGISTER(0xE000B000u + (offset))
#define NET_CONTROL GEM(0x000)
#define NET_CONFIG GEM(0x004)
#define NET_STATUS GEM(0x008)
#define DMA_CONFIG GEM(0x010)
#define TX_STATUS GEM(0x014)
#define RX_QUEUE GEM(0x018)
#define TX_QUEUE GEM(0x01C)
#define RX_STATUS GEM(0x020)
#define INT_STATUS GEM(0x024)
#define INT_ENABLE GEM(0x028)
#define INT_DISABLE GEM(0x02C)
#define PHY_MAINTENANCE GEM(0x034)
#define HASH_LOW GEM(0x080)
#define HASH_HIGH GEM(0x084)
#define ADDRESS_LOW GEM(0x088)
#define ADDRESS_HIGH GEM(0x08C)

/* Statistics, by offset: bad frames (too short, too long, FCS, symbol, alignment), and good frames without a descriptor or
 * without space in the MAC. */
#define RX_UNDERSIZE 0x184u
#define RX_ALIGNMENT 0x19Cu
#define RX_RESOURCE 0x1A0u
#define RX_OVERRUNS 0x1A4u

/* NET_CONTROL */
#define LOOPBACK (1u << 1)
#define RX_ENABLE (1u << 2)
#define TX_ENABLE (1u << 3)
#define MANAGEMENT (1u << 4)
#define CLEAR_STATISTICS (1u << 5)
#define TX_START (1u << 9)

/* NET_CONFIG */
#define SPEED_100 (1u << 0)
#define FULL_DUPLEX (1u << 1)
#define RECEIVE_1536 (1u << 8)
#define SPEED_1000 (1u << 10)
#define RX_OFFSET_2 (2u << 14)
#define STRIP_FCS (1u << 17)
#define MDC_DIVIDE_48 (3u << 18)

/* DMA_CONFIG: bursts of 16, packet buffers of full size, receive buffers in units of 64 bytes. */
#define BURST_16 0x10u
#define RX_MEMORY_FULL (3u << 8)
#define TX_MEMORY_FULL (1u << 10)
#define RX_BUFFER_BYTES(bytes) ((bytes) / 64u << 16)

/* RX_STATUS and INT_STATUS */
#define RX_NO_BUFFER (1u << 0)
#define RX_OVERRUN (1u << 2)
#define ON_RX_COMPLETE (1u << 1)
#define ON_RX_USED (1u << 2)
#define ON_RX_OVERRUN (1u << 10)
#define ON_RECEIVE (ON_RX_COMPLETE | ON_RX_USED | ON_RX_OVERRUN)

/* Descriptors: two words. */
struct gem_descriptor {
	volatile uint32_t address;
	volatile uint32_t status;
};
#define RX_OURS (1u << 0) /* in the address: the MAC has filled it */
#define RX_WRAP (1u << 1)
#define RX_LENGTH 0x1FFFu
#define RX_START (1u << 14)
#define RX_END (1u << 15)
#define TX_LENGTH 0x3FFFu
#define TX_LAST (1u << 15)
#define TX_ERRORS (1u << 29 | 1u << 27 | 1u << 26)
#define TX_WRAP (1u << 30)
#define TX_OURS (1u << 31)

#endif
