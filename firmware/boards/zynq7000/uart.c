/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* UART0 (Cadence): interrupts fill the ring of received bytes and empty the one of bytes to send. */
#include "board.h"
#include "board_config.h"
#include "zynq.h"

#define UART 0xE0000000u
#define CONTROL REGISTER(UART + 0x00)
#define MODE REGISTER(UART + 0x04)
#define INTERRUPT_ENABLE REGISTER(UART + 0x08)
#define INTERRUPT_DISABLE REGISTER(UART + 0x0C)
#define INTERRUPT_STATUS REGISTER(UART + 0x14)
#define BAUD_GENERATOR REGISTER(UART + 0x18)
#define RECEIVE_TIMEOUT REGISTER(UART + 0x1C)
#define RECEIVE_TRIGGER REGISTER(UART + 0x20)
#define STATUS REGISTER(UART + 0x2C)
#define FIFO REGISTER(UART + 0x30)
#define BAUD_DIVIDER REGISTER(UART + 0x34)

#define RESET_AND_ENABLE 0x17u /* transmitter and receiver reset and enabled */
#define EIGHT_NONE_ONE 0x20u
#define ON_TRIGGER (1u << 0)
#define ON_TX_EMPTY (1u << 3)
#define ON_OVERFLOW (1u << 5)
#define RX_EMPTY (1u << 1)
#define TX_FULL (1u << 4)
#define TX_EMPTY (1u << 3)
#define DIVIDER 6u

#define RX_BYTES 2048u
#define TX_BYTES 4096u

static struct {
	uint8_t rx[RX_BYTES], tx[TX_BYTES];
	/* Counted without end; the interrupt writes rx_in and tx_out, the main loop the other two. */
	volatile uint32_t rx_in, rx_out, tx_in, tx_out, lost;
	volatile bool rx_waits; /* the ring is full: bytes stay in the FIFO, and its interrupt is off */
} uart;

void uart_init(void)
{
	MODE = EIGHT_NONE_ONE;
	BAUD_DIVIDER = DIVIDER;
	BAUD_GENERATOR = BOARD_UART_HZ / (BOARD_UART_BAUD * (DIVIDER + 1));
	CONTROL = RESET_AND_ENABLE;
	RECEIVE_TIMEOUT = 0;
	RECEIVE_TRIGGER = 1;
	INTERRUPT_DISABLE = 0xFFFFFFFFu;
	INTERRUPT_STATUS = 0xFFFFFFFFu;
	INTERRUPT_ENABLE = ON_TRIGGER | ON_OVERFLOW;
	interrupts_enable(IRQ_UART0);
}

static void send_some(void)
{
	while (uart.tx_out != uart.tx_in && (STATUS & TX_FULL) == 0) {
		FIFO = uart.tx[uart.tx_out % TX_BYTES];
		uart.tx_out++;
	}
}

static void receive_some(void)
{
	while ((STATUS & RX_EMPTY) == 0) {
		if (uart.rx_in - uart.rx_out == RX_BYTES) {
			uart.rx_waits = true;
			INTERRUPT_DISABLE = ON_TRIGGER;
			return;
		}
		uart.rx[uart.rx_in % RX_BYTES] = (uint8_t)FIFO;
		uart.rx_in++;
	}
}

void uart_interrupt(void)
{
	uint32_t status = INTERRUPT_STATUS;

	INTERRUPT_STATUS = status;
	if (status & ON_OVERFLOW)
		uart.lost++;
	receive_some();
	send_some();
	if (uart.tx_out == uart.tx_in)
		INTERRUPT_DISABLE = ON_TX_EMPTY;
}

int board_uart_get(void)
{
	uint8_t byte;

	if (!board_uart_pending())
		return -1;
	byte = uart.rx[uart.rx_out % RX_BYTES];
	uart.rx_out++;
	/* Half of the ring is free again: go on with what waits in the FIFO. */
	if (uart.rx_waits && uart.rx_in - uart.rx_out <= RX_BYTES / 2) {
		uint32_t was = board_irq_off();

		uart.rx_waits = false;
		INTERRUPT_ENABLE = ON_TRIGGER;
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

	/* With a full ring the line is the bottleneck: wait for the FIFO as long as it takes. */
	while (uart.tx_in - uart.tx_out == TX_BYTES)
		send_some();
	uart.tx[uart.tx_in % TX_BYTES] = (uint8_t)c;
	uart.tx_in++;
	send_some();
	if (uart.tx_out != uart.tx_in)
		INTERRUPT_ENABLE = ON_TX_EMPTY;
	board_irq_on(was);
}

void uart_flush(void)
{
	while (uart.tx_out != uart.tx_in)
		send_some();
	while ((STATUS & TX_EMPTY) == 0)
		;
}
