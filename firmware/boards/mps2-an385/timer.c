/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time: TIMER0 counts down 32 bits without end and is the clock, TIMER1 ends a sleep (CMSDK APB timers, DDI0479). */
#include "board.h"
#include "board_config.h"
#include "mps2.h"
#include "primask.h"

#define TIMER(number, offset) REGISTER(0x40000000u + 0x1000u * (number) + (offset))
#define CONTROL(number) TIMER(number, 0x0)
#define VALUE(number) TIMER(number, 0x4)
#define RELOAD(number) TIMER(number, 0x8)
#define INTERRUPT(number) TIMER(number, 0xC) /* status, and cleared by writing 1 */
#define ENABLE (1u << 0)
#define WITH_INTERRUPT (1u << 3)
#define LONGEST_TICKS 0xFFFFFFFFu

static volatile uint32_t wraps;

void timer_init(void)
{
	CONTROL(0) = 0;
	CONTROL(1) = 0;
	INTERRUPT(0) = 1;
	INTERRUPT(1) = 1;
	RELOAD(0) = 0xFFFFFFFFu;
	VALUE(0) = 0xFFFFFFFFu;
	CONTROL(0) = ENABLE | WITH_INTERRUPT;
	interrupts_enable(IRQ_TIMER0);
	interrupts_enable(IRQ_TIMER1);
}

void timer0_interrupt(void)
{
	/* The interrupt comes when the counter reaches 0, which still belongs to the old round. */
	while (VALUE(0) == 0)
		;
	INTERRUPT(0) = 1;
	wraps = wraps + 1;
}

uint64_t wl_clock(void)
{
	uint32_t was = board_irq_off();
	uint32_t low = ~VALUE(0);
	uint32_t high = wraps;

	/* Adds a new round whose interrupt has not run yet; without a branch, so that every read costs the same. */
	high += INTERRUPT(0) & ~(low >> 31) & 1u;
	board_irq_on(was);
	return (uint64_t)high << 32 | low;
}

void timer1_interrupt(void)
{
	CONTROL(1) = 0;
	INTERRUPT(1) = 1;
}

void board_sleep_until(uint64_t ticks)
{
	uint64_t now = wl_clock();

	if (ticks <= now)
		return;
	RELOAD(1) = ticks - now < LONGEST_TICKS ? (uint32_t)(ticks - now) : LONGEST_TICKS;
	VALUE(1) = RELOAD(1);
	CONTROL(1) = ENABLE | WITH_INTERRUPT;
	/* A pending interrupt ends WFI although interrupts are off; it runs at board_irq_on(). */
	__asm__ volatile("dsb\n\twfi" ::: "memory");
	timer1_interrupt();
	NVIC_CLEAR_PENDING = 1u << IRQ_TIMER1;
}

void board_quiet(bool on)
{
	uint32_t others = 1u << IRQ_UART0_RX | 1u << IRQ_UART0_TX | 1u << IRQ_TIMER0 | 1u << IRQ_TIMER1;

	if (on)
		NVIC_DISABLE = others;
	else
		NVIC_ENABLE = others;
}

uint32_t board_irq_off(void)
{
	return primask_off();
}

void board_irq_on(uint32_t was)
{
	primask_on(was);
}
