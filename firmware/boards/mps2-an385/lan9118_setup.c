/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LAN9118 apart from its frames: start, address, PHY, link, loopback and counters. */
#include "board_config.h"
#include "lan9118.h"

/* Steps of waiting; the slowest, a transfer to the PHY, takes some 30 us. */
#define TRIES 100000u

struct lan9118 lan9118;
uint64_t counters[COUNTERS];

static const char *const counter_names[COUNTERS] = {
	"rx_frames",	"rx_bytes",	 "rx_errors",	"rx_crc_errors", "rx_runts",	 "rx_oversized",
	"rx_ring_full", "rx_recoveries", "rx_overruns", "interrupts",	 "tx_frames",	 "tx_bytes",
	"tx_full",	"tx_too_long",	 "tx_no_link",	"tx_failed",	 "link_changes",
};

static bool wait_for(volatile const uint32_t *at, uint32_t bits, uint32_t value)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		if ((*at & bits) == value)
			return true;
	}
	return false;
}

uint32_t lan9118_csr(uint32_t index)
{
	CSR_COMMAND = CSR_BUSY | CSR_READ | index;
	wait_for(&CSR_COMMAND, CSR_BUSY, 0);
	return CSR_DATA;
}

void lan9118_set_csr(uint32_t index, uint32_t value)
{
	CSR_DATA = value;
	CSR_COMMAND = CSR_BUSY | index;
	wait_for(&CSR_COMMAND, CSR_BUSY, 0);
}

static bool phy_wait(void)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		if ((lan9118_csr(MAC_MII_ACCESS) & MII_BUSY) == 0)
			return true;
	}
	return false;
}

static uint32_t phy(uint32_t index)
{
	lan9118_set_csr(MAC_MII_ACCESS, PHY_ADDRESS << 11 | index << 6 | MII_BUSY);
	return phy_wait() ? lan9118_csr(MAC_MII_DATA) & 0xFFFFu : 0;
}

static void set_phy(uint32_t index, uint32_t value)
{
	lan9118_set_csr(MAC_MII_DATA, value);
	lan9118_set_csr(MAC_MII_ACCESS, PHY_ADDRESS << 11 | index << 6 | MII_WRITE | MII_BUSY);
	phy_wait();
}

/* Whether a chip of the family is there, and not an unanswered bus. */
static bool is_there(void)
{
	uint32_t chip;

	/* The first access wakes it up; then it says when it is ready. */
	BYTE_TEST = 0;
	if (!wait_for(&POWER, POWER_READY, POWER_READY) || BYTE_TEST != BYTE_TEST_VALUE)
		return false;
	chip = IDENTITY >> 16;
	return (chip >= 0x0115 && chip <= 0x0118) || chip == 0x9220 || chip == 0x9221;
}

static bool reset(void)
{
	HW_CONFIG = HW_RESET;
	if (!wait_for(&HW_CONFIG, HW_RESET, 0) || !wait_for(&POWER, POWER_READY, POWER_READY))
		return false;
	/* A reset makes it read its EEPROM, if there is one. */
	wait_for(&EEPROM_COMMAND, CSR_BUSY, 0);
	HW_CONFIG = HW_MUST_BE_ONE | HW_TX_FIFO_KB(5);
	INT_ENABLE = 0;
	INT_STATUS = 0xFFFFFFFFu;
	IRQ_CONFIG = IRQ_ON_HIGH_PUSH;
	FIFO_LEVELS = TX_LEVEL_OFF; /* and an interrupt for the first frame received */
	return true;
}

