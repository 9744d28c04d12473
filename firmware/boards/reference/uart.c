/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The serial line, a debug link without a rate: what was sent to the node waits outside until it is read, so nothing is
 * kept here and nothing is lost.
 */
#include "board.h"
#include "reference.h"

/* There is something to read, and it stays asked for until the main loop comes to it. */
void uart_interrupt(void)
{
	interrupts_disable(IRQ_UART);
}

bool board_uart_pending(void)
{
	return (NODE(system.irq_pending) & IRQ_UART) != 0;
}

int board_uart_get(void)
{
	uint32_t word = NODE(system.uart_rx), was;

	if ((word & BITS(SYSTEM__UART_RX__NOTHING)) == 0)
		return (uint8_t)word;
	was = board_irq_off();
	interrupts_enable(IRQ_UART);
	board_irq_on(was);
	return -1;
}

uint32_t board_uart_lost(void)
{
	return 0;
}

void board_uart_put(char c)
{
	while (NODE(system.uart_tx) & BITS(SYSTEM__UART_TX__FULL))
		;
	NODE(system.uart_tx) = (uint8_t)c;
}
