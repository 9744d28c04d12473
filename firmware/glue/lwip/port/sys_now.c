/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's port: time and random numbers out of the board's clock. */
#include "board.h"

#include "lwip/sys.h"

#define PS_PER_MS 1000000000u
#define MOST_STEPS 16u

/* Called several times for each frame, and a division of 64 bits is a function on a processor without one: so time advances by
 * single milliseconds. */
u32_t sys_now(void)
{
	static uint64_t ticks_per_ms, began_ticks; /* of the current millisecond */
	static u32_t ms;
	uint64_t passed;

	if (ticks_per_ms == 0)
		ticks_per_ms = PS_PER_MS / board.tick_ps;
	passed = wl_clock() - began_ticks;
	if (passed >= MOST_STEPS * ticks_per_ms) {
		uint64_t whole = passed / ticks_per_ms;

		ms += (u32_t)whole;
		began_ticks += whole * ticks_per_ms;
		passed -= whole * ticks_per_ms;
	}
	for (; passed >= ticks_per_ms; passed -= ticks_per_ms) {
		ms++;
		began_ticks += ticks_per_ms;
	}
	return ms;
}

/* Splitmix64's last steps over a counter and the clock. */
uint32_t wl_lwip_random(void)
{
	static uint64_t count;
	uint64_t x = (count += 0x9E3779B97F4A7C15u) + wl_clock();

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
	x = (x ^ x >> 27) * 0x94D049BB133111EBu;
	return (uint32_t)(x ^ x >> 31);
}
