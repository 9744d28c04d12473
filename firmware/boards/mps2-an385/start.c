/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Vectors, the start of main(), and the report of a fault. */
#include "board.h"
#include "mps2.h"
#include "print.h"

extern uint32_t _stack[], _data_from[], _data_start[], _data_end[], _bss_start[], _bss_end[];

int main(void);
void start(void);
void fault(void);
void fault_frame(const uint32_t *frame);
void unexpected(void);

void start(void)
{
	const uint32_t *from = _data_from;

	for (uint32_t *to = _data_start; to < _data_end; to++)
		*to = *from++;
	for (uint32_t *to = _bss_start; to < _bss_end; to++)
		*to = 0;
	main();
	board_exit();
}

/* The frame that the core stacked: r0 to r3, r12, lr, pc, xpsr. */
void fault_frame(const uint32_t *frame)
{
	board_irq_off();
	print("FAULT status=0x");
	print_hex(SCB_FAULTS, 8);
	print(" hard=0x");
	print_hex(SCB_HARD_FAULT, 8);
	print(" pc=0x");
	print_hex(frame[6], 8);
	print(" address=0x");
	print_hex(SCB_FAULT_ADDRESS, 8);
	print("\n");
	board_exit();
}

__attribute__((naked)) void fault(void)
{
	__asm__ volatile("mrs r0, msp\n\tb fault_frame");
}

void unexpected(void)
{
	print("FAULT an interrupt that nobody asked for\n");
	board_exit();
}

typedef void (*vector)(void);

/* Exceptions 1 to 15, then the interrupts; one that is not on is never taken. */
static const struct {
	uint32_t *stack;
	vector exceptions[15];
	vector interrupts[IRQS];
} vectors __attribute__((section(".vectors"), used)) = {
	.stack = _stack,
	.exceptions = { start, unexpected, fault, fault, fault, fault, 0, 0, 0, 0, unexpected, unexpected, 0,
			unexpected, unexpected },
	.interrupts = { [IRQ_UART0_RX] = uart_rx_interrupt,
			[IRQ_UART0_TX] = uart_tx_interrupt,
			[IRQ_TIMER0] = timer0_interrupt,
			[IRQ_TIMER1] = timer1_interrupt,
			[IRQ_ETHERNET] = lan9118_interrupt },
};
