/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The serial line: interrupts fill the ring of received bytes and empty the one of bytes to send. */
#include "uart_ring.h"
#include "board.h"
#include "uart_port.h"

#define RX_BYTES 2048u
#define TX_BYTES 4096u

static struct {
	uint8_t rx[RX_BYTES], tx[TX_BYTES];
	/* Free-running counts; the interrupts write rx_in and tx_out, the main loop the other two. */
	volatile uint32_t rx_in, rx_out, tx_in, tx_out, lost;
	volatile bool rx_waits; /* the ring is full: bytes stay in the UART */
} uart;

bool uart_ring_is_sent(void)
{
	return uart.tx_out == uart.tx_in;
}

void uart_ring_send(void)
{
	while (uart.tx_out != uart.tx_in && uart_may_write()) {
		uart_write(uart.tx[uart.tx_out % TX_BYTES]);
		uart.tx_out = uart.tx_out + 1;
	}
}

void uart_ring_receive(void)
{
	while (uart_may_read()) {
		if (uart.rx_in - uart.rx_out == RX_BYTES) {
			uart.rx_waits = true;
			uart_receive_full();
			return;
		}
		uart.rx[uart.rx_in % RX_BYTES] = uart_read();
		uart.rx_in = uart.rx_in + 1;
	}
}

void uart_ring_lose(void)
{
	uart.lost = uart.lost + 1;
}

int board_uart_get(void)
{
	uint8_t byte;

	if (!board_uart_pending())
		return -1;
	byte = uart.rx[uart.rx_out % RX_BYTES];
	uart.rx_out = uart.rx_out + 1;
	/* Half of the ring is free again: take the bytes that wait in the UART. */
	if (uart.rx_waits && uart.rx_in - uart.rx_out <= RX_BYTES / 2) {
		uint32_t was = board_irq_off();

		uart.rx_waits = false;
		uart_receive_again();
		uart_ring_receive();
		board_irq_on(was);
	}
	return byte;
}

bool board_uart_pending(void)
{
	return uart.rx_in != uart.rx_out;
}

uint32_t board_uart_lost(void)
{
	return uart.lost;
}

void board_uart_put(char c)
{
	uint32_t was = board_irq_off();

	/* The ring is full, so the line is the bottleneck: wait for it. */
	while (uart.tx_in - uart.tx_out == TX_BYTES)
		uart_ring_send();
	uart.tx[uart.tx_in % TX_BYTES] = (uint8_t)c;
	uart.tx_in = uart.tx_in + 1;
	uart_ring_send();
	if (!uart_ring_is_sent())
		uart_send_more();
	board_irq_on(was);
}

void uart_flush(void)
{
	while (!uart_ring_is_sent())
		uart_ring_send();
	while (!uart_written())
		;
}
