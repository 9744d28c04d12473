/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The PHY behind GEM0, over MDIO: found by asking all addresses, negotiated by the registers of IEEE 802.3 clause 22. */
#include "gem.h"

#define READ (2u << 28)
#define WRITE (1u << 28)
#define CLAUSE_22 0x40020000u
#define MDIO_IDLE (1u << 2)
/* A transfer takes 64 bit times of 2.5 MHz, 26 µs; at 1 GHz this is far longer. */
#define MOST_POLLS 100000u

#define BMCR 0u
#define BMSR 1u
#define ID1 2u
#define ADVERTISE 4u
#define PARTNER 5u
#define CONTROL_1000 9u
#define STATUS_1000 10u
#define BMCR_RESTART (1u << 12 | 1u << 9)
#define BMSR_LINK (1u << 2)
#define BMSR_NEGOTIATED (1u << 5)

static uint32_t phy = 32;

static uint16_t transfer(uint32_t address, uint32_t index, uint32_t operation)
{
	PHY_MAINTENANCE = CLAUSE_22 | operation | address << 23 | index << 18;
	for (uint32_t n = 0; n < MOST_POLLS && (NET_STATUS & MDIO_IDLE) == 0; n++)
		;
	return (uint16_t)PHY_MAINTENANCE;
}

static uint16_t read(uint32_t index)
{
	return transfer(phy, index, READ);
}

bool gem_phy_init(void)
{
	for (phy = 0; phy < 32; phy++) {
		uint16_t id = read(ID1);

		if (id != 0 && id != 0xFFFF)
			break;
	}
	if (phy == 32)
		return false;
	/* The image's loader may have negotiated already. */
	if ((read(BMSR) & BMSR_NEGOTIATED) == 0)
		transfer(phy, BMCR, WRITE | BMCR_RESTART);
	return true;
}

struct gem_link gem_phy_link(void)
{
	uint16_t status, both, gigabit;

	/* The link bit latches a loss until it is read, so only the second read is current. */
	read(BMSR);
	status = read(BMSR);
	if ((status & (BMSR_LINK | BMSR_NEGOTIATED)) != (BMSR_LINK | BMSR_NEGOTIATED))
		return (struct gem_link){ 0 };
	/* Register 9 offers 1000BASE-T in bits 8 and 9; the partner's abilities are bits 10 and 11 of register 10. */
	gigabit = read(CONTROL_1000) & read(STATUS_1000) >> 2;
	both = read(ADVERTISE) & read(PARTNER);
	if (gigabit & (1u << 9 | 1u << 8))
		return (struct gem_link){ true, (gigabit & 1u << 9) != 0, 1000000000u };
	if (both & (1u << 8 | 1u << 7))
		return (struct gem_link){ true, (both & 1u << 8) != 0, 100000000u };
	return (struct gem_link){ true, (both & 1u << 6) != 0, 10000000u };
}
