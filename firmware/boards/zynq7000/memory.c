/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MMU and caches: one megabyte a section. Code is read-only, data cannot be executed, descriptors and buffers of the MAC are
 * not cached, address 0 and unmapped addresses fault.
 */
#include "zynq.h"

#define MEGABYTE 0x100000u
#define CODE 0x00100000u
#define DATA 0x00200000u
#define DMA 0x00F00000u
#define DDR_END 0x01000000u
#define PERIPHERALS 0xE0000000u
#define ON_CHIP_MEMORY 0xFFF00000u

/* Section descriptors of the short format (ARM DDI 0406C, B3.5.1), domain 0. */
#define SECTION 2u
#define NEVER_EXECUTE (1u << 4)
#define READ_WRITE (3u << 10)
#define READ_ONLY (3u << 10 | 1u << 15)
#define CACHED (1u << 12 | 1u << 3 | 1u << 2) /* write-back, write-allocate */
#define NOT_CACHED (1u << 12)
#define DEVICE (1u << 2)

static uint32_t table[4096] __attribute__((section(".noinit"), aligned(16384)));

static void map(uint32_t from, uint32_t to, uint32_t attributes)
{
	for (uint32_t n = from / MEGABYTE; n < to / MEGABYTE; n++)
		table[n] = n * MEGABYTE | SECTION | attributes;
}

void memory_init(void);

void memory_init(void)
{
	uint32_t control;

	for (unsigned n = 0; n < 4096; n++)
		table[n] = 0;
	map(CODE, DATA, READ_ONLY | CACHED);
	map(DATA, DMA, READ_WRITE | CACHED | NEVER_EXECUTE);
	map(DMA, DDR_END, READ_WRITE | NOT_CACHED | NEVER_EXECUTE);
	map(PERIPHERALS, ON_CHIP_MEMORY, READ_WRITE | DEVICE | NEVER_EXECUTE);
	barrier();
	/* TTBR0, TTBCR 0, domain 0 as the descriptors say; then MMU, data and instruction cache, branch prediction. */
	__asm__ volatile("mcr p15, 0, %0, c2, c0, 0" ::"r"((uint32_t)(uintptr_t)table | 1u << 3 | 1u << 0));
	__asm__ volatile("mcr p15, 0, %0, c2, c0, 2" ::"r"(0));
	__asm__ volatile("mcr p15, 0, %0, c3, c0, 0" ::"r"(1));
	__asm__ volatile("isb");
	__asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
	control |= 1u << 0 | 1u << 2 | 1u << 11 | 1u << 12;
	__asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n\tisb" ::"r"(control) : "memory");
}
