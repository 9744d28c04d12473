/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's port: compiler and diagnostics. GCC and Clang need nothing beyond lwIP's defaults. */
#ifndef LWIP_ARCH_CC_H
#define LWIP_ARCH_CC_H

#include <stdint.h>

/* Prints the reason on the serial line and ends; see boards/common/panic.c. */
void board_panic(const char *why) __attribute__((noreturn));

#define LWIP_PLATFORM_DIAG(message) ((void)0)
#define LWIP_PLATFORM_ASSERT(message) board_panic(message)

/* For local ports and initial sequence numbers; see sys_now.c. */
uint32_t wl_lwip_random(void);
#define LWIP_RAND() wl_lwip_random()

/* See checksum.c. */
uint16_t wl_lwip_checksum(const void *data, int count);
#define LWIP_CHKSUM wl_lwip_checksum

#endif
