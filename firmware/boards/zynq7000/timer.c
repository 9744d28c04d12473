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

/* The low word, made 64 bits by a time that is less than 20 s old: the main loop asks every 100 ms at least. An access
 * to the timer costs more than all else here, so there is one. Both words of `lately` go in one instruction, which an
 * interrupt lets be done again as a whole. */
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
	/* An interrupt that waits ends WFI although interrupts are off, and is then taken by board_irq_on(). */
	__asm__ volatile("dsb\n\twfi" ::: "memory");
	timer_interrupt();
}
