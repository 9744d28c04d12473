/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* UART0 (CMSDK APB UART, DDI0479), which holds one byte each way: interrupts fill the ring of received bytes and empty
 * the one of bytes to send.
 */
#include "board.h"
#include "board_config.h"
#include "mps2.h"

#define UART 0x40004000u
#define DATA REGISTER(UART + 0x00)
#define STATE REGISTER(UART + 0x04)
#define CONTROL REGISTER(UART + 0x08)
#define INTERRUPT REGISTER(UART + 0x0C) /* status, and cleared by writing 1 */
#define BAUD_DIVIDER REGISTER(UART + 0x10)
#define TX_FULL (1u << 0)
#define RX_FULL (1u << 1)
#define RX_OVERRUN (1u << 3) /* cleared by writing 1 */
#define TX_ENABLE (1u << 0)
#define RX_ENABLE (1u << 1)
#define TX_INTERRUPT (1u << 2)
#define RX_INTERRUPT (1u << 3)
#define ON_TX (1u << 0)
#define ON_RX (1u << 1)

#define RX_BYTES 2048u
#define TX_BYTES 4096u

static struct {
	uint8_t rx[RX_BYTES], tx[TX_BYTES];
	/* Counted without end; the interrupts write rx_in and tx_out, the main loop the other two. */
	volatile uint32_t rx_in, rx_out, tx_in, tx_out, lost;
	volatile bool rx_waits; /* the ring is full: the next byte stays in the UART */
} uart;

void uart_init(void)
{
	CONTROL = 0;
	BAUD_DIVIDER = BOARD_UART_HZ / BOARD_UART_BAUD;
	INTERRUPT = ON_TX | ON_RX;
	CONTROL = TX_ENABLE | RX_ENABLE | TX_INTERRUPT | RX_INTERRUPT;
	interrupts_enable(IRQ_UART0_RX);
	interrupts_enable(IRQ_UART0_TX);
}

static void send_some(void)
{
	while (uart.tx_out != uart.tx_in && (STATE & TX_FULL) == 0) {
		DATA = uart.tx[uart.tx_out % TX_BYTES];
		uart.tx_out = uart.tx_out + 1;
	}
}

void uart_tx_interrupt(void)
{
	INTERRUPT = ON_TX;
	send_some();
}

static void receive_some(void)
{
	while (STATE & RX_FULL) {
		if (uart.rx_in - uart.rx_out == RX_BYTES) {
			uart.rx_waits = true;
			return;
		}
		uart.rx[uart.rx_in % RX_BYTES] = (uint8_t)DATA;
		uart.rx_in = uart.rx_in + 1;
	}
}

void uart_rx_interrupt(void)
{
	INTERRUPT = ON_RX;
	if (STATE & RX_OVERRUN) {
		STATE = RX_OVERRUN;
		uart.lost = uart.lost + 1;
	}
	receive_some();
}

int board_uart_get(void)
{
	uint8_t byte;

	if (!board_uart_pending())
		return -1;
	byte = uart.rx[uart.rx_out % RX_BYTES];
	uart.rx_out = uart.rx_out + 1;
	/* Half of the ring is free again: go on with the byte that waits. */
	if (uart.rx_waits && uart.rx_in - uart.rx_out <= RX_BYTES / 2) {
		uint32_t was = board_irq_off();

		uart.rx_waits = false;
		receive_some();
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

	/* With a full ring the line is the bottleneck: wait for it as long as it takes. */
	while (uart.tx_in - uart.tx_out == TX_BYTES)
		send_some();
	uart.tx[uart.tx_in % TX_BYTES] = (uint8_t)c;
	uart.tx_in = uart.tx_in + 1;
	send_some();
	board_irq_on(was);
}

void uart_flush(void)
{
	while (uart.tx_out != uart.tx_in)
		send_some();
	while (STATE & TX_FULL)
		;
}
