/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The end of a board with lwIP whose program found that something cannot be. */
#include "arch/cc.h"
#include "board.h"
#include "print.h"

void board_panic(const char *why)
{
	board_irq_off();
	print("FAULT ");
	print(why);
	print("\n");
	board_exit();
}
