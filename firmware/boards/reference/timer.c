/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time and interrupts: the count of clocks since reset, the compare that ends a sleep, and the dispatch of interrupts. */
#include "board.h"
#include "reference.h"

#define MSTATUS_MIE 8u
#define MIE_EXTERNAL (1u << 11)

static volatile bool came;
static volatile uint32_t enabled;

void interrupts_init(void)
{
	NODE(system.irq_enable) = 0;
	/* VexRiscv's own mask of its external interrupts, then the one of the architecture. */
	__asm__ volatile("csrw 0xBC0, %0" ::"r"(IRQ_MAC | IRQ_UART | IRQ_TIMER));
	__asm__ volatile("csrw mie, %0" ::"r"(MIE_EXTERNAL));
}

/* Call both with interrupts off, or in an interrupt. */
void interrupts_enable(uint32_t bits)
{
	enabled = enabled | bits;
	NODE(system.irq_enable) = enabled;
}

void interrupts_disable(uint32_t bits)
{
	enabled = enabled & ~bits;
	NODE(system.irq_enable) = enabled;
}

void interrupts_handle(void);

/* Called by start.S. The pending interrupts are read from the core, which takes no access to the bus. */
void interrupts_handle(void)
{
	uint32_t waiting;

	__asm__ volatile("csrr %0, 0xFC0" : "=r"(waiting));
	if (waiting & IRQ_MAC)
		mac_interrupt();
	if (waiting & IRQ_UART)
		uart_interrupt();
	if (waiting & IRQ_TIMER)
		timer_interrupt();
	came = true;
}

uint32_t board_irq_off(void)
{
	uint32_t was;

	__asm__ volatile("csrrci %0, mstatus, 8" : "=r"(was)::"memory");
	return was;
}

void board_irq_on(uint32_t was)
{
	if (was & MSTATUS_MIE)
		__asm__ volatile("csrsi mstatus, 8" ::: "memory");
}

void board_quiet(bool on)
{
	uint32_t was = board_irq_off();

	if (on)
		interrupts_disable(IRQ_UART | IRQ_TIMER);
	else
		interrupts_enable(IRQ_UART);
	board_irq_on(was);
}

uint64_t wl_clock(void)
{
	uint32_t was = board_irq_off();
	uint32_t low = NODE(system.cycles), high = REGISTER(PLACE(system.cycles) + 4);

	board_irq_on(was);
	return (uint64_t)high << 32 | low;
}

/* The compare stays reached, so its interrupt is turned off. */
void timer_interrupt(void)
{
	interrupts_disable(IRQ_TIMER);
}

/* WFI does nothing in this core, so the loop reads a flag with interrupts on, and each interrupt is entered at once. */
void board_sleep_until(uint64_t ticks)
{
	if (ticks <= wl_clock())
		return;
	came = false;
	NODE(system.timer_compare) = (uint32_t)ticks;
	REGISTER(PLACE(system.timer_compare) + 4) = (uint32_t)(ticks >> 32);
	interrupts_enable(IRQ_TIMER);
	board_irq_on(MSTATUS_MIE);
	while (!came)
		;
	board_irq_off();
	interrupts_disable(IRQ_TIMER);
}
