/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests beyond the examples: every setting, refusals, endless runs, and the register of each count. */
#include "driver_tests.h"

#include "../fields.h"
#include "wl_capture_unit.h"
#include "wl_checker.h"
#include "wl_generator.h"
#include "wl_packet_identifier.h"
#include "wl_port.h"
#include "wl_port_mac.h"
#include "wl_rate_meter.h"

#define HOLDS(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			return __LINE__;                                                                     \
	} while (0)

int test_port(uintptr_t port)
{
	uint64_t before;

	HOLDS(wl_port_is_there(port));
	HOLDS(!wl_port_is_there(wl_port_mac(port)));
	wl_port_clock_start(port, 10);
	before = wl_port_clock_ns(port);
	/* An access takes a few clocks of ten. */
	HOLDS(before > 0 && before % 10 == 0 && before < 1000);
	HOLDS(wl_port_clock_ns(port) > before);
	return 0;
}

int test_generator_writes_all_it_is_told(uintptr_t port)
{
	const struct wl_generator_settings settings = {
		.destination = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06 },
		.source = { 0x11, 0x12, 0x13, 0x14, 0x15, 0x16 },
		.payload_bytes = 8982,
		.gap_clocks = 0xABCDEF,
		.frames = 0xDEADBEEF,
		.stream = 0x5A,
		.has_time = true,
		.is_tagged = true,
		.tag = 0xE123,
		.is_udp = true,
		.ipv4_source = { 10, 55, 0, 1 },
		.ipv4_destination = { 10, 55, 0, 2 },
		.udp_source = 1234,
		.udp_destination = 5678,
		.fault = WL_FAULT_TRUNCATED,
		.fault_every = 0x87654321,
		.fault_clocks = 0x7FFFFFFF,
		.position_bits = 0x1FFFF,
		.cut_bytes = 0x3FFF,
	};

	HOLDS(wl_generator_start(wl_port_generator(port), &settings) == WL_GENERATOR_STARTED);
	return 0;
}

int test_generator_refuses(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port);
	struct wl_generator_settings settings = { .payload_bytes = 45, .frames = 1 };
	struct wl_generator_counts sent;

	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_REFUSED);
	HOLDS(!wl_generator_busy(generator) && !wl_generator_finished(generator));
	settings.payload_bytes = WL_GENERATOR_LEAST_BYTES;
	settings.gap_clocks = UINT32_C(1) << 24;
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_TOO_LARGE);
	settings.gap_clocks = 0;
	settings.cut_bytes = UINT32_C(1) << 14;
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_TOO_LARGE);
	settings.cut_bytes = 0;
	/* A running run is stopped; the next begins when its frame is out. */
	settings.payload_bytes = 1498;
	settings.frames = 0;
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_STARTED);
	do
		wl_generator_read(generator, &sent);
	while (sent.sent_frames == 0);
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_BUSY);
	while (wl_generator_busy(generator))
		;
	settings.frames = 1;
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_STARTED);
	return 0;
}

int test_generator_goes_on_until_it_is_stopped(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port), checker = wl_port_checker(port);
	const struct wl_generator_settings settings = { .payload_bytes = 100, .fault = WL_FAULT_BAD_FCS };
	const struct wl_checker_flow flow = { .udp_port = 5003 };
	struct wl_generator_counts sent;
	struct wl_checker_counts seen;

	wl_checker_start(checker, &flow);
	while (!wl_checker_ready(checker))
		;
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_STARTED);
	do
		wl_generator_read(generator, &sent);
	while (sent.sent_frames < 3);
	wl_generator_fault_once(generator);
	do
		wl_generator_read(generator, &sent);
	while (sent.injected_faults == 0);
	wl_generator_stop(generator);
	while (wl_generator_busy(generator))
		;
	wl_generator_read(generator, &sent);
	HOLDS(sent.injected_faults == 1 && sent.used_sequences == sent.sent_frames);
	HOLDS(sent.sent_bytes == UINT64_C(100) * sent.sent_frames && !sent.has_overflown &&
	      !sent.has_underrun);
	do
		wl_checker_read(checker, &seen);
	while (seen.good + seen.bad_fcs < sent.sent_frames);
	HOLDS(seen.bad_fcs == 1 && seen.good == sent.sent_frames - 1 && seen.overflow == 0);
	HOLDS(seen.has_times && seen.last_ns > seen.first_ns && !seen.has_missed_stale);
	HOLDS(seen.verified_bytes == UINT64_C(100) * seen.good);
	return 0;
}

