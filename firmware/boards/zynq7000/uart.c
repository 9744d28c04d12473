/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of UART0 (Cadence) and its interrupt; the bytes are those of common/uart_ring.c. */
#include "board_config.h"
#include "uart_port.h"
#include "uart_ring.h"
#include "zynq.h"

#define CONTROL REGISTER(UART + 0x00)
#define MODE REGISTER(UART + 0x04)
#define INTERRUPT_STATUS REGISTER(UART + 0x14)
#define BAUD_GENERATOR REGISTER(UART + 0x18)
#define RECEIVE_TIMEOUT REGISTER(UART + 0x1C)
#define RECEIVE_TRIGGER REGISTER(UART + 0x20)
#define BAUD_DIVIDER REGISTER(UART + 0x34)

#define RESET_AND_ENABLE 0x17u /* transmitter and receiver reset and enabled */
#define EIGHT_NONE_ONE 0x20u
#define ON_OVERFLOW (1u << 5)
#define DIVIDER 6u

void uart_init(void)
{
	MODE = EIGHT_NONE_ONE;
	BAUD_DIVIDER = DIVIDER;
	BAUD_GENERATOR = BOARD_UART_HZ / (BOARD_UART_BAUD * (DIVIDER + 1));
	CONTROL = RESET_AND_ENABLE;
	RECEIVE_TIMEOUT = 0;
	RECEIVE_TRIGGER = 1;
	UART_INTERRUPT_DISABLE = 0xFFFFFFFFu;
	INTERRUPT_STATUS = 0xFFFFFFFFu;
	UART_INTERRUPT_ENABLE = UART_ON_TRIGGER | ON_OVERFLOW;
	interrupts_enable(IRQ_UART0);
}

void uart_interrupt(void)
{
	uint32_t status = INTERRUPT_STATUS;

	INTERRUPT_STATUS = status;
	if (status & ON_OVERFLOW)
		uart_ring_lose();
	uart_ring_receive();
	uart_ring_send();
	if (uart_ring_is_sent())
		UART_INTERRUPT_DISABLE = UART_ON_TX_EMPTY;
}