/* The address in the MAC, or else the board's. */
static void address_init(uint8_t address[6])
{
	static const uint8_t own[6] = BOARD_MAC;
	uint32_t low = lan9118_csr(MAC_ADDRESS_LOW), high = lan9118_csr(MAC_ADDRESS_HIGH) & 0xFFFFu;

	/* Without an EEPROM the address is all ones. */
	if ((low == 0 && high == 0) || (low == 0xFFFFFFFFu && high == 0xFFFFu)) {
		low = own[0] | (uint32_t)own[1] << 8 | (uint32_t)own[2] << 16 | (uint32_t)own[3] << 24;
		high = own[4] | (uint32_t)own[5] << 8;
		lan9118_set_csr(MAC_ADDRESS_LOW, low);
		lan9118_set_csr(MAC_ADDRESS_HIGH, high);
	}
	for (unsigned n = 0; n < 4; n++)
		address[n] = (uint8_t)(low >> 8 * n);
	for (unsigned n = 0; n < 2; n++)
		address[4 + n] = (uint8_t)(high >> 8 * n);
}

static bool phy_init(void)
{
	set_phy(PHY_CONTROL, PHY_RESET);
	for (unsigned tries = 0; (phy(PHY_CONTROL) & PHY_RESET) != 0; tries++) {
		if (tries == TRIES / 10)
			return false;
	}
	set_phy(PHY_ADVERTISED, PHY_ALL_SPEEDS);
	set_phy(PHY_CONTROL, PHY_NEGOTIATE | PHY_NEGOTIATE_AGAIN);
	return true;
}

bool mac_init(uint8_t address[6])
{
	if (!is_there() || !reset())
		return false;
	address_init(address);
	if (!phy_init())
		return false;
	TX_CONFIG = TX_DUMP;
	wait_for(&TX_CONFIG, TX_DUMP, 0);
	TX_CONFIG = TX_ON;
	lan9118_set_csr(MAC_CONTROL, MAC_TX_ENABLE | MAC_FULL_DUPLEX);
	mac_link();
	lan9118_receive_start();
	interrupts_enable(IRQ_ETHERNET);
	return true;
}

void mac_loopback(bool on)
{
	uint32_t was = board_irq_off();

	lan9118_receive_stop();
	lan9118.loopback = on;
	if (on) {
		lan9118_set_csr(MAC_CONTROL, lan9118_csr(MAC_CONTROL) | MAC_FULL_DUPLEX);
		set_phy(PHY_CONTROL, PHY_LOOPBACK | PHY_100 | PHY_FULL_DUPLEX);
	} else {
		set_phy(PHY_CONTROL, PHY_NEGOTIATE | PHY_NEGOTIATE_AGAIN);
	}
	lan9118_receive_start();
	board_irq_on(was);
}

/* The best mode that both ends support (IEEE 802.3, annex 28B.3). */
static void follow(void)
{
	uint32_t common = phy(PHY_ADVERTISED) & phy(PHY_PARTNER);
	bool full = (common & PHY_HAS_100_FULL) != 0 ||
		    ((common & PHY_HAS_100) == 0 && (common & PHY_HAS_10_FULL) != 0);
	uint32_t control = lan9118_csr(MAC_CONTROL) & ~MAC_FULL_DUPLEX;

	lan9118.bits_per_s = (common & (PHY_HAS_100_FULL | PHY_HAS_100)) != 0 ? 100000000u : 10000000u;
	lan9118_set_csr(MAC_CONTROL, full ? control | MAC_FULL_DUPLEX : control);
}

bool mac_link(void)
{
	bool up;

	if (lan9118.loopback)
		return true;
	/* A link failure is latched until it is read. */
	up = (phy(PHY_STATUS) & PHY_LINK_UP) != 0 || (phy(PHY_STATUS) & PHY_LINK_UP) != 0;
	if (up != lan9118.link_up) {
		counters[LINK_CHANGES]++;
		if (up)
			follow();
		else
			lan9118.bits_per_s = 0;
	}
	lan9118.link_up = up;
	return up;
}

uint32_t mac_link_bits_per_s(void)
{
	return lan9118.bits_per_s;
}

bool mac_counter(uint32_t index, const char **name, uint64_t *value)
{
	uint32_t was;

	if (index >= COUNTERS)
		return false;
	*name = counter_names[index];
	lan9118_collect();
	/* The interrupt may change the two words in between. */
	was = board_irq_off();
	counters[RX_OVERRUNS] += RX_DROPPED;
	*value = counters[index];
	board_irq_on(was);
	return true;
}
