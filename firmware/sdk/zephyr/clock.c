/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wl_clock() on Zephyr: its cycle counter, extended where it has 32 bits. Then it must be read once a turn at least. */
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
