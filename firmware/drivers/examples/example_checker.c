/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The packet checker: it finds the frames that the generator left out. */
#include "examples.h"
#include "wl_checker.h"
#include "wl_generator.h"
#include "wl_port.h"

bool example_checker(uintptr_t port)
{
	const uintptr_t checker = wl_port_checker(port), generator = wl_port_generator(port);
	const struct wl_checker_flow flow = { .udp_port = 5003, .has_stream = true, .stream = 3 };
	/* Every eighth is not sent. */
	const struct wl_generator_settings settings = {
		.source = { 0x02, 0, 0x5E, 0x10, 0, 1 },
		.payload_bytes = 46,
		.frames = 20,
		.stream = 3,
		.fault = WL_FAULT_DROP,
		.fault_every = 8,
	};
	struct wl_checker_counts counts;

	wl_checker_start(checker, &flow);
	while (!wl_checker_ready(checker))
		;
	if (wl_generator_start(generator, &settings) != WL_GENERATOR_STARTED)
		return false;
	while (!wl_generator_finished(generator))
		;
	/* The last frame is still on its way. */
	do
		wl_checker_read(checker, &counts);
	while (counts.next_sequence < settings.frames);
	return counts.good == 18 && counts.lost == 2 && counts.corrupted == 0;
}
