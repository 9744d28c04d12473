/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two rings between a UART and the main loop: uart_ring.c is board_uart_*() of board.h, for boards whose received bytes
 * may wait in the UART.
 *
 * The board's uart_port.h provides the UART's part, as static inline functions:
 *   bool uart_may_write(void), void uart_write(uint8_t byte)  the transmitter takes a byte
 *   bool uart_written(void)                                   and has none that still waits
 *   bool uart_may_read(void), uint8_t uart_read(void)         a byte came
 *   void uart_receive_full(void), uart_receive_again(void)    the ring is full, and has space again
 *   void uart_send_more(void)                                 the ring has bytes that the transmitter did not take
 * The last three run with interrupts off, or in one; a function that a UART does not need is empty.
 */
#ifndef UART_RING_H
#define UART_RING_H

#include <stdbool.h>

/* For the board's interrupts: read the received bytes, send what the UART takes, count a lost byte. */
void uart_ring_receive(void);
void uart_ring_send(void);
void uart_ring_lose(void);

/* Whether the transmitter has all bytes. */
bool uart_ring_is_sent(void);

/* Wait until all is sent; for faults, with interrupts off. */
void uart_flush(void);

#endif
