/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the boards' drivers and main loop call beside the stack: capture points, and the fast track. */
#ifndef WIRELAB_BOARD_HOOKS_H
#define WIRELAB_BOARD_HOOKS_H

#include "fast_track.h"
#include "probes.h"

#endif
