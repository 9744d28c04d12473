/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options on the reference node: an LFSR window and records for 512 frames in 1 MiB of RAM, points that
 * interrupts share, and the capture unit in hardware.
 */
#ifndef WIRELAB_REFERENCE_OPTIONS_H
#define WIRELAB_REFERENCE_OPTIONS_H

#include <stdint.h>

#define WL_LFSR_WINDOW 1
#define WL_LFSR_MAX_BYTES 1482
#define WL_CAPTURE_RECORDS 4096
#define WL_TRACK_WINDOW 4096

uint32_t board_irq_off(void);
void board_irq_on(uint32_t was);
#define WL_LOCK() uint32_t wl_was = board_irq_off()
#define WL_UNLOCK() board_irq_on(wl_was)

/* The point at which the capture unit is told, as a number behind all points where it is off; and what tells it. */
struct unit_mark {
	uint32_t point, value;
	volatile uint32_t *control;
};
extern struct unit_mark unit_mark;

#define WL_MARK(at) ((void)(unit_mark.point == (at) && (*unit_mark.control = unit_mark.value, 1)))

#endif
