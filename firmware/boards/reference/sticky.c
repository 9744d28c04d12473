/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The last counter of the MAC, `mac_sticky`: the bits of the block's sticky word (rtl/registers/reference_node.rdl). */
#include "board.h"
#include "reference.h"

RARE static uint32_t sticky_word(void)
{
	if (VALUE(NODE(system.straps), SYSTEM__STRAPS__ATTACHMENT) == ATTACHMENT_RING)
		return NODE(ring_mac.counts.sticky);
	return NODE(slot_mac.counts.sticky);
}

/* It exists only while a bit is set: without a fault, control lines are no longer and no later. */
RARE bool mac_counter(uint32_t index, const char **name, uint64_t *value)
{
	static const char sticky[] RARE_DATA = "mac_sticky";

	if (index != COUNTERS + BLOCK_COUNTERS)
		return mac_counted(index, name, value);
	*name = sticky;
	*value = sticky_word();
	return *value != 0;
}
