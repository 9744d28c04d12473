/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For the drivers only: offsets of registers and fields, from the header that rtl/tools/registers.py makes. */
#ifndef WIRELAB_DRIVERS_FIELDS_H
#define WIRELAB_DRIVERS_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "ethernet_port_registers.h"
#include "wl_registers.h"

/* The generated structures are packed, so a compiler may read them by bytes: they only give offsets. */
#define AT(base, block, name) ((base) + offsetof(block##_registers_t, name))
#define READ(base, block, name) wl_register_read(AT(base, block, name))
#define READ_WIDE(base, block, name) wl_register_read_wide(AT(base, block, name))
#define WRITE(base, block, name, word) wl_register_write(AT(base, block, name), (word))

/* A value in its field, truncated to it; and the value of a word's field. */
#define FIELD(field, value) ((uint32_t)(value) << field##_bp & (uint32_t)field##_bm)
#define VALUE(word, field) (((word) & (uint32_t)field##_bm) >> field##_bp)

static inline uint32_t word_of(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The low word of an address register has the last four bytes, the high one the first two. */
static inline void write_mac(uintptr_t address, const uint8_t *mac)
{
	wl_register_write(address, word_of(mac + 2));
	wl_register_write(address + 4, (uint32_t)mac[0] << 8 | mac[1]);
}

#endif
