/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wl_clock() on Zephyr: its cycle counter. A counter of 32 bits is extended, so it must be read at least once a turn. */
#include <zephyr/kernel.h>

#include "wirelab/options.h"

uint64_t wl_clock(void)
{
#ifdef CONFIG_TIMER_HAS_64BIT_CYCLE_COUNTER
	return k_cycle_get_64();
#else
	static uint32_t before, turns;
	unsigned key = irq_lock();
	uint32_t now = k_cycle_get_32();
	uint64_t ticks;

	if (now < before)
		turns++;
	before = now;
	ticks = (uint64_t)turns << 32 | now;
	irq_unlock(key);
	return ticks;
#endif
}
