/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of UART0 (CMSDK APB UART, DDI0479) and its interrupts; the bytes are those of common/uart_ring.c. */
#include "board_config.h"
#include "mps2.h"
#include "uart_port.h"
#include "uart_ring.h"

#define CONTROL REGISTER(UART + 0x08)
#define INTERRUPT REGISTER(UART + 0x0C) /* status, and cleared by writing 1 */
#define BAUD_DIVIDER REGISTER(UART + 0x10)
#define RX_OVERRUN (1u << 3) /* of UART_STATE, cleared by writing 1 */
#define TX_ENABLE (1u << 0)
#define RX_ENABLE (1u << 1)
#define TX_INTERRUPT (1u << 2)
#define RX_INTERRUPT (1u << 3)
#define ON_TX (1u << 0)
#define ON_RX (1u << 1)

void uart_init(void)
{
	CONTROL = 0;
	BAUD_DIVIDER = BOARD_UART_HZ / BOARD_UART_BAUD;
	INTERRUPT = ON_TX | ON_RX;
	CONTROL = TX_ENABLE | RX_ENABLE | TX_INTERRUPT | RX_INTERRUPT;
	interrupts_enable(IRQ_UART0_RX);
	interrupts_enable(IRQ_UART0_TX);
}

void uart_tx_interrupt(void)
{
	INTERRUPT = ON_TX;
	uart_ring_send();
}

void uart_rx_interrupt(void)
{
	INTERRUPT = ON_RX;
	if (UART_STATE & RX_OVERRUN) {
		UART_STATE = RX_OVERRUN;
		uart_ring_lose();
	}
	uart_ring_receive();
}
