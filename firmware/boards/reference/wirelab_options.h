/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options on the reference node: an LFSR window and records for 512 frames in 1 MiB of RAM, points that
 * interrupts share, and the capture units in hardware.
 */
#ifndef WIRELAB_REFERENCE_OPTIONS_H
#define WIRELAB_REFERENCE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define WL_LFSR_WINDOW 1
#define WL_LFSR_MAX_BYTES 1482
#define WL_CAPTURE_RECORDS 4096
#define WL_TRACK_WINDOW 4096
/* Each frame on the line is answered before the next, and every millisecond has to be simulated. */
#define WL_QUIET_MS 1

uint32_t board_irq_off(void);
void board_irq_on(uint32_t was);
#define WL_LOCK() uint32_t wl_was = board_irq_off()
#define WL_UNLOCK() board_irq_on(wl_was)

/* The mark of each point for its capture unit: one write to the bus, or none without a register. */
struct unit_mark {
	volatile uint32_t *control;
	uint32_t value;
};
extern struct unit_mark unit_marks[];
/* Between the last point of a received frame and the first of a sent one, if the units take both: each unit changes to the
 * other direction. */
extern bool unit_takes_both;
void unit_turn(void);

#define WL_MARK(at)                                                                                          \
	do {                                                                                                 \
		if ((at) == WL_TX_APPLICATION && unit_takes_both)                                            \
			unit_turn();                                                                         \
		if (unit_marks[at].control)                                                                  \
			*unit_marks[at].control = unit_marks[at].value;                                      \
	} while (0)

#endif
