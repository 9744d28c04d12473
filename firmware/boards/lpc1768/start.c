/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of the LPC1768: vectors, memory, clock, and main. */
#include <stddef.h>

#include "board.h"
#include "board_config.h"
#include "registers.h"

int main(void);
void timer_interrupt(void);
void uart_interrupt(void);
void emac_interrupt(void);
void start_reset(void);
void start_halt(void);

extern uint32_t start_image[], stack_top[], vectors_checksum[], data_image[], data_begin[], data_end[];
extern uint32_t bss_begin[], bss_end[], ahb0_begin[], ahb0_end[], ahb1_begin[], ahb1_end[];

typedef void vector(void);

/* A fault or an interrupt that nobody asked for: stand still, so that a debugger finds the place. */
void start_halt(void)
{
	for (;;)
		;
}

/* clang-format off */
__attribute__((section(".vectors"), used)) static vector *const vectors[16 + INTERRUPTS] = {
	(vector *)stack_top, start_reset, start_halt, start_halt, start_halt, start_halt, start_halt,
	(vector *)vectors_checksum, 0, 0, 0, start_halt, start_halt, 0, start_halt, start_halt,
	[16 ... 16 + INTERRUPTS - 1] = start_halt,
	[16 + TIMER0_INTERRUPT] = timer_interrupt,
	[16 + UART0_INTERRUPT] = uart_interrupt,
	[16 + ENET_INTERRUPT] = emac_interrupt,
};
/* clang-format on */

static void clear(uint32_t *from, const uint32_t *to)
{
	while (from < to)
		*from++ = 0;
}

/* Writes to the PLL take effect with this sequence alone (UM10360 4.5.8); no interrupt may come between. */
static void feed(void)
{
	PLL0FEED = 0xAA;
	PLL0FEED = 0x55;
}

static void start_clock(void)
{
	/* A boot loader may have connected the PLL; it is set up anew, in the order of UM10360 4.5.13. */
	PLL0CON = PLL0STAT & PLL0STAT_CONNECTED ? PLL0_ENABLE : 0;
	feed();
	PLL0CON = 0;
	feed();
	SCS |= SCS_OSCEN;
	while (!(SCS & SCS_OSCSTAT))
		;
	/* Before the PLL is connected (errata ES_LPC176x, PCLKSELx.1): TIMER0 and UART0 at the core's clock. */
	PCLKSEL0 = (PCLKSEL0 & ~(3u << 2 | 3u << 6)) | 1u << 2 | 1u << 6;
	CLKSRCSEL = 1;
	CCLKCFG = BOARD_CCLKCFG;
	FLASHCFG = (FLASHCFG & 0xFFF) | BOARD_FLASH_CLOCKS << 12;
	PLL0CFG = BOARD_PLL0CFG;
	feed();
	PLL0CON = PLL0_ENABLE;
	feed();
	while (!(PLL0STAT & PLL0STAT_LOCKED))
		;
	PLL0CON = PLL0_ENABLE | PLL0_CONNECT;
	feed();
	while (!(PLL0STAT & PLL0STAT_CONNECTED))
		;
}

__attribute__((noreturn, used)) static void start_c(void)
{
	const uint32_t *image = data_image;

	SCB_VTOR = (uint32_t)start_image;
	/* An image in RAM has its data where they belong. */
	for (uint32_t *to = data_begin; data_begin != data_image && to < data_end;)
		*to++ = *image++;
	clear(bss_begin, bss_end);
	clear(ahb0_begin, ahb0_end);
	clear(ahb1_begin, ahb1_end);
	start_clock();
	main();
	board_exit();
}

/* A debugger that starts an image in RAM sets the program counter, but perhaps not the stack. */
__attribute__((naked)) void start_reset(void)
{
	__asm volatile("cpsid i\n"
		       "ldr r0, =stack_top\n"
		       "mov sp, r0\n"
		       "b start_c\n");
}

void board_exit(void)
{
	SCB_AIRCR = AIRCR_RESET;
	for (;;)
		;
}
