/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options for the node application: they spend memory on speed, and hold records of six points for 512 frames. A
 * board with less memory names a header of its own.
 */
#ifndef WIRELAB_APP_OPTIONS_H
#define WIRELAB_APP_OPTIONS_H

#define WL_LFSR_WINDOW 1
#define WL_CAPTURE_RECORDS 4096
#define WL_TRACK_WINDOW 65536

#endif
