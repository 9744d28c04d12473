/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clock constants of the board (Keil MCB1700: LPC1768, 12 MHz crystal, DP83848), and what it is called. */
#ifndef BOARD_CONFIG_H
#define BOARD_CONFIG_H

/* 12 MHz x 2 x 100 / 6 = 400 MHz in the PLL (UM10360 4.5: 275 to 550 MHz), divided by 4. */
#define BOARD_CORE_HZ 100000000u
#define BOARD_TICK_PS 10000u /* TIMER0 counts core clocks */
#define BOARD_PLL0CFG (99u | 5u << 16) /* M less one, N less one */
#define BOARD_CCLKCFG 3u /* divider less one */
#define BOARD_FLASH_CLOCKS 4u /* FLASHTIM: 5 clocks up to 100 MHz, less one */

/* 100 MHz / (16 x 31 x (1 + 3/4)) = 115,207 bit/s (UM10360 14.4.12). */
#define BOARD_UART_DIVISOR 31u
#define BOARD_UART_FRACTION (3u | 4u << 4)

/* The address where no boot loader has left one in the MAC: its last four bytes would be the IPv4 address. */
#define BOARD_ADDRESS                                                                                        \
	{                                                                                                    \
		0x02, 0x00, 0x0A, 0x37, 0x00, 0x12                                                           \
	}
#define BOARD_PHY 1u /* its address on the management bus */

#endif
