/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers of the LAN9118 (SMSC, data sheet revision 1.5; the same in the LAN9220), and declarations for its three files. */
#ifndef LAN9118_H
#define LAN9118_H

#include "board.h"
#include "mps2.h"

#define LAN(offset) REGISTER(0x40200000u + (offset))
#define RX_DATA LAN(0x00) /* also at the next seven words, for bursts */
#define TX_DATA LAN(0x20) /* likewise */
#define RX_STATUS LAN(0x40)
#define TX_STATUS LAN(0x48)
#define IDENTITY LAN(0x50)
#define IRQ_CONFIG LAN(0x54)
#define INT_STATUS LAN(0x58) /* cleared by writing 1 */
#define INT_ENABLE LAN(0x5C)
#define BYTE_TEST LAN(0x64)
#define FIFO_LEVELS LAN(0x68)
#define RX_CONFIG LAN(0x6C)
#define TX_CONFIG LAN(0x70)
#define HW_CONFIG LAN(0x74)
#define RX_INFO LAN(0x7C)
#define TX_INFO LAN(0x80)
#define POWER LAN(0x84)
#define RX_DROPPED LAN(0xA0) /* cleared by reading */
#define CSR_COMMAND LAN(0xA4)
#define CSR_DATA LAN(0xA8)
#define EEPROM_COMMAND LAN(0xB0)

#define BYTE_TEST_VALUE 0x87654321u
#define POWER_READY (1u << 0)
/* IRQ_CONFIG: on, active high, push-pull. Any other value interrupts endlessly on this board. */
#define IRQ_ON_HIGH_PUSH 0x111u
#define HW_RESET (1u << 0)
#define HW_MUST_BE_ONE (1u << 20)
#define HW_TX_FIFO_KB(kb) ((uint32_t)(kb) << 16) /* of 16 KB; receive has the rest */
#define RX_OFFSET_BYTES(bytes) ((uint32_t)(bytes) << 8)
#define RX_DUMP (1u << 15)
#define TX_ON (1u << 1)
#define TX_DUMP (3u << 14) /* data and status */
#define TX_LEVEL_OFF (0xFFu << 24)

/* INT_STATUS and INT_ENABLE */
#define ON_RX_STATUS (1u << 3) /* a frame waits */
#define ON_RX_DROPPED (1u << 6)
#define ON_TX_FIFO_OVERRUN (1u << 10)
#define ON_RX_ERROR (1u << 14) /* the FIFO was read wrongly: it has to be dumped */

/* RX_INFO and TX_INFO */
#define STATUS_WORDS(info) ((info) >> 16 & 0xFFu)
#define TX_FREE_BYTES(info) ((info)&0xFFFFu)

/* RX_STATUS */
#define RX_LENGTH(status) ((status) >> 16 & 0x3FFFu) /* with FCS */
#define RX_BAD (1u << 15) /* any of runt, too long, collision and CRC */
#define RX_RUNT (1u << 11)
#define RX_TOO_LONG (1u << 7)
#define RX_CRC (1u << 1)
#define FCS_BYTES 4u

/* TX_STATUS, and the two words in front of each piece */
#define TX_BAD (1u << 15)
#define TX_FIRST (1u << 13)
#define TX_LAST (1u << 12)
#define TX_OFFSET_BYTES(bytes) ((uint32_t)(bytes) << 16)

/* The MAC's own registers, behind CSR_COMMAND */
#define CSR_BUSY (1u << 31)
#define CSR_READ (1u << 30)
#define MAC_CONTROL 1u
#define MAC_ADDRESS_HIGH 2u
#define MAC_ADDRESS_LOW 3u
#define MAC_MII_ACCESS 6u
#define MAC_MII_DATA 7u
#define MAC_RX_ENABLE (1u << 2)
#define MAC_TX_ENABLE (1u << 3)
#define MAC_FULL_DUPLEX (1u << 20)
#define MII_BUSY (1u << 0)
#define MII_WRITE (1u << 1)

/* The PHY inside (IEEE 802.3, clause 22) */
#define PHY_ADDRESS 1u
#define PHY_CONTROL 0u
#define PHY_STATUS 1u
#define PHY_ADVERTISED 4u
#define PHY_PARTNER 5u
#define PHY_RESET (1u << 15)
#define PHY_LOOPBACK (1u << 14)
#define PHY_100 (1u << 13)
#define PHY_NEGOTIATE (1u << 12)
#define PHY_NEGOTIATE_AGAIN (1u << 9)
#define PHY_FULL_DUPLEX (1u << 8)
#define PHY_LINK_UP (1u << 2)
#define PHY_ALL_SPEEDS 0x01E1u /* 10 and 100 Mbit/s, half and full, and the selector of 802.3 */
#define PHY_HAS_100_FULL (1u << 8)
#define PHY_HAS_100 (1u << 7)
#define PHY_HAS_10_FULL (1u << 6)

struct lan9118 {
	bool link_up, loopback;
	uint32_t bits_per_s;
};

extern struct lan9118 lan9118;

/* Counters since start. The interrupt counts received frames, the main loop the rest. */
enum lan9118_counter {
	RX_FRAMES,
	RX_BYTES,
	RX_ERRORS,
	RX_CRC_ERRORS,
	RX_RUNTS,
	RX_OVERSIZED,
	RX_RING_FULL,
	RX_RECOVERIES,
	RX_OVERRUNS,
	INTERRUPTS,
	TX_FRAMES,
	TX_BYTES,
	TX_FULL,
	TX_TOO_LONG,
	TX_NO_LINK,
	TX_FAILED,
	LINK_CHANGES,
	COUNTERS
};

extern uint64_t counters[COUNTERS];

/* Start receiving with all FIFOs and buffers empty; stop receiving. With the MAC's interrupt off. */
void lan9118_receive_start(void);
void lan9118_receive_stop(void);

/* Take the MAC's status of the frames that it has sent. */
void lan9118_collect(void);

uint32_t lan9118_csr(uint32_t index);
void lan9118_set_csr(uint32_t index, uint32_t value);

#endif
