/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The MAC: frames longer than its limit are cut off and counted. */
#include "examples.h"
#include "wl_generator.h"
#include "wl_port.h"
#include "wl_port_mac.h"

bool example_port_mac(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port), mac = wl_port_mac(port);
	/* A frame of 1,519 bytes: 14 of header, 1,501 of payload, 4 of FCS. */
	const struct wl_generator_settings settings = { .payload_bytes = 1501, .frames = 2 };
	struct wl_mac_counts counts;

	wl_port_mac_gap(mac, 20);
	wl_port_mac_longest(mac, 1518);
	wl_port_mac_clear(mac);
	if (wl_generator_start(generator, &settings) != WL_GENERATOR_STARTED)
		return false;
	do
		wl_port_mac_read(mac, &counts);
	while (counts.received < settings.frames);
	return counts.sent == 2 && counts.oversizes == 2 && counts.bad_fcs == 0;
}
