/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time: the global timer of 64 bits is the clock, the core's private timer ends a sleep. */
#include "board.h"
#include "board_config.h"
#include "zynq.h"

#define GLOBAL_LOW REGISTER(PRIVATE + 0x200)
#define GLOBAL_HIGH REGISTER(PRIVATE + 0x204)
#define GLOBAL_CONTROL REGISTER(PRIVATE + 0x208)
#define PRIVATE_LOAD REGISTER(PRIVATE + 0x600)
#define PRIVATE_CONTROL REGISTER(PRIVATE + 0x608)
#define PRIVATE_STATUS REGISTER(PRIVATE + 0x60C)
#define RUN_ONCE_WITH_INTERRUPT (1u << 0 | 1u << 2)
#define LONGEST_TICKS 0xFFFFFFFFu
#define RENEW_TICKS 0x10000000u

void timer_init(void)
{
	GLOBAL_CONTROL = 0;
	GLOBAL_LOW = 0;
	GLOBAL_HIGH = 0;
	GLOBAL_CONTROL = 1;
	PRIVATE_CONTROL = 0;
	PRIVATE_STATUS = 1;
	interrupts_enable(IRQ_TIMER);
}

/* Extends the low word to 64 bits by a time less than 20 s old: the main loop calls at least every 100 ms. An access to the
 * timer is the largest cost, so there is one. One instruction moves both words of `lately`, and an interrupt restarts it as a
 * whole. */
uint64_t wl_clock(void)
{
	static volatile uint64_t lately;
	uint64_t then = lately, now = then + (uint64_t)(int64_t)(int32_t)(GLOBAL_LOW - (uint32_t)then);

	if (now - then > RENEW_TICKS)
		lately = now;
	return now;
}

void timer_interrupt(void)
{
	PRIVATE_CONTROL = 0;
	PRIVATE_STATUS = 1;
}

void board_sleep_until(uint64_t ticks)
{
	uint64_t now = wl_clock();

	if (ticks <= now)
		return;
	PRIVATE_CONTROL = 0;
	PRIVATE_LOAD = ticks - now < LONGEST_TICKS ? (uint32_t)(ticks - now) : LONGEST_TICKS;
	PRIVATE_CONTROL = RUN_ONCE_WITH_INTERRUPT;
	/* A pending interrupt ends WFI although interrupts are off; it runs at board_irq_on(). */
	__asm__ volatile("dsb\n\twfi" ::: "memory");
	timer_interrupt();
}
