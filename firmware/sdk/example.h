/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example of every SDK: it builds test frames, loses one and damages one, and counts the rest. */
#ifndef WIRELAB_EXAMPLE_H
#define WIRELAB_EXAMPLE_H

/* Prints three lines by printf(). Returns 0 if the counts are as expected, else 1. */
int wl_example(void);

#endif
