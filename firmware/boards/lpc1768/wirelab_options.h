/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options on this board: all of it, and code, in 32 KB of local SRAM and a bank of AHB SRAM. */
#ifndef WIRELAB_BOARD_OPTIONS_H
#define WIRELAB_BOARD_OPTIONS_H

#define WL_LFSR_MAX_BYTES 1484
/* A receiver compares with the application's data if they are of the sequence: computing them takes longer than a frame's time
 * on the wire. */
#include <stdint.h>
const uint8_t *application_data_ready(uint32_t sequence);
#define WL_LFSR_READY(sequence) application_data_ready(sequence)
#define WL_TRACK_EXTENT 0
#define WL_CAPTURE_RECORDS 128
#define WL_CAPTURE_POINTS 6
#define WL_CONTROL_SESSIONS 2
/* No IP at all. */
#define WL_CONTROL_UDP 0
#define WL_CONTROL_SECRET 0
#define WL_CONTROL_IPV6 0

#endif
