/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* UART0 (Cadence) for the rings of the serial line (uart_ring.h): its FIFOs, and interrupts that are on only while there is
 * something to do.
 */
#ifndef UART_PORT_H
#define UART_PORT_H

#include "zynq.h"

#define UART 0xE0000000u
#define UART_INTERRUPT_ENABLE REGISTER(UART + 0x08)
#define UART_INTERRUPT_DISABLE REGISTER(UART + 0x0C)
#define UART_STATUS REGISTER(UART + 0x2C)
#define UART_FIFO REGISTER(UART + 0x30)
#define UART_ON_TRIGGER (1u << 0)
#define UART_ON_TX_EMPTY (1u << 3)
#define UART_RX_EMPTY (1u << 1)
#define UART_TX_EMPTY (1u << 3)
#define UART_TX_FULL (1u << 4)

static inline bool uart_may_write(void)
{
	return (UART_STATUS & UART_TX_FULL) == 0;
}

static inline void uart_write(uint8_t byte)
{
	UART_FIFO = byte;
}

static inline bool uart_written(void)
{
	return (UART_STATUS & UART_TX_EMPTY) != 0;
}

static inline bool uart_may_read(void)
{
	return (UART_STATUS & UART_RX_EMPTY) == 0;
}

static inline uint8_t uart_read(void)
{
	return (uint8_t)UART_FIFO;
}

static inline void uart_receive_full(void)
{
	UART_INTERRUPT_DISABLE = UART_ON_TRIGGER;
}

static inline void uart_receive_again(void)
{
	UART_INTERRUPT_ENABLE = UART_ON_TRIGGER;
}

static inline void uart_send_more(void)
{
	UART_INTERRUPT_ENABLE = UART_ON_TX_EMPTY;
}

#endif
