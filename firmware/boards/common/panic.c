/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A failed assertion of lwIP ends the board. */
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
