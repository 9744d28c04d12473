/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cost of lwIP's own functions, from the calls that lwIP has around them (arch/perf.h): udp_input, tcp_input, pbuf_free and
 * ip4_forward. Build lwIP with -DWL_LWIP_PERF_HEADER='"probes_perf.h"'; without it the image has none of this.
 *
 * The calls are nested: the own cost of a function excludes the functions that it calls. A function that returns without
 * PERF_STOP is not counted; its time counts for its caller.
 */
#ifndef WIRELAB_PROBES_PERF_H
#define WIRELAB_PROBES_PERF_H

#include <stdint.h>

struct wl_perf_begin {
	uint64_t ticks, nested_ticks;
};

struct wl_perf {
	const char *stage; /* as lwIP calls it */
	uint32_t calls;
	uint64_t total_ticks, own_ticks, least_own_ticks;
};

struct wl_perf_begin wl_perf_start(void);
void wl_perf_stop(const struct wl_perf_begin *begin, const char *stage);

/* The cost of stage `index` since wl_perf_clear(); 0 behind the last. */
const struct wl_perf *wl_perf_read(unsigned index);
void wl_perf_clear(void);

#define PERF_START struct wl_perf_begin wl_perf_begun = wl_perf_start()
#define PERF_STOP(stage) wl_perf_stop(&wl_perf_begun, (stage))

#endif
