/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rate meter: at the line's limit a frame begins every payload + 38 clocks. */
#include "examples.h"
#include "wl_generator.h"
#include "wl_port.h"
#include "wl_rate_meter.h"

bool example_rate_meter(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port), rate = wl_port_rate(port);
	const struct wl_generator_settings settings = { .payload_bytes = 66, .frames = 20 };
	struct wl_periods periods;

	wl_rate_meter_start(rate, WL_PROBE_LINE_OUT, 0);
	if (wl_generator_start(generator, &settings) != WL_GENERATOR_STARTED)
		return false;
	do
		wl_rate_meter_read(rate, &periods);
	while (periods.count < settings.frames - 1);
	wl_rate_meter_stop(rate);
	return periods.total_ticks == periods.count * (UINT64_C(66) + 38) &&
	       periods.shortest_ticks == 66 + 38;
}