int test_checker_forgets(uintptr_t port)
{
	const uintptr_t checker = wl_port_checker(port);
	const struct wl_checker_flow flow = {
		.has_source = true,
		.source = { 0x21, 0x22, 0x23, 0x24, 0x25, 0x26 },
		.udp_port = 0xBEEF,
		.has_stream = true,
		.stream = 0xA5,
	};
	struct wl_checker_counts seen;

	wl_checker_start(checker, &flow);
	wl_checker_read(checker, &seen);
	HOLDS(seen.good == 0 && seen.bad_fcs == 0 && seen.verified_bytes == 0 && !seen.has_times);
	HOLDS(!wl_checker_ready(checker));
	return 0;
}

int test_checker_follows_slots(uintptr_t port)
{
	const uintptr_t generator = wl_port_generator(port), checker = wl_port_checker(port);
	const struct wl_generator_settings settings = { .payload_bytes = 100, .frames = 8 };
	struct wl_checker_flow flow = { .udp_port = 5003, .slots = 4097 };
	struct wl_checker_counts seen;

	HOLDS(!wl_checker_start(checker, &flow));
	/* Sequences 0 to 7 with slots 0 to 4: 5 to 7 do not exist, and no frame has the flag for repeating. */
	flow.slots = 5;
	HOLDS(wl_checker_start(checker, &flow));
	while (!wl_checker_ready(checker))
		;
	HOLDS(wl_generator_start(generator, &settings) == WL_GENERATOR_STARTED);
	do
		wl_checker_read(checker, &seen);
	while (seen.good < settings.frames);
	HOLDS(seen.distinct == 8 && seen.order_breaks == 3 && seen.mixed == 8 && seen.lost == 0);
	HOLDS(seen.duplicated == 0 && seen.reordered == 0 && seen.too_late == 0 && seen.next_sequence == 0);
	return 0;
}

int test_capture_unit_edges(uintptr_t port)
{
	struct wl_capture_unit unit;
	struct wl_capture_unit_state state;
	uint32_t first, second;

	wl_capture_unit_start(&unit, wl_port_capture(port), WL_EDGE_SOFTWARE, WL_EDGE_SOFTWARE);
	wl_capture_unit_mark_start(&unit);
	wl_capture_unit_rearm(&unit);
	/* Missed, because a count runs. */
	wl_capture_unit_mark_start(&unit);
	wl_capture_unit_read(&unit, &state);
	HOLDS(state.is_busy && state.missed == 1 && state.waiting == 0);
	wl_capture_unit_mark_stop(&unit);
	wl_capture_unit_mark_start(&unit);
	wl_capture_unit_mark_stop(&unit);
	wl_capture_unit_read(&unit, &state);
	wl_capture_unit_read(&unit, &state);
	HOLDS(!state.is_busy && state.waiting == 2 && !state.has_overflown && !state.has_saturated);
	HOLDS(wl_capture_unit_take(&unit, &first) && wl_capture_unit_take(&unit, &second));
	HOLDS(first > second && second > 0);
	HOLDS(!wl_capture_unit_take(&unit, &first));
	wl_capture_unit_stop(&unit);
	wl_capture_unit_start(&unit, wl_port_capture(port), WL_EDGE_WANTED, WL_EDGE_RECEIVING);
	wl_capture_unit_read(&unit, &state);
	HOLDS(!state.is_busy && state.missed == 0 && state.waiting == 0);
	return 0;
}

int test_identifier_writes_all_it_is_told(uintptr_t port)
{
	const uintptr_t identifier = wl_port_identifier(port);
	const uint8_t own[6] = { 0x31, 0x32, 0x33, 0x34, 0x35, 0x36 };
	const uint8_t ipv4[4] = { 10, 55, 0, 2 };
	const uint8_t ipv6[16] = { 0xFD, 0, 0, 0, 0, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0, 2 };
	const struct wl_packet_rule rule = {
		.asks_own = true,
		.asks_type = true,
		.ethertype = 0x86DD,
		.asks_protocol = true,
		.protocol = 17,
		.asks_priority = true,
		.priority = 5,
		.ports = 0x9,
	};

	wl_packet_identifier_own(identifier, own);
	HOLDS(wl_packet_identifier_ipv4(identifier, 0, ipv4) &&
	      wl_packet_identifier_ipv6(identifier, 1, ipv6));
	HOLDS(!wl_packet_identifier_ipv4(identifier, WL_PACKET_ADDRESSES, ipv4));
	HOLDS(wl_packet_identifier_port(identifier, 3, 1026, 0xFFFE));
	HOLDS(!wl_packet_identifier_port(identifier, WL_PACKET_PORTS, 1026, 0xFFFF));
	HOLDS(wl_packet_identifier_rule(identifier, 2, &rule) &&
	      wl_packet_identifier_rule(identifier, 3, &rule));
	HOLDS(wl_packet_identifier_rule(identifier, 3, NULL));
	HOLDS(!wl_packet_identifier_rule(identifier, WL_PACKET_RULES, &rule));
	return 0;
}

