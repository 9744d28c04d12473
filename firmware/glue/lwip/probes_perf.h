/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What lwIP's own functions cost, by the calls that lwIP has around them (arch/perf.h): udp_input, tcp_input,
 * pbuf_free and ip4_forward. Build lwIP with -DWL_LWIP_PERF_HEADER='"probes_perf.h"'; without that nothing of it is in
 * the image.
 *
 * The calls are nested: what a function costs alone is without those called from it. A function that leaves by a way
 * without PERF_STOP is not counted, and its time stays with who called it.
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

/* What stage `index` cost since wl_perf_clear(); 0 behind the last. */
const struct wl_perf *wl_perf_read(unsigned index);
void wl_perf_clear(void);

#define PERF_START struct wl_perf_begin wl_perf_begun = wl_perf_start()
#define PERF_STOP(stage) wl_perf_stop(&wl_perf_begun, (stage))

#endif
