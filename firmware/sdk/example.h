/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example of every SDK: it builds test frames, loses one and damages one, and counts what is left. */
#ifndef WIRELAB_EXAMPLE_H
#define WIRELAB_EXAMPLE_H

/* Prints three lines by printf(). 0 where the counts are those of what was done, else 1. */
int wl_example(void);

#endif
