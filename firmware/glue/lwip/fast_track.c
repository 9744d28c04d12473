/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules of the fast track; none at start. */
#include "fast_track.h"

struct wl_fast_track wl_fast;
