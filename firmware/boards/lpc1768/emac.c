/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The EMAC of the LPC1768 (UM10360 10): descriptors of two words, a transmit status of one, a receive status of two.
 * The index registers say who owns which descriptor, so one of each ring always stays unused. */
#include <string.h>

#include "board.h"
#include "board_config.h"
#include "lpc1768.h"
#include "registers.h"

struct descriptor {
	uint8_t *packet;
	uint32_t control;
};

struct rx_status {
	uint32_t info;
	uint32_t hash_crc;
};

/* Sent and received frames lie in different banks, so that they do not compete for one. */
static uint8_t tx_buffers[EMAC_TX_SLOTS][EMAC_BUFFER_BYTES] __attribute__((section(".ahb0"), aligned(8)));
static uint8_t rx_buffers[EMAC_RX_SLOTS][EMAC_BUFFER_BYTES] __attribute__((section(".ahb1"), aligned(8)));
static volatile struct descriptor tx_ring[EMAC_TX_SLOTS] __attribute__((section(".ahb0"), aligned(8)));
static volatile uint32_t tx_status[EMAC_TX_SLOTS] __attribute__((section(".ahb0"), aligned(8)));
static volatile struct descriptor rx_ring[EMAC_RX_SLOTS] __attribute__((section(".ahb0"), aligned(8)));
static volatile struct rx_status rx_status[EMAC_RX_SLOTS] __attribute__((section(".ahb0"), aligned(8)));

static uint32_t tx_slots, tx_produce, rx_consume;
static struct emac_counters counters;

/* A transfer takes 64 clocks of the management bus (2.3 MHz), with or without a PHY. */
static void phy_wait(void)
{
	for (uint32_t looks = 0; (MIND & MIND_BUSY) && looks < 10000; looks++)
		;
}

static uint16_t phy_read(uint32_t number)
{
	uint16_t value;

	MADR = BOARD_PHY << 8 | number;
	MCMD = MCMD_READ;
	phy_wait();
	value = (uint16_t)MRDD;
	MCMD = 0;
	return value;
}

static void phy_write(uint32_t number, uint16_t value)
{
	MADR = BOARD_PHY << 8 | number;
	MWTD = value;
	phy_wait();
}

static void pause(uint32_t ticks)
{
	uint64_t began = wl_clock();

	while (wl_clock() - began < ticks)
		;
}

/* DP83848: reset, then negotiate. */
static bool start_phy(void)
{
	enum { BMCR = 0, ID1 = 2, RESET = 0x8000, NEGOTIATE = 0x1200 };
	unsigned tries = 0;

	phy_write(BMCR, RESET);
	while ((phy_read(BMCR) & RESET) && tries++ < 100)
		pause(BOARD_CORE_HZ / 10000);
	/* An undriven bus reads as ones. */
	if (tries > 100 || phy_read(ID1) == 0xFFFF)
		return false;
	phy_write(BMCR, NEGOTIATE);
	return true;
}

/* The address that a boot loader has left, or else the board's. */
static void find_address(uint8_t address[6])
{
	static const uint8_t own[6] = BOARD_ADDRESS;
	uint32_t words[3] = { SA2, SA1, SA0 };

	for (unsigned n = 0; n < 3; n++) {
		address[2 * n] = (uint8_t)words[n];
		address[2 * n + 1] = (uint8_t)(words[n] >> 8);
	}
	if ((words[0] | words[1] | words[2]) == 0 || (address[0] & 1) != 0)
		memcpy(address, own, 6);
}

bool emac_init(uint8_t address[6])
{
	PCONP |= PCONP_ENET;
	/* RMII on P1.0, 1, 4, 8, 9, 10, 14, 15; management on P1.16, 17. */
	PINSEL2 = (PINSEL2 & ~0xF03F030Fu) | 0x50150105u;
	PINSEL3 = (PINSEL3 & ~0xFu) | 5u;
	find_address(address);
	MAC1 = MAC1_RESETS;
	ENET_COMMAND = ENET_RESETS;
	pause(BOARD_CORE_HZ / 1000000);
	MAC1 = 0;
	MAC2 = MAC2_CRC | MAC2_PAD;
	MAXF = 1522;
	CLRT = 0x370F;
	IPGR = 0x12;
	MCFG = MCFG_CLOCK_44 | MCFG_RESET;
	pause(BOARD_CORE_HZ / 1000000);
	MCFG = MCFG_CLOCK_44;
	MCMD = 0;
	ENET_COMMAND = ENET_RMII;
	SUPP = SUPP_100M;
	SA0 = (uint32_t)address[5] << 8 | address[4];
	SA1 = (uint32_t)address[3] << 8 | address[2];
	SA2 = (uint32_t)address[1] << 8 | address[0];
	return start_phy();
}

bool emac_link(void)
{
	enum { PHYSTS = 16, LINK = 1, SLOW = 2, FULL = 4 };
	uint16_t status = phy_read(PHYSTS);

	if (!(status & LINK))
		return false;
	SUPP = status & SLOW ? 0 : SUPP_100M;
	if (status & FULL) {
		MAC2 |= MAC2_FULL_DUPLEX;
		ENET_COMMAND |= ENET_FULL_DUPLEX;
		IPGT = 0x15; /* a gap of 0.96 us at 100 Mbit/s, as for half duplex 0x12 (UM10360 table 130) */
	} else {
		MAC2 &= ~MAC2_FULL_DUPLEX;
		ENET_COMMAND &= ~ENET_FULL_DUPLEX;
		IPGT = 0x12;
	}
	return true;
}

