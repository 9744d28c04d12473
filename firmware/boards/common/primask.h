/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* board_irq_off() and board_irq_on() of a Cortex-M. Inline, because clock and transmit path call them within the timed section.
 */
#ifndef PRIMASK_H
#define PRIMASK_H

#include <stdint.h>

static inline uint32_t primask_off(void)
{
	uint32_t was;

	__asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(was)::"memory");
	return was;
}

static inline void primask_on(uint32_t was)
{
	__asm__ volatile("msr primask, %0" ::"r"(was) : "memory");
}

#endif
