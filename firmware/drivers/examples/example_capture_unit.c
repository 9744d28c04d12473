/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The capture unit: from edge to edge of the line, and between two marks of software. */
#include "examples.h"
#include "wl_capture_unit.h"
#include "wl_generator.h"
#include "wl_port.h"

/* Preamble, 14 bytes of header, payload and FCS, a byte a clock. */
#define LINE_CLOCKS(payload_bytes) (8 + 14 + (payload_bytes) + 4)

bool example_capture_unit(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port);
	const struct wl_generator_settings settings = { .payload_bytes = 46, .frames = 1 };
	struct wl_capture_unit unit;
	uint32_t line_clocks, mark_clocks;

	wl_capture_unit_start(&unit, wl_port_capture(port), WL_EDGE_TRANSMITTING, WL_EDGE_RECEIVED);
	if (wl_generator_start(generator, &settings) != WL_GENERATOR_STARTED)
		return false;
	while (!wl_capture_unit_take(&unit, &line_clocks))
		;
	/* Between two marks lies the write of one. */
	wl_capture_unit_start(&unit, wl_port_capture(port), WL_EDGE_SOFTWARE, WL_EDGE_SOFTWARE);
	wl_capture_unit_mark_start(&unit);
	wl_capture_unit_mark_stop(&unit);
	wl_capture_unit_rearm(&unit);
	while (!wl_capture_unit_take(&unit, &mark_clocks))
		;
	return line_clocks == LINE_CLOCKS(46) && mark_clocks > 0 && mark_clocks < 100;
}
