/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The packet identifier: it wants only datagrams to a UDP port at an own address. */
#include "examples.h"
#include "wl_generator.h"
#include "wl_packet_identifier.h"
#include "wl_port.h"

static const uint8_t own_mac[6] = { 0x02, 0, 0x5E, 0x10, 0, 2 };
static const uint8_t own_ipv4[4] = { 10, 55, 0, 2 };

/* Three datagrams to a port; how many of them were wanted. */
static uint32_t send_to(uintptr_t port, uint16_t udp_port)
{
	const uintptr_t generator = wl_port_generator(port), identifier = wl_port_identifier(port);
	const struct wl_generator_settings settings = {
		.destination = { 0x02, 0, 0x5E, 0x10, 0, 2 },
		.payload_bytes = 100,
		.frames = 3,
		.is_udp = true,
		.ipv4_destination = { 10, 55, 0, 2 },
		.udp_destination = udp_port,
	};
	struct wl_packet_identifier_state state;

	wl_packet_identifier_clear(identifier);
	if (wl_generator_start(generator, &settings) != WL_GENERATOR_STARTED)
		return UINT32_MAX;
	do
		wl_packet_identifier_read(identifier, &state);
	while (state.frames < settings.frames);
	return state.wanted;
}

bool example_packet_identifier(uintptr_t port)
{
	const uintptr_t identifier = wl_port_identifier(port);
	/* The first port alone. */
	const struct wl_packet_rule rule = { .asks_own = true, .ports = 1 << 0 };
	uint32_t to_another, to_ours;

	wl_packet_identifier_reset(identifier);
	wl_packet_identifier_own(identifier, own_mac);
	wl_packet_identifier_ipv4(identifier, 0, own_ipv4);
	/* 1024 to 1039. */
	wl_packet_identifier_port(identifier, 0, 1024, 0xFFF0);
	wl_packet_identifier_rule(identifier, 0, &rule);

	to_another = send_to(port, 5003);
	to_ours = send_to(port, 1026);
	return to_another == 0 && to_ours == 3;
}
