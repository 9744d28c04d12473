/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The LPC1768 below its MAC: TIMER0 as the clock, UART0 with a ring in each direction, sleep, and the oscilloscope's pin. */
#include "board.h"
#include "board_config.h"
#include "lpc1768.h"
#include "primask.h"
#include "registers.h"

#define RING 1024u /* bytes, a power of two */

struct ring {
	uint8_t bytes[RING];
	volatile uint32_t head, tail; /* running numbers */
};

static struct ring received __attribute__((section(".ahb1"))), sending __attribute__((section(".ahb1")));
static volatile uint32_t received_lost;
static volatile bool transmitting;
static uint32_t clock_low, clock_high;

uint32_t board_irq_off(void)
{
	return primask_off();
}

void board_irq_on(uint32_t was)
{
	primask_on(was);
}

uint64_t wl_clock(void)
{
	uint32_t was = board_irq_off(), low = T0TC, high;

	/* The timer's interrupt reads the clock twice a turn, so that no turn is missed. */
	if (low < clock_low)
		clock_high++;
	clock_low = low;
	high = clock_high;
	board_irq_on(was);
	return (uint64_t)high << 32 | low;
}

uint32_t board_ticks(void)
{
	return T0TC;
}

void timer_interrupt(void);
void timer_interrupt(void)
{
	T0IR = T0IR;
	wl_clock();
}

/* MR0 and MR1 match at half a turn and at a whole one; MR2 ends a sleep. */
static void start_timer(void)
{
	T0TCR = 2;
	T0PR = 0;
	T0MR0 = 0x80000000u;
	T0MR1 = 0xFFFFFFFFu;
	T0MCR = 1u << 0 | 1u << 3;
	T0IR = 0x3F;
	T0TCR = 1;
	NVIC_ISER0 = 1u << TIMER0_INTERRUPT;
}

static void send_on(void)
{
	for (unsigned n = 0; n < U0FIFO_BYTES && sending.head != sending.tail; n++)
		U0THR = sending.bytes[sending.tail++ % RING];
}

void uart_interrupt(void);
void uart_interrupt(void)
{
	uint32_t status;

	(void)U0IIR; /* ends the transmit interrupt */
	while ((status = U0LSR) & U0LSR_RDR) {
		uint8_t byte = (uint8_t)U0RBR;

		if (received.head - received.tail < RING)
			received.bytes[received.head++ % RING] = byte;
		else
			received_lost++;
		if (status & U0LSR_OE)
			received_lost++;
	}
	if (transmitting && (status & U0LSR_THRE)) {
		transmitting = sending.head != sending.tail;
		send_on();
	}
}

static void start_uart(void)
{
	PINSEL0 = (PINSEL0 & ~(0xFu << 4)) | 5u << 4; /* P0.2 TXD0, P0.3 RXD0 */
	U0LCR = 0x83; /* 8N1, divisor latch open */
	U0DLL = BOARD_UART_DIVISOR;
	U0DLM = 0;
	U0FDR = BOARD_UART_FRACTION;
	U0LCR = 0x03;
	U0FCR = 0x07; /* FIFOs on and empty, an interrupt for each byte */
	U0IER = U0IER_RBR | U0IER_THRE;
	NVIC_ISER0 = 1u << UART0_INTERRUPT;
}

int board_uart_get(void)
{
	if (received.head == received.tail)
		return -1;
	return received.bytes[received.tail++ % RING];
}

bool board_uart_pending(void)
{
	return received.head != received.tail;
}

uint32_t board_uart_lost(void)
{
	return received_lost;
}

void board_uart_put(char c)
{
	uint32_t was = board_irq_off();

	while (sending.head - sending.tail == RING) {
		__asm volatile("wfi");
		board_irq_on(0);
		board_irq_off();
	}
	sending.bytes[sending.head++ % RING] = (uint8_t)c;
	if (!transmitting) {
		transmitting = true;
		send_on();
	}
	board_irq_on(was);
}

void board_uart_flush(void)
{
	while (transmitting) {
		uint32_t was = board_irq_off();

		if (transmitting)
			__asm volatile("wfi");
		board_irq_on(was);
	}
}

void board_sleep_until(uint64_t ticks)
{
	uint64_t now = wl_clock();

	if (ticks <= now)
		return;
	/* Beyond half a turn the clock's own interrupt comes first. A match too near would have passed before it is set and
	 * come a turn later, so there is no sleep for it. */
	if (ticks - now < 0x80000000u) {
		if (ticks - now < 100)
			return;
		T0MR2 = (uint32_t)ticks;
		T0IR = 1u << 2;
		T0MCR |= 1u << 6;
	}
	__asm volatile("wfi" : : : "memory");
	T0MCR &= ~(1u << 6);
}

void board_pin(bool up)
{
	if (up)
		FIO0SET = BOARD_PIN;
	else
		FIO0CLR = BOARD_PIN;
}

void board_init(void)
{
	FIO0CLR = BOARD_PIN;
	FIO0DIR |= BOARD_PIN;
	start_timer();
	start_uart();
	board_irq_on(0);
}