bool emac_link_held(void)
{
	enum { BMSR = 1, LINK = 1 << 2 };

	return (phy_read(BMSR) & LINK) != 0;
}

void emac_loopback(bool on)
{
	MAC1 = on ? MAC1 | MAC1_LOOPBACK : MAC1 & ~MAC1_LOOPBACK;
}

/* The buffers stay with their descriptors: after an overrun the MAC may still send from a swapped one (emac_swap). */
static void open_receive(void)
{
	for (uint32_t slot = 0; slot < EMAC_RX_SLOTS; slot++)
		rx_ring[slot].control = RX_INTERRUPT | (EMAC_BUFFER_BYTES - 1);
	rx_consume = 0;
	RXDESCRIPTOR = (uint32_t)rx_ring;
	RXSTATUS = (uint32_t)rx_status;
	RXDESCRIPTORNUMBER = EMAC_RX_SLOTS - 1;
	RXCONSUMEINDEX = 0;
	RXFILTERCTRL = RXFILTER_OWN | RXFILTER_BROADCAST;
}

uint32_t emac_open(uint32_t descriptors)
{
	uint32_t mode = ENET_COMMAND & (ENET_RMII | ENET_FULL_DUPLEX);

	MAC1 &= ~MAC1_RECEIVE;
	ENET_COMMAND = mode;
	ENET_COMMAND = mode | ENET_RESETS;
	ENET_COMMAND = mode;
	counters = (struct emac_counters){ 0 };
	tx_slots = descriptors + 1;
	tx_produce = 0;
	for (uint32_t slot = 0; slot < tx_slots; slot++)
		tx_ring[slot].packet = tx_buffers[slot];
	TXDESCRIPTOR = (uint32_t)tx_ring;
	TXSTATUS = (uint32_t)tx_status;
	TXDESCRIPTORNUMBER = tx_slots - 1;
	TXPRODUCEINDEX = 0;
	for (uint32_t slot = 0; slot < EMAC_RX_SLOTS; slot++)
		rx_ring[slot].packet = rx_buffers[slot];
	open_receive();
	ENET_INTCLEAR = 0xFFFFFFFFu;
	ENET_INTENABLE = INT_RX_DONE | INT_RX_OVERRUN;
	if (TXCONSUMEINDEX != 0 || RXPRODUCEINDEX != 0)
		return 0;
	ENET_COMMAND = mode | ENET_RX_ENABLE | ENET_TX_ENABLE;
	MAC1 |= MAC1_RECEIVE;
	return tx_slots;
}

uint8_t *emac_buffer(uint32_t slot)
{
	return tx_ring[slot].packet;
}

void emac_describe(uint32_t slot, size_t length)
{
	tx_ring[slot].control = TX_LAST | ((uint32_t)length - 1);
}

void emac_start(uint32_t slot)
{
	tx_produce = slot + 1 == tx_slots ? 0 : slot + 1;
	TXPRODUCEINDEX = tx_produce;
}

uint32_t emac_held(void)
{
	uint32_t consume = TXCONSUMEINDEX;

	return tx_produce >= consume ? tx_produce - consume : tx_produce + tx_slots - consume;
}

/* Frames wait in the ring. The interrupt ends a sleep and stays off until the ring is found empty. */
void emac_interrupt(void);
void emac_interrupt(void)
{
	ENET_INTENABLE = 0;
}

/* After an overrun the receiver has to be reset (UM10360 table 165). */
static void look_for_overrun(void)
{
	uint32_t status = ENET_INTSTATUS;

	ENET_INTCLEAR = status & (INT_RX_DONE | INT_RX_OVERRUN | INT_TX_UNDERRUN);
	if (status & INT_TX_UNDERRUN)
		counters.underruns++;
	if (!(status & INT_RX_OVERRUN))
		return;
	counters.no_buffer_events++;
	ENET_COMMAND &= ~ENET_RX_ENABLE;
	ENET_COMMAND |= 1u << 5;
	open_receive();
	ENET_COMMAND |= ENET_RX_ENABLE;
}

size_t emac_frame(uint8_t **frame)
{
	while (rx_consume != RXPRODUCEINDEX) {
		uint32_t info = rx_status[rx_consume].info;
		uint32_t bytes = (info & RX_SIZE) + 1;

		if (info & (RX_OVERRUN | RX_NO_DESCRIPTOR))
			counters.no_buffer_events++;
		else if (!(info & RX_LAST) || bytes <= 4 ||
			 (info & (RX_CRC_ERROR | RX_SYMBOL_ERROR | RX_ALIGNMENT_ERROR)))
			counters.error_frames++;
		else {
			*frame = rx_ring[rx_consume].packet;
			return bytes - 4;
		}
		emac_done();
	}
	look_for_overrun();
	ENET_INTENABLE = INT_RX_DONE | INT_RX_OVERRUN;
	return 0;
}

void emac_done(void)
{
	rx_consume = rx_consume + 1 == EMAC_RX_SLOTS ? 0 : rx_consume + 1;
	RXCONSUMEINDEX = rx_consume;
}

void emac_swap(uint32_t slot, size_t length)
{
	uint8_t *packet = tx_ring[slot].packet;

	tx_ring[slot].packet = rx_ring[rx_consume].packet;
	rx_ring[rx_consume].packet = packet;
	emac_describe(slot, length);
	emac_start(slot);
}

const struct emac_counters *emac_counters(void)
{
	return &counters;
}
