/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interrupt controller (GIC, PL390): three interrupts of one priority, never nested. */
#include "board.h"
#include "zynq.h"

#define ICC_CONTROL REGISTER(PRIVATE + 0x100)
#define ICC_PRIORITY_MASK REGISTER(PRIVATE + 0x104)
#define ICC_ACKNOWLEDGE REGISTER(PRIVATE + 0x10C)
#define ICC_END REGISTER(PRIVATE + 0x110)
#define ICD_CONTROL REGISTER(PRIVATE + 0x1000)
#define ICD_ENABLE(irq) REGISTER(PRIVATE + 0x1100 + 4 * ((irq) / 32))
#define ICD_DISABLE(word) REGISTER(PRIVATE + 0x1180 + 4 * (word))
#define ICD_PRIORITY ((volatile uint8_t *)(uintptr_t)(PRIVATE + 0x1400))
#define ICD_TARGET ((volatile uint8_t *)(uintptr_t)(PRIVATE + 0x1800))
#define FIRST_SHARED 32u
#define SPURIOUS 1023u

void interrupts_init(void)
{
	ICD_CONTROL = 0;
	for (unsigned word = 0; word < 3; word++)
		ICD_DISABLE(word) = 0xFFFFFFFFu;
	ICC_PRIORITY_MASK = 0xF0;
	ICC_CONTROL = 1;
	ICD_CONTROL = 1;
}

void interrupts_enable(unsigned irq)
{
	ICD_PRIORITY[irq] = 0xA0;
	if (irq >= FIRST_SHARED)
		ICD_TARGET[irq] = 1;
	ICD_ENABLE(irq) = 1u << irq % 32;
}

void board_quiet(bool on)
{
	if (on) {
		ICD_DISABLE(IRQ_TIMER / 32) = 1u << IRQ_TIMER % 32;
		ICD_DISABLE(IRQ_UART0 / 32) = 1u << IRQ_UART0 % 32;
	} else {
		ICD_ENABLE(IRQ_TIMER) = 1u << IRQ_TIMER % 32;
		ICD_ENABLE(IRQ_UART0) = 1u << IRQ_UART0 % 32;
	}
}

void interrupts_handle(void);

/* Called by start.S in IRQ mode. */
void interrupts_handle(void)
{
	uint32_t acknowledged = ICC_ACKNOWLEDGE;

	switch (acknowledged & 1023u) {
	case IRQ_GEM0:
		gem_interrupt();
		break;
	case IRQ_UART0:
		uart_interrupt();
		break;
	case IRQ_TIMER:
		timer_interrupt();
		break;
	case SPURIOUS:
		return;
	default:
		break;
	}
	ICC_END = acknowledged;
}

uint32_t board_irq_off(void)
{
	uint32_t was;

	__asm__ volatile("mrs %0, cpsr\n\tcpsid i" : "=r"(was)::"memory");
	return was;
}

void board_irq_on(uint32_t was)
{
	if ((was & 1u << 7) == 0)
		__asm__ volatile("cpsie i" ::: "memory");
}
