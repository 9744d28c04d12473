/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The packet generator: a run of frames with faults, and its counts. */
#include "examples.h"
#include "wl_generator.h"
#include "wl_port.h"

bool example_generator(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port);
	const struct wl_generator_settings settings = {
		.destination = { 0x02, 0, 0x5E, 0x10, 0, 2 },
		.source = { 0x02, 0, 0x5E, 0x10, 0, 1 },
		.payload_bytes = 200,
		.frames = 30,
		.fault = WL_FAULT_STALE,
		.fault_every = 10,
	};
	struct wl_generator_counts counts;

	if (wl_generator_start(generator, &settings) != WL_GENERATOR_STARTED)
		return false;
	while (!wl_generator_finished(generator))
		;
	wl_generator_read(generator, &counts);
	return counts.sent_frames == 30 && counts.sent_bytes == 30 * 200 && counts.injected_faults == 3;
}
