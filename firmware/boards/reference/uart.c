/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The serial line, a debug link without a rate: bytes to the node wait outside until they are read, so none are buffered here
 * or lost.
 */
#include "board.h"
#include "reference.h"

/* There is something to read. The interrupt stays off until the main loop has read it. */
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
