/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options for the node application: speed for memory, and as many records as a table of six points of
 * 512 frames needs. A board with less memory names a header of its own.
 */
#ifndef WIRELAB_APP_OPTIONS_H
#define WIRELAB_APP_OPTIONS_H

#define WL_LFSR_WINDOW 1
#define WL_CAPTURE_RECORDS 4096
#define WL_TRACK_WINDOW 65536

#endif
