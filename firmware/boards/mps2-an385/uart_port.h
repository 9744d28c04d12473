/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* UART0 (CMSDK APB UART, DDI0479) for the rings of the serial line (uart_ring.h). It holds one byte in each direction and keeps
 * its interrupts on.
 */
#ifndef UART_PORT_H
#define UART_PORT_H

#include "mps2.h"

#define UART 0x40004000u
#define UART_DATA REGISTER(UART + 0x00)
#define UART_STATE REGISTER(UART + 0x04)
#define UART_TX_FULL (1u << 0)
#define UART_RX_FULL (1u << 1)

static inline bool uart_may_write(void)
{
	return (UART_STATE & UART_TX_FULL) == 0;
}

static inline void uart_write(uint8_t byte)
{
	UART_DATA = byte;
}

static inline bool uart_written(void)
{
	return uart_may_write();
}

static inline bool uart_may_read(void)
{
	return (UART_STATE & UART_RX_FULL) != 0;
}

static inline uint8_t uart_read(void)
{
	return (uint8_t)UART_DATA;
}

static inline void uart_receive_full(void)
{
}

static inline void uart_receive_again(void)
{
}

static inline void uart_send_more(void)
{
}

#endif
