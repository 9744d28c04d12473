/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of the LPC1768 behind its vectors: memory, clock, and main. */
#include "board.h"
#include "board_config.h"
#include "registers.h"

int main(void);
void start_c(void) __attribute__((noreturn));

extern uint32_t start_image[], data_image[], data_begin[], data_end[];
extern uint32_t bss_begin[], bss_end[], ahb0_begin[], ahb0_end[], ahb1_begin[], ahb1_end[];

static void clear(uint32_t *from, const uint32_t *to)
{
	while (from < to)
		*from++ = 0;
}

/* Writes to the PLL take effect only with this sequence (UM10360 4.5.8); no interrupt may come between. */
static void feed(void)
{
	PLL0FEED = 0xAA;
	PLL0FEED = 0x55;
}

static void start_clock(void)
{
	/* A boot loader may have connected the PLL; it is set up again, in the order of UM10360 4.5.13. */
	PLL0CON = (PLL0STAT & PLL0STAT_CONNECTED) ? PLL0_ENABLE : 0;
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

void start_c(void)
{
	const uint32_t *image = data_image;
	uint32_t *to = data_begin;

	SCB_VTOR = (uint32_t)start_image;
	/* The data of an image in RAM are in place already. */
	while (to != image && to < data_end)
		*to++ = *image++;
	clear(bss_begin, bss_end);
	clear(ahb0_begin, ahb0_end);
	clear(ahb1_begin, ahb1_end);
	start_clock();
	main();
	board_exit();
}

void board_exit(void)
{
	SCB_AIRCR = AIRCR_RESET;
	for (;;)
		;
}
