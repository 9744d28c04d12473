/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How drivers reach the registers of a block: words of 32 bits, each access on its own and in the order of the program.
 *
 * To reach them in another way (a bus of yours, a simulation), name a header that has these two functions:
 * -DWL_REGISTERS_HEADER='"my_registers.h"'.
 */
#ifndef WIRELAB_REGISTERS_H
#define WIRELAB_REGISTERS_H

#include <stdint.h>

#ifdef WL_REGISTERS_HEADER
#include WL_REGISTERS_HEADER
#else

static inline uint32_t wl_register_read(uintptr_t address)
{
	return *(const volatile uint32_t *)address;
}

static inline void wl_register_write(uintptr_t address, uint32_t word)
{
	*(volatile uint32_t *)address = word;
}

#endif

/* A register of two words of the same moment: reading the low word latches the high one. */
static inline uint64_t wl_register_read_wide(uintptr_t address)
{
	uint64_t low = wl_register_read(address);

	return (uint64_t)wl_register_read(address + 4) << 32 | low;
}

#endif
