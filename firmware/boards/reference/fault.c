/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The end of a program, and the report of a fault. */
#include "board.h"
#include "print.h"
#include "reference.h"

/* The user sees its end, and may reset it. */
void board_exit(void)
{
	board_irq_off();
	NODE(system.leave) = 1;
	for (;;)
		;
}

void board_fault(uint32_t cause, uint32_t at, uint32_t address) __attribute__((noreturn));

/* Out of start.S. */
void board_fault(uint32_t cause, uint32_t at, uint32_t address)
{
	board_irq_off();
	print("FAULT cause=");
	print_number(cause);
	print(" pc=0x");
	print_hex(at, 8);
	print(" address=0x");
	print_hex(address, 8);
	print("\n");
	board_exit();
}