/* The value of a register that reads as its own address. */
#define PLACE(block, name) ((uint32_t)AT(wl_port_##block(port), block, name))
#define PLACE_WIDE(block, name) ((uint64_t)(PLACE(block, name) + 4) << 32 | PLACE(block, name))

static int checker_places(uintptr_t port)
{
	struct wl_checker_counts seen;

	wl_checker_read(wl_port_checker(port), &seen);
	HOLDS(seen.good == PLACE(checker, good) && seen.header_corrupt == PLACE(checker, header_corrupt));
	HOLDS(seen.truncated == PLACE(checker, truncated) && seen.stale == PLACE(checker, stale));
	HOLDS(seen.corrupted == PLACE(checker, corrupted) && seen.foreign == PLACE(checker, foreign));
	HOLDS(seen.distinct == PLACE(checker, distinct) && seen.duplicated == PLACE(checker, duplicated));
	HOLDS(seen.reordered == PLACE(checker, reordered) && seen.too_late == PLACE(checker, too_late));
	HOLDS(seen.lost == PLACE(checker, lost) && seen.next_sequence == PLACE(checker, next_sequence));
	HOLDS(seen.order_breaks == PLACE(checker, order_breaks) && seen.mixed == PLACE(checker, mixed));
	HOLDS(seen.bad_fcs == PLACE(checker, bad_fcs) && seen.damaged == PLACE(checker, damaged));
	HOLDS(seen.verified_bytes == PLACE_WIDE(checker, verified_bytes));
	HOLDS(seen.first_ns == PLACE_WIDE(checker, first_time));
	HOLDS(seen.last_ns == PLACE_WIDE(checker, last_time));
	HOLDS(seen.overflow == (uint16_t)PLACE(checker, overflow));
	return 0;
}

static int mac_places(uintptr_t port)
{
	struct wl_mac_counts seen;

	wl_port_mac_read(wl_port_mac(port), &seen);
	HOLDS(seen.sent == PLACE(mac, sent) && seen.underruns == PLACE(mac, underruns));
	HOLDS(seen.received == PLACE(mac, received) && seen.bad_fcs == PLACE(mac, bad_fcs));
	HOLDS(seen.rx_errors == PLACE(mac, rx_errors) && seen.runts == PLACE(mac, runts));
	HOLDS(seen.oversizes == PLACE(mac, oversizes) && seen.without_sfd == PLACE(mac, without_sfd));
	HOLDS(seen.too_short == PLACE(mac, too_short) && seen.bad_preambles == PLACE(mac, bad_preambles));
	HOLDS(seen.overflow == (uint16_t)PLACE(mac, overflow));
	return 0;
}

static int other_places(uintptr_t port)
{
	struct wl_generator_counts sent;
	struct wl_periods periods;
	struct wl_packet_identifier_state found;

	wl_generator_read(wl_port_generator(port), &sent);
	HOLDS(sent.sent_frames == PLACE(generator, sent_frames));
	HOLDS(sent.sent_bytes == PLACE_WIDE(generator, sent_bytes));
	HOLDS(sent.used_sequences == PLACE(generator, used_sequences));
	HOLDS(sent.injected_faults == PLACE(generator, injected_faults));
	wl_rate_meter_read(wl_port_rate(port), &periods);
	HOLDS(periods.count == PLACE(rate, periods) && periods.last_ticks == PLACE(rate, last_period));
	HOLDS(periods.shortest_ticks == PLACE(rate, shortest) &&
	      periods.longest_ticks == PLACE(rate, longest));
	HOLDS(periods.total_ticks == PLACE_WIDE(rate, total));
	wl_packet_identifier_read(wl_port_identifier(port), &found);
	HOLDS(found.frames == PLACE(identifier, frames) && found.wanted == PLACE(identifier, wanted));
	HOLDS(found.overflow == (uint8_t)PLACE(identifier, overflow));
	return 0;
}

int test_counts_are_read_from_their_places(uintptr_t port)
{
	int line = checker_places(port);

	if (line == 0)
		line = mac_places(port);
	return line == 0 ? other_places(port) : line;
}
