/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls of the boards' drivers and main loop apart from the stack: capture points and the fast track. */
#ifndef WIRELAB_BOARD_HOOKS_H
#define WIRELAB_BOARD_HOOKS_H

#include "fast_track.h"
#include "probes.h"

#endif
