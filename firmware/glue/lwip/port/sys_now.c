/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's port: time and random numbers out of the board's clock. */
#include "board.h"

#include "lwip/sys.h"

#define PS_PER_MS 1000000000u

u32_t sys_now(void)
{
	return (u32_t)(wl_clock() / (PS_PER_MS / board.tick_ps));
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
